"""Prolific's filters, chosen on the page by their own names."""

import pytest
from django.test import Client
from django.urls import reverse

from core.errors import NotNow
from core.models import User
from platforms.models import Publication
from platforms.publishing.publications import publication_publish
from platforms.registry import adapter_of
from platforms.terms import publication_write
from pools.models import Campaign
from tests import factories
from tests.core.test_editing import form_of
from tests.platforms.platforms import Clock, drain
from tests.platforms.prolific.test_work import begin
from tests.rows import fresh
from tests.simulation.prolific import Double


def test_filters_are_found_by_words_chosen_by_name_and_sent_as_prolific_takes_them(
    client: Client, publication: Publication, rita: User
) -> None:
    publication_write(campaign=publication.campaign, requirements=[
        {"filter_id": "current-country-of-residence", "selected_values": ["1"]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}},
    ])  # fmt: skip
    client.force_login(rita)
    page = reverse("platforms:filters", args=[publication.campaign_id])
    text = client.get(page).text
    assert "Fluent languages" in text and "Age" in text and "No filter is chosen" in text
    assert "Approval rate" not in text and "Current country of residence" not in text  # the terms have these
    assert page in client.get(reverse("platforms:terms", args=[publication.campaign_id])).text
    matches = client.get(page, {"q": "LANGUAGES are you"}).text
    assert "Fluent languages" in matches and ">Age<" not in matches
    assert "No filter has these words" in client.get(page, {"q": "shoe size"}).text
    form = client.get(page, {"filter": "fluent-languages"}).text
    assert "Which languages are you fluent in?" in form and '<option value="30">German</option>' in form

    assert "Choose at least one." in client.post(page, {"filter": "fluent-languages"}).text
    assert client.post(page, {"filter": "fluent-languages", "values": ["999"]}).status_code == 400
    assert "from 18 to 100" in client.post(page, {"filter": "age", "lower": "17"}).text
    assert "the lower number first" in client.post(page, {"filter": "age", "lower": "40", "upper": "30"}).text
    assert "begins or ends" in client.post(page, {"filter": "age"}).text
    assert client.post(page, {"filter": "shoe-size", "lower": "40"}).status_code == 404
    assert client.post(page, {"filter": "fluent-languages", "values": ["30", "19"]}).status_code == 303
    assert client.post(page, {"filter": "age", "lower": "18", "upper": "65"}).status_code == 303
    text = client.get(page).text
    assert "<td>German, English</td>" in text and "<td>18 to 65</td>" in text
    assert client.post(page, {"filter": "age", "lower": "21"}).status_code == 303
    assert "<td>at least 21</td>" in client.get(page).text
    assert 'value="21"' in client.get(page, {"filter": "age"}).text

    publication.refresh_from_db()
    assert [row["filter_id"] for row in publication.requirements] == [
        "current-country-of-residence", "approval_rate", "fluent-languages", "age"
    ]  # fmt: skip
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    publication.refresh_from_db()
    study = adapter_of(publication).client().get(f"studies/{publication.hit_type_id}/", once=True)
    sent = {row["filter_id"]: row for row in study["filters"]}
    assert set(sent["fluent-languages"]["selected_values"]) == {"19", "30"}
    assert sent["age"]["selected_range"]["lower"] == 21
    after = client.get(page).text
    assert "can no longer be changed" in after and "Use this filter" not in after
    assert client.post(page, {"filter": "age", "remove": "1"}).status_code == 409


def test_a_filter_is_removed_and_one_that_prolific_does_not_offer_is_named(
    client: Client, publication: Publication, rita: User
) -> None:
    gone = {"filter_id": "shoe-size", "selected_range": {"upper": 46}}
    publication_write(campaign=publication.campaign, requirements=[gone])
    client.force_login(rita)
    page = reverse("platforms:filters", args=[publication.campaign_id])
    text = client.get(page).text
    assert "shoe-size" in text and "not offered any more" in text and "at most 46" in text
    assert client.post(page, {"filter": "shoe-size", "remove": "1"}).status_code == 303
    assert fresh(publication).requirements == []


def test_other_platforms_have_no_filters(page: Client, publication: Publication, campaign: Campaign) -> None:
    filters = reverse("platforms:filters", args=[publication.campaign_id])
    other = factories.campaign(campaign.collection, "other")
    assert page.get(reverse("platforms:filters", args=[other.pk])).status_code == 404
    publication_write(campaign=other, platform="marketplace")
    assert page.get(reverse("platforms:filters", args=[other.pk])).status_code == 404
    terms = page.get(reverse("platforms:terms", args=[other.pk])).text
    assert filters not in terms and "/filters/" not in terms


