"""Forms about a campaign at a platform: its terms, publishing, extending, decisions."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar, cast

from django import forms
from django.forms.utils import ErrorDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.forms import EditForm, Group
from platforms.demands import Demands, unknown_countries
from platforms.models import PUBLISHED_TO, Operation, Publication
from platforms.publishing.replacing_terms import FIXED
from platforms.registry import adapter_for, adapter_of, phrase, platforms_of, vocabulary_of
from pools.models import Campaign

PAY_IN_FULL: tuple[tuple[str, Promise], ...] = (
    (
        Publication.Pay.BASE_AND_BONUS,
        gettext_lazy(
            "A small base and a bonus: the platform lists the base below, and work beyond it is paid as a bonus."
        ),
    ),
    (
        Publication.Pay.FULL_ON_EXIT,
        gettext_lazy("The full reward for everyone: a worker who leaves early submits, and gets all of it."),
    ),
    (
        Publication.Pay.RETURN_AND_COMPENSATE,
        gettext_lazy(
            "The full reward for complete work: a worker who leaves early returns the task, and you can "
            "offer their share as a compensation."
        ),
    ),
)


class Told(forms.Field):
    """A field that says of a bad value what was seen, and what is expected."""

    def __init__(self, *, expected: Promise, **kwargs: Any) -> None:
        self.expected = expected
        super().__init__(**kwargs)

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(value)
        except forms.ValidationError:
            text = "" if value is None else str(value).strip()[:100]
            sentence = _("“%(seen)s” was given.") % {"seen": text} if text else _("No value was given.")
            raise forms.ValidationError(f"{sentence} {self.expected}") from None


class MoneyField(Told, forms.DecimalField):
    """An amount in whole cents."""


class WholeField(Told, forms.IntegerField):
    """A whole number."""


class RateField(Told, forms.FloatField):
    def prepare_value(self, value: Any) -> Any:
        return f"{value:g}" if isinstance(value, float) else value


class WordsField(Told, forms.CharField):
    """A text of some length."""


class PeriodField(Told, forms.FloatField):
    """A length of time, written as a number of units."""

    def __init__(self, *, unit: timedelta, least: float, most: float, **kwargs: Any) -> None:
        self.unit = unit
        super().__init__(min_value=least, max_value=most, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return f"{value / self.unit:g}" if isinstance(value, timedelta) else value

    def clean(self, value: Any) -> Any:
        return timedelta(seconds=round(super().clean(value) * self.unit.total_seconds()))


class CountriesField(Told, forms.CharField):
    """Two-letter codes separated by commas or spaces."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, tuple) else value

    def to_python(self, value: Any) -> Any:
        codes = tuple(dict.fromkeys(re.split(r"[\s,;]+", str(value or "").strip().upper())))
        codes = tuple(code for code in codes if code)
        if unknown_countries(codes):
            raise forms.ValidationError("")
        return codes


class RequirementsField(Told, forms.CharField):
    """The API's own JSON, for requirements of other kinds."""

    def prepare_value(self, value: Any) -> Any:
        return (json.dumps(list(value), indent=2) if value else "") if isinstance(value, tuple) else value

    def to_python(self, value: Any) -> Any:
        try:
            requirements = json.loads(value) if (value or "").strip() else []
        except (ValueError, RecursionError):
            raise forms.ValidationError("") from None
        needed = ({"QualificationTypeId", "Comparator"}, {"filter_id"})  # Mechanical Turk's, and Prolific's
        if not isinstance(requirements, list) or not all(
            isinstance(requirement, dict) and any(names <= requirement.keys() for names in needed)
            for requirement in requirements
        ):
            raise forms.ValidationError("")
        return tuple(requirements)


def in_words_of(form: forms.Form, publication: Publication) -> None:
    """Put what a form says of its fields into the words of the publication's platform."""
    for field in form.fields.values():
        field.label, field.help_text = (phrase(publication, str(text or "")) for text in (field.label, field.help_text))
        field.error_messages = {key: phrase(publication, str(text)) for key, text in field.error_messages.items()}
        if isinstance(field, forms.ChoiceField):
            # Without the empty one, which a filter's field adds by itself.
            choices = list(cast("Iterable[tuple[Any, Any]]", field.choices))
            field.choices = [(key, phrase(publication, str(label))) for key, label in choices if key != ""]


