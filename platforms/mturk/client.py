"""The Mechanical Turk API through boto3: a client that cannot reach the wrong host, and what its errors mean.

One attempt per call: who calls again, and when, is decided in `platforms.outbox`, which keeps the token.
"""

import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import boto3  # type: ignore[import-untyped]
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from botocore.exceptions import (  # type: ignore[import-untyped]
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
)
from botocore.httpsession import URLLib3Session  # type: ignore[import-untyped]
from botocore.utils import get_environ_proxies  # type: ignore[import-untyped]
from defusedxml import ElementTree
from django.conf import settings

from platforms.adapter import Trouble, WrongHost
from platforms.calls import Answer
from platforms.mturk.endpoints import Endpoint

REGION = "us-east-1"
CONNECT_SECONDS = 5
READ_SECONDS = 30
EXTERNAL = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
HTML = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
READ_TRIES = 6
PAGE = 100


def client_for(endpoint: Endpoint, *, read_seconds: int = READ_SECONDS) -> Any:
    """A client of the platform, with keys found the AWS way (environment, profile, role). It tries each call once.

    At the marketplace of `make run`, the key is the one that it keeps.
    """
    configuration = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        ignore_configured_endpoint_urls=True,
    )
    key = _own_key(endpoint)
    keys = {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]} if key else {}
    session = _session(_aws_environment())
    with _one_at_a_time:  # sessions are not safe for threads, clients are
        return session.client("mturk", endpoint_url=endpoint.url, region_name=REGION, config=configuration, **keys)


def _own_key(endpoint: Endpoint) -> tuple[str, str] | None:
    """The access key that the settings name for our own marketplace; None where AWS's own ways find one."""
    key: tuple[str, str] | None = settings.MARKETPLACE_KEY if endpoint.name == "marketplace" else None
    return key


def _aws_environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))


@lru_cache(maxsize=2)
def _session(_environment: tuple[tuple[str, str], ...]) -> Any:
    """Reading the service's model takes far longer than a call, so a session is kept as long as its keys are valid."""
    return boto3.session.Session()


_one_at_a_time = threading.Lock()


def signed_post(endpoint: Endpoint, path: str, target: str, body: Answer, seconds: int) -> Answer:
    """Post JSON to an address beside the platform's API, signed as the API's requests are. The JSON that comes back.

    Raises BotoCoreError or ClientError as a client does, and ValueError where the answer is not a JSON object.
    """
    own_key = _own_key(endpoint)
    session = _session(_aws_environment())
    credentials = Credentials(*own_key) if own_key else session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    address = f"{endpoint.url.rstrip('/')}{path}"
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": target}
    request = AWSRequest(method="POST", url=address, headers=headers, data=json.dumps(body))
    SigV4Auth(credentials.get_frozen_credentials(), "mturk-requester", REGION).add_auth(request)
    # whom the API's clients trust: AWS_CA_BUNDLE, or a profile's ca_bundle
    trusted = session._session.get_config_variable("ca_bundle") or True
    sender = URLLib3Session(trusted, get_environ_proxies(address), timeout=(CONNECT_SECONDS, seconds))
    answer = sender.send(request.prepare())
    try:
        content = json.loads(answer.content)
    except ValueError:
        content = {}
    if answer.status_code != 200:
        code = str(content.get("__type", "")) if isinstance(content, dict) else ""
        details = {"Code": code, "Message": str(content)[:500]}
        raise ClientError(
            {"Error": details, "ResponseMetadata": {"HTTPStatusCode": answer.status_code}}, target.rpartition(".")[2]
        )
    if not isinstance(content, dict):
        raise ValueError(content)
    return content


def assert_host(client: Any, endpoint: Endpoint) -> None:
    """Raise WrongHost unless the client's requests go to the platform's endpoint. To be asked before money is spent."""
    actual, expected = urlsplit(client.meta.endpoint_url), urlsplit(endpoint.url)
    if (actual.scheme, actual.netloc) != (expected.scheme, expected.netloc):
        raise WrongHost(client.meta.endpoint_url, endpoint.name, endpoint.url)


# --- errors


_ACCOUNT = {
    "AccessDeniedException",
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "UnrecognizedClientException",
}


def code_of(error: Exception) -> str:
    """The most telling code of an error: `HitAlreadyExists`, `ThrottlingException`, or the exception's name."""
    if not isinstance(error, ClientError):
        return type(error).__name__
    code = str(error.response.get("TurkErrorCode") or error.response.get("Error", {}).get("Code", ""))
    return code.rpartition(".")[2]


