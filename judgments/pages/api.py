"""The endpoint that saves choices. A plain view: nothing else here is asked for as often."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from core.errors import BadRequest, Refused
from core.roles import Right, needs
from judgments import services as judgment_services
from judgments.pages import worker as worker_pages
from tasks import links

LONGEST_BODY = 4096  # bytes; a choice takes some 150


class Choice(NamedTuple):
    """What a page's script says was chosen; `stamp` is the signed time at which the page was shown."""

    preferred: str
    stamp: str
    is_translated: bool


class TooLong(Refused):
    """More was sent than may be read."""

    status = 413


class NotJson(Refused):
    """The body is in another format."""

    status = 415


class OnlyPost(Refused):
    """The address takes nothing but choices."""

    status = 405


@needs(Right.PUBLIC)
@csrf_exempt
def save(request: HttpRequest, token: str, position: int) -> JsonResponse:
    """Save one choice. The token in the address is the authority: no account, no cookie.

    200 says that the choice is stored, and nothing else does. 4xx answers carry a sentence as `error`.
    """
    return answer_choice(request, lambda choice: _save(request, token, position, choice))


def answer_choice(request: HttpRequest, save: Callable[[Choice], dict[str, Any]]) -> JsonResponse:
    """The answer to a choice: what `save` says of it, or why it was refused."""
    try:
        return JsonResponse(save(_read_choice(request)))
    except Refused as refused:
        headers = {"Allow": "POST"} if isinstance(refused, OnlyPost) else {}
        return JsonResponse({"error": str(refused)}, status=refused.status, headers=headers)


def _save(request: HttpRequest, token: str, position: int, choice: Choice) -> dict[str, Any]:
    keys = links.assignment_keys(token)
    saved = judgment_services.judgment_save(
        assignment_id=keys.assignment_id,
        position=position,
        preferred=choice.preferred,
        is_translated=choice.is_translated,
        shown_at=worker_pages.shown_from(choice.stamp, keys.assignment_id, position),
        at=timezone.now(),
    )
    return worker_pages.saved_context(request, choice.preferred, saved)


def _read_choice(request: HttpRequest) -> Choice:
    """What was chosen, from a JSON body no longer than it can be."""
    if request.method != "POST":
        raise OnlyPost(_("This address only takes choices."))
    try:
        body = request.body
    except RequestDataTooBig:
        raise TooLong(_("The request is too long.")) from None
    if len(body) > LONGEST_BODY:
        raise BadRequest(_("The request is too long."))
    if body and request.content_type != "application/json":
        raise NotJson(_("The request is not JSON."))
    try:
        choice = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest(_("The request is not valid JSON.")) from None
    if isinstance(choice, dict):
        preferred, stamp = choice.get("preferred"), choice.get("shown")
        if isinstance(preferred, str) and isinstance(stamp, str):
            return Choice(preferred, stamp, choice.get("translated") is True)
    raise BadRequest(_("“preferred” and “shown” are required."))
