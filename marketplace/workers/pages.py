"""What the workers' pages share: who may see them, and how refusals look."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from marketplace.errors import Refused
from marketplace.models import Account, Worker
from marketplace.pages import see_other, show_message, show_page, worker_of_session
from marketplace.sentences import explain_refusal
from marketplace.services.due import catch_up

__all__ = ["for_worker", "show_page", "show_too_many"]

P = ParamSpec("P")


def for_worker(
    *methods: str,
) -> Callable[[Callable[Concatenate[HttpRequest, Worker, P], HttpResponse]], Callable[..., HttpResponse]]:
    """Let only workers see a page, by these methods, once all that is due has been done. Refusals become pages."""

    def guard(view: Callable[Concatenate[HttpRequest, Worker, P], HttpResponse]) -> Callable[..., HttpResponse]:
        @require_http_methods(methods)
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            worker = worker_of_session(request)
            if worker is None:
                return _refuse(request)
            catch_up()
            try:
                return view(request, worker, *args, **kwargs)
            except Refused as refused:
                explanation = explain_refusal(refused)
                return show_message(request, explanation.title, explanation.text, status=explanation.status)

        return guarded

    return guard


def _refuse(request: HttpRequest) -> HttpResponse:
    if isinstance(request.user, Account) and request.user.is_operator:
        return see_other("operator:home")
    title, text = _("Not a worker's account"), _("You are logged in with an account that cannot accept tasks.")
    link = (reverse("workers:account"), _("Go to your account"))
    return show_message(request, title, text, status=403, link=link)


def show_too_many(request: HttpRequest) -> HttpResponse:
    """Say that there were too many attempts from one address."""
    return show_message(
        request,
        _("Please wait a moment"),
        _("There were too many attempts. Please wait a minute, then try again."),
        status=429,
        link=(request.path, _("Try again")),
    )
