"""A setting of a campaign is declared once, and is everywhere."""

import json
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.db import models
from django.test.utils import isolate_apps

from api.shapes import CampaignSettings
from campaigns.forms import CampaignForm, TemplateForm
from core.percent import ShareField
from platforms.publishing.repaying import SETTINGS as COPIED
from pools.models import Campaign
from pools.settings import PoolSettings, Section, Settings, kept_in_templates, names_in, sections_of, settings_of
from tests import factories, settings_table


class Extra(Settings):
    """A part with a setting that any collection can have, and one that it cannot."""

    section = Section("Extra", of_one_collection=frozenset({"scratch_of_one"}))

    scratch = ShareField("Scratch", null=True, blank=True, help_text="Try it.")
    scratch_of_one = models.CharField(max_length=9)

    class Meta:
        abstract = True


@isolate_apps("pools")
def test_a_setting_that_is_added_is_found_and_asked_for() -> None:
    class Scratch(Extra, PoolSettings):
        class Meta:
            app_label = "pools"

    class ScratchForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
        class Meta:
            model = Scratch
            fields: ClassVar = ["scratch"]

    assert sections_of(Scratch) == [Extra, PoolSettings]
    assert [field.name for field in settings_of(Scratch)] == [*names_in(Extra), *names_in(PoolSettings)]
    assert kept_in_templates(Scratch) == ["scratch", *names_in(PoolSettings)]
    field: Any = ScratchForm.base_fields["scratch"]
    assert (str(field.label), field.help_text, field.required) == ("Scratch, in percent", "Try it.", False)
    assert field.clean("12.5") == Decimal("0.125")


def test_every_setting_is_in_forms_templates_copies_the_api_manifests_and_the_docs(campaign: Campaign) -> None:
    names = {field.name for field in settings_of(Campaign)}
    manifest = json.loads(factories.exported(campaign)["manifest.json"])
    page = settings_table.page()

    assert len(names) > 45
    assert names <= set(CampaignForm.base_fields)
    assert names - {"base_version", "query_list", "baseline", "compared_pairs"} <= set(TemplateForm.base_fields)
    assert names <= set(COPIED)
    assert names == set(CampaignSettings().fields)
    assert names == set(manifest["settings"])
    assert all(f"| {field.verbose_name} |" in page for field in settings_of(Campaign))
