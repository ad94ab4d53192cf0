"""Publishing a campaign: its terms, the dry run, the start; pause, resume, extend, expire, and the kill switch."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast, Concat
from django.utils.translation import gettext as _

from pools.errors import NotNow, Refused
from pools.models import Campaign
from tasks.crowd.environments import bonus_fee, environment, paper_requirements, reward_fee
from tasks.crowd.mturk import assert_host, client_for, frame_address, read
from tasks.models import Hit, Operation, Payment, Posting, Publication
from tasks.money import dollars
from tasks.venue.alarms import alarm_raise, alarm_settle
from tasks.venue.planning import (
    end_plan,
    exclusion_name,
    hit_request,
    hit_type_request,
    operation_plan,
    postings_plan,
    reopen_plan,
)

State = Publication.State
Kind = Operation.Kind
TERMS = (
    "environment pay base requirements title description keywords lifetime assignment_duration auto_approval "
    "approve_after rate"
).split()
STOPPED = "stopped"  # the alarm of publications that were all stopped at once
BATCH = 500
"""HITs that are planned ahead of their calls: what bounds the memory."""


def publication_unsaved(campaign: Campaign) -> Publication:
    """The terms that a campaign starts from, not stored, and without the demands on workers."""
    return Publication(
        campaign=campaign,
        title=campaign.title,
        description=_("Read a question and two passages, and choose the passage that answers it best. Repeat."),
        keywords=_("search, reading, comparison, answers"),
        assignment_duration=timedelta(minutes=campaign.minutes_per_hit),
    )


@transaction.atomic
def publication_write(*, campaign: Campaign, **terms: Any) -> Publication:
    """Write, or change, the terms on which a campaign will be published; the paper's demands on workers by default.

    Raises NotNow once it is published, Refused for terms that the venue or the campaign does not allow.
    """
    publication = Publication.objects.select_for_update().filter(campaign=campaign).first()
    if publication is None:
        publication = publication_unsaved(campaign)
        terms = {"requirements": paper_requirements(environment(terms.get("environment", "marketplace")))} | terms
    if publication.state != State.DRAFT:
        raise NotNow(_("The campaign is published: its terms are fixed."))
    environment(terms.get("environment", publication.environment))
    for name, value in terms.items():
        setattr(publication, name, value)
    limits = {
        _("The auto-approval is from 3 to 30 days, so that it never comes before the check of the test pairs."): (
            timedelta(days=3) <= publication.auto_approval <= timedelta(days=30)
        ),
        _("The work may wait for at most a day less than the auto-approval."): (
            timedelta(0) <= publication.approve_after <= publication.auto_approval - timedelta(days=1)
        ),
        _("A venue keeps a HIT from 30 seconds to 365 days."): (
            timedelta(seconds=30) <= publication.lifetime <= timedelta(days=365)
            and timedelta(seconds=30) <= publication.assignment_duration <= timedelta(days=365)
        ),
        _("At most 9 requirements on workers, beside the exclusion."): len(publication.requirements) <= 9,
        _("A venue lists rewards of a cent or more: the campaign's reward is less."): publication.listed > 0,
    }
    broken = [sentence for sentence, holds in limits.items() if not holds]
    if broken:
        raise Refused(" ".join(broken))
    try:
        publication.full_clean(validate_unique=False)
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    publication.save()
    return publication


class VenueBill(NamedTuple):
    """What is still to be paid if everybody finishes everything, in dollars, and what the account has."""

    hits: int
    assignments: int
    rewards: Decimal
    bonuses: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        """All of it, fees included."""
        return self.rewards + self.bonuses + self.fees


def bill(publication: Publication) -> VenueBill:
    """The bill for what a campaign still needs, each assignment paid in full. Repeated work comes on top."""
    campaign, listed = publication.campaign, publication.listed
    hits = Hit.objects.filter(campaign=campaign, needed__gt=0)
    assignments = hits.aggregate(all=Sum("needed", default=0))["all"]
    bonus = campaign.reward - listed
    fee = reward_fee(listed, campaign.overlap) + bonus_fee(bonus)
    return VenueBill(hits.count(), assignments, listed * assignments, bonus * assignments, fee * assignments)


def dry_run(publication: Publication) -> Iterator[tuple[str, dict[str, Any]]]:
    """The exact requests that publishing will make, as `(operation, parameters)`, one after the other.

    The venue's own ids and the tokens are not known before: they stand as words in pointed brackets.
    """
    yield "CreateQualificationType", exclusion_request(publication)
    yield "CreateHITType", hit_type_request(publication, publication.exclusion_id or "<exclusion>")
    hits = Hit.objects.filter(campaign=publication.campaign, needed__gt=0).order_by("number")
    for hit in hits.iterator(chunk_size=BATCH):
        request = hit_request(publication, hit, 1, hit.needed)
        yield (
            "CreateHITWithHITType",
            request | {"HITTypeId": request["HITTypeId"] or "<HIT type>", "UniqueRequestToken": "<token>"},
        )


def exclusion_request(publication: Publication) -> dict[str, Any]:
    """What CreateQualificationType is asked for."""
    return {
        "Name": exclusion_name(publication),
        "Description": "Whoever has this is not offered further tasks of this kind. It says nothing about a worker.",
        "QualificationTypeStatus": "Active",
    }


def balance_of(publication: Publication) -> Decimal:
    """What the account at the venue can spend now, in dollars."""
    venue = environment(publication.environment)
    client = client_for(venue)
    assert_host(client, venue)
    return Decimal(read(client.get_account_balance)["AvailableBalance"])


def publication_publish(*, publication: Publication, at: datetime, typed_name: str = "") -> Publication:
    """Begin to publish: what is planned goes out at the set rate, by the background jobs. Again is not an error.

    Raises Refused if the campaign is not open, its pages are not https, the name was not typed (production), the
    account does not hold all of the bill, or the stored terms are not those of `publication` any more.
    """
    campaign = publication.campaign
    campaign.refresh_from_db()
    if Publication.objects.filter(pk=publication.pk).exclude(state=State.DRAFT).exists():
        publication.refresh_from_db()
        return publication
    if campaign.state != Campaign.State.OPEN:
        raise NotNow(_("The campaign is “%(state)s”. Start it before it is published.") % {"state": campaign.state})
    if publication.environment == Publication.Environment.PRODUCTION and typed_name != campaign.name:
        raise Refused(_("Type the campaign's name to publish it where real people are paid real money."))
    first = Hit.objects.filter(campaign=campaign).order_by("number").first()
    if first is not None:
        frame_address(publication, first)
    owed, balance = bill(publication).total, balance_of(publication)
    if balance < owed:
        raise Refused(
            _("The account at the venue has %(balance)s, and the campaign may cost %(bill)s, fees included.")
            % {"balance": dollars(balance), "bill": dollars(owed)}
        )
    with transaction.atomic():
        locked = _locked(publication)
        if locked.state == State.DRAFT:
            if any(getattr(locked, name) != getattr(publication, name) for name in TERMS):
                raise NotNow(_("The terms were changed meanwhile. Look at them, then publish."))
            Publication.objects.filter(pk=publication.pk).update(state=State.OPEN, published_at=at, next_call_at=at)
            operation_plan(
                publication=publication,
                kind=Kind.EXCLUSION_TYPE,
                subject="once",
                request=exclusion_request(publication),
                at=at,
            )
    publication.refresh_from_db()
    return publication


@transaction.atomic
def publication_plan(*, publication_id: int, at: datetime) -> int:
    """Plan what comes next: the HIT type, then a batch of HITs. How many calls; 0 if another process is at it."""
    publication = (
        Publication.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("campaign__lab")
        .filter(pk=publication_id, state=State.OPEN)
        .first()
    )
    if publication is None or not publication.exclusion_id:
        return 0
    if not publication.hit_type_id:
        request = hit_type_request(publication, publication.exclusion_id)
        operation_plan(publication=publication, kind=Kind.HIT_TYPE, subject="once", request=request, at=at)
        return 1
    waiting = Operation.objects.filter(publication=publication, kind=Kind.CREATE, state=Operation.State.PLANNED)
    room = BATCH - waiting.count()
    if room < BATCH // 2:
        return 0
    return postings_plan(publication=publication, hits=unposted(publication)[:room], at=at)


def unposted(publication: Publication) -> QuerySet[Hit]:
    """HITs that need work and were never planned at the venue, by number."""
    posted = Posting.objects.filter(publication=publication, hit__isnull=False)
    waiting = Hit.objects.filter(campaign_id=publication.campaign_id, needed__gt=0)
    return waiting.exclude(pk__in=posted.values("hit")).order_by("number")


# --- pause, resume, extend, expire, stop


def publication_pause(*, publication: Publication, at: datetime) -> Publication:
    """Publish nothing more, and end what is open at the venue; work that was accepted is still taken and paid."""
    return _halt(publication, State.PAUSED, at)


def publication_stop(*, publication: Publication, at: datetime) -> Publication:
    """The kill switch: as a pause, and nothing at all is paid until the publication is resumed."""
    return _halt(publication, State.STOPPED, at)


@transaction.atomic
def _halt(publication: Publication, state: str, at: datetime) -> Publication:
    publication = _locked(publication)
    if publication.state == State.DRAFT:
        raise NotNow(_("The campaign is not published yet."))
    end_plan(publication=publication, postings=_to_end(publication, at, all_of_them=state == State.STOPPED), at=at)
    if publication.state != State.STOPPED:  # a pause does not lift the kill switch
        publication.state = state
        publication.save(update_fields=["state"])
    return publication


@transaction.atomic
def publications_stop(*, reason: str, by: str, at: datetime) -> list[Publication]:
    """Stop every publication without a word to its venue, and raise an alarm on each that says who did it and why.

    For a database that may be older than what the venues know: what is open there stays open, and nothing that is
    planned here spends. Publications that were stopped before have the alarm too. Returns all of them.
    """
    published = Publication.objects.select_for_update().exclude(state=State.DRAFT).order_by("id")
    stopped = list(published.select_related("campaign"))
    text = _("Stopped by %(by)s: %(reason)s. Compare the ledgers, then resume.") % {"by": by, "reason": reason}
    for publication in stopped:
        publication.state = State.STOPPED
        publication.save(update_fields=["state"])
        alarm_raise(publication=publication, kind=STOPPED, subject="", text=text, at=at)
    return stopped


@transaction.atomic
def publication_resume(*, publication: Publication, at: datetime) -> Publication:
    """Go on after a pause or a stop: HITs that need work are open for another lifetime."""
    publication = _locked(publication)
    if publication.state == State.DRAFT:
        raise NotNow(_("The campaign is not published yet."))
    if publication.state != State.OPEN:
        alarm_settle(publication=publication, kind=STOPPED, subject="", at=at)
        publication.state = State.OPEN
        publication.save(update_fields=["state"])
        postings = [*_needed(publication), *_offered(publication)]
        reopen_plan(publication=publication, postings=postings, until=at + publication.lifetime, at=at)
    return publication


@transaction.atomic
def publication_extend(*, publication: Publication, until: datetime, at: datetime) -> int:
    """Keep HITs that need work open until a time; those that stay open as long already are left alone."""
    publication = _locked(publication)
    if publication.state != State.OPEN:
        raise NotNow(_("The publication is “%(state)s”. Resume it first.") % {"state": publication.state})
    shorter = [one for one in _needed(publication) if one.expires_at is None or one.expires_at < until]
    pending = set(
        Operation.objects.filter(
            publication=publication, kind=Kind.REOPEN, request__ExpireAt=int(until.timestamp()), ended_at=None
        ).values_list("posting", flat=True)
    )
    chosen = [one for one in shorter if one.pk not in pending]
    return reopen_plan(publication=publication, postings=chosen, until=until, at=at)


@transaction.atomic
def publication_expire(*, publication: Publication, at: datetime) -> int:
    """End every open HIT at the venue now. Accepted work may still arrive, and is taken."""
    publication = _locked(publication)
    return end_plan(publication=publication, postings=_to_end(publication, at), at=at)


def open_postings(publication: Publication, at: datetime) -> QuerySet[Posting]:
    """The campaign's HITs that are open at the venue."""
    return publication.postings.filter(hit__isnull=False, expires_at__gt=at).exclude(venue_hit_id="")


