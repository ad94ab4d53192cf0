"""What the API shows and takes of what belongs to a lab: templates and its pay floor."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from api.fields import ModelShape, of
from api.shapes import TermsShape
from campaigns.templating import KEPT
from core.models import Lab
from pools.models import Campaign, CampaignTemplate

# --- what campaigns begin with


@of(CampaignTemplate, "id lab name is_default settings consent terms changed_at")
class TemplateShape(ModelShape):
    """What a lab's campaigns can begin with."""

    settings = serializers.DictField(source="values")
    consent = serializers.CharField(help_text="Empty for the usual text.")
    terms = TermsShape(allow_null=True, help_text="At a platform. Null: none are set.")


NAME_LENGTH = CampaignTemplate._meta.get_field("name").max_length


class NewTemplate(serializers.Serializer[Any]):
    """What the template is called."""

    name = serializers.CharField(max_length=NAME_LENGTH)


class Strict(serializers.Serializer[Any]):
    """A part of what is sent in which unknown fields are mistakes, too."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := sorted(map(str, set(data) - set(self.fields)))):
            raise serializers.ValidationError({name: [_("There is no such field.")] for name in unknown})
        return super().to_internal_value(data)


@of(Campaign, [*KEPT], optional=KEPT)
class TemplateSettings(Strict, ModelShape):
    """Settings that a template has. What is left out stays. Rates are shares: 0.2 is 20 percent."""


class TemplateTerms(Strict, TermsShape):
    """Terms that a template has. What is left out stays, or is as usual where it has none."""


class TemplateChange(serializers.Serializer[Any]):
    """What is to be different about a template. What is left out stays."""

    name = serializers.CharField(max_length=NAME_LENGTH, required=False)
    is_default = serializers.BooleanField(required=False, help_text="Whether pages begin new campaigns with it.")
    settings = TemplateSettings(required=False)
    consent = serializers.CharField(
        max_length=100_000, required=False, allow_blank=True, help_text="Empty for the usual text."
    )
    terms = TemplateTerms(required=False, allow_null=True, help_text="Null takes them away.")


@of(Lab, "")
class PayFloorShape(ModelShape):
    """Dollars an hour below which none of a lab's campaigns can start; null for no floor."""

    pay_floor = serializers.DecimalField(
        max_digits=6, decimal_places=2, min_value=Decimal("0.01"), allow_null=True, required=True
    )
