"""What the API shows and takes of leaderboards: of taking part, and of what organizers set and decide."""

from typing import Any

from rest_framework import serializers

from api.fields import Key, ModelShape, of
from api.shapes import FILE, LargeFile
from leaderboards import models, teams
from leaderboards.boards import NUMBERS, board_terms
from leaderboards.metadata import FIELDS
from leaderboards.order_checks import Line
from leaderboards.public.versions import Summary
from leaderboards.selectors import Quota, printed
from pools.models import Campaign


@of(models.Board, "slug name measures is_public")
class BoardShape(ModelShape):
    """A leaderboard that you may take part in: the policy that holds now, what `seal` needs, and your teams' quotas."""

    policy = serializers.SerializerMethodField(help_text="The number of its version. Send it with a submission.")
    terms = serializers.SerializerMethodField(help_text="What `bestknown seal --board` reads.")
    teams = serializers.SerializerMethodField(help_text="Yours, with what they have sent in the days that count.")

    def get_policy(self, board: models.Board) -> int:
        return board.policy_at(self.context["at"]).number

    def get_terms(self, board: models.Board) -> dict[str, Any]:
        return board_terms(board, board.policy_at(self.context["at"])).as_dict()

    def get_teams(self, board: models.Board) -> list[dict[str, Any]]:
        rows: list[tuple[models.Team, Quota]] = self.context["teams"](board)
        return [{"id": team.public_id, "name": str(team), **quota._asdict()} for team, quota in rows]


class NewBoardSubmission(serializers.Serializer[Any]):
    """A sealed package, as `bestknown seal` makes it."""

    team = serializers.CharField(max_length=16, help_text="The id of your team.")
    run_id = serializers.CharField(max_length=60, help_text="yyyymmdd-name, with the date of today (UTC).")
    policy = serializers.IntegerField(help_text="The number of the version that you have read and accept.")
    package = LargeFile()


@of(models.SubmissionEvent, "state at note")
class BoardSubmissionEvent(ModelShape):
    """A state that it came into."""


@of(models.Submission, "id run_id board team state arrived_at policy description type embargo_until")
class BoardSubmissionShape(ModelShape):
    """A run that was submitted to a leaderboard, and its state."""

    id = serializers.CharField(source="public_id")
    board = serializers.CharField(source="board.slug")
    team = serializers.SerializerMethodField()
    policy = serializers.IntegerField(source="policy.number", allow_null=True, default=None)

    def get_team(self, submission: models.Submission) -> str:
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

    def get_events(self, submission: models.Submission) -> list[dict[str, Any]]:
        """In order."""
        rows: list[dict[str, Any]] = list(BoardSubmissionEvent(submission.events.order_by("pk"), many=True).data)
        return rows

    def get_check(self, submission: models.Submission) -> list[str]:
        return list(submission.diagnostics.get("sentences", []))

    def get_dev(self, submission: models.Submission) -> dict[str, str]:
        rows = submission.scores.filter(part="dev", version=None).order_by("measure")
        return {row.measure: printed(row.fraction) for row in rows}

    def get_dev_groups(self, submission: models.Submission) -> dict[str, str]:
        measure = submission.board.ranking_measure
        row = submission.scores.filter(part="dev", version=None, origin="computed", measure=measure).first()
        return {} if row is None else {group: printed(scores["fraction"]) for group, scores in row.groups.items()}

    def get_eval(self, submission: models.Submission) -> str | None:
        release = getattr(submission, "release", None)
        return printed(release.fraction) if release is not None and release.is_shown else None


DECISIONS = ("publish", "reject", "flag", "baseline", "unbaseline", "reevaluate", "extend", "variant")
_REASON: dict[str, Any] = {"max_length": 2000, "help_text": "Kept with the decision, and shown to the team."}


# --- boards


