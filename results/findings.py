"""What the results say, in sentences, and what they do not say."""

from collections.abc import Iterator
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.statistics.agreement import FEW
from results.sections import challengers, champion, counts, crowd, passages, wins
from results.sections.certainty import changes
from results.sections.certainty import sentences as certainty
from results.sections.compared import sentences as compared
from results.sections.leaderboard import sentences as leaderboard
from results.sections.subjects import Subject
from results.sections.whole import Results
from results.writing import named_first, percent

# With fewer queries, differences of the usual size do not show.
FEW_QUERIES = 50
# Seconds. With a lower median, workers hardly read.
QUICK = 3.0


class Finding(NamedTuple):
    """A question, and what the results say to it."""

    subject: Subject
    question: str
    sentences: list[str]


def findings(data: Results) -> list[Finding]:
    """Every question that the results have something to say to, in the order in which they are read."""
    parts: list[tuple[Subject, str, Iterator[str]]] = [(Subject.PEOPLE, _("How good are the judgments?"), _crowd(data))]
    limits = _limits(data)
    if data.champion is not None:
        parts.insert(0, (Subject.FINDINGS, _("Does the run beat the qrels?"), champion.sentences(data.champion)))
        limits = champion.limits(data.champion)
    elif data.challengers is not None:
        question = _("Do the challengers beat the best known answers?")
        parts.insert(0, (Subject.FINDINGS, question, challengers.sentences(data.challengers)))
        limits = challengers.limits(data.challengers)
    else:
        parts[:0] = [
            (Subject.PASSAGES, _("Does the field beat the qrels?"), _field(data)),
            (Subject.RUNS, _("What changed on the leaderboard?"), changes.change_sentences(data)),
            (Subject.RUNS, _("Which runs differ?"), _differences(data)),
            (Subject.CERTAINTY, _("How certain is that?"), certainty.sentences(data)),
        ]
    parts.append((Subject.FINDINGS, _("What this does not say"), limits))
    answers = (Finding(subject, question, list(sentences)) for subject, question, sentences in parts)
    return [finding for finding in answers if finding.sentences]


def headline(data: Results) -> str:
    """The sentence to quote, one of those above: which run is first, or what became of the champion or the challengers.

    Empty where that cannot be said.
    """
    if data.champion is not None:
        return champion.verdict(data.champion)
    if data.challengers is not None:
        brought, *fates = challengers.sentences(data.challengers)
        return fates[0] if fates else brought
    return next(changes.change_sentences(data), "")


def _field(data: Results) -> Iterator[str]:
    if data.pairings is not None and data.wins is not None:
        yield from counts.answer_sentences(data)
        yield from leaderboard.field_sentences(data)
        yield from passages.sentences(data)


def _differences(data: Results) -> Iterator[str]:
    if data.compare:
        yield from compared.sentences(data)
    if data.pairings is not None and data.wins is not None:
        yield wins.beating_perfect(data.wins)


def _crowd(data: Results) -> Iterator[str]:
    yield from crowd.sentences(data)
    yield from passages.triple_sentences(data.triples)


def _held_back(data: Results) -> Iterator[str]:
    if data.held_back:
        text = (
            ngettext(
                "%(count)s query is left out here, in the qrels and in every score: a passage that won it came only "
                "from a run that is not for release.",
                "%(count)s queries are left out here, in the qrels and in every score: passages that won them came "
                "only from runs that are not for release.",
                data.held_back,
            )
            if data.is_release
            else ngettext(
                "The report, the exports and the tables’ files are without %(count)s query, since a passage that won "
                "it came only from a run that is not for release. Their scores differ from those on this page for "
                "that.",
                "The report, the exports and the tables’ files are without %(count)s queries, since passages that won "
                "them came only from runs that are not for release. Their scores differ from those on this page for "
                "that.",
                data.held_back,
            )
        )
        yield text % {"count": f"{data.held_back:,}"}
    if data.held_back_runs and data.wins:
        text = (
            _("The tables of preferred passages rest on the exported judgments, without %(names)s: not for release.")
            if data.is_release
            else _("In the report, the tables of preferred passages are without %(names)s: not for release.")
        )
        yield text % {"names": ", ".join(data.held_back_runs)}


