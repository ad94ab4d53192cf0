"""Who may call the API, how often, and in which form: what settings.REST_FRAMEWORK names."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.metadata import SimpleMetadata
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from api import tokens
from api.models import Token
from api.tokens import SCOPES
from core.models import User
from core.roles import Right

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which reads the settings that name this module

READS, WRITES = "1200/min", "240/min"  # of one token


class BearerToken(BaseAuthentication):
    """`Authorization: Bearer bkn_…`. There are no sessions here, and so no forged requests from other sites."""

    def authenticate(self, request: Request) -> tuple[User, Token]:
        kind, _space, text = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not text:
            raise exceptions.NotAuthenticated(_("Send a token: “Authorization: Bearer bkn_…”."))
        token = tokens.token_find(text=text.strip(), at=timezone.now())
        if token is None:
            raise exceptions.AuthenticationFailed(_("This token is not valid: unknown, expired or revoked."))
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class HasScope(BasePermission):
    """Whether the token has the scope of the operation. Its owner's role is asked for where the thing is found."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Raise a refusal that names the missing scope."""
        scope = SCOPES[getattr(view, "right", Right.SEE)]
        if scope not in token_of(request).scopes:
            raise exceptions.PermissionDenied(_("This token lacks the scope “%(scope)s”.") % {"scope": scope})
        return True


class PerToken(SimpleRateThrottle):
    """So many requests of a token in a minute; those that change something are counted apart."""

    rate = READS

    def allow_request(self, request: Request, view: "APIView") -> bool:
        """Whether there is room for one more."""
        if not settings.RATELIMIT_ENABLE:
            return True
        self.rate = READS if request.method in ("GET", "HEAD", "OPTIONS") else WRITES
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return bool(super().allow_request(request, view))

    def get_cache_key(self, request: Request, view: "APIView") -> str:
        return f"api {self.rate} {token_of(request).pk}"


class Json(JSONParser):
    """JSON, but not so deep that it cannot be read."""

    def parse(self, *arguments: Any, **named: Any) -> Any:
        """The content. Raises ParseError."""
        try:
            return super().parse(*arguments, **named)
        except RecursionError as error:
            raise exceptions.ParseError(_("The JSON is too deep.")) from error


class OnlyJson(DefaultContentNegotiation):
    """JSON, whatever is asked for."""

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        only = next(iter(renderers))
        return only, only.media_type


class NoFields(SimpleMetadata):
    """What OPTIONS answers: nothing about fields, which the description has."""

    def determine_actions(self, request: Request, view: "APIView") -> dict[str, Any]:
        return {}


_CURSOR = re.compile("[A-Za-z0-9+/]*={0,2}")  # of base64


class Pages(CursorPagination):
    """Lists by cursor: what is added or removed meanwhile neither repeats nor hides a row. Newest first."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 500
    ordering = "-id"

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        example = "https://judge.example.org/api/v1/runs/?cursor=cD00Mg%3D%3D"
        address = {"type": ["string", "null"], "format": "uri", "example": example}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": address, "previous": address, "results": schema},
        }

    def decode_cursor(self, request: Request) -> Any:
        """The place in the list. What is no cursor of ours is a mistake in a field."""
        text = _("This is not a cursor. Follow “next” and “previous” as they are.")
        if not _CURSOR.fullmatch(request.query_params.get(self.cursor_query_param, "")):
            raise exceptions.ValidationError({"cursor": [text]})  # letters of no base64 would be passed over
        try:
            return super().decode_cursor(request)
        except exceptions.NotFound as error:
            raise exceptions.ValidationError({"cursor": [text]}) from error


def token_of(request: Request) -> Token:
    """The token that it was sent with."""
    token: object = request.auth
    assert isinstance(token, Token)
    return token
