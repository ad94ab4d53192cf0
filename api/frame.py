"""What every address of the API has: a token and its scope, limits, tags of its content, problems, a description.

An endpoint is a class with a method for each verb; `operation` says what each is, for the program and for OpenAPI.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from api import answers, tokens
from api.models import Scope, Token
from api.problems import Changed, TooLarge, answer_exception
from api.shapes import Problem, Why
from core.audit.origin import because
from core.errors import NotYours
from core.models import Lab, User
from core.roles import Right, labs_of, require
from pools import selectors as pool_selectors
from pools.models import Campaign, Collection

READS, WRITES = "1200/min", "240/min"  # of one token
MOST_BYTES = 1 << 20  # of a request without files
FORM_BYTES = 1 << 20  # what the other fields of an upload may add to its files
Method = Callable[..., Any]
# Which scope of a token an operation needs, by the right that its owner needs.
SCOPES = {
    Right.SEE: Scope.READ,
    Right.EXPORT: Scope.READ,
    Right.MAINTAIN: Scope.WRITE,
    Right.DESIGN: Scope.WRITE,
    Right.DECIDE: Scope.DECIDE,
    Right.SPEND: Scope.SPEND,
    Right.MANAGE: Scope.MANAGE,
    Right.SITE: Scope.MANAGE,
}


class BearerToken(BaseAuthentication):
    """`Authorization: Bearer bkn_…`. There are no sessions here, and so no forged requests from other sites."""

    def authenticate(self, request: Request) -> tuple[User, Token]:
        """The token and its owner."""
        kind, _space, text = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not text:
            raise exceptions.NotAuthenticated(_("Send a token: “Authorization: Bearer bkn_…”."))
        token = tokens.token_find(text=text.strip(), at=timezone.now())
        if token is None:
            raise exceptions.AuthenticationFailed(_("This token is not valid: unknown, expired or revoked."))
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """What a client should send."""
        return 'Bearer realm="api"'


class HasScope(BasePermission):
    """Whether the token has the scope of the operation. Its owner's role is asked for where the thing is found."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Raise a refusal that names the missing scope."""
        asked = SCOPES[getattr(getattr(view, str(request.method).lower(), None), "right", Right.SEE)]
        if asked not in token_of(request).scopes:
            raise exceptions.PermissionDenied(_("This token lacks the scope “%(scope)s”.") % {"scope": asked})
        return True


class PerToken(SimpleRateThrottle):
    """So many requests of a token in a minute; those that change something are counted apart."""

    rate = READS

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Whether there is room for one more."""
        if not settings.RATELIMIT_ENABLE:
            return True
        self.rate = READS if request.method in ("GET", "HEAD", "OPTIONS") else WRITES
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return bool(super().allow_request(request, view))

    def get_cache_key(self, request: Request, view: APIView) -> str:
        """What is counted together."""
        return f"api {self.rate} {token_of(request).pk}"


class Json(JSONParser):
    """JSON, but not so deep that it cannot be read."""

    def parse(self, *arguments: Any, **named: Any) -> Any:
        """The content. Raises ParseError."""
        try:
            return super().parse(*arguments, **named)
        except RecursionError as error:
            raise exceptions.ParseError(_("The JSON is too deep.")) from error


class OnlyJson(BaseContentNegotiation):
    """JSON, whatever is asked for."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """By the content type."""
        return DefaultContentNegotiation().select_parser(request, parsers)

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        """The only one."""
        only = next(iter(renderers))
        return only, only.media_type


_CURSOR = re.compile("[A-Za-z0-9+/]*={0,2}")  # of base64


class Pages(CursorPagination):
    """Lists by cursor: what is added or removed meanwhile neither repeats nor hides a row. Newest first."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 500
    ordering = "-id"

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """As OpenAPI 3.1 has it."""
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


