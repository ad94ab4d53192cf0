"""Logging in, with a limit on tries."""

import secrets
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django_ratelimit.decorators import ratelimit

from core.errors import Refused
from core.http import see_other


class TooManyTries(Refused):
    """Too many attempts to log in: an attack, or a forgotten password."""

    status = 429
    title = "One moment, please"


_KNOWN = "known-browser"


KNOWN_SECONDS = 365 * 86_400


def _name_key(_group: str, request: HttpRequest) -> str:
    """What tries are counted by: the name, or the name in a browser that has logged in with it before.

    So an attacker who tries passwords for a name does not lock out its owner, who uses their own browser.
    """
    name = request.POST.get("username", "").strip().casefold()
    try:
        known, browser = signing.loads(request.COOKIES.get(_KNOWN, ""), salt=_KNOWN, max_age=KNOWN_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return f"name {name}"
    return f"browser {browser}" if known == name else f"name {name}"


@method_decorator(ratelimit(key="ip", rate="10/m", method="POST", block=False), name="dispatch")
@method_decorator(ratelimit(key=_name_key, rate="10/m", method="POST", block=False), name="dispatch")
class LimitedLogin(LoginView):
    """Logging in, with a limit on tries from one address and for one name."""

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, and remember in a signed cookie that this name has logged in from this browser."""
        response = super().form_valid(form)
        name = form.get_user().get_username().strip().casefold()
        response.set_cookie(
            _KNOWN,
            signing.dumps([name, secrets.token_hex(8)], salt=_KNOWN),
            max_age=KNOWN_SECONDS,
            path=reverse("login"),
            secure=self.request.is_secure(),
            httponly=True,
            samesite="Lax",
        )
        return response

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Refuse the eleventh try of a minute."""
        if getattr(request, "limited", False):
            raise TooManyTries(_("There have been too many attempts to log in. Please wait a minute and try again."))
        if request.method == "GET" and request.user.is_authenticated and not request.GET.get("next"):
            return see_other("pools:campaigns")
        return super().dispatch(request, *args, **kwargs)
