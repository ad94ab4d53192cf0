"""Drafts: changed in every setting, taken up again, with what their settings lead to beside the form."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.forms.models import model_to_dict
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from campaigns import drafting
from campaigns.consequences import consequences_of
from campaigns.forms import CampaignForm
from core.errors import NotNow
from core.models import User
from platforms.money.bills import campaign_bill
from platforms.publishing.offers import offers_of
from platforms.steps import Step, draft_steps
from platforms.terms import publication_likely, publication_write
from pools import services as pool_services
from pools.models import Campaign, Pair
from pools.reuse import reused_pairs
from pools.selectors import missing_texts
from results import versions
from runs.models import Collection, Job
from tasks import selectors as task_selectors
from tasks import services as task_services
from tests import factories
from tests.results.judging import judged


@pytest.fixture
def draft(collection: Collection) -> Campaign:
    """A draft over all runs."""
    return factories.campaign(collection, "draft", tests=3, start=False)


@pytest.fixture
def page(client: Client, rita: User) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def filled_in(draft: Campaign, **changes: Any) -> dict[str, Any]:
    """What a browser sends for a draft's form, with some fields changed."""
    form = CampaignForm.changing(draft)
    sent = {name: form[name].value() for name in form.fields}
    sent |= {"redo_rate": "10", "collection": draft.collection_id}
    return {name: value for name, value in (sent | changes).items() if value is not None and value is not False}


def change(draft: Campaign, **settings: Any) -> Campaign:
    runs = settings.pop("runs", draft.runs.all())
    return drafting.campaign_change(campaign=draft, runs=runs, name=settings.pop("name", draft.name), **settings)


def test_a_draft_is_changed_on_the_form_of_a_new_campaign(page: Client, draft: Campaign) -> None:
    address = reverse("campaigns:campaign_edit", args=[draft.pk])
    form = page.get(address).context["form"]
    assert form["reward"].value() == draft.reward
    assert sorted(form["runs"].value()) == sorted(draft.runs.values_list("pk", flat=True))
    red = draft.collection.runs.get(name="red")
    answer = page.post(address, filled_in(draft, name="better", reward="1.25", overlap="2", runs=[red.pk]))
    assert answer.status_code == 303
    draft.refresh_from_db()
    assert (draft.name, draft.overlap, str(draft.reward)) == ("better", 2, "1.25")
    assert [run.name for run in draft.runs.all()] == ["red"]
    assert draft.pair_count == Pair.objects.filter(pool__campaign=draft).count() == 2
    assert draft.test_pairs.count() == 3
    assert Campaign.objects.count() == 1


def test_what_cannot_be_is_refused_and_changes_nothing(page: Client, draft: Campaign, collection: Collection) -> None:
    factories.campaign(collection, "taken", start=False)
    before = model_to_dict(draft)
    address = reverse("campaigns:campaign_edit", args=[draft.pk])
    assert page.post(address, filled_in(draft, name="taken")).status_code == 400
    assert page.post(address, filled_in(draft, selection="sample", sample_size="500")).status_code == 303
    refused = Job.objects.get()
    assert refused.state == "refused"
    text = page.get(reverse("runs:job", args=[refused.pk])).content.decode()
    again = f"{address}?again={refused.pk}"
    assert again in text
    assert page.get(again).context["form"]["sample_size"].value() == 500
    draft.refresh_from_db()
    assert model_to_dict(draft) == before


def test_a_started_campaign_stays_as_it_is(page: Client, draft: Campaign) -> None:
    factories.begin(draft)
    assert page.get(reverse("campaigns:campaign_edit", args=[draft.pk])).status_code == 409
    with pytest.raises(NotNow):
        change(draft, overlap=3)
    draft.refresh_from_db()
    assert draft.overlap == 1


def test_pools_are_made_again_only_where_they_follow_from_what_has_changed(draft: Campaign) -> None:
    pairs = set(Pair.objects.values_list("pk", flat=True))
    change(draft, reward=draft.reward + 1, overlap=2, seed=7)
    assert set(Pair.objects.values_list("pk", flat=True)) == pairs
    changed = change(draft, qrel_policy="none", selection="sample", sample_size=2)
    assert not set(Pair.objects.values_list("pk", flat=True)) & pairs
    assert changed.pair_count == Pair.objects.count()
    assert changed.sampled_from == 3
    assert change(changed, selection="all", sample_size=None).sampled_from is None


