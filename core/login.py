"""Logging in, with a limit on tries."""

from typing import Any

from allauth.account.utils import perform_login
from allauth.mfa import app_settings as mfa
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import LoginWebAuthnForm
from allauth.socialaccount.adapter import get_adapter as get_social_adapter
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_ratelimit.decorators import ratelimit

from core.comparing import compared
from core.errors import Refused
from core.http import see_other
from core.models import User
from core.roles import Right, needs
from ui.browsers import known_browser, remember_browser


class TooManyTries(Refused):
    """Too many attempts to log in: an attack, or a forgotten password."""

    status = 429
    title = "One moment, please"


def _name_key(_group: str, request: HttpRequest) -> str:
    """What tries are counted by: the name, or the browser where that has logged in before."""
    name = compared(request.POST.get("username", ""))
    browser = known_browser(request, name)
    return f"browser {browser}" if browser else f"name {name}"


class LoginForm(AuthenticationForm):
    """A name or an e-mail address, and a password."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.fields["username"].label = gettext_lazy("Name or e-mail address")

    def clean_username(self) -> str:
        """The name as its owner wrote it first, or an address as addresses are compared."""
        name = compared(self.cleaned_data["username"])
        return User.objects.filter(username_key=name).values_list("username", flat=True).first() or name


class PasskeyLogin(LoginWebAuthnForm):  # type: ignore[misc]  # allauth has no types
    """A passkey alone. Where it is refused, the log-in page says so, and what to do instead."""

    def clean_credential(self) -> Authenticator:
        """Whose passkey it is. Refused if it has been removed, or if its answer is not to this page."""
        try:
            return super().clean_credential()
        except ValidationError as error:
            text = _("This passkey is not known here, or has been removed. Log in with your password.")
            raise ValidationError(text) from error


def _apps(request: HttpRequest) -> list[Any]:
    """What else somebody can log in with. The page asks no database for it, so it is there while that is away."""
    return list(get_social_adapter().list_apps(request)) if settings.SOCIALACCOUNT_PROVIDERS else []


@method_decorator(needs(Right.PUBLIC), name="dispatch")
@method_decorator(ratelimit(key="ip", rate="10/m", method="POST", block=False), name="dispatch")
@method_decorator(ratelimit(key=_name_key, rate="10/m", method="POST", block=False), name="dispatch")
class LimitedLogin(LoginView):
    """Logging in by name or e-mail address, with a limit on tries from one address and for one name.

    What follows upon the password, such as the second factor, is allauth's.
    """

    form_class = LoginForm

    def get_context_data(self, **named: Any) -> dict[str, Any]:
        others = {"has_mail": settings.HAS_MAIL, "PASSKEY_LOGIN_ENABLED": mfa.PASSKEY_LOGIN_ENABLED}
        providers = [app.get_provider(self.request) for app in _apps(self.request)]
        return super().get_context_data(**named) | others | {"providers": providers}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, and remember in a signed cookie that this name has logged in from this browser."""
        user = form.get_user()
        response: HttpResponse = perform_login(self.request, user, redirect_url=self.get_success_url())
        remember_browser(self.request, response, compared(form.data["username"]))
        return response

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if getattr(request, "limited", False):
            raise TooManyTries(_("There have been too many attempts to log in. Please wait a minute and try again."))
        if request.method == "GET" and request.user.is_authenticated and not request.GET.get("next"):
            return see_other("campaigns:campaigns")
        return super().dispatch(request, *args, **kwargs)
