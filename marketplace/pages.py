"""What the pages of workers and of operators share: rendering, paging, redirects, and who is asking."""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from csp.constants import NONE
from django.conf import settings
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.urls.converters import StringConverter
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from marketplace.models import Account, Worker
from marketplace.selectors.messages import unread_count

ROWS = 50


class IdConverter(StringConverter):
    """An id in a URL. Whatever cannot be one is answered before the database is asked."""

    regex = "[A-Za-z0-9-]{1,64}"


def shared_context(request: HttpRequest) -> dict[str, Any]:
    """What every page may show: the worker who is logged in, how many messages wait, whether anybody may register."""
    worker = worker_of_session(request)
    return {
        "worker": worker,
        "unread": unread_count(worker) if worker else 0,
        "open_registration": settings.OPEN_REGISTRATION,
    }


def show_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    frames: Sequence[str] = (NONE,),
) -> HttpResponse:
    """Render a page that no cache keeps. `frames` are the origins that it may open in frames."""
    response = render(request, f"marketplace/{template}", context, status=status)
    response._csp_replace = {"frame-src": list(frames)}  # type: ignore[attr-defined]  # read by csp's middleware
    add_never_cache_headers(response)
    return response


def show_message(
    request: HttpRequest, title: str, text: str, *, status: int = 200, link: tuple[str, str] | None = None
) -> HttpResponse:
    """Render a page that says one thing, with one link to go on: its address and label."""
    address, label = link or (reverse("workers:tasks"), _("Go to the tasks"))
    return show_page(request, "form.html", {"title": title, "lead": text, "back": (label, address)}, status=status)


def see_other(name: str, *arguments: object, query: Mapping[str, str] | None = None) -> HttpResponse:
    """Redirect with 303 to a page by its name: a reload there sends nothing again."""
    return HttpResponseRedirect(reverse(name, args=arguments, query=query), status=303)


def read_query(request: HttpRequest, name: str = "words") -> str:
    """Return a parameter of the URL, such as the words of a search; empty if it is absent."""
    return request.GET.get(name, "").replace("\0", "")[:200]


def paginate(
    request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int = ROWS, key: str = "page"
) -> Page[Any]:
    """Return the page of rows that `?page=` asks for; the nearest where there is no such page.

    Where a page of the site has several lists, each has another `key`, which its heading has as its id.
    """
    return Paginator(rows, size).get_page(request.GET.get(key))


def client_address(request: HttpRequest) -> str:
    """Return the client's address, as far as limits go: an IPv6 network of 64 bits is one client.

    Where a proxy's header names several, each proxy added one at the end: the last is the one that nobody made up.
    """
    header = request.META.get(settings.CLIENT_ADDRESS_HEADER) or request.META.get("REMOTE_ADDR", "")
    text = str(header).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text[:100]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def worker_of_session(request: HttpRequest) -> Worker | None:
    """Return the worker who is logged in."""
    account = getattr(request, "user", None)
    if not isinstance(account, Account):
        return None
    return Worker.objects.select_related("account").filter(account=account).first()