def test_a_change_that_fails_half_way_leaves_the_draft_as_it_was(
    draft: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = set(Pair.objects.values_list("pk", flat=True))

    def fail(**_about: object) -> None:
        raise RuntimeError("the process died here")

    monkeypatch.setattr(pool_services, "twins_store", fail)
    with pytest.raises(RuntimeError):
        change(draft, qrel_policy="none", depth=2)
    assert set(Pair.objects.values_list("pk", flat=True)) == pairs
    draft.refresh_from_db()
    assert (draft.depth, draft.qrel_policy) == (1, "first")


def test_test_pairs_stay_unless_the_new_pools_speak_against_them(tmp_path: Path, draft: Campaign) -> None:
    red = draft.collection.runs.get(name="red")
    draft = change(draft, runs=[red])
    file = tmp_path / "tests.txt"
    file.write_text("q1 p1 p7\nq1 p1 p3\n")
    imported = task_services.test_pairs_import(campaign=draft, path=file)
    assert len(imported) == 2
    task_services.test_pairs_decide(test_pairs=imported, confirm=True, by=None, at=timezone.now())
    change(draft, runs=draft.collection.runs.all())  # another run puts p3 into the pool of q1
    assert set(draft.test_pairs.exclude(query=None).values_list("off_topic__pid", flat=True)) == {"p7"}
    assert draft.test_pairs.filter(query=None, state="confirmed").count() == 3


DESIGNS: list[dict[str, Any]] = [
    {},
    {"depth": 2, "qrel_policy": "all", "overlap": 2, "pairs_per_hit": 3},
    {"design": "champion_check"},
    {"selection": "sample", "sample_size": 2, "seed": 5},
    {"selection": "list", "query_list": "q1 q3"},
    {"fee_rate": 0, "pairs_per_hit": 4, "redo_rate": "0.500"},
    {"reuse": "campaigns"},
    {"design": "challengers"},
]


@pytest.mark.parametrize("chosen", DESIGNS, ids=lambda chosen: " ".join(map(str, chosen.values())) or "usual")
def test_the_preview_is_what_the_campaign_then_bills(collection: Collection, chosen: dict[str, Any]) -> None:
    earlier = judged(collection, "judged", runs=["red"])
    runs, design = list(collection.runs.all()), chosen.get("design")
    if design == "champion_check":
        runs = list(collection.runs.filter(name="blue"))
    elif design == "challengers":
        versions.version_add(campaign=earlier, why="First.", by=None, at=timezone.now())
        runs = list(collection.runs.filter(name="green"))
    about = {"lab": collection.lab, "collection": collection}
    outcome = consequences_of(Campaign(name="not stored", **about, **chosen), runs)
    campaign = pool_services.campaign_create(name="stored", runs=runs, **about, **chosen)
    reused = reused_pairs(campaign, afresh=True)
    assert outcome.preview.is_exact
    assert (outcome.preview.pairs, outcome.preview.reused) == (campaign.pair_count, reused)
    assert outcome.bill == campaign_bill(publication_likely(campaign), pairs=campaign.pair_count - reused)
    assert outcome.pace == task_selectors.expected_pace(campaign)
    assert outcome.offers == offers_of(campaign)
    if chosen.get("reuse") == "campaigns":
        assert reused == 2


def test_large_designs_are_estimated_from_a_part_of_the_queries(
    tmp_path: Path, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    qids = [f"q{n:03}" for n in range(200)]
    tops = {run: {qid: [f"{run}{qid}"] for qid in qids} for run in ("a", "b")}
    of = factories.collection(tmp_path, in_lab=lab, tops=tops, qrels={qid: ["a" + qid] for qid in qids}, name="large")
    unsaved = Campaign(lab=lab, collection=of, name="not stored")
    exact = drafting.pools_preview(unsaved, list(of.runs.all()))
    monkeypatch.setattr(drafting, "LOOKED_AT", 40)
    estimate = drafting.pools_preview(unsaved, list(of.runs.all()))
    assert (exact.is_exact, estimate.is_exact) == (True, False)
    assert estimate[:3] == exact[:3] == (200, 200, 200)
    sampled = Campaign(lab=lab, collection=of, name="not stored", selection="sample", sample_size=50)
    assert drafting.pools_preview(sampled, list(of.runs.all()))[:3] == (50, 50, 50)


def test_the_numbers_beside_the_form_follow_the_form(page: Client, draft: Campaign) -> None:
    address, before = reverse("campaigns:consequences"), model_to_dict(draft)
    sent = filled_in(draft) | {"draft": draft.pk}

    def beside(fields: dict[str, object]) -> dict[str, str]:
        answer = page.post(address, fields, headers={"HX-Request": "true"})
        assert answer.status_code == 200
        assert "<html" not in answer.content.decode()
        details = LexborHTMLParser(answer.content.decode()).css_first("dl.details")
        return {
            term.text(): number.text().split()[0]
            for term, number in zip(details.css("dt"), details.css("dd"), strict=True)
        }

    usual, dearer = beside(sent), beside(sent | {"reward": "4.00", "name": ""})
    assert (usual["Pairs"], usual["HITs"]) == ("7", "1")
    assert Decimal(dearer["Total"].lstrip("$")) == 2 * Decimal(usual["Total"].lstrip("$")) > 0
    cheap = page.post(address, sent | {"reward": "0.05"}).content.decode()
    assert "<html" in cheap and "an hour is less than $8.00" in cheap
    nobody = page.post(address, {**sent, "runs": []}).content.decode()
    assert "Choose at least one run." in nobody
    draft.refresh_from_db()
    assert model_to_dict(draft) == before
    other = Client()
    other.force_login(factories.member(factories.lab("Sam's lab"), "researcher", "sam"))
    assert other.post(address, sent).status_code == 404


def test_all_runs_are_chosen_by_one_tick(page: Client, collection: Collection) -> None:
    form = CampaignForm(collection=collection)
    sent = {
        name: form[name].value()
        for name in form.fields
        if form[name].value() is not None and form[name].value() is not False
    }
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    answer = page.post(address, sent | {"name": "everything", "all_runs": "on", "redo_rate": "10"})
    assert answer.status_code == 303
    assert Campaign.objects.get(name="everything").runs.count() == 3


def steps_of(draft: Campaign) -> list[Step]:
    """The steps that the draft's page shows."""
    return draft_steps(draft, missing_texts(draft), task_selectors.expected_pace(draft))


def test_the_steps_of_a_draft_say_what_is_done_and_what_is_missing(page: Client, collection: Collection) -> None:
    draft = factories.campaign(collection, "draft", tests=0, start=False, reward="0.05")
    steps = {step.key: step for step in steps_of(draft)}
    assert list(steps) == ["collection", "runs", "pools", "tests", "task", "wording", "pay", "platform"]
    assert [key for key, step in steps.items() if not step.is_done] == ["tests", "pay"]
    text = page.get(reverse("campaigns:campaign", args=[draft.pk])).content.decode()
    assert 'aria-current="step"' in text
    for step in steps.values():
        assert page.get(step.url.partition("#")[0]).status_code == 200, step.key
    factories.write_tests(draft)
    change(draft, reward="3.00")
    draft.refresh_from_db()
    assert all(step.is_done for step in steps_of(draft))


def test_the_platform_and_its_fees_are_chosen_before_the_start(page: Client, draft: Campaign) -> None:
    offers = {offer.platform: offer for offer in offers_of(draft)}
    assert offers["link"].total < offers["marketplace"].total <= offers["mturk"].total
    assert not any(offer.is_chosen for offer in offers.values())
    publication_write(campaign=draft, platform="marketplace")
    chosen = {offer.platform: offer for offer in offers_of(draft)}["marketplace"]
    assert chosen.is_chosen
    answer = page.get(reverse("campaigns:campaign", args=[draft.pk]))
    assert answer.context["bill"].total == chosen.total
    reach = page.get(reverse("campaigns:draft_reach", args=[draft.pk]))
    assert "is not known at this platform" in reach.content.decode()  # there is none in this test
