"""What the API shows and takes of leaderboards."""

from typing import Any

from rest_framework import serializers

from api.fields import ModelShape, of
from api.shapes import FILE
from leaderboards.boards import board_terms
from leaderboards.models import Board, Submission, SubmissionEvent, Team
from leaderboards.selectors import Quota, printed


@of(Board, "slug name measures is_public")
class BoardShape(ModelShape):
    """A leaderboard that you may take part in: the policy that holds now, what `seal` needs, and your teams' quotas."""

    policy = serializers.SerializerMethodField(help_text="The number of its version. Send it with a submission.")
    terms = serializers.SerializerMethodField(help_text="What `bestknown seal --board` reads.")
    teams = serializers.SerializerMethodField(help_text="Yours, with what they have sent in the days that count.")

    def get_policy(self, board: Board) -> int:
        return board.policy_at(self.context["at"]).number

    def get_terms(self, board: Board) -> dict[str, Any]:
        return board_terms(board, board.policy_at(self.context["at"])).as_dict()

    def get_teams(self, board: Board) -> list[dict[str, Any]]:
        rows: list[tuple[Team, Quota]] = self.context["teams"](board)
        return [{"id": team.public_id, "name": str(team), **quota._asdict()} for team, quota in rows]


class NewBoardSubmission(serializers.Serializer[Any]):
    """A sealed package, as `bestknown seal` makes it."""

    team = serializers.CharField(max_length=16, help_text="The id of your team.")
    run_id = serializers.CharField(max_length=60, help_text="yyyymmdd-name, with the date of today (UTC).")
    policy = serializers.IntegerField(help_text="The number of the version that you have read and accept.")
    package = FILE()


@of(SubmissionEvent, "state at note")
class BoardSubmissionEvent(ModelShape):
    """A state that it came into."""


@of(Submission, "id run_id board team state arrived_at policy description type embargo_until")
class BoardSubmissionShape(ModelShape):
    """A run that was submitted to a leaderboard, and its state."""

    id = serializers.CharField(source="public_id")
    board = serializers.CharField(source="board.slug")
    team = serializers.SerializerMethodField()
    policy = serializers.IntegerField(source="policy.number", allow_null=True, default=None)

    def get_team(self, submission: Submission) -> str:
        """Its account here, or what an imported entry calls it."""
        return str(submission.team or submission.team_words)


class Choice(serializers.Serializer[Any]):
    """Whether an evaluated run counts."""

    counts = serializers.BooleanField(help_text="False: it is left out, and uses no quota.")


class BoardSubmissionDetail(BoardSubmissionShape):
    """One submission, with what became of it."""

    promised_days = serializers.IntegerField(
        source="policy.promised_days", allow_null=True, default=None, help_text="Within which it is decided on."
    )
    choose_by = serializers.DateTimeField(
        allow_null=True, help_text="By when its team says whether it counts; null where it is not asked."
    )
    events = serializers.SerializerMethodField()
    check = serializers.SerializerMethodField(help_text="What the check says, in sentences.")
    dev = serializers.SerializerMethodField(help_text="By measure, with three places.")
    dev_groups = serializers.SerializerMethodField(
        help_text="By group of the season's dev queries, by the measure that ranks; empty where there are no groups."
    )
    eval = serializers.SerializerMethodField(
        help_text="What the release rule shows once it is published; null before, and where it shows no gain."
    )

    def get_events(self, submission: Submission) -> list[dict[str, Any]]:
        """In order."""
        rows: list[dict[str, Any]] = list(BoardSubmissionEvent(submission.events.order_by("pk"), many=True).data)
        return rows

    def get_check(self, submission: Submission) -> list[str]:
        return list(submission.diagnostics.get("sentences", []))

    def get_dev(self, submission: Submission) -> dict[str, str]:
        rows = submission.scores.filter(part="dev", version=None).order_by("measure")
        return {row.measure: printed(row.fraction) for row in rows}

    def get_dev_groups(self, submission: Submission) -> dict[str, str]:
        measure = submission.board.ranking_measure
        row = submission.scores.filter(part="dev", version=None, origin="computed", measure=measure).first()
        return {} if row is None else {group: printed(scores["fraction"]) for group, scores in row.groups.items()}

    def get_eval(self, submission: Submission) -> str | None:
        release = getattr(submission, "release", None)
        return printed(release.fraction) if release is not None and release.is_shown else None
