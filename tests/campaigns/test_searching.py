"""The search over all that a person may see."""

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.searching import SHOWN, search
from core.models import Lab, User
from platforms.models import Publication
from pools.models import Campaign, Pool
from runs.models import Collection, Run
from tests import factories


def matches(user: User, words: str) -> dict[str, list[tuple[str, str]]]:
    """Names and addresses by kind."""
    return {str(kind.title): [(row.name, row.address) for row in kind.matches] for kind in search(user, words)}


@pytest.fixture
def campaign(collection: Collection) -> Campaign:
    return factories.campaign(collection, "autumn leaves")


def test_each_kind_of_thing_is_found_by_its_name_or_id(rita: User, collection: Collection, campaign: Campaign) -> None:
    pool = Pool.objects.filter(campaign=campaign).select_related("query").first()
    assert pool is not None
    run = Run.objects.filter(collection=collection).first()
    candidate = pool.candidates.select_related("passage").first()
    assert run is not None and candidate is not None
    address = reverse("results:query", args=[campaign.pk, pool.pk])
    assert matches(rita, "AUTUMN")["Campaigns"] == [
        ("autumn leaves", reverse("campaigns:campaign", args=[campaign.pk]))
    ]
    assert matches(rita, str(campaign.pk)).get("Campaigns") or campaign.pk < 10
    assert (run.name, reverse("pools:run", args=[run.pk])) in matches(rita, run.name[:-1])["Runs"]
    assert (pool.query.qid, address) in matches(rita, pool.query.qid)["Queries"]
    assert (pool.query.qid, address) in matches(rita, pool.query.text[3:-2])["Queries"]
    assert matches(rita, candidate.passage.pid)["Passages"]
    assert "Passages" not in matches(rita, candidate.passage.pid[:-1])
    assert matches(rita, rita.username)["People"] == [(rita.username, reverse("core:labs"))]
    settings = reverse("campaigns:settings", args=[campaign.pk])
    assert matches(rita, "reward per")["Settings"] == [("Reward per HIT", f"{settings}#setting-reward")]
    (queries,) = search(rita, pool.query.text[3:-2])
    assert queries.matches[0].detail == f"{pool.query.text} (autumn leaves)"
    assert matches(rita, "nothing has this name") == {}


@pytest.mark.parametrize(
    ("words", "kind", "name", "page"),
    [
        ("deadlock", "Words", "deadlock", "judgments:queries"),
        ("HIT", "Words", "HIT", "campaigns:settings"),
        ("What is a test pair?", "Words", "test pair", "tasks:tests"),
        ("how are workers paid", "Steps of a plan", "Pay", "platforms:terms"),
    ],
)
def test_what_the_pages_explain_is_found_with_its_sentence_and_where_it_is_used(
    client: Client, rita: User, campaign: Campaign, words: str, kind: str, name: str, page: str
) -> None:
    address = reverse(page, args=[campaign.pk])
    assert matches(rita, words)[kind][0] == (name, address)
    client.force_login(rita)
    assert client.get(address).status_code == 200


def test_a_setting_is_found_by_its_name_before_those_whose_help_has_the_words(rita: User, campaign: Campaign) -> None:
    names = [name for name, _address in matches(rita, "overlap")["Settings"]]
    assert names[0] == "Judgments per pair"
    (settings,) = search(rita, "leave empty for the majority")
    assert [match.name for match in settings.matches] == ["Probability that confirms a challenger"]


def test_a_platform_leads_to_the_accounts_there_and_to_the_campaigns_that_it_has(
    client: Client, rita: User, campaign: Campaign
) -> None:
    assert matches(rita, "prolif") == {"Platforms": [("Prolific", reverse("core:people", args=[campaign.lab_id]))]}
    campaign.lab.memberships.update(role="admin")
    account = reverse("platforms:lab_account", args=[campaign.lab_id, "prolific"])
    assert matches(rita, "prolif") == {"Platforms": [("Prolific", account)]}
    Publication.objects.create(campaign=campaign, platform="prolific", title="Compare")
    assert matches(rita, "prolif")["Platforms"][1:] == [
        ("Prolific", reverse("platforms:publication", args=[campaign.pk]))
    ]
    client.force_login(rita)
    for address in (account, *(address.partition("#")[0] for _name, address in matches(rita, "reward")["Settings"])):
        assert client.get(address).status_code == 200
    settings = client.get(reverse("campaigns:settings", args=[campaign.pk])).text
    assert 'id="setting-reward"' in settings


def test_of_many_some_are_shown_and_the_rest_is_said(rita: User, collection: Collection) -> None:
    for number in range(SHOWN + 1):
        factories.campaign(collection, f"series {number}", start=False)
    (kind,) = search(rita, "series")
    assert len(kind.matches) == SHOWN and kind.has_more


def test_nobody_finds_what_is_of_another_lab(client: Client, campaign: Campaign) -> None:
    stranger = User.objects.create_user("stranger", "stranger@example.org")
    stranger.labs.add(Lab.objects.create(name="elsewhere"))
    for words in ("autumn", campaign.collection.name, campaign.runs.all()[0].name, "rita"):
        assert matches(stranger, words) == {}, words
    client.force_login(stranger)
    text = client.get(reverse("campaigns:search"), {"q": "<b>autumn"}).text
    assert "Nothing has these words." in text and "&lt;b&gt;autumn" in text and "<b>autumn" not in text
