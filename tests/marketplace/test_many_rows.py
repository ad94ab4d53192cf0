"""With five thousand of everything, every page of operators and workers stays small, and its lists go on."""

import re
from collections.abc import Iterator

import pytest

from tests.marketplace.people import OPERATOR, PASSWORD, Person, Wanda
from tests.marketplace.server import Marketplace

MANY = 1_000
MOST_BYTES = 200_000


def clone(market: Marketplace, table: str, changes: dict[str, str], *, per: str = "", where: str = "TRUE") -> None:
    """Copy a table's first row many times (or once for each row of `per`), with these columns as given in SQL.

    The number of the copy is `g`, counted on so that what must be unique is.
    """
    columns = [
        name
        for (name,) in market.sql(
            "SELECT column_name::text FROM information_schema.columns WHERE table_name = %s AND is_identity = 'NO'",
            table,
        )
    ]
    values = ", ".join(changes.get(name, f't."{name}"') for name in columns)
    copies = per or f"generate_series(1, {MANY}) g"
    names = ", ".join(f'"{name}"' for name in columns)
    market.sql(
        f"INSERT INTO {table} ({names}) SELECT {values} "
        f"FROM (SELECT * FROM {table} ORDER BY 1 LIMIT 1) t, {copies} WHERE {where}"
    )


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Marketplace]:
    """A marketplace with very much of everything, for one worker and one requester."""
    running = Marketplace(tmp_path_factory.mktemp("crowded"), MARKETPLACE_RATE_LIMITS="0")
    running.start("create_operator", OPERATOR, MARKETPLACE_OPERATOR_PASSWORD=PASSWORD)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def wanda(crowded: Marketplace) -> Iterator[Wanda]:
    """A worker who has done very much, and for whom there is very much to do."""
    rosa, wanda = crowded.requester(), Wanda(crowded)
    client = rosa.client
    done = rosa.hit()["HITId"]
    work = wanda.do(done)
    client.reject_assignment(AssignmentId=work, RequesterFeedback="No.")
    wanda.person.post(f"/work/{work}/dispute", text="It is right: see page 3.")
    paid = wanda.do(rosa.hit()["HITId"])
    client.approve_assignment(AssignmentId=paid)
    wanda.person.post(f"/contact/{done}", subject="Page 2", text="It does not load.")
    skill = client.create_qualification_type(
        Name="Reading", Description="Reads well", QualificationTypeStatus="Active", RetryDelayInSeconds=1
    )["QualificationType"]["QualificationTypeId"]
    client.associate_qualification_with_worker(
        QualificationTypeId=skill, WorkerId=wanda.id, IntegerValue=7, SendNotification=False
    )
    client.create_worker_block(WorkerId=crowded.worker().id, Reason="Spam")

    clone(crowded, "marketplace_account", {"email": "'many' || g || '@example.org'"})
    accounts = "(SELECT id, row_number() OVER (ORDER BY id) AS g FROM marketplace_account WHERE email ^@ 'many') o"
    clone(crowded, "marketplace_worker", {"account_id": "o.id", "worker_id": "'AMANY' || o.g"}, per=accounts)
    requester = {"account_id": "'AREQ' || g", "name": "'requester no. ' || g"}
    clone(crowded, "marketplace_requester", requester)
    clone(crowded, "marketplace_accesskey", {"key_id": "'MKPMANY' || g"})
    clone(crowded, "marketplace_apicall", {})
    clone(crowded, "marketplace_auditevent", {})
    clone(crowded, "marketplace_message", {"subject": "'Page ' || g"})
    kind = {"type_id": "'3TYPE' || g", "group_id": "'3GROUP' || g", "title": "'Kind ' || g", "fingerprint": "'f' || g"}
    clone(crowded, "marketplace_hittype", kind)
    kinds = "(SELECT id, substr(type_id, 6) AS g FROM marketplace_hittype WHERE type_id ^@ '3TYPE') o"
    open_hit = {"status": "'Assignable'", "n_accepted": "0", "n_submitted": "0", "n_approved": "0", "n_rejected": "0"}
    clone(crowded, "marketplace_hit", {"hit_id": "'3OPEN' || o.g", "hit_type_id": "o.id", **open_hit}, per=kinds)
    clone(crowded, "marketplace_hit", {"hit_id": "'3DONE' || g"})
    hits = "(SELECT id, substr(hit_id, 6) AS g FROM marketplace_hit WHERE hit_id ^@ '3DONE') o"
    clone(crowded, "marketplace_assignment", {"assignment_id": "'3WORK' || o.g", "hit_id": "o.id"}, per=hits)
    works = "(SELECT id, substr(assignment_id, 6) AS g FROM marketplace_assignment WHERE assignment_id ^@ '3WORK') o"
    clone(crowded, "marketplace_dispute", {"assignment_id": "o.id"}, per=works)
    crowded.sql(
        """
        INSERT INTO marketplace_entry (at, kind, requester_id, number, available, on_hold, available_after,
          on_hold_after, worker_id, earned, assignment_id, hit_id, note)
        SELECT at, kind, requester_id, 1000 + w.g, 0, 0, available_after, on_hold_after, worker_id, 0.01, w.id,
          hit_id, ''
        FROM marketplace_entry, (
          SELECT id, row_number() OVER () AS g FROM marketplace_assignment WHERE assignment_id ^@ '3WORK') w
        WHERE kind = 'reward'
        """
    )
    crowded.sql(  # what there is to pay out to each of them
        """
        INSERT INTO marketplace_entry (at, kind, requester_id, number, available, on_hold, available_after,
          on_hold_after, worker_id, earned, note)
        SELECT at, 'bonus', requester_id, 10000 + w.id, 0, 0, available_after, on_hold_after, w.id, 25, ''
        FROM marketplace_entry, (SELECT id FROM marketplace_worker WHERE worker_id ^@ 'AMANY') w
        WHERE kind = 'reward' ORDER BY number LIMIT %s
        """,
        MANY,
    )
    clone(crowded, "marketplace_qualificationtype", {"type_id": "'3QUAL' || g", "name": "'Skill ' || g"})
    skills = "(SELECT id FROM marketplace_qualificationtype WHERE type_id ^@ '3QUAL') o"
    clone(crowded, "marketplace_qualification", {"qualification_type_id": "o.id"}, per=skills)
    crowded.sql("ANALYZE")  # PostgreSQL does so by itself soon after
    yield wanda
    wanda.person.http.close()


