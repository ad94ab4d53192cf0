"""What the API shows and takes, as JSON: one class for each shape."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.fields import Key, ModelShape, Money, Pseudonym, of
from api.models import Delivery, Event, Scope, Token, Webhook
from core.errors import Refused
from core.models import Lab
from core.progress import Progress
from evaluation.statistics.asking import JUDGMENTS, WANTED
from judgments.models import Decision, StoredFile
from judgments.selectors import PoolRow
from platforms.models import PUBLISHED_TO, Payment, Publication
from platforms.money.bills import Bill, Line
from pools.models import Campaign, QrelsVersion, Round
from pools.settings import ReadingSettings, names_in, settings_of
from results.asking import USUAL, Offer
from results.planning import WORST as WRONG_AT_MOST
from runs import sending
from runs.models import Collection, Job, Run
from runs.selectors import CollectionSize
from tasks import links
from tasks.models import Assignment, TestPair

SETTINGS = [field.name for field in settings_of(Campaign) if field.name != "base_version"]
WORDS = ("title", "question", "instructions")


# --- errors


class ProblemField(serializers.Serializer[Any]):
    """One mistake in what was sent."""

    field = serializers.CharField(required=False, help_text="The field; absent if the mistake is not one field's.")
    pointer = serializers.CharField(required=False, help_text="Where it is in the JSON that was sent.")
    detail = serializers.CharField()
    code = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """What is wrong (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    errors = ProblemField(many=True, required=False)  # type: ignore[assignment]  # its own are not asked for


class Why(serializers.Serializer[Any]):
    """Why it is done."""

    why = serializers.CharField(
        max_length=2000, allow_blank=True, required=False, help_text="Kept in the audit, with what is changed."
    )


# --- the token, labs


@of(Token, "user name scopes expires_at")
class TokenShape(ModelShape):
    """The token of the request."""

    user = serializers.CharField(source="user.username")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))


@of(Lab, "id name")
class LabShape(ModelShape):
    """A lab, and your role in it."""

    role = serializers.SerializerMethodField(help_text="Empty for an admin of the site who is not a member.")

    def get_role(self, lab: Lab) -> str:
        return str(self.context["roles"].get(lab.pk, ""))


# --- collections and runs


@of(Collection, "id lab name language created_at")
class CollectionShape(ModelShape):
    """Queries, passages and original qrels under one name."""


@of(CollectionSize, "queries queries_without_text qrels passages passages_without_text runs")
class CollectionSizeShape(serializers.Serializer[Any]):
    """What a collection holds."""


class CollectionDetail(CollectionShape):
    """A collection, with what it holds."""

    size = CollectionSizeShape()


FILE = serializers.FileField


class LargeFile(serializers.FileField):
    """A file of the form, or one that was sent straight to the bucket, by its token."""

    def __init__(self, *, help_text: str = "", **options: Any) -> None:
        super().__init__(help_text=f"{help_text} Or the token of an upload.".strip(), **options)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str):
            try:
                data = sending.file_received(token=data, user=self.context["request"].user)
            except Refused as error:
                raise serializers.ValidationError(str(error)) from error
        return super().to_internal_value(data)


class NewUpload(serializers.Serializer[Any]):
    """A file that is to be sent straight to the bucket."""

    name = serializers.CharField(max_length=255)
    size = serializers.IntegerField(min_value=1, help_text="In bytes.")


class PartShape(serializers.Serializer[Any]):
    """A part of a file that is missing: `size` bytes from `start` on are to be sent by PUT to `url`, within an hour."""

    start = serializers.IntegerField()
    size = serializers.IntegerField()
    url = serializers.URLField()


class UploadShape(serializers.Serializer[Any]):
    """How far a file is. Once no parts are left, `token` takes the file's place in a form, once, within a day of its
    beginning."""

    token = serializers.CharField()
    received = serializers.IntegerField(help_text="In bytes.")
    parts = PartShape(many=True, help_text="The next parts to send; none once the file is whole.")