class TermsForm(EditForm, forms.Form):
    """Every term that workers of the platform see, or that decides what is sent there."""

    groups: ClassVar = (
        (gettext_lazy("Where, and for how much"), ["platform", "pay", "base"], False),
        (gettext_lazy("What workers are told"), ["title", "description", "keywords"], False),
        (gettext_lazy("Who may work"), ["countries", "approved", "percent"], False),
        (gettext_lazy("Other requirements"), ["others"], True),
        (
            gettext_lazy("How long, and how fast"),
            ["lifetime", "assignment_duration", "auto_approval", "approve_after", "rate"],
            False,
        ),
    )

    platform = forms.ChoiceField(label=gettext_lazy("Platform"), choices=PUBLISHED_TO.items())
    pay = forms.ChoiceField(
        label=gettext_lazy("Pay for leaving early"),
        choices=PAY_IN_FULL,
        widget=forms.RadioSelect(attrs={"class": "sentences"}),
    )
    base = MoneyField(
        label=gettext_lazy("Base"),
        help_text=gettext_lazy("For “a small base and a bonus” only: the reward that the platform lists."),
        min_value=Decimal("0.01"),
        max_digits=8,
        decimal_places=2,
        expected=gettext_lazy("It must be an amount in whole cents, from 0.01 to 999999.99."),
    )
    title = WordsField(
        label=gettext_lazy("Title"),
        max_length=128,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        expected=gettext_lazy("It must be a text of at most 128 characters."),
    )
    description = WordsField(
        label=gettext_lazy("Description"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        expected=gettext_lazy("It must be a text of at most 2,000 characters."),
    )
    keywords = WordsField(
        label=gettext_lazy("Keywords"),
        max_length=1000,
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto"}),
        help_text=gettext_lazy("Separated by commas. Workers search by them."),
        expected=gettext_lazy("They must be at most 1,000 characters."),
    )
    countries = CountriesField(
        label=gettext_lazy("Countries"),
        required=False,
        help_text=gettext_lazy("Two-letter codes, separated by commas. Leave empty to allow all countries."),
        expected=gettext_lazy(
            "Countries must be two-letter ISO 3166 codes, such as US or GB, separated by commas. Great Britain is GB."
        ),
    )
    approved = WholeField(
        label=gettext_lazy("More approved tasks than"),
        required=False,
        min_value=0,
        max_value=1_000_000,
        help_text=gettext_lazy("Leave empty if not required."),
        expected=gettext_lazy("It must be a whole number from 0 to 1,000,000, or empty."),
    )
    percent = WholeField(
        label=gettext_lazy("Percent approved, at least"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=gettext_lazy("Leave empty if not required."),
        expected=gettext_lazy("It must be a whole number from 0 to 100, or empty."),
    )
    others = RequirementsField(
        label=gettext_lazy("Requirements as JSON"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "A list of the API's QualificationRequirements, or of Prolific's filters. Leave empty for none."
        ),
        expected=gettext_lazy(
            "It must be a JSON list of objects, each with a QualificationTypeId and a Comparator, or with a filter_id."
        ),
    )
    lifetime = PeriodField(
        label=gettext_lazy("Lifetime, in days"),
        unit=timedelta(days=1),
        least=0.001,
        most=365,
        help_text=gettext_lazy("How long a HIT is offered. It can be extended."),
        expected=gettext_lazy("It must be a number of days from 0.001 to 365."),
    )
    assignment_duration = PeriodField(
        label=gettext_lazy("Time for a HIT, in minutes"),
        unit=timedelta(minutes=1),
        least=0.5,
        most=525_600,
        help_text=gettext_lazy("After this time, the platform takes the HIT back."),
        expected=gettext_lazy("It must be a number of minutes from 0.5 to 525,600."),
    )
    auto_approval = PeriodField(
        label=gettext_lazy("Automatic approval after, in days"),
        unit=timedelta(days=1),
        least=3,
        most=30,
        help_text=gettext_lazy(
            "For work that nobody has decided on. Work is usually checked and approved long before."
        ),
        expected=gettext_lazy("It must be a number of days from 3 to 30."),
    )
    approve_after = PeriodField(
        label=gettext_lazy("Wait before approving, in hours"),
        unit=timedelta(hours=1),
        least=0,
        most=29 * 24,
        help_text=gettext_lazy(
            "Time for a person to look at checked work before it is approved. 0 approves it at once."
        ),
        expected=gettext_lazy(
            "It must be a number of hours, from 0 to a day less than the platform's automatic approval."
        ),
    )
    rate = RateField(
        label=gettext_lazy("Calls per second"),
        min_value=0.01,
        max_value=1000,
        help_text=gettext_lazy("Platforms refuse too many calls. 5 is safe."),
        expected=gettext_lazy("It must be a number from 0.01 to 1,000."),
    )

    def __init__(self, *args: Any, publication: Publication, requirements: list[dict[str, Any]], **kwargs: Any) -> None:
        demands = adapter_of(publication).demands_of(requirements)
        stored = {name: getattr(publication, name) for name in self.base_fields if hasattr(publication, name)}
        kwargs["initial"] = stored | demands._asdict()
        super().__init__(*args, **kwargs)
        self.campaign = publication.campaign
        self.published_to = publication.platform
        chosen = platforms_of(self.campaign.lab_id)
        if publication.pk:  # what it was set to stays, also where the lab's account was removed
            chosen[publication.platform] = PUBLISHED_TO[publication.platform]
        self.fields["platform"] = forms.ChoiceField(label=gettext_lazy("Platform"), choices=chosen.items())
        if publication.state != Publication.State.DRAFT:
            for name in {*FIXED, *adapter_of(publication).unused_terms}:
                del self.fields[name]
        self.vocabulary = vocabulary_of(publication)
        in_words_of(self, publication)

    def fieldsets(self) -> Iterator[Group]:
        """The fields in the order in which a researcher decides."""
        for title, names, folded in self.groups:
            if fields := [self[name] for name in names if name in self.fields]:
                yield Group(self.vocabulary.phrase(str(title)), fields, folded)

    def demanding(self, demands: Demands) -> "TermsForm":
        """The form as it was filled in, with other requirements on workers, to be checked."""
        typed = dict(self.data.items())
        initial = {"countries": ", ".join(demands.countries), "approved": demands.approved, "percent": demands.percent}
        for name, value in initial.items():
            typed[name] = "" if value is None else str(value)
        self.data = typed
        self._errors = ErrorDict()
        return self

    def clean(self) -> dict[str, Any]:
        """The base is within the reward, and the wait ends before the platform's own approval."""
        data = super().clean() or self.cleaned_data
        base, reward = data.get("base"), self.campaign.reward
        if data.get("pay") == Publication.Pay.BASE_AND_BONUS and base is not None and base > reward:
            text = _("“%(seen)s” was given. It must be at most the campaign's reward, %(reward)s.")
            self.add_error("base", text % {"seen": base, "reward": self.campaign.money(reward)})
        wait, clock = data.get("approve_after"), data.get("auto_approval")
        if wait is not None and clock is not None and wait > clock - timedelta(days=1):
            text = _(
                "“%(seen)s” was given. It must be at most %(most)g hours, a day less than the platform's "
                "automatic approval."
            )
            hour = timedelta(hours=1)
            most = (clock - timedelta(days=1)) / hour
            self.add_error("approve_after", text % {"seen": f"{wait / hour:g}", "most": most})
        return data

    def terms(self) -> dict[str, Any]:
        """The terms as platforms.terms.publication_write takes them."""
        data = dict(self.cleaned_data)
        demands = Demands(*(data.pop(name) for name in Demands._fields))
        adapter = adapter_for(data.get("platform", self.published_to), self.campaign.lab_id)
        return data | {"requirements": adapter.requirements_of(demands)}


class HourlyForm(forms.Form):
    """What an hour is to pay."""

    hourly = forms.DecimalField(
        label=gettext_lazy("Wanted pay per hour"), min_value=Decimal("0.01"), max_digits=6, decimal_places=2
    )


class PublishForm(forms.Form):
    """The last step: the campaign's name again where real people are paid, and what was seen."""

    typed_name = forms.CharField(
        label=gettext_lazy("The campaign's name"),
        required=False,
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    seen = forms.CharField()
    although_nobody_qualifies = forms.BooleanField(
        label=gettext_lazy("Publish although no active worker qualifies now"),
        error_messages={"required": gettext_lazy("No active worker qualifies. Tick this to go ahead anyway.")},
    )

    def __init__(self, *args: Any, publication: Publication, nobody: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not nobody:
            del self.fields["although_nobody_qualifies"]
        self.campaign: Campaign = publication.campaign
        self.real = adapter_of(publication).spends_real_money
        self.fields["typed_name"].help_text = _("Type “%(name)s” to pay real people real money.") % {
            "name": self.campaign.name
        }
        if not self.real:
            del self.fields["typed_name"]
        in_words_of(self, publication)

    def clean_typed_name(self) -> str:
        typed: str = self.cleaned_data["typed_name"]
        if typed != self.campaign.name:
            text = _("“%(seen)s” was given. It must be “%(name)s”.")
            raise forms.ValidationError(text % {"seen": typed, "name": self.campaign.name})
        return typed


class ReplaceForm(forms.Form):
    """The last step before terms are replaced: what was seen."""

    seen = forms.CharField(required=False)
    although_nobody_qualifies = forms.BooleanField(
        label=gettext_lazy("Replace the terms although no active worker qualifies for them now"), required=False
    )

    def __init__(self, *args: Any, publication: Publication, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        in_words_of(self, publication)


class ExtendForm(forms.Form):
    """Until when HITs that need work stay open."""

    until = forms.DateField(
        label=gettext_lazy("Extend until"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.first = timezone.now().date() + timedelta(days=1)
        self.last = timezone.now().date() + timedelta(days=364)
        self.fields["until"].widget.attrs |= {"min": self.first.isoformat(), "max": self.last.isoformat()}

    def clean_until(self) -> datetime:
        """The last minute of that day, in UTC: the same day asked for again is the same time."""
        day = self.cleaned_data["until"]
        if not self.first <= day <= self.last:
            text = _("“%(seen)s” was given. It must be a day from %(first)s to %(last)s.")
            raise forms.ValidationError(text % {"seen": day, "first": self.first, "last": self.last})
        return datetime.combine(day, time(23, 59), UTC)


class DecideForm(forms.Form):
    """What is decided on submitted work, and why."""

    why = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=1000,
        help_text=gettext_lazy("Kept with the decision. If you reject, the worker reads it."),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )
    decision = forms.ChoiceField(choices=[("approve", "approve"), ("reject", "reject")], widget=forms.HiddenInput)

    def __init__(self, *args: Any, publication: Publication, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        adapter = adapter_of(publication)
        if Operation.Kind.ASK_RETURN in adapter.operations:
            decision = self.fields["decision"]
            assert isinstance(decision, forms.ChoiceField)
            decision.choices = [("approve", "approve"), ("reject", "reject"), ("return", "return")]
        if categories := adapter.rejection_categories:
            self.fields["category"] = forms.ChoiceField(
                label=_("Category of a rejection"),
                required=False,
                choices=[(category, category) for category in reversed(categories)],
                help_text=_("In the platform's own words. It does not count if you approve."),
            )
        in_words_of(self, publication)  # which would drop the empty choice of this field
        if reasons := adapter.return_reasons:
            self.fields["return_reason"] = forms.ChoiceField(
                label=_("Reason for a return"),
                required=False,
                choices=[("", _("what is written above")), *((reason, reason) for reason in reasons)],
                help_text=phrase(
                    publication,
                    _("What the worker reads if you ask for a return. The platform has these reasons of its own."),
                ),
            )