@pytest.fixture(scope="module")
def olga(crowded: Marketplace) -> Iterator[Person]:
    person = Person(crowded, OPERATOR)
    yield person
    person.http.close()


def look(person: Person, path: str, *, goes_on: bool = True) -> None:
    """The page, and where it has lists that go on, the next one and the last, are there and small."""
    page = person.get(path)
    assert page.status_code == 200, (path, page.text[:500])
    assert len(page.content) <= MOST_BYTES, f"{path}: {len(page.content):,} bytes"
    key = re.search(r'href="\?(?:[^"]*&amp;)?([\w-]+)=2(?:[&#][^"]*)?"', page.text)
    assert (key is not None) == goes_on, path
    if key is not None:
        for number in (2, 100_000):
            other = person.get(f"{path}{'&' if '?' in path else '?'}{key[1]}={number}")
            assert other.status_code == 200 and len(other.content) <= MOST_BYTES, (path, number)
            assert other.text != page.text, (path, number)


@pytest.mark.parametrize("path", ["tasks", "tasks?words=kind", "history", "earnings", "qualifications", "messages"])
def test_a_workers_pages_stay_small(wanda: Wanda, path: str) -> None:
    look(wanda.person, f"/{path}")


@pytest.mark.parametrize("path", ["account"])
def test_a_workers_pages_without_lists_stay_small(wanda: Wanda, path: str) -> None:
    look(wanda.person, f"/{path}", goes_on=False)


@pytest.mark.parametrize("path", ["requesters", "workers", "disputes", "payouts", "audit", "audit?words=olga"])
def test_an_operators_lists_stay_small(olga: Person, wanda: Wanda, path: str) -> None:
    look(olga, f"/operator/{path}")


@pytest.mark.parametrize("path", ["", "books"])
def test_an_operators_other_pages_stay_small(olga: Person, wanda: Wanda, path: str) -> None:
    page = olga.get(f"/operator/{path}")
    assert page.status_code == 200 and len(page.content) <= MOST_BYTES, (path, len(page.content))


def test_the_pages_of_one_requester_and_one_worker_stay_small(olga: Person, crowded: Marketplace, wanda: Wanda) -> None:
    ((account,),) = crowded.sql("SELECT account_id FROM marketplace_requester ORDER BY id LIMIT 1")
    for path in (f"requesters/{account}", f"requesters/{account}/calls", f"workers/{wanda.id}"):
        look(olga, f"/operator/{path}")
