"""While the database does not answer: a page with a sentence for people, and a line in the log."""

import logging
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from core.models import User
from core.outage import ShortOutages, answer_error


@pytest.fixture
def unreachable(transactional_db: None) -> Iterator[None]:
    """A database that refuses to be connected to, from now on."""
    connection.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patch.setitem(connection.settings_dict, "PORT", "1")
        patch.setitem(connection.settings_dict, "OPTIONS", {"connect_timeout": 2})
        yield
        connection.close()


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def test_a_page_says_that_it_waits_for_the_database(client: Client, rita: User, unreachable: None) -> None:
    client.cookies[settings.SESSION_COOKIE_NAME] = "somebody's"
    answer = client.get("/campaigns/")
    assert answer.status_code == 503
    assert "waiting for its database" in answer.content.decode()
    assert answer["Retry-After"] == "5"
    assert "no-store" in answer["Cache-Control"]
    assert "X-Frame-Options" not in answer and "frame-ancestors *" in answer["Content-Security-Policy"]

    answer = client.get("/campaigns/", headers={"accept": "application/json"})
    assert answer.status_code == 503
    assert "waiting for its database" in answer.json()["error"]


def test_the_log_gets_a_line_and_not_a_traceback(
    client: Client, unreachable: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(shortener := ShortOutages())
    caplog.handler.setFormatter(logging.Formatter("%(message)s"))
    client.cookies[settings.SESSION_COOKIE_NAME] = "somebody's"
    client.get("/campaigns/")
    caplog.handler.removeFilter(shortener)
    lines = [line for line in caplog.text.splitlines() if "/campaigns/" in line]
    assert len(lines) == 1 and "Connection refused" in lines[0]
    assert "Traceback" not in caplog.text


@pytest.mark.django_db
def test_a_statement_that_takes_too_long_is_said_to_have_changed_nothing() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 20")
        try:
            cursor.execute("SELECT pg_sleep(10)")
        except OperationalError:
            answer = answer_error(RequestFactory().get("/campaigns/"))
    assert answer.status_code == 503
    assert "took too long" in answer.content.decode()


@pytest.mark.django_db
def test_other_errors_are_still_500_with_their_traceback(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(*_arguments: object, **_named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("core.login.LimitedLogin.dispatch", break_down)
    assert client.get("/login/").status_code == 500
    assert "ZeroDivisionError" in caplog.text
