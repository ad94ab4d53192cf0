"""What the workers' pages share: who may see them, and how refusals look."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from marketplace.errors import Refused
from marketplace.models import Worker
from marketplace.pages import see_other, show_message, show_page, worker_of_session
from marketplace.sentences import explain_refusal
from marketplace.services.due import catch_up

__all__ = ["for_worker", "show_page", "show_too_many"]

P = ParamSpec("P")


def for_worker(
    view: Callable[Concatenate[HttpRequest, Worker, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Let only workers see a page, once everything that is due has been done. Refusals become pages."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        worker = worker_of_session(request)
        if worker is None:
            if request.user.is_operator:
                return see_other("operator:home")
            return show_message(
                request,
                _("Not a worker's account"),
                _("You are logged in with an account that cannot accept tasks."),
                status=403,
                link=(reverse("workers:account"), _("Go to your account")),
            )
        catch_up()
        try:
            return view(request, worker, *args, **kwargs)
        except Refused as refused:
            explanation = explain_refusal(refused)
            return show_message(request, explanation.title, explanation.text, status=explanation.status)

    return guarded


def show_too_many(request: HttpRequest) -> HttpResponse:
    """Say that there were too many attempts from one address."""
    return show_message(
        request,
        _("Please wait a moment"),
        _("There were too many attempts. Please wait a minute, then try again."),
        status=429,
        link=(request.path, _("Try again")),
    )
