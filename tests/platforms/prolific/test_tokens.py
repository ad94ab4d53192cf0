"""The token that Prolific signs the address of a visit with, where a workspace has it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.test import Client as Browser

from core.models import User
from platforms.models import LabAccount, Publication
from platforms.money.lab_accounts import lab_account_store
from platforms.publishing.publications import publication_publish
from pools.models import Campaign
from tasks.models import Assignment
from tests.platforms.platforms import Clock, drain
from tests.platforms.prolific.test_work import visit
from tests.rows import fresh
from tests.simulation.prolific import Double, Place

Claims = dict[str, Any]
NOT_SIGNED = "Prolific did not sign this address for this visit"


@pytest.fixture(autouse=True)
def no_keys_yet() -> None:
    """Nothing is known of Prolific's keys."""
    cache.clear()


def claims_of(place: Place) -> Claims:
    """What the token of a visit claims."""
    claims: Claims = jwt.decode(token_of(place), options={"verify_signature": False})
    return claims


def token_of(place: Place) -> str:
    return parse_qs(urlsplit(place.url).query)["prolific_token"][0]


def with_token(place: Place, token: str | None) -> Place:
    """The same visit with another token, or without one."""
    parts = urlsplit(place.url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items() if name != "prolific_token"}
    query |= {} if token is None else {"prolific_token": token}
    return place._replace(url=parts._replace(query=urlencode(query)).geturl())


def task(address: str) -> str:
    """The task that an address is of, whenever it was signed."""
    assert address.startswith("/j/")
    return address.partition(":")[0]


def look(place: Place) -> tuple[int, str]:
    """Somebody opens the address and does nothing: the page's status and text."""
    parts = urlsplit(place.url)
    page = Browser().get(f"{parts.path}?{parts.query}")
    return page.status_code, page.content.decode()


def test_studies_have_signed_addresses_only_where_the_workspace_offers_them(
    campaign: Campaign, publication: Publication, account: LabAccount, prolific: Double, rita: User
) -> None:
    assert account.offers == ["signed addresses"]
    assert prolific.rows("study") == []  # the drafts that asked are deleted
    prolific.settings(features=[])
    fields = {"lab": campaign.lab, "platform": "prolific", "by": rita, "at": Clock()()}
    lab_account_store(token=prolific.token, workspace_id="", **fields)
    assert fresh(account).offers == []
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=campaign.name)
    drain(publication, clock)
    publication.refresh_from_db()
    place = prolific.take(publication.hit_type_id, prolific.participant("Pat"))
    assert "prolific_token" not in place.url and visit(place).startswith("/j/")
    assert NOT_SIGNED in look(with_token(place, "made.up.token"))[1]  # where one comes, it is checked


def test_a_signed_visit_begins_and_goes_on_and_its_token_opens_nothing_else(
    published: Publication, prolific: Double
) -> None:
    study = published.hit_type_id
    place = prolific.take(study, prolific.participant("Pat"))
    assert look(place)[0] == 200 and task(visit(place)) == task(visit(place))
    assert visit(with_token(place, None)) == "400 " + look(with_token(place, None))[1]
    other = prolific.take(study, prolific.participant("Sam"))
    assert NOT_SIGNED in visit(with_token(other, token_of(place)))  # replayed for somebody else
    assert Assignment.objects.count() == 1
    old = prolific.sign(claims_of(place) | {"exp": claims_of(place)["exp"] - 1000})
    assert task(visit(with_token(place, old))) == task(visit(place))  # a reloaded page goes on where it was
    assert Assignment.objects.count() == 1


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("issuer", lambda claims: claims | {"iss": "https://www.prolific.example"}),
        ("address", lambda claims: claims | {"aud": claims["aud"].replace("localhost", "elsewhere")}),
        ("study's address", lambda claims: claims | {"aud": claims["aud"].replace("/p/", "/p/other")}),
        ("scheme", lambda claims: claims | {"aud": claims["aud"].replace("http:", "ftp:")}),
        ("session", lambda claims: claims | {"sub": "f" * 24}),
        ("person", lambda claims: claims | {"prolific": claims["prolific"] | {"PROLIFIC_PID": "f" * 24}}),
        ("study", lambda claims: claims | {"prolific": claims["prolific"] | {"STUDY_ID": "f" * 24}}),
        ("workspace", lambda claims: claims | {"prolific": claims["prolific"] | {"workspace_id": "other"}}),
        ("parameters", lambda claims: {name: value for name, value in claims.items() if name != "prolific"}),
        ("end", lambda claims: {name: value for name, value in claims.items() if name != "exp"}),
        ("audience", lambda claims: claims | {"aud": ["http://[", 7]}),
    ],
)
def test_a_token_for_something_else_opens_nothing(
    what: str, change: Callable[[Claims], Claims], published: Publication, prolific: Double
) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    changed = prolific.sign(change(claims_of(place)))
    status, page = look(with_token(place, changed))
    assert (status, NOT_SIGNED in page) == (400, True), what
    assert NOT_SIGNED in visit(with_token(place, changed)) and not Assignment.objects.exists()


