"""Through the API: erasing workers, members and campaigns, how long data are kept, and release bundles."""

from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from api.models import StoredAnswer, Token
from core.models import AuditEntry, Lab, User
from judgments.models import Judgment
from platforms.publishing.publications import campaign_move
from pools.models import Campaign
from protection import jobs as protection_jobs
from protection.models import Retention
from tasks.models import Worker
from tasks.names import pseudonym
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(lab: Lab) -> Program:
    """A program of an admin of Rita's lab."""
    return Program(factories.member(lab, "admin", "anna"))


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> Any:
    """What jobs are asked for is done when the block ends."""
    for job in (protection_jobs.erase_whole_campaign, protection_jobs.erase_campaign, protection_jobs.make_bundle):
        monkeypatch.setattr(job, "delay", job)
    return lambda: django_capture_on_commit_callbacks(execute=True)


def close(campaign: Campaign) -> None:
    campaign_move(campaign=campaign, to=Campaign.State.CLOSED, at=timezone.now())


def test_an_admins_program_finds_a_worker_hands_over_the_data_and_erases(
    lab: Lab, campaign: Campaign, alice: Worker
) -> None:
    anna = factories.member(lab, "admin", "anna")
    admin, base, name = Program(anna), f"labs/{lab.pk}/workers/", pseudonym(campaign, alice.pk)
    factories.do(alice, campaign)
    label = alice.label
    assert_problem(admin.get(base), 400, field="who")
    assert admin.get(f"{base}?who=nobody").json()["results"] == []
    for words in (label, name):
        assert [row["id"] for row in admin.get(f"{base}?who={words}").json()["results"]] == [alice.pk]

    of_alice = f"{base}{alice.pk}/"
    for address in (f"{base}?who={name}", f"{of_alice}data/", f"{of_alice}erasure/"):
        assert_problem(Program(anna, "read").get(address), 403, says="manage")
    assert not AuditEntry.objects.filter(subject="personal-data").exists()
    data = admin.get(f"{of_alice}data/").json()
    assert (data["worker"]["label"], len(data["assignments"])) == (label, 1)
    assert data["campaigns"] == [{"campaign": campaign.name, "pseudonym_in_exports": name}]
    assert AuditEntry.objects.filter(subject="personal-data").count() == 1

    plan = admin.get(f"{of_alice}erasure/").json()
    assert (plan["is_done"], plan["obstacles"], plan["pseudonyms"]) == (False, [], {campaign.name: name})
    alice.refresh_from_db()
    assert (alice.label, alice.erased_at) == (label, None)
    assert plan["owed"] == {campaign.name: "2.00"}
    assert_problem(admin.post(f"{of_alice}erasure/", {"why": "Asked for."}), 409, says="written off")
    sent = {"why": "Asked for.", "write_off": True}
    done = admin.post(f"{of_alice}erasure/", sent).json()
    assert (done["is_done"], done["goes"]) == (True, {})
    alice.refresh_from_db()
    assert alice.label != label and alice.erased_at is not None
    assert admin.get(f"{of_alice}data/").json()["worker"]["label"] != label


# --- members


def test_a_member_who_leaves_is_erased_by_an_admin_of_the_site_alone(
    lab: Lab, campaign: Campaign, admin: Program, ada: User, rita: User
) -> None:
    membership = lab.memberships.get(user=rita)
    address = f"labs/{lab.pk}/people/{membership.pk}/erasure/"
    Program(rita)  # her token goes, too
    site = Program(ada)
    for refused in (admin.get(address), admin.post(address, {})):
        assert_problem(refused, 403, says="admin of this site")
    assert_problem(Program(ada, "read", "write").post(address, {}), 403, says="manage")
    plan = site.get(address).json()
    assert (plan["is_done"], plan["account"], plan["obstacle"]) == (False, rita.pk, "")
    assert plan["goes"]["identity"] >= 1
    assert campaign.name in plan["goes_on"] or campaign.created_by_id is None
    rita.refresh_from_db()
    assert (rita.username, rita.closed_at) == ("rita", None)
    assert_problem(site.post(address, {"why": "x" * 501}), 400, field="why")

    done = site.post(address, {"why": "Asked for by mail."}).json()
    assert (done["is_done"], done["closed_at"] is not None) == (True, True)
    rita.refresh_from_db()
    assert (rita.username, rita.email, rita.is_active) == (f"closed-{rita.pk}", "", False)
    assert not Token.objects.filter(user=rita).exists()
    assert AuditEntry.objects.get(subject="erasure", action="member").why == "Asked for by mail."
    assert_problem(site.get(address), 404)


def test_nobody_erases_themselves_or_the_last_admin_of_a_lab(lab: Lab, admin: Program, ada: User) -> None:
    membership = lab.memberships.create(user=ada, role="viewer")
    assert_problem(Program(ada).post(f"labs/{lab.pk}/people/{membership.pk}/erasure/", {}), 409, says="on its page")
    last = lab.memberships.get(user=admin.user)
    address = f"labs/{lab.pk}/people/{last.pk}/erasure/"
    assert Program(ada).get(address).json()["obstacle"]
    assert_problem(Program(ada).post(address, {}), 409)
    admin.user.refresh_from_db()
    assert admin.user.closed_at is None


# --- campaigns


