"""The champion check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.judging.equal_texts import relevant_once
from evaluation.judging.pooling import ChampionQrel
from evaluation.statistics.champion import champion_outcomes
from evaluation.statistics.resampling import Interval
from pools.models import Campaign
from results.drawing.style import INK, PERFECT, ROW, RUN, counted
from results.drawing.style import percent as whole_percent
from results.inputs import ALPHA, Inputs
from results.tables import Column, Table
from results.writing import p_shown, percent

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas

# Whether run and qrels differ, and what people preferred, in the order of the champion check's slices.
SLICES = ("they differ, the run's passage", "they differ, the qrel", "they agree, the second", "they agree, the top")


@dataclass(frozen=True)
class Category:
    """The judged comparisons of a category, and of the decided ones the share for the other passage."""

    for_qrel: int
    against: int
    undecided: int
    queries: int
    share: float | None
    interval: Interval | None
    p: float | None


@dataclass(frozen=True)
class Slice:
    """Of the decided comparisons, the share with one outcome."""

    name: str
    share: float | None


@dataclass(frozen=True)
class Champion:
    """Category `a`: the run returns the qrel first; `b`: another passage."""

    a: Category
    b: Category
    slices: list[Slice]
    run: str
    qrel: str
    split: dict[str, int]
    unjudged: int
    crowd_error: float | None

    @property
    def outcomes(self) -> tuple[int, int, int, int]:
        """How many comparisons there are of each of `SLICES`."""
        return self.b.against, self.b.for_qrel, self.a.against, self.a.for_qrel


def compute(inputs: Inputs, judgments: Sequence[Preference]) -> Champion:
    campaign = inputs.campaign
    (run,) = inputs.runs
    judged = Qrels({query: grades for query, grades in inputs.qrels.grades.items() if query in inputs.evidence.pools})
    outcomes = champion_outcomes(
        inputs.top(run, campaign.pairing.run_depth),
        relevant_once(inputs.evidence.stands_for, judged, campaign.min_grade),
        judgments,
        min_grade=campaign.min_grade,
        choice=cast(ChampionQrel, campaign.champion_qrel),
    )
    decided = sum(outcomes.slices())
    a, b = (
        Category(*half, half.queries, half.other_share, half.interval(), half.p) for half in (outcomes.a, outcomes.b)
    )
    return Champion(
        a=a,
        b=b,
        slices=[
            Slice(name, count / decided if decided else None)
            for name, count in zip(SLICES, outcomes.slices(), strict=True)
        ],
        run=run,
        qrel=campaign.champion_qrel,
        split=campaign.champion_split,
        unjudged=outcomes.unjudged,
        crowd_error=outcomes.crowd_error,
    )


def split_table(champion: Champion) -> Table | None:
    if not champion.split:
        return None
    columns = [
        Column("category", _("Category"), "text"),
        Column("comparisons", _("Comparisons"), "count"),
        Column("share", _("Share"), "share"),
    ]
    split = champion.split
    total = sum(split.values())
    rows = [[label, split[name], split[name] / total if total else None] for name, label in _categories()]
    about = _(
        "The comparisons to judge. In category A, the run returns the qrel first, and the qrel is compared with the "
        "run's second passage; in category B, the run returns another passage first, which is compared with the qrel."
    )
    if champion.qrel == Campaign.ChampionQrel.EACH:
        about += " " + _(
            "A query with several qrels has a comparison for each. These are not independent, so intervals are too "
            "narrow and p-values too small."
        )
    elif champion.qrel == Campaign.ChampionQrel.HIGHEST:
        about += " " + _("If a query has several qrels, the one that the run ranks highest is compared.")
    else:
        about += " " + _("If a query has several qrels, the first in the file is compared.")
    return Table(
        "champion-split",
        _("Categories of the champion check"),
        about,
        columns,
        rows,
        foot=[[_("All"), total, 1.0 if total else None]],
    )


def _categories() -> tuple[tuple[str, str], ...]:
    return (("a", _("A: the qrel is first")), ("b", _("B: another is first")))


def outcome_table(champion: Champion) -> Table:
    shares = (
        ("for_qrel", _("Qrel preferred"), _("Qrel preferred, share")),
        ("against", _("Other preferred"), _("Other preferred, share")),
        ("undecided", _("Undecided"), _("Undecided, share")),
    )
    columns = [
        Column("case", _("Category"), "text"),
        Column("queries", _("Judged"), "count"),
        *(
            column
            for key, count, share in shares
            for column in (Column(key, count, "count"), Column(f"{key}_share", share, "share"))
        ),
        Column("share", _("Other preferred, of the decided"), "share"),
        Column("interval", _("95%"), "shares"),
        Column("p", _("p (binomial)"), "p"),
    ]
    categories = (champion.a, champion.b)
    total = {
        key: sum(getattr(category, key) for category in categories) for key in ("queries", *(key for key, *_ in shares))
    }
    rows = [
        [
            label,
            *_counts_and_shares({key: getattr(category, key) for key in total}, total),
            *(category.share, category.interval, category.p),
        ]
        for category, (_name, label) in zip(categories, _categories(), strict=True)
    ]
    about = _(
        "Does the top passage of %(run)s beat the qrel? The other passage is the run's second in category A, and its "
        "first in category B."
    ) % {"run": champion.run}
    more = _(
        "The last share is of the decided comparisons, with the exact 95% interval. p-values are raw, from the exact "
        "two-sided binomial test."
    )
    foot = [_("All"), *_counts_and_shares(total, total), None, None, None]
    return Table("champion", _("Champion check"), about, columns, rows, foot=[foot], about_more=more)


def _counts_and_shares(counts: Mapping[str, int], keys: Iterable[str]) -> Iterator[int | float | None]:
    """How many were judged, and then each other count with its share of these."""
    judged = counts["queries"]
    for key in keys:
        yield counts[key]
        if key != "queries":
            yield counts[key] / judged if judged else None


def slices_table(champion: Champion) -> Table:
    columns = [
        Column("outcome", _("Outcome"), "text"),
        Column("queries", _("Comparisons"), "count"),
        Column("share", _("Share"), "share"),
    ]
    outcomes = (
        _("B: they differ, and the run's passage is preferred"),
        _("B: they differ, and the qrel is preferred"),
        _("A: they agree, and the second passage is preferred"),
        _("A: they agree, and the top passage is preferred"),
    )
    counts, decided = champion.outcomes, sum(champion.outcomes)
    rows = [[*row, row[1] / decided if decided else None] for row in zip(outcomes, counts, strict=True)]
    about = _("The decided comparisons, by whether run and qrels agree, and by what people preferred.")
    foot = [_("All"), decided, 1.0 if decided else None]
    return Table("champion-slices", _("Run and qrels, query by query"), about, columns, rows, foot=[foot])


def sentences(champion: Champion) -> Iterator[str]:
    a, b = champion.a, champion.b
    if champion.qrel == Campaign.ChampionQrel.EACH:
        text = _(
            "Each qrel of a query was compared. Of the %(all)s judged comparisons, %(a)s are about a qrel that %(run)s "
            "returns first (category A), and %(b)s about one that it does not return first (category B)."
        )
    else:
        text = _(
            "%(run)s returns the qrel first in %(a)s of the %(all)s judged queries (category A), and another passage "
            "in %(b)s (category B)."
        )
    yield text % {
        "run": champion.run,
        "a": f"{a.queries:,}",
        "b": f"{b.queries:,}",
        "all": f"{a.queries + b.queries:,}",
    }
    if champion.qrel == Campaign.ChampionQrel.HIGHEST:
        yield _("Of a query's qrels, the one that the run ranks highest was compared.")
    if text := verdict(champion):
        yield text
    if a.share is not None:
        yield _(
            "In category A, people preferred the run's second passage to the qrel in %(often)s. If the qrel is the "
            "best answer there, that is how often people make mistakes."
        ) % {"often": _how_often(a)}


def verdict(champion: Champion) -> str:
    """Whether the run beats the qrels where they differ; empty while nothing there is decided."""
    b = champion.b
    if b.share is None or b.p is None:
        return ""
    if b.p >= ALPHA:
        text = _("that is not significantly different from one half")
    elif b.share > 0.5:
        text = _("there, the run is better than a ranking that returns the qrel first")
    else:
        text = _("there, a ranking that returns the qrel first is better than the run")
    return _(
        "Where %(run)s returns another passage than the qrel first (category B), people preferred that passage to the "
        "qrel in %(often)s; %(verdict)s."
    ) % {"run": champion.run, "often": _how_often(b), "verdict": text}


def _how_often(category: Category) -> str:
    assert category.interval and category.share is not None and category.p is not None
    low, high = category.interval
    decided = category.for_qrel + category.against
    return ngettext(
        "%(share)s of %(decided)s decided comparison (95%% interval %(low)s to %(high)s, p = %(p)s)",
        "%(share)s of %(decided)s decided comparisons (95%% interval %(low)s to %(high)s, p = %(p)s)",
        decided,
    ) % {
        "share": percent(category.share),
        "decided": f"{decided:,}",
        "low": percent(low),
        "high": percent(high),
        "p": p_shown(category.p),
    }


def limits(champion: Champion) -> Iterator[str]:
    if champion.unjudged:
        yield ngettext(
            "%(count)s comparison still needs judgments and is not counted.",
            "%(count)s comparisons still need judgments and are not counted.",
            champion.unjudged,
        ) % {"count": f"{champion.unjudged:,}"}
    yield _(
        "A champion check compares one run with the qrels. It gives no best known answers, and says nothing about "
        "other runs."
    )


class Bar(NamedTuple):
    """Decided pairs of one outcome: what run and qrels say, what people preferred, how many of how many such pairs."""

    case: str
    preferred: str
    pairs: int
    of: int
    for_qrel: bool


def bars(champion: Champion) -> list[Bar]:
    """The four outcomes in the paper's order: the run differs and wins, or loses; it agrees and loses, or wins."""
    won, lost, beaten, confirmed = champion.outcomes
    return [
        Bar("Run and qrels differ", "run preferred", won, won + lost, False),
        Bar("Run and qrels differ", "qrel preferred", lost, won + lost, True),
        Bar("Run and qrels agree", "second passage preferred", beaten, beaten + confirmed, False),
        Bar("Run and qrels agree", "top passage preferred", confirmed, beaten + confirmed, True),
    ]