class CollectionFiles(serializers.Serializer[Any]):
    """Files for a collection: plain, gz, bz2 or zst."""

    queries = LargeFile(required=False, help_text="tsv (id, tab, text) or jsonl.")
    qrels = LargeFile(required=False, help_text="TREC, MS MARCO, CSV, JSON lines or Parquet.")
    passages = LargeFile(required=False, help_text="tsv (id, tab, text) or jsonl.")
    keep = serializers.ChoiceField(
        choices=["pooled", "all"],
        default="pooled",
        help_text="Which passages to keep: those that pools can need (upload the runs first), or all.",
    )


class NewCollection(CollectionFiles):
    """A collection, from files."""

    lab = Key()
    name = serializers.CharField(max_length=100)
    language = serializers.CharField(max_length=35, default="en", allow_blank=True, help_text="A BCP 47 tag")


@of(Run, "id collection name team notes models_used sha256 is_released imported_at")
class RunShape(ModelShape):
    """One system's ranked lists."""

    scores = serializers.DictField(help_text="On the original qrels: mean `rr` at 10, over so many `queries`.")


class RunDetail(RunShape):
    """A run, with its census and what its header says."""

    census = serializers.DictField()
    metadata = serializers.DictField()


class NewRun(serializers.Serializer[Any]):
    """A run file: TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst."""

    collection = Key()
    file = LargeFile()
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, help_text="Else the file's.")
    team = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    notes = serializers.CharField(max_length=10_000, required=False, allow_blank=True, default="")
    models_used = serializers.CharField(
        max_length=300, required=False, allow_blank=True, default="", help_text="Language models, separated by commas."
    )
    without_query = serializers.BooleanField(
        required=False, default=False, help_text="Leave out hits whose passage has the id of their query, as BEIR does."
    )


@of(Run, "is_released models_used")
class RunChange(ModelShape):
    """Whether exports may have what only this run brought into a pool, and which models it uses. What is not sent
    stays.
    """


# --- jobs


@of(Progress, "step done total")
class Step(serializers.Serializer[Any]):
    """How far a job is: `done` of `total` rows or bytes; `total` is 0 where nobody knows it."""

    unit = serializers.CharField(allow_blank=True)


@of(Job, "id kind state name asked_at ended_at error complaints counts collection run")
class JobShape(ModelShape):
    """Something that takes a while. Ask again until `state` is `done`, `refused` or `failed`.

    Then `collection`, `run` or `campaign` is what came of it, or `error` says why nothing did, and `complaints` where.
    """

    complaints = serializers.DictField(help_text="Errors of a run file by line; of several, why a file was not stored.")
    counts = serializers.DictField(help_text="What was added.")
    campaign = serializers.IntegerField(source="outcome_id", allow_null=True, read_only=True)
    progress = Step(allow_null=True, help_text="Null where nothing has been told.")


# --- campaigns


@of(Campaign, [*SETTINGS, "base_version"], optional=SETTINGS)
class CampaignSettings(ModelShape):
    """Every setting of a campaign that changes a number or what workers read. Rates are shares: 0.2 is 20 percent."""

    base_version = serializers.IntegerField(
        source="base_version.number",
        min_value=1,
        max_value=2**31 - 1,
        default=None,
        allow_null=True,
        help_text="Of challengers: the number of the version of the preference qrels that they challenge.",
    )


@of(
    Campaign,
    "id lab collection name state created_at archived_at is_finished pair_count pool_histogram address currency",
)
class CampaignShape(ModelShape):
    """One judging effort over a collection."""

    is_finished = serializers.BooleanField(help_text="Whether nothing is left to do.")
    pool_histogram = serializers.DictField(help_text="How many pools there are of each size.")
    address = serializers.SerializerMethodField(help_text="Where people who have the link can work.")

    def get_address(self, campaign: Campaign) -> str:
        return links.campaign_address(campaign)


