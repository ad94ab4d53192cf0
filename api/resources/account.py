"""One's own account: who it is, and its tokens."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.utils import timezone
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from api import lab_shapes, shapes, tokens
from api.frame import Resource, get, operation
from core.roles import Right


class Account(Resource):
    """One's own account, and the token of the request."""

    tags = ["Account"]

    @get("account", lab_shapes.AccountShape, of_oneself=True, detail=False)
    def account(self, request: Request) -> Any:
        """Who you are, and your role in each lab."""
        user = self.user
        factors = set(Authenticator.objects.filter(user=user).values_list("type", flat=True))
        return {
            "user": user,
            "is_site_admin": user.is_superuser and user.is_staff,
            "has_codes": Authenticator.Type.TOTP in factors,
            "has_passkey": Authenticator.Type.WEBAUTHN in factors,
            "labs": user.memberships.select_related("lab").order_by("lab__name"),
        }

    @get("token", shapes.TokenShape, name="token", detail=False)
    def own_token(self, request: Request) -> Any:
        """Your token: whose it is, what it may do, and until when."""
        return self.token


class Tokens(Resource):
    """One's tokens."""

    tags = ["Account"]
    lookup_url_kwarg = "token_pk"

    @operation(lab_shapes.OwnToken(many=True), Right.MANAGE, name="tokens", of_oneself=True)
    def list(self, request: Request) -> Any:
        """Your tokens that have not been revoked, newest first. New ones are made on the page “API tokens” only, so
        that no token can outlive itself."""
        return self.page_of(tokens.tokens_of(self.user), token=self.token)

    @operation(right=Right.MANAGE, name="token_revoke", of_oneself=True)
    def destroy(self, request: Request, token_pk: int) -> Any:
        """Revoke a token of yours: nothing is done with it any more."""
        token = get_object_or_404(tokens.tokens_of(self.user), pk=token_pk)
        tokens.token_revoke(token=token, at=timezone.now())
