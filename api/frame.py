"""What every address of the API has: a token and its scope, limits, tags of its content, problems, a description.

A resource is a viewset; `operation` says what each of its methods takes, answers and needs, to programs and in OpenAPI.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

from django.conf import settings
from django.db import transaction
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import exceptions
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import FileField, ListSerializer, Serializer
from rest_framework.viewsets import GenericViewSet

from api import answers
from api.access import Json, Pages, token_of
from api.models import Scope, Token
from api.problems import Changed, TooLarge
from api.shapes import Why
from core.audit.origin import because
from core.errors import NotYours, Refused
from core.models import Lab, User
from core.roles import Right, labs_of, require
from pools import selectors as pool_selectors
from pools.models import Campaign
from runs import selectors as run_selectors
from runs.models import Collection

MOST_BYTES = 1 << 20  # of a request without files
FORM_BYTES = 1 << 20  # what the other fields of an upload may add to its files
FILE = OpenApiResponse(OpenApiTypes.BINARY, description="The file.")
Method = Callable[..., Any]


class Resource(GenericViewSet[Any]):
    """Something that the API reads and changes: a viewset with what all of them have.

    What is read has an entity tag; If-None-Match leaves out what the client has, If-Match guards a change.
    """

    filterset_class: ClassVar[Any] = None
    lookup_value_converter = "int"
    tags: ClassVar[list[str]] = []
    operation: "Operation"  # that runs: reading, too, where If-Match compares

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what is too large before it is read."""
        length = request.META.get("CONTENT_LENGTH") or "0"
        most = settings.UPLOAD_MEGABYTES * (1 << 20) + FORM_BYTES if self._takes_files() else MOST_BYTES
        super().initial(request, *args, **kwargs)
        if int(length) > most:
            text = _("What you sent is larger than %(megabytes)s MB.") % {"megabytes": most >> 20}
            raise TooLarge(text)

    def requested_operation(self) -> "Operation | None":
        """What the request's method is, at this address."""
        method = getattr(self, str(self.request.method).lower(), None) if self.request else None  # none to describe it
        return getattr(method, "operation", None)

    def get_parsers(self) -> list[BaseParser]:
        """A form where there are files to be sent, else JSON."""
        return [MultiPartParser() if self._takes_files() else Json()]

    def _takes_files(self) -> bool:
        requested = self.requested_operation()
        return requested is not None and requested.takes_files

    @property
    def right(self) -> Right:
        """What is needed in the lab."""
        requested = self.requested_operation()
        return requested.right if requested else Right.SEE

    @property
    def user(self) -> User:
        assert isinstance(self.request.user, User)
        return self.request.user

    @property
    def token(self) -> Token:
        return token_of(self.request)

    @property
    def signed(self) -> dict[str, Any]:
        """Who does it, and when, as services take it."""
        return {"by": self.user, "at": timezone.now()}

    @property
    def sent(self) -> dict[str, Any]:
        """What was sent, as the operation takes it. Raises ValidationError."""
        return checked(self.operation.takes, self.request)

    @property
    def query(self) -> dict[str, Any]:
        """What the address asks for after its `?`, as the operation reads it. Raises ValidationError."""
        asks = self.operation.asks(data=self.request.query_params.dict())
        asks.is_valid(raise_exception=True)
        return dict(asks.validated_data)

    def get_campaign(self, key: int) -> Campaign:
        """The campaign, for what needs this operation's right. Raises NotYours and NotAllowed."""
        return pool_selectors.campaign_for(self.user, key, self.right)

    def get_collection(self, key: int) -> Collection:
        """The collection, likewise."""
        return run_selectors.collection_for(self.user, key, self.right)

    @cached_property
    def lab(self) -> Lab:
        """The lab of the address, likewise."""
        lab = labs_of(self.user).filter(pk=self.kwargs["pk"]).first()
        if lab is None:
            raise NotYours(_("There is no such lab, or you are not a member of it."))
        require(self.user, lab, self.right)
        return lab

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign of the address, likewise."""
        return self.get_campaign(self.kwargs["pk"])

    @cached_property
    def collection(self) -> Collection:
        """The collection of the address, likewise."""
        return self.get_collection(self.kwargs["pk"])

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Tag what is read, and leave it out where the client has it."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        if request.method == "GET" and response.status_code in (200, 302):  # or where a bucket has it
            if isinstance(response, Response):
                response["ETag"] = tag_of(response.data)
            if response.get("ETag") in _tags(request.headers.get("If-None-Match", "")):  # files have theirs
                if stream := getattr(response, "file_to_stream", None):
                    stream.close()
                unchanged = Response(status=304, headers={"ETag": response["ETag"]})
                return super().finalize_response(request, unchanged, *args, **kwargs)
        return response

    def match(self, do: Callable[[], Response]) -> Response:
        """Do it if the thing still is what If-Match says, and let nobody with the same header come in between."""
        header = self.request.headers.get("If-Match")
        if header is None:
            return do()
        if not hasattr(self, "get"):
            raise exceptions.ValidationError(
                {"If-Match": [_("This address has nothing to read, so nothing to compare: leave it out.")]}
            )
        with transaction.atomic():
            answers.hold(f"change {self.request.path}")
            before = set(vars(self))
            if header.strip() != "*" and tag_of(self.get(self.request, **self.kwargs).data) not in _tags(header):
                raise Changed(_("This has changed since you read it. Read it again, then decide."))
            for name in set(vars(self)) - before:  # what was read to compare is read again to be changed
                delattr(self, name)
            return do()

    def get_object(self) -> Any:
        """The thing of the address, of those that the resource has. Raises Http404."""
        key = self.kwargs[self.lookup_url_kwarg or self.lookup_field]
        return get_object_or_404(self.get_queryset(), **{self.lookup_field: key})

    def require_spending(self, lab: Lab) -> None:
        """For a decision about money, which needs the right to spend besides. Raises PermissionDenied without it."""
        require(self.user, lab, Right.SPEND)
        if Scope.SPEND not in self.token.scopes:
            raise exceptions.PermissionDenied(_("This token lacks the scope “%(scope)s”.") % {"scope": Scope.SPEND})

    def page_of(self, rows: Any, shapes_of: Callable[[list[Any]], list[Any]] = list, **context: Any) -> Response:
        """A page of rows, filtered as the address says. `shapes_of` turns the rows of the page into what is shown."""
        page: list[Any] = list(self.paginate_queryset(self.filter_queryset(rows)) or [])
        return self.get_paginated_response(self.operation.show(shapes_of(page), view=self, **context))

    def answer(self, content: Any, **context: Any) -> Any:
        """What a method returns, as a response: as it is, or as the operation's answer shows it."""
        if isinstance(content, HttpResponseBase):
            return content
        if self.operation.is_list and self.request.method in ("GET", "HEAD") and self.pagination_class is not None:
            return self.page_of(content, **context)
        return Response(self.operation.show(content, view=self, **context), status=self.operation.status)

    def answer_once(self, content: Any, hidden: dict[str, Any], **context: Any) -> Response:
        """The answer with what is shown this once. What is stored for an idempotency key has `hidden` instead."""
        response: Response = self.answer(content, **context)
        response.kept = response.data | hidden  # type: ignore[attr-defined]  # what api.answers stores
        return response


