"""The operator's pages: people, keys, disputes and money."""

import csv
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx
import psycopg2
import pytest
from playwright.sync_api import Page, expect

from tests.marketplace.conftest import refusing
from tests.marketplace.people import OPERATOR, PASSWORD, Person, look_well, market, olga, people, rosa, visitor, wanda
from tests.marketplace.server import Marketplace, Requester, Worker

__all__ = ["market", "olga", "people", "rosa", "visitor", "wanda"]

Visitor = Callable[..., Page]
Confirm = Callable[[str], httpx.Response]


def hidden(answer: httpx.Response, name: str) -> str:
    """A hidden field of a page."""
    match = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    assert match, answer.text
    return unescape(match[1])


def audit(olga: Person, words: str) -> str:
    """The audit's rows with these words, as text."""
    return olga.get(f"/operator/audit?words={words}").text


def test_an_operator_makes_a_requester_with_a_key_that_works_until_it_is_revoked(
    people: Marketplace, visitor: Visitor, olga: Person
) -> None:
    page = visitor(olga, at="/operator/requesters")
    page.get_by_label("Name", exact=True).fill("The quiet lab")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="The quiet lab")).to_be_visible()
    page.get_by_label("Label").fill("laptop")
    page.get_by_role("button", name="Issue a key").click()
    key_id, secret = page.locator("#key-id").inner_text(), page.locator("#secret").inner_text()
    client = people.client(key_id, secret)
    assert client.get_account_balance()["AvailableBalance"] == "0.00"
    page.get_by_role("link", name="Done").click()
    assert secret not in page.content()

    page.get_by_label("Amount in dollars").fill("250.50")
    page.get_by_label("Note").fill("transfer 17")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Book this amount?")).to_be_visible()
    assert client.get_account_balance()["AvailableBalance"] == "0.00"
    page.get_by_role("button", name="Book").click()
    expect(page.get_by_role("status")).to_have_text("Booked.")
    assert client.get_account_balance()["AvailableBalance"] == "250.50"

    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("link", name="Keep it").click()
    client.get_account_balance()
    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text("revoked")
    with refusing("UnrecognizedClientException"):
        client.get_account_balance()
    page.get_by_role("link", name="Audit").click()
    for action in ("revoke key", "deposit", "issue key", "create requester"):
        expect(page.get_by_role("row").filter(has_text=action).first).to_contain_text(OPERATOR)
    assert secret not in page.content()


def test_a_deposit_is_booked_once_and_as_it_was_confirmed(olga: Person, rosa: Requester) -> None:
    path = f"/operator/requesters/{rosa.account_id}/deposit"
    answer = olga.post(path, amount="10.00", note="cash")
    fields = {"amount": "10.00", "note": "cash", "confirmed": hidden(answer, "confirmed")}
    assert rosa.money()[0] == "1000.00"
    assert olga.post(path, **fields | {"amount": "90.00"}).status_code == 303
    assert olga.post(path, **fields | {"confirmed": "made up"}).status_code == 303
    assert rosa.money()[0] == "1000.00"
    assert olga.post(path, **fields).status_code == 303
    assert olga.post(path, **fields).status_code == 303
    assert rosa.money()[0] == "1010.00"
    assert "was not booked again" in olga.get(f"/operator/requesters/{rosa.account_id}").text
    assert audit(olga, rosa.account_id).count("deposit</th>") == 1


def test_more_than_there_is_cannot_be_given_back(olga: Person, rosa: Requester) -> None:
    path = f"/operator/requesters/{rosa.account_id}/deposit"
    for amount, status in (("0", 400), ("1.001", 400), ("much", 400)):
        assert olga.post(path, amount=amount).status_code == status
    answer = olga.post(path, amount="-1000.01", note="")
    olga.post(path, amount="-1000.01", note="", confirmed=hidden(answer, "confirmed"))
    assert "insufficient funds" in olga.get(f"/operator/requesters/{rosa.account_id}").text
    assert rosa.money()[0] == "1000.00"
    assert "deposit</th>" not in audit(olga, rosa.account_id)


def test_the_ledger_shows_each_movement(olga: Person, rosa: Requester, wanda: Worker) -> None:
    done = wanda.do(rosa.hit(Reward="2.00")["HITId"])
    rosa.client.approve_assignment(AssignmentId=done)
    text = olga.get(f"/operator/requesters/{rosa.account_id}").text
    for words in ("deposit", "held for a HIT", "reward", "fee", "−$2.40", "$997.60", wanda.id):
        assert words in text