class Endpoint(APIView):
    """One address of the API."""

    authentication_classes = [BearerToken]
    permission_classes = [HasScope]
    throttle_classes = [PerToken]
    content_negotiation_class = OnlyJson
    renderer_classes = [JSONRenderer]
    parser_classes = [Json]
    pagination_class: ClassVar[type[Pages] | None] = None
    filterset_class: ClassVar[Any] = None

    def get_exception_handler(self) -> Callable[..., Response]:
        """Problems for everything."""
        return answer_exception

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what is too large before it is read."""
        length = request.META.get("CONTENT_LENGTH") or "0"
        takes_files = any(parser.media_type == "multipart/form-data" for parser in self.parser_classes)
        most = settings.UPLOAD_MEGABYTES * (1 << 20) + FORM_BYTES if takes_files else MOST_BYTES
        super().initial(request, *args, **kwargs)
        if int(length) > most:
            text = _("What you sent is larger than %(megabytes)s MB.") % {"megabytes": most >> 20}
            raise TooLarge(text)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Tag what is read, and leave it out where the client has it."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if request.method == "GET" and response.status_code == 200:
            if isinstance(response, Response):
                response["ETag"] = tag_of(response.data)
            if response.get("ETag") in _tags(request.headers.get("If-None-Match", "")):  # files have theirs
                if stream := getattr(response, "file_to_stream", None):
                    stream.close()
                unchanged = Response(status=304, headers={"ETag": response["ETag"]})
                return super().finalize_response(request, unchanged, *args, **kwargs)
        return response

    @property
    def right(self) -> Right:
        """What the operation that runs needs."""
        right: Right = getattr(self, str(self.request.method).lower()).right
        return right

    def campaign(self, key: int) -> Campaign:
        """The campaign, for what needs this operation's right. Raises NotYours and NotAllowed."""
        return pool_selectors.campaign_for(user_of(self.request), key, self.right)

    def collection(self, key: int) -> Collection:
        """The collection, likewise."""
        return pool_selectors.collection_for(user_of(self.request), key, self.right)

    def lab(self, key: int) -> Lab:
        """The lab, likewise."""
        lab = labs_of(user_of(self.request)).filter(pk=key).first()
        if lab is None:
            raise NotYours(_("There is no such lab, or you are not a member of it."))
        require(user_of(self.request), lab, self.right)
        return lab

    def page_of(
        self,
        rows: Any,
        shape: type[BaseSerializer[Any]],
        made: Callable[[list[Any]], list[Any]] = list,
        **context: Any,
    ) -> Response:
        """A page of rows, filtered as the address says. `made` turns the rows of the page into what is shown."""
        if self.filterset_class is not None:
            narrowed = self.filterset_class(self.request.query_params, queryset=rows, request=self.request)
            if not narrowed.is_valid():
                raise exceptions.ValidationError(narrowed.errors)
            rows = narrowed.qs
        assert self.pagination_class is not None
        pages = self.pagination_class()
        page: list[Any] | None = pages.paginate_queryset(rows, self.request, view=self)
        return pages.get_paginated_response(shape(made(list(page or [])), many=True, context=context).data)


def token_of(request: Request) -> Token:
    """The token that it was sent with."""
    token: object = request.auth
    assert isinstance(token, Token)
    return token


def user_of(request: Request) -> User:
    """Whose token it is."""
    assert isinstance(request.user, User)
    return request.user


def may_spend_too(request: Request, lab: Lab) -> None:
    """For a decision about money, which needs the right to spend besides. Raises PermissionDenied without it."""
    require(user_of(request), lab, Right.SPEND)
    if Scope.SPEND not in token_of(request).scopes:
        raise exceptions.PermissionDenied(_("This token lacks the scope “%(scope)s”.") % {"scope": Scope.SPEND})


def tag_of(content: Any) -> str:
    """The entity tag of what is shown."""
    return f'"{hashlib.sha256(JSONRenderer().render(content)).hexdigest()[:32]}"'


def _tags(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}


def _match(endpoint: Endpoint, request: Request, do: Callable[[], Response], *args: Any, **kwargs: Any) -> Response:
    """Do it if the thing still is what If-Match says, and let nobody with the same header come in between."""
    header = request.headers.get("If-Match")
    if header is None:
        return do()
    if not hasattr(endpoint, "get"):
        raise exceptions.ValidationError(
            {"If-Match": [_("This address has nothing to read, so nothing to compare: leave it out.")]}
        )
    with transaction.atomic():
        answers.hold(f"change {request.path}")
        if header.strip() != "*" and tag_of(endpoint.get(request, *args, **kwargs).data) not in _tags(header):
            raise Changed(_("This has changed since you read it. Read it again, then decide."))
        return do()


