"""What all of the researcher's pages share."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django import forms
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from core.errors import NotYours, Refused
from core.models import Lab, Membership, User
from core.roles import labs_of, require, right_of

View = TypeVar("View", bound=Callable[..., Any])


class Request(HttpRequest):
    """A request of somebody who is logged in."""

    user: User


def see_other(name: str, *arguments: object, fragment: str = "") -> HttpResponse:
    """303 to a page by its name: a reload there sends nothing again."""
    return HttpResponseRedirect(reverse(name, args=arguments) + (f"#{fragment}" if fragment else ""), status=303)


def focus_error(form: forms.BaseForm) -> None:
    """Have the browser begin at the first field of a form that something is wrong with."""
    for name in form.fields:
        if name in form.errors:
            form.fields[name].widget.attrs["autofocus"] = True
            return


def refuse_in(form: forms.BaseForm, error: Refused) -> int:
    """Show a refusal in the form, beside the field that it is about, and return the status to answer with."""
    form.add_error(error.field if error.field in form.fields else None, str(error))
    focus_error(form)
    return error.status


@contextmanager
def refusals_in(form: forms.BaseForm) -> Iterator[None]:
    """What is refused inside is shown in the form, and the page goes on: it is answered with `status_of` the form."""
    try:
        yield
    except Refused as error:
        form.refused_with = refuse_in(form, error)  # type: ignore[attr-defined]


def status_of(form: forms.BaseForm) -> int:
    """What a page is answered with for its form: 200 unless something is wrong with what was sent."""
    return getattr(form, "refused_with", 400) if form.errors else 200


@contextmanager
def edit_in_turn(request: HttpRequest) -> Iterator[None]:
    """One transaction, in which nobody else edits the same thing: what the first two parts of its address name."""
    thing = "/".join(request.path.split("/", 3)[1:3])
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"edit {thing}"])
        yield


def edits(view: View) -> View:
    """A view whose POST changes what its page shows (core.forms.EditForm): what is stored is read, compared and written
    in one transaction, and two people take turns.
    """

    @functools.wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        with edit_in_turn(request):
            return view(request, *args, **kwargs)

    return run  # type: ignore[return-value]


def lab_of(request: Request, pk: int) -> Lab:
    """The lab, if the user has the right that the address needs. Raises NotYours and NotAllowed."""
    lab = labs_of(request.user).filter(pk=pk).first()
    if lab is None:
        raise NotYours(_("There is no such lab, or you are not a member of it."))
    require(request.user, lab, right_of(request))
    return lab


def membership_of(request: Request, pk: int, membership_pk: int) -> Membership:
    """The membership, if the user has the right that the address needs. Raises NotYours and NotAllowed."""
    membership = lab_of(request, pk).memberships.select_related("lab", "user").filter(pk=membership_pk).first()
    if membership is None:
        raise NotYours(_("The lab has no such member."))
    return membership
