"""Write the database that test_upgrade.py upgrades: `DEVELOPMENT=1 python -m tests.marketplace.upgrades.make [name]`.

Run it once for a version that is released, before anything else changes, and never change its file afterwards: it is
what an installation of that version holds. A marketplace is started, a small cast does a little of everything through
the API, the pages and the commands, and pg_dump writes the rows to `<name>.sql` beside this file. Its first line names
the newest migration, which makes the tables, and a digest of them. The name is the version's unless another is given.
"""

import re
import sys
import tempfile
import tomllib
from pathlib import Path

from tests import services  # noqa: F401 - starts PostgreSQL
from tests.databases import dump
from tests.marketplace.people import OPERATOR, PASSWORD, Person, Wanda
from tests.marketplace.server import REPOSITORY, Marketplace
from tests.marketplace.upgrades import newest_migration, tables_digest

FOLDER = Path(__file__).parent
# What `migrate` fills by itself, and what nobody misses.
WITHOUT_ROWS = ("auth_permission", "django_content_type", "django_migrations", "django_session", "marketplace_tries")


def play(marketplace: Marketplace) -> None:
    """Let requesters, workers and an operator do a little of everything."""
    marketplace.start("create_operator", OPERATOR, MARKETPLACE_OPERATOR_PASSWORD=PASSWORD)
    marketplace.run("reset_password", OPERATOR, "--reason", "Asked by telephone")
    olga = Person(marketplace, OPERATOR)
    rosa, omar = marketplace.requester("100.00"), marketplace.requester("10.00")
    wanda, will, wen = (Wanda(marketplace) for _ in range(3))
    olga.post("/operator/workers/invite", email="wu@example.org", days="14", vouched_approved="0", vouched_rejected="0")
    olga.post(f"/operator/requesters/{rosa.account_id}/keys", label="a second key")

    reader = rosa.client.create_qualification_type(Name="Reader", Description="Reads", QualificationTypeStatus="Active")
    type_id = reader["QualificationType"]["QualificationTypeId"]
    for worker in (wanda, will):
        rosa.client.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=worker.id, IntegerValue=9)
    rosa.client.disassociate_qualification_from_worker(QualificationTypeId=type_id, WorkerId=will.id, Reason="Left")
    marketplace.test("request-qualification", worker_id=wen.id, qualification_type_id=type_id)

    pairs = rosa.hit(Title="Compare", MaxAssignments=4, UniqueRequestToken="once", LifetimeInSeconds=86_400)
    rosa.client.update_notification_settings(
        HITTypeId=pairs["HITTypeId"],
        Notification={
            "Destination": "https://example.org/events",
            "Transport": "SNS",
            "Version": "2006-05-05",
            "EventTypes": ["AssignmentSubmitted"],
        },
    )
    approved, overturned, disputed = (worker.do(pairs["HITId"]) for worker in (wanda, will, wen))
    rosa.client.approve_assignment(AssignmentId=approved, RequesterFeedback="Thank you")
    rosa.client.send_bonus(
        WorkerId=wanda.id, AssignmentId=approved, BonusAmount="0.50", Reason="Quick", UniqueRequestToken="b"
    )
    for worker, assignment_id in ((will, overturned), (wen, disputed)):
        rosa.client.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Too quick")
        worker.person.post(f"/work/{assignment_id}/dispute", text="I read both")
    ((dispute_pk,),) = marketplace.sql(
        "SELECT d.id FROM marketplace_dispute d JOIN marketplace_assignment a ON a.id = d.assignment_id"
        " WHERE a.assignment_id = %s",
        overturned,
    )
    decision = {"decision": "overturned", "answer": "The answers are sound", "confirmed": "yes"}
    olga.post(f"/operator/disputes/{dispute_pk}", **decision)

    hit = rosa.hit(Title="At work")
    wanda.accept(hit["HITId"])
    wanda.do(rosa.hit(Title="Waits for a decision")["HITId"])
    given_back = rosa.hit(Title="Given back")
    will.give_back(will.accept(given_back["HITId"]))
    over = rosa.hit(Title="Over")
    rosa.client.update_expiration_for_hit(HITId=over["HITId"], ExpireAt=0)
    rosa.client.delete_hit(HITId=over["HITId"])
    guarded = {"QualificationTypeId": type_id, "Comparator": "Exists", "ActionsGuarded": "DiscoverPreviewAndAccept"}
    promising = "reading, bonus-up-to-1.90"
    rosa.hit(Title="For readers", Keywords=promising, QualificationRequirements=[guarded])
    omar.hit(Title="Ended by the operator")
    olga.post(f"/operator/requesters/{omar.account_id}/status", wanted="inactive", reason="Asked for it")

    rosa.client.create_worker_block(WorkerId=wen.id, Reason="Too quick")
    rosa.client.notify_workers(Subject="More soon", MessageText="Come again", WorkerIds=[wanda.id])
    wanda.person.post(f"/contact/{pairs['HITId']}", subject="When?", text="When do you pay?")
    total = re.search(r'name="total" value="([^"]*)"', olga.post("/operator/payouts").text)
    assert total
    olga.post("/operator/payouts", total=total[1])
    ((payout_pk,),) = marketplace.sql(
        "SELECT e.id FROM marketplace_entry e JOIN marketplace_worker w ON w.id = e.worker_id"
        " WHERE e.kind = 'payout' AND w.worker_id = %s",
        will.id,
    )
    olga.post(f"/operator/payouts/{payout_pk}/bounce", reason="The account is closed")
    marketplace.run("tick")


def tidied(text: str) -> str:
    """The rows of a dump, without what says nothing: comments, settings of the session, numbers that begin at 1."""
    text = re.sub(
        r"(?m)^(--|SET |SELECT pg_catalog\.set_config|SELECT .*, false\)|SELECT .*'public\.[ad]).*\n", "", text
    )
    text = re.sub(r"\n{2,}(?=[A-Z])", "\n", text).strip()
    return re.sub(r"(?m)^(INSERT INTO |SELECT .*')public\.", r"\1", text) + "\n"


def main() -> None:
    """Play, and write what is there then."""
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    name = sys.argv[1] if len(sys.argv) > 1 else version
    path = FOLDER / f"{name}.sql"
    if path.exists():
        sys.exit(f"{path} is there already: it is what installations of {name} hold, and is never changed.")
    with tempfile.TemporaryDirectory() as folder:
        marketplace = Marketplace(Path(folder), workers=1, MARKETPLACE_RATE_LIMITS="0")
        try:
            play(marketplace)
        finally:
            marketplace.stop()
        marketplace.start("migrate", "testing", "zero", "--verbosity", "0")  # no installation has the tests' tables
        first_line = f"-- {newest_migration()} {tables_digest(marketplace.database)}\n"
        path.write_text(first_line + tidied(dump(marketplace.database, WITHOUT_ROWS, "--data-only")))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
