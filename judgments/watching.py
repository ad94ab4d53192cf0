"""What the page of a running campaign shows: how far, when done at this pace, what it costs, what needs a person.

All who look within a few seconds share one count, whatever the size of the campaign.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from django.core.cache import cache
from django.db.models import OuterRef, Subquery
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from judgments import reported
from platforms import status as platform_status
from platforms.messages import conversations
from platforms.models import HandPayment, Payment, Publication
from platforms.money.bills import remaining_bill
from platforms.money.pay_desk import sums_by_payer, sums_of
from platforms.terms import publication_likely
from pools.counting import counts_of
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks.models import Assignment, Hit

SHARED = 10  # seconds for which a count is everybody's
WINDOW = timedelta(hours=24)  # of accepted work, from which the pace follows
ENOUGH = 5  # accepted assignments that a pace is said from
PACE_FROM = 200
LONGEST = timedelta(days=365)


class Forecast(NamedTuple):
    """When the work is done if it goes on as in the last `seconds`, in which `accepted` assignments were accepted.

    `remaining` more are needed. `done_at` is None where `why` says what keeps it from being said.
    """

    remaining: int
    accepted: int
    seconds: float
    done_at: datetime | None
    why: str


class Cost(NamedTuple):
    """Owed to workers so far, paid of that by the platform or the lab itself, the platform's fees so far, what the work
    that is still needed costs with its fees, also what a pilot holds back, and all of it at the end.
    """

    owed: Decimal
    paid: Decimal
    to_pay: Decimal
    fees: Decimal
    to_come: Decimal

    @property
    def at_end(self) -> Decimal:
        return self.owed + self.fees + self.to_come


class Watched(NamedTuple):
    """A campaign as it runs. `counted_at` is when it was counted."""

    progress: task_selectors.Progress
    forecast: Forecast
    cost: Cost
    counted_at: datetime


def campaign_watch(campaign: Campaign, at: datetime) -> Watched:
    """Count, or give what was counted a moment ago. What ends, is decided on or is marked as paid is seen at once."""
    assignments = Assignment.objects.filter(campaign=OuterRef("pk")).order_by("-id").values("id")
    paid = HandPayment.objects.filter(campaign=OuterRef("pk")).order_by("-id").values("id")
    rows = Campaign.objects.filter(pk=campaign.pk)
    newest, newest_paid = rows.values_list(Subquery(assignments[:1]), Subquery(paid[:1])).get()
    key = f"watched campaign {campaign.pk} {campaign.state} {campaign.revision} {newest} {newest_paid}"
    watched: Watched | None = cache.get(key)
    if watched is None:
        progress = task_selectors.progress(campaign)
        watched = Watched(progress, forecast(campaign, at, progress.active), _cost(campaign), at)
        cache.set(key, watched, timeout=SHARED)
    return watched


def forecast(campaign: Campaign, at: datetime, active: int = 0) -> Forecast:
    """When the campaign is done at its present pace. `active` assignments are being judged."""
    hits = counts_of(campaign, "hits")
    remaining = sum(int(needed) * total.rows for (needed, _wanted, _held), total in hits.items())
    recent = campaign.assignments.filter(verdict=Assignment.Verdict.ACCEPTED, finished_at__gt=at - WINDOW)
    ended = list(recent.order_by("-finished_at").values_list("finished_at", flat=True)[:PACE_FROM])
    lasted = at - ended[-1] if ended and ended[-1] else timedelta(0)
    base = Forecast(remaining, len(ended), lasted.total_seconds(), None, "")
    if not remaining:
        return base._replace(why=_being_judged(active) if active else _all_done(campaign))
    if campaign.state != Campaign.State.OPEN:
        return base._replace(why=_("Nobody gets a HIT while the campaign is not open."))
    if len(ended) < ENOUGH or not lasted:
        text = _("Too little was accepted in the last 24 hours to say when it is done.")
        return base._replace(why=text)
    # The oldest begins the time that is looked at, and the others came within it.
    takes = lasted * remaining / (len(ended) - 1)
    if takes > LONGEST:
        return base._replace(why=_("At this pace it takes more than a year."))
    return base._replace(done_at=at + takes)


def _being_judged(active: int) -> str:
    """What no HIT that waits means while somebody is at work."""
    text = ngettext(
        "No HIT waits for a worker; %(count)s assignment is still being judged.",
        "No HIT waits for a worker; %(count)s assignments are still being judged.",
        active,
    )
    return text % {"count": f"{active:,}"}


def _all_done(campaign: Campaign) -> str:
    """What no HIT that waits means."""
    if Hit.objects.filter(campaign=campaign, is_held=True).exists():
        return _("The pilot's work is done.")
    if campaign.pairing.is_staged and campaign.rounds_revision != campaign.revision:
        return _("The work of this round is done.")
    return _("All the judging is done.")


def _cost(campaign: Campaign) -> Cost:
    sums, publication = sums_of(campaign), publication_likely(campaign)
    to_come = remaining_bill(publication, with_held=True).total
    return Cost(sums.owed, sums.paid, sums.to_pay, sums.fees, to_come)


# --- what needs a person


class Need(NamedTuple):
    """Something that waits for a person, in words, and where it is done."""

    text: str
    address: str


def needs_of(campaign: Campaign, publication: Publication | None = None) -> list[Need]:
    """What waits for a person beside alarms: a pilot, at the platform, and what workers reported and wrote.

    `publication`: the campaign's stored one, where it has been read already.
    """
    current = publication or Publication.objects.filter(campaign=campaign).first()
    of_pilot = _needs_of_pilot(campaign)
    at_the_end = [] if of_pilot else _needs_at_the_end(campaign)
    return [*of_pilot, *_needs_at_platform(current), *_needs_of_reports(campaign), *at_the_end]


def _needs_of_pilot(campaign: Campaign) -> list[Need]:
    """The rest of the HITs, once those of the pilot are done."""
    hits = Hit.objects.filter(campaign=campaign)
    if campaign.state == Campaign.State.CLOSED or not campaign.pilot_hits or hits.filter(needed__gt=0).exists():
        return []
    text = _("See what the pilot taught, and launch the rest.")
    return [Need(text, reverse("judgments:pilot", args=[campaign.pk]))] if hits.filter(is_held=True).exists() else []


def _needs_at_platform(publication: Publication | None) -> list[Need]:
    """Messages to answer, work to decide on, compensations to offer."""
    if publication is None or publication.state == Publication.State.DRAFT:
        return []
    waiting = platform_status.for_a_person(platform_status.submissions_of(publication)).count()
    owed = publication.payments.filter(purpose=Payment.Purpose.COMPENSATION, state=Payment.State.OWED).count()
    unanswered = conversations.unanswered(publication)
    texts = [
        (unanswered, _messages(unanswered), "platforms:messages"),
        (waiting, _work_to_decide(waiting), "platforms:submissions"),
        (owed, _compensations(owed), "platforms:compensations"),
    ]
    return [Need(text, reverse(name, args=[publication.campaign_id])) for count, text, name in texts if count]


def _needs_of_reports(campaign: Campaign) -> list[Need]:
    """Reported pairs to decide on, work that the rule cannot decide on, notes that nobody has read."""
    waiting = campaign.assignments.filter(verdict=Assignment.Verdict.HELD).count()
    pairs = reported.pairs_to_decide(campaign).count()
    notes = reported.notes_of(campaign).filter(read_at=None).count()
    work, reports = (reverse(name, args=[campaign.pk]) for name in ("review:work", "review:reports"))
    needs = [
        (pairs, Need(_pairs(pairs), reports)),
        (waiting, Need(_held(waiting), f"{work}?verdict={Assignment.Verdict.HELD}")),
        (notes, Need(_notes(notes), f"{reports}#notes")),
    ]
    return [need for count, need in needs if count]


def _needs_at_the_end(campaign: Campaign) -> list[Need]:
    """Once nobody is waited for: work that ended and is not checked, and what is not paid."""
    is_over = (
        campaign.state == Campaign.State.CLOSED or not Hit.objects.filter(campaign=campaign, needed__gt=0).exists()
    )
    if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING) or not is_over:
        return []
    ended = campaign.assignments.filter(verdict=Assignment.Verdict.PENDING).exclude(state=Assignment.State.ACTIVE)
    unchecked = ended.count()
    by_hand, by_platform = (sums.to_pay for sums in sums_by_payer([campaign.pk])[campaign.pk])
    work, pay = reverse("review:work", args=[campaign.pk]), reverse("platforms:pay", args=[campaign.pk])
    at_platform = _("See why %(amount)s is not paid at the platform yet.") % {"amount": campaign.money(by_platform)}
    needs = [
        (unchecked, Need(_unchecked(unchecked), f"{work}?verdict={Assignment.Verdict.PENDING}")),
        (by_hand, Need(_("Pay people %(amount)s.") % {"amount": campaign.money(by_hand)}, pay)),
        (by_platform, Need(at_platform, pay)),
    ]
    return [need for amount, need in needs if amount]


def _unchecked(count: int) -> str:
    text = ngettext(
        "Use or exclude %(count)d assignment that has ended and is not checked yet, or wait until its platform says "
        "that it was submitted.",
        "Use or exclude %(count)d assignments that have ended and are not checked yet, or wait until their platform "
        "says that they were submitted.",
        count,
    )
    return text % {"count": count}


def _pairs(count: int) -> str:
    text = ngettext("Decide on %(count)d reported pair.", "Decide on %(count)d reported pairs.", count)
    return text % {"count": count}


def _held(count: int) -> str:
    text = ngettext(
        "Use or exclude the data of %(count)d assignment that reported many pairs, or failed an unproven test pair.",
        "Use or exclude the data of %(count)d assignments that reported many pairs, or failed an unproven test pair.",
        count,
    )
    return text % {"count": count}


def _notes(count: int) -> str:
    text = ngettext("Read %(count)d note of a worker.", "Read %(count)d notes of workers.", count)
    return text % {"count": count}


def _messages(count: int) -> str:
    text = ngettext("Answer %(count)d message of a worker.", "Answer %(count)d messages of workers.", count)
    return text % {"count": count}


def _work_to_decide(count: int) -> str:
    text = ngettext("Decide on %(count)d submission.", "Decide on %(count)d submissions.", count)
    return text % {"count": count}


def _compensations(count: int) -> str:
    text = ngettext("Offer or decline %(count)d compensation.", "Offer or decline %(count)d compensations.", count)
    return text % {"count": count}
