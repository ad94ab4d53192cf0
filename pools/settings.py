"""The settings of a campaign: each is declared here, and nowhere else.

The texts that workers read are in pools/wording.py. Forms, templates, copies, the API, manifests, pages and
docs/settings.md have every field of these classes, with its label, help, limits and default. All are columns of one
table: one row to lock, to copy and to export.
"""

from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.percent import ShareField
from evaluation.judging.designs import DESIGNS
from evaluation.judging.designs.all_pairs import AllPairs
from evaluation.judging.designs.challengers import Challengers
from evaluation.judging.designs.rounds import Rounds
from evaluation.measures.named import read_measures

KEPT = 100  # passages of each query that are kept of a run


class Section(NamedTuple):
    """A part of the form. `of_design` is the only design that reads its settings; those `of_one_collection` name
    queries, runs or versions, and mean nothing in another.
    """

    title: Promise
    of_design: str = ""
    of_one_collection: frozenset[str] = frozenset()


class Settings(models.Model):
    """Settings that are shown together."""

    section: ClassVar[Section]

    class Meta:
        abstract = True


Part = Any  # a class of settings; being abstract, it is no type for mypy


def sections_of(model: type[models.Model]) -> list[Part]:
    """The parts of a model's settings, in the order of its bases."""
    parts = [base for base in model.__mro__ if issubclass(base, Settings)]
    return [part for part in parts if part._meta.abstract and part is not Settings]


def names_in(part: Part) -> list[str]:
    """The settings of a part, in its order."""
    return [field.name for field in part._meta.local_fields]


def settings_of(model: type[models.Model]) -> list["models.Field[Any, Any]"]:
    """A model's settings, part by part."""
    return [field for part in sections_of(model) for field in fields_in(model, part)]


def fields_in(model: type[models.Model], part: Part) -> list["models.Field[Any, Any]"]:
    """A model's settings of a part."""
    return [field for field in model._meta.fields if field.name in names_in(part)]


def kept_in_templates(model: type[models.Model]) -> list[str]:
    """The names of the settings that mean something in any collection."""
    return [
        name for part in sections_of(model) for name in names_in(part) if name not in part.section.of_one_collection
    ]


def check_measures(names: str) -> None:
    """Raise ValidationError where a measure is unknown, or looks further down than what is kept of a run."""
    try:
        measures = read_measures(names)
    except ValueError as error:
        raise ValidationError(f"M{str(error)[1:]}.") from error
    for measure in measures:
        if measure.cutoff is None or measure.cutoff > KEPT:
            such = measure._replace(cutoff=KEPT)
            text = _(
                "%(measure)s looks further down than the first %(kept)d passages of each query, which are all that is "
                "kept of a run. Give it a cutoff of at most %(kept)d, as in %(such)s."
            )
            raise ValidationError(text, params={"measure": str(measure), "kept": KEPT, "such": str(such)})


