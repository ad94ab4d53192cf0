"""Asking where it helps: more judgments for queries whose confidence sets are larger than wanted, within a budget."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Max
from django.utils.translation import gettext as _

from core.errors import Refused
from evaluation.judging.pooling import canonical
from evaluation.statistics.asking import JUDGMENTS, Prospect, Worth, rank_by_worth
from judgments import filling
from platforms.models import Publication
from platforms.money.bills import Bill, further_bill, hits_bill
from platforms.terms import publication_likely
from pools.models import Campaign, Pair
from results import selectors as result_selectors
from results.sections.certainty import Answer
from results.sections.whole import Results
from tasks import services as task_services
from tasks.models import Hit
from tasks.pilots import LIVE, held_back
from tasks.services import Further

USUAL = Decimal(40)  # dollars, of an offer that nobody has said a budget for


class Offer(NamedTuple):
    """What a budget would buy: `queries` to be asked about, most certainty for a judgment first, the bill, and how many
    of them are expected to be settled then: their confidence sets have `wanted` passages at the most.

    `judgments`: how many each pair of their sets then has. `open`: all queries with larger sets. `asked`: queries that
    wait for judgments that were asked for before; they are not offered. `seen`: the number of the last HIT. `obstacle`:
    why nothing can be asked now; empty if it can. `groups`: the pairs to be asked.
    """

    budget: Decimal
    judgments: int
    wanted: int
    queries: Sequence[str]
    bill: Bill
    settled: float
    open: int
    asked: int
    seen: int
    obstacle: str
    groups: Sequence[Further]


def offer_for(campaign: Campaign, *, budget: Decimal = USUAL, judgments: int, wanted: int = 1) -> Offer:
    """What to ask within a budget of so many dollars, by the stored results."""
    data, publication = result_selectors.table_data(campaign, "asking"), publication_likely(campaign)
    waiting = _waiting(campaign)
    rows = [row for row in (data and data.stability) or () if len(row.set) > wanted]
    prospects = {row.qid: plan for row in rows if (plan := _prospect(row, judgments)) and row.qid not in waiting}
    spent, chosen = Counter[int](), list[Worth]()
    for worth in rank_by_worth(prospects, wanted):
        if further_bill(publication, spent + Counter(worth.lacking)).total > budget:
            break
        spent += Counter(worth.lacking)
        chosen.append(worth)
    lacking = _lacking(campaign, {row.qid: row for row in rows}, [worth.query for worth in chosen], judgments)
    chosen = [worth for worth in chosen if worth.query in lacking]  # more may have been judged than the results know
    while (bill := _bill(publication, _groups(lacking, chosen))).total > budget:
        chosen.pop()  # HITs are begun for reused pairs apart, so there may be some more of them
    last = campaign.hits.aggregate(last=Max("number"))["last"] or 0
    return Offer(
        budget=budget,
        judgments=judgments,
        wanted=wanted,
        queries=[worth.query for worth in chosen],
        bill=bill,
        settled=sum(worth.chance for worth in chosen),
        open=len(rows),
        asked=len(waiting),
        seen=last,
        obstacle=_obstacle(campaign, data),
        groups=_groups(lacking, chosen),
    )


@transaction.atomic
def further_ask(*, campaign: Campaign, budget: Decimal, judgments: int, wanted: int, seen: int) -> Offer:
    """Ask for the judgments of an offer: new HITs with the pairs of the chosen queries' confidence sets, or, in rounds,
    with those that were in the final.

    A pair is asked about until it has so many judgments, each by another worker; judgments that were made already and
    found no slot are used first. `seen` is that of the offer that somebody saw. Raises NotNow where more HITs were
    added since, and Refused where nothing can be asked, or the budget buys nothing.
    """
    offer = offer_for(campaign, budget=budget, judgments=judgments, wanted=wanted)
    if offer.obstacle:
        raise Refused(offer.obstacle)
    if not offer.queries:
        raise Refused(_("This budget buys no judgments that are expected to settle a query."))
    pairs = [pk for group in offer.groups for keys in group.pairs_by_query for pk in keys]
    filling.hits_lock(pairs)  # before the campaign, in the order of the jobs that check work
    if task_services.hits_add(campaign=campaign, groups=offer.groups, after=seen):
        filling.pairs_fill(pairs)
    return offer


def _prospect(row: Answer, judgments: int) -> Prospect | None:
    """What was computed for a query, if it was."""
    return (row.further or {}).get(judgments)


def _waiting(campaign: Campaign) -> set[str]:
    """Queries with pairs of which more judgments were asked for and have not been made."""
    hits = Hit.objects.filter(campaign=campaign, wanted__isnull=False, needed__gt=0, items__pair__isnull=False)
    return set(hits.values_list("items__pair__pool__query__qid", flat=True).distinct())


class _Lacking(NamedTuple):
    """A pair that lacks `needed` judgments, until the campaign's own workers have made `total` of it."""

    needed: int
    total: int
    pair: int


