"""The pages on which labs are made and renamed."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core.errors import Refused
from core.forms import EditForm
from core.http import Request, edits, lab_of, refuse_in, see_other
from core.labs import lab_create, lab_rename
from core.models import Lab
from core.people_views import invitation_send
from core.roles import Right, needs


class NameForm(EditForm, forms.Form):
    """What a lab is called."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=Lab._meta.get_field("name").max_length)


class NewLabForm(NameForm):
    """A lab, and who is its first admin."""

    admin = forms.ChoiceField(
        label=gettext_lazy("First admin"),
        choices=[("me", gettext_lazy("I am")), ("invited", gettext_lazy("somebody whom I invite"))],
        initial="me",
        widget=forms.RadioSelect,
    )
    email = forms.EmailField(
        label=gettext_lazy("E-mail address of whom you invite"),
        required=False,
        max_length=254,
        help_text=gettext_lazy("Leave it empty if you hand over the link yourself."),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("admin") == "me" and data.get("email"):
            self.add_error("email", _("Choose that you invite somebody, or leave this empty."))
        return data


@needs(Right.SITE)
@require_http_methods(["GET", "POST"])
def lab_new(request: Request) -> HttpResponse:
    """Make a lab; for admins of the site."""
    form, status = NewLabForm(request.POST or None), 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            data = form.cleaned_data
            invited = data["email"] if data["admin"] == "invited" else None
            try:
                creation = lab_create(name=data["name"], by=request.user, invited=invited, at=timezone.now())
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The lab “%(lab)s” has been created.") % {"lab": creation.lab})
                if creation.invitation is not None:
                    invitation_send(request, creation.invitation)
                return see_other("core:people", creation.lab.pk)
    page = {
        "title": _("New lab"),
        "crumbs": [(_("People"), reverse("core:labs"))],
        "lead": _("A lab owns its collections, runs and campaigns. Its first admin invites the rest."),
        "button": _("Create the lab"),
        "back": (_("Cancel"), reverse("core:labs")),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
@edits
def rename(request: Request, pk: int) -> HttpResponse:
    """Give a lab another name."""
    lab = lab_of(request, pk)
    form, status = NameForm(request.POST or None, initial={"name": lab.name}), 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                lab_rename(lab=lab_of(request, pk), name=form.cleaned_data["name"])
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The lab has been renamed."))
                return see_other("core:people", pk)
    page = {
        "title": _("Rename"),
        "of": lab,
        "crumbs": [(_("People"), reverse("core:labs")), (lab, reverse("core:people", args=[pk]))],
        "heading": _("Rename “%(lab)s”") % {"lab": lab},
        "button": _("Rename"),
        "back": (_("Keep the name"), reverse("core:people", args=[pk])),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)
