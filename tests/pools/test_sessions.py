"""Logging in, staying logged in, and what a shared browser keeps."""

from datetime import timedelta

import pytest
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.models import User
from pools.models import Campaign

pytestmark = pytest.mark.usefixtures("limits")


def log_in(client: Client, password: str, address: str) -> int:
    """The status of one try."""
    return client.post(reverse("login"), {"username": "Rita", "password": password}, REMOTE_ADDR=address).status_code


def test_somebody_who_tries_passwords_does_not_lock_out_the_browser_that_knows_the_right_one(rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(username="Rita")
    rita_browser = Client()
    assert log_in(rita_browser, "rita", "192.0.2.1") == 302
    rita_browser.post(reverse("logout"))

    tries = [log_in(Client(), f"guess {number}", f"198.51.100.{number}") for number in range(30)]
    assert tries[:9] == [200] * 9  # the right one was the first of ten
    assert set(tries[9:]) == {429}
    assert log_in(Client(), "rita", "192.0.2.2") == 429  # a browser that never logged in as her waits
    assert log_in(rita_browser, "rita", "192.0.2.1") == 302


def test_a_known_browser_has_a_limit_too_and_is_known_for_one_name_alone(rita: User, ada: User) -> None:
    User.objects.filter(pk=rita.pk).update(username="Rita")
    browser = Client()
    assert browser.post(reverse("login"), {"username": "ada", "password": "ada"}).status_code == 302
    browser.post(reverse("logout"))
    cache.clear()
    tries = [log_in(browser, f"guess {number}", f"198.51.100.{number}") for number in range(12)]
    assert tries[-1] == 429
    cache.clear()
    assert log_in(browser, "rita", "192.0.2.1") == 302
    browser.post(reverse("logout"))
    cache.clear()
    tries = [log_in(browser, f"guess {number}", f"198.51.100.{number}") for number in range(12)]
    assert tries[-1] == 429


def test_a_session_ends_when_nobody_uses_it(rita: User) -> None:
    client = Client()
    client.force_login(rita)
    assert client.get("/leaderboards/").status_code == 200
    expires = Session.objects.get().expire_date
    assert expires - timezone.now() <= timedelta(hours=8)

    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/leaderboards/").status_code == 302


def test_using_the_site_keeps_the_session_without_writing_each_time(
    rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    client.force_login(rita)
    client.get("/leaderboards/")
    first = Session.objects.get().expire_date
    client.get("/leaderboards/")
    assert Session.objects.get().expire_date == first

    later = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    client.get("/leaderboards/")
    assert Session.objects.get().expire_date - first >= timedelta(minutes=59)


def test_a_session_ends_after_two_weeks_however_much_it_is_used(rita: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.force_login(rita)
    assert client.get("/leaderboards/").status_code == 200
    now = timezone.now
    for hours in range(7, 15 * 24, 7):
        monkeypatch.setattr("django.utils.timezone.now", lambda hours=hours: now() + timedelta(hours=hours))
        last = client.get("/leaderboards/").status_code
    assert last == 302


@pytest.mark.parametrize("password", ["short-one", "38291047561920"])
def test_a_weak_password_is_refused(db: None, password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password)


def test_nothing_of_a_researcher_stays_in_a_shared_browser(rita: User, campaign: Campaign) -> None:
    client = Client()
    client.force_login(rita)
    pages = ["/leaderboards/", f"/campaigns/{campaign.pk}/", "/runs/", f"/campaigns/{campaign.pk}/exports/pairs.tsv"]
    for path in (*pages, "/login/", "/nowhere/"):
        answer = client.get(path)
        assert "no-store" in answer.headers["Cache-Control"], path
        assert "private" in answer.headers["Cache-Control"], path
        policy = answer.headers["Permissions-Policy"]
        assert "camera=()" in policy
        assert "geolocation=()" in policy
