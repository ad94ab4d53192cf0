"""The double of Prolific does what Prolific's documentation says, to the cent, and goes wrong when it is told to."""

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest

from tests.simulation.prolific import Double

CODES = [
    {"code": "DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]},
    {"code": "AUTO", "code_type": "OTHER", "actions": [{"action": "AUTOMATICALLY_APPROVE"}]},
    {
        "code": "NOPE",
        "code_type": "NO_CONSENT",
        "actions": [{"action": "REQUEST_RETURN", "return_reason": "You did not consent."}],
    },
    {"code": "PART", "code_type": "OTHER", "actor": "researcher", "actions": [{"action": "DYNAMIC_PAYMENT"}]},
]
SLOTS = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 20, "slots": 1}
STUDY: dict[str, Any] = {
    "name": "Which answer is better?",
    "description": "Compare passages.",
    "external_study_url": "https://lab.example.org/p?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
    "&SESSION_ID={{%SESSION_ID%}}",
    "prolific_id_option": "url_parameters",
    "total_available_places": 3,
    "estimated_completion_time": 9,
    "reward": 150,
    "completion_codes": CODES,
    "metadata": "campaign 7",
}
LONG = (
    "You answered every question of the study with the first option, and in less than a second for each of the items."
)
UNIT = 150 + 50 + 10  # 33.33% of 150 is 50, 20% of that is 10


class Api:
    """The API as a researcher's program calls it."""

    def __init__(self, double: Double) -> None:
        self.http = httpx.Client(
            base_url=double.api, headers={"Authorization": f"Token {double.token}"}, trust_env=False
        )
        self.workspace = double.settings()["workspace"]

    def get(self, path: str, status: int = 200, **query: Any) -> Any:
        return self._read(self.http.get(path, params=query), status)

    def post(self, path: str, status: int = 200, **body: Any) -> Any:
        return self._read(self.http.post(path, json=body) if body else self.http.post(path), status)

    def patch(self, path: str, status: int = 200, **body: Any) -> Any:
        return self._read(self.http.patch(path, json=body), status)

    def study(self, **changes: Any) -> str:
        study = self.post("/studies/", 201, **STUDY | changes)["id"]
        self.post(f"/studies/{study}/transition/", action="PUBLISH")
        return str(study)

    def balance(self) -> tuple[int, int]:
        balance = self.get(f"/workspaces/{self.workspace}/balance/")
        return balance["total_balance"], balance["available_balance"]

    def _read(self, answer: httpx.Response, status: int) -> Any:
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


@pytest.fixture
def api(prolific: Double) -> Api:
    return Api(prolific)


def test_a_study_goes_from_draft_to_completed_and_holds_and_spends_its_cost_to_the_cent(
    prolific: Double, api: Api
) -> None:
    prolific.settings(currency="GBP")
    assert prolific.checked_by()[0] == "description.yml"
    assert api.get("/users/me/")["email"]
    study = api.post("/studies/", 201, **STUDY)
    path = f"/studies/{study['id']}/transition/"
    assert (study["status"], study["metadata"], study["maximum_allowed_time"]) == ("UNPUBLISHED", "campaign 7", 52)
    cost = api.post("/study-cost-calculator/", reward=150, total_available_places=3)
    assert cost == {"total_cost": 3 * UNIT}
    api.post(path, 400, action="PAUSE")
    assert api.post(path, action="PUBLISH")["status"] == "ACTIVE"
    assert api.balance() == (100_000, 100_000 - 3 * UNIT)
    assert api.post(path, action="PAUSE")["status"] == "PAUSED"
    assert prolific.open_studies(prolific.participant()) == []
    assert api.post(path, action="START")["status"] == "ACTIVE"
    api.patch(f"/studies/{study['id']}/", 400, total_available_places=2)
    refused = api.patch(f"/studies/{study['id']}/", 400, reward=200)
    assert list(refused["error"]["detail"]) == ["reward"]
    assert api.post(path, action="STOP")["status"] == "COMPLETED"
    assert api.balance() == (100_000, 100_000)
    assert api.patch(f"/studies/{study['id']}/", total_available_places=4)["status"] == "ACTIVE"
    pat = prolific.participant()
    place = prolific.take(study["id"], pat)
    assert prolific.complete(place.submission, "AUTO") == "APPROVED"
    assert api.balance() == (100_000 - UNIT, 100_000 - 4 * UNIT)
    costs = api.get(f"/studies/{study['id']}/cost/")["rewards"]
    assert costs == {
        "rewards": {"amount": 150, "currency": "GBP"},
        "fees": {"amount": 50, "currency": "GBP"},
        "tax": {"amount": 10, "currency": "GBP"},
    }
    listed_study = api.get("/studies/", state="ACTIVE")["results"][0]
    assert (listed_study["places_taken"], listed_study["total_cost"]) == (1, 4 * UNIT)
    prolific.reset(cents=3 * UNIT - 1)
    draft = api.post("/studies/", 201, **STUDY)["id"]
    assert "Not enough funds" in api.post(f"/studies/{draft}/transition/", 400, action="PUBLISH")["error"]["detail"]