class CampaignDetail(CampaignShape):
    """A campaign, with its runs and settings."""

    runs = serializers.SerializerMethodField()
    settings = CampaignSettings(source="*")

    def get_runs(self, campaign: Campaign) -> list[int]:
        """The keys of the runs."""
        return list(campaign.runs.order_by("pk").values_list("pk", flat=True))


@extend_schema_field(
    {"oneOf": [{"type": "array", "items": {"type": "integer"}, "minItems": 1}, {"type": "string", "enum": ["all"]}]}
)
class RunsField(serializers.ListField):
    """Keys of runs, or `all` of the collection."""

    child = Key()

    def to_internal_value(self, data: Any) -> Any:
        return data if data == "all" else super().to_internal_value(data)


@of(Campaign, ["collection", "template", "name", "runs", *SETTINGS, "base_version"], optional=SETTINGS)
class NewCampaign(CampaignSettings):
    """A draft: its collection, runs and settings. What is left out is as in the template, or else as usual."""

    collection = Key()
    template = Key(
        required=False,
        allow_null=True,
        help_text="A template of the collection's lab to begin with: its settings, worked example, consent text and "
        "terms. Without one, and whichever the lab's default is, the usual ones.",
    )
    name = serializers.CharField(max_length=100)
    runs = RunsField()


@of(Campaign, ["collection", "name", "runs", *SETTINGS, "base_version"], optional=SETTINGS)
class CampaignCopy(CampaignSettings):
    """A copy of a campaign: its name, and whatever is to be otherwise."""

    collection = Key(required=False, help_text="Another collection than the campaign's.")
    name = serializers.CharField(max_length=100)
    runs = RunsField(required=False)


@of(Campaign, ["name", "runs", *SETTINGS, "base_version"], optional=SETTINGS)
class DraftChange(CampaignSettings):
    """What is to be different about a draft: its name, runs, and any setting."""

    name = serializers.CharField(max_length=100, required=False)
    runs = RunsField(required=False)
    base_version = serializers.IntegerField(
        source="base_version.number", min_value=1, max_value=2**31 - 1, required=False
    )


@of(Campaign, names_in(ReadingSettings), optional=names_in(ReadingSettings))
class ReadingChange(ModelShape):
    """How results are read; it changes no judgment."""


@of(Campaign, ["name", "is_archived", *WORDS], optional=("name", *WORDS))
class CampaignChange(ModelShape):
    """What can be changed of a campaign: its name, whether it is archived, and of a draft what workers read."""

    is_archived = serializers.BooleanField(required=False)
    instructions = serializers.CharField(max_length=100_000, required=False, allow_blank=True)


@of(Line, "what detail assignments each amount")
class BillLine(serializers.Serializer[Any]):
    """One line of a bill."""


@of(Bill, "hits assignments redone fees")
class BillShape(serializers.Serializer[Any]):
    """What judging all of a campaign costs, in its currency, on the terms that are stored or likely."""

    redone = serializers.IntegerField(help_text="Assignments expected to be done again.")
    total = Money()
    lines = BillLine(many=True)
    minutes_per_assignment = serializers.IntegerField(
        source="pace.minutes", allow_null=True, help_text="Expected; null without texts."
    )
    per_hour = Money(source="pace.hourly", allow_null=True, help_text="What the reward is then worth.")


class WrongJudgments(serializers.Serializer[Any]):
    """The share of wrong judgments to plan for."""

    error_rate = serializers.DecimalField(
        max_digits=6, decimal_places=5, min_value=Decimal(0), max_value=Decimal(WRONG_AT_MOST), required=False,
        help_text="The share of wrong judgments, from 0 to 0.5."
    )  # fmt: skip


