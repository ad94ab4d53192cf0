"""Through the API: practice pairs and the comprehension check."""

import pytest

from pools.models import Campaign
from runs.models import Collection
from tasks.models import TestPair
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem

pytestmark = pytest.mark.django_db
PAIR = {"question": "where is it", "better": "It is here.", "worse": "It is a thing.", "why": "One says where."}
OTHER = {"question": "when was it", "better": "In 1987.", "worse": "Long ago.", "why": "One is exact."}


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    """A draft without practice."""
    return factories.campaign(collection, "draft", tests=3, start=False)


def test_pairs_are_added_changed_and_removed_and_the_campaign_keeps_them(
    draft: Campaign, program: Program, viewer: Program
) -> None:
    base = f"campaigns/{draft.pk}/practice/pairs/"
    assert_problem(program.post(base, PAIR | {"why": " "}), 400, field="why")
    assert_problem(program.post(base, PAIR | {"worse": " It  is here. "}), 400, field="worse")
    assert_problem(program.post(base, PAIR | {"color": "red"}), 400, field="color")
    assert program.get(base).json() == []

    answer = program.post(base, PAIR | {"better": "It is\there."})
    assert (answer.status_code, answer.json()) == (201, {"number": 1, **PAIR})
    assert program.post(base, OTHER).json()["number"] == 2
    assert viewer.get(base).json() == [{"number": 1, **PAIR}, {"number": 2, **OTHER}]

    pair = program.get(f"{base}1/")
    assert program.put(f"{base}1/", PAIR | {"why": "It says where."}).json()["why"] == "It says where."
    assert_problem(program.delete(f"{base}1/", If_Match=pair["ETag"]), 412)
    assert program.delete(f"{base}1/").status_code == 204
    assert program.get(base).json() == [{"number": 1, **OTHER}]
    for number in (0, 2, 10**30):
        assert_problem(program.get(f"{base}{number}/"), 404)
        assert_problem(program.put(f"{base}{number}/", PAIR), 404)
        assert_problem(program.delete(f"{base}{number}/"), 404)
    draft.refresh_from_db()
    assert draft.practice_pairs == "\t".join(OTHER.values())


def test_a_check_is_set_and_says_what_is_lacking(draft: Campaign, program: Program, viewer: Program) -> None:
    base = f"campaigns/{draft.pk}/practice/"
    assert viewer.get(base).json() == {
        **{"practice": "nothing", "practice_right": None, "needed": 0, "pairs": 0, "minutes": 0, "obstacles": []},
        "workers": None,
    }
    assert_problem(program.patch(base, {"practice": "perhaps"}), 400, field="practice")
    assert_problem(program.patch(base, {"practice_right": 0}), 400, field="practice_right")
    assert_problem(program.patch(base, {"practice": "check", "practice_right": 1}), 409, says="only 0 practice pairs")
    lacking = program.patch(base, {"practice": "check"}).json()
    assert "no practice pairs" in lacking["obstacles"][0]

    for pair in (PAIR, OTHER):
        program.post(f"{base}pairs/", pair)
    set_so = program.patch(base, {"practice_right": 1}).json()
    assert (set_so["practice"], set_so["needed"], set_so["pairs"], set_so["obstacles"]) == ("check", 1, 2, [])
    assert set(set_so["workers"].values()) == {0} and set_so["minutes"] >= 1
    draft.refresh_from_db()
    assert (draft.practice, draft.practice_right) == ("check", 1)
    assert program.patch(base, {"practice_right": None}).json()["needed"] == 2
    optional = program.patch(base, {"practice": "optional"}).json()
    assert (optional["practice"], optional["practice_right"], optional["needed"]) == ("optional", None, 0)


def test_a_test_pair_is_taken_for_practice_and_a_started_campaign_keeps_what_it_has(
    draft: Campaign, campaign: Campaign, program: Program
) -> None:
    take = f"campaigns/{draft.pk}/practice/take-test-pair/"
    test = draft.test_pairs.filter(state=TestPair.State.CONFIRMED).first()
    assert test is not None
    assert_problem(program.post(take, {"test_pair": test.pk, "why": ""}), 400, field="why")
    assert_problem(program.post(take, {"test_pair": 2**62, "why": "So."}), 404)
    others = campaign.test_pairs.first()
    assert others is not None
    assert_problem(program.post(take, {"test_pair": others.pk, "why": "So."}), 404)
    answer = program.post(take, {"test_pair": test.pk, "why": "It says so."})
    assert (answer.status_code, answer.json()["number"], answer.json()["why"]) == (201, 1, "It says so.")
    test.refresh_from_db()
    assert test.state == TestPair.State.DECLINED
    assert_problem(program.post(take, {"test_pair": test.pk, "why": "Again."}), 409, says="Only a confirmed test pair")

    started = f"campaigns/{campaign.pk}/practice/"
    assert_problem(program.patch(started, {"practice": "required"}), 409, says="has started")
    assert_problem(program.post(f"{started}pairs/", PAIR), 409, says="has started")
    campaign.refresh_from_db()
    assert (campaign.practice, campaign.practice_pairs) == ("nothing", "")