def test_an_invitation_is_shown_once_and_works_once(people: Marketplace, visitor: Visitor, olga: Person) -> None:
    page = visitor(olga, at="/operator/workers")
    page.get_by_label("Note").fill("the reading room")
    page.get_by_label("Approved elsewhere").fill("12000")
    page.get_by_role("button", name="Create an invitation").click()
    address = page.locator("#address").inner_text()
    page.get_by_role("link", name="Done").click()
    assert address not in page.content()
    expect(page.get_by_role("row").filter(has_text="the reading room").first).to_contain_text("anyone")

    guest = visitor(at=address)
    guest.get_by_label("Email address").fill("guest@example.org")
    guest.get_by_label("Password", exact=True).fill(PASSWORD)
    guest.get_by_label("Country").select_option("US")
    guest.get_by_role("button", name="Register").click()
    guest.goto("/qualifications")
    expect(guest.get_by_text("12,000")).to_be_visible()
    guest.goto(address)
    expect(guest.get_by_text("This invitation has already been used")).to_be_visible()


def test_a_suspended_worker_may_finish_but_not_begin(people: Marketplace, olga: Person, rosa: Requester) -> None:
    worker = people.test("worker", email="sam@example.org", password=PASSWORD)
    sam = Person(people, "sam@example.org")
    begun, other = rosa.hit()["HITId"], rosa.hit(Title="Another")["HITId"]
    assert sam.post(f"/tasks/{begun}/accept").status_code == 303
    path = f"/operator/workers/{worker['worker_id']}"
    assert olga.post(path, status="suspended").status_code == 400
    assert olga.post(path, status="suspended", reason="two accounts").status_code == 303
    assert "suspended" in sam.get("/tasks").text
    assert "Accept" not in sam.get(f"/tasks/{other}").text.replace("Accepted", "")
    assert sam.post(f"/tasks/{other}/accept").status_code == 403
    work = re.search(r"/work/(\w+)", sam.get("/history").text)
    assert work
    sent = people.http.post("/mturk/externalSubmit", data={"assignmentId": work[1], "a": "b"})
    assert sent.status_code == 200
    assert "two accounts" in audit(olga, worker["worker_id"])
    assert olga.post(path, status="closed", reason="asked for it").status_code == 303
    assert sam.get("/tasks").status_code == 302


@pytest.mark.parametrize(
    ("decision", "words"), [("overturned", "Approved after all."), ("upheld", "The rejection was upheld.")]
)
def test_a_dispute_is_decided_with_a_reason_and_moves_money_once(
    people: Marketplace, visitor: Visitor, olga: Person, rosa: Requester, decision: str, words: str
) -> None:
    email = f"dora-{decision}@example.org"
    worker = people.test("worker", email=email, password=PASSWORD)
    dora = Person(people, email)
    hit_id = rosa.hit(Title=f"Disputed, {decision}", Reward="3.00")["HITId"]
    accepted = people.test("accept", worker_id=worker["worker_id"], hit_id=hit_id)["assignment_id"]
    people.http.post("/mturk/externalSubmit", data={"assignmentId": accepted, "answer": "left"})
    rosa.client.reject_assignment(AssignmentId=accepted, RequesterFeedback="Wrong")
    assert dora.post(f"/work/{accepted}/dispute", text="It is right: see page 3.").status_code == 303
    assert rosa.money() == ("1000.00", "0.00")

    page = visitor(olga, at="/operator/disputes")
    page.get_by_role("link", name=f"Disputed, {decision}").click()
    expect(page.get_by_text("It is right: see page 3.")).to_be_visible()
    expect(page.get_by_text("<FreeText>left</FreeText>")).to_be_visible()
    page.locator(f"input[value={decision}]").check()
    page.get_by_label("Reason").fill("Page 3 says so.")
    page.get_by_role("button", name="Continue").click()
    assert rosa.money() == ("1000.00", "0.00")
    page.get_by_role("button", name="Approve and pay" if decision == "overturned" else "Uphold").click()
    expect(page.get_by_role("status")).to_contain_text("Your decision is saved")

    text = dora.get(f"/work/{accepted}").text
    assert words in text
    assert "Page 3 says so." in text
    owed = people.test("look", worker_id=worker["worker_id"])["earnings"]["owed"]
    assert owed == ("3.00" if decision == "overturned" else "0.00")
    again = {"decision": "overturned", "answer": "Twice.", "confirmed": "yes"}
    path = page.url.removeprefix(people.url)
    olga.post(path, **again)
    assert "This dispute is closed." in olga.get(path).text
    assert people.test("look", worker_id=worker["worker_id"])["earnings"]["owed"] == owed
    assert rosa.money() == (("996.40", "0.00") if decision == "overturned" else ("1000.00", "0.00"))
    assert len(re.findall(r"(overturn|uphold) rejection", audit(olga, accepted))) == 1


