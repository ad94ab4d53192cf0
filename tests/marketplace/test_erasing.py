"""Workers' own data at the marketplace: downloading it, closing an account, erasing a worker."""

from tests.marketplace.people import Person, Wanda, market, olga, people
from tests.marketplace.server import Marketplace

__all__ = ["market", "olga", "people"]


def test_a_worker_downloads_what_is_stored_closes_the_account_and_is_erased(people: Marketplace, olga: Person) -> None:
    wanda, other = Wanda(people), Wanda(people)
    answer = wanda.person.get("/account/data.json")
    assert answer.json()["account"]["email"] == wanda.email
    assert other.email not in answer.text
    assert "Download all that is stored" in wanda.person.get("/account").text
    assert wanda.person.post("/account/close").status_code in (302, 303)
    assert wanda.person.get("/account/data.json").status_code == 302

    page = f"/operator/workers/{wanda.id}/erase"
    assert "What stays, and why" in olga.get(page).text
    assert olga.post(page, reason="").status_code == 400
    assert wanda.email in olga.get(f"/operator/workers/{wanda.id}").text
    assert olga.post(page, reason="Asked by mail").status_code in (302, 303)
    for address in (f"/operator/workers/{wanda.id}", "/operator/workers", "/operator/audit"):
        assert wanda.email not in olga.get(address).text
    assert "erase worker" in olga.get("/operator/audit").text
    assert olga.post(page, reason="Once more").status_code in (302, 303)
    assert other.person.get("/account").status_code == 200
    assert other.person.get(page).status_code == 403


def test_a_worker_who_is_at_work_or_owed_money_is_not_erased_and_the_reason_is_said(
    people: Marketplace, olga: Person
) -> None:
    rosa, wanda = people.requester(), people.worker()
    hit = str(rosa.hit()["HITId"])
    assignment = wanda.accept(hit)
    page = f"/operator/workers/{wanda.id}/erase"
    assert "1 task is accepted or not decided on." in olga.get(page).text
    refusal = olga.post(page, reason="Asked")
    assert refusal.status_code == 409 and "cannot be erased yet" in refusal.text
    wanda.give_back(assignment)
    ledger = people.sql("SELECT * FROM marketplace_entry ORDER BY id")
    for _twice in range(2):
        assert olga.post(page, reason="Asked").status_code == 303
    assert people.sql("SELECT * FROM marketplace_entry ORDER BY id") == ledger
    [(email, active)] = people.sql(
        "SELECT email, is_active FROM marketplace_account a JOIN marketplace_worker w ON w.account_id = a.id "
        "WHERE worker_id = %s",
        wanda.id,
    )
    assert email.endswith("@erased.invalid") and not active


def test_who_has_not_been_seen_for_as_long_as_is_set_is_erased_once_nothing_is_open(
    people: Marketplace, olga: Person
) -> None:
    rosa = people.requester()
    gone, working, here = people.worker(), people.worker(), people.worker()
    working.accept(str(rosa.hit()["HITId"]))
    past = "now() - interval '400 days'"
    for worker in (gone, working):
        people.sql(f"UPDATE marketplace_worker SET registered_at = {past} WHERE worker_id = %s", worker.id)
        people.sql(
            f"UPDATE marketplace_account SET last_login = {past} WHERE id = "
            "(SELECT account_id FROM marketplace_worker WHERE worker_id = %s)",
            worker.id,
        )
    people.sql(
        f"UPDATE marketplace_assignment SET accepted_at = {past} WHERE worker_id IN (SELECT id FROM "
        "marketplace_worker WHERE worker_id = %s)",
        working.id,
    )
    forget = (
        "from marketplace.services.daily import forget; done = forget(); print(done['workers'], done['first_kept'])"
    )
    assert people.run("shell", "-v", "0", "-c", forget) == "0 []"  # nothing is set at first
    output = people.run(
        "shell", "-v", "0", "-c", f"from django.conf import settings; settings.WORKER_DAYS = 365; {forget}"
    )
    assert output == f"1 ['{working.id}']"
    assert "1 worker who was not seen for 365 days could not be erased" in olga.get("/operator/workers").text
    assert f"/operator/workers/{working.id}/erase" in olga.get("/operator/workers").text
    erased = {row[0] for row in people.sql("SELECT worker_id FROM marketplace_worker WHERE erased_at IS NOT NULL")}
    assert gone.id in erased and not {working.id, here.id} & erased