def _to_end(publication: Publication, at: datetime, *, all_of_them: bool = False) -> QuerySet[Posting]:
    """HITs that are open or about to be, but for those that an end is planned for already. With `all_of_them`,
    compensations, too.
    """
    slash = Value("/", output_field=TextField())
    turn = Concat(Cast(OuterRef("pk"), TextField()), slash, Cast(OuterRef("turn"), TextField()))
    waiting = Operation.objects.filter(posting=OuterRef("pk"), ended_at=None)
    ending, turning = Exists(waiting.filter(kind=Kind.EXPIRE, subject=turn)), Exists(waiting.filter(kind=Kind.REOPEN))
    postings = publication.postings.exclude(venue_hit_id="").filter(Q(expires_at__gt=at) | turning).exclude(ending)
    return postings if all_of_them else postings.filter(hit__isnull=False)


def _needed(publication: Publication) -> QuerySet[Posting]:
    """The postings whose HITs still need work."""
    return publication.postings.filter(hit__needed__gt=0).exclude(venue_hit_id="")


def _offered(publication: Publication) -> QuerySet[Posting]:
    """Compensations that were offered and not taken yet."""
    offered = Operation.objects.filter(posting=OuterRef("pk"), payment__state=Payment.State.SENT)
    return publication.postings.filter(Exists(offered), hit=None, submissions=None).exclude(venue_hit_id="")


def _locked(publication: Publication) -> Publication:
    return (
        Publication.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign__lab")
        .get(pk=publication.pk)
    )


class PublishingProgress(NamedTuple):
    """How far publishing is: HITs that the venue has, those on their way, refused calls, and HITs not planned yet."""

    posted: int
    on_their_way: int
    refused: int
    unplanned: int


def publishing_progress(publication: Publication) -> PublishingProgress:
    """Count a publication's HITs."""
    creates = Operation.objects.filter(publication=publication, kind=Kind.CREATE)
    return PublishingProgress(
        posted=publication.postings.filter(hit__isnull=False).exclude(venue_hit_id="").count(),
        on_their_way=creates.filter(ended_at=None).count(),
        refused=creates.filter(state=Operation.State.REFUSED).count(),
        unplanned=unposted(publication).count(),
    )