def test_payouts_leave_the_books_once_and_their_list_can_be_fetched_again(
    people: Marketplace, visitor: Visitor, olga: Person, rosa: Requester, wanda: Worker
) -> None:
    other = people.worker()
    for worker, reward in ((wanda, "1.10"), (other, "2.25")):
        done = worker.do(rosa.hit(Reward=reward, Title=reward)["HITId"])
        rosa.client.approve_assignment(AssignmentId=done)
    page = visitor(olga, at="/operator/payouts")
    expect(page.get_by_role("row").filter(has_text=wanda.id)).to_contain_text("$1.10")
    page.get_by_role("button", name="Make a list to pay from").click()
    done = wanda.do(rosa.hit(Reward="0.15", Title="late")["HITId"])
    rosa.client.approve_assignment(AssignmentId=done)
    page.get_by_role("button", name="Book as paid").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was booked")
    assert wanda.look()["earnings"]["owed"] == "1.25"
    page.get_by_role("button", name="Book as paid").click()
    expect(page.get_by_role("status")).to_contain_text("booked as paid")
    assert wanda.look()["earnings"] | {"pending": ""} == {
        "rewards": "1.25",
        "bonuses": "0.00",
        "paid_out": "1.25",
        "pending": "",
        "pending_bonus": "0.00",
        "owed": "0.00",
    }
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    fetched = download.value.path().read_text()
    rows = {row["worker_id"]: row for row in csv.DictReader(fetched.splitlines())}
    assert (rows[wanda.id]["amount"], rows[other.id]["amount"]) == ("1.25", "2.25")
    assert rows[wanda.id]["currency"] == "USD"
    reference = rows[wanda.id]["reference"]
    assert olga.get(f"/operator/payouts/list.csv?reference={reference}").text.splitlines() == fetched.splitlines()
    assert olga.post("/operator/payouts", total="0").status_code == 200
    assert "Nobody is owed anything" in olga.get("/operator/payouts").text
    assert reference in audit(olga, "pay")


def paid_out(olga: Person) -> str:
    """Book all that is owed as paid. The list's reference."""
    total = hidden(olga.post("/operator/payouts"), "total")
    answer = olga.post("/operator/payouts", total=total)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"].partition("reference=")[2]


@pytest.fixture
def paying(
    people: Marketplace, olga: Person, rosa: Requester, wanda: Worker
) -> Iterator[Callable[..., httpx.Response]]:
    """Confirms the payouts and, after the page has been compared with what is owed, lets other work be approved."""
    done = wanda.do(rosa.hit(Reward="1.10", Title="first")["HITId"])
    rosa.client.approve_assignment(AssignmentId=done)
    total = hidden(olga.post("/operator/payouts"), "total")
    connection = psycopg2.connect(people.database.replace("postgres://", "postgresql://", 1))

    def confirm(meanwhile: str) -> httpx.Response:
        with ThreadPoolExecutor(1) as pool, connection, connection.cursor() as cursor:
            cursor.execute("SELECT FROM marketplace_worker WHERE worker_id = %s FOR NO KEY UPDATE", [wanda.id])
            answer = pool.submit(olga.post, "/operator/payouts", total=total)
            waiting = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            while not answer.done() and people.sql(waiting) == [(0,)]:
                time.sleep(0.05)
            rosa.client.approve_assignment(AssignmentId=meanwhile)
            connection.rollback()
            return answer.result()

    yield confirm
    connection.close()


