"""The forms that workers fill in."""

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_text_html
from django.utils.translation import gettext_lazy as _

from marketplace.countries import countries, is_subdivision
from marketplace.services.messages import MOST_SUBJECT, MOST_TEXT


class RegisterForm(forms.Form):
    """A new worker."""

    email = forms.EmailField(
        label=_("Email address"),
        help_text=_("You log in with it. Requesters never see it."),
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )
    password = forms.CharField(
        label=_("Password"),
        strip=False,
        help_text=password_validators_help_text_html(),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    country = forms.ChoiceField(
        label=_("Country"),
        help_text=_("Where you live. Some tasks are open only to workers in certain countries."),
        choices=lambda: [("", ""), *countries()],
        widget=forms.Select(attrs={"autocomplete": "country"}),
    )
    subdivision = forms.CharField(
        label=_("State or province (optional)"),
        help_text=_("Its short code, such as WA or ON."),
        required=False,
        max_length=3,
    )
    adult_content = forms.BooleanField(label=_("I am an adult and agree to see adult content"), required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        subdivision = data.get("subdivision", "").strip().upper()
        if subdivision and data.get("country") and not is_subdivision(data["country"], subdivision):
            self.add_error("subdivision", _("This is not the code of a state or province of that country."))
        return data

    def __init__(self, *args: Any, email: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if email:
            self.fields["email"].initial = email
            self.fields["email"].widget.attrs["readonly"] = True


class MessageForm(forms.Form):
    subject = forms.CharField(label=_("Subject"), max_length=MOST_SUBJECT)
    text = forms.CharField(label=_("Message"), max_length=MOST_TEXT, widget=forms.Textarea(attrs={"rows": 8}))


class DisputeForm(forms.Form):
    """Why a rejection is wrong."""

    text = forms.CharField(
        label=_("Why should it be approved?"),
        help_text=_("Say what you did and why you should be paid. The people who run the marketplace will read it."),
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 6}),
    )
