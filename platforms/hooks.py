"""Notifications of platforms where each lab has an account of its own: hints, and no more. Polling is the truth.

One subscription for each account is kept while the account has a publication that is going on. A notification says
what to ask about; what it says of it is not believed. So one that comes twice, late, out of order or never changes
nothing but when the platform is asked.
"""

import hashlib
import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from core.errors import NotNow, Refused
from core.sealing import seal
from platforms.addresses import hook_address, notifications_address
from platforms.finishing import unfinished
from platforms.models import AccountHook, LabAccount, Publication
from platforms.money.account import platform_refusals
from platforms.money.protocol import LabAccounts, Notice
from platforms.publishing.protocol import HitNotifications
from platforms.registry import CALL_ERRORS, adapter_for, phrase
from pools.models import Campaign
from tasks.models import Assignment

log = logging.getLogger(__name__)
CHECK_EVERY = timedelta(hours=1)  # how often the platform is asked whether the subscription is still there and enabled
RETRY_AFTER = timedelta(minutes=10)  # where the platform could not be asked
REMEMBERED = 48 * 3600  # seconds that an event is known by its id: twice as long as platforms try to deliver it
NOTED_EVERY = timedelta(minutes=1)
EXPECTED: tuple[type[Exception], ...] = (Refused, KeyError, TypeError, *CALL_ERRORS)


def notifications_ask(*, publication: Publication) -> None:
    """Have the marketplace notify this site of the publication's submitted work."""
    if not settings.MARKETPLACE_NOTIFICATION_SECRET:
        raise NotNow(_("Set MARKETPLACE_NOTIFICATION_SECRET first. Without it, no notifications are accepted."))
    with platform_refusals(publication) as adapter:
        if not isinstance(adapter, HitNotifications):
            raise NotNow(phrase(publication, _("This platform sends no notifications of a campaign.")))
        adapter.ask_for_notifications(publication, notifications_address(publication))


def hooks_keep(*, at: datetime) -> int:
    """Subscribe each account that needs it, renew what the platform has disabled or lost, and end what is not needed
    any more. How many accounts are subscribed. One that fails keeps no other waiting.
    """
    subscribed = 0
    for account in LabAccount.objects.select_related("hook").order_by("id"):
        subscribed += _keep(account, at)
    return subscribed


def _keep(account: LabAccount, at: datetime) -> bool:
    hook: AccountHook | None = getattr(account, "hook", None)
    adapter = adapter_for(account.platform, account.lab_id)
    if not isinstance(adapter, LabAccounts):
        return False
    is_needed = adapter.may_notify(str(settings.SITE_URL)) and _going_on(account).exists()
    if hook is None:
        if not is_needed:
            return False
        hook = AccountHook.objects.get_or_create(account=account)[0]
    address = hook_address(hook.reference)
    if not is_needed and not hook.address:
        return False
    pause = RETRY_AFTER if hook.trouble else CHECK_EVERY
    if is_needed and hook.address == address and hook.checked_at is not None and hook.checked_at + pause > at:
        return not hook.trouble
    if hook.trouble and hook.checked_at is not None and hook.checked_at + RETRY_AFTER > at:
        return False
    if not AccountHook.objects.filter(pk=hook.pk, checked_at=hook.checked_at).update(checked_at=at):
        return False  # another process is at it
    try:
        _change(adapter, adapter.client(), hook, address if is_needed else "")
    except EXPECTED as error:
        log.warning("Notifications of account %s: %s", account.pk, error)
        AccountHook.objects.filter(pk=hook.pk).update(trouble=str(error)[:500] or type(error).__name__)
        return False
    AccountHook.objects.filter(pk=hook.pk).update(trouble="")
    return is_needed


def _change(adapter: LabAccounts, client: Any, hook: AccountHook, new: str) -> None:
    """Be subscribed under the address that is wanted, or, where that is empty, under none."""
    if hook.address and hook.address != new:
        adapter.end_hooks(client, hook.address)
        AccountHook.objects.filter(pk=hook.pk).update(address="", sealed="")
    if new:
        # Stored first: the first notification may come before the last answer.
        secret = seal(adapter.hook_secret(client))
        AccountHook.objects.filter(pk=hook.pk).update(address=new, sealed=secret)
        adapter.keep_hooks(client, new)


def _going_on(account: LabAccount) -> QuerySet[Publication]:
    """The account's publications that are at the platform and not over."""
    here = unfinished().filter(campaign__lab=account.lab_id, platform=account.platform).exclude(hit_type_id="")
    return here.exclude(campaign__state=Campaign.State.CLOSED)


def notice_take(*, hook: AccountHook, notice: Notice, at: datetime) -> tuple[int, str] | None:
    """What to ask about now: a publication, and one assignment or (empty) all that was submitted. None for what is not
    ours, was heard before, or calls for nothing.
    """
    AccountHook.objects.filter(pk=hook.pk).exclude(heard_at__gt=at - NOTED_EVERY).update(heard_at=at)
    account = hook.account
    mine = Publication.objects.filter(campaign__lab=account.lab_id, platform=account.platform)
    mine = mine.exclude(state=Publication.State.DRAFT)
    if notice.assignment_id:
        assignments = Assignment.objects.filter(platform_assignment_id=notice.assignment_id)
        mine = mine.filter(campaign__in=assignments.values("campaign"))
    elif notice.study:
        mine = mine.filter(hit_type_id=notice.study)
    else:
        return None
    publication_id = mine.values_list("pk", flat=True).first()
    if publication_id is None or not cache.add(_key(hook, notice), 1, REMEMBERED):
        return None
    return publication_id, notice.assignment_id


def notice_forget(*, hook: AccountHook, notice: Notice) -> None:
    """What was heard could not be passed on: it is heard as new when it comes again."""
    cache.delete(_key(hook, notice))


def said_of(hook: AccountHook | None) -> str:
    if hook is None or not (hook.address or hook.trouble):
        return _(
            "Notifications are off. They are turned on while a campaign is going on, if this site has an address on "
            "the public internet, starting with https://. Without them, the platform is asked every minute."
        )
    if hook.trouble:
        return _("Notifications could not be set up: %(why)s The platform is asked every minute.") % {
            "why": hook.trouble
        }
    on = _("Notifications are on: what changes at the platform is asked about within seconds.")
    if hook.heard_at is None:
        return on
    last = _("The last one came on %(time)s UTC.") % {"time": date_format(hook.heard_at, "j M Y, H:i")}
    return f"{on} {last}"


def _key(hook: AccountHook, notice: Notice) -> str:
    return f"hook {hook.pk} {hashlib.sha256(notice.event_id.encode()).hexdigest()}"
