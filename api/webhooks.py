"""Webhooks: made, changed and removed, and what they have been told.

A secret is `whsec_` and 32 random bytes in base 64, as the Standard Webhooks have it. It is shown once.
"""

import base64
import ipaddress
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from api.models import Delivery, Event, Webhook, WorkTold
from core.errors import BadRequest, NotNow, NotYours, Refused
from core.models import Lab, User
from core.sealing import seal
from outbound import Reach, destination_problem
from tasks.models import Assignment

TEST = "webhook.test"  # an event that nobody subscribes to: it is asked for
MOST = 10  # webhooks of a lab
PREFIX = "whsec_"
KEPT = timedelta(days=30)  # what became of a delivery


def reach() -> Reach:
    """What the person who runs this site lets webhooks call."""
    networks = [ipaddress.ip_network(network) for network in settings.WEBHOOK_NETWORKS]
    return Reach(ports=settings.WEBHOOK_PORTS, networks=networks, insecure=settings.DEVELOPMENT)


def webhooks_of(lab: Lab) -> QuerySet[Webhook]:
    """A lab's webhooks, newest first."""
    return Webhook.objects.filter(lab=lab).order_by("-id")


def webhook_in(lab: Lab, pk: int) -> Webhook:
    """One of a lab's webhooks. Raises NotYours."""
    webhook = webhooks_of(lab).filter(pk=pk).select_related("lab").first()
    if webhook is None:
        raise NotYours(_("The lab has no such webhook."))
    return webhook


def delivery_in(webhook: Webhook, pk: int) -> Delivery:
    """One of a webhook's deliveries. Raises NotYours."""
    delivery = webhook.deliveries.filter(pk=pk).first()
    if delivery is None:
        raise NotYours(_("The webhook has no such delivery."))
    return delivery


@transaction.atomic
def webhook_create(*, lab: Lab, url: str, events: Iterable[str], by: User | None, at: datetime) -> tuple[Webhook, str]:
    """A webhook that is told of events from now on, and its secret."""
    chosen = _events(events)
    _check_address(url)
    Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    if webhooks_of(lab).count() >= MOST:
        raise Refused(
            _("A lab has %(most)d webhooks at most. Delete one that is not needed any more.") % {"most": MOST}
        )
    secret = _new_secret()
    webhook = Webhook.objects.create(lab=lab, url=url, events=chosen, secret=seal(secret), created_by=by, created_at=at)
    return webhook, secret


@transaction.atomic
def webhook_change(*, webhook: Webhook, url: str, events: Iterable[str]) -> Webhook:
    """Tell another address, or of other events. What waits goes to the new address."""
    if url != webhook.url:
        _check_address(url)
    chosen, before = _events(events), Webhook.objects.select_for_update().get(pk=webhook.pk).events
    Webhook.objects.filter(pk=webhook.pk).update(url=url, events=chosen)
    if Event.WORK_SUBMITTED in chosen and Event.WORK_SUBMITTED not in before:
        _count_from_now(webhook)
    webhook.refresh_from_db()
    return webhook


def webhook_disable(*, webhook: Webhook, at: datetime, why: str = "") -> None:
    """Tell it nothing any more. What waits stays; what happens meanwhile is not told."""
    Webhook.objects.filter(pk=webhook.pk, disabled_at=None).update(disabled_at=at, disabled_why=why)


@transaction.atomic
def webhook_enable(*, webhook: Webhook, at: datetime) -> None:
    """Tell it again. What waited is tried now; work that was submitted meanwhile is not told."""
    enabled = Webhook.objects.filter(pk=webhook.pk, disabled_at__isnull=False).update(
        disabled_at=None, disabled_why="", failing_since=None
    )
    if enabled:
        webhook.deliveries.filter(next_try_at__isnull=False).update(next_try_at=at, tries=0)
        _count_from_now(webhook)


def _count_from_now(webhook: Webhook) -> None:
    """Take the work that is submitted already as told."""
    submitted = Assignment.objects.filter(campaign__lab=webhook.lab_id, state=Assignment.State.SUBMITTED)
    counts = submitted.order_by("campaign").values_list("campaign").annotate(Count("id"))
    WorkTold.objects.filter(webhook=webhook).delete()
    WorkTold.objects.bulk_create(WorkTold(webhook=webhook, campaign_id=key, submitted=count) for key, count in counts)


def webhook_renew(*, webhook: Webhook) -> str:
    """A new secret; what is sent from now on is signed with it, and with no other."""
    secret = _new_secret()
    Webhook.objects.filter(pk=webhook.pk).update(secret=seal(secret))
    return secret


@transaction.atomic
def webhook_delete(*, webhook: Webhook) -> None:
    """Remove it, with what it was told. Waits for who tells it something at this moment."""
    Webhook.objects.select_for_update().get(pk=webhook.pk)
    webhook.delete()


def webhook_test(*, webhook: Webhook, at: datetime) -> Delivery:
    """Have it told that this is a test, even while it is disabled."""
    return Delivery.objects.create(
        webhook=webhook, event=TEST, data={"webhook": webhook.pk}, made_at=at, next_try_at=at
    )


@transaction.atomic
def delivery_repeat(*, delivery: Delivery, at: datetime) -> Delivery:
    """Send it again, with the same id, as often as it takes."""
    if delivery.webhook.disabled_at is not None and delivery.event != TEST:
        raise NotNow(_("This webhook is disabled. Enable it first."))
    Delivery.objects.filter(pk=delivery.pk).update(next_try_at=at, tries=0, delivered_at=None, problem="")
    delivery.refresh_from_db()
    return delivery


def webhooks_disabled() -> int:
    """How many were disabled because nothing arrived."""
    return Webhook.objects.filter(disabled_at__isnull=False).exclude(disabled_why="").count()


def deliveries_clear(*, before: datetime) -> None:
    """Forget what became of old deliveries, and give up what has waited for as long."""
    Delivery.objects.filter(made_at__lt=before).delete()


def _events(events: Iterable[str]) -> list[str]:
    names = set(events)
    chosen = [event for event in Event.values if event in names]
    if not chosen or names - set(chosen):
        raise BadRequest(_("Choose at least one event of those that there are."))
    return chosen


def _check_address(url: str) -> None:
    if problem := destination_problem(url, reach()):
        raise BadRequest(_("This address cannot be called: it %(problem)s.") % {"problem": problem})


def _new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