def test_who_earns_while_payouts_are_confirmed_is_not_on_the_list(
    people: Marketplace, olga: Person, rosa: Requester, wanda: Worker, paying: Confirm
) -> None:
    other = people.worker()
    done = other.do(rosa.hit(Reward="2.25", Title="meanwhile")["HITId"])

    answer = paying(done)

    assert answer.status_code == 303
    rows = {row["worker_id"] for row in listed(olga, answer.headers["Location"].partition("reference=")[2])}
    assert wanda.id in rows
    assert other.id not in rows
    assert other.look()["earnings"]["owed"] == "2.25"
    assert wanda.look()["earnings"]["owed"] == "0.00"


def test_nothing_is_paid_out_if_somebody_on_the_list_earns_more_meanwhile(
    rosa: Requester, wanda: Worker, paying: Confirm
) -> None:
    done = wanda.do(rosa.hit(Reward="0.15", Title="meanwhile")["HITId"])

    answer = paying(done)

    assert answer.status_code == 200
    assert "nothing was booked" in answer.text
    assert wanda.look()["earnings"]["owed"] == "1.25"


def test_an_address_is_not_a_formula_in_the_list(people: Marketplace, olga: Person, rosa: Requester) -> None:
    worker = people.test("worker", email="=1+2@example.org")
    accepted = people.test("accept", worker_id=worker["worker_id"], hit_id=rosa.hit(Title="formula")["HITId"])
    people.http.post("/mturk/externalSubmit", data={"assignmentId": accepted["assignment_id"], "answer": "left"})
    rosa.client.approve_assignment(AssignmentId=accepted["assignment_id"])

    rows = {row["worker_id"]: row for row in listed(olga, paid_out(olga))}

    assert rows[worker["worker_id"]]["email"] == "'=1+2@example.org"


def test_a_payout_that_came_back_is_owed_again_and_paid_again(
    people: Marketplace, visitor: Visitor, olga: Person, rosa: Requester
) -> None:
    worker = people.test("worker", email="bo@example.org", password=PASSWORD)
    bo = Person(people, "bo@example.org")
    accepted = people.test("accept", worker_id=worker["worker_id"], hit_id=rosa.hit(Reward="4.20")["HITId"])
    people.http.post("/mturk/externalSubmit", data={"assignmentId": accepted["assignment_id"], "answer": "left"})
    rosa.client.approve_assignment(AssignmentId=accepted["assignment_id"])
    reference = paid_out(olga)
    page = visitor(olga, at=f"/operator/payouts/list?reference={reference}")
    page.get_by_role("row").filter(has_text=worker["worker_id"]).get_by_role("link", name="It came back").click()
    path = page.url.removeprefix(people.url)
    page.get_by_role("link", name="It did not").click()
    assert olga.post(path, reason=" ").status_code == 400
    assert people.test("look", worker_id=worker["worker_id"])["earnings"]["owed"] == "0.00"

    page.goto(path)
    page.get_by_label("Why it came back").fill("The account is closed")
    page.get_by_role("button", name="It came back").click()
    expect(page.get_by_role("status")).to_contain_text("owed the amount again")

    earnings = people.test("look", worker_id=worker["worker_id"])["earnings"]
    assert (earnings["owed"], earnings["paid_out"], earnings["rewards"]) == ("4.20", "0.00", "4.20")
    text = bo.get("/earnings").text
    assert "The account is closed" in text
    assert "owed to you again" in text
    rows = {row["worker_id"]: row for row in listed(olga, reference)}
    assert rows[worker["worker_id"]]["came_back_at"]
    assert "The account is closed" in audit(olga, "payout")
    assert olga.post(path, reason="Twice").status_code == 409
    again = paid_out(olga)
    assert {row["worker_id"]: row["amount"] for row in listed(olga, again)}[worker["worker_id"]] == "4.20"
    assert not {row["worker_id"]: row["came_back_at"] for row in listed(olga, again)}[worker["worker_id"]]
    assert people.test("look", worker_id=worker["worker_id"])["earnings"]["paid_out"] == "4.20"
    assert rosa.money() == ("994.96", "0.00")


def listed(olga: Person, reference: str) -> list[dict[str, str]]:
    """A list of payouts, as fetched."""
    return list(csv.DictReader(olga.get(f"/operator/payouts/list.csv?reference={reference}").text.splitlines()))


