"""What the API shows and takes of review: decisions on many, reports, notes, messages, submissions, alarms, a pilot."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from api.fields import Key, ModelShape, Money, Pseudonym, of
from api.shapes import Reason, Why
from core.models import Alarm
from judgments.models import Adjudication, PairDecision, WorkerNote
from judgments.piloting import Lessons
from platforms.messages.conversations import MOST_SUBJECT, MOST_TEXT
from platforms.models import Message, PlatformAlarm, Submission
from review.adjudicating import LONGEST_NOTE
from review.deciding import Preview, row_counts
from review.models import BulkDecision
from tasks.models import CampaignAlarm

MOST = 5_000  # assignments or workers that one request names


class NewBulk(serializers.Serializer[Any]):
    """What to do, about which assignments, or all assignments of which workers, and why."""

    action = serializers.ChoiceField(choices=BulkDecision.Action.choices)
    assignments = serializers.ListField(child=Key(), max_length=MOST, required=False)
    workers = serializers.ListField(
        child=serializers.SlugField(max_length=40), max_length=MOST, required=False, help_text="Pseudonyms."
    )
    amount = Money(required=False, allow_null=True, help_text="Of each bonus.")
    why = serializers.CharField(max_length=2000, required=False, help_text="Needed unless it is only previewed.")

    def validate(self, sent: dict[str, Any]) -> dict[str, Any]:
        if ("assignments" in sent) == ("workers" in sent):
            raise serializers.ValidationError({"assignments": ["Send either assignments or workers."]})
        return sent


@of(Preview, "chosen change judgments pays fees")
class BulkPreview(serializers.Serializer[Any]):
    """What a decision on many would do: how many rows it would change, and what that costs."""

    judgments = serializers.IntegerField(help_text="That count now and would not any more.")
    again = Money(help_text="What doing the work again is expected to cost.")
    unpaid = Money(help_text="The pay that a rejection withholds.")
    rejected = serializers.IntegerField(help_text="Rejected, and so not paid, among the work whose data would be used.")


@of(BulkDecision, "id action amount why by at undone_at")
class BulkShape(ModelShape):
    """A decision on many, and how far it is."""

    by = serializers.CharField(source="by.username", default=None, allow_null=True, help_text="Null: the rule.")
    amount = Money(allow_null=True)
    may_be_undone = serializers.BooleanField()
    rows = serializers.SerializerMethodField(help_text="How many rows are in each state: waiting, done, failed, …")

    def get_rows(self, bulk: BulkDecision) -> dict[str, int]:
        return row_counts([bulk])[bulk.pk]


class ReportedShape(serializers.Serializer[Any]):
    """A pair with which workers say that something is wrong."""

    pair = serializers.IntegerField()
    query = serializers.CharField()
    a = serializers.CharField()
    b = serializers.CharField()
    is_open = serializers.BooleanField(help_text="Whether a person should look.")
    is_set_aside = serializers.BooleanField(help_text="Whether nobody is asked about it any more.")
    workers = serializers.IntegerField(help_text="How many reported it.")
    reports = serializers.ListField(child=serializers.DictField())


class PairRuling(serializers.Serializer[Any]):
    """What to do with a reported pair, and why."""

    decision = serializers.ChoiceField(choices=PairDecision.Kind.choices)
    why = serializers.CharField(max_length=2000)


@of(Adjudication, "id pair choice note by at undone_by undone_at")
class AdjudicationShape(ModelShape):
    """What a person decided on a pair whose judgments disagree."""

    by = serializers.CharField(source="by.username")
    undone_by = serializers.CharField(source="undone_by.username", allow_null=True, default=None)


class DisagreementShape(serializers.Serializer[Any]):
    """A pair, how many accepted judgments are for each of its passages, and the decision that stands."""

    pair = serializers.IntegerField()
    query = serializers.CharField()
    a = serializers.CharField()
    b = serializers.CharField()
    for_a = serializers.IntegerField()
    for_b = serializers.IntegerField()
    decision = AdjudicationShape(allow_null=True)


SEEN = "The `id` of the decision that you saw stand. Refused (409) if another one stands, or it was taken back."


class NewAdjudication(serializers.Serializer[Any]):
    """What is decided on a pair, and which decision it replaces."""

    choice = serializers.ChoiceField(choices=Adjudication.Choice.choices)
    note = serializers.CharField(max_length=LONGEST_NOTE, allow_blank=True, default="")
    seen = Key(allow_null=True, default=None, help_text=SEEN + " Null if there was none.")


class AdjudicationUndo(serializers.Serializer[Any]):
    """Which decision is taken back."""

    seen = Key(help_text=SEEN)


@of(WorkerNote, "id assignment text made_at read_at")
class NoteShape(ModelShape):
    """What a worker wrote from a receipt."""


@of(Alarm, "id kind text raised_at")
class AlarmShape(ModelShape):
    """Something about a campaign that a person must look at."""

    kind = serializers.ChoiceField(choices=CampaignAlarm.choices)


class PlatformAlarmShape(AlarmShape):
    """Something about a campaign at its platform that a person must look at."""

    kind = serializers.ChoiceField(choices=PlatformAlarm.choices)


@of(Message, "id worker state subject text at")
class MessageShape(ModelShape):
    """One message between a worker and the researchers."""

    worker = Pseudonym(help_text="The worker's pseudonym.")
    by = serializers.CharField(source="by.username", allow_null=True, default=None, help_text="Null for a worker's.")
    error = serializers.CharField(help_text="Why it was not sent.")


class NewMessage(serializers.Serializer[Any]):
    """What is written to a worker."""

    subject = serializers.CharField(max_length=MOST_SUBJECT)
    text = serializers.CharField(max_length=MOST_TEXT)


@of(Submission, "id assignment status submitted_at auto_approval_at why_unmatched decision decided_at")
class SubmissionShape(ModelShape):
    """Work that the platform says was submitted."""

    why_unmatched = serializers.CharField()
    decision = serializers.CharField(help_text="`approve`, `reject`, or empty while it waits.")
    reason = serializers.CharField()


class ReturnAsked(Reason):
    """Why a worker is asked to return work. They read `return_reason`, one of the platform's own, or else `why`."""

    return_reason = serializers.CharField(max_length=60, required=False, allow_blank=True)


