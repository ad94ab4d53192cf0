"""Telling webhooks what waits for them: rows are the queue.

One is claimed with its next try already written, posted on a thread that touches no database, and recorded. A sender
that dies in between leaves a row that is tried again, with the same id. Several senders may run, but the job lets one
run at a time, so that silent addresses never take more than one worker's time.
"""

import base64
import hmac
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from api import webhooks
from api.models import Delivery, Event, Webhook, WorkTold
from core.locks import alone
from core.mail import mails_add
from core.models import Membership, User
from core.retrying import Pauses
from core.sealing import SealedOtherwise, unseal
from outbound import NotDelivered, Reach, post
from pools.models import Campaign
from tasks.models import Assignment

SECONDS = 10.0  # for one try, from looking the host up to the status of its answer
THREADS = 8
AT_ONCE = 16  # claimed together: two turns of the threads
MOST_OF_ONE = 4  # of one webhook, among these; of one that fails, a single one
PAUSES, MOST_TRIES = Pauses(timedelta(seconds=30), timedelta(hours=6)), 14  # a little more than a day
AFTER_ALL = timedelta(days=1)  # for which the work of a campaign that has finished is counted still
log = logging.getLogger(__name__)

# What works goes before what fails, so that nobody waits for the silent. Rows that another sender claims at this moment
# are passed over.
_DUE = """
    SELECT due.id
    FROM api_webhook AS webhook
    CROSS JOIN LATERAL (
        SELECT id, next_try_at FROM api_delivery AS row
        WHERE row.webhook_id = webhook.id AND row.next_try_at <= %(at)s
            AND (webhook.disabled_at IS NULL OR row.event = %(test)s)
        ORDER BY next_try_at, id LIMIT CASE WHEN webhook.failing_since IS NULL THEN %(most)s ELSE 1 END
        FOR UPDATE SKIP LOCKED
    ) AS due
    ORDER BY webhook.failing_since IS NOT NULL, due.next_try_at, due.id LIMIT %(at_once)s
"""


class Message(NamedTuple):
    """A request that is ready to be sent."""

    delivery: Delivery
    url: str
    body: bytes
    headers: dict[str, str]


def deliveries_send(*, until: float) -> int:
    """Try what is due until the clock (time.monotonic) says so, unless another does. How many were taken."""
    delivered, may_call = 0, webhooks.reach()
    with alone("deliveries_send") as mine, ThreadPoolExecutor(THREADS) as pool:
        while mine and time.monotonic() < until and (claimed := _claim(timezone.now())):
            messages, problems = [], {}
            for delivery in claimed:
                try:
                    messages.append(message_of(delivery, at=timezone.now()))
                except SealedOtherwise:
                    problems[delivery] = "the secret was encrypted with another SECRET_KEY: make a new one"
            posted = pool.map(lambda message: _post(message, may_call), messages)
            problems |= dict(zip((message.delivery for message in messages), posted, strict=True))
            for delivery, problem in problems.items():
                delivered += not problem
                _record(delivery, problem, at=timezone.now())
    return delivered