class NewBoard(serializers.Serializer[Any]):
    """A leaderboard over one of the lab's collections. It begins with the policy of the MS MARCO leaderboards."""

    collection = Key(help_text="Of the lab that runs it.")
    slug = serializers.SlugField(max_length=50, help_text="The end of its public address.")
    name = serializers.CharField(max_length=100)
    about = serializers.CharField(max_length=10_000, required=False, allow_blank=True, default="")
    measures = serializers.ListField(
        child=serializers.CharField(max_length=40), min_length=1, max_length=8, help_text="As ir_measures names them."
    )
    hits = serializers.IntegerField(min_value=1, max_value=10_000, default=1000, help_text="Of each query, at most.")
    order = serializers.ChoiceField(Campaign.Order.choices, default=Campaign.Order.RANK)
    fewer_refused = serializers.BooleanField(default=False)


@of(
    models.Board,
    "name about is_public spot_checks correction",
    optional=["name", "is_public", "spot_checks", "correction"],
)
class BoardChange(ModelShape):
    """What of a board can be changed at any time."""

    about = serializers.CharField(max_length=10_000, required=False, allow_blank=True)


@of(models.SpotCheck, "id submission run_id month drawn_at note done_by done_at")
class SpotCheckShape(ModelShape):
    """An entry that was drawn at random for a closer look, and what was found."""

    submission = serializers.CharField(source="submission.public_id")
    run_id = serializers.CharField(source="submission.run_id")
    month = serializers.DateField(help_text="Its first day.")
    done_by = serializers.CharField(source="done_by.username", default=None, allow_null=True)


class SpotCheckNote(serializers.Serializer[Any]):
    """What a look at an entry found."""

    note = serializers.CharField(max_length=2000)


@of(Line, "id mean low high band rank_low rank_high")
class OrderLine(serializers.Serializer[Any]):
    """An entry in a check of the order: its mean with the 95% interval, and its ranks on resampled queries."""

    id = serializers.CharField(help_text="Of the entry on the public page.")
    band = serializers.IntegerField(help_text="Entries of one band do not differ significantly from its first.")
    first = serializers.FloatField(help_text="The share of samples in which it is the best.")


@of(models.OrderCheck, "part made_at is_public queries draws seed correction")
class OrderCheckShape(ModelShape):
    """How sure the order of a season was when it was checked, the best mean first."""

    is_public = serializers.BooleanField(help_text="Whether everybody sees it; else organizers alone.")
    entries = OrderLine(many=True)


@of(models.PolicyVersion, ["number", "text", "begins_at", "why", *NUMBERS])
class PolicyShape(ModelShape):
    """A version of a board's policy."""


@of(
    models.PolicyVersion,
    ["text", "begins_at", "why", *NUMBERS],
    extra_kwargs={name: {"required": False} for name in ("text", *NUMBERS)} | {"why": {"required": True}},
)
class NewPolicy(ModelShape):
    """The next version of a policy: what is left out stays as it is. It never acts backward."""

    begins_at = serializers.DateTimeField(required=False, help_text="From now on, if it is left out.")


@of(models.SeasonFile, "part name size sha256")
class SeasonFileShape(ModelShape):
    """A file of a season."""

    queries = serializers.IntegerField(source="counts.queries", default=None, allow_null=True)


@of(models.Season, "number name opens_at closes_at eval_qrels_published_at")
class SeasonShape(ModelShape):
    """A season: queries that runs answer, and qrels."""

    files = SeasonFileShape(many=True)


class NewSeason(serializers.Serializer[Any]):
    """A season with its files; they stay as they are."""

    name = serializers.CharField(max_length=100)
    opens_at = serializers.DateTimeField(required=False, help_text="Now, if it is left out.")
    closes_at = serializers.DateTimeField(required=False)
    dev_queries = FILE(help_text="Lines of id, tab, text.")
    dev_qrels = FILE(help_text="Lines of query, 0, passage, grade.")
    eval_queries = FILE()
    eval_qrels = FILE(help_text="Hidden: nobody gets this file, unless you publish it after the season.")
    dev_candidates = FILE(required=False, help_text="As a run: what a reranking entry may have.")
    eval_candidates = FILE(required=False)
    dev_groups = FILE(required=False, help_text="Lines of query, tab, group: dev scores are shown by group, too.")


