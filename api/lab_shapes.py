"""What the API shows and takes of what belongs to a lab: templates, its pay floor, and its workers' data."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from api.shapes import example
from core.models import Lab
from pools.models import CampaignTemplate
from tasks.models import Worker

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


# --- the data of workers


@example({"id": 40, "platform": "mturk", "came_at": "2026-11-22T12:00:00Z", "erased_at": None})
class FoundWorker(serializers.ModelSerializer[Worker]):
    """A worker who was looked for."""

    class Meta:
        model = Worker
        fields = ["id", "platform", "came_at", "erased_at"]


@example(
    {
        "worker": 40,
        "platform": "mturk",
        "pseudonyms": {"pilot": "w-3f9a1c"},
        "erased_at": None,
        "is_done": False,
        "goes": {"texts of messages": 2},
        "stays": [{"what": "judgments, with their times", "count": 26, "why": "They name nobody."}],
        "obstacles": [],
    }
)
class ErasureShape(serializers.Serializer[Any]):
    """What an erasure would do, or has left to do."""

    worker = serializers.IntegerField()
    platform = serializers.CharField()
    pseudonyms = serializers.DictField(child=serializers.CharField(), help_text="By the name of the campaign.")
    erased_at = serializers.DateTimeField(allow_null=True)
    is_done = serializers.BooleanField(help_text="Whether nothing is left that says who it is.")
    goes = serializers.DictField(child=serializers.IntegerField(), help_text="How many there are of what is removed.")
    stays = serializers.ListField(child=serializers.DictField(), help_text="What, how many, and why.")
    obstacles = serializers.ListField(child=serializers.CharField(), help_text="Why it cannot be done yet.")


@example({"why": "Asked for by mail."})
class NewErasure(serializers.Serializer[Any]):
    """Why somebody is erased."""

    why = serializers.CharField(
        max_length=500, allow_blank=True, default="", help_text="Kept in the audit: do not write a name."
    )


def _rows() -> serializers.ListField:
    return serializers.ListField(child=serializers.DictField())


@example(
    {
        "worker": {"platform": "mturk", "label": "", "external_id": "A1B2C3", "came_at": "2026-11-22T12:00:00Z"},
        "lab": "Search lab",
        "campaigns": [{"campaign": "pilot", "pseudonym_in_exports": "w-3f9a1c"}],
        "invitations": [],
        "consents": [],
        "practice": [],
        "assignments": [],
        "judgments": [],
        "reported_pairs": [],
        "notes": [{"assignment_id": 31, "text": "I was careful.", "made_at": "2026-11-22T12:00:00Z"}],
        "messages": [],
        "submissions": [],
        "payments": [],
        "decisions": [],
    }
)
class PersonalData(serializers.Serializer[Any]):
    """All that is stored of a worker, for the worker. This alone has ids of the platform."""

    worker = serializers.DictField()
    lab = serializers.CharField()
    campaigns = _rows()
    invitations = _rows()
    consents = _rows()
    practice = _rows()
    assignments = _rows()
    judgments = _rows()
    reported_pairs = _rows()
    notes = _rows()
    messages = _rows()
    submissions = _rows()
    payments = _rows()
    decisions = _rows()