def message_of(delivery: Delivery, *, at: datetime) -> Message:
    """The request that delivers it at this moment: signed over id, time and body. Raises SealedOtherwise."""
    webhook = delivery.webhook
    content = {
        "type": delivery.event,
        "timestamp": delivery.made_at.isoformat(),
        "lab": {"id": webhook.lab_id, "name": webhook.lab.name},
        "data": delivery.data,
    }
    body, stamp = json.dumps(content, ensure_ascii=False).encode(), str(int(at.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "bestknown-webhooks",
        "webhook-id": str(delivery.message),
        "webhook-timestamp": stamp,
        "webhook-signature": signature(unseal(webhook.secret), str(delivery.message), stamp, body),
    }
    return Message(delivery, webhook.url, body, headers)


def signature(secret: str, message: str, stamp: str, body: bytes) -> str:
    """What proves that a message is ours, and when it was sent."""
    key = base64.b64decode(secret.removeprefix(webhooks.PREFIX))
    proof = hmac.digest(key, f"{message}.{stamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(proof).decode()}"


def pause_after(tries: int) -> timedelta | None:
    """How long to wait after so many tries; None if there is no other."""
    return None if tries >= MOST_TRIES else PAUSES.after(tries)


def submitted_count(*, at: datetime) -> int:
    """Tell webhooks how much work was submitted since the last time, a message for each campaign. How many.

    It compares counts, so work that was committed late is in the next message.
    """
    messages = 0
    asking = Webhook.objects.filter(disabled_at=None, events__contains=[Event.WORK_SUBMITTED.value])
    for key in list(asking.order_by("id").values_list("pk", flat=True)):
        with transaction.atomic():
            webhook = asking.select_for_update(no_key=True, skip_locked=True).filter(pk=key).first()
            if webhook is not None:
                messages += _count(webhook, at)
    return messages


def _count(webhook: Webhook, at: datetime) -> int:
    earlier = dict(WorkTold.objects.filter(webhook=webhook).values_list("campaign", "submitted"))
    newest = Assignment.objects.filter(campaign=OuterRef("pk")).order_by("-id").values("finished_at")[:1]
    is_finished = Q(finished_revision=F("revision"), finished_revision__isnull=False)
    campaigns_of_it = Campaign.objects.filter(lab=webhook.lab_id).alias(newest=Subquery(newest))
    counting = campaigns_of_it.filter(~is_finished | Q(newest__gte=at - AFTER_ALL))
    of_it = Assignment.objects.filter(campaign__in=counting, state=Assignment.State.SUBMITTED)
    before = Count("id", filter=Q(finished_at__lt=webhook.created_at))
    counts = of_it.values_list("campaign").annotate(all=Count("id"), before=before).order_by("campaign")
    more = {key: (total, total - earlier.get(key, old)) for key, total, old in counts if total > earlier.get(key, old)}
    campaigns = Campaign.objects.only("id", "name", "state").in_bulk(more)
    for key, (total, new) in more.items():
        campaign = campaigns[key]
        about = {"id": campaign.pk, "name": campaign.name, "state": campaign.state}
        data = {"campaign": about, "submitted": new, "submitted_in_all": total}
        Delivery.objects.create(webhook=webhook, event=Event.WORK_SUBMITTED, data=data, made_at=at, next_try_at=at)
        WorkTold.objects.update_or_create(webhook=webhook, campaign=campaign, defaults={"submitted": total})
    return len(more)


@transaction.atomic
def _claim(at: datetime) -> list[Delivery]:
    """Some that are due, with their next try written."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"at": at, "test": webhooks.TEST, "most": MOST_OF_ONE, "at_once": AT_ONCE})
        keys = [key for (key,) in cursor.fetchall()]
    claimed = list(Delivery.objects.filter(pk__in=keys).select_related("webhook__lab").order_by("next_try_at", "id"))
    for delivery in claimed:
        delivery.tries, delivery.tried_at = delivery.tries + 1, at
        # Whoever dies now has it tried again, even if it was the last time.
        delivery.next_try_at = at + (pause_after(delivery.tries) or PAUSES.longest)
        delivery.save(update_fields=["tries", "tried_at", "next_try_at"])
    return claimed


def _post(message: Message, may_call: Reach) -> str:
    """Post it. Why it did not arrive; empty if it did. Runs on a thread, and raises nothing."""
    try:
        post(message.url, message.body, message.headers, reach=may_call, seconds=SECONDS)
    except NotDelivered as problem:
        return str(problem)
    except Exception as error:  # one address that we cannot cope with stops nobody else's
        log.exception("Delivery %s could not be sent", message.delivery.pk)
        return type(error).__name__
    return ""


def _record(delivery: Delivery, problem: str, *, at: datetime) -> None:
    """What came of a try. The webhook is disabled if it was the last one, and nothing else arrived in all that time."""
    row = Delivery.objects.filter(pk=delivery.pk)
    hook = Webhook.objects.filter(pk=delivery.webhook_id)
    if not problem:
        row.update(delivered_at=at, next_try_at=None, problem="")
        if hook.filter(failing_since__isnull=False).update(failing_since=None):
            Delivery.objects.filter(webhook=delivery.webhook_id, next_try_at__gt=at).update(next_try_at=at)
        return
    row.update(problem=problem[:500])
    hook.filter(failing_since=None).update(failing_since=at)
    # What else waits for this address waits as long: one try at a time is enough to find out.
    waiting = Delivery.objects.filter(webhook=delivery.webhook_id, next_try_at__lt=delivery.next_try_at)
    waiting.exclude(event=webhooks.TEST).update(next_try_at=delivery.next_try_at)
    if pause_after(delivery.tries) is not None:
        return
    row.update(next_try_at=None)
    webhook = hook.filter(disabled_at=None).select_related("lab").first()
    if webhook is None or webhook.deliveries.filter(delivered_at__gt=delivery.made_at).exists():
        return
    why = _("Nothing arrived in more than a day. The last try failed: %(problem)s.") % {"problem": problem}
    webhooks.webhook_disable(webhook=webhook, at=at, why=why)
    log.warning("Webhook %s was disabled: %s", webhook.pk, problem)
    _mail(webhook, why, at)


def _mail(webhook: Webhook, why: str, at: datetime) -> None:
    """Tell the admins of the lab that a webhook was disabled, where this site sends mail."""
    admins = User.objects.filter(
        memberships__lab=webhook.lab_id, memberships__role=Membership.Role.ADMIN, is_active=True
    )
    address = settings.SITE_URL.rstrip("/") + reverse("api:webhook", args=[webhook.lab_id, webhook.pk])
    subject = _("%(lab)s: a webhook was disabled") % {"lab": webhook.lab.name}
    text = _("The webhook at %(url)s was disabled.\n\n%(why)s\n\nEnable it again here: %(address)s\n") % {
        "url": webhook.url,
        "why": why,
        "address": address,
    }
    mails_add(to=admins.order_by("pk"), subject=subject, text=text, at=at)
