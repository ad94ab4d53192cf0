"""What the API shows and takes of panels, and of what was scored or judged elsewhere."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from rest_framework import serializers

from api.shapes import FILE, example
from judgments.exports import pseudonym
from pools.models import Campaign, OutsideScores, PreferenceImport
from tasks import links
from tasks.models import Worker
from tasks.selectors import PanelRow

# --- panels

MOST_NAMES = 1_000  # that one request invites
NAME_LENGTH = Worker._meta.get_field("label").max_length
MEMBER_EXAMPLE = {
    "worker": "w-3f9a1c",
    "name": "Anna",
    "link": "https://judge.example.org/w/WzEs.../",
    "invited_at": "2026-11-22T12:00:00Z",
    "consented": True,
    "assignments": 3,
}


@example(MEMBER_EXAMPLE)
class PanelMember(serializers.Serializer[PanelRow]):
    """Somebody on a campaign's panel, and what they have done in it."""

    worker = serializers.SerializerMethodField(help_text="The pseudonym in exports.")
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

    def get_worker(self, row: PanelRow) -> str:
        """As in exports."""
        return pseudonym(self.context["campaign"], row.worker.pk)

    def get_link(self, row: PanelRow) -> str:
        """As the page shows it."""
        campaign: Campaign = self.context["campaign"]
        return links.home_address(row.worker, campaign)


@example({"names": ["Anna", "bert@example.org"]})
class NewPanel(serializers.Serializer[Any]):
    """Names or addresses. They are never exported. People who are on the panel already keep their link."""

    names = serializers.ListField(
        child=serializers.CharField(max_length=NAME_LENGTH), min_length=1, max_length=MOST_NAMES
    )


@example({"members": [MEMBER_EXAMPLE]})
class Invited(serializers.Serializer[Any]):
    """The people who were named, each with their link."""

    members = PanelMember(many=True)


# --- scores from elsewhere

MOST_SCORES = 1_000_000  # bytes of a file of scores: one line for each run


@example(
    {
        "source": "MS MARCO leaderboard, MRR@10",
        "filename": "leaderboard.tsv",
        "uploaded_at": "2026-11-22T12:00:00Z",
        "scores": [{"run": "bm25", "score": 0.184, "rank": 12}],
        "unknown": 0,
    }
)
class OutsideShape(serializers.ModelSerializer[OutsideScores]):
    """How the runs of a collection score elsewhere."""

    scores = serializers.SerializerMethodField(help_text="Best first; `rank` is null where the file does not say it.")
    unknown = serializers.SerializerMethodField(help_text="How many of these runs the collection does not have.")

    class Meta:
        model = OutsideScores
        fields = ["source", "filename", "uploaded_at", "scores", "unknown"]

    def get_scores(self, outside: OutsideScores) -> list[dict[str, Any]]:
        """By score, then name."""
        ordered = sorted(outside.scores.items(), key=lambda entry: (-entry[1][0], entry[0]))
        return [{"run": run, "score": score, "rank": rank} for run, (score, rank) in ordered]

    def get_unknown(self, outside: OutsideScores) -> int:
        """Their scores count once the runs are imported."""
        return len(outside.scores) - outside.collection.runs.filter(name__in=list(outside.scores)).count()


@example({"source": "MS MARCO leaderboard, MRR@10", "file": "(the file)"})
class NewOutside(serializers.Serializer[Any]):
    """Where scores come from and of which measure they are, and a file with a line `run score [rank]` for each run."""

    source = serializers.CharField(  # type: ignore[assignment]  # its own is not asked for
        max_length=OutsideScores._meta.get_field("source").max_length
    )
    file = FILE(help_text="At most 1 MB.")

    def validate_file(self, file: "UploadedFile[Any]") -> "UploadedFile[Any]":
        """Refuse what is far larger than scores of runs can be."""
        if (file.size or 0) > MOST_SCORES:
            raise serializers.ValidationError(_("This file is larger than 1 MB. It has one line for each run."))
        return file


# --- judgments from elsewhere


@example(
    {
        "id": 5,
        "collection": 1,
        "name": "pilot of 2021",
        "note": "Ten students, who were asked which passage answers the question.",
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "judgment_count": 1200,
        "pair_count": 600,
        "imported_at": "2026-11-22T12:00:00Z",
    }
)
class PreferenceImportShape(serializers.ModelSerializer[PreferenceImport]):
    """Preferences that were made elsewhere, which campaigns can reuse."""

    class Meta:
        model = PreferenceImport
        fields = ["id", "collection", "name", "note", "sha256", "judgment_count", "pair_count", "imported_at"]


@example({"file": "(the file)", "name": "pilot of 2021", "note": "Ten students."})
class NewPreferences(serializers.Serializer[Any]):
    """A file with four columns of ids: query, passage a, passage b, and whichever was preferred."""

    file = FILE(help_text="Plain, gz, bz2 or zst.")
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, help_text="Else the file's.")
    note = serializers.CharField(max_length=2000, help_text="Who judged, and what they were asked.")


@example({"file": "(the file)", "name": "pilot of 2021", "note": "Ten students.", "question": "Which is better?"})
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
