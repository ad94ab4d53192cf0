"""Logging in at an institution: the whole of OpenID Connect's code flow, with a small provider that really answers."""

import hashlib
import json
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa
from django.http import HttpResponse
from django.test import Client

from core.models import AuditEntry, User
from tests import factories

pytestmark = pytest.mark.django_db
OURS = {"client_id": "bestknown", "secret": "between us"}


class Provider(ThreadingHTTPServer):
    """A provider that knows one person, `claims`, and asks them for nothing."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.claims: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def allow(self, url: str) -> str:
        """What the person's browser does there: it comes with a question, and leaves with a code for it."""
        query = dict(parse_qsl(urlsplit(url).query))
        assert url.startswith(f"{self.address}/authorize?") and query["response_type"] == "code"
        assert {"openid", "email"} <= set(query["scope"].split()) and query["client_id"] == OURS["client_id"]
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return f"{urlsplit(query['redirect_uri']).path}?{urlencode({'code': code, 'state': query['state']})}"


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        at = self.server.address
        if self.path == "/.well-known/openid-configuration":
            names = ("authorization", "token", "userinfo")
            ends = {f"{name}_endpoint": f"{at}/{'authorize' if name == 'authorization' else name}" for name in names}
            self._say({"issuer": at, "jwks_uri": f"{at}/keys", **ends})
        elif self.path == "/userinfo" and self.headers["Authorization"] == "Bearer access":
            self._say(self.server.claims)
        else:
            self._say({"error": "invalid_request"}, 400)

    def do_POST(self) -> None:
        sent = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        grant = self.server.codes.pop(sent.get("code", ""), None)
        basic = b64encode(f"{OURS['client_id']}:{OURS['secret']}".encode()).decode()
        knows = sent.get("client_secret") == OURS["secret"] or self.headers["Authorization"] == f"Basic {basic}"
        challenge = urlsafe_b64encode(hashlib.sha256(sent.get("code_verifier", "").encode()).digest()).decode()
        if grant is None or not knows or grant["code_challenge"] != challenge.rstrip("="):
            self._say({"error": "invalid_grant"}, 400)
            return
        now = int(time.time())
        claims = self.server.claims | {
            "iss": self.server.address,
            "aud": OURS["client_id"],
            "iat": now,
            "exp": now + 60,
        }
        token = jwt.encode(claims, self.server.key, algorithm="RS256", headers={"kid": "1"})
        self._say({"access_token": "access", "token_type": "Bearer", "id_token": token})

    def _say(self, what: dict[str, Any], status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(what).encode())

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    """The institution, as the settings name it."""
    settings.RATELIMIT_ENABLE = False
    with Provider() as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        app = {
            "provider_id": "university",
            "name": "a university",
            **OURS,
            "settings": {"server_url": provider.address},
        }
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}
        yield provider
        provider.shutdown()


@pytest.fixture
def rita() -> User:
    """Somebody who joined by invitation, whose address is proven."""
    user = factories.user("rita", email="rita@example.edu")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def come(client: Client, provider: Provider, **claims: object) -> HttpResponse:
    """Log in at the institution, as this person, and come back."""
    provider.claims = {"sub": "248289761001", "name": "Rita", **claims}
    answer = client.post("/account/oidc/university/login/")
    back: HttpResponse = client.get(provider.allow(answer.headers["Location"]))
    return back


def is_in(client: Client) -> bool:
    """Whether the browser is logged in."""
    return client.get("/account/").status_code == 200


def test_whose_address_the_institution_confirms_is_logged_in_and_known_from_then_on(
    provider: Provider, rita: User, client: Client
) -> None:
    back = come(client, provider, email="rita@example.edu", email_verified=True)

    assert back.status_code == 302 and is_in(client)
    assert SocialAccount.objects.get().user == rita
    assert AuditEntry.objects.filter(subject="session", action="logged-in", actor_id=rita.pk).count() == 1
    entry = AuditEntry.objects.get(subject="socialaccount_socialaccount")
    assert (entry.thing, entry.changes["uid"]) == (str(rita.pk), None)

    again = Client()
    come(again, provider, email="rita.new@example.edu", email_verified=True)  # known by the institution's number now
    assert is_in(again) and again.get("/account/").context["user"] == rita


@pytest.mark.parametrize(
    "claims", [{"email": "stranger@example.edu", "email_verified": True}, {"email": "rita@example.edu"}, {}]
)
def test_nobody_else_gets_in_or_an_account(
    provider: Provider, rita: User, client: Client, claims: dict[str, object]
) -> None:
    come(client, provider, **claims)

    assert not is_in(client)
    assert list(User.objects.all()) == [rita] and not SocialAccount.objects.exists()


def test_an_answer_to_a_question_that_this_browser_did_not_ask_logs_nobody_in(
    provider: Provider, rita: User, client: Client
) -> None:
    provider.claims = {"sub": "1", "email": "rita@example.edu", "email_verified": True}
    attacker = Client()
    back = provider.allow(attacker.post("/account/oidc/university/login/").headers["Location"])

    refused = client.get(back)

    assert "institution" in refused.text and not is_in(client)
    assert len(provider.codes) == 1 and not SocialAccount.objects.exists()  # nobody asked what the code is worth


def test_a_second_factor_is_asked_for_after_the_institution(provider: Provider, rita: User, client: Client) -> None:
    rita.authenticator_set.create(type="totp", data={"secret": "JBSWY3DPEHPK3PXP"})

    back = come(client, provider, email="rita@example.edu", email_verified=True)

    assert "/factors/authenticate/" in back.headers["Location"] and not is_in(client)