class PlannedOverlap(serializers.Serializer[Any]):
    """What so many judgments of each pair cost, and how sure the best known answers would be."""

    overlap = serializers.IntegerField(help_text="Judgments of each pair.")
    judgments = serializers.IntegerField()
    assignments = serializers.IntegerField(source="bill.assignments")
    redone = serializers.IntegerField(source="bill.redone", help_text="Assignments expected to be done again.")
    total = Money(source="bill.total")
    same = serializers.FloatField(help_text="The share of queries whose best known answer is the true one alone.")
    kept = serializers.FloatField(
        source="included", help_text="The share of queries whose best known answers have the true one."
    )


class PlanShape(serializers.Serializer[Any]):
    """How many judgments a campaign needs, by simulated tournaments over its pools."""

    error_rate = serializers.FloatField(help_text="The share of wrong judgments that is planned for.")
    observed = serializers.DictField(
        allow_null=True,
        help_text="The share that judgments speak of, its 95% interval, of how many, and how; null if none shows it.",
    )
    pools = serializers.IntegerField()
    draws = serializers.IntegerField(help_text="How often each pool is played.")
    overlaps = PlannedOverlap(source="rows", many=True, help_text="None where the campaign has no pools.")


class Wish(serializers.Serializer[Any]):
    """A budget, how many judgments each pair of a confidence set is to have, and how many passages a set."""

    budget = serializers.DecimalField(max_digits=8, decimal_places=2, min_value=Decimal("0.01"), default=USUAL)
    judgments = serializers.ChoiceField(choices=JUDGMENTS, default=JUDGMENTS[0])
    wanted = serializers.ChoiceField(choices=WANTED, default=WANTED[0])


class NewAsking(Wish):
    """An offer to take."""

    seen = serializers.IntegerField(help_text="That of the offer.")


@of(Offer, "budget judgments wanted")
class FurtherShape(serializers.Serializer[Any]):
    """What a budget would buy, or has bought."""

    queries = serializers.IntegerField(help_text="Queries that are asked about.")
    hits = serializers.IntegerField(help_text="New HITs.")
    total = Money()
    settled = serializers.FloatField(help_text="Queries that are expected to be settled then.")
    open = serializers.IntegerField(help_text="Queries with larger confidence sets than wanted.")
    asked = serializers.IntegerField(help_text="Queries that wait for judgments that were asked for before.")
    seen = serializers.IntegerField(help_text="Send it back to take the offer.")
    obstacle = serializers.CharField(help_text="Why nothing can be asked now; empty if it can.")


@of(Round, "number pools passages pairs unsettled hits planned_at asked_at asked_by obstacle")
class RoundShape(ModelShape):
    """A round of a campaign in rounds. It waits for a person while `asked_at` is null: `obstacle` says why."""

    asked_by = serializers.CharField(source="asked_by.username", default=None, allow_null=True, read_only=True)


class Obstacles(serializers.Serializer[Any]):
    """What keeps a draft from being started; nothing if it can be."""

    obstacles = serializers.ListField(child=serializers.CharField())


class ProgressShape(serializers.Serializer[Any]):
    """How far a campaign is."""

    state = serializers.ChoiceField(choices=Campaign.State.choices)
    hits = serializers.IntegerField(source="hits.hits", help_text="HITs.")
    done = serializers.IntegerField(source="hits.hits_done", help_text="HITs that need no more work.")
    active = serializers.IntegerField(source="hits.active", help_text="Assignments that somebody is at.")
    pairs = serializers.IntegerField(source="pairs.pairs")
    pairs_done = serializers.IntegerField(
        source="pairs.done", help_text="Pairs with all the accepted judgments that they need."
    )
    judgments = serializers.IntegerField(source="pairs.accepted", help_text="Accepted judgments.")


# --- test pairs and wording


@of(TestPair, "id question relevant_text off_topic_text state proven_at")
class TestPairShape(ModelShape):
    """A known relevant against an obviously off-topic passage."""

    __test__ = False