def test_bad_requests_are_refused_in_the_documented_shape(prolific: Double, api: Api) -> None:
    wrong = httpx.get(f"{prolific.api}/users/me/", headers={"Authorization": "Token stale"}, trust_env=False)
    assert wrong.status_code == 401
    assert set(wrong.json()["error"]) >= {"status", "error_code", "title", "detail"}
    without = {key: value for key, value in STUDY.items() if key != "reward"}
    assert any("reward" in line for line in api.post("/studies/", 400, **without)["error"]["detail"])
    assert any("rewrad" in line for line in api.post("/studies/", 400, **STUDY, rewrad=1)["error"]["detail"])
    for changes in (
        {"reward": 1.5},
        {"maximum_allowed_time": 25},
        {"external_study_url": "lab"},
        {"filters": [{"filter_id": "shoe-size", "selected_values": ["9"]}]},
        {"filters": [{"filter_id": "approval_rate", "selected_range": {"lower": 101}}]},
        {"completion_codes": [CODES[0], CODES[0]]},
        {"completion_codes": [CODES[3] | {"actor": "participant"}]},
    ):
        detail = api.post("/studies/", 400, **STUDY | changes)["error"]["detail"]
        assert list(detail) == list(changes), detail
    prolific.settings(features=[])
    assert "not available" in str(api.post("/studies/", 400, **STUDY)["error"]["detail"])
    api.post("/researchers/participants/", 403, email="tester@example.org")
    api.get("/submissions/", 400)
    api.get("/studies/5f/", 404)


def test_only_those_whom_filters_places_and_exclusions_let_see_a_study_and_a_place_given_back_is_free_again(
    prolific: Double, api: Api
) -> None:
    uk, us, young = (prolific.participant(name, **more) for name, more in (
        ("Una", {"country": "0"}), ("Ursula", {"country": "1"}), ("Yan", {"country": "0", "approval_rate": 80}),
    ))  # fmt: skip
    group = api.post("/participant-groups/", 201, name="Refused", workspace_id=api.workspace)["id"]
    members = f"/participant-groups/{group}/participants/"
    chosen = [
        {"filter_id": "current-country-of-residence", "selected_values": ["0"]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95}},
        {"filter_id": "participant_group_blocklist", "selected_values": [group]},
    ]
    study = api.study(filters=chosen, total_available_places=1)
    assert [prolific.open_studies(person) for person in (uk, us, young)] == [[study], [], []]
    api.post(members, participant_ids=[uk])
    assert len(api.post(members, participant_ids=[uk])["results"]) == 1
    assert prolific.open_studies(uk) == []
    api.http.request("DELETE", members, json={"participant_ids": [uk]})
    place = prolific.take(study, uk)
    other = prolific.participant("Ulf", country="0")
    assert prolific.open_studies(other) == []
    assert prolific.give_back(place.submission) == "RETURNED"
    assert prolific.open_studies(other) == [study]
    assert prolific.open_studies(uk) == []  # one submission each
    later = prolific.take(study, other)
    prolific.advance(53 * 60)
    assert api.get(f"/submissions/{later.submission}/")["status"] == "TIMED-OUT"
    assert api.get(f"/studies/{study}/submissions/counts/")["TOTAL"] == 2
    again = api.study(filters=[{"filter_id": "previous_studies_blocklist", "selected_values": [study]}])
    assert [prolific.open_studies(person) for person in (uk, us)] == [[], [again]]
    with pytest.raises(ValueError, match="no place"):
        prolific.take(study, uk)