def trouble_of(error: Exception) -> Trouble:
    """What a failed call leaves to be done. Raises the error itself if it is none of the client's."""
    if isinstance(error, NoCredentialsError | PartialCredentialsError | ProfileNotFound):
        return Trouble.ACCOUNT
    if isinstance(error, ParamValidationError):
        return Trouble.REFUSED
    if isinstance(error, BotoCoreError):
        return Trouble.UNKNOWN
    if not isinstance(error, ClientError):
        raise error
    code = code_of(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if "Throttling" in code or code == "RequestLimitExceeded" or status == 429:
        return Trouble.THROTTLED
    if code in _ACCOUNT:
        return Trouble.ACCOUNT
    if code == "InsufficientFunds":
        return Trouble.FUNDS
    if code in ("HitAlreadyExists", "DuplicateRequest"):
        return Trouble.REPEATED
    if code.startswith("Invalid") and code.endswith("State"):
        return Trouble.STATE
    return Trouble.UNKNOWN if status >= 500 or not status else Trouble.REFUSED


def existing_hit(error: Exception) -> str:
    """The id in `The HIT with ID "3ABC…" already exists…`; empty if the message names none."""
    match = re.search(r'HIT with ID "?([A-Z0-9]{8,64})', str(error), re.IGNORECASE)
    return match.group(1) if match else ""


# --- reading: repeating is free


def read(call: Callable[..., Answer], **request: Any) -> Answer:
    """The answer of a call that changes nothing, asked for again while it is slow, throttled or lost."""
    for attempt in range(READ_TRIES):
        try:
            return call(**request)
        except (BotoCoreError, ClientError) as error:
            again = trouble_of(error) in (Trouble.UNKNOWN, Trouble.THROTTLED)
            if not again or attempt == READ_TRIES - 1:
                raise
            time.sleep(0.05 * 2**attempt * (0.5 + secrets.randbelow(1000) / 1000))
    raise AssertionError("unreachable")


def listed(call: Callable[..., Answer], key: str, **request: Any) -> Iterator[Answer]:
    """Every row of a list, page by page until there is no next one."""
    token: dict[str, str] = {}
    while True:
        page = read(call, MaxResults=PAGE, **request, **token)
        yield from page.get(key, [])
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}


# --- questions and answers


def external_question(address: str) -> str:
    """The ExternalQuestion that shows the page at this address, as high as fits."""
    return (
        f'<ExternalQuestion xmlns="{EXTERNAL}"><ExternalURL>{escape(address)}</ExternalURL>'
        "<FrameHeight>0</FrameHeight></ExternalQuestion>"
    )


def compensation_question(submit_host: str, text: str, button: str) -> str:
    """A page that says what the payment is for, with a button. Without scripts it cannot know its assignment."""
    script = "document.forms[0].assignmentId.value = new URLSearchParams(location.search).get('assignmentId') || '';"
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Compensation</title></head><body>'
        f'<form method="post" action="{escape(submit_host)}/mturk/externalSubmit">'
        '<input type="hidden" name="assignmentId"><input type="hidden" name="compensation" value="taken">'
        f"<p>{escape(text)}</p><button>{escape(button)}</button></form><script>{script}</script></body></html>"
    )
    return (
        f'<HTMLQuestion xmlns="{HTML}"><HTMLContent><![CDATA[{page}]]></HTMLContent>'
        "<FrameHeight>0</FrameHeight></HTMLQuestion>"
    )


def answers_of(document: str) -> dict[str, str]:
    """The fields of a QuestionFormAnswers document; none if it is not one."""
    try:
        root = ElementTree.fromstring(document, forbid_dtd=True)
    except (ElementTree.ParseError, ValueError):  # defusedxml's refusals are ValueErrors
        return {}
    return {
        answer.findtext("{*}QuestionIdentifier", ""): answer.findtext("{*}FreeText", "") or ""
        for answer in root.iterfind("{*}Answer")
    }


def as_json(answer: Answer) -> Any:
    """An answer as it can be stored: times as text, the transport's details reduced to the request's id."""
    fields = {name: value for name, value in answer.items() if name != "ResponseMetadata"}
    request_id = answer.get("ResponseMetadata", {}).get("RequestId")
    return json.loads(json.dumps(fields | ({"request_id": request_id} if request_id else {}), default=str))