def operation(
    name: str,
    *,
    answer: Any = None,
    status: int = 200,
    takes: Any = None,
    right: Right = Right.SEE,
    media: str = "",
    parameters: Sequence[OpenApiParameter] = (),
    refuses: bool = False,
    of_oneself: bool = False,
    **described: Any,
) -> Callable[[Method], Method]:
    """A method of an endpoint: its id in OpenAPI, what it takes and answers, and the right that it needs in the lab.

    Everything but reading may carry an idempotency key; what changes or deletes a thing may carry If-Match. A `why` in
    what is sent goes into the audit; what takes nothing else takes that. `media`: of a file that it answers with.
    `refuses`: whether reading, too, may be a conflict. `of_oneself`: it is about the token's owner, and needs no role.
    """

    def decorate(method: Method) -> Method:
        verb = method.__name__.upper()
        shape = Why if takes is None and verb == "POST" else takes
        codes = sorted({*_problem_codes(verb), *([409] if refuses else [])})
        problems: dict[Any, Any] = {(code, "application/problem+json"): Problem for code in codes}
        unchanged = {304: None} if verb == "GET" else {}

        @functools.wraps(method)
        def run(self: Endpoint, request: Request, *args: Any, **kwargs: Any) -> Any:
            if verb == "GET":
                _check_parameters(self, request, {parameter.name for parameter in parameters})
                return method(self, request, *args, **kwargs)

            def do() -> Response:
                if shape is Why:
                    checked(Why, request)
                return method(self, request, *args, **kwargs)  # type: ignore[no-any-return]

            with because(_why_of(request)):
                return answers.do_once(request, lambda: _match(self, request, do, *args, **kwargs))

        run.right = right  # type: ignore[attr-defined]
        doc = " ".join((method.__doc__ or "").split())
        decorated: Method = extend_schema(
            operation_id=name,
            description=f"{doc}\n\nScope: `{SCOPES[right]}`. {_who_may(right, of_oneself)}",
            summary=doc.partition(". ")[0].rstrip("."),
            request=shape,
            parameters=list(parameters),
            responses={(status, media) if media else status: answer, **unchanged, **problems},
            **described,
        )(run)
        return decorated

    return decorate


def _check_parameters(endpoint: Endpoint, request: Request, known: set[str]) -> None:
    """Refuse what the address does not know: a filter with a slip of the pen would else leave everything."""
    if endpoint.pagination_class is not None:
        known = known | {Pages.cursor_query_param, Pages.page_size_query_param}
    if endpoint.filterset_class is not None:
        known = known | set(endpoint.filterset_class.base_filters)
    if unknown := sorted(set(request.query_params) - known):
        raise exceptions.ValidationError({name: [_("There is no such parameter.")] for name in unknown})


def _why_of(request: Request) -> str:
    """The reason that was sent; none where it is no text, which its shape refuses."""
    why = request.data.get("why") if isinstance(request.data, Mapping) else None
    return why if isinstance(why, str) else ""


def _who_may(right: Right, of_oneself: bool) -> str:
    if of_oneself:
        return "Needs no role in a lab."
    return "Only for admins of the site." if right == Right.SITE else f"Right in the lab: {right}."


def _problem_codes(verb: str) -> list[int]:
    codes = [400, 401, 403, 404, 429, 500, 503]
    if verb != "GET":
        codes += [409, 412, 413, 415, 422]
    return sorted(codes)


def checked(shape: type[Serializer[Any]], request: Request, **context: Any) -> Mapping[str, Any]:
    """What was sent, as the shape reads it. Fields that it does not know are mistakes, not wishes to be ignored."""
    sent = shape(data=request.data, context={"request": request, **context})
    sent.is_valid(raise_exception=True)
    names = set(request.data) if isinstance(request.data, Mapping) else set()
    if unknown := sorted(names - set(sent.fields)):
        raise exceptions.ValidationError({name: [_("There is no such field.")] for name in unknown})
    values: Mapping[str, Any] = sent.validated_data
    return values