def test_submissions_are_listed_by_pages_and_reviewed_as_their_state_allows(prolific: Double, api: Api) -> None:
    study = api.study(total_available_places=5)
    people = [prolific.participant(f"Pat {number}") for number in range(5)]
    places = [prolific.take(study, person) for person in people]
    first, second, third, fourth, fifth = (place.submission for place in places)
    assert parse_qs(urlsplit(places[0].url).query) == {
        "PROLIFIC_PID": [people[0]], "STUDY_ID": [study], "SESSION_ID": [first],
    }  # fmt: skip
    assert "ACTIVE" in api.post(f"/submissions/{first}/transition/", 400, action="APPROVE")["error"]["detail"]
    codes = {first: "DONE", second: None, third: "typo", fourth: "NOPE"}
    assert {prolific.complete(submission, code) for submission, code in codes.items()} == {"AWAITING REVIEW"}
    page = api.get("/submissions/", study=study, page_size=4)
    assert [row["participant_id"] for row in page["results"]] == people[:4]
    assert [row["study_code"] for row in page["results"]] == ["DONE", None, "typo", "NOPE"]
    assert page["results"][3]["return_requested"]
    second_page = api.http.get(page["_links"]["next"]["href"]).json()
    assert ([row["id"] for row in second_page["results"]], second_page["_links"]["next"]["href"]) == ([fifth], None)
    assert api.get("/submissions/", 404, study=study, page_size=4, page=3)["error"]["status"] == 404
    assert len(api.get(f"/studies/{study}/submissions/", awaiting_review="t")["results"]) == 4
    for _twice in range(2):
        assert api.post(f"/submissions/{first}/transition/", action="APPROVE")["status"] == "APPROVED"
    rejection = {"action": "REJECT", "rejection_category": "LOW_EFFORT"}
    api.post(f"/submissions/{third}/transition/", 400, **rejection, message=LONG[:99])
    assert api.post(f"/submissions/{third}/transition/", **rejection, message=LONG)["status"] == "REJECTED"
    assert prolific.give_back(fourth) == "RETURNED"
    request = api.post(f"/submissions/{fifth}/request-return/", request_return_reasons=["It did not load."])
    assert request["return_requested"]
    ending = {"action": "COMPLETE", "completion_code": "PART"}
    api.post(f"/submissions/{fifth}/transition/", 400, **ending, completion_code_data={"percentage_of_reward": 7})
    for _twice in range(2):
        ended = api.post(
            f"/submissions/{fifth}/transition/", **ending, completion_code_data={"percentage_of_reward": 50}
        )
        assert ended["status"] == "PARTIALLY APPROVED"
    api.post("/submissions/bulk-approve/", submission_ids=[first, second, third])
    assert [row["status"] for row in api.get(f"/studies/{study}/submissions/")["results"]] == [
        "APPROVED", "APPROVED", "REJECTED", "RETURNED", "PARTIALLY APPROVED",
    ]  # fmt: skip
    paid = [(row["kind"], row["amount"], row["fee"], row["vat"]) for row in prolific.ledger()[1:]]
    assert paid == [("reward", 150, 50, 10), ("partial", 75, 25, 5), ("reward", 150, 50, 10)]
    late = prolific.take(study, prolific.participant("Late")).submission
    prolific.complete(late, "DONE")
    prolific.advance(22 * 86_400)
    assert api.get(f"/submissions/{late}/")["status"] == "APPROVED"