class NewTestPair(serializers.Serializer[Any]):
    """A test pair in your own words. It counts as confirmed."""

    question = serializers.CharField(max_length=10_000)
    relevant_text = serializers.CharField(max_length=100_000)
    off_topic_text = serializers.CharField(max_length=100_000)


class SuggestTests(serializers.Serializer[Any]):
    """How many test pairs to suggest from the qrels."""

    count = serializers.IntegerField(min_value=1, max_value=200)


class DecideTests(serializers.Serializer[Any]):
    """Which test pairs to confirm or decline."""

    test_pairs = serializers.ListField(child=Key(), min_length=1, max_length=500)
    decision = serializers.ChoiceField(choices=["confirm", "decline"])


class ConsentShape(serializers.Serializer[Any]):
    """What workers agree to."""

    version = serializers.IntegerField(read_only=True, allow_null=True, help_text="Null for the text given at first.")
    text = serializers.CharField(max_length=100_000)


class NewConsent(Why):
    """What workers agree to from now on, and why it is another text."""

    text = serializers.CharField(max_length=100_000)


# --- work


TEXT = 20_000  # characters of a passage in an example


class WorkedExample(serializers.Serializer[Any]):
    """The worked example that workers see, in your own words; all four texts are empty for the general one."""

    query = serializers.CharField(max_length=TEXT, allow_blank=True, source="example_query")
    better = serializers.CharField(max_length=TEXT, allow_blank=True, source="example_better")
    worse = serializers.CharField(max_length=TEXT, allow_blank=True, source="example_worse")
    explanation = serializers.CharField(
        max_length=TEXT, allow_blank=True, source="example_why", help_text="To the worker: why it is better."
    )

    def validate(self, sent: dict[str, Any]) -> dict[str, Any]:
        names = {field.source: name for name, field in self.fields.items()}
        if any(sent.values()) and (empty := [name for name in sent if not sent[name]]):
            text = _("An example needs all four texts. Leave all of them empty for the general example.")
            raise serializers.ValidationError({names[name]: [text] for name in empty})
        return sent


@of(Assignment, "id hit worker state verdict taken_at finished_at judged")
class AssignmentShape(ModelShape):
    """One worker's attempt at one HIT."""

    hit = serializers.IntegerField(source="hit.number")
    worker = Pseudonym(help_text="The worker's pseudonym in this campaign, as in exports.")
    owed = Money()


class Reason(serializers.Serializer[Any]):
    """Why you decide so. It is stored with your name."""

    why = serializers.CharField(max_length=2000)


class Rejection(Reason):
    """Why you reject it: the worker reads this."""

    category = serializers.CharField(
        max_length=30, required=False, allow_blank=True, help_text="One of the platform's, where it has some."
    )


class WorkerShape(serializers.Serializer[Any]):
    """What one worker did in a campaign."""

    worker = serializers.CharField(help_text="Pseudonym.")
    assignments = serializers.IntegerField()
    accepted = serializers.IntegerField()
    excluded = serializers.IntegerField()
    judgments = serializers.IntegerField()
    left_share = serializers.FloatField(allow_null=True, help_text="How often the left side was preferred.")
    median_seconds = serializers.FloatField(allow_null=True, help_text="Of one comparison.")
    agreement = serializers.FloatField(
        allow_null=True, help_text="The share of others' judgments of the same pairs that are theirs."
    )
    correct_share = serializers.FloatField(allow_null=True, help_text="How often they are right, by Dawid–Skene.")
    unguessed_share = serializers.FloatField(allow_null=True, help_text="Their judgments that are no guesses, by MACE.")
    barred = serializers.BooleanField()


@of(Decision, "id kind worker assignment why by at")
class DecisionShape(ModelShape):
    """What a person, or a failed test pair, decided."""

    worker = Pseudonym(help_text="As in exports.")
    by = serializers.CharField(source="by.username", default=None, allow_null=True, help_text="Null for a check.")


