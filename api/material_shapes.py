"""What the API shows and takes of panels, of what was scored or judged elsewhere, of machine judges and of public
collections."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from rest_framework import serializers

from api.fields import Key, ModelShape, of
from api.shapes import FILE, LargeFile
from machines import machine_asking
from machines.models import MachineAsking, MachineJudge
from pools.models import Campaign
from runs.catalogue import Listed
from runs.models import Collection, OutsideScores, PreferenceImport
from tasks import links
from tasks.models import OutsidePanel, Worker
from tasks.outside_panels import OUTCOMES, VisitRow
from tasks.selectors import PanelRow

# --- panels

MOST_NAMES = 1_000  # that one request invites
NAME_LENGTH = Worker._meta.get_field("label").max_length


class PanelMember(serializers.Serializer[PanelRow]):
    """Somebody on a campaign's panel, and what they have done in it."""

    worker = serializers.CharField(source="pseudonym", help_text="The pseudonym in exports.")
    name = serializers.CharField(
        source="worker.label",
        allow_null=True,
        help_text="Null in an answer that is repeated for its Idempotency-Key: no stored answer keeps a name.",
    )
    link = serializers.SerializerMethodField(
        help_text="Hand it over to this person alone: whoever opens it works in their name. Null in an answer that is "
        "repeated for its Idempotency-Key."
    )
    invited_at = serializers.DateTimeField()
    consented = serializers.BooleanField(help_text="To the consent text that is in force.")
    assignments = serializers.IntegerField(help_text="That are finished or left.")

    def get_link(self, row: PanelRow) -> str | None:
        campaign: Campaign = self.context["view"].campaign
        return links.home_address(row.worker, campaign)


class NewPanel(serializers.Serializer[Any]):
    """Names or addresses. They are never exported. People who are on the panel already keep their link."""

    names = serializers.ListField(
        child=serializers.CharField(max_length=NAME_LENGTH), min_length=1, max_length=MOST_NAMES
    )


class Invited(serializers.Serializer[Any]):
    """The people who were named, each with their link."""

    members = PanelMember(many=True)


# --- an outside panel


@of(OutsidePanel, "name person_parameter session_parameter finished_exit failed_exit no_consent_exit nothing_left_exit")
class OutsidePanelShape(ModelShape):
    """How people of somebody else's panel come and go. Each exit is a completion code, or an https address."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        person = attrs.get("person_parameter", "participantId")
        if person == attrs.get("session_parameter", "assignmentId"):
            raise serializers.ValidationError({"session_parameter": _("The two parameters need different names.")})
        return attrs


@of(VisitRow, "person session outcome exit judged items owed came_at ended_at")
class PanelSession(serializers.Serializer[VisitRow]):
    """A session of somebody from an outside panel, and what came of it. Nobody has confirmed the ids."""

    person = serializers.CharField(help_text="Their id at the panel, as the address had it.")
    outcome = serializers.ChoiceField(choices=list(OUTCOMES))
    exit = serializers.CharField(help_text="The code or address that the person leaves with; empty without one.")
    judged = serializers.IntegerField(help_text="Items judged; `items` is how many a HIT has.")
    owed = serializers.DecimalField(max_digits=8, decimal_places=2, help_text="In dollars, for what was judged.")


# --- scores from elsewhere

MOST_SCORES = 1_000_000  # bytes of a file of scores: one line for each run


@of(OutsideScores, "source filename uploaded_at")
class OutsideShape(ModelShape):
    """How the runs of a collection score elsewhere."""

    scores = serializers.SerializerMethodField(help_text="Best first; `rank` is null where the file does not say it.")
    unknown = serializers.SerializerMethodField(help_text="How many of these runs the collection does not have.")

    def get_scores(self, outside: OutsideScores) -> list[dict[str, Any]]:
        ordered = sorted(outside.scores.items(), key=lambda entry: (-entry[1][0], entry[0]))
        return [{"run": run, "score": score, "rank": rank} for run, (score, rank) in ordered]

    def get_unknown(self, outside: OutsideScores) -> int:
        return len(outside.scores) - outside.collection.runs.filter(name__in=list(outside.scores)).count()


class NewOutside(serializers.Serializer[Any]):
    """Where scores come from and of which measure they are, and a file with a line `run score [rank]` for each run."""

    source = serializers.CharField(  # type: ignore[assignment]  # its own is not asked for
        max_length=OutsideScores._meta.get_field("source").max_length
    )
    file = FILE(help_text="At most 1 MB.")

    def validate_file(self, file: "UploadedFile[Any]") -> "UploadedFile[Any]":
        if (file.size or 0) > MOST_SCORES:
            raise serializers.ValidationError(_("This file is larger than 1 MB. It has one line for each run."))
        return file


# --- judgments from elsewhere


@of(PreferenceImport, "id collection name note sha256 judgment_count pair_count imported_at")
class PreferenceImportShape(ModelShape):
    """Preferences that were made elsewhere, which campaigns can reuse."""


class NewPreferences(serializers.Serializer[Any]):
    """A file with four columns of ids: query, passage a, passage b, and whichever was preferred, or = for a tie."""

    file = LargeFile(help_text="Plain, gz, bz2 or zst.")
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, help_text="Else the file's.")
    note = serializers.CharField(max_length=2000, help_text="Who judged, and what they were asked.")


class NewJudgments(NewPreferences):
    """A file of judgments in any format that is read: lines `query a b preferred [worker [time]]`, prefj's log,
    Mechanical Turk's results, Label Studio's pairwise export, or Potato's output."""

    question = serializers.CharField(
        max_length=Campaign._meta.get_field("question").max_length,
        default=Campaign._meta.get_field("question").default,
        help_text="What the workers were asked. Campaigns that ask the same may reuse the judgments.",
    )
    note = serializers.CharField(
        max_length=2000, required=False, allow_blank=True, default="", help_text="Who judged, and how."
    )


