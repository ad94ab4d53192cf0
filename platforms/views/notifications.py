"""Where platforms tell this site of what has happened."""

import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django_ratelimit.decorators import ratelimit
from kombu.exceptions import OperationalError

from core.errors import BadRequest
from core.roles import Right, needs
from core.sealing import SealedOtherwise, unseal
from platforms import hooks
from platforms import jobs as platform_jobs
from platforms.models import AccountHook, Publication
from platforms.publishing.protocol import HitNotifications
from platforms.registry import accounts_at, adapter_of
from platforms.syncing import hints_take
from platforms.views import State

log = logging.getLogger(__name__)
HEARD_RATE = "600/m"  # notifications that are looked at from one address; those beyond it are told again later


MOST_BYTES = 64 * 1024  # of a notification


@needs(Right.PUBLIC)
@csrf_exempt
@require_POST
@ratelimit(key="ip", rate=lambda _group, _request: HEARD_RATE, block=False)  # type: ignore[untyped-decorator]
def heard(request: HttpRequest, reference: str) -> HttpResponse:
    """A notification of the marketplace: the HITs that it names are asked about next. Twice does no more than once."""
    secret = settings.MARKETPLACE_NOTIFICATION_SECRET
    if not secret:
        return HttpResponse(status=404)
    if getattr(request, "limited", False):
        return HttpResponse(status=429)
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return HttpResponse(status=413)
    at = timezone.now()
    header = request.headers.get("X-Marketplace-Signature", "")
    publication = Publication.objects.filter(reference=reference).exclude(state=State.DRAFT).first()
    adapter = None if publication is None else adapter_of(publication)
    if publication is None or not isinstance(adapter, HitNotifications):
        return HttpResponse(status=404)
    if not adapter.is_notification_signed(secret=secret, header=header, body=request.body, at=at):
        return HttpResponse(status=403)
    try:
        named = adapter.hits_notified_of(request.body)
    except BadRequest as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    hints_take(publication=publication, platform_hit_ids=named, at=at)
    return HttpResponse(status=204)


@needs(Right.PUBLIC)
@csrf_exempt
@require_POST
@ratelimit(key="ip", rate=lambda _group, _request: HEARD_RATE, block=False)  # type: ignore[untyped-decorator]
def account_heard(request: HttpRequest, reference: str) -> HttpResponse:
    """A notification for a lab's account at a platform. What it names is asked about next; twice does no more than
    once.
    """
    if getattr(request, "limited", False):
        return HttpResponse(status=429)
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return HttpResponse(status=413)
    hook = AccountHook.objects.select_related("account").filter(reference=reference).exclude(address="").first()
    if hook is None:
        return HttpResponse(status=404)
    at = timezone.now()
    try:
        secret = unseal(hook.sealed)
        accounts = accounts_at(hook.account.platform)
        notice = accounts.notice_of(secret=secret, headers=request.headers, body=request.body, at=at)
    except SealedOtherwise:
        return HttpResponse(status=503)
    except BadRequest as error:
        return HttpResponse(str(error), status=400, content_type="text/plain; charset=utf-8")
    if notice is None:
        return HttpResponse(status=403)
    keys = hooks.notice_take(hook=hook, notice=notice, at=at)
    if keys is not None:
        try:
            platform_jobs.hear.delay(*keys)
        except OperationalError as error:
            log.warning("A notification waits until it comes again: %s", error)
            hooks.notice_forget(hook=hook, notice=notice)
            return HttpResponse(status=503)
    return HttpResponse(status=204)