@contextmanager
def refusals_of(name: str, kind: type[Exception] = Refused) -> Iterator[None]:
    """Say of a field what a service refuses."""
    try:
        yield
    except kind as error:
        raise exceptions.ValidationError({name: [str(error)]}) from error


def tag_of(content: Any) -> str:
    """The entity tag of what is shown."""
    return f'"{hashlib.sha256(JSONRenderer().render(content)).hexdigest()[:32]}"'


def _tags(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}


@dataclass(frozen=True)
class Operation:
    """A method of a resource, which this decorates. It returns what `answer` shows, or a response.

    Everything but reading may carry an idempotency key; what changes or deletes a thing may carry If-Match. A `why` in
    what is sent goes into the audit; a POST that takes nothing else takes that.
    """

    answer: Any = None  # the shape; of several with many=True
    right: Right = Right.SEE  # in the lab
    _: KW_ONLY
    name: str = ""  # its id in OpenAPI; the method's if empty
    takes: Any = None  # the shape of what is sent
    asks: Any = None  # that of what may follow the address's “?”
    status: int = 0  # 200, 201 of create, or 204 without an answer
    media: str = ""  # of a file that it answers with
    refuses: bool = False  # whether reading, too, may be a conflict
    of_oneself: bool = False  # whether it is about the token's owner, and needs no role
    tags: list[str] | None = None  # other than the resource's

    def __call__(self, method: Method) -> Method:
        """The method, as the router calls it."""
        status = self.status or (204 if self.answer is None else 201 if method.__name__ == "create" else 200)
        operation = replace(self, name=self.name or method.__name__, status=status)

        @functools.wraps(method)
        def run(resource: Resource, request: Request, *args: Any, **kwargs: Any) -> Any:
            def do() -> Response:
                resource.operation = operation
                if self.takes is None and request.method == "POST":
                    checked(Why, request)
                return resource.answer(method(resource, request, *args, **kwargs))  # type: ignore[no-any-return]

            if resource.action_map.get("get") == method.__name__:
                resource.operation = operation
                if request.method in ("GET", "HEAD"):
                    _check_parameters(resource, request)
                return resource.answer(method(resource, request, *args, **kwargs))
            with because(_why_of(request)):
                return answers.do_once(request, lambda: resource.match(do))

        run.operation = operation  # type: ignore[attr-defined]
        return run

    @cached_property
    def takes_files(self) -> bool:
        """Whether it takes files, in a form."""
        return self.takes is not None and any(isinstance(field, FileField) for field in self.takes().fields.values())

    @property
    def is_list(self) -> bool:
        """Whether it answers with several."""
        return isinstance(self.answer, ListSerializer)

    def show(self, content: Any, **context: Any) -> Any:
        """What it answers with, as the shape shows it."""
        if self.answer is None:
            return None
        shape = type(self.answer.child) if self.is_list else self.answer
        return shape(content, many=self.is_list, context=context).data


