"""Through the API: making labs and renaming them; and why something was done, in the audit."""

import pytest

from core.models import AuditEntry, Lab, MemberInvitation, Membership, User
from pools.models import Campaign
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def test_an_admin_of_the_site_makes_a_lab_and_is_its_admin(ada: User, lab: Lab, program: Program) -> None:
    site = Program(ada)
    assert_problem(program.post("labs/", {"name": "New lab"}), 403, says="admin of this site")
    assert_problem(Program(ada, "read", "write").post("labs/", {"name": "New lab"}), 403, says="manage")
    assert_problem(site.post("labs/", {}), 400, field="name")
    assert_problem(site.post("labs/", {"name": lab.name.upper()}), 400, field="name", says="already a lab")
    assert_problem(site.post("labs/", {"name": "New lab", "email": "x@example.org"}), 400, field="email")
    assert Lab.objects.count() == 1

    creation = site.post("labs/", {"name": "New lab"}).json()
    assert (Lab.objects.count(), creation["invitation"]) == (2, None)
    assert Membership.objects.get(lab=creation["id"]).role == Membership.Role.ADMIN
    assert site.get(f"labs/{creation['id']}/").json() == {"id": creation["id"], "name": "New lab", "role": "admin"}


def test_the_link_of_a_new_labs_first_admin_is_answered_once(ada: User) -> None:
    site, sent = Program(ada), {"name": "New lab", "invite_admin": True, "email": "anna@example.org"}
    creation = site.post("labs/", sent, Idempotency_Key="once").json()
    again = site.post("labs/", sent, Idempotency_Key="once").json()
    assert "/invited/" in creation["invitation"]["link"]
    assert again == creation | {"invitation": creation["invitation"] | {"link": None}}
    invitation = MemberInvitation.objects.get(lab=creation["id"])
    assert (invitation.email, invitation.role) == ("anna@example.org", "admin")
    assert not Membership.objects.filter(lab=creation["id"]).exists()


def test_an_admin_renames_their_lab_and_nobody_elses(lab: Lab, program: Program, stranger: Program) -> None:
    admin, address = Program(factories.member(lab, "admin", "anna")), f"labs/{lab.pk}/"
    assert_problem(stranger.get(address), 404)
    assert_problem(program.patch(address, {"name": "Ours"}), 403)
    assert_problem(stranger.patch(address, {"name": "Ours"}), 404)
    assert_problem(admin.patch(address, {"name": ""}), 400, field="name")
    assert_problem(admin.patch(address, {"name": "Olga's lab"}), 400, field="name", says="already a lab")
    assert admin.patch(address, {"name": "Ours"}).json()["name"] == "Ours"
    lab.refresh_from_db()
    assert lab.name == "Ours"


def test_why_something_was_done_is_in_the_audit(program: Program, campaign: Campaign) -> None:
    address = f"campaigns/{campaign.pk}/"
    assert_problem(program.post(f"{address}pause/", {"why": ["no", "text"]}), 400, field="why")
    assert_problem(program.post(f"{address}pause/", {"reason": "x"}), 400, field="reason")
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.OPEN

    program.post(f"{address}pause/", {"why": "Half of it fails."})
    program.post(f"{address}resume/")
    program.post(f"{address}close/", {"why": "Enough."}, Idempotency_Key="once")
    entries = AuditEntry.objects.filter(subject="pools_campaign", changes__has_key="state").order_by("id")
    assert [entry.why for entry in entries][-3:] == ["Half of it fails.", "", "Enough."]
