"""Publishing a campaign: the dry run, the start; pause, resume, extend, expire, and the kill switch."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from core.errors import NotNow, Refused
from core.models import User
from platforms.addresses import frame_address
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit, TermsVersion
from platforms.money.bills import remaining_bill
from platforms.planning import (
    end_plan,
    operation_plan,
    publication_lock,
    published_hits_plan,
    reopen_plan,
    retypes_plan,
)
from platforms.publishing.reach import reach_look
from platforms.registry import adapter_of, phrase
from platforms.terms import TERMS, terms_as_json
from pools import services as pool_services
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Hit

State = Publication.State
Kind = Operation.Kind
BATCH = 500  # HITs that are planned ahead of their calls: what bounds the memory


def dry_run(publication: Publication) -> Iterator[tuple[str, dict[str, Any]]]:
    """The exact requests that publishing will make, as `(operation, parameters)`, one after the other."""
    hits = Hit.objects.filter(campaign=publication.campaign, needed__gt=0).order_by("number")
    return adapter_of(publication).dry_run(publication, hits.iterator(chunk_size=BATCH))


def balance_of(publication: Publication) -> Decimal:
    adapter = adapter_of(publication)
    client = adapter.client()
    adapter.assert_host(client)
    return adapter.balance(client)


def publication_publish(
    *,
    publication: Publication,
    at: datetime,
    typed_name: str = "",
    although_nobody_qualifies: bool = False,
    by: User | None = None,
) -> Publication:
    """Begin to publish: what is planned goes out at the set rate, by the background jobs. Again is not an error.

    Raises Refused if the campaign is not open, its pages are not https, the name was not typed where it must be, the
    account does not hold all of the bill, no worker qualifies (unless that is known), or the stored terms are not those
    of `publication` any more.
    """
    campaign = publication.campaign
    campaign.refresh_from_db()
    if Publication.objects.filter(pk=publication.pk).exclude(state=State.DRAFT).exists():
        publication.refresh_from_db()
        return publication
    if campaign.state != Campaign.State.OPEN:
        raise NotNow(_("The campaign is “%(state)s”. Start it before you publish it.") % {"state": campaign.state})
    adapter = adapter_of(publication)
    if adapter.spends_real_money and typed_name != campaign.name:
        raise Refused(_("Type the campaign's name to publish it where real people are paid real money."))
    first = Hit.objects.filter(campaign=campaign).order_by("number").first()
    if first is None:
        text = _("There is nothing to publish: every pair was judged before, so the campaign has no HITs.")
        raise Refused(phrase(publication, text))
    frame_address(publication, first)
    if lacking := task_selectors.lacking_time(campaign, publication.assignment_duration):
        raise Refused(" ".join(lacking))
    owed, balance = remaining_bill(publication).total, balance_of(publication)
    if balance < owed:
        text = _("The account at the platform has %(balance)s, but the campaign may cost %(bill)s. %(who)s")
        raise Refused(
            phrase(publication, text)
            % {"balance": campaign.money(balance), "bill": campaign.money(owed), "who": adapter.who_adds_money()}
        )
    nobody_refuse(publication, although_nobody_qualifies)
    with transaction.atomic():
        locked = publication_lock(publication)
        if locked.state == State.DRAFT:
            if any(getattr(locked, name) != getattr(publication, name) for name in TERMS):
                raise NotNow(_("The terms have changed in the meantime. Check them, then publish."))
            Publication.objects.filter(pk=publication.pk).update(state=State.OPEN, published_at=at, next_call_at=at)
            pool_services.campaign_reopen(campaign_id=campaign.pk)
            terms_keep(publication=locked, by=by, at=at)
            operation_plan(publication=publication, kind=Kind.EXCLUSION_TYPE, at=at)
    publication.refresh_from_db()
    return publication


class NobodyQualifies(Refused):
    """No active worker meets the requirements, as far as the platform says."""


def nobody_refuse(publication: Publication, although_nobody_qualifies: bool) -> None:
    """Raise NobodyQualifies where it is known that no active worker does, unless a person wants it so."""
    if not although_nobody_qualifies and (reach := reach_look(publication)).is_nobody:
        raise NobodyQualifies(
            phrase(
                publication,
                _("%(reach)s Ask less of workers, or confirm that you want to go ahead although nobody qualifies."),
            )
            % {"reach": reach.sentence}
        )


def terms_keep(*, publication: Publication, by: User | None, at: datetime, hit_type_id: str = "") -> TermsVersion:
    """Write down the terms of a publication as its next version. The caller holds its lock."""
    newest = publication.terms.aggregate(newest=Max("version", default=0))["newest"]
    return TermsVersion.objects.create(
        publication=publication,
        version=newest + 1,
        values=terms_as_json(publication),
        hit_type_id=hit_type_id,
        by=by,
        at=at,
    )


@transaction.atomic
def publication_plan(*, publication_id: int, at: datetime) -> int:
    """Plan what comes next: the HIT type of the newest terms, HITs that are to come under them, then a batch of HITs.

    How many calls; 0 if another process is at it.
    """
    publication = (
        Publication.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
        .select_related("campaign__lab")
        .filter(pk=publication_id, state__in=[State.OPEN, State.PAUSED])
        .first()
    )
    if publication is None or not publication.exclusion_id:
        return 0
    terms = publication.terms.order_by("-version").first()
    if terms is None:
        return 0
    planned = Operation.objects.filter(publication=publication, state=Operation.State.PLANNED)
    if not terms.hit_type_id:
        if publication.operations.filter(kind=Kind.HIT_TYPE, terms=terms).exists():
            return 0
        operation_plan(publication=publication, kind=Kind.HIT_TYPE, terms=terms, at=at)
        return 1
    moved = 0
    room = BATCH - planned.filter(kind=Kind.RETYPE).count()
    if terms.version > 1 and room >= BATCH // 2:
        moved = retypes_plan(publication=publication, terms=terms, limit=room, at=at)
    room = BATCH - planned.filter(kind=Kind.CREATE).count()
    closed = publication.campaign.state == Campaign.State.CLOSED
    if publication.state != State.OPEN or closed or room < BATCH // 2:
        return moved
    return moved + published_hits_plan(publication=publication, hits=unposted(publication)[:room], at=at)


def unposted(publication: Publication) -> QuerySet[Hit]:
    """HITs that need work and were never planned at the platform, by number."""
    posted = PublishedHit.objects.filter(publication=publication, hit=OuterRef("pk"))
    waiting = Hit.objects.filter(campaign_id=publication.campaign_id, needed__gt=0)
    # A scalar, so that the planner looks it up HIT by HIT, however many are posted.
    return waiting.annotate(posted=Subquery(posted.values("pk")[:1])).filter(posted=None).order_by("number")


# --- pause, resume, extend, expire, stop


@transaction.atomic
def campaign_move(*, campaign: Campaign, to: str, at: datetime) -> Campaign:
    """Pause, resume or close a campaign; where it is published, its publication is paused and resumed with it.

    Otherwise workers would accept HITs at the platform, and be sent away here.
    """
    campaign = task_services.campaign_move(campaign=campaign, to=to)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is not None:
        if to == Campaign.State.PAUSED and publication.state == State.OPEN:
            publication_pause(publication=publication, at=at)
        elif to == Campaign.State.OPEN and publication.state == State.PAUSED:
            publication_resume(publication=publication, at=at)
    return campaign


def publication_pause(*, publication: Publication, at: datetime) -> Publication:
    """Publish nothing more, and end what is open at the platform; work that was accepted is still taken and paid."""
    return _halt(publication, State.PAUSED, at)


def publication_stop(*, publication: Publication, at: datetime) -> Publication:
    """The kill switch: as a pause, and nothing at all is paid until the publication is resumed."""
    return _halt(publication, State.STOPPED, at)


@transaction.atomic
def _halt(publication: Publication, state: str, at: datetime) -> Publication:
    publication = publication_lock(publication)
    if publication.state == State.DRAFT:
        raise NotNow(_("The campaign is not published yet."))
    end_plan(
        publication=publication, published_hits=_to_end(publication, at, all_of_them=state == State.STOPPED), at=at
    )
    if publication.state != State.STOPPED:  # a pause does not lift the kill switch
        publication.state = state
        publication.save(update_fields=["state"])
    return publication


@transaction.atomic
def publications_stop(*, reason: str, by: str, at: datetime) -> list[Publication]:
    """Stop every publication without a word to its platform, and raise an alarm on each that says who did it and why.

    For a database that may be older than what the platforms know: what is open there stays open, and nothing that is
    planned here spends. Publications that were stopped before have the alarm too. Returns all of them.
    """
    published = Publication.objects.select_for_update().exclude(state=State.DRAFT).order_by("id")
    stopped = list(published.select_related("campaign"))
    text = _("Stopped by %(by)s: %(reason)s. Compare the ledgers, then resume.") % {"by": by, "reason": reason}
    for publication in stopped:
        publication.state = State.STOPPED
        publication.save(update_fields=["state"])
        alarm_raise(of=publication, kind=PlatformAlarm.STOPPED, text=text, at=at)
    return stopped


@transaction.atomic
def publication_resume(*, publication: Publication, at: datetime) -> Publication:
    """Go on after a pause or a stop: HITs that need work are open for another lifetime."""
    publication = publication_lock(publication)
    if publication.state == State.DRAFT:
        raise NotNow(_("The campaign is not published yet."))
    if publication.state != State.OPEN:
        alarm_settle(of=publication, kind=PlatformAlarm.STOPPED, at=at)
        publication.state, publication.resumed_at = State.OPEN, at
        publication.save(update_fields=["state", "resumed_at"])
        published_hits = [*_needed(publication), *_offered(publication)]
        reopen_plan(publication=publication, published_hits=published_hits, until=at + publication.lifetime, at=at)
    return publication


@transaction.atomic
def publication_extend(*, publication: Publication, until: datetime, at: datetime) -> int:
    """Keep HITs that need work open until a time; those that stay open as long already are left alone."""
    publication = publication_lock(publication)
    if publication.state != State.OPEN:
        raise NotNow(_("The publication is “%(state)s”. Resume it first.") % {"state": publication.state})
    shorter = [
        published_hit
        for published_hit in _needed(publication)
        if published_hit.expires_at is None or published_hit.expires_at < until
    ]
    pending = set(
        Operation.objects.filter(publication=publication, kind=Kind.REOPEN, until=until, ended_at=None).values_list(
            "published_hit", flat=True
        )
    )
    chosen = [published_hit for published_hit in shorter if published_hit.pk not in pending]
    return reopen_plan(publication=publication, published_hits=chosen, until=until, at=at)


@transaction.atomic
def publication_expire(*, publication: Publication, at: datetime) -> int:
    """End every open HIT at the platform now. Accepted work may still arrive, and is taken."""
    publication = publication_lock(publication)
    publication.operations.filter(kind=Kind.EXPIRE).update(until=None)  # nothing is reopened
    return end_plan(publication=publication, published_hits=_to_end(publication, at), at=at)


def open_published_hits(publication: Publication, at: datetime) -> QuerySet[PublishedHit]:
    """The campaign's HITs that are open at the platform."""
    return publication.published_hits.filter(hit__isnull=False, expires_at__gt=at).exclude(platform_hit_id="")