def describe(champion: Champion) -> str:
    """The four outcomes, with numbers and shares."""
    parts = bars(champion)
    pairs = sum(part.pairs for part in parts)
    text = "; ".join(
        f"{part.case[0].lower()}{part.case[1:]}, {part.preferred}: {part.pairs:,} ({whole_percent(part.pairs / pairs)})"
        for part in parts
    )
    return f"Bars of {counted(pairs, 'decided pair', 'decided pairs')} by outcome: {text}."


def draw(canvas: Canvas, champion: Champion) -> None:
    """A bar an outcome, in two groups, each with its number and its share of all pairs."""
    from results.drawing.canvas import EDGE

    parts = bars(champion)
    pairs = sum(part.pairs for part in parts)
    places = [0.0, 1.0, 2.6, 3.6]
    axes = canvas.axes(2.6, ROW * 6.4)
    axes.set_xlim(0, max(part.pairs for part in parts))
    axes.set_ylim(4.1, -1.0)
    for place, part in zip(places, parts, strict=True):
        axes.barh(place, part.pairs, height=0.7, color=PERFECT if part.for_qrel else RUN)
        axes.annotate(
            f"{whole_percent(part.pairs / pairs)}  ({part.pairs:,})", (part.pairs, place), xytext=(4, 0),
            textcoords="offset points", va="center", color=INK, annotation_clip=False,
        )  # fmt: skip
        text = f"{part.case}, {part.preferred}: {part.pairs:,} of {counted(pairs, 'decided pair', 'decided pairs')}"
        canvas.mark(axes, [(-EDGE, place), (EDGE, place)], text, champion.run)
    axes.set_yticks(places, [part.preferred for part in parts])
    for place, part in zip((-0.8, 1.8), parts[::2], strict=True):
        axes.text(0, place, f"{part.case}: {counted(part.of, 'pair', 'pairs')}", va="center", weight="bold")
    axes.tick_params(axis="y", length=0)
    for side in ("bottom", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xticks([])
