"""What the API shows and takes of data protection: erasing workers, members and campaigns, periods, release bundles."""

from typing import Any

from rest_framework import serializers

from api.fields import ModelShape, Money, of
from api.shapes import FileShape
from protection.models import Retention, RetentionResult
from tasks.models import Worker

# --- workers


@of(Worker, "id platform came_at erased_at")
class FoundWorker(ModelShape):
    """A worker who was looked for."""


class ErasureShape(serializers.Serializer[Any]):
    """What an erasure would do, or has left to do."""

    worker = serializers.IntegerField()
    platform = serializers.CharField()
    pseudonyms = serializers.DictField(child=serializers.CharField(), help_text="By the name of the campaign.")
    erased_at = serializers.DateTimeField(allow_null=True)
    is_done = serializers.BooleanField(help_text="Whether nothing is left that says who it is.")
    goes = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many there are of what is removed, by its key."
    )
    stays = serializers.ListField(child=serializers.DictField(), help_text="What, how many, and why.")
    obstacles = serializers.ListField(child=serializers.CharField(), help_text="Why it cannot be done yet.")
    owed = serializers.DictField(
        child=Money(), help_text="What the lab has still to pay itself, by the name of the campaign."
    )


class NewErasure(serializers.Serializer[Any]):
    """Why somebody is erased."""

    why = serializers.CharField(
        max_length=500, allow_blank=True, default="", help_text="Kept in the audit: do not write a name."
    )


class WorkerErasure(NewErasure):
    """Why a worker is erased, and whether a debt stands in the way."""

    write_off = serializers.BooleanField(
        default=False, help_text="Whether what the lab still owes the worker is written off, and not paid."
    )


def _rows() -> serializers.ListField:
    return serializers.ListField(child=serializers.DictField())


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


# --- members


class MemberErasure(serializers.Serializer[Any]):
    """What closing a member's account would do, or did."""

    account = serializers.IntegerField()
    closed_at = serializers.DateTimeField(allow_null=True)
    is_done = serializers.BooleanField(help_text="Whether the account is closed.")
    goes = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many there are of what is removed, by its key."
    )
    stays = serializers.ListField(child=serializers.DictField(), help_text="What, how many, and why.")
    goes_on = serializers.ListField(
        child=serializers.CharField(), help_text="Campaigns of the member that are not closed, by name."
    )
    obstacle = serializers.CharField(help_text="Why it cannot be done yet; empty if it can.")


# --- campaigns


class CampaignWorkers(serializers.Serializer[Any]):
    """How many workers of a campaign are not erased."""

    workers = serializers.IntegerField()


class CampaignErasure(serializers.Serializer[Any]):
    """What erasing a whole campaign would do."""

    campaign = serializers.CharField()
    lab = serializers.CharField()
    goes = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many there are of what is removed, by its key."
    )
    owed = Money(help_text="What its assignments earned, in all.")
    stays = serializers.ListField(child=serializers.DictField(), help_text="What, and why.")
    obstacles = serializers.ListField(child=serializers.CharField(), help_text="Why it cannot be done.")


class NewCampaignErasure(NewErasure):
    """The name of the campaign, so that nobody erases another by mistake, and why."""

    name = serializers.CharField(max_length=100)


class BundleShape(serializers.Serializer[Any]):
    """The release bundle as it was last made, and why it was not made since."""

    file = FileShape(allow_null=True, help_text="Null if none was made.")
    why = serializers.CharField(help_text="Why the last attempt was refused or failed; empty if it succeeded.")


# --- periods


class KeptWorker(serializers.Serializer[Any]):
    """A worker past the period who could not be erased yet."""

    worker = serializers.IntegerField()
    why = serializers.CharField()


@of(RetentionResult, "at erased kept_count")
class RetentionResultShape(ModelShape):
    """What came of the period for workers when it was last kept."""

    kept = KeptWorker(many=True, help_text="The first 200.")


@of(
    Retention,
    "worker_days audit_days",
    extra_kwargs={name: {"required": True} for name in ("worker_days", "audit_days")},
)
class RetentionShape(ModelShape):
    """After how many days a lab's personal data go by themselves; null keeps them until somebody erases them."""

    last = RetentionResultShape(
        source="lab.retention_result",
        read_only=True,
        allow_null=True,
        help_text="When workers past the period were last erased, and who could not be; null before.",
    )
