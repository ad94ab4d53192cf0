"""What only production mode does: https everywhere, cookies that stay on it, slow hashes."""

import os
import subprocess
import sys
from http.cookiejar import Cookie

import httpx

from tests.marketplace.conftest import refusing
from tests.marketplace.production import HOST, OPERATOR, PASSWORD, Production
from tests.marketplace.server import EXTERNAL_QUESTION, HTML_QUESTION, REPOSITORY, cookie_of, hit_type_facts


def cookies_of(client: httpx.Client) -> dict[str, Cookie]:
    """A visitor's cookies by name."""
    return {cookie.name: cookie for cookie in client.cookies.jar}


def test_http_is_sent_on_to_https_and_gets_no_cookie(production: Production) -> None:
    visitor = production.visitor()

    answer = visitor.get(f"http://{HOST}/login?next=/tasks")

    assert (answer.status_code, answer.headers["Location"]) == (301, f"https://{HOST}/login?next=/tasks")
    assert "Set-Cookie" not in answer.headers


def test_browsers_are_told_to_stay_on_https(production: Production) -> None:
    answer = production.visitor().get("/login")

    assert int(answer.headers["Strict-Transport-Security"].partition("max-age=")[2].split(";")[0]) >= 31_536_000


def test_the_health_check_needs_no_https(production: Production) -> None:
    assert production.visitor().get(f"http://{HOST}/healthz").status_code == 200


def test_a_host_that_is_not_ours_gets_no_page(production: Production) -> None:
    answer = production.visitor().get("/login", headers={"Host": "elsewhere.example.org"})

    assert answer.status_code == 400


def test_cookies_are_kept_from_http_and_from_scripts(production: Production) -> None:
    olga = production.person()

    assert olga.log_in(OPERATOR).status_code == 302

    cookies = cookies_of(olga.http)
    assert cookies[cookie_of(olga.http, "csrf")[0]].secure
    session = cookies[cookie_of(olga.http, "session")[0]]
    assert session.secure and session.has_nonstandard_attr("HttpOnly")
    assert olga.get("/operator/").status_code == 200
    assert olga.http.get(f"http://{HOST}/operator/").status_code == 301


def test_a_form_from_another_site_is_refused(production: Production) -> None:
    olga = production.person()
    olga.get("/login")
    token = cookie_of(olga.http, "csrf")[1]
    form = {"username": OPERATOR, "password": PASSWORD}

    answer = olga.http.post(
        "/login", data=form, headers={"X-CSRFToken": token, "Origin": "https://elsewhere.example.org"}
    )

    assert answer.status_code == 403
    assert cookie_of(olga.http, "session") == ("", "")


def test_passwords_are_hashed_slowly(production: Production) -> None:
    worker = production.registered()

    ((stored,),) = production.sql("SELECT password FROM marketplace_account WHERE email = %s", worker.email)

    algorithm, work, *_ = str(stored).split("$")
    assert algorithm == "pbkdf2_sha256"
    assert int(work) >= 600_000
    assert production.person().log_in(worker.email).status_code == 302
    assert production.person().log_in(worker.email, "wrong horse battery").status_code == 200


def settings_with(**environment: str) -> subprocess.CompletedProcess[str]:
    """What happens when the settings are loaded outside of development."""
    base = {
        name: value for name, value in os.environ.items() if not name.startswith(("MARKETPLACE", "DEVELOP", "DJANGO"))
    }
    secure = {
        "DJANGO_SETTINGS_MODULE": "marketplace.settings",
        "MARKETPLACE_SECRET_KEY": "kZ7-qW2_xV9.bN4+hT6=mR1~" * 3,
        "MARKETPLACE_URL": "https://work.example.org",
    }
    return subprocess.run(
        [sys.executable, "-m", "marketplace", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=REPOSITORY,
        env=base | secure | environment,
        capture_output=True,
        text=True,
    )


def test_production_is_secure_or_does_not_start() -> None:
    secure = settings_with()
    assert secure.returncode == 0, secure.stderr
    assert "MARKETPLACE_SECRET_KEY" in settings_with(MARKETPLACE_SECRET_KEY="").stderr
    assert "https://" in settings_with(MARKETPLACE_URL="http://work.example.org").stderr


def test_a_question_on_an_insecure_page_is_refused(production: Production) -> None:
    client = production.requester_client()
    insecure = EXTERNAL_QUESTION.replace("https://example.org", "http://example.org")

    with refusing("XMLParseError", "https://"):
        client.create_hit(LifetimeInSeconds=60, Question=insecure, **hit_type_facts())

    assert client.list_hits()["NumResults"] == 0
    client.create_hit(LifetimeInSeconds=60, Question=EXTERNAL_QUESTION, **hit_type_facts())


def test_the_api_takes_signatures_for_its_public_address(production: Production) -> None:
    client = production.requester_client("7.50")
    assert client.get_account_balance()["AvailableBalance"] == "7.50"

    with refusing("UnrecognizedClientException"):
        production.client("MKPNOBODY", "no secret").get_account_balance()


def test_an_id_that_was_given_back_is_not_given_to_somebody_else(production: Production) -> None:
    client = production.requester_client()
    hit_id = client.create_hit(LifetimeInSeconds=600, Question=HTML_QUESTION, **hit_type_facts())["HIT"]["HITId"]
    wanda, will = production.registered(), production.registered()
    first = wanda.accept(hit_id)
    assert wanda.post(f"/work/{first}/return").status_code == 303

    second = will.accept(hit_id)

    assert second != first
    late = wanda.http.post("/mturk/externalSubmit", data={"assignmentId": first, "answer": "left"})
    assert late.status_code == 409
    assert will.get(f"/work/{second}/state").json()["state"] == "Accepted"
