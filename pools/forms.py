"""Forms for runs and campaigns."""

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.conf import settings
from django.db.models import Model, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.errors import Refused
from core.forms import EditForm, Group
from core.models import Lab, User
from core.roles import Right, labs_of
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign, CampaignTemplate, Collection, QrelsVersion, Run
from pools.practice import read_practice_pairs
from pools.services import READING
from pools.templating import EXAMPLE, INSTEAD, KEPT, settings_of

if TYPE_CHECKING:  # the classes take parameters in their stubs alone
    from django.utils.functional import _StrPromise

    _RunChoice = forms.ModelMultipleChoiceField[Run]
    _VersionChoice = forms.ModelChoiceField[QrelsVersion]
    _CampaignChoice = forms.ModelChoiceField[Campaign]
    _CampaignForm = forms.ModelForm[Campaign]
else:
    _RunChoice = forms.ModelMultipleChoiceField
    _VersionChoice = forms.ModelChoiceField
    _CampaignChoice = forms.ModelChoiceField
    _CampaignForm = forms.ModelForm


MEGABYTE = 1_000_000
OFFERED = 100  # collections or runs that a form offers; of more, each is found by its name

# What each setting of a campaign is called, wherever it is asked for or shown.
LABELS: dict[str, "_StrPromise"] = {
    "name": gettext_lazy("Name"),
    "order": gettext_lazy("Order of the runs"),
    "depth": gettext_lazy("Depth"),
    "min_grade": gettext_lazy("Lowest relevant grade"),
    "qrel_policy": gettext_lazy("Original qrels in the pools"),
    "design": gettext_lazy("Pairing design"),
    "champion_qrel": gettext_lazy("Qrel that a champion check compares"),
    "base_version": gettext_lazy("Version to challenge"),
    "partners": gettext_lazy("Partners in a round"),
    "finalists": gettext_lazy("Finalists"),
    "rounds_wait": gettext_lazy("Look before each round"),
    "rounds_budget": gettext_lazy("Budget of the rounds"),
    "selection": gettext_lazy("Queries"),
    "query_list": gettext_lazy("List of queries"),
    "sample_size": gettext_lazy("Sample size"),
    "seed": gettext_lazy("Seed"),
    "overlap": gettext_lazy("Judgments per pair"),
    "repeats": gettext_lazy("Pairs judged twice"),
    "confirmations": gettext_lazy("Judgments that confirm a challenger"),
    "reuse": gettext_lazy("Earlier judgments to reuse"),
    "pairs_per_hit": gettext_lazy("Pairs per HIT"),
    "tests_per_hit": gettext_lazy("Test pairs per HIT"),
    "fill_last_hit": gettext_lazy("Fill the last HIT"),
    "hits_per_worker": gettext_lazy("Maximum HITs per worker"),
    "leaves_per_worker": gettext_lazy("Maximum HITs that a worker can leave"),
    "minutes_per_hit": gettext_lazy("Minutes per HIT"),
    "report_share": gettext_lazy("Share of pairs that a worker can report"),
    "reports_per_pair": gettext_lazy("Reports that set a pair aside"),
    "practice": gettext_lazy("Before a worker's first HIT"),
    "practice_right": gettext_lazy("Right answers that pass the check"),
    "practice_pairs": gettext_lazy("Practice pairs"),
    "exclusion": gettext_lazy("A failed test pair excludes"),
    "partial": gettext_lazy("Use work that was left early"),
    "method": gettext_lazy("How winners are found"),
    "weighing": gettext_lazy("How judgments weigh"),
    "error_rate": gettext_lazy("Wrong judgments"),
    "compare_depth": gettext_lazy("Compare runs down to rank"),
    "comparisons": gettext_lazy("Compare"),
    "baseline": gettext_lazy("Baseline"),
    "compared_pairs": gettext_lazy("Chosen pairs of runs"),
    "teams_apart": gettext_lazy("Do not compare runs of the same team"),
    "rank_by": gettext_lazy("Compare ranking by"),
    "correction": gettext_lazy("Correct for many tests by"),
    "margin": gettext_lazy("Margin of no harm"),
    "measures": gettext_lazy("Other measures"),
    "reward": gettext_lazy("Reward per HIT"),
    "fee_rate": gettext_lazy("Fee rate"),
    "redo_rate": gettext_lazy("Share done again"),
    "language": gettext_lazy("Language of the texts below"),
    "title": gettext_lazy("Title"),
    "question": gettext_lazy("Question"),
    "instructions": gettext_lazy("Instructions"),
}
HELP: dict[str, "_StrPromise"] = {
    "weighing": gettext_lazy(
        "Where the judgments of a pair disagree, all of them count as those say that weigh more. How far a worker can "
        "be relied on is told by the pairs that others judged, too: without several judgments of each pair, this "
        "changes nothing. What a person decides comes first."
    ),
    "error_rate": gettext_lazy(
        "How often one judgment is wrong. How certain ranks and best known answers are follows from it. Leave it empty "
        "to learn it from all judgments: pairs that were judged several times say most."
    ),
    "compare_depth": gettext_lazy(
        "The k of RR@k, and how far down a passage counts as found, where two runs are compared. The paper takes 100. "
        "The leaderboard stays at 10."
    ),
    "comparisons": gettext_lazy(
        "Which runs are compared two by two. The tests share a level of 0.05, so with fewer comparisons, smaller "
        "differences are significant."
    ),
    "baseline": gettext_lazy("The name of a run. For “each run with a baseline” only."),
    "compared_pairs": gettext_lazy(
        "On each line, the names of two runs, separated by a space or tab. For “chosen pairs of runs” only."
    ),
    "teams_apart": gettext_lazy("Runs without a team are compared with all others."),
    "rank_by": gettext_lazy(
        "Which of two runs ranks better where both find a relevant passage. This is the second part of a verdict; the "
        "first is which run finds one for more queries."
    ),
    "correction": gettext_lazy(
        "How many tests share the level of 0.05: Bonferroni, as in the paper, and Holm bound the chance of any false "
        "finding; Benjamini-Hochberg bounds their share."
    ),
    "margin": gettext_lazy(
        "How much worse a run that does no harm may be, in the share of queries found or in mean RR, as a test must "
        "show. 0, as in the paper: it is not significantly worse."
    ),
    "measures": gettext_lazy(
        "What the runs are scored by besides RR@10: names as in ir_measures, with commas between, such as "
        "nDCG@10, Judged@10, Success@1, P@5, R@100, AP@100, Compat(p=0.9)@100 or RR(rel=2)@10. Each needs a cutoff "
        "of at most 100: that much is kept of a run."
    ),
    "name": gettext_lazy("For your own use. Workers do not see it."),
    "order": gettext_lazy("Which column of a run decides the order. In many runs, the two columns disagree."),
    "depth": gettext_lazy("How many top passages each run contributes to a pool. The method uses 1."),
    "min_grade": gettext_lazy("An original qrel with this grade or a higher one counts as relevant."),
    "qrel_policy": gettext_lazy("Which relevant passages are added to those of the runs."),
    "design": gettext_lazy(
        "All pairs: every two passages of a pool. Champion check: one run against the qrels, one pair per query. "
        "Challengers: only passages that runs newly rank first, against the best known answers of a version. Rounds: "
        "for large pools, a few pairs of each passage round after round, then all pairs of those that are left."
    ),
    "partners": gettext_lazy(
        "With how many others each passage is compared in a round; those that win more than half stay. 7 is usual, 5 "
        "is cheaper. For “rounds” only, as are the next three."
    ),
    "finalists": gettext_lazy("When at most so many are left, all their pairs are compared. 9 is usual."),
    "rounds_wait": gettext_lazy("Each round after the first waits until somebody asks it on the campaign's page."),
    "rounds_budget": gettext_lazy(
        "For all rounds together, in the currency of the pay. A round that would cost more waits for a person. Leave "
        "empty for no limit."
    ),
    "champion_qrel": gettext_lazy(
        "For queries with several qrels. The paper takes the first. If the run has none of them in its first 100, the "
        "first in the file is the highest."
    ),
    "base_version": gettext_lazy(
        "The challengers are compared with this version's best known answers. For “challengers” only."
    ),
    "query_list": gettext_lazy("Query ids, separated by spaces or line breaks. For “a list of queries” only."),
    "sample_size": gettext_lazy("How many queries to draw. For “a sample” only."),
    "seed": gettext_lazy("The same seed gives the same sample, HITs, order and sides."),
    "overlap": gettext_lazy("How many different workers judge each pair."),
    "repeats": gettext_lazy(
        "A second person judges about so many pairs, in three HITs or more, which shows how often people err. Not of "
        "challengers, and only where each pair is judged once; 0 for none."
    ),
    "confirmations": gettext_lazy(
        "A challenger that wins its first comparison is compared again, by other people, until most of so many say the "
        "same. For “challengers” only; 1 for none."
    ),
    "reuse": gettext_lazy(
        "A pair that has enough judgments already is not asked about again, and costs nothing. Choose none to have it "
        "judged afresh. Include imported preferences only if they answer the question below."
    ),
    "fill_last_hit": gettext_lazy("Repeat pairs from other HITs so that the last HIT is as long as the rest."),
    "hits_per_worker": gettext_lazy("Leave empty for no limit."),
    "leaves_per_worker": gettext_lazy(
        "A worker who has left this many HITs, and more than they have finished, gets no more. Leave "
        "empty for no limit."
    ),
    "minutes_per_hit": gettext_lazy("After this time, a HIT can go to another worker. Late work is still saved."),
    "report_share": gettext_lazy(
        "Workers can say that something is wrong with a pair. Work that reports more than this share waits for you: "
        "0.25 is a quarter. It is paid like any other."
    ),
    "reports_per_pair": gettext_lazy(
        "When this many workers have reported a pair, nobody else is asked about it, and its query has no result "
        "until you decide."
    ),
    "practice": gettext_lazy(
        "A few pairs with a known answer, and after each what is right and why. They are never counted as judgments, "
        "and come once for each worker. A worker who fails the check twice gets no HIT."
    ),
    "practice_right": gettext_lazy("Leave empty if all answers must be right. For “a comprehension check” only."),
    "practice_pairs": gettext_lazy(
        "One pair on each line, as a spreadsheet copies it: question, better passage, worse passage, and why it is "
        "better, with tabs between. You can also write them one by one, or choose test pairs, on the draft's "
        "page “Practice”."
    ),
    "reward": gettext_lazy(
        "For a whole HIT. A worker who leaves early is owed a share. It is in dollars, unless the campaign goes to a "
        "platform where the lab’s account is in another currency."
    ),
    "fee_rate": gettext_lazy(
        "What a platform charges on top, as a share of the reward: 0.2 is 20 %. Leave empty for the "
        "fees of our own marketplace and Mechanical Turk; enter 0 if workers come by a link. Once "
        "the campaign has terms at a platform, that platform's fees apply."
    ),
    "redo_rate": gettext_lazy(
        "Share of the work that you expect to be done again: 0.1 is 10 %. It only affects the bill."
    ),
    "language": gettext_lazy("Its code, such as en, ar or pt-BR. Leave empty for the collection's language."),
    "title": gettext_lazy("What workers see first."),
    "question": gettext_lazy("Shown above every two passages."),
    "instructions": gettext_lazy("Shown before the first comparison, with a worked example. Can be empty."),
}


