"""The forms that operators fill in."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from marketplace.countries import countries
from marketplace.models import Dispute, Worker
from marketplace.services.accounts import INVITATION_DAYS
from marketplace.services.ledger import MOST_REASON


class RequesterForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=100, help_text=_("Workers see it with each task."))
    email = forms.EmailField(label=_("Email address"), required=False)


class KeyForm(forms.Form):
    """A new access key."""

    label = forms.CharField(label=_("Label"), max_length=100, required=False, help_text=_("Who or what will use it."))


class DepositForm(forms.Form):
    """Money that a requester paid in, or gets back."""

    amount = forms.DecimalField(
        label=_("Amount in dollars"),
        max_digits=9,
        decimal_places=2,
        help_text=_("A negative amount gives money back."),
        widget=forms.NumberInput(attrs={"step": "0.01", "inputmode": "decimal"}),
    )
    note = forms.CharField(
        label=_("Note"),
        max_length=200,
        required=False,
        help_text=_("Where it came from, such as the number of a transfer."),
    )

    def clean_amount(self) -> Decimal:
        amount: Decimal = self.cleaned_data["amount"]
        if not amount:
            raise forms.ValidationError(_("Enter an amount other than 0."))
        return amount


class AnswerForm(forms.Form):
    """An answer to a worker, in a requester's name."""

    text = forms.CharField(label=_("Answer"), max_length=4096, widget=forms.Textarea(attrs={"rows": 5}))


class InvitationForm(forms.Form):
    """A permission to register."""

    email = forms.EmailField(
        label=_("Email address"),
        required=False,
        help_text=_("If given, only this address can register with the invitation."),
    )
    note = forms.CharField(
        label=_("Note"), max_length=200, required=False, help_text=_("For your own records, such as who it is for.")
    )
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=365, initial=INVITATION_DAYS)
    vouched_approved = forms.IntegerField(
        label=_("Approved elsewhere"), min_value=0, max_value=10_000_000, initial=0, help_text=_("You vouch for it.")
    )
    vouched_rejected = forms.IntegerField(label=_("Rejected elsewhere"), min_value=0, max_value=10_000_000, initial=0)


class EditForm(forms.Form):
    """A form that changes what is stored, so that nobody's edit is undone in silence: what was stored when it was shown
    travels with it. If somebody has since saved something else than is sent here, it is not valid, and says what is
    stored now; sent again, it is saved. Its initial values are what is stored. Without `as_shown`, as from a script,
    nothing is compared.
    """

    stored_fields: ClassVar[tuple[str, ...]]

    as_shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["as_shown"] = self._joined(self.initial)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        stored = self.initial["as_shown"]
        if data.get("as_shown") and stored not in (data["as_shown"], self._joined(data)):
            self.data = dict(self.data.items()) | {"as_shown": stored}
            text = _("Somebody else has saved “%(stored)s” since you opened this page. Send yours again to replace it.")
            raise forms.ValidationError(text % {"stored": stored})
        return data

    def _joined(self, values: Mapping[str, Any]) -> str:
        return "-".join(str(values[name]) for name in self.stored_fields if values.get(name))


class StatusForm(EditForm):
    """A worker's status."""

    stored_fields = ("status",)

    status = forms.ChoiceField(label=_("Status"), choices=Worker.Status.choices)
    reason = forms.CharField(label=_("Reason, for the audit"), max_length=500)


class ReasonForm(forms.Form):
    """Why something is done."""

    prefix_of_ids = "id"
    reason = forms.CharField(label=_("Reason, for the audit"), max_length=500)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": f"{self.prefix_of_ids}_%s", **kwargs})


class PasswordForm(ReasonForm):
    """Why a worker gets a link to a new password. Its fields have ids of their own: other reasons are on the page."""

    prefix_of_ids = "password"


class MoveForm(EditForm, ReasonForm):
    """Where a worker lives now."""

    prefix_of_ids = "move"
    stored_fields = ("country", "subdivision")

    country = forms.ChoiceField(label=_("Country"), choices=countries)
    subdivision = forms.CharField(
        label=_("State or province"),
        required=False,
        max_length=3,
        help_text=_("Its short code, such as WA or ON. Optional."),
    )
    field_order = ["country", "subdivision", "reason"]


class BounceForm(forms.Form):
    """Why a payout came back."""

    reason = forms.CharField(
        label=_("Why it came back"),
        max_length=MOST_REASON,
        help_text=_("It is kept in the ledger, and the worker can read it."),
    )


class DecisionForm(forms.Form):
    """A dispute's end."""

    decision = forms.ChoiceField(
        label=_("Decision"),
        choices=[
            (Dispute.State.UPHELD, _("Uphold the rejection")),
            (Dispute.State.OVERTURNED, _("Approve after all: the requester pays")),
        ],
        widget=forms.RadioSelect,
    )
    answer = forms.CharField(
        label=_("Reason"),
        max_length=4096,
        help_text=_("The worker can read it."),
        widget=forms.Textarea(attrs={"rows": 5}),
    )
