"""How much there is of everything, and the settings that all sections share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.contrib.humanize.templatetags.humanize import apnumber
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.qrels import Qrels
from evaluation.judging.equal_texts import relevant_once
from evaluation.judging.pooling import pool_sizes
from results.drawing.style import INK, RUN, WIDTH, counted
from results.inputs import FORMAT, Inputs, K
from results.tables import Column, Table

if TYPE_CHECKING:
    from results.drawing.canvas import Canvas


@dataclass(frozen=True, kw_only=True)
class Counts:
    """`best`: how many queries have so many best known answers; `pool_sizes`: how many pools have so many passages."""

    version: int = FORMAT
    k: int
    order: str
    min_grade: int
    overlap: int
    design: str
    qrel_policy: str
    seed: int
    queries: int
    sampled_from: int | None
    answered: int
    preference_qrels: int
    twins: int
    incomplete: int
    held_back: int = 0
    held_back_runs: list[str] = field(default_factory=list)
    is_release: bool = False
    pairs: int
    judgments: int
    adjudicated: int
    weighed: int
    best: dict[int, int]
    changed: int
    pool_sizes: list[tuple[int, int]]


def compute(inputs: Inputs, qrels: Sequence[tuple[str, str]], preference: Qrels) -> Counts:
    campaign, evidence = inputs.campaign, inputs.evidence
    best: dict[str, list[str]] = {query: [] for query in preference.queries}  # by candidates
    for query, passage in qrels:
        if query in best:
            best[query].append(passage)
    relevant = relevant_once(evidence.stands_for, inputs.qrels, campaign.min_grade).relevant("all", campaign.min_grade)
    return Counts(
        k=K,
        order=campaign.order,
        min_grade=campaign.min_grade,
        overlap=campaign.overlap,
        design=campaign.design,
        qrel_policy=campaign.qrel_policy,
        seed=campaign.seed,
        queries=len(evidence.pools),
        sampled_from=campaign.sampled_from,
        answered=len(best),
        preference_qrels=sum(map(len, best.values())),
        twins=sum(
            passage in best.get(query, ()) for query, pids in evidence.stands_for.items() for passage in pids.values()
        ),
        incomplete=len(evidence.pools) - len(best),
        held_back_runs=list(inputs.held_back_runs),
        pairs=campaign.pair_count,
        judgments=len(evidence.preferences),
        adjudicated=len(evidence.decided),
        weighed=len(evidence.weighed.keys() - evidence.decided.keys()),
        best=dict(sorted(Counter(map(len, best.values())).items())),
        changed=sum(
            not set(relevant[query]).intersection(passages) for query, passages in best.items() if relevant.get(query)
        ),
        pool_sizes=list(pool_sizes(evidence.pools).histogram.items()),
    )


def pool_sizes_table(data: Counts) -> Table | None:
    if not data.pool_sizes:
        return None
    columns = [
        Column("size", _("Passages in the pool"), "count"),
        Column("queries", _("Queries"), "count"),
        Column("share", _("Share"), "share"),
    ]
    rows = [[size, queries, queries / data.queries] for size, queries in data.pool_sizes]
    about = _("A pool of one passage needs no judgment.")
    return Table("pool-sizes", _("Pool sizes"), about, columns, rows)


def answer_sentences(data: Counts) -> Iterator[str]:
    yield _answers(data)
    if data.twins:
        yield ngettext(
            "%(count)s more id in the collection has the text of one of these answers: it counts and is exported too.",
            "%(count)s more ids in the collection have the text of one of these answers: they count and are exported "
            "too.",
            data.twins,
        ) % {"count": f"{data.twins:,}"}


def _answers(data: Counts) -> str:
    """How many preference qrels there are, and for how many queries there is one, or a deadlock of several."""
    qrels, count = data.preference_qrels, data.answered
    queries = ngettext("%(count)s query", "%(count)s queries", count) % {"count": f"{count:,}"}
    answers = ngettext(
        "There is %(qrels)s preference qrel for %(queries)s",
        "There are %(qrels)s preference qrels for %(queries)s",
        qrels,
    ) % {"qrels": f"{qrels:,}", "queries": queries}
    sizes = sorted(data.best.items())
    (least, first), *rest = sizes
    if sizes == [(1, count)]:
        return f"{answers}." if count == 1 else _("%(answers)s, one each.") % {"answers": answers}
    parts = [
        ngettext("%(size)s for %(count)s query", "%(size)s for %(count)s queries", first)
        % {"size": apnumber(least), "count": f"{first:,}"}
    ]
    parts += [_("%(size)s for %(count)s") % {"size": apnumber(size), "count": f"{count:,}"} for size, count in rest]
    text = _("%(answers)s: %(parts)s") % {"answers": answers, "parts": ", ".join(parts)}
    if sizes[-1][0] > 1:
        return _("%(text)s, where a deadlock left several equally good.") % {"text": text}
    return f"{text}."


_LABELLED = 20  # bars that have room for their numbers


def describe(data: Counts) -> str:
    """Number of pools, their mean and extreme sizes, and the commonest."""
    sizes = sorted(data.pool_sizes)
    pools = sum(count for _size, count in sizes)
    mean = sum(size * count for size, count in sizes) / pools
    most, count = max(sizes, key=lambda pair: pair[1])
    least, greatest = sizes[0][0], sizes[-1][0]
    if least == greatest:
        return f"Histogram of {counted(pools, 'pool', 'pools')}, each of {counted(least, 'passage', 'passages')}."
    return (
        f"Histogram of {counted(pools, 'pool', 'pools')} of {least} to {greatest} passages, {mean:.2f} on "
        f"average. Commonest is size {most}: {counted(count, 'pool', 'pools')}."
    )


def draw(canvas: Canvas, data: Counts) -> None:
    """A bar a size; where these are few, with its number."""
    from results.drawing.canvas import POINTS

    sizes = dict(data.pool_sizes)
    low, high = min(sizes), max(sizes)
    axes = canvas.axes(WIDTH, 2.6)
    bars = axes.bar(list(sizes), list(sizes.values()), width=0.8, color=RUN)
    axes.set_xlim(low - 0.7, high + 0.7)
    axes.set_xlabel("Passages in the pool")
    axes.set_ylabel("Pools")
    if high - low < _LABELLED:
        axes.set_xticks(range(low, high + 1))
        axes.bar_label(bars, [f"{count:,}" for count in sizes.values()], padding=2, color=INK, fontsize=8)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        axes.tick_params(axis="x", length=0)
    else:
        axes.locator_params(integer=True)
    canvas.reach = min(canvas.reach, WIDTH * POINTS / (high - low + 1.4))
    for size, count in data.pool_sizes:
        text = f"{counted(size, 'passage', 'passages')}: {counted(count, 'pool', 'pools')}"
        canvas.mark(axes, [(size, end) for end in axes.get_ylim()], text, passages=size)