@of(models.BoardKey, "fingerprint public_pem retired_at")
class BoardKeyShape(ModelShape):
    """A key that runs are sealed for. The private half never leaves the site."""


# --- teams


@of(models.Team, "id organization group contributors confirmed_at")
class TeamShape(ModelShape):
    """A team, for its members and for the organizers."""

    id = serializers.CharField(source="public_id")
    merged_into = serializers.CharField(source="merged_into.public_id", default=None, allow_null=True)
    members = serializers.SerializerMethodField()

    def get_members(self, team: models.Team) -> list[str]:
        """Their names to log in with."""
        return [row.user.username for row in team.members.select_related("user").order_by("pk")]


class NewTeam(serializers.Serializer[Any]):
    """A team, which whoever founds it is the first member of."""

    organization = serializers.CharField(max_length=100)
    group = serializers.CharField(max_length=100)
    contributors = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


@of(models.TeamInvitation, "id team email made_at expires_at")
class TeamInvitationShape(ModelShape):
    """An offer to take part in a leaderboard, which its link takes once."""

    team = serializers.CharField(
        source="team.public_id", default=None, allow_null=True, help_text="Null: whoever takes it founds a team."
    )
    link = serializers.SerializerMethodField(
        help_text="Hand it over: whoever opens it first takes part. Null where somebody asked for it, who gets it by "
        "mail, and in an answer that is repeated for its Idempotency-Key."
    )

    def get_link(self, invitation: models.TeamInvitation) -> str | None:
        return teams.invitation_address(invitation) if invitation.invited_by_id else None


class NewTeamInvitation(serializers.Serializer[Any]):
    """Whom to invite."""

    email = serializers.EmailField(max_length=254, default="", allow_blank=True)


class BoardReason(serializers.Serializer[Any]):
    """Why it is decided."""

    reason = serializers.CharField(**_REASON)


class Exemption(BoardReason):
    """More runs than the policy has."""

    runs = serializers.IntegerField(min_value=1, max_value=1000)


# --- submissions


