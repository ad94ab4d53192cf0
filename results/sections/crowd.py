"""How good the judgments are."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.statistics.agreement import Agreement, agreement
from evaluation.statistics.significance import sign_test
from results.inputs import Inputs
from results.sections.counts import Counts
from results.tables import Column, Table
from results.writing import p_shown, percent


@dataclass(frozen=True)
class Quality:
    """`positions`: of each position in a HIT, the share of test pairs passed and the median seconds."""

    tests: int
    tests_passed: int
    left_share: float | None
    left_p: float | None
    seconds_median: float | None
    positions: list[tuple[int, float | None, float | None]]


@dataclass(frozen=True, kw_only=True)
class Crowd(Counts):
    """`agreement` is None where no pair was judged several times."""

    quality: Quality
    agreement: Agreement | None = None


def compute(counts: Counts, inputs: Inputs) -> Crowd:
    behaviour, agreed = inputs.behaviour, agreement(inputs.votes)
    judged = behaviour.left + behaviour.right
    quality = Quality(
        tests=behaviour.tests,
        tests_passed=behaviour.passed,
        left_share=behaviour.left / judged if judged else None,
        left_p=float(sign_test([behaviour.left], [behaviour.right])[0]) if judged else None,
        seconds_median=behaviour.seconds,
        positions=[
            (position.position, position.passed / position.tests if position.tests else None, position.seconds)
            for position in behaviour.positions
        ],
    )
    return Crowd(**vars(counts), quality=quality, agreement=agreed if agreed.pairs else None)


def positions_table(data: Crowd) -> Table | None:
    if not data.quality.positions:
        return None
    columns = [
        Column("position", _("Position in the HIT"), "count"),
        Column("passed", _("Test pairs passed"), "share"),
        Column("seconds", _("Median time"), "seconds"),
    ]
    about = _(
        "Does the position of a comparison matter? Over all checked work, including excluded work. "
        "The time is for one comparison."
    )
    return Table("positions", _("Along a HIT"), about, columns, data.quality.positions)


def sentences(data: Crowd) -> Iterator[str]:
    quality, agreement = data.quality, data.agreement
    if quality.tests:
        yield _("%(passed)s of %(tests)s test pairs were passed (%(share)s).") % {
            "passed": f"{quality.tests_passed:,}",
            "tests": f"{quality.tests:,}",
            "share": percent(quality.tests_passed / quality.tests),
        }
    if quality.left_share is not None and quality.left_p is not None:
        yield _("The left side was preferred in %(share)s of the judgments that count (p = %(p)s for one half).") % {
            "share": percent(quality.left_share),
            "p": p_shown(quality.left_p),
        }
    if quality.seconds_median is not None:
        yield _("The median time for a comparison was %(seconds).1f seconds.") % {"seconds": quality.seconds_median}
    if agreement is not None and agreement.raw is not None:
        alpha = "–" if agreement.alpha is None else f"{agreement.alpha:.2f}"
        yield ngettext(
            "On the %(pairs)s pair that several workers judged, two workers agree in %(share)s of the "
            "cases (Krippendorff's alpha %(alpha)s).",
            "On the %(pairs)s pairs that several workers judged, two workers agree in %(share)s of the "
            "cases (Krippendorff's alpha %(alpha)s).",
            agreement.pairs,
        ) % {"share": percent(agreement.raw), "pairs": f"{agreement.pairs:,}", "alpha": alpha}
    if data.adjudicated:
        yield ngettext(
            "%(count)s pair whose judgments disagreed was adjudicated by a person. It counts as decided; agreement and "
            "certainty are about the workers' judgments alone.",
            "%(count)s pairs whose judgments disagreed were adjudicated by a person. They count as decided; agreement "
            "and certainty are about the workers' judgments alone.",
            data.adjudicated,
        ) % {"count": f"{data.adjudicated:,}"}
    if data.weighed:
        yield ngettext(
            "%(count)s pair whose judgments disagreed counts as those say that weigh more, by how far each worker can "
            "be relied on. Agreement and certainty are about the judgments as they were made.",
            "%(count)s pairs whose judgments disagreed count as those say that weigh more, by how far each worker can "
            "be relied on. Agreement and certainty are about the judgments as they were made.",
            data.weighed,
        ) % {"count": f"{data.weighed:,}"}
