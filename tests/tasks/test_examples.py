"""A campaign's own worked example: whole or not at all, and shown to workers in place of the general one."""

from django.test import Client
from django.urls import reverse

from core.models import User
from pools.models import Campaign
from runs.models import Collection
from tests import factories

GENERAL = "soft yolk"
OWN = {
    "example-example_query": "how tall is the tower",
    "example-example_better": "It is 81 metres tall.",
    "example-example_worse": "It was built in 1900.",
    "example-example_why": "Only B says how tall it is.",
}


def test_an_example_is_saved_whole_shown_to_workers_and_fixed_by_the_start(
    client: Client, collection: Collection, rita: User
) -> None:
    client.force_login(rita)
    draft = factories.campaign(collection, "draft", start=False, pairs_per_hit=3, tests_per_hit=2)
    address = reverse("tasks:wording", args=[draft.pk])
    answer = client.post(address, OWN | {"example-example_why": " "})
    assert answer.status_code == 409 and "needs all four texts" in answer.content.decode()
    assert Campaign.objects.get(pk=draft.pk).example_query == ""
    assert client.post(address, OWN).status_code == 303
    factories.begin(draft)
    text = Client().get(reverse("judging:preview", args=[draft.link])).content.decode()
    assert "It is 81 metres tall." in text and "Only B says how tall it is." in text and GENERAL not in text
    assert b"81 metres" in factories.exported(draft)["manifest.json"]
    assert client.post(address, OWN | {"example-example_query": "another"}).status_code == 409
    assert "how tall is the tower" in client.get(address).content.decode()


def test_without_one_workers_see_the_general_example(campaign: Campaign) -> None:
    assert GENERAL in Client().get(reverse("judging:preview", args=[campaign.link])).content.decode()
    assert b'"example"' not in factories.exported(campaign)["manifest.json"]
