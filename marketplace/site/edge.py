"""What all pages share: who may see them, how refusals look, what else a page may load."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from csp.constants import NONE
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.urls.converters import StringConverter
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from marketplace.errors import Refused
from marketplace.models import Account, Worker
from marketplace.selectors import site as selectors
from marketplace.services.due import catch_up
from marketplace.site.words import refusal_said

P = ParamSpec("P")
ROWS = 50


class IdConverter(StringConverter):
    """An id in an address. Whatever cannot be one is answered before the database is asked."""

    regex = "[A-Za-z0-9-]{1,64}"


def show(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    frames: Sequence[str] = (NONE,),
) -> HttpResponse:
    """A page, never kept by anybody on the way. `frames` are the origins that it may open in frames."""
    worker = worker_of(request)
    context = {
        "worker": worker,
        "unread": selectors.unread_of(worker) if worker else 0,
        "open_registration": settings.OPEN_REGISTRATION,
        **(context or {}),
    }
    response = render(request, f"marketplace/{template}", context, status=status)
    response._csp_replace = {"frame-src": list(frames)}  # type: ignore[attr-defined]  # read by csp's middleware
    add_never_cache_headers(response)
    return response


def message_page(
    request: HttpRequest, title: str, text: str, *, status: int = 200, link: tuple[str, str] | None = None
) -> HttpResponse:
    """A page that says one thing, and where to go from it."""
    way_out = link or (reverse("site:tasks"), _("Go to the tasks"))
    context = {"title": title, "text": text, "link": {"url": way_out[0], "label": way_out[1]}}
    return show(request, "message.html", context, status=status)


def see_other(name: str, *arguments: object, query: Mapping[str, str] | None = None) -> HttpResponse:
    """303 to a page by its name: a reload there sends nothing again."""
    response = HttpResponseRedirect(reverse(name, args=arguments, query=query))
    response.status_code = 303
    return response


def asked_for(request: HttpRequest, name: str = "words") -> str:
    """What somebody looks for, from the address."""
    return request.GET.get(name, "").replace("\0", "")[:200]


def page_of(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int = ROWS) -> Page[Any]:
    """The page of rows that `?page=` asks for; the nearest where there is no such page."""
    return Paginator(rows, size).get_page(request.GET.get("page"))


def address_of(request: HttpRequest) -> str:
    """The client's address, as far as limits go: an IPv6 network of 64 bits is one client.

    Where a proxy's header names several, each proxy added one at the end: the last is the one that nobody made up.
    """
    named = request.META.get(settings.CLIENT_ADDRESS_HEADER) or request.META.get("REMOTE_ADDR", "")
    text = str(named).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text[:100]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def worker_of(request: HttpRequest) -> Worker | None:
    """The worker who is logged in."""
    account = getattr(request, "user", None)
    if not isinstance(account, Account):
        return None
    return Worker.objects.select_related("account").filter(account=account).first()


def worker_page(
    view: Callable[Concatenate[HttpRequest, Worker, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view for the worker who is logged in, at a time when nothing is due any more. Refusals become pages."""

    @wraps(view)
    def page(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        worker = worker_of(request)
        if worker is None:
            if request.user.is_operator:
                return see_other("operator:home")
            return message_page(
                request,
                _("No worker's account"),
                _("You are logged in with an account that cannot take tasks."),
                status=403,
                link=(reverse("site:account"), _("Go to your account")),
            )
        catch_up()
        try:
            return view(request, worker, *args, **kwargs)
        except Refused as refused:
            said = refusal_said(refused)
            return message_page(request, said.title, said.text, status=said.status)

    return page


def operator_page(
    view: Callable[Concatenate[HttpRequest, Account, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view for operators only, at a time when nothing is due any more. Refusals become pages."""

    @wraps(view)
    def page(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not request.user.is_operator:
            return message_page(
                request, _("Not for you"), _("This page is for the people who run the marketplace."), status=403
            )
        catch_up()
        try:
            return view(request, request.user, *args, **kwargs)
        except Refused as refused:
            missing = refused.code.endswith("DoesNotExist")
            return message_page(
                request,
                _("Nothing here") if missing else _("This cannot be done"),
                str(refused),
                status=404 if missing else 409,
                link=(reverse("operator:home"), _("Go to the overview")),
            )

    return page