def _limits(data: Results) -> Iterator[str]:
    yield from _held_back(data)
    if data.incomplete:
        yield ngettext(
            "%(count)s of %(all)s queries still needs judgments and is left out of every score.",
            "%(count)s of %(all)s queries still need judgments and are left out of every score.",
            data.incomplete,
        ) % {"count": f"{data.incomplete:,}", "all": f"{data.queries:,}"}
    if data.design == "rounds":
        yield _(
            "The pools were judged in rounds: who loses early meets few others, and may be better than it looks. For "
            "how certain answers and ranks are, pairs that nobody was asked about are drawn by the strengths of their "
            "passages; how fragile answers are is about judgments of their finals."
        )
    if data.sampled_from is not None:
        yield _(
            "The queries are a random sample: %(count)s of the %(all)s that had a pool of two or more when it was "
            "drawn. It leaves out queries on which all pooled runs and the qrel agree, so scores on it are not scores "
            "on all queries."
        ) % {"count": f"{data.queries:,}", "all": f"{data.sampled_from:,}"}
    if 0 < data.answered < FEW_QUERIES:
        yield _(
            "There are only %(answered)s queries. With so few, differences of the usual size do not "
            "show: if a test finds none, that is no evidence that there is none."
        ) % {"answered": f"{data.answered:,}"}
    scored = sum(not row.pooled for row in data.leaderboard)
    if scored:
        yield ngettext(
            "%(count)d run was not pooled, and is only scored: what only it ranks first was never judged.",
            "%(count)d runs were not pooled, and are only scored: what only they rank first was never judged.",
            scored,
        ) % {"count": scored}
    if data.unreadable:
        yield _("Runs of the collection that are not scored, because their files are missing: %(names)s.") % {
            "names": ", ".join(data.unreadable)
        }
    if data.comparisons and data.comparisons.missing:
        yield _("Runs that the settings name for comparison, but that are not scored: %(names)s.") % {
            "names": ", ".join(data.comparisons.missing)
        }
    yield _(
        "A best known answer is the best of the passages that the pooled runs ranked first%(and_qrel)s. A "
        "run that brings other passages is at a disadvantage until they are judged too."
    ) % {"and_qrel": _(" and of the original qrels") if data.qrel_policy != "none" else ""}
    changed = [row for row in data.contributions if row.place_without != row.place]
    if changed:
        yield ngettext(
            "The rank of %(named)s depends on passages that only this run brought.",
            "The ranks of %(count)d runs depend on passages that only the run itself brought: %(named)s.",
            len(changed),
        ) % {"count": len(changed), "named": named_first([row.run for row in changed])}
    rate = percent(data.error_rate or 0)
    if data.error_source == "assumed" and data.judgments:
        yield _(
            "How certain the answers are cannot be known from these judgments, since too few pairs were judged several "
            "times. It is assumed that %(share)s of the judgments are wrong, by how well those of different pairs fit "
            "together. To know it, have %(pairs)d pairs judged a second time."
        ) % {"share": rate, "pairs": FEW}
    elif data.error_source == "repeated":
        yield _(
            "One judgment is wrong in about %(share)s of the cases. This, and how certain answers and ranks are, "
            "follows from all judgments together, and above all from pairs that were judged several times."
        ) % {"share": rate}
    elif data.error_source == "given":
        yield _(
            "How certain answers and ranks are is computed as if one judgment were wrong in %(share)s of the cases, "
            "independently of the others, as the settings of the results say."
        ) % {"share": rate}
    if data.quality.seconds_median is not None and data.quality.seconds_median < QUICK:
        yield _(
            "The median time for a comparison was less than %(seconds)d seconds, which is hardly enough time to read."
        ) % {"seconds": QUICK}
