"""Campaigns in rounds: when all pairs are judged, the next round is planned, and asked by itself or by a person. And
campaigns of challengers: what a challenger won is asked again, of other people, before it replaces an answer.
"""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import alarms
from core.errors import NotNow
from core.models import User
from evaluation.files.preferences import Pair as IdPair
from evaluation.judging.designs import designs_that
from judgments.evidence import Evidence
from platforms.money.bills import hits_bill
from platforms.terms import publication_likely
from pools import services as pool_services
from pools.models import Campaign, Pair, Pool, Round, RoundPool
from tasks import services as task_services
from tasks.models import CampaignAlarm, Hit

LIVE = (Campaign.State.OPEN, Campaign.State.PAUSED)


def campaigns_in_rounds() -> QuerySet[Campaign]:
    """The campaigns whose rounds, or whose confirmations of challengers, may go on: those that are open or paused, and
    where nothing was left to ask as they are now.
    """
    ended = Q(rounds_revision=F("revision"), rounds_revision__isnull=False)
    return Campaign.objects.filter(design__in=designs_that("goes_on"), state__in=LIVE).exclude(ended)


@transaction.atomic
def rounds_advance(*, campaign: Campaign, at: datetime) -> bool:
    """Plan the next round of a campaign once all its pairs are judged, and ask it unless it waits for a person.

    Returns whether anything was planned, or asked again. Whoever comes second, or too early, does nothing.
    """
    locked = _lock(campaign)
    if locked is None:
        return False
    if not locked.pairing.is_staged:
        return _confirm(locked)
    last = locked.rounds.order_by("-number").first()
    if last is None:
        _first_store(locked, at)
        return True
    if last.asked_at is None or _is_judged_on(locked):
        return False
    evidence = Evidence(locked)  # of queries that wait, a pair was set aside
    rounds = evidence.outcome.rounds
    playing = {query: status for query, status in rounds.items() if status.requests and query not in evidence.waiting}
    if not playing:
        Campaign.objects.filter(pk=locked.pk).update(rounds_revision=F("revision"))
        return False
    planned = Round.objects.create(
        campaign=locked,
        number=last.number + 1,
        planned_at=at,
        pools=len(playing),
        passages=sum(len(status.playing) for status in playing.values()),
        pairs=sum(len(status.requests) for status in playing.values()),
        unsettled=sum(status.unsettled for status in playing.values()),
    )
    pools = dict(Pool.objects.filter(campaign=locked, query__qid__in=playing).values_list("query__qid", "id"))
    RoundPool.objects.bulk_create(
        (RoundPool(round=planned, pool_id=pools[query], begun=status.begun) for query, status in playing.items()),
        batch_size=1_000,
    )
    planned.obstacle = _obstacle(locked, planned)
    if planned.obstacle:
        planned.save(update_fields=["obstacle"])
        alarms.alarm_raise(of=locked, kind=CampaignAlarm.ROUND, text=planned.obstacle, at=at)
    else:
        _ask(evidence, planned, playing, None, at)
    return True


@transaction.atomic
def round_ask(*, campaign: Campaign, number: int, by: User, at: datetime) -> Round:
    """Ask a round that waits for a person. Raises NotNow where it does not (any more)."""
    locked = _lock(campaign)
    planned = Round.objects.filter(campaign=campaign, number=number, asked_at=None).first()
    if locked is None or planned is None:
        raise NotNow(_("No such round waits to be asked (any more)."))
    queries = planned.played.values_list("pool__query__qid", flat=True)
    _ask(Evidence(locked), planned, set(queries), by, at)
    alarms.alarm_settle(of=locked, kind=CampaignAlarm.ROUND, at=at)
    return planned


