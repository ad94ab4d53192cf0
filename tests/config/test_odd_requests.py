"""Requests that no browser of ours sends: they are refused, never an error of the site."""

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from core.models import User
from pools.models import Campaign

UTF_16 = "application/x-www-form-urlencoded; charset=utf-16"
COOKIE = {settings.CSRF_COOKIE_NAME: "a" * 32}


@pytest.mark.parametrize("path", ["/login/", "/campaigns/", "/nowhere/", "/admin/login/"])
@pytest.mark.parametrize("logged_in", [False, True])
def test_a_form_in_another_encoding_is_a_bad_request(rita: User, path: str, logged_in: bool) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    if logged_in:
        client.force_login(rita)
    client.cookies.load(COOKIE)
    answer = client.post(path, "a=1", content_type=UTF_16)
    assert answer.status_code == (404 if path == "/nowhere/" else 400)
    assert ("Page not found" if path == "/nowhere/" else "We could not understand that") in answer.content.decode()


@pytest.mark.parametrize(
    "body", ["a=" + "x" * (3 << 20), "&".join(f"a{n}=1" for n in range(2000))], ids=["long", "many"]
)
@pytest.mark.parametrize("path", ["/login/", "/nowhere/"])
def test_a_form_that_is_too_long_is_a_bad_request(db: None, body: str, path: str) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    client.cookies.load(COOKIE)
    answer = client.post(path, body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == (404 if path == "/nowhere/" else 400)


def test_a_workers_form_in_another_encoding_is_a_bad_request(campaign: Campaign) -> None:
    client = Client(raise_request_exception=False)
    for path in (f"/c/{campaign.link}/consent/", f"/m/{campaign.link}/1/?assignmentId=A&workerId=B"):
        assert client.post(path, "a=1", content_type=UTF_16).status_code in (303, 400, 404)


# --- where a request comes from


@pytest.fixture(autouse=True)
def no_limits_left_over() -> None:
    """Each test begins with an empty count of requests."""
    cache.clear()


FORMS = [
    ("203.0.113.9", "203.0.113.9"),
    ("198.51.100.1, 203.0.113.9", "203.0.113.9"),
    ("198.51.100.1,203.0.113.9:51234", "203.0.113.9"),
    ("2001:db8::1", "2001:db8::1"),
    ("[2001:db8::1]:443", "2001:db8::1"),
    ("::ffff:203.0.113.9", "203.0.113.9"),
    ("fe80::1%eth0", "fe80::1"),
    ("unknown", "127.0.0.1"),
    ("", "127.0.0.1"),
    (",", "127.0.0.1"),
    ("203.0.113.9, unix:", "127.0.0.1"),
    (None, "127.0.0.1"),
]


@pytest.mark.parametrize(("header", "address"), FORMS)
def test_the_clients_address_is_read_from_whatever_a_proxy_says(
    campaign: Campaign, rita: User, settings: object, header: str | None, address: str
) -> None:
    from django.test import RequestFactory

    from core.addresses import client_address

    settings.CLIENT_ADDRESS_HEADER = "HTTP_X_FORWARDED_FOR"  # type: ignore[attr-defined]
    settings.RATELIMIT_ENABLE = True  # type: ignore[attr-defined]
    headers = {} if header is None else {"HTTP_X_FORWARDED_FOR": header}
    assert client_address(RequestFactory().get("/", **headers)) == address
    client = Client(**headers)
    assert client.post("/login/", {"username": "", "password": "wrong"}).status_code == 200
    assert client.post(f"/c/{campaign.link}/consent/").status_code == 303
    assert client.post(f"/m/{campaign.link}/1/?assignmentId=A&workerId=B").status_code == 404  # not published


def test_a_unix_sockets_clients_share_one_limit(campaign: Campaign, settings: object) -> None:
    settings.RATELIMIT_ENABLE = True  # type: ignore[attr-defined]
    assert Client(REMOTE_ADDR="").post("/login/", {"username": "x", "password": "y"}).status_code == 200
