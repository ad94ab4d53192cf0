"""Through the API: a lab's templates and pay floor."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from core.models import Lab
from pools.models import Campaign, CampaignTemplate
from runs import background
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db


def test_a_template_is_saved_from_a_campaign_renamed_made_the_default_and_deleted(
    lab: Lab, campaign: Campaign, program: Program, viewer: Program
) -> None:
    save, base = f"campaigns/{campaign.pk}/template/", f"labs/{lab.pk}/templates/"
    assert_problem(program.post(save, {}), 400, field="name")
    ours = program.post(save, {"name": "ours"}).json()
    assert (ours["lab"], ours["settings"]["overlap"], ours["is_default"]) == (lab.pk, campaign.overlap, False)
    assert_problem(program.post(save, {"name": "ours"}), 409, says="already has a template")
    assert [row["id"] for row in viewer.get(base).json()["results"]] == [ours["id"]]

    address = f"templates/{ours['id']}/"
    changed = program.patch(address, {"name": "usual", "is_default": True}).json()
    assert (changed["name"], changed["is_default"], changed["settings"]) == ("usual", True, ours["settings"])
    assert program.patch(address, {"is_default": False}).json()["is_default"] is False
    assert program.delete(address).status_code == 204
    assert not CampaignTemplate.objects.exists()


def test_what_a_template_has_is_changed_as_on_its_page(lab: Lab, campaign: Campaign, program: Program) -> None:
    ours = program.post(f"campaigns/{campaign.pk}/template/", {"name": "ours"}).json()
    address = f"templates/{ours['id']}/"
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"settings": {"overlap": 0}}, "settings", "overlap"),
        ({"settings": {"color": "red"}}, "settings", "color"),
        ({"settings": {"selection": "sample"}, "name": "x"}, "settings", "sample_size"),
        ({"settings": {"example_query": "Only this?"}}, "settings", "example_query"),
        ({"terms": {"lifetime_days": 9999}}, "terms", "lifetime_days"),
        ({"terms": {"color": "red"}}, "terms", "color"),
        ({"terms": {"platform": "moon"}, "name": "x"}, "terms", "platform"),
    ]
    for sent, field, inner in wrong:
        refused = program.patch(address, sent)
        assert_problem(refused, 400, field=field)
        assert refused.json()["errors"][0]["pointer"] == f"#/{field}/{inner}"
    assert program.get(address).json() == ours

    sent = {"name": "threefold", "settings": {"overlap": 3, "redo_rate": "0.25"}, "consent": "You agree."}
    changed = program.patch(address, sent | {"terms": {"lifetime_days": 3, "countries": ["GB"]}}).json()
    assert (changed["name"], changed["consent"]) == ("threefold", "You agree.")
    assert changed["settings"] == ours["settings"] | {"overlap": 3, "redo_rate": "0.250"}
    assert (changed["terms"]["lifetime_days"], changed["terms"]["countries"]) == (3.0, ["GB"])
    assert program.get(address).json() == changed
    assert program.get(f"labs/{lab.pk}/templates/").json()["results"] == [changed]
    assert program.patch(address, {"terms": None}).json() == changed | {
        "terms": None,
        "changed_at": program.get(address).json()["changed_at"],
    }


def test_a_campaign_begins_with_a_template_and_what_is_sent(
    campaign: Campaign, program: Program, stranger: Program
) -> None:
    ours = program.post(f"campaigns/{campaign.pk}/template/", {"name": "ours"}).json()
    program.patch(
        f"templates/{ours['id']}/",
        {"settings": {"overlap": 3, "redo_rate": "0.25"}, "consent": "You agree.", "terms": {"lifetime_days": 3}},
    )
    sent = {"collection": campaign.collection_id, "name": "begun", "runs": "all", "template": ours["id"]}
    theirs = CampaignTemplate.objects.create(
        lab=stranger.user.labs.get(), name="theirs", values={}, changed_at=timezone.now()
    )
    for address in ("campaigns/", "campaigns/preview/"):
        assert_problem(program.post(address, sent | {"template": theirs.pk}), 400, field="template")
    assert program.post("campaigns/preview/", sent).status_code == 200
    job = program.post("campaigns/", sent | {"pairs_per_hit": 4}).json()
    background.job_do(job_id=job["id"])
    draft = Campaign.objects.get(name="begun")
    assert (draft.overlap, draft.redo_rate, draft.pairs_per_hit) == (3, Decimal("0.25"), 4)
    assert program.get(f"campaigns/{draft.pk}/consent/").json()["text"] == "You agree."
    assert program.get(f"campaigns/{draft.pk}/publication/").json()["terms"]["lifetime_days"] == 3.0

    job = program.post("campaigns/", sent | {"name": "usual", "template": None}).json()
    background.job_do(job_id=job["id"])
    assert Campaign.objects.get(name="usual").overlap == Campaign().overlap


def test_an_admins_program_sets_the_pay_floor_and_nobody_elses(lab: Lab, viewer: Program) -> None:
    admin, address = Program(factories.member(lab, "admin", "anna")), f"labs/{lab.pk}/pay-floor/"
    assert viewer.get(address).json() == {"pay_floor": None}
    assert_problem(admin.put(address, {"pay_floor": "0"}), 400, field="pay_floor")
    assert_problem(admin.put(address, {}), 400, field="pay_floor")
    assert admin.put(address, {"pay_floor": "12.00"}).json() == {"pay_floor": "12.00"}
    lab.refresh_from_db()
    assert lab.pay_floor == Decimal(12)
    assert admin.put(address, {"pay_floor": None}).json() == {"pay_floor": None}
