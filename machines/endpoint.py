"""An endpoint of OpenAI's protocol, asked which of two passages is better. Off unless MACHINE_API_URL is set."""

import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.utils.translation import gettext as _

CONNECT_SECONDS, READ_SECONDS = 5, 120
MOST_TOKENS = 16  # of an answer: one sign is asked for
MOST_BYTES = 1 << 20
_SIGN = re.compile(r"(?<![\w.])(1|2|=)(?!\w|\.\w)", re.ASCII)
_RETRIED = (408, 409, 425, 429)  # and whatever is the endpoint's own fault


class Reply(NamedTuple):
    """What was said: 1 or 2 for the passage shown first or second, = for neither, ! for no answer; its words, and how
    many tokens the endpoint counted.
    """

    sign: str
    words: str
    tokens: int


class EndpointTrouble(Exception):
    """It did not answer. `retried`: whether it may later. `is_sent`: whether the question may have reached it."""

    def __init__(self, text: str, *, retried: bool, is_sent: bool = True) -> None:
        super().__init__(text)
        self.retried, self.is_sent = retried, is_sent


def is_set_up() -> bool:
    """Whether this site may ask machines."""
    return bool(settings.MACHINE_API_URL)


def host() -> str:
    """Where texts are sent."""
    return urlsplit(str(settings.MACHINE_API_URL)).netloc.rpartition("@")[2]


class Endpoint:
    """One connection for many questions."""

    def __init__(self) -> None:
        headers = {"Authorization": f"Bearer {settings.MACHINE_API_TOKEN}"} if settings.MACHINE_API_TOKEN else {}
        self._client = httpx.Client(
            headers=headers, timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS), trust_env=False
        )

    def __enter__(self) -> "Endpoint":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._client.close()

    def ask(self, model: str, prompt: str) -> Reply:
        """Ask one question, once. Raises EndpointTrouble."""
        body = {
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
        }
        try:
            answer = self._client.post(f"{settings.MACHINE_API_URL}/chat/completions", json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            text = _("It cannot be reached (%(error)s).") % {"error": type(error).__name__}
            raise EndpointTrouble(text, retried=True, is_sent=False) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            text = _("It did not answer (%(error)s).") % {"error": type(error).__name__}
            raise EndpointTrouble(text, retried=True) from error
        if answer.status_code != 200:
            retried = answer.status_code in _RETRIED or answer.status_code >= 500
            raise EndpointTrouble(_refusal(answer), retried=retried)
        try:
            chat = answer.json()
            words = chat["choices"][0]["message"]["content"] or ""
            tokens = (chat.get("usage") or {}).get("total_tokens")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise EndpointTrouble(_("Its answer is not one of a chat."), retried=False) from error
        return Reply(read_reply(str(words)), str(words)[:200], tokens if isinstance(tokens, int) and tokens > 0 else 0)


def read_reply(words: str) -> str:
    """1, 2, = or !: the one sign that the words hold. Words with several, or without one, are no answer."""
    signs = set(_SIGN.findall(words))
    return signs.pop() if len(signs) == 1 else "!"


def _refusal(answer: httpx.Response) -> str:
    try:
        message: Any = answer.json()["error"]["message"]
    except (ValueError, LookupError, TypeError):
        message = ""
    message = str(message)[:300].strip().rstrip(".")
    if not message:
        return _("It answered %(status)d.") % {"status": answer.status_code}
    return _("It answered %(status)d: %(said)s.") % {"status": answer.status_code, "said": message}
