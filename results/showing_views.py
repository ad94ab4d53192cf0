"""The page of results for people without an account, and where it is made and ended."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_ratelimit.decorators import ratelimit

from core.errors import NotYours
from core.http import Request, see_other
from core.login import TooManyTries
from core.roles import Right, needs
from pools.http import campaign_of
from results import showing, story
from results.findings import headline
from results.models import ShownResults
from results.sections.subjects import Subject


@needs(Right.EXPORT)
@require_http_methods(["GET", "POST"])
def show(request: Request, pk: int) -> HttpResponse:
    """Make the page, see where it is, or end it."""
    campaign = campaign_of(request, pk)
    if request.method == "POST":
        if request.POST.get("do") == "end":
            showing.page_end(campaign=campaign)
            messages.success(request, _("The page has ended. Its address leads nowhere from now on."))
        else:
            showing.page_make(campaign=campaign, by=request.user, at=timezone.now())
        return see_other("results:show", pk)
    page = ShownResults.objects.filter(campaign=campaign).select_related("made_by").first()
    context = {
        "campaign": campaign,
        "shown_page": page,
        "address": page and f"{settings.SITE_URL}{reverse('results:shown', args=[page.token])}",
        "is_shown": showing.shown_of(campaign) is not None,
    }
    return render(request, "results/show.html", context)


def _for_everybody(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For pages that need no account: counted by network, kept by no search engine."""

    @ratelimit(key="ip", rate="120/m", block=False)  # type: ignore[untyped-decorator]
    @require_safe
    @wraps(view)
    def opened(request: HttpRequest, token: str, **named: Any) -> HttpResponse:
        if getattr(request, "limited", False):
            raise TooManyTries(_("This page was asked for too often. Please wait a minute and try again."))
        response = view(request, token, **named)
        response["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return opened  # type: ignore[no-any-return]


@needs(Right.PUBLIC)
@_for_everybody
def shown(request: HttpRequest, token: str, subject: str = Subject.FINDINGS) -> HttpResponse:
    """What may be shown of the results, or of one subject behind them."""
    campaign = showing.campaign_at(token)
    context: dict[str, Any] = {"campaign": campaign, "is_public": True, "token": token, "subject": Subject.FINDINGS}
    if (current := showing.shown_of(campaign)) is not None:
        subjects = story.subjects(current.data)
        if subject not in [Subject.FINDINGS, *(each for each, _text in subjects)]:
            raise NotYours(_("These results have no such page. Pages appear once the results are computed."))
        context |= {
            "data": current.data,
            "at": current.at,
            "headline": headline(current.data),
            "subject": Subject(subject),
            "subjects": [
                (reverse("results:shown_subject", args=[token, each.value]), each.label, text)
                for each, text in subjects
            ],
            "page": story.page_of(request, Subject(subject), current.data, current.drawings, None),
        }
    return render(request, "results/shown.html", context)


@needs(Right.PUBLIC)
@_for_everybody
def shown_marks(_request: HttpRequest, token: str, name: str) -> HttpResponse:
    """What answers on one of its figures."""
    current = showing.shown_of(showing.campaign_at(token))
    return story.marks_response({} if current is None else current.marks, name, None)