class MaterialSettings(Settings):
    """Which design, and for which queries."""

    class Selection(models.TextChoices):
        ALL = "all", _("all queries")
        LIST = "list", _("a list of queries")
        SAMPLE = "sample", _("a sample of the queries with a pool of two or more")

    section = Section(_("What is judged"), of_one_collection=frozenset({"base_version", "query_list"}))

    design = models.CharField(
        _("Pairing design"),
        max_length=20,
        choices=[(design.name, _(design.title)) for design in DESIGNS.values()],
        default=AllPairs.name,
        help_text=_(" ".join(design.explain() for design in DESIGNS.values())),
    )
    base_version = models.ForeignKey(
        "pools.QrelsVersion",
        verbose_name=_("Version to challenge"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="challenges",
        help_text=_("The challengers are compared with this version's best known answers. For “challengers” only."),
    )
    selection = models.CharField(_("Queries"), max_length=10, choices=Selection, default=Selection.ALL)
    sample_size = models.PositiveIntegerField(
        _("Sample size"), null=True, blank=True, help_text=_("How many queries to draw. For “a sample” only.")
    )
    query_list = models.TextField(
        _("List of queries"),
        blank=True,
        help_text=_("Query ids, separated by spaces or line breaks. For “a list of queries” only."),
    )

    class Meta:
        abstract = True


class PoolSettings(Settings):
    """What is in the pools, and how winners are found."""

    class Order(models.TextChoices):
        SCORE = "score", _("by score (ties by passage id, descending)")
        RANK = "rank", _("by the rank column")

    class QrelPolicy(models.TextChoices):
        FIRST = "first", _("the first qrel of each query")
        ALL = "all", _("all qrels")
        NONE = "none", _("no qrel")

    class ChampionQrel(models.TextChoices):
        FIRST = "first", _("the first in the file")
        HIGHEST = "highest", _("the one that the run ranks highest")
        EACH = "each", _("each, with a comparison for every one")

    class Method(models.TextChoices):
        TOURNAMENT = "tournament", _("tournament")
        MOST_WINS = "most-wins", _("most wins")
        BRADLEY_TERRY = "bradley-terry", _("Bradley–Terry")

    class Weighing(models.TextChoices):
        SAME = "same", _("all the same")
        DAWID_SKENE = "dawid-skene", _("by how often each worker is right (Dawid–Skene)")
        MACE = "mace", _("by how rarely each worker guesses (MACE)")

    section = Section(_("Pools"))

    order = models.CharField(
        _("Order of the runs"),
        max_length=10,
        choices=Order,
        default=Order.SCORE,
        help_text=_("Which column of a run decides the order. In many runs, the two columns disagree."),
    )
    depth = models.PositiveSmallIntegerField(
        _("Depth"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("How many top passages each run contributes to a pool. The method uses 1."),
    )
    qrel_policy = models.CharField(
        _("Original qrels in the pools"),
        max_length=10,
        choices=QrelPolicy,
        default=QrelPolicy.FIRST,
        help_text=_("Which relevant passages are added to those of the runs."),
    )
    champion_qrel = models.CharField(
        _("Qrel that a champion check compares"),
        max_length=10,
        choices=ChampionQrel,
        default=ChampionQrel.FIRST,
        help_text=_(
            "For queries with several qrels. The paper takes the first. If the run has none of them in its first "
            "100, the first in the file is the highest."
        ),
    )
    min_grade = models.IntegerField(
        _("Lowest relevant grade"),
        default=1,
        help_text=_("An original qrel with this grade or a higher one counts as relevant."),
    )
    seed = models.BigIntegerField(
        _("Seed"), default=1, help_text=_("The same seed gives the same sample, HITs, order and sides.")
    )
    method = models.CharField(_("How winners are found"), max_length=15, choices=Method, default=Method.TOURNAMENT)
    weighing = models.CharField(
        _("How judgments weigh"),
        max_length=15,
        choices=Weighing,
        default=Weighing.SAME,
        db_default=Weighing.SAME,
        help_text=_(
            "Where the judgments of a pair disagree, all of them count as those say that weigh more. How far a "
            "worker can be relied on is told by the pairs that others judged, too: without several judgments of "
            "each pair, this changes nothing. What a person decides comes first."
        ),
    )

    class Meta:
        abstract = True


class RoundSettings(Settings):
    """How rounds narrow large pools down."""

    section = Section(_("Design “rounds”"), of_design=Rounds.name)

    partners = models.PositiveSmallIntegerField(
        _("Partners in a round"),
        default=7,
        db_default=7,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_(
            "With how many others each passage is compared in a round; those that win more than half stay. 7 is "
            "usual, 5 is cheaper."
        ),
    )
    finalists = models.PositiveSmallIntegerField(
        _("Finalists"),
        default=9,
        db_default=9,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("When at most so many are left, all their pairs are compared. 9 is usual."),
    )
    rounds_wait = models.BooleanField(
        _("Look before each round"),
        default=False,
        db_default=False,
        help_text=_("Each round after the first waits until somebody asks it on the campaign's page."),
    )
    rounds_budget = models.DecimalField(
        _("Budget of the rounds"),
        max_digits=9,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_(
            "For all rounds together, in the currency of the pay. A round that would cost more waits for a person. "
            "Leave empty for no limit."
        ),
    )

    class Meta:
        abstract = True


class ChallengerSettings(Settings):
    """When a newcomer replaces an answer."""

    section = Section(_("Design “challengers”"), of_design=Challengers.name)

    confirmations = models.PositiveSmallIntegerField(
        _("Judgments that confirm a challenger"),
        default=3,
        db_default=3,
        validators=[MinValueValidator(1), MaxValueValidator(9)],
        help_text=_(
            "A challenger that wins its first comparison is compared again, by other people, until most of so many "
            "say the same; 1 for none."
        ),
    )
    confirm_level = ShareField(
        _("Probability that confirms a challenger"),
        least=Decimal("0.5"),
        most=Decimal("0.999"),
        null=True,
        blank=True,
        default=Decimal("0.900"),
        help_text=_(
            "Asking again ends once it is this probable which of the two is better, by earlier judgments and the "
            "pair’s own, or once a challenger neither leads nor is likelier. Leave empty for the majority alone."
        ),
    )

    class Meta:
        abstract = True


class JudgingSettings(Settings):
    """How often each pair is judged, and how many make a HIT."""

    class Reuse(models.TextChoices):
        NOTHING = "nothing", _("none: ask about every pair")
        CAMPAIGNS = "campaigns", _("of the collection's campaigns that ask the same question")
        ALL = "all", _("of the collection's campaigns that ask the same question, and imported preferences")

    section = Section(_("Task"))

    overlap = models.PositiveSmallIntegerField(
        _("Judgments per pair"),
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text=_("How many different workers judge each pair."),
    )
    repeats = models.PositiveSmallIntegerField(
        _("Pairs judged twice"),
        default=30,
        db_default=30,
        help_text=_(
            "A second person judges about so many pairs, in three HITs or more, which shows how often people err. "
            "Not of challengers, and only where each pair is judged once; 0 for none."
        ),
    )
    reuse = models.CharField(
        _("Earlier judgments to reuse"),
        max_length=10,
        choices=Reuse,
        default=Reuse.CAMPAIGNS,
        help_text=_(
            "A pair that has enough judgments already is not asked about again, and costs nothing. Choose none to "
            "have it judged afresh. Include imported preferences only if they answer the question below."
        ),
    )
    pairs_per_hit = models.PositiveSmallIntegerField(
        _("Pairs per HIT"), default=10, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    tests_per_hit = models.PositiveSmallIntegerField(
        _("Test pairs per HIT"), default=3, validators=[MinValueValidator(1), MaxValueValidator(20)]
    )
    minutes_per_hit = models.PositiveIntegerField(
        _("Minutes per HIT"),
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(60 * 24 * 30)],
        help_text=_("After this time, a HIT can go to another worker. Late work is still saved."),
    )

    class Meta:
        abstract = True


class QualitySettings(Settings):
    """Whose work counts, and how much of it somebody may do."""

    class Exclusion(models.TextChoices):
        ASSIGNMENT = "assignment", _("the assignment that failed")
        WORKER = "worker", _("all of the worker's assignments in the campaign")

    class Partial(models.TextChoices):
        CHECKED = "checked", _("if all its test pairs were judged and passed")
        NEVER = "never", _("never")

    section = Section(_("Limits and quality"))

    fill_last_hit = models.BooleanField(
        _("Fill the last HIT"),
        default=False,
        help_text=_("Repeat pairs from other HITs so that the last HIT is as long as the rest."),
    )
    hits_per_worker = models.PositiveIntegerField(
        _("Maximum HITs per worker"), null=True, blank=True, help_text=_("Leave empty for no limit.")
    )
    leaves_per_worker = models.PositiveIntegerField(
        _("Maximum HITs that a worker can leave"),
        null=True,
        blank=True,
        default=5,
        validators=[MinValueValidator(1)],
        help_text=_(
            "A worker who has left this many HITs, and more than they have finished, gets no more. Leave empty for "
            "no limit."
        ),
    )
    exclusion = models.CharField(
        _("A failed test pair excludes"), max_length=10, choices=Exclusion, default=Exclusion.ASSIGNMENT
    )
    partial = models.CharField(
        _("Use work that was left early"), max_length=10, choices=Partial, default=Partial.CHECKED
    )
    report_share = ShareField(
        _("Share of pairs that a worker can report"),
        most=Decimal(1),
        default=Decimal("0.250"),
        help_text=_(
            "Workers can say that something is wrong with a pair. Work that reports more than this share waits for "
            "you. It is paid like any other."
        ),
    )
    reports_per_pair = models.PositiveSmallIntegerField(
        _("Reports that set a pair aside"),
        default=2,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_(
            "When this many workers have reported a pair, nobody else is asked about it, and its query has no "
            "result until you decide."
        ),
    )

    class Meta:
        abstract = True


class PracticeSettings(Settings):
    """What workers do before their first HIT."""

    class Practice(models.TextChoices):
        NOTHING = "nothing", _("none")
        OPTIONAL = "optional", _("practice that workers can skip")
        REQUIRED = "required", _("practice for everybody")
        CHECK = "check", _("a comprehension check, with a second try")

    section = Section(_("Practice"))

    practice = models.CharField(
        _("Before a worker's first HIT"),
        max_length=10,
        choices=Practice,
        default=Practice.NOTHING,
        db_default=Practice.NOTHING,
        help_text=_(
            "A few pairs with a known answer, and after each what is right and why. They are never counted as "
            "judgments, and come once for each worker. A worker who fails the check twice gets no HIT."
        ),
    )
    practice_right = models.PositiveSmallIntegerField(
        _("Right answers that pass the check"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Leave empty if all answers must be right. For “a comprehension check” only."),
    )
    practice_pairs = models.TextField(
        _("Practice pairs"),
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "One pair on each line, as a spreadsheet copies it: question, better passage, worse passage, and why "
            "it is better, with tabs between. You can also write them one by one, or choose test pairs, on the "
            "draft's page “Practice”."
        ),
    )

    class Meta:
        abstract = True


class ReadingSettings(Settings):
    """What only changes what is computed from the judgments: it may change at any time."""

    class Comparisons(models.TextChoices):
        ALL = "all", _("every two runs")
        BASELINE = "baseline", _("each run with a baseline")
        CHAIN = "chain", _("each run with the best of those imported before it")
        PAIRS = "pairs", _("chosen pairs of runs")

    class Correction(models.TextChoices):
        BONFERRONI = "bonferroni", _("Bonferroni")
        HOLM = "holm", _("Holm")
        BH = "bh", _("Benjamini-Hochberg")
        NONE = "none", _("nothing")

    class RankBy(models.TextChoices):
        ESL_WSR = "esl-wsr", _("mean search length, signed-rank test")
        ESL_T = "esl-t", _("mean search length, t-test")
        RR_WSR = "rr-wsr", _("mean RR@k, signed-rank test")
        RR_T = "rr-t", _("mean RR@k, t-test")

    section = Section(_("How results are read"), of_one_collection=frozenset({"baseline", "compared_pairs"}))

    error_rate = ShareField(
        _("Wrong judgments"),
        most=Decimal("0.5"),
        null=True,
        blank=True,
        help_text=_(
            "How often one judgment is wrong. How certain ranks and best known answers are follows from it. Leave "
            "it empty to learn it from all judgments: pairs that were judged several times say most."
        ),
    )
    compare_depth = models.PositiveSmallIntegerField(
        _("Compare runs down to rank"),
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_(
            "The k of RR@k, and how far down a passage counts as found, where two runs are compared. The paper "
            "takes 100. The leaderboard stays at 10."
        ),
    )
    comparisons = models.CharField(
        _("Compare"),
        max_length=10,
        choices=Comparisons,
        default=Comparisons.ALL,
        help_text=_(
            "Which runs are compared two by two. The tests share a level of 0.05, so with fewer comparisons, "
            "smaller differences are significant."
        ),
    )
    baseline = models.CharField(
        _("Baseline"),
        max_length=100,
        blank=True,
        help_text=_("The name of a run. For “each run with a baseline” only."),
    )
    compared_pairs = models.TextField(
        _("Chosen pairs of runs"),
        blank=True,
        help_text=_(
            "On each line, the names of two runs, separated by a space or tab. For “chosen pairs of runs” only."
        ),
    )
    teams_apart = models.BooleanField(
        _("Do not compare runs of the same team"),
        default=False,
        help_text=_("Runs without a team are compared with all others."),
    )
    rank_by = models.CharField(
        _("Compare ranking by"),
        max_length=10,
        choices=RankBy,
        default=RankBy.ESL_WSR,
        help_text=_(
            "Which of two runs ranks better where both find a relevant passage. This is the second part of a "
            "verdict; the first is which run finds one for more queries."
        ),
    )
    correction = models.CharField(
        _("Correct for many tests by"),
        max_length=10,
        choices=Correction,
        default=Correction.BONFERRONI,
        help_text=_(
            "How many tests share the level of 0.05: Bonferroni, as in the paper, and Holm bound the chance of any "
            "false finding; Benjamini-Hochberg bounds their share."
        ),
    )
    margin = ShareField(
        _("Margin of no harm"),
        most=Decimal("0.5"),
        default=Decimal(0),
        help_text=_(
            "How much worse a run that does no harm may be, in the share of queries found or in mean RR, as a test "
            "must show. 0, as in the paper: it is not significantly worse."
        ),
    )
    measures = models.CharField(
        _("Other measures"),
        max_length=200,
        blank=True,
        default="nDCG@10, Judged@10",
        validators=[check_measures],
        help_text=_(
            "What the runs are scored by besides RR@10: names as in ir_measures, with commas between, such as "
            "nDCG@10, Judged@10, Success@1, P@5, R@100, AP@100, Compat(p=0.9)@100 or RR(rel=2)@10. Each needs a "
            "cutoff of at most 100: that much is kept of a run."
        ),
    )

    class Meta:
        abstract = True


class CostSettings(Settings):
    """The pay of a HIT, and what the bill adds to it."""

    section = Section(_("Cost"))

    reward = models.DecimalField(
        _("Reward per HIT"),
        max_digits=8,
        decimal_places=2,
        default=Decimal("2.00"),
        validators=[MinValueValidator(Decimal(0))],
        help_text=_(
            "For a whole HIT. A worker who leaves early is owed a share. It is in dollars, unless the campaign "
            "goes to a platform where the lab’s account is in another currency."
        ),
    )
    fee_rate = ShareField(
        _("Fee"),
        most=Decimal("9.99"),
        null=True,
        blank=True,
        help_text=_(
            "What a platform charges on top of the reward. Leave empty for the fees of our own marketplace and "
            "Mechanical Turk; enter 0 if workers come by a link. Once the campaign has terms at a platform, that "
            "platform's fees apply."
        ),
    )
    redo_rate = ShareField(
        _("Done again"),
        most=Decimal(9),
        default=Decimal("0.100"),
        help_text=_("How many of a hundred HITs you expect to be done again. It only affects the bill."),
    )

    class Meta:
        abstract = True