def _lacking(
    campaign: Campaign, rows: Mapping[str, Answer], queries: Sequence[str], judgments: int
) -> dict[str, list[_Lacking]]:
    """The pairs of these queries' confidence sets that lack judgments, by query.

    In rounds, it is the pairs of the final alone: no judgment brings back a passage that is out.
    """
    sets = {query: {*rows[query].set}.intersection(rows[query].final or rows[query].set) for query in queries}
    named = {(query, *canonical(a, b)) for query, pids in sets.items() for a, b in combinations(sorted(pids), 2)}
    stored = (
        Pair.objects.filter(pool__campaign=campaign, pool__query__qid__in=sets, is_set_aside=False)
        .annotate(slots=Count("acceptances"))
        .values_list("pk", "pool__query__qid", "a__pid", "b__pid", "is_reused", "slots")
        .order_by("pool__query__qid", "a__pid", "b__pid")
    )
    by_query: dict[str, list[_Lacking]] = {}
    for pk, query, a, b, is_reused, slots in stored:
        total = judgments - (campaign.overlap if is_reused else 0)
        if (query, a, b) in named and slots < total:
            by_query.setdefault(query, []).append(_Lacking(total - slots, total, pk))
    return by_query


def _groups(lacking: Mapping[str, Sequence[_Lacking]], chosen: Iterable[Worth]) -> list[Further]:
    """What these queries lack, by how many judgments of a pair."""
    groups: dict[tuple[int, int], dict[str, list[int]]] = {}
    for query in sorted(worth.query for worth in chosen):
        for lack in lacking.get(query, ()):
            groups.setdefault((lack.needed, lack.total), {}).setdefault(query, []).append(lack.pair)
    return [Further(*key, list(by_query.values())) for key, by_query in sorted(groups.items())]


def _bill(publication: Publication, groups: Iterable[Further]) -> Bill:
    per_hit = publication.campaign.pairs_per_hit
    return hits_bill(publication, [(part.needed, -(-sum(map(len, part.pairs_by_query)) // per_hit)) for part in groups])


def _obstacle(campaign: Campaign, data: Results | None) -> str:
    if campaign.is_imported:
        return _("These judgments were made elsewhere: nobody can judge in this campaign.")
    if campaign.state not in LIVE:
        return _("The campaign is not open. Open it again to ask for more judgments.")
    if campaign.pairing.is_staged and campaign.rounds_revision != campaign.revision:
        return _("The rounds are not over. More judgments are offered once all pools have had their final.")
    if held_back(campaign):
        return _("The pilot has not ended. Launch the rest first.")
    if data is None or data.stability is None:
        return _("There are no results that say how certain the best known answers are.")
    return ""


def numbers_of(campaign: Campaign) -> list[int]:
    """The numbers of judgments of a pair that can be asked for: more than the campaign asks already."""
    return [number for number in JUDGMENTS if number > campaign.overlap]