def test_a_bonus_is_paid_later_and_paid_again_when_pay_is_repeated(prolific: Double, api: Api) -> None:
    prolific.settings(bonus_seconds=0)
    study = api.study()
    pat = prolific.participant()
    place = prolific.take(study, pat)
    prolific.give_back(place.submission)
    wrong = api.post("/submissions/bonus-payments/", 400, study_id=study, csv_bonuses=f"{pat},1.50\n{study},1\n")
    assert wrong["error"]["detail"] == [f"{study} did not take part in the study."]
    batch = api.post("/submissions/bonus-payments/", 201, study_id=study, csv_bonuses=f"{place.submission},1.50\n")
    assert (batch["amount"], batch["fees"], batch["vat"], batch["total_amount"]) == (150, 50, 10, UNIT)
    assert prolific.ledger("bonus") == []
    api.post(f"/bulk-bonus-payments/{batch['id']}/pay/", 202)
    assert api.get(f"/submissions/{place.submission}/")["bonus_payments"] == [150]
    prolific.fault("lost after", path="/pay/")
    with pytest.raises(httpx.RemoteProtocolError):
        api.post(f"/bulk-bonus-payments/{batch['id']}/pay/", 202)
    assert api.get(f"/submissions/{place.submission}/")["bonus_payments"] == [150, 150]
    assert api.balance()[0] == 100_000 - 2 * UNIT
    prolific.settings(bonus_seconds=300)
    api.post(f"/bulk-bonus-payments/{batch['id']}/pay/", 202)
    assert len(prolific.ledger("bonus")) == 2
    prolific.advance(301)
    assert len(prolific.ledger("bonus")) == 3


def test_faults_strike_before_or_after_the_work_is_done(prolific: Double, api: Api) -> None:
    prolific.fault("lost before", method="POST", path="/studies/$")
    prolific.fault("lost after", method="POST", path="/studies/$")
    for number in (0, 1):
        with pytest.raises(httpx.RemoteProtocolError):
            api.post("/studies/", 201, **STUDY)
        assert len(api.get("/studies/")["results"]) == number
    prolific.fault("too many", path="/users/me/", seconds=7)
    answer = api.http.get("/users/me/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    prolific.fault("broken after", method="POST", path="/studies/$", status=502)
    assert api.post("/studies/", 502, **STUDY)["error"]["status"] == 502
    assert len(api.get("/studies/")["results"]) == 2
    place = prolific.take(api.study(), prolific.participant())
    prolific.complete(place.submission, "DONE")
    prolific.fault("still active", body="APPROVE")
    approval = f"/submissions/{place.submission}/transition/"
    assert "is ACTIVE" in api.post(approval, 400, action="APPROVE")["error"]["detail"]
    assert api.post(approval, action="APPROVE")["status"] == "APPROVED"
    assert prolific.clear_faults() == 5
    lost = [entry for entry in prolific.requests() if entry["fault"] and "lost" in entry["fault"]]
    assert [entry["status"] for entry in lost] == [None, 201]


def test_the_double_goes_on_where_it_was_when_it_is_killed(prolific: Double, api: Api) -> None:
    study = api.study()
    prolific.stop()
    prolific.start()
    assert api.get(f"/studies/{study}/")["status"] == "ACTIVE"


def test_used_up_slots_pause_a_study_and_a_test_run_costs_nothing(prolific: Double, api: Api) -> None:
    code = {"code": "OUT", "code_type": "FIXED_SCREENOUT", "actions": [SLOTS]}
    study = api.study(completion_codes=[*CODES, code])
    place = prolific.take(study, prolific.participant())
    assert prolific.complete(place.submission, "OUT") == "SCREENED OUT"
    assert api.get(f"/studies/{study}/")["status"] == "PAUSED"
    assert [row["amount"] for row in prolific.ledger("screen-out")] == [20]
    draft = api.post("/studies/", 201, **STUDY)["id"]
    api.post(f"/studies/{draft}/test-study", 400)
    tester = api.post("/researchers/participants/", 201, email="tester@example.org")["participant_id"]
    copy = api.post(f"/studies/{draft}/test-study")["study_id"]
    assert prolific.open_studies(tester) == [copy]
    before = api.balance()
    assert prolific.complete(prolific.take(copy, tester).submission, "AUTO") == "APPROVED"
    assert api.balance() == before


@pytest.fixture
def hooked() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]], list[int]]]:
    """An address that keeps what it is sent, and answers what the last list says, 200 when that is empty."""
    requests: list[tuple[dict[str, str], bytes]] = []
    answers: list[int] = []

    class Kept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0) if answers else 200)
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Kept) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hooks", requests, answers
        server.shutdown()