class TestRun(serializers.Serializer[Any]):
    """The address of a test participant who is made first, if the workspace has none."""

    email = serializers.EmailField(required=False, allow_blank=True)


class TestRunShape(serializers.Serializer[Any]):
    """A study for test participants, and where they open it."""

    study = serializers.CharField()
    address = serializers.CharField()


class Extend(Why):
    """Until when HITs stay open."""

    until = serializers.DateField(help_text="The last day, until its end in UTC, as 2026-12-31; within a year.")


class Extended(serializers.Serializer[Any]):
    """How many HITs stay open longer."""

    extended = serializers.IntegerField()


@of(Lessons, "hits hits_done held assignments finished left failed reported")
class PilotShape(serializers.Serializer[Any]):
    """What a campaign's newest work taught, and how many HITs are held back."""

    seconds = serializers.ListField(
        child=serializers.FloatField(), help_text="Quartiles of the time for an item; empty without any."
    )
    hourly = Money(allow_null=True, help_text="The median of what an hour earned.")
    agreement = serializers.DictField(help_text="Between workers: pairs, compared, raw, alpha.")


class NewPay(Why):
    """What a HIT of the rest pays."""

    reward = serializers.DecimalField(max_digits=8, decimal_places=2, min_value=Decimal(0))


class Launched(serializers.Serializer[Any]):
    """How many more HITs were launched."""

    launched = serializers.IntegerField()


class PreviewShape(serializers.Serializer[Any]):
    """What settings would lead to. `contested` are pools of several passages."""

    queries = serializers.IntegerField()
    contested = serializers.IntegerField()
    pairs = serializers.IntegerField()
    reused = serializers.IntegerField(help_text="Pairs that were judged before.")
    is_exact = serializers.BooleanField(help_text="False where it was counted on a part of the queries.")
    total = Money()
    hours = serializers.DecimalField(max_digits=12, decimal_places=1, allow_null=True, help_text="Of work.")