def test_a_deactivated_requester_stops_at_once_and_its_workers_are_paid(
    people: Marketplace, visitor: Visitor, olga: Person, rosa: Requester, wanda: Worker
) -> None:
    will, wes = people.worker(), people.worker()
    hits = [rosa.hit(Reward="1.00", MaxAssignments=3)["HITId"] for _ in range(2)]
    submitted = [wanda.do(hit_id) for hit_id in hits]
    begun = will.accept(hits[0])
    assert rosa.money() == ("992.80", "7.20")
    page = visitor(olga, at=f"/operator/requesters/{rosa.account_id}")
    page.get_by_role("link", name="Deactivate").click()
    page.get_by_role("button", name="Deactivate").click()  # asks for a reason
    expect(page.get_by_role("heading", name="Deactivate the requester?")).to_be_visible()
    rosa.client.get_account_balance()
    page.get_by_label("Reason").fill("Asks for passwords")
    page.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_role("status")).to_contain_text("2 HITs have been expired")

    with refusing("AccessDeniedException", "not active"):
        rosa.client.get_account_balance()
    with refusing("AccessDeniedException", "not active"):
        rosa.hit()
    facts = page.locator("dl.facts")
    expect(facts).to_contain_text("$996.40")
    expect(facts).to_contain_text("$3.60")
    assert not set(hits) & set(wes.finds())
    assert "no longer available" in wes.cannot_accept(hits[0])
    assert will.submit(begun).status_code == 200

    page.reload()
    page.get_by_role("link", name="3 submissions are waiting").click()
    look_well(page, page.url.removeprefix(people.url))
    page.get_by_role("row").filter(has_text=submitted[1]).get_by_role("checkbox").uncheck()
    page.get_by_label("Reason").fill("Honest work")
    page.get_by_role("button", name="Approve and pay").click()
    expect(page.get_by_role("status")).to_contain_text("2 assignments have been approved")
    assert (wanda.look()["earnings"]["owed"], will.look()["earnings"]["owed"]) == ("1.00", "1.00")
    people.advance(days=4)
    assert wanda.look()["earnings"]["owed"] == "2.00"  # the clock did the third

    people.test("clock", reset=True)
    path = f"/operator/requesters/{rosa.account_id}"
    assert olga.post(f"{path}/status", wanted="inactive", reason="Again").status_code == 409
    assert olga.post(f"{path}/status", wanted="active", reason="Explained").status_code == 303
    assert rosa.money() == ("996.40", "0.00")
    assert {rosa.status(hit_id) for hit_id in hits} == {"Reviewable"}
    assert hits[0] not in wes.finds()
    rosa.client.update_expiration_for_hit(HITId=hits[0], ExpireAt=datetime.now(UTC) + timedelta(days=1))
    assert hits[0] in wes.finds()
    assert olga.get(f"{path}/undecided").status_code == 303
    for words in ("Asks for passwords", "Explained"):
        assert words in audit(olga, rosa.account_id)
    assert "Honest work" in audit(olga, submitted[0])


def test_a_forgotten_password_is_replaced_once_by_a_link(people: Marketplace, visitor: Visitor, olga: Person) -> None:
    worker = people.test("worker", email="fay@example.org", password=PASSWORD)
    fay = Person(people, "fay@example.org")
    path = f"/operator/workers/{worker['worker_id']}"
    assert olga.post(f"{path}/password").status_code == 400
    page = visitor(olga, at=path)
    section = page.locator(f"form[action='{path}/password']")
    section.get_by_label("Reason").fill("Called by phone")
    section.get_by_role("button", name="Create a link").click()
    address = page.locator("#address").inner_text()
    page.get_by_role("link", name="Done").click()
    assert address not in page.content()
    assert address.rpartition("/")[2] not in audit(olga, worker["worker_id"])
    assert "Called by phone" in audit(olga, worker["worker_id"])

    guest = visitor(at=address)
    assert address.rpartition("/")[2] not in guest.url  # nor in what the browser tells others
    guest.get_by_label("New password", exact=True).fill("1234")
    guest.get_by_label("New password confirmation").fill("1234")
    guest.get_by_role("button", name="Set the password").click()
    expect(guest.get_by_role("alert").first).to_contain_text("too short")
    for label in ("New password", "New password confirmation"):
        guest.get_by_label(label, exact=True).fill("a better one, and longer")
    guest.get_by_role("button", name="Set the password").click()
    expect(guest.get_by_role("status")).to_contain_text("Your password has been changed")
    guest.goto(address)
    expect(guest.get_by_text("This link has already been used")).to_be_visible()

    assert fay.get("/tasks").status_code == 302  # logged out
    assert fay.post("/login", username="fay@example.org", password=PASSWORD).status_code == 200
    assert fay.post("/login", username="fay@example.org", password="a better one, and longer").status_code == 302
    assert olga.post(path, status="closed", reason="asked for it").status_code == 303
    assert olga.post(f"{path}/password", reason="once more").status_code == 409


