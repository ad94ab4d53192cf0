"""A lab's templates, its default, and its pay floor: on pages and by command."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.template_terms import campaign_create_from, template_save
from core.errors import Refused
from core.labs import pay_floor_set
from core.models import AuditEntry, Lab, User
from platforms.models import Publication
from platforms.terms import publication_write
from pools.models import Campaign, CampaignTemplate
from runs.models import Collection
from tasks import selectors as task_selectors
from tasks import services as task_services
from tests import factories
from tests.pools.test_views import settings_of

pytestmark = pytest.mark.django_db
CHANGED = {"reward": "3.50", "overlap": 3, "fee_rate": "0.25", "question": "Which one is kinder?", "title": "Kindness"}


@pytest.fixture
def template(collection: Collection, settings: Any) -> CampaignTemplate:
    """What was saved of a campaign with settings, wording and terms of its own."""
    settings.MARKETPLACE_URL = "http://localhost:8100"
    about = {"selection": "list", "query_list": "q1 q2", "comparisons": "baseline", "baseline": "red"}
    old = factories.campaign(collection, "old", start=False, **CHANGED, **about, example_query="Is it?")
    task_services.consent_write(campaign=old, text="You agree to be kind.")
    publication_write(campaign=old, pay="full-on-exit", keywords="kindness", requirements=[])
    return template_save(campaign=old, name="kind", by=None, at=timezone.now())


def test_a_campaign_that_begins_with_a_template_has_its_settings_wording_consent_and_terms_and_no_runs(
    template: CampaignTemplate, collection: Collection
) -> None:
    runs = collection.runs.filter(name="blue")
    begun = campaign_create_from(
        template=template, lab=collection.lab, collection=collection, runs=runs, name="new", overlap=2
    )
    begun.refresh_from_db()
    assert (begun.reward, begun.fee_rate, begun.title) == (Decimal("3.50"), Decimal("0.250"), "Kindness")
    assert (begun.example_query, begun.overlap) == ("Is it?", 2)  # what is said comes before the template
    assert [run.name for run in begun.runs.all()] == ["blue"]
    assert (begun.selection, begun.query_list, begun.comparisons, begun.baseline) == ("all", "", "all", "")
    consent = task_selectors.current_consent(begun)
    assert consent is not None and consent.text == "You agree to be kind."
    publication = Publication.objects.get(campaign=begun)
    assert (publication.pay, publication.keywords) == ("full-on-exit", "kindness")
    assert publication.assignment_duration == Publication.objects.get(campaign__name="old").assignment_duration


def test_the_page_saves_offers_and_fills_in_templates_and_the_default_first(
    client: Client, rita: User, template: CampaignTemplate, collection: Collection
) -> None:
    client.force_login(rita)
    old = Campaign.objects.get(name="old")
    save = reverse("campaigns:template_save", args=[old.pk])
    assert client.post(save, {"name": "kind"}).status_code == 409
    assert client.post(save, {"name": "second"}).status_code == 303
    new = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    assert client.get(new).context["template"] is None

    client.post(reverse("campaigns:template_default", args=[template.pk]), {"is_default": "yes"})
    page = client.get(new)
    assert page.context["template"] == template
    assert page.context["form"]["reward"].value() == Decimal("3.50")
    assert 'value="25"' in str(page.context["form"]["fee_rate"])
    assert not page.context["form"]["runs"].value()
    assert client.get(f"{new}&template=").context["form"]["reward"].value() == Decimal("2.00")

    fields = settings_of(collection, name="begun", reward="4.00")
    answer = client.post(new, {**fields, "template": template.pk})
    assert answer.status_code == 303
    begun = Campaign.objects.get(name="begun")
    assert (begun.reward, begun.example_query) == (Decimal("4.00"), "Is it?")
    assert Publication.objects.get(campaign=begun).keywords == "kindness"

    client.post(reverse("campaigns:template_default", args=[template.pk]), {"is_default": "no"})
    assert client.get(new).context["template"] is None


def test_a_template_is_changed_renamed_and_deleted_and_its_campaigns_stay(
    client: Client, rita: User, template: CampaignTemplate, collection: Collection
) -> None:
    client.force_login(rita)
    page = reverse("campaigns:template", args=[template.pk])
    form = client.get(page).context["form"]
    assert not {"runs", "query_list", "baseline", "base_version"} & set(form.fields)
    entered = {name: form[name].value() for name in form.fields}
    entered = {name: "" if value is None else value for name, value in entered.items() if value is not False}
    entered |= {"name": "kinder", "reward": "5.00", "fee_rate": "30", "example_query": ""}
    assert client.post(page, entered | {"example_query": "Only this?"}).status_code == 400
    assert client.post(page, entered).status_code == 303
    template.refresh_from_db()
    assert (template.name, template.values["reward"], template.values["fee_rate"]) == ("kinder", "5.00", "0.300")
    assert Campaign.objects.get(name="old").reward == Decimal("3.50")

    terms = reverse("campaigns:template_terms", args=[template.pk])
    form = client.get(terms).context["form"]
    entered = {name: form[name].value() for name in form.fields}
    entered = {name: "" if value is None else value for name, value in entered.items()}
    assert entered["keywords"] == "kindness"
    assert client.post(terms, entered | {"lifetime": "3"}).status_code == 303
    template.refresh_from_db()
    assert template.terms is not None and template.terms["lifetime"] == 3 * 86_400
    client.post(terms, {"remove": "yes"})
    template.refresh_from_db()
    assert template.terms is None

    client.post(reverse("campaigns:template_delete", args=[template.pk]))
    assert not CampaignTemplate.objects.exists()
    assert Campaign.objects.filter(name="old").exists()
    entries = AuditEntry.objects.filter(subject="pools_campaigntemplate").order_by("id")
    assert {(entry.action, entry.lab_id) for entry in entries} == {
        (action, collection.lab_id) for action in ("insert", "update", "delete")
    }


def test_a_template_is_of_one_lab_and_viewers_change_nothing(template: CampaignTemplate, lab: Lab) -> None:
    viewer, outsider = Client(), Client()
    viewer.force_login(factories.member(lab, "viewer"))
    outsider.force_login(factories.member(factories.lab("Elsewhere"), "admin"))
    page = reverse("campaigns:template", args=[template.pk])
    assert "kind" in viewer.get(reverse("campaigns:templates")).text
    assert all(field.disabled for field in viewer.get(page).context["form"].fields.values())
    assert viewer.post(page, {"name": "mine"}).status_code == 403
    assert outsider.get(page).status_code == 404
    assert "kind" not in outsider.get(reverse("campaigns:templates")).text
    template.refresh_from_db()
    assert template.name == "kind"


def test_a_campaign_that_pays_less_than_the_labs_floor_cannot_be_started(
    client: Client, collection: Collection, rita: User, lab: Lab
) -> None:
    draft = factories.campaign(collection, "cheap", start=False, reward="0.10", pairs_per_hit=2, tests_per_hit=1)
    agnes = factories.member(lab, "admin", "agnes")
    floor = reverse("campaigns:pay_floor", args=[lab.pk])
    client.force_login(rita)
    assert client.post(floor, {"pay_floor": "1"}).status_code == 403
    client.force_login(agnes)
    assert client.post(floor, {"pay_floor": "-1"}).status_code == 400
    assert client.post(floor, {"pay_floor": "12.00"}).status_code == 303
    assert AuditEntry.objects.filter(subject="core_lab", changes__pay_floor=[None, 12.0]).count() == 1

    draft = Campaign.objects.get(pk=draft.pk)
    text = r"takes about 1 min and pays \$0.10, which is \$6.00 an hour. The lab's floor is \$12.00 an hour: pay at "
    with pytest.raises(Refused, match=text + r"least \$0.20 a HIT"):
        task_services.campaign_launch(campaign=draft)
    assert Campaign.objects.get(pk=draft.pk).state == "draft"
    page = client.get(reverse("campaigns:campaign", args=[draft.pk])).text
    assert "floor of $12.00 an hour, so the campaign cannot be started" in page

    Campaign.objects.update(reward="0.20")
    task_services.campaign_launch(campaign=Campaign.objects.get(pk=draft.pk))
    assert Campaign.objects.get(pk=draft.pk).state == "packing"


def test_terms_that_cannot_be_set_keep_the_campaign_from_being_created(
    template: CampaignTemplate, collection: Collection
) -> None:
    CampaignTemplate.objects.update(terms={**(template.terms or {}), "lifetime": 1})
    template.refresh_from_db()
    with pytest.raises(Refused, match="terms of the template “kind” cannot be set: A platform offers"):
        campaign_create_from(
            template=template, lab=collection.lab, collection=collection, runs=collection.runs.all(), name="new"
        )
    assert not Campaign.objects.filter(name="new").exists()


def test_a_floor_is_an_amount(lab: Lab) -> None:
    with pytest.raises(Refused):
        pay_floor_set(lab=lab, pay_floor=Decimal("-3"))
    lab.refresh_from_db()
    assert lab.pay_floor is None
