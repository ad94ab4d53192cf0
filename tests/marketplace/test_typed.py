"""No form of the marketplace loses what somebody typed, or undoes in silence what somebody else has saved.

Each address that takes a form must be named here, so a form cannot be forgotten.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.core.test_editing import form_of
from tests.looking import looks_right
from tests.marketplace.people import OPERATOR, PASSWORD, Person, Wanda, market, people, visitor
from tests.marketplace.server import REPOSITORY, Marketplace, Requester, cookie_of

__all__ = ["market", "people", "visitor"]

TEXT = "Line one,\nline “two” <b>."
# What is typed into the form of each address, and where that form is if it is elsewhere.
TYPED: dict[str, tuple[dict[str, str], str]] = {
    "operator:requesters": ({"name": "A lab <b>", "email": "lab@example.org"}, ""),
    "operator:issue_key": ({"label": "laptop <b>"}, "operator:requester"),
    "operator:deposit": ({"amount": "1.25", "note": "cash <b>"}, "operator:requester"),
    "operator:requester_status": ({"reason": TEXT}, ""),
    "operator:requester_undecided": ({"reason": TEXT}, ""),
    "operator:message": ({"text": TEXT}, ""),
    "operator:invite": ({"note": "for Ann <b>", "days": "9"}, "operator:workers"),
    "operator:worker": ({"reason": TEXT}, ""),
    "operator:worker_country": ({"country": "CA", "reason": TEXT}, "operator:worker"),
    "operator:worker_password": ({"reason": TEXT}, "operator:worker"),
    "operator:worker_erase": ({"reason": TEXT}, ""),
    "operator:dispute": ({"answer": TEXT, "decision": "upheld"}, ""),
    "operator:payout_bounced": ({"reason": TEXT}, ""),
    "workers:dispute": ({"text": TEXT}, "workers:work"),
    "workers:message_answer": ({"subject": "Re: it", "text": TEXT}, ""),
    "workers:contact": ({"subject": "It", "text": TEXT}, ""),
}
# What changes something that is stored and shown: each field, with what two operators make of it.
EDITS = {"operator:worker": ("status", "suspended", "closed"), "operator:worker_country": ("country", "DE", "FR")}
EXEMPT = {
    "is a press, which says all that it does": {
        *("operator:revoke_key", "operator:payouts", "operator:deposit_request", "workers:logout", "workers:language"),
        *("workers:accept", "workers:accept_next", "workers:work_return", "workers:qualification_request"),
        *("workers:account_close",),
    },
    "is for whoever has no log-in yet": {"workers:login", "workers:register", "workers:password_new"},
    "has nothing but passwords": {"workers:password"},
    "is sent by a requester's question, and keeps it as the answer": {"external_submit"},
}
PATHS = re.compile(r'path\("([^"]*)", .*?name="(\w+)"\)')
URLS = (("operator", "operator/"), ("workers", ""))


class World:
    """One of each thing that a form is about, and who has the form: an operator or a worker."""

    def __init__(self, people: Marketplace) -> None:
        self.people = people
        self.olga, self.wanda, ann = Person(people, OPERATOR), Wanda(people), Wanda(people)
        self.rosa, gone = people.requester(), people.requester()
        for owner in (self.rosa, gone):
            work = self._work(owner)
        self.olga.post(f"/operator/requesters/{gone.account_id}/status", wanted="inactive", reason="So.")
        rejected, disputed = self._work(self.rosa), self._work(self.rosa)
        for key in (rejected, disputed):
            self.rosa.client.reject_assignment(AssignmentId=key, RequesterFeedback="No.")
        self.wanda.person.post(f"/work/{disputed}/dispute", text="It was right.")
        hit = self.rosa.hit()["HITId"]
        self.wanda.person.post(f"/contact/{hit}", subject="It", text="What?")
        self.rosa.client.notify_workers(Subject="It", MessageText="So.", WorkerIds=[self.wanda.id])
        self.rosa.client.approve_assignment(AssignmentId=self._work(self.rosa))
        total = re.search(r'name="total" value="([^"]+)"', self.olga.post("/operator/payouts").text)
        assert total and work
        location = self.olga.post("/operator/payouts", total=total[1]).headers["Location"]
        bounce = re.search(r"/operator/payouts/(\d+)/bounce", self.olga.get(location).text)
        messages = dict(people.sql("SELECT direction, max(id) FROM marketplace_message GROUP BY direction"))
        (dispute,) = people.sql("SELECT max(id) FROM marketplace_dispute")[0]
        assert bounce
        self.ids = {
            "operator:requester_undecided": {"account_id": gone.account_id},
            "operator:payout_bounced": {"payout_pk": bounce[1]},
            "operator:message": {"message_pk": messages["requester"]},
            "workers:message_answer": {"message_pk": messages["worker"]},
            "": {
                "account_id": self.rosa.account_id, "worker_id": ann.id, "dispute_pk": dispute, "hit_id": hit,
                "assignment_id": rejected,
            },
        }  # fmt: skip

    def _work(self, owner: Requester) -> str:
        return self.wanda.do(owner.hit()["HITId"])

    def path(self, name: str, of: str = "") -> str:
        ids = self.ids[""] | self.ids.get(of or name, {})
        return re.sub(r"<\w+:(\w+)>", lambda part: str(ids.get(part[1], "0")), ROUTES[name])

    def person(self, name: str) -> Person:
        return self.olga if name.startswith("operator") else self.wanda.person


def routes() -> Iterator[tuple[str, str]]:
    for app, prefix in URLS:
        text = (REPOSITORY / "marketplace" / app / "urls.py").read_text()
        yield from ((f"{app}:{name}", f"/{prefix}{route}") for route, name in PATHS.findall(text))


ROUTES = dict(routes())


@pytest.fixture
def world(people: Marketplace) -> World:
    return World(people)


def send(
    person: Person, path: str, sent: dict[str, Any], *, by: Person | None = None, token: str = ""
) -> httpx.Response:
    """A form as a browser sends it: of whoever is logged in now, or of nobody; with another token in the cookie."""
    (csrf, value), session = cookie_of(person.http, "csrf"), by.session() if by else None
    cookies = {csrf: token or value} | ({session["name"]: session["value"]} if session else {})
    return httpx.post(person.http.base_url.join(path), data=sent, cookies=cookies, trust_env=False, timeout=30)


def test_each_address_that_takes_a_form_is_named_here(world: World) -> None:
    http = world.olga.http
    taking = {name for name in ROUTES if "POST" in http.options(world.path(name)).headers.get("Allow", "")}
    assert taking | {"workers:language", "workers:password_new", "external_submit"} == set(TYPED).union(
        *EXEMPT.values()
    )


def test_what_is_typed_into_any_form_outlives_a_log_in_that_ended_and_a_token_that_is_refused(world: World) -> None:
    for name, (typed, on) in TYPED.items():
        person, path = world.person(name), world.path(name)
        stranger = world.olga if person is not world.olga else world.wanda.person
        field = next(iter(typed))
        sent = {**form_of(person.get(world.path(on, name) if on else path), path, field), **typed, "typed_id": "abc1"}
        for by, token, why in (
            (None, "", "Your log-in has ended."),
            (stranger, "", "but somebody else wrote this."),
            (person, "x" * 32, "Send it once more."),
        ):
            answer = send(person, path, sent, by=by, token=token)
            assert (answer.status_code, why in answer.text) == (403, True), (name, why, answer.text)
            again = form_of(answer, path, field)
            assert {key: again[key] for key in typed} == typed, name
        answer = send(person, path, again, by=person, token=token)
        if "confirmed" in answer.text:
            answer = send(person, path, form_of(answer, path, "confirmed"), by=person, token=token)
        sign = answer.headers.get("Location", "").partition("#taken-")[2] or answer.cookies.get("taken")
        alerts = re.findall('(?s)<div role="alert">.*?</div>', answer.text)
        assert (answer.status_code in (201, 303), sign) == (True, "abc1"), (name, answer.status_code, alerts)


def test_what_is_refused_or_belongs_to_another_site_is_not_kept_or_taken(world: World) -> None:
    olga, path = world.olga, world.path("operator:deposit")
    sent = form_of(olga.get(world.path("operator:requester")), path, "amount") | {
        "amount": "-99999",
        "typed_id": "abc1",
    }
    answer = send(olga, path, sent, by=olga)
    refused = send(olga, path, form_of(answer, path, "confirmed"), by=olga)
    assert (refused.status_code, "taken" in refused.headers["Location"]) == (303, False)
    assert send(olga, path, sent | {"typed_by": "1:forged"}).status_code == 302  # to the log-in
    secrets = send(olga, "/operator/workers/invite", {**sent, "password": "hunter2", "token": "hunter2"})
    assert (secrets.status_code, "hunter2" in secrets.text) == (403, False)
    foreign = olga.http.post(path, data=sent, headers={"Origin": "https://elsewhere.example"})
    assert (foreign.status_code, "-99999" in foreign.text) == (403, False)


@pytest.mark.parametrize("name", EDITS)
def test_of_two_operators_who_change_the_same_the_second_is_told(world: World, name: str) -> None:
    (field, theirs, yours), path, olga = EDITS[name], world.path(name), world.olga
    page = world.path("operator:worker")
    fields = form_of(olga.get(page), path, field) | {"reason": "So."}
    assert send(olga, path, fields | {field: theirs}, by=olga).status_code == 303
    refused = send(olga, path, fields | {field: yours}, by=olga)
    assert (refused.status_code, "Somebody else has saved" in refused.text) == (400, True)
    again = form_of(refused, path, field)
    assert again[field] == [yours]
    assert send(olga, path, fields | {field: theirs}, by=olga).status_code == 303  # which is what is stored
    assert send(olga, path, again, by=olga).status_code == 303
    assert form_of(olga.get(page), path, field)[field] == [yours]


def test_in_a_browser_what_was_typed_chosen_and_ticked_is_there_again_until_it_is_taken(
    world: World, visitor: Callable[..., Page]
) -> None:
    page, path = visitor(world.olga), world.path("operator:worker")
    page.goto(path)
    status, reason = page.get_by_label("Status"), page.locator("#id_reason")
    save, back = page.get_by_role("button", name="Save the status"), page.get_by_text("It is back in the form.")
    status.select_option("suspended")
    reason.fill("Because.")
    page.reload()
    expect(status).to_have_value("suspended")
    expect(reason).to_have_value("Because.")
    page.get_by_role("button", name="Discard").click()
    expect(status).to_have_value("active")

    # The server is away.
    status.select_option("suspended")
    reason.fill("Because.")
    page.route(f"**{path}", lambda route: route.fulfill(status=502, body="Bad gateway"))
    save.click()
    expect(page.get_by_text("Bad gateway")).to_be_visible()
    page.unroute(f"**{path}")
    page.go_back()
    expect(status).to_have_value("suspended")
    expect(back).to_be_visible()

    # The log-in ends, and begins again in another tab.
    session = world.olga.session()
    page.context.clear_cookies(name=session["name"])
    save.click()
    expect(page.get_by_role("alert")).to_be_focused()
    looks_right(page)
    tab = page.context.new_page()
    tab.goto("/login")
    tab.locator("[name=username]").fill(OPERATOR)
    tab.locator("[name=password]").fill(PASSWORD)
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("button", name="Log out")).to_be_visible()
    tab.close()
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("status")).to_contain_text("The worker is now")
    expect(back).to_have_count(0)
    expect(status).to_have_value("suspended")

    # What was confirmed on a page of its own is not there to be sent once more.
    page.goto(world.path("operator:requester"))
    page.get_by_label("Amount in dollars").fill("7.25")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Book").click()
    expect(page.get_by_role("status")).to_have_text("Booked.")
    expect(page.get_by_label("Amount in dollars")).to_have_value("")
    page.get_by_role("button", name="Log out").click()
    assert page.evaluate("Object.keys(sessionStorage).length") == 0
