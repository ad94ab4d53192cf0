"""Where the pages of a campaign are at home."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, resolve, reverse

from campaigns.places import PLACES, page_at
from campaigns.starts import STARTS
from core.models import User
from judgments import jobs as judgment_jobs
from pools.models import Campaign
from runs.models import Collection
from tests import factories


def addresses(patterns: Any = None, route: str = "", names: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if hasattr(pattern, "url_patterns"):
            inner = (*names, pattern.namespace) if pattern.namespace else names
            yield from addresses(pattern.url_patterns, route + str(pattern.pattern), inner)
        else:
            yield route + str(pattern.pattern), ":".join([*names, str(pattern.name)])


def test_each_page_of_a_campaign_is_at_home_in_a_place_of_at_most_six_entries() -> None:
    names = [name for route, name in addresses() if route.startswith("campaigns/<int:pk>/")]
    assert len(names) > 80
    homes = {name: page_at(name) for name in names}
    assert homes["review:worker"].address == "review:work" and homes["results:query"].address == "judgments:queries"
    assert homes["platforms:publish"] == homes["platforms:terms"], "a dry run is part of the plan"
    assert [str(place.title) for place in PLACES] == ["Plan", "Judging", "Results", "Data"]
    assert all(len(place.pages) <= 6 for place in PLACES)


# A draft has no publication, and the audit is not of one campaign.
OF_DRAFTS = {page.address for place in PLACES for page in place.pages} - {"platforms:publication", "audit:entries"}


@pytest.mark.parametrize("address", sorted(OF_DRAFTS))
def test_a_page_shows_its_place_and_itself_once(
    address: str, client: Client, rita: User, collection: Collection
) -> None:
    draft = factories.campaign(collection, "draft", tests=3, start=False)
    client.force_login(rita)
    text = client.get(reverse(address, args=[draft.pk])).text
    tabs = text[text.index('class="tabs"') : text.index("</nav>", text.index('class="tabs inner"'))]
    assert tabs.count('aria-current="true"') == tabs.count('aria-current="page"') == 1, tabs
    for place in PLACES:
        assert f">{place.title}</a>" in tabs


@pytest.mark.parametrize("key", ["paper", "deep", "champion"])
def test_a_way_to_begin_needs_a_name_alone_and_brings_test_pairs_to_review(
    key: str, client: Client, rita: User, collection: Collection
) -> None:
    client.force_login(rita)
    factories.elsewhere(collection)
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    form = client.get(f"{address}&start={key}").context["form"]
    sent = {name: form[name].value() for name in form.fields} | {"name": "mine", "collection": collection.pk}
    sent |= {"redo_rate": "10"}
    if key == "champion":
        assert not sent["all_runs"]
        sent["runs"] = [collection.runs.order_by("name")[0].pk]
    answer = client.post(address, {name: value for name, value in sent.items() if value not in (None, False)})
    assert answer.status_code == 303
    draft = Campaign.objects.get(name="mine")
    assert draft.runs.count() == (1 if key == "champion" else collection.runs.count())
    assert {name: getattr(draft, name) for name in STARTS[key].settings} == STARTS[key].settings
    assert draft.test_pairs.exists() and not draft.test_pairs.filter(state="confirmed").exists()


def test_the_settings_page_marks_what_differs_from_the_usual(
    client: Client, rita: User, collection: Collection
) -> None:
    draft = factories.campaign(collection, "draft", tests=3, start=False)
    Campaign.objects.filter(pk=draft.pk).update(overlap=2)
    client.force_login(rita)
    text = client.get(reverse("campaigns:settings", args=[draft.pk])).text
    assert "usually 1" in text and '<dt>Judgments per pair</dt><dd dir="auto" id="setting-overlap">2 <strong' in text


def test_an_open_campaign_whose_work_is_done_offers_to_be_closed(
    client: Client, rita: User, collection: Collection
) -> None:
    campaign = factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2)
    client.force_login(rita)
    address = reverse("campaigns:campaign", args=[campaign.pk])
    judgment_jobs.make_exports()
    assert "Close the campaign" not in client.get(address).text
    for name in ("Ann", "Ben", "Cora"):
        factories.do(factories.worker(campaign, name), campaign)
    assert "Close the campaign" not in client.get(address).text
    judgment_jobs.make_exports(campaign.pk)
    assert "Close the campaign" in client.get(address).text
    client.post(reverse("platforms:move", args=[campaign.pk]), {"to": "closed", "why": "All is judged"})
    assert "Close the campaign" not in client.get(address).text


def test_each_page_that_shows_something_is_two_links_away(client: Client, rita: User, collection: Collection) -> None:
    """From the campaign's page, by its places and their entries."""
    client.force_login(rita)
    linked = set[str]()
    for campaign in (factories.campaign(collection), factories.campaign(collection, "draft", start=False)):
        near = links_on(client, reverse("campaigns:campaign", args=[campaign.pk]))
        for address in sorted(near):
            near = near | links_on(client, address)
        linked |= {resolve(address).view_name for address in near}
    expected = {
        *("campaigns:plan", "campaigns:settings", "campaigns:campaign_rename", "campaigns:template_save"),
        *("tasks:practice", "tasks:outside_panel", "protection:ethics", "review:disagreements", "review:reports"),
        *("results:plan", "results:ask", "judgments:files", "protection:protection_campaign"),
    }
    assert expected - linked == set()


def links_on(client: Client, address: str) -> set[str]:
    """The paths of the campaign's pages that a page leads to."""
    answer = client.get(address)
    if answer.status_code != 200 or answer.streaming:
        return set()
    paths = set(re.findall(r'href="(/campaigns/\d+/[^"?#]*)', answer.text))
    return {path for path in paths if "." not in path.rsplit("/", 1)[-1]}


def test_before_and_after_the_start_a_campaign_says_what_to_do_first(
    client: Client, rita: User, collection: Collection
) -> None:
    client.force_login(rita)
    campaign = factories.campaign(collection, tests=3, start=False)
    campaign.test_pairs.update(proven_at=None)
    draft = client.get(reverse("campaigns:campaign", args=[campaign.pk])).content.decode()
    assert "is expected to cost $4.80." in draft
    assert "if people come by a link or from a panel, it is $4.00." in draft
    assert "No test pair is proven yet." in draft

    begun = factories.campaign(collection, "begun")
    text = client.get(reverse("campaigns:campaign", args=[begun.pk])).content.decode()
    assert "Nobody has come yet." in text and text.index(begun.link) < text.index('id="far"')
    assert text.count(begun.link) == 1
    factories.do(factories.worker(begun, "Alice"), begun)
    assert "Nobody has come yet." not in client.get(reverse("campaigns:campaign", args=[begun.pk])).content.decode()
