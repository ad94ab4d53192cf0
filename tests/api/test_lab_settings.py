"""Through the API: a lab's templates and pay floor."""

from decimal import Decimal

import pytest

from core.models import Lab
from pools.models import Campaign, CampaignTemplate
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def test_a_template_is_saved_from_a_campaign_renamed_made_the_default_and_deleted(
    lab: Lab, campaign: Campaign, program: Program, viewer: Program, stranger: Program
) -> None:
    save, base = f"campaigns/{campaign.pk}/template/", f"labs/{lab.pk}/templates/"
    assert_problem(viewer.post(save, {"name": "ours"}), 403)
    assert_problem(program.post(save, {}), 400, field="name")
    made = program.post(save, {"name": "ours"}, Idempotency_Key="once").json()
    assert program.post(save, {"name": "ours"}, Idempotency_Key="once").json() == made
    assert (made["lab"], made["settings"]["overlap"], made["is_default"]) == (lab.pk, campaign.overlap, False)
    assert_problem(program.post(save, {"name": "ours"}), 409, says="already has a template")
    assert [row["id"] for row in viewer.get(base).json()["results"]] == [made["id"]]

    one = f"templates/{made['id']}/"
    assert_problem(stranger.get(one), 404)
    assert_problem(viewer.patch(one, {"name": "theirs"}), 403)
    changed = program.patch(one, {"name": "usual", "is_default": True}).json()
    assert (changed["name"], changed["is_default"], changed["settings"]) == ("usual", True, made["settings"])
    assert program.patch(one, {"is_default": False}).json()["is_default"] is False
    assert_problem(viewer.delete(one), 403)
    assert program.delete(one).status_code == 204
    assert not CampaignTemplate.objects.exists()


def test_an_admins_program_sets_the_pay_floor_and_nobody_elses(lab: Lab, program: Program, viewer: Program) -> None:
    admin, address = Program(factories.member(lab, "admin", "anna")), f"labs/{lab.pk}/pay-floor/"
    assert viewer.get(address).json() == {"pay_floor": None}
    assert_problem(program.put(address, {"pay_floor": "12.00"}), 403)
    assert_problem(admin.put(address, {"pay_floor": "0"}), 400, field="pay_floor")
    assert_problem(admin.put(address, {}), 400, field="pay_floor")
    assert admin.put(address, {"pay_floor": "12.00"}).json() == {"pay_floor": "12.00"}
    lab.refresh_from_db()
    assert lab.pay_floor == Decimal(12)
    assert admin.put(address, {"pay_floor": None}).json() == {"pay_floor": None}