def _models_used() -> forms.CharField:
    return forms.CharField(
        label=gettext_lazy("Models that it uses"),
        max_length=300,
        required=False,
        help_text=gettext_lazy(
            "Names of language models, separated by commas, such as gpt-4o. Machine judges are then tested for "
            "favouring runs that use their own model."
        ),
    )


def _without_query() -> forms.BooleanField:
    return forms.BooleanField(
        label=gettext_lazy("Leave the query out of its own results"),
        required=False,
        help_text=gettext_lazy(
            "As BEIR does, where queries are passages too: a passage with the query’s id is no hit."
        ),
    )


class RunUploadForm(forms.Form):
    """A run file and what it is called."""

    collection = forms.ModelChoiceField(Collection.objects.none(), label=gettext_lazy("Collection"))
    file = forms.FileField(
        label=gettext_lazy("Run file"),
        help_text=gettext_lazy(
            "TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst; at most %(megabytes)s MB."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the file's name without its extensions."),
    )
    team = forms.CharField(label=gettext_lazy("Team"), max_length=100, required=False)
    notes = forms.CharField(label=gettext_lazy("Notes"), required=False, widget=forms.Textarea(attrs={"rows": 3}))
    models_used = _models_used()
    without_query = _without_query()

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["collection"]
        assert isinstance(choice, forms.ModelChoiceField)
        collections = pool_selectors.collections_of(user, Right.MAINTAIN)
        self.must_choose = False  # whether the collection has to be chosen on a page of its own first
        if collections[OFFERED:].exists():
            chosen = str((self.data if self.is_bound else self.initial).get("collection") or "")
            known = chosen.isdecimal() and len(chosen) < 19  # what a key can be
            collections = collections.filter(pk=int(chosen)) if known else collections.none()
            self.must_choose = not collections.exists()
        choice.queryset = collections

    def clean_file(self) -> object:
        upload = self.cleaned_data["file"]
        if upload.size > settings.UPLOAD_MEGABYTES * MEGABYTE:
            raise forms.ValidationError(too_large())
        return upload


class RunModelsForm(EditForm, forms.Form):
    models_used = _models_used()


class AnswersForm(forms.Form):
    """A file of what somebody preferred, and a name for it."""

    file = forms.FileField()
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the file's name without its extensions."),
    )

    def clean_file(self) -> object:
        upload = self.cleaned_data["file"]
        if upload.size > settings.UPLOAD_MEGABYTES * MEGABYTE:
            raise forms.ValidationError(too_large())
        return upload