def round_cost(campaign: Campaign, planned: Round) -> Decimal:
    """What all rounds come to by their bill with this one, which is not asked yet."""
    hits = campaign.hits.count() + -(-planned.pairs // campaign.pairs_per_hit)
    return hits_bill(publication_likely(campaign), [(campaign.overlap, hits)]).total


class RoundsShown(NamedTuple):
    """The rounds until now, the one that waits for a person with what all then cost, and whether all are over."""

    rows: list[Round]
    waits: Round | None
    cost: Decimal | None
    is_over: bool


def rounds_shown(campaign: Campaign) -> RoundsShown | None:
    """The rounds of a campaign that has started; None where it is not in rounds."""
    if not campaign.pairing.is_staged:
        return None
    rows = list(campaign.rounds.select_related("asked_by").order_by("number"))
    waits = rows[-1] if rows and rows[-1].asked_at is None else None
    cost = None if waits is None else round_cost(campaign, waits)
    return RoundsShown(rows, waits, cost, campaign.rounds_revision == campaign.revision)


def _lock(campaign: Campaign) -> Campaign | None:
    """A campaign in rounds, or of challengers, that is open or paused, locked."""
    return (
        Campaign.objects.select_for_update(no_key=True)
        .filter(pk=campaign.pk, design__in=designs_that("goes_on"), state__in=LIVE)
        .first()
    )


def _confirm(campaign: Campaign) -> bool:
    """Ask once more about each pair that a challenger won and that is not confirmed. Whether there was any."""
    if _is_judged_on(campaign):
        return False
    waiting = set(campaign.pairing.next(Evidence(campaign).outcome))
    pairs = Pair.objects.filter(pool__campaign=campaign, is_set_aside=False).annotate(slots=Count("acceptances"))
    again: dict[int, dict[str, list[int]]] = {}
    for pk, query, a, b, slots in pairs.values_list("id", "pool__query__qid", "a__pid", "b__pid", "slots").order_by(
        "id"
    ):
        if IdPair(query, a, b) in waiting:
            again.setdefault(slots, {}).setdefault(query, []).append(pk)
    if not again:
        Campaign.objects.filter(pk=campaign.pk).update(rounds_revision=F("revision"))
        return False
    for slots, by_query in sorted(again.items()):
        task_services.pairs_ask_again(campaign=campaign, judgments=slots, pairs_by_query=list(by_query.values()))
    return True


def _first_store(campaign: Campaign, at: datetime) -> None:
    """Write down the first round, which was packed when the campaign started."""
    sizes = {size: count for size, count in campaign.pool_sizes.items() if size > 1}
    Round.objects.create(
        campaign=campaign,
        number=1,
        planned_at=at,
        pools=sum(sizes.values()),
        passages=sum(size * count for size, count in sizes.items()),
        pairs=campaign.pair_count,
        unsettled=0,
        asked_at=at,
        hits=campaign.hits.count(),
    )


def _is_judged_on(campaign: Campaign) -> bool:
    """Whether a pair still waits for judgments, or work on it for a person: all but those that were set aside."""
    if Hit.objects.filter(Q(needed__gt=0) | Q(is_held=True), campaign=campaign).exists():
        return True
    pairs = Pair.objects.filter(pool__campaign=campaign, is_reused=False, is_set_aside=False)
    lacking = pairs.annotate(slots=Count("acceptances")).filter(slots__lt=campaign.slots_needed)
    return lacking.exists()


def _obstacle(campaign: Campaign, planned: Round) -> str:
    """Why a round waits for a person; empty where it does not."""
    pairs = ngettext("%(count)s pair", "%(count)s pairs", planned.pairs) % {"count": f"{planned.pairs:,}"}
    facts = {"number": planned.number, "pairs": pairs}
    cost = round_cost(campaign, planned)
    if campaign.rounds_budget is not None and cost > campaign.rounds_budget:
        facts |= {"cost": campaign.money(cost), "budget": campaign.money(campaign.rounds_budget)}
        text = _(
            "Round %(number)s, with %(pairs)s, is planned. With it, the rounds cost %(cost)s, and their budget is "
            "%(budget)s. Ask it on the campaign's page if you want to spend more, or close the campaign."
        )
        return text % facts
    if campaign.rounds_wait:
        return _("Round %(number)s, with %(pairs)s, is planned. Look at it, and ask it on the campaign's page.") % facts
    return ""


def _ask(evidence: Evidence, planned: Round, playing: Container[str], by: User | None, at: datetime) -> None:
    """Store the pairs of a round between these queries' passages that nobody was asked about, and pack them."""
    campaign = evidence.campaign
    stored = Pair.objects.filter(pool__campaign=campaign)
    present = set(stored.values_list("pool__query__qid", "a__pid", "b__pid"))
    requests = campaign.pairing.next(evidence.outcome)
    new = [pair for pair in requests if pair.query in playing and pair not in present]
    keys = pool_services.pairs_add(campaign=campaign, pairs=new)
    by_query: dict[str, list[int]] = {}
    for pair, key in sorted(keys.items()):
        by_query.setdefault(pair.query, []).append(key)
    planned.hits = task_services.hits_of_round(campaign=campaign, pairs_by_query=list(by_query.values()))
    planned.pairs, planned.asked_at, planned.asked_by = len(new), at, by
    planned.save(update_fields=["hits", "pairs", "asked_at", "asked_by"])
