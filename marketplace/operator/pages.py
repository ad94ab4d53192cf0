"""What the operator's pages share: who may see them, how refusals look, and the menu."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from marketplace.errors import Refused
from marketplace.models import Account
from marketplace.pages import show_message, show_page
from marketplace.selectors.disputes import disputes_open
from marketplace.services.due import catch_up

P = ParamSpec("P")


def show_operator_page(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page of the operator's, with the menu."""
    shared = {"open_disputes": disputes_open()}
    return show_page(request, f"operator/{template}", shared | dict(context), status=status)


def show_operator_form(request: HttpRequest, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """Ask the operator one thing, or say one: `marketplace/form.html`, with the menu."""
    shared = {"open_disputes": disputes_open(), "base": "marketplace/operator/base.html"}
    return show_page(request, "form.html", shared | dict(context), status=status)


def as_code(text: str, element_id: str = "") -> SafeString:
    """An id or an address, in the letters of code."""
    return format_html('<span class="code"{}>{}</span>', element_id and format_html(' id="{}"', element_id), text)


def for_operator(
    *methods: str,
) -> Callable[[Callable[Concatenate[HttpRequest, Account, P], HttpResponse]], Callable[..., HttpResponse]]:
    """Let only operators see a page, by these methods, once all that is due has been done. Refusals become pages."""

    def guard(view: Callable[Concatenate[HttpRequest, Account, P], HttpResponse]) -> Callable[..., HttpResponse]:
        @require_http_methods(methods)
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not request.user.is_operator:
                text = _("This page is for the people who run the marketplace.")
                return show_message(request, _("No access"), text, status=403)
            catch_up()
            try:
                return view(request, request.user, *args, **kwargs)
            except Refused as refused:
                is_missing = refused.code.endswith("DoesNotExist")
                title = _("Nothing here") if is_missing else _("This cannot be done")
                link = (reverse("operator:home"), _("Go to the overview"))
                return show_message(request, title, str(refused), status=404 if is_missing else 409, link=link)

        return guarded

    return guard