def test_a_whole_campaign_is_erased_once_it_is_closed_and_named(
    campaign: Campaign, alice: Worker, admin: Program, now: Any
) -> None:
    factories.do(alice, campaign)
    address, name = f"campaigns/{campaign.pk}/erasure/", {"name": campaign.name, "why": "The project ends."}
    assert_problem(admin.post(address, name), 409, says="not closed")
    close(campaign)
    plan = admin.get(address).json()
    assert (plan["obstacles"], plan["goes"]["assignments"]) == ([], 1)
    assert_problem(admin.post(address, {"why": "It ends."}), 400, field="name")
    assert_problem(admin.post(address, {"name": "another"}), 400, field="name")
    assert Judgment.objects.exists() and Campaign.objects.filter(pk=campaign.pk).exists()

    with now():
        assert admin.post(address, name).json() == {"asked_for": True}
    assert not Campaign.objects.filter(pk=campaign.pk).exists() and not Judgment.objects.exists()
    assert AuditEntry.objects.get(subject="erasure", action="campaign").why == "The project ends."
    assert_problem(admin.get(address), 404)


def test_the_workers_of_a_campaign_are_erased_and_their_judgments_stay(
    campaign: Campaign, alice: Worker, program: Program, admin: Program, now: Any
) -> None:
    done = factories.do(alice, campaign)
    program.post(f"campaigns/{campaign.pk}/pay/", {"assignments": [done.pk]})
    address, judged = f"campaigns/{campaign.pk}/erasure/workers/", Judgment.objects.count()
    assert_problem(admin.post(address, {}), 409, says="not closed")
    close(campaign)
    assert admin.get(address).json() == {"workers": 1}
    assert_problem(admin.post(address, {"reason": "x"}), 400, field="reason")
    with now():
        assert admin.post(address, {"why": "Asked for."}, Idempotency_Key="once").status_code == 202
    alice.refresh_from_db()
    assert (alice.label, Judgment.objects.count()) == ("", judged)
    assert admin.get(address).json() == {"workers": 0}


def test_what_cannot_be_asked_for_is_no_promise_and_can_be_sent_again(
    campaign: Campaign, admin: Program, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def away(*_arguments: object) -> None:
        raise OperationalError("Redis is away")

    monkeypatch.setattr(protection_jobs.make_bundle, "delay", away)
    with pytest.raises(Exception, match="cannot be asked for now"), django_capture_on_commit_callbacks(execute=True):
        admin.post(f"campaigns/{campaign.pk}/bundle/", Idempotency_Key="once")
    assert not StoredAnswer.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_where_no_job_can_be_asked_for_the_answer_says_when_to_come_back(
    campaign: Campaign, admin: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_arguments: object) -> None:
        raise OperationalError("Redis is away")

    monkeypatch.setattr(protection_jobs.make_bundle, "delay", away)
    for headers in ({}, {"Idempotency_Key": "once"}):
        refused = admin.post(f"campaigns/{campaign.pk}/bundle/", **headers)
        assert_problem(refused, 503, says="cannot be asked for now")
        assert int(refused["Retry-After"]) >= 1
    assert not StoredAnswer.objects.exists()


def test_a_release_bundle_is_made_downloaded_and_refused_where_it_names_somebody(
    campaign: Campaign, alice: Worker, program: Program, now: Any
) -> None:
    factories.do(alice, campaign)
    address = f"campaigns/{campaign.pk}/bundle/"
    assert program.get(address).json() == {"file": None, "why": ""}
    assert_problem(program.get(f"{address}release.zip"), 404)
    with now():
        assert program.post(address, Idempotency_Key="once").json() == {"asked_for": True}
    stored = program.get(address).json()
    assert (stored["file"]["name"], stored["why"]) == ("release.zip", "")
    content = b"".join(program.get(f"{address}release.zip").streaming_content)
    assert len(content) == stored["file"]["size"]
    assert "README.txt" in ZipFile(BytesIO(content)).namelist()
    assert AuditEntry.objects.filter(subject="release", action="downloaded").count() == 1

    Worker.objects.filter(pk=alice.pk).update(external_id=campaign.name * 3, label="")
    Campaign.objects.filter(pk=campaign.pk).update(name=campaign.name * 3)
    with now():
        program.post(address)
    assert "has the id of a worker" in program.get(address).json()["why"]


def test_a_draft_has_nothing_to_release(program: Program, campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(state=Campaign.State.DRAFT)
    assert_problem(program.post(f"campaigns/{campaign.pk}/bundle/"), 409, says="not started")


# --- periods


def test_an_admins_program_sets_how_long_a_lab_keeps_data(lab: Lab, admin: Program) -> None:
    address = f"labs/{lab.pk}/retention/"
    assert admin.get(address).json() == {"worker_days": None, "audit_days": None, "last": None}
    assert_problem(admin.put(address, {"worker_days": 0, "audit_days": None}), 400, field="worker_days")
    assert_problem(admin.put(address, {"worker_days": 90, "audit_days": 29}), 400, field="audit_days")
    assert_problem(admin.put(address, {"worker_days": 90}), 400, field="audit_days")
    assert not Retention.objects.exists()
    periods = {"worker_days": 90, "audit_days": 365}
    assert admin.put(address, periods).json() == periods | {"last": None}
    assert Retention.objects.values("worker_days", "audit_days").get(lab=lab) == periods
    protection_jobs.keep_periods()
    last = admin.get(address).json()["last"]
    assert (last["erased"], last["kept_count"], last["kept"]) == (0, 0, [])