def open_or_needed(publication: Publication, at: datetime) -> QuerySet[PublishedHit]:
    """The campaign's HITs at the platform that are open, or need work and may be opened again."""
    posted = publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")
    return posted.filter(Q(hit__needed__gt=0) | Q(expires_at__gt=at))


def _to_end(publication: Publication, at: datetime, *, all_of_them: bool = False) -> QuerySet[PublishedHit]:
    """HITs that are open or about to be, but for those that an end is planned for already. With `all_of_them`,
    compensations, too.
    """
    waiting = Operation.objects.filter(published_hit=OuterRef("pk"), ended_at=None)
    ending, opening = waiting.filter(kind=Kind.EXPIRE, turn=OuterRef("turn")), waiting.filter(kind=Kind.REOPEN)
    posted = publication.published_hits.exclude(platform_hit_id="")
    published_hits = posted.filter(Q(expires_at__gt=at) | Exists(opening)).exclude(Exists(ending))
    return published_hits if all_of_them else published_hits.filter(hit__isnull=False)


def _needed(publication: Publication) -> QuerySet[PublishedHit]:
    return publication.published_hits.filter(hit__needed__gt=0).exclude(platform_hit_id="")


def _offered(publication: Publication) -> QuerySet[PublishedHit]:
    """Compensations that were offered and not taken yet."""
    offered = Operation.objects.filter(published_hit=OuterRef("pk"), payment__state=Payment.State.SENT)
    return publication.published_hits.filter(Exists(offered), hit=None, submissions=None).exclude(platform_hit_id="")


class PublishingProgress(NamedTuple):
    """How far publishing is: HITs at the platform, those on their way, refused calls, and HITs not planned yet."""

    posted: int
    on_their_way: int
    refused: int
    unplanned: int


def publishing_progress(publication: Publication) -> PublishingProgress:
    creates = Operation.objects.filter(publication=publication, kind=Kind.CREATE)
    return PublishingProgress(
        posted=publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="").count(),
        on_their_way=creates.filter(ended_at=None).count(),
        refused=creates.filter(state=Operation.State.REFUSED).count(),
        unplanned=unposted(publication).count(),
    )
