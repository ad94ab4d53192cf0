"""Errors as problem details (RFC 9457): what is wrong, with which field, as JSON of one shape for every status."""

import logging
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions, status
from rest_framework.response import Response

from core.errors import Refused
from core.outage import OUTAGES, RETRY_SECONDS
from evaluation.errors import BadInput

CONTENT_TYPE = "application/problem+json"
log = logging.getLogger(__name__)


class KeyUsedOtherwise(exceptions.APIException):
    """An idempotency key came with another request than before."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "key_used_otherwise"


class Changed(exceptions.APIException):
    """The thing is not what If-Match says any more."""

    status_code = status.HTTP_412_PRECONDITION_FAILED
    default_code = "changed"


class NotAskedFor(exceptions.APIException):
    """A background job could not be asked for, and nothing else would do it."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "outage"
    wait = RETRY_SECONDS


class TooLarge(exceptions.APIException):
    """More was sent than is read."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


def problem(
    status_code: int,
    detail: str,
    code: str,
    errors: list[dict[str, str]] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """One answer. `errors` name the fields: `field`, `pointer` into the JSON that was sent, `detail`, `code`."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status_code).phrase,
        "status": status_code,
        "detail": detail,
        "code": code,
    }
    if errors:
        content["errors"] = errors
    return Response(content, status=status_code, content_type=CONTENT_TYPE, headers=headers)


def answer_exception(error: Exception, context: dict[str, Any]) -> Response:
    """The problem that an exception is. What nobody foresaw is logged, and its answer gives nothing away."""
    if isinstance(error, exceptions.ValidationError):
        errors = list(_by_field(error.detail, ()))
        return problem(error.status_code, _in_one(errors), "invalid", errors)
    if isinstance(error, exceptions.APIException):
        headers = {}
        if scheme := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = scheme
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(int(wait) + 1)
        text = str(error.detail)
        if isinstance(error, exceptions.UnsupportedMediaType):
            expected = context["view"].get_parsers()[0].media_type
            text = _("%(sent)s was sent, and this address takes %(expected)s.") % {
                "sent": context["request"].content_type.partition(";")[0],
                "expected": expected,
            }
        return problem(error.status_code, text, error.default_code, headers=headers)
    if isinstance(error, Refused):
        code = "not_found" if error.status == status.HTTP_404_NOT_FOUND else "refused"
        return problem(error.status, str(error), code)
    if isinstance(error, BadInput):
        return problem(status.HTTP_400_BAD_REQUEST, str(error), "invalid")
    if isinstance(error, Http404):
        return problem(status.HTTP_404_NOT_FOUND, _("There is no such thing."), "not_found")
    if isinstance(error, PermissionDenied):
        return problem(status.HTTP_403_FORBIDDEN, str(error) or _("You may not do this."), "permission_denied")
    if isinstance(error, RequestDataTooBig):
        return problem(status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, _("The request is too long."), "too_large")
    if isinstance(error, SuspiciousOperation):
        return problem(status.HTTP_400_BAD_REQUEST, _("We could not understand that."), "parse_error")
    if isinstance(error, OUTAGES):
        log.error("%s: %s", context["request"].path, error)
        text = _("The site is waiting for its database, and nothing was changed. Please try again in a moment.")
        return problem(status.HTTP_503_SERVICE_UNAVAILABLE, text, "outage", headers={"Retry-After": str(RETRY_SECONDS)})
    log.error("%s", context["request"].path, exc_info=error)
    text = _("Something is broken here. It has been logged.")
    return problem(status.HTTP_500_INTERNAL_SERVER_ERROR, text, "error")


def _by_field(detail: Any, path: tuple[str, ...]) -> Iterator[dict[str, str]]:
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _by_field(inner, path if name == "non_field_errors" else (*path, str(name)))
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            nested = isinstance(inner, dict | list)
            yield from _by_field(inner, (*path, str(number)) if nested else path)
    else:
        row = {"detail": str(detail), "code": str(getattr(detail, "code", "invalid"))}
        if path:
            row |= {"field": path[0], "pointer": f"#/{'/'.join(path)}"}
        yield row


def _in_one(errors: list[dict[str, str]]) -> str:
    return " ".join(f"{_place(error)}: {error['detail']}" if "field" in error else error["detail"] for error in errors)


def _place(error: dict[str, str]) -> str:
    return error["pointer"].removeprefix("#/").replace("/", ".")