def test_a_token_is_good_for_two_minutes_and_reading_the_consent_may_take_longer(
    published: Publication, prolific: Double
) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    old = with_token(place, prolific.sign(claims_of(place) | {"exp": claims_of(place)["iat"] - 60}))
    assert "opened too long ago" in look(old)[1] and "opened too long ago" in visit(old)
    assert not Assignment.objects.exists()
    parts, browser = urlsplit(place.url), Browser()
    page = browser.get(f"{parts.path}?{parts.query}").content.decode()
    checked = page.split('name="checked" value="')[1].split('"')[0]
    later = urlsplit(old.url)
    post = {"version": 1, "checked": f"{checked}x"}
    assert browser.post(f"{later.path}?{later.query}", post).status_code == 400
    agreed = browser.post(f"{later.path}?{later.query}", post | {"checked": checked})
    assert agreed.headers["Location"].startswith("/j/") and Assignment.objects.count() == 1


def test_forged_tokens_open_nothing_and_do_not_make_us_ask_each_time(published: Publication, prolific: Double) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    assert look(place)[0] == 200
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims, kid = claims_of(place), jwt.get_unverified_header(token_of(place))["kid"]
    public = str(cache.get(next(name for name in [f"prolific keys {prolific.api}/"])))
    forged = [
        jwt.encode(claims, key, "RS256", headers={"kid": kid}),
        jwt.encode(claims, key, "RS256", headers={"kid": "unknown"}),
        jwt.encode(claims, key, "RS256"),
        jwt.encode(claims, public.ljust(64, "x"), "HS256", headers={"kid": kid}),
        jwt.encode(claims, None, "none", headers={"kid": kid}),
        token_of(place)[:-4] + "AAAA",
        "nonsense",
        "a.b.c",
        "é" * 40,
    ]
    for token in forged * 3:
        assert NOT_SIGNED in look(with_token(place, token))[1], token
    assert not Assignment.objects.exists()
    assert len(prolific.requests("jwks.json")) <= 2


def test_a_new_key_is_asked_for_and_an_old_one_is_forgotten(published: Publication, prolific: Double) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    assert look(place)[0] == look(place)[0] == 200
    assert len(prolific.requests("jwks.json")) == 1
    prolific.replace_key()
    newer = prolific.take(published.hit_type_id, prolific.participant("Sam"))
    assert visit(newer).startswith("/j/")
    assert len(prolific.requests("jwks.json")) == 2
    assert NOT_SIGNED in look(place)[1]  # the key that signed it was withdrawn


def test_nobody_begins_while_the_keys_cannot_be_read(published: Publication, prolific: Double) -> None:
    place = prolific.take(published.hit_type_id, prolific.participant("Pat"))
    prolific.fault("lost before", path="jwks.json", times=1)
    status, page = look(place)
    assert status == 409 and "Please reload this page in a minute" in page
    assert visit(place).startswith("/j/")