def test_a_link_to_a_password_works_for_a_day(people: Marketplace, olga: Person) -> None:
    worker = people.test("worker", email="late@example.org", password=PASSWORD)
    link = olga.post(f"/operator/workers/{worker['worker_id']}/password", reason="Forgot").text
    path = re.search(r"/password/\w+/[\w-]+", link)
    assert path
    people.advance(hours=23)
    assert people.http.get(path[0]).status_code == 302
    people.advance(hours=2)
    assert "has expired" in people.http.get(path[0]).text


def test_a_worker_who_moved_gets_the_tasks_of_another_country(
    people: Marketplace, olga: Person, rosa: Requester, wanda: Worker
) -> None:
    canadian = {"QualificationTypeId": "00000000000000000071", "Comparator": "EqualTo"}
    hit_id = rosa.hit(QualificationRequirements=[canadian | {"LocaleValues": [{"Country": "CA", "Subdivision": "ON"}]}])
    assert "qualifications" in wanda.cannot_accept(hit_id["HITId"])
    path = f"/operator/workers/{wanda.id}/country"
    assert olga.post(path, country="CA", subdivision="ON").status_code == 400
    assert olga.post(path, country="XX", subdivision="", reason="Moved").status_code == 400
    refused = olga.post(path, country="CA", subdivision="WA", reason="Moved")
    assert refused.status_code == 409 and "not the ISO 3166 code of a state or province of Canada" in refused.text
    assert "qualifications" in wanda.cannot_accept(hit_id["HITId"])

    assert olga.post(path, country="CA", subdivision="on", reason="Moved in May").status_code == 303

    wanda.accept(hit_id["HITId"])
    text = audit(olga, wanda.id)
    for words in ("move worker", "US", "CA-ON", "Moved in May", OPERATOR):
        assert words in text


def test_a_workers_question_is_answered_in_the_requesters_name(
    people: Marketplace, olga: Person, rosa: Requester
) -> None:
    people.test("worker", email="quentin@example.org", password=PASSWORD)
    quentin = Person(people, "quentin@example.org")
    hit_id = rosa.hit()["HITId"]
    assert quentin.post(f"/contact/{hit_id}", subject="Page 2", text="Which one?").status_code == 303
    page = olga.get(f"/operator/requesters/{rosa.account_id}").text
    path = re.search(r'href="(/operator/requesters/\w+/messages/\d+)"', page)
    assert path
    assert "Which one?" in olga.get(path[1]).text
    assert olga.post(path[1], text="The second.").status_code == 303
    assert "Re: Page 2" in quentin.get("/messages").text
    assert OPERATOR not in quentin.get("/messages").text


def test_nothing_of_it_is_done_without_the_token_of_the_form_or_by_others(
    people: Marketplace, olga: Person, rosa: Requester, wanda: Worker
) -> None:
    people.test("worker", email="eve@example.org", password=PASSWORD)
    eve = Person(people, "eve@example.org")
    paths = {
        "requesters": {"name": "Mine"},
        f"requesters/{rosa.account_id}/keys": {"label": "mine"},
        f"requesters/{rosa.account_id}/deposit": {"amount": "5"},
        "workers/invite": {"days": "3"},
        "payouts": {"total": "0"},
        "payouts/1/bounce": {"reason": "Mine"},
        "deposit-requests/1": {"decision": "grant", "amount": "1.00"},
        f"requesters/{rosa.account_id}/status": {"wanted": "inactive", "reason": "Mine"},
        f"requesters/{rosa.account_id}/undecided": {"assignment": "X", "reason": "Mine"},
        f"workers/{wanda.id}/password": {"reason": "Mine"},
        f"workers/{wanda.id}/country": {"country": "CA", "reason": "Mine"},
    }
    for path, fields in paths.items():
        assert eve.post(f"/operator/{path}", **fields).status_code == 403, path
        assert olga.http.post(f"/operator/{path}", data=fields).status_code == 403, path
    calls = f"requesters/{rosa.account_id}/calls"
    lists = ("payouts/list", "payouts/list.csv", calls)
    for path in ("", "requesters", "workers", "disputes", "payouts", "books", "audit", *lists):
        assert eve.get(f"/operator/{path}").status_code == 403, path
    for path in (
        "requesters/NONE",
        "workers/NONE",
        "disputes/999999",
        "requesters/NONE/keys/X/revoke",
        "payouts/list.csv?reference=no",
        "payouts/999999/bounce",
        "requesters/NONE/status",
        "nowhere",
    ):
        assert olga.get(f"/operator/{path}").status_code == 404, path


