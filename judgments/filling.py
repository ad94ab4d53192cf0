"""Which judgments count: those of accepted work, first finished first, in as many slots as a pair has."""

from collections.abc import Iterable

from django.db import connection

from evaluation.judging.designs import designs_that
from judgments import selectors as judgment_selectors
from judgments.models import Acceptance, Reuse
from pools import services as pool_services
from pools.models import Campaign, Pair
from tasks import services as task_services
from tasks.models import Assignment, Hit, Item


def campaigns_mark_changed(assignment: Assignment, *, was_excluded: bool = False) -> None:
    """Mark that a campaign has changed; where work was excluded or restored, those that reuse its judgments too.

    Challenges are decided also by what was judged before they were created, which work of that time changes whenever it
    is taken as final. In the order of their keys, as everywhere, so that no two wait for each other.
    """
    campaigns = {assignment.campaign_id}
    challenges = Campaign.objects.filter(
        collection__campaigns=assignment.campaign_id, design__in=designs_that("challenges")
    ).exclude(state=Campaign.State.DRAFT)
    if was_excluded or assignment.verdict == Assignment.Verdict.EXCLUDED:
        # Slots that this empties, or takes, may be filled with older judgments.
        campaigns.update(Reuse.objects.filter(source=assignment.campaign_id).values_list("campaign_id", flat=True))
    else:
        challenges = challenges.filter(created_at__gt=assignment.taken_at)
    campaigns.update(challenges.values_list("id", flat=True))
    for campaign_id in sorted(campaigns):
        pool_services.campaign_mark_changed(campaign_id=campaign_id)


def pairs_of(assignment: Assignment) -> list[int]:
    """The keys of an assignment's pairs, in order."""
    pairs = Pair.objects.filter(items__hit=assignment.hit_id).order_by("id")
    return list(pairs.values_list("id", flat=True).distinct())


def hits_lock(pair_ids: Iterable[int]) -> list[int]:
    """Lock every HIT that holds one of these pairs, always in the same order, and return their keys."""
    hits = Hit.objects.filter(id__in=Item.objects.filter(pair__in=list(pair_ids)).values("hit"))
    return list(hits.select_for_update().order_by("id").values_list("id", flat=True))


# What a person decided last holds. Without a decision, or since it, so many workers as the campaign says, whose work is
# used, must have reported the pair.
_SET_ASIDE = """
UPDATE pools_pair pair SET is_set_aside = counted.is_set_aside
FROM (
  SELECT pair.id, coalesce(decision.kind = 'set_aside', false) OR campaign.reports_per_pair <= (
    SELECT count(DISTINCT assignment.worker_id)
    FROM judgments_pairreport report
      JOIN tasks_item item ON item.id = report.item_id
      JOIN tasks_assignment assignment ON assignment.id = report.assignment_id
    WHERE item.pair_id = pair.id AND report.withdrawn_at IS NULL AND assignment.verdict = 'accepted'
      AND report.made_at > coalesce(decision.at, '-infinity')) AS is_set_aside
  FROM pools_pair pair
    JOIN pools_pool pool ON pool.id = pair.pool_id
    JOIN pools_campaign campaign ON campaign.id = pool.campaign_id
    LEFT JOIN LATERAL (
      SELECT kind, at FROM judgments_pairdecision WHERE pair_id = pair.id ORDER BY id DESC LIMIT 1) decision ON true
  WHERE pair.id = ANY(%s)) counted
WHERE pair.id = counted.id AND pair.is_set_aside <> counted.is_set_aside
"""


def pairs_fill(pair_ids: list[int]) -> None:
    """Fill free slots of these pairs with judgments that wait for one, first finished first; set aside those that have
    enough reports; and recount the HITs.

    A pair takes at most as many judgments as one of its HITs wants, and one of each worker; what finds no slot stays
    stored, unused.
    """
    hit_ids = hits_lock(pair_ids)
    used: dict[int, set[int]] = {pk: set() for pk in pair_ids}
    by_worker: set[tuple[int, int]] = set()
    for pair_id, slot, worker_id in Acceptance.objects.filter(pair__in=pair_ids).values_list("pair", "slot", "worker"):
        used[pair_id].add(slot)
        by_worker.add((pair_id, worker_id))
    slots = judgment_selectors.slots_of(pair_ids)
    filled = []
    for waiting in judgment_selectors.waiting_for(pair_ids):
        free = next(
            (slot for slot in range(1, slots.get(waiting.pair_id, 0) + 1) if slot not in used[waiting.pair_id]), None
        )
        if free is None or (waiting.pair_id, waiting.worker_id) in by_worker:
            continue
        used[waiting.pair_id].add(free)
        by_worker.add((waiting.pair_id, waiting.worker_id))
        filled.append(
            Acceptance(
                pair_id=waiting.pair_id,
                slot=free,
                judgment_id=waiting.judgment_id,
                worker_id=waiting.worker_id,
                assignment_id=waiting.assignment_id,
            )
        )
    Acceptance.objects.bulk_create(filled)
    with connection.cursor() as cursor:
        cursor.execute(_SET_ASIDE, [list(pair_ids)])
    task_services.hits_recount(hit_ids=hit_ids, counted_in=Acceptance._meta.db_table)
