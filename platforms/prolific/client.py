"""The Prolific API over httpx: one attempt for each call that changes something, and what its errors mean.

Who calls again, and when, is decided in `platforms.outbox`. Only what changes nothing is asked for again here.
"""

import secrets
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Any

import httpx
from django.utils.translation import gettext as _

from core.money import CENT
from platforms.adapter import Trouble, WrongHost
from platforms.calls import Answer

CONNECT_SECONDS = 5
READ_SECONDS = 30
READ_TRIES = 6
LONGEST_PAUSE = 30.0  # seconds between two tries of a read, whatever the platform asks for
PAGE = 100
MOST_ROWS = 1000  # that are asked for at once; Prolific may give fewer
KEPT = ("id", "participant_id", "status", "study_code", "started_at", "completed_at")  # of each: some 600 bytes
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_ACCOUNT = (401, 403)
_FUNDS = ("insufficient", "not enough", "balance")  # what a refusal for want of money says; there is no code for it


class ProlificError(Exception):
    """What the API answered instead of what was asked for. `status` is 0 for an answer that cannot be understood."""

    def __init__(self, status: int, code: str, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status, self.code, self.retry_after = status, code, retry_after


class WrongState(ProlificError):
    """The thing is in a state in which this cannot be done now."""

    def __init__(self, text: str) -> None:
        super().__init__(409, "wrong_state", text)


ERRORS: tuple[type[Exception], ...] = (ProlificError, httpx.HTTPError, httpx.InvalidURL)


class Client:
    """Calls with one lab's token, which is nowhere but in the headers of its requests."""

    def __init__(
        self, *, url: str, token: str, read_seconds: float = READ_SECONDS, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = httpx.URL(url)
        self.sleep = sleep
        # what `platforms.prolific.adapter` keeps of the study that was listed last
        self.kept_rows: tuple[float, str, list[Answer]] | None = None
        self.kept_by_hit: tuple[list[Answer], dict[int, list[Answer]]] | None = None
        self._http = httpx.Client(
            headers={"Authorization": f"Token {token}", "Accept": "application/json"},
            timeout=httpx.Timeout(read_seconds, connect=CONNECT_SECONDS),
            verify=_certificates(),
            follow_redirects=False,  # the token goes to no other host
        )

    def get(self, path: str, parameters: Mapping[str, str | int] | None = None, *, once: bool = False) -> Answer:
        """What is at a path: asked for `once`, or again while it is slow, throttled or lost."""
        tries = 1 if once else READ_TRIES
        for attempt in range(tries):
            try:
                return self._object(self._send("GET", path, None, parameters or {}))
            except ERRORS as error:
                if trouble_of(error) not in (Trouble.UNKNOWN, Trouble.THROTTLED) or attempt == tries - 1:
                    raise
                pause = 0.05 * 2**attempt * (0.5 + secrets.randbelow(1000) / 1000)
                wait = error.retry_after if isinstance(error, ProlificError) else None
                self.sleep(min(LONGEST_PAUSE, max(pause, wait or 0.0)))
        raise AssertionError("unreachable")

    def listed(self, path: str, *, page_size: int = PAGE, **parameters: str | int) -> Iterator[Answer]:
        """Every row of a list, each once, page by page. A page past the end is the end; a size of pages that is
        refused is made smaller.
        """
        page, met = 1, set[str]()
        while True:
            try:
                answer = self.get(path, {**parameters, "page": page, "page_size": page_size})
            except ProlificError as error:
                if error.status == 404 and page > 1:
                    return
                if error.status == 400 and page == 1 and page_size > PAGE:
                    page_size = PAGE
                    continue
                raise
            for row in answer.get("results") or []:
                key = str(row.get("id", ""))
                if key and key in met:  # the list moved on while it was read
                    continue
                met.add(key)
                yield row
            following = ((answer.get("_links") or {}).get("next") or {}).get("href")
            if not following or not answer.get("results"):
                return
            page += 1

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """One attempt. The answer; empty where the platform says nothing but that it was taken."""
        return self._changed("POST", path, body)

    def post_for(self, path: str, body: Mapping[str, Any], *, header: str) -> tuple[Answer, str]:
        """One attempt. The answer, and what one of its headers says."""
        response = self._send("POST", path, body, {})
        return self._object(response), response.headers.get(header, "")

    def patch(self, path: str, body: Mapping[str, Any]) -> Answer:
        return self._changed("PATCH", path, body)

    def delete(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        return self._changed("DELETE", path, body)

    def _changed(self, method: str, path: str, body: Mapping[str, Any] | None) -> Answer:
        response = self._send(method, path, body, {})
        try:
            answer = response.json()
        except ValueError:
            return {}  # it was taken: the status says so
        return answer if isinstance(answer, dict) else {"said": answer}

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, parameters: Mapping[str, str | int]
    ) -> httpx.Response:
        address = self.url.copy_with(path=f"{self.url.path.rstrip('/')}/{path}")
        response = self._http.request(method, address, json=body, params=dict(parameters) or None)
        if not response.is_success:
            raise _error_of(response)
        return response

    def _object(self, response: httpx.Response) -> Answer:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            text = _("The answer to %(path)s is not a JSON object: “%(start)s”.")
            raise ProlificError(0, "not_json", text % {"path": response.url.path, "start": response.text[:100]})
        return answer


@cache
def _certificates() -> ssl.SSLContext:
    """Whom a connection trusts. Reading it takes longer than most calls, so each process does so once."""
    return httpx.create_ssl_context()


def assert_host(client: Client, url: str) -> None:
    """Raise WrongHost unless the client's requests go to this address. To be asked before money is spent."""
    expected = httpx.URL(url)
    if (client.url.scheme, client.url.netloc) != (expected.scheme, expected.netloc):
        raise WrongHost(str(client.url), "Prolific", url)


def _error_of(response: httpx.Response) -> ProlificError:
    """An error in the API's words: `400 validation_error: The study … (reward: too small)`."""
    try:
        answer = response.json()
    except ValueError:
        answer = {}
    error = answer.get("error") if isinstance(answer, dict) else None
    error = error if isinstance(error, dict) else {}
    detail = "; ".join(_details(error.get("detail"))) or response.text[:300]
    title = str(error.get("title") or "")
    text = f"{title}: {detail}" if title and detail and title != detail else title or detail
    code = str(error.get("error_code") or response.status_code)
    return ProlificError(response.status_code, code, text[:1000] or code, _pause_in(response))


def _details(detail: Any) -> list[str]:
    """The sentences of an error's detail: one, a list of them, or lists of them by field."""
    if isinstance(detail, dict):
        return [f"{field}: {' '.join(_details(value))}" for field, value in detail.items()]
    if isinstance(detail, list):
        return [sentence for value in detail for sentence in _details(value)]
    return [str(detail)] if detail else []


def _pause_in(response: httpx.Response) -> float | None:
    """The seconds of Retry-After; None without one, or where it is a date."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def trouble_of(error: Exception) -> Trouble:
    """What a failed call leaves to be done. Raises the error itself if it is none of the client's."""
    if isinstance(error, WrongState):
        return Trouble.STATE
    if isinstance(error, _NOT_SENT):
        return Trouble.THROTTLED  # nothing was sent: later
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return Trouble.REFUSED
    if isinstance(error, httpx.HTTPError):
        return Trouble.UNKNOWN
    if not isinstance(error, ProlificError):
        raise error
    if error.status == 429:
        return Trouble.THROTTLED
    if error.status in _ACCOUNT:
        return Trouble.ACCOUNT
    if error.status == 402 or (error.status == 400 and any(word in str(error).lower() for word in _FUNDS)):
        return Trouble.FUNDS
    is_refused = 400 <= error.status < 500 and error.status != 408
    return Trouble.REFUSED if is_refused else Trouble.UNKNOWN


def code_of(error: Exception) -> str:
    """The API's code of an error, or the exception's name."""
    return error.code if isinstance(error, ProlificError) else type(error).__name__


def submissions_of(client: Client, study: str, status: str = "", ordering: str = "") -> Iterator[Answer]:
    """A study's submissions, or those in a state, which has underscores where answers have spaces."""
    chosen = {"study": study} | ({"status": status} if status else {}) | ({"ordering": ordering} if ordering else {})
    for row in client.listed("submissions/", page_size=MOST_ROWS, **chosen):
        yield {name: row.get(name) for name in KEPT}


# --- amounts: cents nearly everywhere, decimals in bonuses


def cents(amount: Decimal) -> int:
    """An amount of the account's currency in cents."""
    return int((amount / CENT).to_integral_value(rounding=ROUND_HALF_UP))


def amount_of(value: Any) -> Decimal:
    """Cents as the API says them, as an amount. Raises KeyError for what is no number."""
    try:
        return (Decimal(str(value)) * CENT).quantize(CENT, rounding=ROUND_HALF_UP)
    except ArithmeticError:
        raise KeyError(value) from None