def test_pages_are_accessible_and_fit_a_phone(
    people: Marketplace, visitor: Visitor, olga: Person, rosa: Requester
) -> None:
    worker = people.test("worker", email="averyveryverylongaddress.of.a.worker@example.org", password=PASSWORD)
    zoe = Person(people, "averyveryverylongaddress.of.a.worker@example.org")
    hit_id = rosa.hit(Title="Looked at")["HITId"]
    zoe.post(f"/contact/{hit_id}", subject="A question", text="Why?")
    for title, decide in (("Rejected", "reject"), ("Done", "approve")):
        accepted = people.test("accept", worker_id=worker["worker_id"], hit_id=rosa.hit(Title=title)["HITId"])
        assignment_id = accepted["assignment_id"]
        people.http.post("/mturk/externalSubmit", data={"assignmentId": assignment_id, "answer": "x" * 300})
        if decide == "reject":
            rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="No")
            zoe.post(f"/work/{assignment_id}/dispute", text="Yes")
        else:
            rosa.client.approve_assignment(AssignmentId=assignment_id)
    requester = olga.get(f"/operator/requesters/{rosa.account_id}").text
    message = re.search(r'href="(/operator/requesters/\w+/messages/\d+)"', requester)
    key = re.search(r'href="(/operator/requesters/\w+/keys/\w+/revoke)"', requester)
    dispute = re.search(r'href="(/operator/disputes/\d+)"', olga.get("/operator/disputes").text)
    assert message and key and dispute
    page = visitor(olga)
    paths = ["", "requesters", f"requesters/{rosa.account_id}", "workers", f"workers/{worker['worker_id']}"]
    paths += ["disputes", "payouts", "audit", "audit?words=nothinglikethis"]
    look_well(page, *[f"/operator/{path}" for path in paths], message[1], key[1], dispute[1])
    reference = paid_out(olga)
    page.goto(f"/operator/payouts/list?reference={reference}")
    bounce = page.get_by_role("link", name="It came back").first.get_attribute("href") or ""
    look_well(page, f"/operator/payouts/list?reference={reference}", "/operator/payouts", bounce)
    look_well(page, f"/operator/requesters/{rosa.account_id}/status")
    link = olga.post(f"/operator/workers/{worker['worker_id']}/password", reason="Forgot").text
    address = re.search(r"/password/\w+/[\w-]+", link)
    assert address
    look_well(visitor(), address[0], "/password/MQ/set-nothing")


def test_the_overview_names_hits_whose_turn_failed(people: Marketplace, olga: Person, rosa: Requester) -> None:
    assert "Work that was due on" not in olga.get("/operator/").text
    hit_id = rosa.hit(LifetimeInSeconds=60)["HITId"]
    damage = "UPDATE marketplace_hit SET held = held {} 5000 WHERE hit_id = %s"
    people.sql(damage.format("+"), hit_id)
    people.advance(seconds=61)

    page = olga.get("/operator/").text

    people.sql(damage.format("-"), hit_id)
    assert "Work that was due on 1 HIT failed." in page
    assert hit_id in page
    assert "entry_hold_covered" in page
    people.advance(seconds=61)
    assert "Work that was due on" not in olga.get("/operator/").text


