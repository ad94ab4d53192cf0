"""Comparing our ledger with the platform's, HIT by HIT: some HITs at a time, and only those that can still change.

A comparison begins by marking the HITs that it asks about. It goes on, in any process and after any kill, until none
is left, and is then kept for the page. What differs raises an alarm. A HIT on which both agreed, with nothing more to
come, is settled: it is asked about again only by a full comparison, which a publication needs before it is finished,
and which a person can ask for.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.alarms import alarm_raise, alarm_settle, in_words
from core.locks import alone
from platforms.adapter import Adapter, Trouble
from platforms.calls import payments_settle
from platforms.models import (
    LedgerComparison,
    Operation,
    Payment,
    PlatformAlarm,
    Publication,
    PublishedHit,
    RunningComparison,
    Submission,
)
from platforms.money.ledger import totals
from platforms.money.protocol import MarkedHit
from platforms.registry import adapter_of, phrase
from platforms.submitted import batches

EVERY = timedelta(hours=6)  # what can still change is compared that often
MOST_SENTENCES = 100  # differences that are kept in words; all are counted
VERSION = 1  # of what is kept; a comparison of another version is as none: the next one follows within hours
CALLS = 2  # to the platform about one HIT
ZERO = Decimal("0.00")
SUMS = ("ours_rewards", "ours_bonuses", "platform_rewards", "platform_bonuses")
State, Purpose, Status = Payment.State, Payment.Purpose, Submission.Status
log = logging.getLogger(__name__)


class Comparison(NamedTuple):
    """Our ledger beside the platform's: rewards of approved assignments, and bonuses.

    `differences` are sentences, one for each HIT that the two do not agree on (the first `MOST_SENTENCES`); `balance`
    is what the account has.
    """

    ours_rewards: Decimal
    ours_bonuses: Decimal
    platform_rewards: Decimal
    platform_bonuses: Decimal
    fees: Decimal
    balance: Decimal
    differences: list[str]

    @property
    def agree(self) -> bool:
        """Whether both say the same, HIT by HIT, to the cent."""
        return not self.differences


class Compared(NamedTuple):
    """A comparison, when it was made, and how many HITs differ."""

    comparison: Comparison
    at: datetime
    differences: int


def comparison_last(publication: Publication) -> Compared | None:
    """The last comparison; None if there was none, or it was another version of the software's."""
    row = LedgerComparison.objects.filter(publication=publication, version=VERSION).first()
    if row is None:
        return None
    amounts = {name: Decimal(value) for name, value in row.content.items() if name != "differences"}
    return Compared(Comparison(**amounts, differences=row.content["differences"]), row.made_at, row.differences)


def left_to_compare(publication: Publication) -> int | None:
    """How many HITs the comparison that is going on is yet to ask about; None if none is going on."""
    if not RunningComparison.objects.filter(publication=publication).exists():
        return None
    return publication.published_hits.filter(compare_due=True).count()


def is_due(publication: Publication, at: datetime) -> bool:
    """Whether it is time to compare what can still change."""
    if RunningComparison.objects.filter(publication=publication).exists():
        return False
    made_at = LedgerComparison.objects.filter(publication=publication).values_list("made_at", flat=True).first()
    since = made_at or publication.published_at
    return since is None or since <= at - EVERY


@transaction.atomic
def comparison_begin(*, publication: Publication, at: datetime, full: bool) -> bool:
    """Begin to compare all HITs that were worked on, or those of them that can still change.

    False where a comparison that asks about as much is going on: that one is continued.
    """
    running, new = RunningComparison.objects.select_for_update().get_or_create(
        publication=publication, defaults={"began_at": at, "is_full": full}
    )
    if not new and (running.is_full or not full):
        return False
    running.began_at, running.is_full, running.strays = at, full, None
    running.save()
    posted = publication.published_hits.exclude(platform_hit_id="")
    chosen = posted if full else unsettled(posted)
    worked = Exists(Submission.objects.filter(published_hit=OuterRef("pk")))
    compensated = Exists(Operation.objects.filter(published_hit=OuterRef("pk"), payment__state=State.PAID))
    chosen.filter(worked | compensated).update(compare_due=True)
    return True


