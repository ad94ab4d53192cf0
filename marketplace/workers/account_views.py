"""The front door, and workers' accounts: logging in and out, registering, passwords."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from marketplace.errors import Refused
from marketplace.models import Account, Worker
from marketplace.pages import client_address, see_other, show_page
from marketplace.selectors.earnings import earnings_of
from marketplace.sentences import explain_refusal
from marketplace.services.accounts import invitation_find, password_tokens, worker_register
from marketplace.services.erasing import account_close, personal_data
from marketplace.services.limits import LOGIN_FROM_ADDRESS, LOGIN_TO_ACCOUNT, REGISTRATION, limit_exceeded
from marketplace.templatetags.people import dollars
from marketplace.workers.forms import RegisterForm
from marketplace.workers.pages import for_worker, show_too_many
from ui.browsers import known_browser, remember_browser

OPERATOR_SECONDS = 8 * 3600


def home(request: HttpRequest) -> HttpResponse:
    """The front door: the tasks for those who are logged in, a welcome for the others."""
    if request.user.is_authenticated:
        return see_other("operator:home" if request.user.is_operator else "workers:tasks")
    return show_page(request, "workers/welcome.html")


class LogIn(LoginView):
    """Logging in, with a limit on tries from one address and for one account.

    In a browser that an account has logged in from before, tries count for that browser alone: whoever tries passwords
    does not keep the owner out.
    """

    template_name = "marketplace/workers/login.html"
    next_page = "workers:home"
    redirect_authenticated_user = False

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refuse the eleventh try of a minute, whether or not it would have been right."""
        account = request.POST.get("username", "").strip().lower()
        too_many = [
            limit_exceeded(LOGIN_FROM_ADDRESS, client_address(request)),
            limit_exceeded(LOGIN_TO_ACCOUNT, known_browser(request, account) or account),
        ]
        return show_too_many(request) if any(too_many) else super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, an operator for a working day, and remember in a signed cookie who has logged in from here."""
        response = super().form_valid(form)
        account = form.get_user()
        if account.is_operator:
            self.request.session.set_expiry(OPERATOR_SECONDS)
        remember_browser(self.request, response, account.get_username().strip().lower())
        return response


class LogOut(LogoutView):
    """Logging out, by POST."""

    next_page = "workers:home"


class PasswordChange(PasswordChangeView):
    """A new password, for somebody who knows the old one."""

    template_name = "marketplace/workers/password.html"
    extra_context = {"heading": gettext_lazy("Change your password"), "button": gettext_lazy("Change your password")}
    success_url = reverse_lazy("workers:account")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Your password has been changed."))
        return super().form_valid(form)


class PasswordNew(PasswordResetConfirmView):
    """A new password, for somebody whom the operator gave a link."""

    template_name = "marketplace/workers/password.html"
    extra_context = {"heading": gettext_lazy("Set a new password"), "button": gettext_lazy("Set the password")}
    token_generator = password_tokens
    success_url = reverse_lazy("workers:login")

    def get_user(self, uidb64: str) -> Account | None:
        """The account of the link, unless it is closed."""
        account = super().get_user(uidb64)
        return account if isinstance(account, Account) and account.is_active else None

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Your password has been changed. Log in with the new one."))
        return super().form_valid(form)


@require_http_methods(["GET", "POST"])
def register(request: HttpRequest) -> HttpResponse:
    """A new worker, by invitation, or without one where registration is open."""
    if request.method == "POST" and limit_exceeded(REGISTRATION, client_address(request)):
        return show_too_many(request)
    token = request.POST.get("invitation") or request.GET.get("invitation") or ""
    invitation = invitation_find(token) if token else None
    is_spent = bool(token) and invitation is None
    email = invitation.email if invitation else ""
    form = RegisterForm(request.POST or None, email=email)
    status = 200
    if form.is_valid():
        try:
            worker = worker_register(invitation_token=token, **form.cleaned_data)
        except Refused as refused:
            explanation = explain_refusal(refused)
            form.add_error(None, explanation.text)
            status = explanation.status
        else:
            login(request, worker.account)
            messages.success(request, _("Welcome. These are the tasks available to you."))
            return see_other("workers:tasks")
    elif form.is_bound:
        status = 400
    return show_page(
        request, "workers/register.html", {"form": form, "invitation": token, "is_spent": is_spent}, status=status
    )


@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """The account, as its owner sees it."""
    if not isinstance(request.user, Account):
        return see_other("workers:login")
    return show_page(request, "workers/account.html")


@for_worker("GET")
def account_data(request: HttpRequest, worker: Worker) -> HttpResponse:
    """All that is stored of the worker, as a file."""
    response = JsonResponse(personal_data(worker), json_dumps_params={"ensure_ascii": False, "indent": 1})
    response["Content-Disposition"] = f'attachment; filename="{worker.worker_id}.json"'
    return response


@for_worker("GET", "POST")
def account_closing(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Closing one's own account, after asking once."""
    if request.method == "POST":
        account_close(worker=worker)
        logout(request)
        messages.success(request, _("Your account is closed. What you are owed is still paid."))
        return see_other("workers:login")
    text = _("You can no longer log in or accept tasks. Work that you have submitted is decided on and paid as before.")
    if owed := earnings_of(worker).owed:
        text += " " + _("The %(owed)s that you are owed is still paid.") % {"owed": dollars(owed)}
    context = {
        "title": _("Close your account"),
        "heading": _("Close your account?"),
        "about": [text, _("To open it again, or to have your data erased, ask the people who run this marketplace.")],
        "is_grave": True,
        "button": _("Close the account"),
        "back": (_("Keep it"), reverse("workers:account")),
    }
    return show_page(request, "form.html", context)
