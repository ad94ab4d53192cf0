"""Forms of leaderboards: taking part, submitting, and what organizers set."""

import json
from datetime import UTC, date, datetime, time
from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import Refused
from core.forms import EditForm
from core.models import User
from core.roles import Right, labs_of
from evaluation.boards.checking import HARDWARE_LENGTH, check_metadata, id_problem, plain_cost
from evaluation.boards.packages import Burnt, refuse_burnt
from evaluation.errors import BadInput
from leaderboards.boards import NUMBERS, POLICY_TEXT, measures_read
from leaderboards.metadata import FIELDS, WORDS
from leaderboards.models import Board, MetadataRequest, PolicyVersion, Season, SeasonFile, Submission, Team
from leaderboards.selectors import open_seasons, organizes
from pools.models import Campaign
from runs.forms import OFFERED
from runs.models import Collection
from runs.sending import MEGABYTE

NUMBER_FIELDS = tuple(NUMBERS)
PEM_BYTES = 20_000
# Where an error of a field of metadata.json is shown.
SHOWN_AT = {"team": "team_words", "model_description": "description"}


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)


class _Day(forms.DateField):
    """A day, in the browser's own widget."""

    def __init__(self, **named: Any) -> None:
        super().__init__(widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **named)


class _Small(forms.FileField):
    """A file of a leaderboard's: none is larger than a submission may be."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        file = super().clean(data, initial)
        if file and file.size > settings.BOARD_UPLOAD_MEGABYTES * MEGABYTE:
            text = _("This file has more than %(most)s MB.")
            raise forms.ValidationError(text % {"most": settings.BOARD_UPLOAD_MEGABYTES})
        if file:
            try:
                refuse_burnt([str(file.name)])
            except Burnt as error:
                raise forms.ValidationError(f"{error}.") from error
        return file


class _PrivateKey(_Small):
    """An organizer's RSA key for packages of the old scripts: its text."""

    def __init__(self, **named: Any) -> None:
        super().__init__(
            label=gettext_lazy("Your RSA private key (PEM)"),
            help_text=gettext_lazy("Used to open the two files, in memory, and not stored."),
            **named,
        )

    def clean(self, data: Any, initial: Any = None) -> str:
        content: bytes = super().clean(data, initial).read(PEM_BYTES)
        try:
            return content.decode("ascii")
        except UnicodeDecodeError as error:
            raise forms.ValidationError(_("This file is no key in PEM.")) from error


class _Cost(forms.FloatField):
    """What a run costs, if somebody tells: a number from 0 on."""

    def __init__(self, **named: Any) -> None:
        super().__init__(required=False, min_value=0, **named)


class _CostsForm(forms.Form):
    """What a run costs, which nobody has to tell."""

    parameters = _Cost(label=gettext_lazy("Parameters"), help_text=gettext_lazy("Of all models together."))
    training_hours = _Cost(label=gettext_lazy("Training, hours"))
    training_hardware = forms.CharField(label=gettext_lazy("Trained on"), required=False, max_length=HARDWARE_LENGTH)
    query_latency_ms = _Cost(label=gettext_lazy("Latency of a query, milliseconds"))
    query_hardware = forms.CharField(
        label=gettext_lazy("Measured on"),
        required=False,
        max_length=HARDWARE_LENGTH,
        help_text=gettext_lazy("The hardware."),
    )
    index_gigabytes = _Cost(label=gettext_lazy("Size of the index, GB"))
    energy_kwh = _Cost(label=gettext_lazy("Energy, kWh"), help_text=gettext_lazy("To train the model."))

    @property
    def costs(self) -> list[forms.BoundField]:
        """The fields of what the run costs, a run's hardware after what was measured on it."""
        return [self[name] for name in _CostsForm.base_fields]

    @property
    def has_cost_errors(self) -> bool:
        """Whether what the run costs has to be looked at again."""
        return any(field.errors for field in self.costs)