class NewBoardDecision(BoardReason):
    """What an organizer rules on a submission."""

    kind = serializers.ChoiceField(
        DECISIONS,
        help_text="`flag` takes `flag`, `variant` takes `variant_of`; empty ones take it away. `extend` takes `until`.",
    )
    flag = serializers.CharField(max_length=2000, required=False, allow_blank=True, help_text="For everybody.")
    variant_of = serializers.CharField(
        max_length=100, required=False, allow_blank=True, help_text="The id of an earlier entry."
    )
    until = serializers.DateField(required=False, help_text="The embargo ends at 00:00 UTC of that day.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for kind, name in (("flag", "flag"), ("extend", "until"), ("variant", "variant_of")):
            if (attrs["kind"] == kind) != (name in attrs):
                message = f"“{kind}” needs it." if attrs["kind"] == kind else f"Only “{kind}” takes it."
                raise serializers.ValidationError({name: [message]})
        return attrs


@of(models.Decision, "kind reason details by at")
class BoardDecisionShape(ModelShape):
    """What was ruled, by whom and why."""

    by = serializers.CharField(source="by.username", default=None, allow_null=True, help_text="Null: by the policy.")
    team = serializers.CharField(source="team.public_id", default=None, allow_null=True)


@of(models.SubmissionMessage, "text is_organizers by at")
class BoardMessageShape(ModelShape):
    """A message between a team and the organizers."""

    by = serializers.CharField(source="by.username", default=None, allow_null=True)


class NewBoardMessage(serializers.Serializer[Any]):
    """What is written: to the organizers if a member of the team writes it, else to the team."""

    text = serializers.CharField(max_length=5000)


@of(models.Opening, "what by job why at")
class OpeningShape(ModelShape):
    """That something of a submission was opened."""

    by = serializers.CharField(source="by.username", default=None, allow_null=True, help_text="Null: a job did it.")


@of(models.MetadataRequest, "id kind state before after why asked_at reason decided_at")
class MetadataRequestShape(ModelShape):
    """A request for other metadata of a submission."""


class NewMetadataRequest(serializers.Serializer[Any]):
    """What is to change, and why."""

    kind = serializers.ChoiceField([(kind, models.MetadataRequest.Kind(kind).label) for kind in FIELDS])
    after = serializers.DictField(
        child=serializers.CharField(max_length=1000, allow_blank=True),
        help_text="; ".join(f"{kind}: {', '.join(names)}" for kind, names in FIELDS.items()),
    )
    why = serializers.CharField(max_length=2000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        names = FIELDS[attrs["kind"]]
        if unknown := sorted(set(attrs["after"]) - set(names)):
            message = f"A request of this kind changes {', '.join(names)}, and not {', '.join(unknown)}."
            raise serializers.ValidationError({"after": [message]})
        return attrs


class MetadataRuling(BoardReason):
    """Whether a request is accepted."""

    accept = serializers.BooleanField()
    override = serializers.BooleanField(default=False, help_text="Even if the team's name tells more than before.")


@of(models.DevScoring, "id season name state")
class DevScoringShape(ModelShape):
    """A run on the dev queries that you had scored."""

    season = serializers.IntegerField(source="season.number")
    scores = serializers.SerializerMethodField(help_text="By measure, with three places.")
    check = serializers.SerializerMethodField(help_text="What the check says, in sentences.")

    def get_scores(self, row: models.DevScoring) -> dict[str, str]:
        return {name: printed(score) for name, score in row.scores.items()}

    def get_check(self, row: models.DevScoring) -> list[str]:
        return list(row.diagnostics.get("sentences", []))


class NewDevScoring(serializers.Serializer[Any]):
    """A run on the dev queries, to be scored."""

    file = FILE(help_text="TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst.")
    season = serializers.IntegerField(min_value=1, required=False, help_text="Its number; the newest if left out.")


# --- upkeep


@of(
    models.Upkeep,
    "is_on runs_itself covers_eval template tests_from fewest every_days campaign_dollars year_dollars",
    extra_kwargs={"campaign_dollars": {"min_value": 0}, "year_dollars": {"min_value": 0}},
)
class UpkeepShape(ModelShape):
    """How a board's best known answers are kept current. A field that is left out gets its default."""

    template = Key(source="template_id", required=False, allow_null=True, help_text="Of the lab.")
    tests_from = Key(
        source="tests_from_id", required=False, allow_null=True, help_text="A campaign with confirmed test pairs."
    )


@of(
    models.UpkeepRound,
    "number state dollars spent proposed_at decided_by decided_at "
    "reason campaign version challengers obstacle nobody_qualifies although_nobody_qualifies",
    read_only_fields=["campaign"],
)
class UpkeepRoundShape(ModelShape):
    """One small campaign in which challengers are judged."""

    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)
    version = serializers.IntegerField(source="version.number", default=None, allow_null=True)
    challengers = serializers.IntegerField(source="challengers.count")


@of(Summary, "number why made_at answers added changed")
class BoardVersionShape(serializers.Serializer[Any]):
    """A version of the preference qrels, as everybody sees it: of the dev queries alone."""

    number = serializers.IntegerField(source="version.number")
    why = serializers.CharField(source="version.why")
    made_at = serializers.DateTimeField(source="version.made_at")


@of(models.Board, "slug name about measures hits order fewer_refused is_public spot_checks correction")
class BoardOrganized(ModelShape):
    """A leaderboard, for its organizers."""


class NewBoardImport(serializers.Serializer[Any]):
    """A CSV file of a leaderboard, sent as a form."""

    file = serializers.FileField(help_text="Of MS MARCO's document or passage leaderboard, told apart by its columns.")
    season = serializers.IntegerField(
        required=False, min_value=1, max_value=32767, help_text="The number of the season; otherwise the first."
    )


class BoardImportShape(serializers.Serializer[Any]):
    """What came of the file."""

    entries = serializers.IntegerField(help_text="Entries that were added.")
    summary = serializers.DictField(help_text="The entries in numbers, with trophies on which the file disagrees.")
    notes = serializers.ListField(child=serializers.DictField(), help_text="What was mended in the file, by line.")