class PreferencesForm(AnswersForm):
    """A file of judgments that were made elsewhere."""

    file = forms.FileField(
        label=gettext_lazy("Preferences"),
        help_text=gettext_lazy(
            "Ids in four columns: query, passage a, passage b, and whichever of the two was preferred, or = for a tie; "
            "plain, gz, bz2 or zst; at most %(megabytes)s MB."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    note = forms.CharField(
        label=gettext_lazy("Where they come from"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=gettext_lazy(
            "Who judged, and what they were asked. Shown by every campaign that reuses the judgments."
        ),
    )


class JudgmentsForm(PreferencesForm):
    """A file of judgments that were made elsewhere, for a campaign of their own."""

    file = forms.FileField(
        label=gettext_lazy("Judgments"),
        help_text=gettext_lazy(
            "Lines “query a b preferred worker time” (the last two may be missing), prefj's log, Mechanical Turk's "
            "results (CSV), Label Studio's pairwise export (JSON or CSV) or Potato's output; plain, gz, bz2 or zst; "
            "at most %(megabytes)s MB. The format is recognized."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    name = forms.CharField(
        label=gettext_lazy("Name of the campaign"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the file's name without its extensions."),
    )
    question = forms.CharField(
        label=gettext_lazy("Question"),
        max_length=300,
        initial=Campaign._meta.get_field("question").default,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        help_text=gettext_lazy("What the workers were asked. Campaigns that ask the same may reuse the judgments."),
    )
    note = forms.CharField(
        label=gettext_lazy("Where they come from"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text=gettext_lazy("Who judged, when, and how they were paid. The campaign shows it."),
    )
    field_order = ("file", "name", "question", "note")


class MachineForm(AnswersForm):
    """A machine's answers, and which machine it was."""

    file = forms.FileField(
        label=gettext_lazy("Answers"),
        help_text=gettext_lazy(
            "Ids in four columns: query, passage a, passage b (in the order in which the machine was shown them), and "
            "whichever of the two it preferred, = for a tie, or ! for no answer; plain, gz, bz2 or zst; at most "
            "%(megabytes)s MB. A pair may be there in both orders."
        )
        % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"},
    )
    model = forms.CharField(
        label=gettext_lazy("Model"),
        max_length=200,
        help_text=gettext_lazy("Exactly which one, with its version or date."),
    )
    prompt = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=gettext_lazy("What it was told, word for word, with the settings that it was asked with."),
    )
    field_order = ("file", "name", "model", "prompt")


NEWEST = 50  # campaigns to choose from where a machine is to be asked; others are named


class AskedCampaignField(_CampaignChoice):
    """Campaigns by name, with how many questions a machine would be asked."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, Campaign)
        count = 2 * obj.pair_count
        text = ngettext("%(name)s (%(count)s question)", "%(name)s (%(count)s questions)", count)
        return text % {"name": obj.name, "count": f"{count:,}"}


class MachineAskingForm(forms.Form):
    """Which machine is asked about which campaign's pairs, what it is told, and how often at most."""

    campaign = AskedCampaignField(
        Campaign.objects.none(),
        label=gettext_lazy("Campaign"),
        empty_label=None,
        help_text=gettext_lazy("The machine is asked about the same pairs as its people, each in both orders."),
    )
    other = forms.CharField(
        label=gettext_lazy("Another campaign"),
        max_length=100,
        required=False,
        help_text=gettext_lazy(
            "The name of a campaign that is not in the list, which has the newest %(count)s. It takes "
            "the place of the chosen one."
        )
        % {"count": NEWEST},
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    model = forms.CharField(
        label=gettext_lazy("Model"), max_length=200, help_text=gettext_lazy("As the endpoint calls it.")
    )
    prompt = forms.CharField(
        label=gettext_lazy("Prompt"),
        max_length=20_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 9, "dir": "auto"}),
        help_text=gettext_lazy(
            "With {query}, {first} and {second} where these texts belong. It has to ask for 1, 2 or = (neither). "
            "Whatever else is answered counts as no answer."
        ),
    )
    budget = forms.IntegerField(
        label=gettext_lazy("Budget, in questions"),
        min_value=1,
        max_value=10_000_000,
        help_text=gettext_lazy("No more are asked. Questions that were answered before are not asked, and cost none."),
    )

    def __init__(self, *args: Any, collection: Collection, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.with_pairs = collection.campaigns.filter(pair_count__gt=0).order_by("-id")
        newest = list(self.with_pairs.values_list("pk", flat=True)[: NEWEST + 1])
        field = self.fields["campaign"]
        assert isinstance(field, AskedCampaignField)
        field.queryset = self.with_pairs.filter(pk__in=newest[:NEWEST])
        if len(newest) <= NEWEST:
            del self.fields["other"]

    def clean(self) -> dict[str, Any]:
        """The campaign that is named takes the place of the one in the list."""
        cleaned: dict[str, Any] = super().clean() or {}
        if name := cleaned.pop("other", "").strip():
            cleaned["campaign"] = self.with_pairs.filter(name=name).first()
            if cleaned["campaign"] is None:
                self.add_error("other", _("The collection has no campaign of this name with pairs."))
        return cleaned


class CollectionForm(forms.Form):
    lab = forms.ModelChoiceField(Lab.objects.none(), label=gettext_lazy("Lab"), empty_label=None)
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    language = forms.CharField(
        label=gettext_lazy("Language"),
        max_length=35,
        required=False,
        initial="en",
        help_text=gettext_lazy("The code of the texts' language, such as en, ar or pt-BR. Empty if they are mixed."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["lab"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = labs_of(user, Right.DESIGN).order_by("name")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        known = Collection.objects.filter(lab=data.get("lab"), name=data.get("name"))
        if known.exists():
            self.add_error("name", _("The lab already has a collection with this name. Add the files on its page."))
        return data


class DatasetForm(forms.Form):
    """A public collection."""

    lab = forms.ModelChoiceField(Lab.objects.none(), label=gettext_lazy("Lab"), empty_label=None)
    dataset = forms.CharField(
        label=gettext_lazy("Id in ir_datasets"),
        max_length=Collection._meta.get_field("dataset").max_length,
        help_text=gettext_lazy("Such as beir/scifact/test or msmarco-passage-v2/trec-dl-2021/judged."),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "none"}),
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Leave empty to use the id."),
    )
    passages = forms.BooleanField(
        label=gettext_lazy("Fetch the passages in the qrels"),
        required=False,
        help_text=gettext_lazy(
            "The whole corpus is downloaded once, and only passages that pools can need are kept. You can also fetch "
            "them later, together with those of your runs."
        ),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["lab"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = labs_of(user, Right.DESIGN).order_by("name")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        data["name"] = data.get("name") or data.get("dataset", "")[:100]
        if Collection.objects.filter(lab=data.get("lab"), name=data["name"]).exists():
            self.add_error("name", _("The lab already has a collection with this name. Choose another."))
        return data


class ReadForm(forms.Form):
    """How files that were received are read."""

    keep = forms.ChoiceField(
        label=gettext_lazy("Passages to keep"),
        choices=[
            ("pooled", gettext_lazy("those that pools can need: named by qrels, or at the top of a run")),
            ("all", gettext_lazy("all")),
        ],
        help_text=gettext_lazy("A corpus can be large. What pools need is known from the qrels and the runs."),
    )
    team = forms.CharField(
        label=gettext_lazy("Team of the runs"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("Optional, if all runs are of one team."),
    )
    without_query = _without_query()


class OutsideScoresForm(forms.Form):
    """How the runs of a collection score elsewhere."""

    source = forms.CharField(
        label=gettext_lazy("Source and measure"),
        max_length=100,
        help_text=gettext_lazy("Where the scores come from, such as “MS MARCO leaderboard, MRR@10”."),
    )
    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("One line for each run: its name, its score and, if you know it, its rank there."),
    )

    def clean_file(self) -> object:
        """Refuse what is far larger than scores of runs can be."""
        upload = self.cleaned_data["file"]
        if upload.size > MEGABYTE:
            raise forms.ValidationError(
                _("This file is larger than 1 MB. A file of scores is much smaller: it has one line for each run.")
            )
        return upload


def too_large() -> str:
    """Why an upload is not taken, and what to do instead."""
    return _(
        "What you sent is larger than %(megabytes)s MB. Compress the files, or import them on the server with "
        "manage.py import_run and import_collection."
    ) % {"megabytes": f"{settings.UPLOAD_MEGABYTES:,}"}


class RunChoiceField(_RunChoice):
    """Runs by name, with their team."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, Run)
        return f"{obj.name} ({obj.team})" if obj.team else obj.name


class PercentField(forms.DecimalField):
    """A share, asked for in percent."""

    def prepare_value(self, value: Any) -> Any:
        """`20` for 0.2; what was typed stays as it was."""
        if isinstance(value, Decimal):
            return f"{(value * 100).normalize():f}"
        return value

    def clean(self, value: Any) -> Any:
        percent = super().clean(value)
        return None if percent is None else percent / 100


class ErrorRateField(PercentField):
    """How often one judgment is wrong; empty for what is assumed."""

    def __init__(self) -> None:
        super().__init__(
            label=gettext_lazy("Wrong judgments, in percent"),
            help_text=HELP["error_rate"],
            required=False,
            min_value=0,
            max_value=50,
            decimal_places=1,
        )


def check_reading(form: forms.BaseForm, collection: Collection) -> None:
    """Add an error to a form where the comparisons that it chooses cannot be made."""
    data = form.cleaned_data
    if "comparisons" in data and not {"baseline", "compared_pairs"} & set(form.errors):
        try:
            pool_services.check_comparisons(
                collection=collection,
                comparisons=data["comparisons"],
                baseline=data["baseline"],
                compared_pairs=data["compared_pairs"],
            )
        except Refused as error:
            is_baseline = data["comparisons"] == Campaign.Comparisons.BASELINE
            form.add_error("baseline" if is_baseline else "compared_pairs", str(error))


class VersionChoiceField(_VersionChoice):
    """Versions of the preference qrels by number."""

    def label_from_instance(self, obj: Model) -> str:
        assert isinstance(obj, QrelsVersion)
        return _("version %(number)d") % {"number": obj.number}


class RenameForm(EditForm, forms.Form):
    """A campaign's name."""

    name = forms.CharField(label=LABELS["name"], max_length=Campaign._meta.get_field("name").max_length)


def runs_chosen(campaign: Campaign) -> dict[str, Any]:
    """The runs of a campaign as its form asks for them."""
    runs = list(campaign.runs.order_by("name").values_list("pk", "name"))
    more = "\n".join(name for _key, name in runs[OFFERED:])
    return {"runs": [key for key, _name in runs[:OFFERED]], "more_runs": more}


class SettingsForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """The settings of a campaign, of a template too."""

    groups: ClassVar[tuple[tuple["_StrPromise", list[str], bool], ...]] = (
        (
            gettext_lazy("What is judged"),
            [
                "name",
                "all_runs",
                "runs",
                "more_runs",
                "design",
                "base_version",
                "selection",
                "sample_size",
                "query_list",
            ],
            False,
        ),
        (
            gettext_lazy("Pool settings"),
            [
                *("order", "depth", "qrel_policy", "champion_qrel", "min_grade", "seed", "method", "weighing"),
                *("partners", "finalists", "rounds_wait", "rounds_budget"),
            ],
            True,
        ),
        (
            gettext_lazy("How it is judged"),
            ["overlap", "repeats", "confirmations", "reuse", "pairs_per_hit", "tests_per_hit", "minutes_per_hit"],
            False,
        ),
        (
            gettext_lazy("Judging settings"),
            [
                *("fill_last_hit", "hits_per_worker", "leaves_per_worker", "exclusion", "partial"),
                *("report_share", "reports_per_pair"),
            ],
            True,
        ),
        (gettext_lazy("Practice"), ["practice", "practice_right", "practice_pairs"], True),
        (gettext_lazy("How results are read"), [*READING], True),
        (gettext_lazy("Cost"), ["reward", "fee_rate", "redo_rate"], False),
        (gettext_lazy("What workers read"), ["language", "title", "question", "instructions"], False),
    )

    fee_rate = PercentField(
        label=gettext_lazy("Fee, in percent"),
        help_text=gettext_lazy(
            "What a platform charges on top of the reward. Leave empty for the fees of our own "
            "marketplace and Mechanical Turk; enter 0 if workers come by a link. Once the campaign has "
            "terms at a platform, that platform's fees apply."
        ),
        required=False,
        min_value=0,
        max_value=999,
        decimal_places=1,
    )
    error_rate = ErrorRateField()
    redo_rate = PercentField(
        label=gettext_lazy("Done again, in percent"),
        help_text=gettext_lazy("How many of a hundred HITs you expect to be done again. It only affects the bill."),
        min_value=0,
        max_value=900,
        decimal_places=1,
        initial=Campaign._meta.get_field("redo_rate").default,
    )

    class Meta:
        model = Campaign
        fields: ClassVar = [name for name in LABELS if name in KEPT]
        labels = LABELS
        help_texts = HELP
        widgets = {
            "query_list": forms.Textarea(attrs={"rows": 3}),
            "compared_pairs": forms.Textarea(attrs={"rows": 3}),
            "practice_pairs": forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
            "instructions": forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
            "title": forms.TextInput(attrs={"dir": "auto"}),
            "question": forms.TextInput(attrs={"dir": "auto"}),
            "reward": forms.NumberInput(attrs={"min": "0", "step": "0.01"}),
        }

    def fieldsets(self) -> Iterator[Group]:
        """The fields in the order in which a researcher decides."""
        for title, names, folded in self.groups:
            yield Group(title, [self[name] for name in names if name in self.fields], folded)


class CampaignForm(SettingsForm):
    """Every setting of a new campaign over one collection."""

    all_runs = forms.BooleanField(required=False)
    runs = RunChoiceField(
        queryset=Run.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Runs"),
        required=False,
    )
    more_runs = forms.CharField(
        label=gettext_lazy("More runs"),
        required=False,
        help_text=gettext_lazy("The names of runs that are not listed above, one per line."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    base_version = VersionChoiceField(
        queryset=QrelsVersion.objects.none(),
        required=False,
        empty_label=gettext_lazy("the newest"),
        label=LABELS["base_version"],
        help_text=HELP["base_version"],
    )

    class Meta(SettingsForm.Meta):
        fields = ["name", "runs", *[name for name in LABELS if name != "name"]]

    def __init__(self, *args: Any, collection: Collection, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {"language": collection.language})
        super().__init__(*args, **kwargs)
        self.collection = collection
        versions = self.fields["base_version"]
        assert isinstance(versions, VersionChoiceField)
        newest = QrelsVersion.objects.filter(collection=collection).order_by("-number")
        versions.queryset = newest.filter(pk__in=list(newest.values_list("pk", flat=True)[:OFFERED]))
        choice = self.fields["runs"]
        assert isinstance(choice, RunChoiceField)
        runs = choice.queryset = Run.objects.filter(collection=collection).order_by("name")
        count = runs.count()
        self.fields["all_runs"].label = ngettext("The collection’s only run", "All %(count)d runs", count) % {
            "count": count
        }
        if count > OFFERED:
            posted = choice.widget.value_from_datadict(self.data, self.files, "runs") or self.initial.get("runs") or []
            ticked = [key for key in posted[:OFFERED] if str(key).isdecimal()]
            offered = [*runs.filter(pk__in=ticked), *runs.exclude(pk__in=ticked)[:OFFERED]]
            choice.widget.choices = [(run.pk, choice.label_from_instance(run)) for run in offered[:OFFERED]]
        else:
            del self.fields["more_runs"]

    @classmethod
    def copying(cls, campaign: Campaign, collection: Collection) -> "CampaignForm":
        """A form filled in with the settings of a campaign, and with its runs if it is over the collection. Challengers
        challenge the newest version.
        """
        settings = {name: getattr(campaign, name) for name in LABELS if name not in ("name", "base_version")}
        name = _("%(name)s, copy") % {"name": campaign.name}
        number = Campaign.objects.filter(lab=collection.lab_id, name__startswith=name).count()
        draft = Campaign(collection=collection, name=f"{name} {number + 1}" if number else name, **settings)
        initial = runs_chosen(campaign) if campaign.collection_id == collection.pk else {}
        return cls(collection=collection, instance=draft, initial=initial)

    @classmethod
    def changing(cls, campaign: Campaign, data: Any = None) -> "CampaignForm":
        """A form filled in with a draft's settings and runs, which changes them."""
        return cls(data, collection=campaign.collection, instance=campaign, initial=runs_chosen(campaign))

    @classmethod
    def beginning(cls, template: CampaignTemplate, collection: Collection) -> "CampaignForm":
        """A form filled in with what a template has. A template of texts in no language takes the collection's."""
        draft = Campaign(collection=collection, **settings_of(template))
        draft.language = draft.language or collection.language
        return cls(collection=collection, instance=draft, initial={})

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Campaign.objects.filter(lab=self.collection.lab, name=name).exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("The lab already has a campaign with this name."))
        return name

    def clean_more_runs(self) -> list[str]:
        names = [line.strip() for line in self.cleaned_data["more_runs"].splitlines() if line.strip()]
        known = set(Run.objects.filter(collection=self.collection, name__in=names).values_list("name", flat=True))
        if unknown := [name for name in names if name not in known]:
            text = _("The collection has no run with this name: %(names)s.")
            raise forms.ValidationError(text % {"names": ", ".join(unknown[:10])})
        return names

    def clean(self) -> dict[str, Any]:
        """One run at least; a list needs its queries, a sample its size."""
        data = super().clean() or self.cleaned_data
        if data.get("all_runs"):
            self.errors.pop("runs", None)
            data["runs"] = Run.objects.filter(collection=self.collection).order_by("name")
        elif "runs" in data and data.get("more_runs"):
            either = Q(pk__in=[run.pk for run in data["runs"]]) | Q(name__in=data["more_runs"])
            data["runs"] = Run.objects.filter(either, collection=self.collection).order_by("name")
        if "runs" in data and not data["runs"] and "more_runs" not in self.errors:
            self.add_error("runs", _("Choose at least one run."))
        if data.get("selection") == Campaign.Selection.LIST and not data.get("query_list"):
            self.add_error("query_list", _("Enter at least one query."))
        if data.get("selection") == Campaign.Selection.SAMPLE and not data.get("sample_size"):
            self.add_error("sample_size", _("Enter how many queries to draw."))
        check_reading(self, self.collection)
        self._clean_challengers(data)
        self._clean_practice(data)
        return data

    def _clean_challengers(self, data: dict[str, Any]) -> None:
        if data.get("design") != Campaign.Design.CHALLENGERS:
            data["base_version"] = None
            return
        data["base_version"] = data.get("base_version") or pool_selectors.newest_version(self.collection)
        if data["base_version"] is None:
            text = _("The collection has no version of its preference qrels. Make one from a campaign's results first.")
            self.add_error("design", text)
        if data.get("depth", 1) != 1:
            self.add_error("depth", _("A challenger is a passage that a run ranks first: enter 1."))
        if data.get("method", Campaign.Method.TOURNAMENT) != Campaign.Method.TOURNAMENT:
            self.add_error("method", _("Challengers need a tournament: choose “tournament”."))

    def _clean_practice(self, data: dict[str, Any]) -> None:
        try:
            pairs = read_practice_pairs(data.get("practice_pairs") or "")
        except Refused as error:
            self.add_error("practice_pairs", str(error))
            return
        needed = data.get("practice_right") if data.get("practice") == Campaign.Practice.CHECK else None
        if needed and pairs and needed > len(pairs):
            text = _("There are only %(count)d practice pairs.") % {"count": len(pairs)}
            self.add_error("practice_right", text)

    def settings(self) -> dict[str, Any]:
        """The settings as pools.services.campaign_create takes them."""
        left = ("name", "all_runs", "runs", "more_runs", "base_version")
        settings = {name: value for name, value in self.cleaned_data.items() if name not in left}
        base = self.cleaned_data["base_version"]
        return settings | {"base_version_id": base.pk} if base else settings


class TemplateForm(SettingsForm):
    """What a template has, but for its terms."""

    groups: ClassVar[tuple[tuple["_StrPromise", list[str], bool], ...]] = (
        *SettingsForm.groups,
        (gettext_lazy("Worked example and consent"), [*EXAMPLE, "consent"], True),
    )
    name = forms.CharField(label=LABELS["name"], max_length=CampaignTemplate._meta.get_field("name").max_length)
    consent = forms.CharField(
        label=gettext_lazy("Consent text"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
        help_text=gettext_lazy("Leave empty for the usual text, which is made from the settings."),
    )

    class Meta(SettingsForm.Meta):
        fields: ClassVar = [*KEPT]
        labels = LABELS | {
            "example_query": gettext_lazy("Question of the example"),
            "example_better": gettext_lazy("Better passage"),
            "example_worse": gettext_lazy("Worse passage"),
            "example_why": gettext_lazy("Why it is better"),
        }
        widgets = SettingsForm.Meta.widgets | {
            name: forms.Textarea(attrs={"rows": 3, "dir": "auto"}) for name in EXAMPLE
        }

    def __init__(self, data: Any = None, *, template: CampaignTemplate) -> None:
        super().__init__(
            data,
            instance=Campaign(lab=template.lab, **settings_of(template)),
            initial={"name": template.name, "consent": template.consent},
        )
        for name, left_out in INSTEAD:  # what names things of a collection
            field: Any = self.fields[name]
            field.choices = [choice for choice in field.choices if choice[0] != left_out]

    def clean(self) -> dict[str, Any]:
        """All of an example or nothing; a sample needs its size."""
        data = super().clean() or self.cleaned_data
        texts = [data.get(name) for name in EXAMPLE]
        if any(texts) and not all(texts):
            self.add_error(
                "example_query", _("An example needs all four texts. Leave all of them empty for the general example.")
            )
        if data.get("selection") == Campaign.Selection.SAMPLE and not data.get("sample_size"):
            self.add_error("sample_size", _("Enter how many queries to draw."))
        return data

    def changes(self) -> dict[str, Any]:
        """What pools.templating.template_change takes."""
        data = self.cleaned_data
        return {
            "name": data["name"],
            "values": {name: data[name] for name in KEPT},
            "consent": data["consent"],
        }