class TeamForm(forms.Form):
    organization = forms.CharField(label=gettext_lazy("Organization"), max_length=100)
    group = forms.CharField(
        label=gettext_lazy("Group"),
        max_length=100,
        help_text=gettext_lazy("Two groups of one organization are two teams. A team of one has a group, too."),
    )
    contributors = forms.CharField(
        label=gettext_lazy("Contributors"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("If you like. The organizers see it."),
    )


class AddressForm(forms.Form):
    """An e-mail address that a link is sent to."""

    email = forms.EmailField(label=gettext_lazy("E-mail address"), max_length=254)


class SubmitForm(_CostsForm):
    """A run: a sealed package, or two plain files and what metadata.json would say."""

    team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("Team"), empty_label=None)
    season = forms.ModelChoiceField(Season.objects.none(), label=gettext_lazy("Season"), empty_label=None)
    run_id = forms.CharField(
        label=gettext_lazy("Id of the run"),
        max_length=60,
        help_text=gettext_lazy("yyyymmdd-name, with today's date (UTC). It stays taken, whatever becomes of the run."),
    )
    package = _Small(
        label=gettext_lazy("Sealed package"),
        required=False,
        help_text=gettext_lazy("As the command above made it. Leave it empty to upload plain files."),
    )
    dev = _Small(label=gettext_lazy("Run on the dev queries"), required=False)
    eval = _Small(
        label=gettext_lazy("Run on the eval queries"),
        required=False,
        help_text=gettext_lazy(
            "TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst. The server seals both files at once."
        ),
    )
    team_words = forms.CharField(
        label=gettext_lazy("Team, as the entry names it"), required=False, max_length=300, empty_value=""
    )
    description = forms.CharField(label=gettext_lazy("Description"), required=False, max_length=1000)
    type = forms.ChoiceField(label=gettext_lazy("Type"), required=False)
    paper = forms.CharField(label=gettext_lazy("Paper"), required=False, max_length=500)
    code = forms.CharField(label=gettext_lazy("Code"), required=False, max_length=500)
    embargo_until = _Day(
        label=gettext_lazy("Anonymous until"),
        required=False,
        help_text=gettext_lazy("Revealed at 00:00 UTC of that day. Empty: not anonymous."),
    )
    variant_of = forms.CharField(
        label=gettext_lazy("A variant of"),
        required=False,
        max_length=60,
        help_text=gettext_lazy(
            "The id of an entry, of whatever team, from which this run differs in a seed or so only."
        ),
    )
    policy = forms.IntegerField(widget=forms.HiddenInput)
    accept = forms.BooleanField(label=gettext_lazy("I have read the policy, and my team follows it"))

    def __init__(self, *args: Any, board: Board, teams: Any, policy: PolicyVersion, **named: Any) -> None:
        super().__init__(*args, **named)
        self.board, self.held = board, policy
        now = timezone.now()
        for name, rows in (("team", teams), ("season", open_seasons(board, now))):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = rows
            field.initial = rows.first()
        kind = self.fields["type"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [(name, name) for name in board.types]
        self.fields["run_id"].initial = f"{now:%Y%m%d}-"
        self.fields["policy"].initial = policy.number

    @property
    def plain(self) -> list[forms.BoundField]:
        names = "dev eval team_words description type paper code variant_of embargo_until".split()
        return [self[name] for name in names]

    def clean_run_id(self) -> str:
        run_id = str(self.cleaned_data["run_id"])
        if problem := id_problem(run_id, arrived=timezone.now().date()):
            raise forms.ValidationError(problem[0].upper() + problem[1:] + ".")
        if self.board.submissions.filter(run_id__iexact=run_id).exists():
            raise forms.ValidationError(_("This id is taken. Choose another name."))
        return run_id

    def clean(self) -> dict[str, Any]:
        """Either a package or plain files, with metadata that the organizers would take."""
        values = super().clean() or self.cleaned_data
        files = [name for name in ("dev", "eval") if values.get(name)]
        if values.get("package"):
            if files:
                self.add_error("package", _("Send a sealed package, or plain files, but not both."))
            return values
        if not files and not self.has_error("package"):
            self.add_error("package", _("Send a sealed package, or two plain files below."))
        elif len(files) == 1:
            missing = "eval" if files == ["dev"] else "dev"
            self.add_error(missing, _("This run is missing."))
        if files:
            self._check_metadata(values)
        return values

    def _check_metadata(self, values: dict[str, Any]) -> None:
        content = json.dumps(self.metadata(values)).encode()
        arrived, months = timezone.now().date(), self.held.embargo_months
        check = check_metadata(content, types=self.board.types, arrived=arrived, embargo_months=months)
        for error in check.errors:
            name = error.message.split(" ", 1)[0].rstrip(":")
            field = SHOWN_AT.get(name, name)
            self.add_error(field if field in self.fields else None, error.message)

    def metadata(self, values: dict[str, Any]) -> dict[str, Any]:
        """The fields of metadata.json."""
        until = values.get("embargo_until")
        fields = {
            "team": values.get("team_words") or str(values.get("team") or ""),
            "model_description": values.get("description", ""),
            "type": values.get("type", ""),
            "paper": values.get("paper", ""),
            "code": values.get("code", ""),
        }
        costs = {field.name: values.get(field.name) for field in self.costs}
        fields |= {name: value for name, value in costs.items() if value not in (None, "")}
        fields |= {"variant_of": values["variant_of"]} if values.get("variant_of") else {}
        return fields | ({"embargo_until": f"{until:%Y/%m/%d}"} if until else {})


class DevForm(forms.Form):
    """A run on the dev queries, to be scored."""

    season = forms.ModelChoiceField(Season.objects.none(), label=gettext_lazy("Season"), empty_label=None)
    file = _Small(
        label=gettext_lazy("Run on the dev queries"),
        help_text=gettext_lazy("TREC, MS MARCO, CSV, JSON lines or Parquet; plain, gz, bz2 or zst."),
    )

    entry = forms.ModelChoiceField(
        Submission.objects.none(),
        label=gettext_lazy("Imported entry"),
        required=False,
        empty_label=gettext_lazy("none"),
        help_text=gettext_lazy("Whose run this is: its scores then stand beside the published ones, for everybody."),
    )

    def __init__(self, *args: Any, board: Board, user: User, **named: Any) -> None:
        super().__init__(*args, **named)
        imported = board.submissions.filter(origin=Submission.Origin.IMPORTED, state=Submission.State.PUBLISHED)
        if organizes(user, board) and imported.exists():
            entry = self.fields["entry"]
            assert isinstance(entry, forms.ModelChoiceField)
            entry.queryset = imported.order_by("arrived_at", "pk")
        else:
            del self.fields["entry"]
        season = self.fields["season"]
        assert isinstance(season, forms.ModelChoiceField)
        season.queryset = open_seasons(board, timezone.now())
        season.initial = season.queryset.first()


class OldRunsForm(forms.Form):
    """The package of an imported entry, of the MS MARCO leaderboards' scripts: its runs are added."""

    season = forms.ModelChoiceField(Season.objects.none(), label=gettext_lazy("Season"), empty_label=None)
    tar = _Small(label=gettext_lazy("ID.tar.enc"), help_text=gettext_lazy("Its runs, encrypted."))
    key = _Small(label=gettext_lazy("ID.key.bin.enc"), help_text=gettext_lazy("Its key, encrypted."))
    private = _PrivateKey()

    def __init__(self, *args: Any, board: Board, **named: Any) -> None:
        super().__init__(*args, **named)
        season = self.fields["season"]
        assert isinstance(season, forms.ModelChoiceField)
        season.queryset = open_seasons(board, timezone.now())
        season.initial = season.queryset.first()

    def pair(self) -> dict[str, bytes]:
        """The two files by name."""
        return {str(file.name): file.read() for file in (self.cleaned_data["tar"], self.cleaned_data["key"])}


class MetadataForm(_CostsForm):
    """Other metadata of a submission."""

    kind = forms.ChoiceField(
        label=gettext_lazy("What changes"), choices=[(kind, MetadataRequest.Kind(kind).label) for kind in FIELDS]
    )
    team_words = forms.CharField(label=gettext_lazy("Team"), max_length=300)
    description = forms.CharField(label=gettext_lazy("Description"), max_length=1000)
    paper = forms.CharField(label=gettext_lazy("Paper"), required=False, max_length=500)
    code = forms.CharField(label=gettext_lazy("Code"), required=False, max_length=500)
    why = forms.CharField(label=gettext_lazy("Why"), max_length=2000, widget=forms.Textarea(attrs={"rows": 2}))

    field_order = ("kind", *WORDS, *_CostsForm.base_fields, "why")

    def __init__(self, *args: Any, submission: Submission, **named: Any) -> None:
        super().__init__(*args, **named)
        for name in WORDS:
            self.fields[name].initial = getattr(submission, name)
        for field in self.costs:
            self.fields[field.name].initial = plain_cost(submission.metadata.get(field.name))

    def after(self) -> dict[str, str]:
        """What the submission is to say."""
        texts = {name: self.cleaned_data[name] for name in WORDS}
        return texts | {field.name: plain_cost(self.cleaned_data[field.name]) for field in self.costs}


class OldMetadataForm(forms.Form):
    """New metadata of an entry in a file of the MS MARCO leaderboards' scripts."""

    metadata = _Small(label=gettext_lazy("ID-metadata.json.enc"))
    key = _Small(
        label=gettext_lazy("ID.key.bin.enc"),
        help_text=gettext_lazy(
            "As the package had it, from your archive: that the metadata open with it is the proof."
        ),
    )
    private = _PrivateKey()
    why = forms.CharField(
        label=gettext_lazy("Where the file comes from"), max_length=2000, widget=forms.Textarea(attrs={"rows": 2})
    )

    def pair(self) -> dict[str, bytes]:
        """The two files by name."""
        return {str(file.name): file.read() for file in (self.cleaned_data["metadata"], self.cleaned_data["key"])}


# --- what organizers set


class PolicyForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A policy: its text and its numbers."""

    begins = _Day(
        label=gettext_lazy("Holds from"),
        required=False,
        help_text=gettext_lazy("00:00 UTC of that day; empty: from now on. It never acts backward."),
    )

    class Meta:
        model = PolicyVersion
        fields = ["text", *NUMBER_FIELDS, "why"]
        widgets = {"text": forms.Textarea(attrs={"rows": 14}), "why": forms.Textarea(attrs={"rows": 2})}
        labels = {
            "text": gettext_lazy("Text"),
            "quota_runs": gettext_lazy("Runs of one team"),
            "quota_days": gettext_lazy("… in so many days"),
            "embargo_months": gettext_lazy("Months of embargo, at most"),
            "release_rule": gettext_lazy("Which eval scores are shown"),
            "release_step": gettext_lazy("Least gain"),
            "auto_publish": gettext_lazy("Publish without a look by an organizer"),
            "promised_days": gettext_lazy("Days within which you decide"),
            "choice_days": gettext_lazy("Days in which a team decides whether a run counts"),
            "alike_threshold": gettext_lazy("Overlap from which entries are called alike"),
            "why": gettext_lazy("What changed, and why"),
        }

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.fields["choice_days"].required = False

    def clean_choice_days(self) -> int:
        return int(self.cleaned_data["choice_days"] or 0)

    def begins_at(self, at: datetime) -> datetime:
        return _midnight(self.cleaned_data["begins"]) or at

    def numbers(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in NUMBER_FIELDS}


class BoardForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A new board. Its policy begins as the paper's, and can be changed."""

    measures = forms.CharField(
        label=gettext_lazy("Measures"),
        initial="RR@10",
        max_length=200,
        help_text=gettext_lazy(
            "As ir_measures names them, with commas between: RR@10, nDCG@10, Judged@10, Success@1, P@5, R@100, AP; and "
            "Compat(p=0.9). The first orders the entries."
        ),
    )

    class Meta:
        model = Board
        fields = ["collection", "name", "slug", "about", "measures", "hits", "fewer_refused", "order"]
        widgets = {"about": forms.Textarea(attrs={"rows": 4})}
        labels = {
            "collection": gettext_lazy("Collection"),
            "name": gettext_lazy("Name"),
            "slug": gettext_lazy("Address"),
            "about": gettext_lazy("About"),
            "hits": gettext_lazy("Passages for each query"),
            "fewer_refused": gettext_lazy("Refuse runs with fewer"),
            "order": gettext_lazy("Order of a run"),
        }
        help_texts = {"slug": gettext_lazy("Letters, digits, - and _: the end of its public address.")}
        error_messages = {
            "slug": {
                "unique": gettext_lazy("There is a leaderboard at this address. Choose another."),
                "invalid": gettext_lazy("An address has letters, digits, - and _ only."),
            }
        }

    def __init__(self, *args: Any, user: User, **named: Any) -> None:
        super().__init__(*args, **named)
        collections = Collection.objects.filter(lab__in=labs_of(user, Right.MAINTAIN)).order_by("name")
        choice = self.fields["collection"]
        assert isinstance(choice, forms.ModelChoiceField)
        chosen = str((self.data if self.is_bound else self.initial).get("collection") or "")
        if collections[OFFERED:].exists():
            is_key = chosen.isdecimal() and len(chosen) < 19
            collections = collections.filter(pk=int(chosen)) if is_key else collections[:OFFERED]
        choice.queryset = collections
        choice.empty_label = None
        self.fields["hits"].initial = 1000
        self.fields["order"].initial = Campaign.Order.RANK

    def clean_measures(self) -> list[str]:
        """The names of the measures, each of which is known."""
        try:
            return measures_read(self.cleaned_data["measures"].split(","), 1000)
        except Refused as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        """A measure never looks below the passages that a run may have."""
        values = super().clean() or self.cleaned_data
        if values.get("measures") and values.get("hits"):
            try:
                measures_read(values["measures"], values["hits"])
            except Refused as error:
                self.add_error("measures", str(error))
        return values


class BoardEditForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """What of a board can be changed at any time."""

    class Meta:
        model = Board
        fields = ["name", "about", "is_public", "season_months", "publishes_qrels", "spot_checks", "correction"]
        widgets = {"about": forms.Textarea(attrs={"rows": 6})}
        labels = {
            "name": gettext_lazy("Name"),
            "about": gettext_lazy("About"),
            "is_public": gettext_lazy("Everybody can see it"),
            "season_months": gettext_lazy("Months of a season"),
            "publishes_qrels": gettext_lazy("Publish the eval qrels of closed seasons"),
            "spot_checks": gettext_lazy("Spot checks a month"),
            "correction": gettext_lazy("Correct bands for many tests by"),
        }
        help_texts = {
            "season_months": gettext_lazy(
                "After so many months the next season takes over, once its queries are there. 0: only dates open and "
                "close seasons."
            ),
            "publishes_qrels": gettext_lazy("When a season closes, its eval qrels become public automatically."),
            "spot_checks": gettext_lazy(
                "So many entries are drawn at random each month, and organizers are asked to look at them closely. 0: "
                "none."
            ),
            "correction": gettext_lazy("For checks of the order from now on. Those that were made stay as they are."),
        }

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        for name in ("season_months", "spot_checks", "correction"):
            self.fields[name].required = False

    def clean_spot_checks(self) -> int:
        value = self.cleaned_data["spot_checks"]
        return int(self.initial["spot_checks"] if value is None else value)

    def clean_correction(self) -> str:
        return str(self.cleaned_data["correction"] or self.initial["correction"])

    def clean_season_months(self) -> int:
        return int(self.cleaned_data["season_months"] or 0)


class SeasonForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)
    opens = _Day(
        label=gettext_lazy("Opens"),
        required=False,
        help_text=gettext_lazy("00:00 UTC of that day. Leave it empty to open the season now."),
    )
    in_turn = forms.BooleanField(
        label=gettext_lazy("Opens in turn"),
        required=False,
        help_text=gettext_lazy(
            "Once the months of the season before it are over, which then closes. Its eval queries have to be new."
        ),
    )
    closes = _Day(
        label=gettext_lazy("Closes"),
        required=False,
        help_text=gettext_lazy("Leave it empty to close the season whenever you like."),
    )
    dev_queries = _Small(label=gettext_lazy("Dev queries"), help_text=gettext_lazy("Lines of id, tab, text."))
    dev_qrels = _Small(label=gettext_lazy("Dev qrels"), help_text=gettext_lazy("Lines of query, 0, passage, grade."))
    eval_queries = _Small(label=gettext_lazy("Eval queries"))
    eval_qrels = _Small(
        label=gettext_lazy("Eval qrels"),
        help_text=gettext_lazy("Hidden: nobody gets this file, unless you publish it after the season."),
    )
    dev_candidates = _Small(
        label=gettext_lazy("Candidates for reranking, dev"),
        required=False,
        help_text=gettext_lazy("As a run. A reranking entry then may have no other passages."),
    )
    eval_candidates = _Small(label=gettext_lazy("Candidates for reranking, eval"), required=False)
    dev_groups = _Small(
        label=gettext_lazy("Groups of dev queries"),
        required=False,
        help_text=gettext_lazy(
            "Lines of query, tab, group, such as a language, a topic or a length. Entries then show their dev scores "
            "by group, the worst one first."
        ),
    )

    def opens_at(self, at: datetime) -> datetime:
        return _midnight(self.cleaned_data["opens"]) or at

    def closes_at(self) -> datetime | None:
        return _midnight(self.cleaned_data["closes"])

    def refuse_file(self, error: BadInput) -> None:
        """Show what is wrong with a file beside it."""
        fields = [part for part in SeasonFile.Part.values if (file := self.files.get(part)) and file.name == error.name]
        self.add_error(fields[0] if len(fields) == 1 else None, str(error))

    def contents(self) -> dict[str, tuple[str, bytes]]:
        """By part, the names and contents of its files."""
        sent = {part: self.cleaned_data[part] for part in SeasonFile.Part.values if self.cleaned_data.get(part)}
        return {part: (str(file.name), file.read()) for part, file in sent.items()}


def policy_initial(newest: PolicyVersion | None) -> dict[str, Any]:
    """What the form of the next policy begins with."""
    if newest is None:
        return {"text": POLICY_TEXT, **NUMBERS}
    return {"text": newest.text, **{name: getattr(newest, name) for name in NUMBER_FIELDS}}