# --- publication


class TermsShape(serializers.Serializer[Any]):
    """The terms of a publication. What is left out stays as it is, or as the page suggests."""

    platform = serializers.ChoiceField(choices=list(PUBLISHED_TO.items()), required=False)
    pay = serializers.ChoiceField(choices=Publication.Pay.choices, required=False)
    base = Money(required=False, help_text="For a base and a bonus only: the reward that the platform lists.")
    title = serializers.CharField(max_length=128, required=False)
    description = serializers.CharField(max_length=2000, required=False)
    keywords = serializers.CharField(max_length=1000, required=False, allow_blank=True)
    countries = serializers.ListField(child=serializers.CharField(), required=False, max_length=250)
    approved = serializers.IntegerField(required=False, allow_null=True, help_text="More approved tasks than this.")
    percent = serializers.IntegerField(required=False, allow_null=True, help_text="Percent approved, at least.")
    lifetime_days = serializers.FloatField(required=False)
    assignment_minutes = serializers.FloatField(required=False)
    auto_approval_days = serializers.FloatField(required=False)
    approve_after_hours = serializers.FloatField(required=False)
    calls_per_second = serializers.FloatField(required=False)


class PublicationShape(serializers.Serializer[Any]):
    """A campaign on a platform."""

    state = serializers.ChoiceField(choices=Publication.State.choices)
    published_at = serializers.DateTimeField(allow_null=True)
    terms = TermsShape()
    amount = Money(help_text="What the work that is still needed costs, at most: confirm it to publish.")
    expected_amount = Money(
        allow_null=True,
        help_text="Of a campaign in rounds, whose amount is for the rounds until now: what all are expected to cost.",
    )
    spends_real_money = serializers.BooleanField(help_text="If so, publishing needs the campaign's name.")
    posted = serializers.IntegerField(help_text="HITs at the platform.")
    on_their_way = serializers.IntegerField()
    refused = serializers.IntegerField()


class NewTerms(TermsShape, Why):
    """The terms of a publication, and why."""


class TermsChange(NewTerms):
    """Other terms of a published campaign. What is left out stays; the platform and the pay cannot be changed."""

    although_nobody_qualifies = serializers.BooleanField(default=False)


class TermsVersionShape(serializers.Serializer[Any]):
    """The terms that are in force, and which version of them that is; null before the campaign is published."""

    version = serializers.IntegerField(source="newest.version", allow_null=True)
    at = serializers.DateTimeField(source="newest.at", allow_null=True)
    terms = TermsShape()


class TermsPreview(serializers.Serializer[Any]):
    """What other terms would change."""

    changes = serializers.ListField(child=serializers.DictField(), help_text="The term, before and after.")
    moving = serializers.IntegerField(help_text="HITs that are open or need work, which move to the other terms.")
    amount = Money(help_text="What the work that is still needed costs, at most.")


class Publish(Why):
    """What you agree to pay, at most: the `amount` of the publication, exactly."""

    amount = Money()
    typed_name = serializers.CharField(
        max_length=100, required=False, help_text="The campaign's name, where real people are paid real money."
    )
    although_nobody_qualifies = serializers.BooleanField(default=False)


@of(Payment, "id purpose state assignment amount fee owed_at paid_at")
class PaymentShape(ModelShape):
    """One line of the ledger."""

    amount = Money()
    fee = Money()


# --- files, results, versions


@of(StoredFile, "name size sha256 made_at")
class FileShape(ModelShape):
    """A file that can be downloaded."""


class ExportsShape(serializers.Serializer[Any]):
    """The export files of a campaign, as they were last made."""

    made_at = serializers.DateTimeField(allow_null=True, help_text="Null before the first time.")
    is_current = serializers.BooleanField(help_text="Whether they would be the same if they were made now.")
    files = FileShape(many=True)


