"""Signature Version 4: who sends a request, and that nobody changed it. botocore's own canonical form is compared.

The signed time is compared with the machine's clock, which clients know, and not with the marketplace's, which tests
may move.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from marketplace.api.errors import ApiError
from marketplace.models import AccessKey
from marketplace.services.keys import key_secret

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "mturk-requester"
REGION = "us-east-1"
SKEW = timedelta(minutes=5)
MUST_BE_SIGNED = ("host", "x-amz-date", "x-amz-target")
_TIME = "%Y%m%dT%H%M%SZ"
_AUTHORIZATION = re.compile(
    ALGORITHM
    + r"\s+Credential=(?P<key>[A-Za-z0-9]{1,128})/(?P<date>\d{8})/(?P<region>[a-z0-9-]+)/(?P<service>[a-z0-9-]+)"
    r"/aws4_request,\s*SignedHeaders=(?P<headers>[a-z0-9;-]{1,2000}),\s*Signature=(?P<signature>[0-9a-f]{64})"
)


class Received(NamedTuple):
    """A request as it came in. Names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


def signer(request: Received, *, now: datetime | None = None) -> AccessKey:
    """The access key that signed a request, in force, with its requester loaded. Raises ApiError as AWS does."""
    header = request.headers.get("authorization", "")
    if not header:
        raise ApiError("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    credential = _AUTHORIZATION.fullmatch(header.strip())
    if credential is None:
        raise ApiError(
            "IncompleteSignatureException", "The Authorization header is not a complete AWS4-HMAC-SHA256 one."
        )
    _check_scope(credential["region"], credential["service"])
    _check_time(request.headers.get("x-amz-date", ""), credential["date"], now or datetime.now(UTC))
    signed = credential["headers"].split(";")
    _check_signed_headers(request, signed)
    key = AccessKey.objects.select_related("requester").filter(key_id=credential["key"], revoked_at=None).first()
    # An unknown key is compared too, so that the time taken does not tell which keys exist.
    expected = _signature(request, signed, Credentials(credential["key"], key_secret(key)))
    matches = hmac.compare_digest(expected, credential["signature"])
    if key is None or "x-amz-security-token" in request.headers:
        raise ApiError("UnrecognizedClientException", "The security token included in the request is invalid.")
    if not matches:
        raise ApiError(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. "
            "Check your AWS Secret Access Key and signing method.",
        )
    if not key.requester.is_active:
        raise ApiError("AccessDeniedException", "This requester's account is not active.")
    return key


def _check_scope(region: str, service: str) -> None:
    for name, value, expected in (("region", region, REGION), ("service", service, SERVICE)):
        if value != expected:
            raise ApiError("InvalidSignatureException", f"Credential should be scoped to the {name} '{expected}'.")


def _check_time(stamp: str, date: str, now: datetime) -> None:
    try:
        signed_at = datetime.strptime(stamp, _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise ApiError(
            "IncompleteSignatureException", "The request needs a header X-Amz-Date such as 20260131T235959Z."
        ) from None
    if stamp[:8] != date:
        raise ApiError("InvalidSignatureException", "Date in Credential scope does not match X-Amz-Date.")
    minutes = int(SKEW.total_seconds() // 60)
    if signed_at < now - SKEW:
        bound = (now - SKEW).strftime(_TIME)
        raise ApiError(
            "InvalidSignatureException",
            f"Signature expired: {stamp} is now earlier than {bound} ({now.strftime(_TIME)} - {minutes} min.)",
        )
    if signed_at > now + SKEW:
        bound = (now + SKEW).strftime(_TIME)
        raise ApiError(
            "InvalidSignatureException",
            f"Signature not yet current: {stamp} is still later than {bound} ({now.strftime(_TIME)} + {minutes} min.)",
        )


def _check_signed_headers(request: Received, signed: list[str]) -> None:
    unsigned = {name for name in request.headers if name.startswith("x-amz-")} | set(MUST_BE_SIGNED)
    unsigned -= set(signed)
    if unsigned:
        raise ApiError("InvalidSignatureException", f"These headers must be signed: {', '.join(sorted(unsigned))}.")
    for name in signed:
        if name not in request.headers:
            raise ApiError("InvalidSignatureException", f"'{name}' is named as a signed header, and was not sent.")
    digest = request.headers.get("x-amz-content-sha256")
    if digest is not None and not hmac.compare_digest(
        digest.encode(), hashlib.sha256(request.body).hexdigest().encode()
    ):
        raise ApiError("InvalidSignatureException", "X-Amz-Content-SHA256 is not the SHA-256 of the body.")


def _signature(request: Received, signed: list[str], credentials: Credentials) -> str:
    """What botocore would sign this request with, had it been given this key."""
    auth = SigV4Auth(credentials, SERVICE, REGION)
    headers = {name: request.headers[name] for name in signed}
    canonical = AWSRequest(method=request.method, url=request.url, headers=headers, data=request.body)
    canonical.context["timestamp"] = request.headers["x-amz-date"]
    # The digest is of the bytes that came, whatever the address: botocore may leave it out over https.
    canonical.context["payload_signing_enabled"] = True
    text = auth.string_to_sign(canonical, auth.canonical_request(canonical))
    return str(auth.signature(text, canonical))