operation = Operation


def _at(verb: str) -> Callable[..., Callable[[Method], Method]]:
    """A decorator for an operation with an address of its own, below the resource's: `@action` and `@operation` in one.

    It takes the address, or the operation at the same address with another verb; then what Operation takes; and
    `detail`, `filterset_class` and `pagination_class` as REST framework's `@action` does.
    """

    def at(path: "str | Method", *about: Any, detail: bool = True, **named: Any) -> Callable[[Method], Method]:
        extra = {name: named.pop(name) for name in ("filterset_class", "pagination_class") if name in named}

        def decorate(method: Method) -> Method:
            run = Operation(*about, **named)(method)
            if callable(path):
                return getattr(path.mapping, verb)(run)  # type: ignore[attr-defined, no-any-return]
            return action(methods=[verb], detail=detail, url_path=path, **extra)(run)  # type: ignore[list-item]

        return decorate

    return at


get, post, put, patch, delete = map(_at, ("get", "post", "put", "patch", "delete"))


def _check_parameters(resource: Resource, request: Request) -> None:
    """Refuse what the address does not know: a filter with a slip of the pen would else leave everything."""
    running = resource.operation
    names = set(running.asks().fields) if running.asks else set()
    if running.is_list and resource.pagination_class is not None:
        names |= {Pages.cursor_query_param, Pages.page_size_query_param}
        names |= set(resource.filterset_class.base_filters if resource.filterset_class else ())
    if unknown := sorted(set(request.query_params) - names):
        raise exceptions.ValidationError({name: [_("There is no such parameter.")] for name in unknown})


def _why_of(request: Request) -> str:
    """The reason that was sent; none where it is no text, which its shape refuses."""
    why = request.data.get("why") if isinstance(request.data, Mapping) else None
    return why if isinstance(why, str) else ""


def checked(shape: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """What was sent, as the shape reads it. Fields that it does not know are mistakes, not wishes to be ignored."""
    sent = shape(data=request.data, context={"request": request})
    sent.is_valid(raise_exception=True)
    names = set(request.data) if isinstance(request.data, Mapping) else set()
    if unknown := sorted(names - set(sent.fields)):
        raise exceptions.ValidationError({name: [_("There is no such field.")] for name in unknown})
    return dict(sent.validated_data)
