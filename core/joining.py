"""The page on which somebody who is invited joins, with an account that is there or a new one."""

from collections.abc import Callable, Mapping
from typing import Any

from allauth.account.utils import perform_login
from django import forms
from django.contrib.auth.forms import SetPasswordMixin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _

from core.comparing import compared
from core.errors import Refused
from core.http import refuse_in
from core.models import User


class JoinForm(SetPasswordMixin, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A new account: a name, and an own password."""

    password1, password2 = SetPasswordMixin.create_password_fields()

    class Meta:
        model = User
        fields = ["username", "first_name", "last_name"]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.fields["username"].label = _("Name to log in with")
        self.fields["username"].widget.attrs["autocomplete"] = "username"

    def clean(self) -> dict[str, Any]:
        """The password twice the same, and for an address of nobody else's."""
        self.validate_passwords()
        if self.instance.email and User.objects.filter(email__iexact=compared(self.instance.email)).exists():
            raise forms.ValidationError(
                _("Somebody has an account with this address. Log in, then open the link again.")
            )
        return super().clean() or self.cleaned_data

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # Django's own hook, which its stubs leave out
        self.validate_password_for_user(self.instance, "password1")


def invited_page(
    request: HttpRequest, words: Mapping[str, Any], *, email: str, accept: Callable[[User], str]
) -> HttpResponse:
    """Let whoever is invited choose a name and a password, or, logged in, accept with one press.

    `words` is what core/entrance.html says. `accept` takes the user, who is not saved yet if new, and gives the address
    that is next.
    """
    if request.user.is_authenticated:
        if request.method == "GET":
            return render(request, "core/entrance.html", words)
        return HttpResponseRedirect(accept(request.user), status=303)
    new = User(email=email)
    form, status = JoinForm(instance=new), 200
    if request.method == "POST":
        form, status = JoinForm(request.POST, instance=new), 400
        if form.is_valid():
            user = form.save(commit=False)
            user.set_password(form.cleaned_data["password1"])
            try:
                following = accept(user)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                entered: HttpResponse = perform_login(request, user, redirect_url=following)
                return entered
    account = {"form": form, "button": _("Create my account"), "following": request.path}
    return render(request, "core/entrance.html", {**words, **account}, status=status)