class AskedFor(serializers.Serializer[Any]):
    """Whether a worker has been asked to do it now; if not, it is done by itself within minutes."""

    asked_for = serializers.BooleanField()


class ResultsShape(serializers.Serializer[Any]):
    """What the preferences say about the runs."""

    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null before the first time.")
    final_at = serializers.DateTimeField(allow_null=True, help_text="Since when they are final; null until then.")
    later_runs = serializers.ListField(
        child=serializers.CharField(), help_text="Runs that came after the campaign finished, and are not scored."
    )
    is_current = serializers.BooleanField()
    judgments = serializers.IntegerField(help_text="How many count now.")
    tables = serializers.ListField(child=serializers.CharField())
    findings = serializers.ListField(child=serializers.CharField())


class ColumnShape(serializers.Serializer[Any]):
    """A column of a table."""

    key = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField()


class TableShape(serializers.Serializer[Any]):
    """One table of the results, whole."""

    name = serializers.CharField()
    title = serializers.CharField()
    columns = ColumnShape(many=True)
    rows = serializers.ListField(child=serializers.ListField(child=serializers.JSONField(allow_null=True)))


@of(
    QrelsVersion,
    "number campaign made_at why added changed unchanged unsettled adjudicated expected_wrong qrels sha256",
)
class VersionShape(ModelShape):
    """A version of a collection's preference qrels."""


class NewVersion(serializers.Serializer[Any]):
    """Why a version is made, and the number of the one that it follows: 0 for the first."""

    why = serializers.CharField(max_length=1000)
    parent = serializers.IntegerField(min_value=0, max_value=2**31 - 1)  # type: ignore[assignment]


@of(PoolRow, "id qid text passages pairs")
class QueryRow(serializers.Serializer[Any]):
    """A query of a campaign, with its pool."""

    id = serializers.IntegerField(source="pk")
    passages = serializers.IntegerField(help_text="In its pool.")
    waiting = serializers.IntegerField(help_text="Pairs without all the judgments that they need.")


# --- webhooks


class EventList(serializers.ListField):
    """Events, each once."""

    def __init__(self, **options: Any) -> None:
        child = serializers.ChoiceField(choices=Event.choices)
        super().__init__(child=child, min_length=1, max_length=len(Event.values), **options)


@of(Webhook, "id url events is_enabled created_at failing_since disabled_at")
class WebhookShape(ModelShape):
    """An address that is told what happens in a lab."""

    events = serializers.ListField(child=serializers.ChoiceField(choices=Event.choices))
    is_enabled = serializers.SerializerMethodField()
    disabled_why = serializers.CharField(help_text="Empty if a person did it.")

    def get_is_enabled(self, webhook: Webhook) -> bool:
        """Whether it is told anything."""
        return webhook.disabled_at is None


class NewWebhookShape(WebhookShape):
    """A new webhook, with its secret, or one with a new secret. It is shown this once."""

    secret = serializers.SerializerMethodField(
        help_text="What the signatures are made with. Null where the answer is given again for an idempotency key."
    )

    def get_secret(self, _webhook: Webhook) -> str | None:
        return str(self.context["secret"])


class NewWebhook(serializers.Serializer[Any]):
    """What to tell of what."""

    url = serializers.CharField(max_length=500)
    events = EventList()


class WebhookChange(serializers.Serializer[Any]):
    """What is to be different."""

    url = serializers.CharField(max_length=500, required=False)
    events = EventList(required=False)
    is_enabled = serializers.BooleanField(required=False)


@of(Delivery, "id message event data made_at tries tried_at next_try_at delivered_at")
class DeliveryShape(ModelShape):
    """One thing that a webhook is told."""

    message = serializers.UUIDField(help_text="The `webhook-id` of every try.")
    event = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]  # a field, and not what a serializer has
    problem = serializers.CharField(help_text="Why the last try failed; empty if it did not.")