def test_the_page_of_a_labs_people_leads_to_its_account_at_each_platform_where_labs_have_one(
    client: Client, publication: Publication
) -> None:
    lab = publication.campaign.lab
    client.force_login(factories.member(lab, "admin"))
    text = client.get(reverse("core:people", args=[lab.pk])).text
    assert f'href="{reverse("platforms:lab_account", args=[lab.pk, "prolific"])}">Account at Prolific<' in text
    assert reverse("platforms:lab_account", args=[lab.pk, "marketplace"]) not in text


def test_whoever_took_part_in_an_earlier_campaign_is_kept_out_there_and_here(
    client: Client, published: Publication, rita: User, prolific: Double
) -> None:
    place, _assignment = begin(published, prolific, "Before")
    later = factories.campaign(published.campaign.collection, "later", pairs_per_hit=3, tests_per_hit=2)
    publication = publication_write(campaign=later, platform="prolific", rate=1000)
    client.force_login(rita)
    page = reverse("platforms:filters", args=[later.pk])
    form = client.get(page, {"filter": "previous_studies_blocklist"}).text
    assert f'<option value="{published.hit_type_id}">{published.campaign.name}</option>' in form
    assert "None of these" in form
    sent = {"filter": "previous_studies_blocklist", "values": [published.hit_type_id]}
    assert client.post(page, sent).status_code == 303
    assert f"<td>not: {published.campaign.name}</td>" in client.get(page).text
    publication.refresh_from_db()
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=later.name)
    drain(publication, clock)
    (before,) = [row["participant"] for row in prolific.rows("submission") if row["id"] == place.submission]
    new = prolific.participant("New")
    assert publication.hit_type_id not in prolific.open_studies(before)
    assert publication.hit_type_id in prolific.open_studies(new)
    # somebody of them comes all the same, as by an address that was passed on
    passed_on = prolific.take(publication.hit_type_id, new)
    prolific.do("sql", statement=f"UPDATE submission SET participant = '{before}' WHERE id = '{passed_on.submission}'")
    adapter = adapter_of(publication)
    with pytest.raises(NotNow, match="earlier study") as refused:
        adapter.confirm_arrival(
            publication, study=publication.hit_type_id, worker_id=before, assignment_id=passed_on.submission
        )
    assert refused.value.way_out is not None and "/submissions/complete?cc=" in refused.value.way_out[0]


def test_the_reach_is_asked_before_anything_is_frozen_and_small_numbers_are_not_told(
    client: Client, publication: Publication, rita: User, prolific: Double
) -> None:
    client.force_login(rita)
    page = reverse("platforms:publish", args=[publication.campaign_id])
    assert "Fewer than 25 participants were active in the last 90 days." in client.get(page).text
    for number in range(30):
        prolific.participant(f"P{number}", country="3" if number < 26 else "1", age=30)
    for age, says in ((18, "30 of the 30 participants who were active"), (31, "Fewer than 25 of the 30 participants")):
        publication_write(
            campaign=publication.campaign, requirements=[{"filter_id": "age", "selected_range": {"lower": age}}]
        )
        text = client.get(page).text
        assert says in text and "nobody would see" not in text
    german = [{"filter_id": "current-country-of-residence", "selected_values": ["3"]}]
    publication_write(campaign=publication.campaign, requirements=german)
    assert "26 of the 30 participants who were active in the last 90 days could take this." in client.get(page).text
    prolific.fault("broken before", path="eligibility-count", times=None)
    assert "is not known" in client.get(page).text


def test_a_filter_that_somebody_has_set_meanwhile_is_shown_beside_ones_own(
    client: Client, publication: Publication, rita: User
) -> None:
    publication_write(campaign=publication.campaign, requirements=[])
    client.force_login(rita)
    page = reverse("platforms:filters", args=[publication.campaign_id])
    opened = {"filter": "age", **form_of(client.get(page, {"filter": "age"}), page, "lower")}
    assert client.post(page, {**opened, "lower": "30"}).status_code == 303
    refused = client.post(page, {**opened, "lower": "40"})
    assert refused.status_code == 400
    assert "Somebody else has saved this" in refused.text
    again = form_of(refused, page, "lower")
    assert again["lower"] == "40"
    assert client.post(page, again).status_code == 303
    assert "<td>at least 40</td>" in client.get(page).text