def comparison_continue(
    *,
    publication: Publication,
    at: datetime,
    seconds: float,
    rate: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> LedgerComparison | None:
    """Compare HITs of the comparison that is going on: for so long, but one at least, at `rate` calls a second.

    What came of it once that was the last; None before, where none is going on, and where another process is at it.
    """
    with alone(f"comparison of publication {publication.pk}") as ours:
        going_on = RunningComparison.objects.select_related("publication__campaign")
        running = going_on.filter(publication=publication).first() if ours else None
        if running is None:
            return None
        publication = running.publication  # as it is now: the caller's may be older than what it has at the platform
        adapter = adapter_of(publication)
        client = adapter.client()
        if running.strays is None:
            hits = adapter.marked_hits(client, publication)
            _keep_rewards(publication, hits)
            running.strays = _strays(publication, adapter, hits)
            running.save(update_fields=["strays"])
        ends = time.monotonic() + seconds
        due = publication.published_hits.filter(compare_due=True).order_by("id")
        while published_hit := due.first():
            started = time.monotonic()
            _compare_alone(adapter, client, published_hit, at)
            if rate is not None:
                sleep(max(0.0, CALLS / rate - (time.monotonic() - started)))
            if time.monotonic() >= ends:
                return None
        return _end(running, adapter.balance(client), at)


def comparison_make(*, publication: Publication, at: datetime) -> Comparison:
    """Compare everything now: ask about every HIT that was worked on, as fast as the platform answers."""
    began = timezone.now()
    comparison_begin(publication=publication, at=at, full=True)
    while comparison_continue(publication=publication, at=at, seconds=3600.0) is None:
        if not RunningComparison.objects.filter(publication=publication).exists():
            break  # another process compared the last of them
        time.sleep(0.5)
    compared = comparison_last(publication)
    assert compared is not None
    log.info("Publication %s: compared in %.1f s", publication.pk, (timezone.now() - began).total_seconds())
    return compared.comparison


def unsettled(published_hits: QuerySet[PublishedHit]) -> QuerySet[PublishedHit]:
    """Those of HITs that are not settled, and those on which something happened since they were."""
    calls = Operation.objects.filter(Q(ended_at=None) | Q(ended_at__gt=OuterRef("settled_at")))
    waiting = Q(status=Status.SUBMITTED) | Q(decision=Submission.Decision.NONE)
    decided = Q(decided_at__gt=OuterRef("settled_at"))
    stirred = (
        Q(settled_at=None)
        | Q(next_poll_at__isnull=False)
        | Q(Exists(calls.filter(published_hit=OuterRef("pk"))))
        | Q(Exists(calls.filter(submission__published_hit=OuterRef("pk"))))
        | Q(Exists(Submission.objects.filter(waiting | decided, published_hit=OuterRef("pk"))))
    )
    return published_hits.filter(stirred)


def _keep_rewards(publication: Publication, hits: dict[str, MarkedHit]) -> None:
    """Write down what the platform lists for each HIT, so that it is not asked about each of them."""
    by_reward: dict[Decimal, list[str]] = {}
    for hit_id, hit in hits.items():
        by_reward.setdefault(hit.reward, []).append(hit_id)
    for reward, hit_ids in by_reward.items():
        for batch in batches(hit_ids):
            others = publication.published_hits.filter(platform_hit_id__in=batch).exclude(listed_reward=reward)
            others.update(listed_reward=reward)


def _strays(publication: Publication, adapter: Adapter, hits: dict[str, MarkedHit]) -> list[str]:
    """HITs that bear the publication's mark and that we do not know: published twice, whatever the reason."""
    ours = set(publication.published_hits.exclude(platform_hit_id="").values_list("platform_hit_id", flat=True))
    unknown = {hit_id: hit.mark for hit_id, hit in hits.items() if hit_id not in ours}
    if not unknown:
        return []
    publishing = [Operation.Kind.CREATE, Operation.Kind.COMPENSATE]
    on_their_way = publication.operations.filter(ended_at=None, kind__in=publishing)
    awaited = {adapter.mark_of(operation) for operation in on_their_way}
    arrived = set(
        publication.published_hits.filter(platform_hit_id__in=list(unknown)).values_list("platform_hit_id", flat=True)
    )
    return [hit_id for hit_id, mark in unknown.items() if mark not in awaited and hit_id not in arrived]


def _compare_alone(adapter: Adapter, client: Any, published_hit: PublishedHit, at: datetime) -> None:
    """Compare one HIT. What the platform says of it, and cannot be understood, is a difference; others go on.

    A failure of the platform itself stops the comparison, which goes on later where it stopped.
    """
    try:
        compared = _compared(adapter, client, published_hit, at)
    except Exception as error:
        mine = (Trouble.STATE, Trouble.REFUSED)
        if isinstance(error, adapter.errors) and adapter.trouble_of(error) not in mine:
            raise
        log.exception("HIT %s of publication %s", published_hit.platform_hit_id, published_hit.publication_id)
        text = _("HIT %(hit)s: the platform's answer could not be understood (%(error)s).")
        sentence = phrase(published_hit.publication, text) % {
            "hit": published_hit.platform_hit_id,
            "error": in_words(error),
        }
        compared = {"difference": sentence}
    this = PublishedHit.objects.filter(pk=published_hit.pk)
    this.update(compare_due=False, compared_at=at, settled_at=None, **compared)
    if not compared["difference"]:
        _settle(this, at)


def _compared(adapter: Adapter, client: Any, published_hit: PublishedHit, at: datetime) -> dict[str, Any]:
    """What the two ledgers say of a HIT, as its columns. Rewards that the platform has paid and whose answer was lost
    are marked paid on the way.
    """
    hit_id = published_hit.platform_hit_id
    works = (adapter.work_of(answer) for answer in adapter.submitted(client, hit_id))
    approved = {work.assignment_id: work.approval for work in works if work.status == Status.APPROVED}
    bonuses = adapter.bonuses_of(client, hit_id)
    rewards = ZERO
    if approved:
        base = published_hit.listed_reward
        rewards = len(approved) * (adapter.reward_of(client, hit_id) if base is None else base)
    unpaid = Payment.objects.filter(
        submission__published_hit=published_hit,
        purpose=Purpose.REWARD,
        submission__platform_assignment_id__in=list(approved),
    ).exclude(state=State.PAID)
    for payment in unpaid.select_related("submission"):
        when = approved[payment.submission.platform_assignment_id] if payment.submission else ""
        payments_settle(evidence={payment.pk: {"found": "Approved", "ApprovalTime": when}}, at=at)
    # Two questions, as one with an “or” would look through all payments for each HIT.
    offered = Payment.objects.filter(
        operations__published_hit=published_hit, purpose=Purpose.COMPENSATION, state=State.PAID
    )
    paid = Payment.objects.filter(submission__published_hit=published_hit, state=State.PAID)
    accepted = [row for row in offered if _taken_on(row) == published_hit]
    rows = {row.pk: row for row in [*paid, *accepted]}.values()
    amounts = (
        sum((row.amount for row in rows if row.purpose not in adapter.bonus_purposes), ZERO),
        sum((row.amount for row in rows if row.purpose in adapter.bonus_purposes), ZERO),
        rewards,
        bonuses,
    )
    difference = ""
    if amounts[:2] != amounts[2:]:
        text = _("HIT %(hit)s: we have rewards of %(r)s and bonuses of %(b)s, the platform %(vr)s and %(vb)s.")
        values = dict(zip(("r", "b", "vr", "vb"), map(published_hit.publication.campaign.money, amounts), strict=True))
        difference = phrase(published_hit.publication, text) % {"hit": hit_id, **values}
    return {**dict(zip(SUMS, amounts, strict=True)), "difference": difference}


def _taken_on(payment: Payment) -> PublishedHit | None:
    """Of the HITs by which a compensation was offered, one after another, that which was taken; else the last."""
    submissions = Submission.objects.filter(published_hit=OuterRef("pk")).exclude(status=Status.REJECTED)
    offers = PublishedHit.objects.filter(operations__payment=payment, hit=None).annotate(is_taken=Exists(submissions))
    return offers.order_by("-is_taken", "-pk").first()


def _settle(published_hits: QuerySet[PublishedHit], at: datetime) -> None:
    """Mark as settled what nothing more can come on: it is not polled, no call is planned, all work is paid."""
    open_calls = Operation.objects.filter(ended_at=None)
    waiting = Q(status=Status.SUBMITTED) | Q(decision=Submission.Decision.NONE)
    unpaid = Payment.objects.filter(state__in=[State.OWED, State.SENT])
    over = published_hits.filter(next_poll_at=None, settled_at=None).exclude(platform_hit_id="")
    over.exclude(
        Exists(open_calls.filter(published_hit=OuterRef("pk")))
        | Exists(open_calls.filter(submission__published_hit=OuterRef("pk")))
        | Exists(Submission.objects.filter(waiting, published_hit=OuterRef("pk")))
        | Exists(unpaid.filter(submission__published_hit=OuterRef("pk")))
        | Exists(unpaid.filter(operations__published_hit=OuterRef("pk")))
    ).update(settled_at=at)


@transaction.atomic
def _end(running: RunningComparison, balance: Decimal, at: datetime) -> LedgerComparison | None:
    """Keep what came of a comparison whose last HIT was asked about. None if it was begun anew meanwhile."""
    this = RunningComparison.objects.filter(pk=running.pk, began_at=running.began_at, is_full=running.is_full)
    if not this.delete()[0]:
        return None
    publication = running.publication
    stray = phrase(publication, _("HIT %(hit)s is at the platform but unknown here."))
    strays = [stray % {"hit": hit_id} for hit_id in running.strays or []]
    hits = publication.published_hits
    _settle(hits.filter(~Exists(Submission.objects.filter(published_hit=OuterRef("pk")))), at)
    differing = hits.exclude(difference="").order_by("id")
    count = len(strays) + differing.count()
    words = [*strays, *differing.values_list("difference", flat=True)[:MOST_SENTENCES]][:MOST_SENTENCES]
    sums = hits.aggregate(**{name: Sum(name, default=ZERO) for name in SUMS})
    comparison = Comparison(**sums, fees=totals(publication).fees, balance=balance, differences=words)
    if words:
        text = ngettext(
            "The platform's ledger differs on %(count)d HIT. %(first)s",
            "The platform's ledger differs on %(count)d HITs. %(first)s",
            count,
        )
        sentence = phrase(publication, text) % {"count": count, "first": words[0]}
        alarm_raise(of=publication, kind=PlatformAlarm.LEDGER, text=sentence, at=at)
    else:
        alarm_settle(of=publication, kind=PlatformAlarm.LEDGER, at=at)
    content = {
        name: str(value) if isinstance(value, Decimal) else value for name, value in comparison._asdict().items()
    }
    row, _new = LedgerComparison.objects.update_or_create(
        publication=publication,
        defaults={
            "version": VERSION,
            "began_at": running.began_at,
            "made_at": at,
            "is_full": running.is_full,
            "differences": count,
            "content": content,
        },
    )
    return row
