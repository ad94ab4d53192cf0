"""One's own account: who it is, alarms by mail, sessions, and tokens."""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from api import account_shapes, tokens
from api.frame import Endpoint, Pages, checked, operation, token_of, user_of
from core.audit import logins
from core.errors import NotYours
from core.roles import Right
from judgments import alarm_mails

TAGS = ["Account"]


class Account(Endpoint):
    """One's own account."""

    @operation("account", answer=account_shapes.AccountShape, of_oneself=True, tags=TAGS)
    def get(self, request: Request) -> Response:
        """Who you are, and your role in each lab."""
        user = user_of(request)
        factors = set(Authenticator.objects.filter(user=user).values_list("type", flat=True))
        content = {
            "user": user.get_username(),
            "name": user.get_full_name(),
            "email": user.email,
            "is_site_admin": user.is_superuser and user.is_staff,
            "has_codes": Authenticator.Type.TOTP in factors,
            "has_passkey": Authenticator.Type.WEBAUTHN in factors,
            "labs": user.memberships.select_related("lab").order_by("lab__name"),
        }
        return Response(account_shapes.AccountShape(content).data)


class AlarmMails(Endpoint):
    """Alarms by mail."""

    @operation("alarm_mails", answer=account_shapes.AlarmMails, of_oneself=True, tags=TAGS)
    def get(self, request: Request) -> Response:
        """Which alarms you get by mail."""
        return Response(account_shapes.AlarmMails(alarm_mails.choice_of(user_of(request))).data)

    @operation(
        "alarm_mails_set",
        takes=account_shapes.AlarmMails,
        answer=account_shapes.AlarmMails,
        right=Right.MAINTAIN,
        of_oneself=True,
        tags=TAGS,
    )
    def put(self, request: Request) -> Response:
        """Choose which alarms you get by mail."""
        given: dict[str, Any] = dict(checked(account_shapes.AlarmMails, request))
        return Response(account_shapes.AlarmMails(alarm_mails.choice_set(user=user_of(request), **given)).data)


class Sessions(Endpoint):
    """Browsers in which one is logged in."""

    pagination_class = Pages

    @operation(
        "sessions", answer=account_shapes.SessionShape(many=True), right=Right.MANAGE, of_oneself=True, tags=TAGS
    )
    def get(self, request: Request) -> Response:
        """The browsers in which you are logged in."""
        return self.page_of(UserSession.objects.filter(user=user_of(request)), account_shapes.SessionShape)


class SessionOne(Endpoint):
    """One browser."""

    @operation("session_end", status=204, right=Right.MANAGE, of_oneself=True, tags=TAGS)
    def delete(self, request: Request, session_pk: int) -> Response:
        """Log yourself out in a browser, from its next request on."""
        session = UserSession.objects.filter(user=user_of(request), pk=session_pk).first()
        if session is None:
            raise NotYours(_("There is no such session, or it has ended."))
        logins.session_end(session=session)
        return Response(status=204)


class Tokens(Endpoint):
    """One's tokens."""

    pagination_class = Pages

    @operation("tokens", answer=account_shapes.OwnToken(many=True), right=Right.MANAGE, of_oneself=True, tags=TAGS)
    def get(self, request: Request) -> Response:
        """Your tokens that have not been revoked, newest first. New ones are made on the page “API tokens” only, so
        that no token can outlive itself."""
        return self.page_of(tokens.tokens_of(user_of(request)), account_shapes.OwnToken, token=token_of(request))


class TokenOne(Endpoint):
    """One token."""

    @operation("token_revoke", status=204, right=Right.MANAGE, of_oneself=True, tags=TAGS)
    def delete(self, request: Request, token_pk: int) -> Response:
        """Revoke a token of yours: nothing is done with it any more."""
        token = tokens.tokens_of(user_of(request)).filter(pk=token_pk).first()
        if token is None:
            raise NotYours(_("You have no such token, or it has been revoked."))
        tokens.token_revoke(token=token, at=timezone.now())
        return Response(status=204)