def test_the_books_are_shown_with_the_income_from_fees(
    people: Marketplace, olga: Person, rosa: Requester, wanda: Worker
) -> None:
    assignment_id = wanda.do(rosa.hit(Reward="5.00")["HITId"])
    rosa.client.approve_assignment(AssignmentId=assignment_id)
    people.run("verify_ledger")
    rosa.client.send_bonus(WorkerId=wanda.id, AssignmentId=assignment_id, BonusAmount="7.00", Reason="since the check")

    page = olga.get("/operator/books").text

    ((entries,),) = people.sql("SELECT count(*) FROM marketplace_entry")
    ((fees,),) = people.sql(
        "SELECT -sum(available + on_hold) FROM marketplace_entry WHERE kind IN ('fee', 'bonus fee')"
    )
    assert "The books are right." in page
    assert f"${fees:,.2f}" in page
    assert re.search(rf"<dt>Entries</dt><dd>{entries:,}</dd>", page)
    assert datetime.now(UTC).strftime("%Y-%m") in page
    assert f"${fees:,.2f}" in olga.get("/operator/").text


def test_a_difference_in_the_books_is_on_the_overview(people: Marketplace, olga: Person, rosa: Requester) -> None:
    hit_id = rosa.hit()["HITId"]
    change = "UPDATE marketplace_hit SET held = held {} 5 WHERE hit_id = %s"
    people.sql(change.format("+"), hit_id)
    with pytest.raises(AssertionError, match="The books are wrong"):
        people.run("verify_ledger")

    overview, page = olga.get("/operator/").text, olga.get("/operator/books").text

    people.sql(change.format("-"), hit_id)
    assert "The books are wrong." in overview
    assert f"HIT {hit_id} holds $6.20 by its own row, and $1.20 by its entries." in page
    people.run("verify_ledger")
    assert "The books are wrong" not in olga.get("/operator/").text


def test_the_calls_of_a_requester_are_shown_to_the_operator_alone(
    people: Marketplace, olga: Person, rosa: Requester, wanda: Worker
) -> None:
    hit_id = rosa.hit()["HITId"]
    with refusing("HITDoesNotExist"):
        rosa.client.get_hit(HITId="3NONE")
    path = f"/operator/requesters/{rosa.account_id}/calls"

    page = olga.get(path).text

    assert page.index("HITDoesNotExist") < page.index(hit_id)
    assert path in olga.get(f"/operator/requesters/{rosa.account_id}").text
    assert hit_id not in olga.get(f"{path}?words=HITDoesNotExist").text
    assert hit_id in olga.get(f"{path}?words={rosa.key_id}").text
    assert hit_id not in olga.get(f"/operator/requesters/{people.requester().account_id}/calls").text
    assert httpx.get(f"{people.url}{path}", follow_redirects=False).status_code == 302


def test_no_address_is_written_into_the_audit(people: Marketplace, olga: Person) -> None:
    email = "private.person@example.org"
    before = people.sql("SELECT coalesce(max(id), 0) FROM marketplace_auditevent")[0][0]
    olga.post("/operator/workers/invite", email=email, days="14", vouched_approved="0", vouched_rejected="0")
    worker_id = people.test("worker", email=email)["worker_id"]
    people.run("reset_password", email, "--reason", "Asked by phone")
    people.start("create_operator", "another.operator@example.org", MARKETPLACE_OPERATOR_PASSWORD=PASSWORD)

    rows = people.sql(
        "SELECT command, subject, details::text FROM marketplace_auditevent WHERE id > %s ORDER BY id", before
    )

    assert len(rows) == 3
    assert "@" not in str(rows)
    assert rows[1][:2] == ("reset_password", worker_id)
    page = audit(olga, OPERATOR)  # found and shown by the address that the account has today
    assert OPERATOR in page
    assert "invite worker" in page


def test_the_audit_names_an_assignment_that_was_let_lapse(people: Marketplace, olga: Person) -> None:
    single, several = "3" + "L" * 29, ["3" + "M" * 29, "3" + "N" * 29]
    people.run("lapse", single)
    people.run("lapse", *several)
    assert f">{single}</span>" in audit(olga, single) and ">2 assignments</span>" in audit(olga, "lapse")


def test_the_new_pages_fit_and_are_accessible(
    people: Marketplace, olga: Person, rosa: Requester, visitor: Visitor
) -> None:
    rosa.hit()
    people.run("verify_ledger")
    page = visitor(olga)

    look_well(page, "/operator/", "/operator/books", f"/operator/requesters/{rosa.account_id}/calls")
