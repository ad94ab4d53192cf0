"""What the API shows and takes of what belongs to a lab: templates and its pay floor."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from api.shapes import example
from core.models import Lab
from pools.models import CampaignTemplate

# --- what campaigns begin with


@example(
    {
        "id": 2,
        "lab": 1,
        "name": "Two judgments a pair",
        "is_default": True,
        "settings": {"overlap": 2, "reward": "1.50"},
        "consent": "",
        "terms": None,
        "changed_at": "2026-11-22T12:00:00Z",
    }
)
class TemplateShape(serializers.ModelSerializer[CampaignTemplate]):
    """What a lab's campaigns can begin with."""

    settings = serializers.DictField(source="values")
    consent = serializers.CharField(help_text="Empty for the usual text.")
    terms = serializers.DictField(
        allow_null=True, help_text="At a platform, lengths of time in seconds. Null: none are set."
    )

    class Meta:
        model = CampaignTemplate
        fields = ["id", "lab", "name", "is_default", "settings", "consent", "terms", "changed_at"]


NAME_LENGTH = CampaignTemplate._meta.get_field("name").max_length


@example({"name": "Two judgments a pair"})
class NewTemplate(serializers.Serializer[Any]):
    """What the template is called."""

    name = serializers.CharField(max_length=NAME_LENGTH)


@example({"name": "Three judgments a pair", "is_default": True})
class TemplateChange(serializers.Serializer[Any]):
    """Another name, or whether new campaigns of the lab begin with it. What is left out stays."""

    name = serializers.CharField(max_length=NAME_LENGTH, required=False)
    is_default = serializers.BooleanField(required=False)


@example({"pay_floor": "12.00"})
class PayFloorShape(serializers.ModelSerializer[Lab]):
    """Dollars an hour below which none of a lab's campaigns can start; null for no floor."""

    pay_floor = serializers.DecimalField(
        max_digits=6, decimal_places=2, min_value=Decimal("0.01"), allow_null=True, required=True
    )

    class Meta:
        model = Lab
        fields = ["pay_floor"]
