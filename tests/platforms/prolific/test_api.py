"""Through the API: a lab's account at Prolific, and Prolific's filters."""

import json

from api.models import StoredAnswer
from core.models import AuditEntry, User
from platforms.models import LabAccount, Publication
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_write
from pools.models import Campaign
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.platforms.platforms import Clock
from tests.simulation.prolific import Double


def test_an_admins_program_stores_the_labs_account_and_no_answer_has_its_token(
    campaign: Campaign, prolific: Double, rita: User, settings: object
) -> None:
    settings.PROLIFIC_API_URL = f"{prolific.api}/"  # type: ignore[attr-defined]
    admin = Program(factories.member(campaign.lab, "admin"))
    address = f"labs/{campaign.lab_id}/platforms/prolific/"
    sent = {"token": prolific.token}
    assert_problem(Program(rita).put(address, sent), 403)
    assert_problem(admin.get(address), 404, says="no account")
    assert_problem(admin.put(address, {}), 400, field="token")
    assert_problem(admin.put(address, {"token": "wrong"}), 400, says="does not accept")
    assert not LabAccount.objects.exists()
    stored = admin.put(address, sent, Idempotency_Key="once")
    assert stored.status_code == 200 and stored.json()["workspace"]
    assert admin.get(address).json() == stored.json()
    texts = json.dumps([*StoredAnswer.objects.values("content"), *AuditEntry.objects.values("changes")])
    assert prolific.token not in stored.text + texts + LabAccount.objects.get().sealed
    assert_problem(admin.get(f"labs/{campaign.lab_id}/platforms/mturk/"), 404)
    assert admin.delete(address).status_code == 204
    assert_problem(admin.get(address), 404)


def test_filters_are_searched_set_in_place_of_each_other_and_removed(publication: Publication, rita: User) -> None:
    program, viewer = Program(rita), Program(factories.member(publication.campaign.lab, "viewer"))
    address = f"campaigns/{publication.campaign_id}/publication/filters/"
    publication_write(campaign=publication.campaign, requirements=[])
    body = viewer.get(f"{address}?q=LANGUAGES are you").json()
    assert body["chosen"] == [] and body["more"] == 0
    [offered] = body["offered"]
    assert (offered["key"], offered["choices"]["30"]) == ("fluent-languages", "German")
    assert_problem(viewer.put(f"{address}age/", {"lower": 21}), 403)
    assert_problem(program.put(f"{address}fluent-languages/", {"values": ["999"]}), 400, field="values")
    assert_problem(program.put(f"{address}age/", {"lower": 17}), 400, says="from 18 to 100")
    assert_problem(program.put(f"{address}age/", {"height": 17}), 400, field="height")
    assert_problem(program.put(f"{address}shoe-size/", {"lower": 40}), 404)
    program.put(f"{address}fluent-languages/", {"values": ["30", "19"]})
    program.put(f"{address}age/", {"lower": 18, "upper": 65})
    body = program.put(f"{address}age/", {"lower": 21}).json()
    assert [(row["title"], row["words"]) for row in body["chosen"]] == [
        ("Fluent languages", "German, English"),
        ("Age", "at least 21"),
    ]
    assert [row["key"] for row in program.delete(f"{address}fluent-languages/").json()["chosen"]] == ["age"]
    publication.refresh_from_db()
    publication_publish(publication=publication, at=Clock()(), typed_name=publication.campaign.name)
    assert_problem(program.delete(f"{address}age/"), 409, says="published")
