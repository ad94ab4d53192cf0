"""Through the API: other terms for a published campaign, at a real marketplace."""

from typing import Any

import pytest

from core.models import AuditEntry
from platforms.models import Publication, TermsVersion
from platforms.terms import publication_write
from pools.models import Campaign
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.platforms.conftest import marketplace, publication, published, requester  # noqa: F401

pytestmark = pytest.mark.django_db


def test_terms_of_a_published_campaign_are_previewed_and_replaced(
    published: Publication,  # noqa: F811
    program: Program,
) -> None:
    address = f"campaigns/{published.campaign_id}/publication/terms/"
    sent: dict[str, Any] = {"title": "Compare two answers", "lifetime_days": 3, "why": "Too few came."}
    assert_problem(program.patch(address, {"lifetime_days": 9999}), 400, field="lifetime_days")
    assert_problem(program.patch(address, {"colour": "red"}), 400, field="colour")
    assert_problem(program.patch(address, {"base": "0.01"}), 400, field="base", says="as it was published")
    assert_problem(program.patch(address, {"platform": "mturk"}), 400, field="platform")
    assert TermsVersion.objects.count() == 1

    before = program.get(address).json()
    assert (before["version"], before["terms"]["title"]) == (1, published.title)
    preview = program.post(f"{address}preview/", sent).json()
    assert {change["term"]: change["after"] for change in preview["changes"]} == {
        "title": "Compare two answers",
        "lifetime_days": 3.0,
    }
    assert preview["moving"] == 3
    published.refresh_from_db()
    assert published.title != "Compare two answers"

    replaced = program.patch(address, sent).json()
    assert (replaced["state"], replaced["terms"]["title"]) == ("open", "Compare two answers")
    assert program.get(address).json()["version"] == 2
    assert program.patch(address, sent).status_code == 200  # the same again
    assert TermsVersion.objects.count() == 2
    entry = AuditEntry.objects.filter(subject="platforms_publication", changes__has_key="title").latest("id")
    assert entry.why == "Too few came."


def test_terms_of_a_draft_are_not_replaced(campaign: Campaign, program: Program, settings: Any) -> None:
    address = f"campaigns/{campaign.pk}/publication/terms/"
    assert_problem(program.get(address), 404)
    assert_problem(program.patch(address, {"title": "x"}), 404)
    publication_write(campaign=campaign, platform="marketplace")
    assert program.get(address).json()["version"] is None
    for refused in (program.patch(address, {"title": "x"}), program.post(f"{address}preview/", {"title": "x"})):
        assert_problem(refused, 409, says="not published yet")