# --- what machines judged


@of(MachineJudge, "id collection name model sha256 answer_count pair_count imported_at")
class MachineShape(ModelShape):
    """A machine, such as a language model, that was asked about pairs of a collection elsewhere."""


@of(MachineJudge, "id collection name model sha256 answer_count pair_count imported_at prompt")
class MachineDetail(MachineShape):
    """A machine judge, with what it was told."""


class NewMachine(serializers.Serializer[Any]):
    """A file with four columns: query, passage a, passage b (as the machine was shown them), and whichever it
    preferred, = for a tie, or ! for no answer."""

    file = LargeFile(help_text="Plain, gz, bz2 or zst. A pair may be there in both orders.")
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, help_text="Else the file's.")
    model = serializers.CharField(
        max_length=MachineJudge._meta.get_field("model").max_length, help_text="With its version or date."
    )
    prompt = serializers.CharField(
        max_length=MachineJudge._meta.get_field("prompt").max_length, help_text="What it was told, word for word."
    )


@of(
    MachineAsking,
    "id campaign name model prompt budget state questions asked tokens asked_by asked_at ended_at retry_at error judge",
)
class AskingShape(ModelShape):
    """A machine that is, or was, asked about a campaign's pairs. Once it has ended, `judge` is the machine judge of its
    answers, if it gave any."""

    asked_by = serializers.CharField(source="asked_by.username", default=None, allow_null=True, read_only=True)
    asked = serializers.IntegerField(source="sent", read_only=True, help_text="Questions that were sent.")


class NewAskedMachine(serializers.Serializer[Any]):
    """A machine to be asked about a campaign's pairs."""

    name = serializers.CharField(
        max_length=MachineAsking._meta.get_field("name").max_length, help_text="Of the machine judge."
    )
    model = serializers.CharField(
        max_length=MachineAsking._meta.get_field("model").max_length, help_text="As the endpoint calls it."
    )
    prompt = serializers.CharField(
        max_length=MachineAsking._meta.get_field("prompt").max_length,
        trim_whitespace=False,
        help_text="What it is told, with {query}, {first} and {second} where these texts belong. It has to ask for 1, "
        "2 or = (neither).",
    )
    budget = serializers.IntegerField(
        min_value=1, max_value=machine_asking.MOST, help_text="How many questions may be asked; each pair has two."
    )


# --- public collections

ID_LENGTH = Collection._meta.get_field("dataset").max_length


@of(Listed, "id has_qrels has_passages")
class DatasetShape(serializers.Serializer[Any]):
    """A public collection that ir_datasets knows."""


class OfferShape(DatasetShape):
    """What a public collection has, and what fetching it takes."""

    language = serializers.CharField(help_text="Of the queries, if it is known.")
    size = serializers.IntegerField(help_text="Bytes that are still to be downloaded.")
    is_size_known = serializers.BooleanField(help_text="Whether `size` counts every file.")
    needed = serializers.IntegerField(help_text="Bytes of the disk that this may take, unpacked and indexed.")
    free = serializers.IntegerField(help_text="Bytes of the disk that are free, beside what is kept free.")
    agreement = serializers.CharField(help_text="What its publisher asks of those who use it.")


class AskedDatasets(serializers.Serializer[Any]):
    """Which public collections are asked for."""

    id = serializers.CharField(
        max_length=ID_LENGTH, default="", allow_blank=True, help_text="Only those whose id contains this."
    )


class AskedOffer(serializers.Serializer[Any]):
    """Of which public collection it is asked what fetching takes."""

    id = serializers.CharField(max_length=ID_LENGTH, help_text="Its id in ir_datasets.")
    passages = serializers.BooleanField(default=False, help_text="Whether its passages are to be fetched, too.")


class NewDataset(serializers.Serializer[Any]):
    """A collection from ir_datasets."""

    lab = Key()
    dataset = serializers.CharField(max_length=ID_LENGTH, help_text="Its id in ir_datasets.")
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, help_text="Else the id.")
    passages = serializers.BooleanField(default=False, help_text="Whether to fetch the passages that the qrels name.")