def wait_for(condition: Callable[[], object], seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def test_events_are_signed_repeated_until_they_are_taken_doubled_by_command_and_end_after_five_days_of_failures(
    prolific: Double, api: Api, hooked: tuple[str, list[tuple[dict[str, str], bytes]], list[int]]
) -> None:
    address, hook, answers = hooked
    fields = {"workspace_id": api.workspace, "event_type": "submission.status.change", "target_url": address}
    api.post("/hooks/subscriptions/", 400, **fields)
    key = api.post("/hooks/secrets/", 201, workspace_id=api.workspace)["value"]
    answer = api.http.post("/hooks/subscriptions/", json=fields)
    subscription = answer.json()["results"][0]["id"]
    assert not answer.json()["results"][0]["is_enabled"]
    api.post(f"/hooks/subscriptions/{subscription}/", 400, secret="wrong")
    confirmed = api.post(f"/hooks/subscriptions/{subscription}/", secret=answer.headers["X-Hook-Secret"])
    assert confirmed["is_enabled"]
    answers.append(500)
    prolific.settings(hook_copies=2)
    place = prolific.take(api.study(), prolific.participant())
    wait_for(lambda: len(hook) == 4)  # RESERVED and ACTIVE, twice each; one answer of the four was 500
    headers, body = hook[0]
    signed = hmac.new(key.encode(), headers["X-Prolific-Request-Timestamp"].encode() + body, hashlib.sha256).digest()
    assert headers["X-Prolific-Request-Signature"] == base64.b64encode(signed).decode()
    assert len({headers["X-Event-ID"] for headers, _body in hook}) == 2
    wait_for(lambda: {row["status"] for row in prolific.rows("event")} == {"SUCCEEDED"})
    prolific.settings(hook_copies=1)
    answers += [500] * 50
    prolific.complete(place.submission, "DONE")
    for day in range(6):
        wait_for(lambda tries=day + 1: prolific.rows("event")[-1]["tries"] == tries)
        prolific.advance(86_400)
    assert b'"status": "AWAITING REVIEW"' in hook[4][1]
    wait_for(lambda: not prolific.rows("subscription")[0]["is_enabled"])
    assert [row["id"] for row in api.get("/hooks/subscriptions/", is_enabled="false")["results"]] == [subscription]


def test_a_participant_goes_through_the_site_and_brings_a_signed_token_to_ours(prolific: Double, api: Api) -> None:
    study = api.study(is_external_study_url_secure=True)
    browser = httpx.Client(base_url=prolific.url, trust_env=False, verify=False, follow_redirects=True)
    signed_up = browser.post("/login", data={"name": "Pia & Co", "country": "1", "next": "/"})
    assert "Which answer is better?" in signed_up.text and "Studies for Pia &amp; Co" in signed_up.text
    reserved = browser.post(f"/studies/{study}")
    assert "RESERVED" in reserved.text
    opened = browser.post(f"{reserved.url.path}/open", follow_redirects=False)
    address = opened.headers["Location"]
    url, _, token = address.partition("&prolific_token=")
    keys = api.http.get(f"{prolific.url}/.well-known/study/jwks.json").json()["keys"]
    claims = jwt.decode(token, jwt.PyJWK(keys[0]).key, ["RS256"], audience=url, issuer="https://www.prolific.com")
    assert claims["prolific"]["SESSION_ID"] == claims["sub"] == reserved.url.path.rpartition("/")[2]
    assert claims["prolific"]["workspace_id"] == api.workspace and claims["exp"] - claims["iat"] == 120
    other = httpx.Client(base_url=prolific.url, trust_env=False, verify=False)
    assert other.get("/submissions/complete", params={"cc": "DONE"}).headers["Location"].startswith("/login")
    assert "AWAITING REVIEW" in browser.get("/submissions/complete", params={"cc": "DONE"}).text
    assert api.get(f"/submissions/{claims['sub']}/")["entered_code"] == "DONE"
    assert "Return study" in browser.get(f"/submissions/{claims['sub']}").text
    assert "RETURNED" in browser.post(f"/submissions/{claims['sub']}/return").text
    assert browser.get("/submissions/complete", params={"cc": "DONE"}).status_code == 400
    other.post("/login", data={"name": "Nosy"})
    assert other.get(f"/submissions/{claims['sub']}").status_code == 404
