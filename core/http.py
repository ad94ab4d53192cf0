"""What all of the researcher's pages share."""

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from core.errors import Refused
from core.models import User


class Request(HttpRequest):
    """A request behind login_required."""

    user: User


def see_other(name: str, *arguments: object, fragment: str = "") -> HttpResponse:
    """303 to a page by its name: a reload there sends nothing again."""
    response = HttpResponseRedirect(reverse(name, args=arguments) + (f"#{fragment}" if fragment else ""))
    response.status_code = 303
    return response


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
