"""The pages about the API: somebody's tokens, and what the API can do."""

import json
from functools import cache
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from drf_spectacular.generators import SchemaGenerator

from api import tokens
from api.models import Scope
from core.errors import NotYours
from core.http import Request, refusals_in, see_other, status_of
from core.lists import Listing
from core.roles import Right, needs

TOKEN_SORTS = {"name": "name", "expires": "expires_at", "used": "last_used_at"}


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("What it is for, such as “notebook”.")
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=[
            (Scope.READ, gettext_lazy("read and download")),
            (Scope.WRITE, gettext_lazy("add and change collections, runs and campaigns")),
            (Scope.DECIDE, gettext_lazy("decide about work and workers")),
            (Scope.SPEND, gettext_lazy("set terms, publish and pay")),
            (Scope.MANAGE, gettext_lazy("manage people, webhooks and data protection")),
        ],
        initial=[Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("At most what your role in each lab lets you do yourself."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Valid for, in days"), min_value=1, max_value=tokens.LONGEST_DAYS, initial=90
    )


@needs(Right.SIGNED_IN)
@require_http_methods(["GET", "POST"])
@sensitive_variables("text")
def tokens_page(request: Request) -> HttpResponse:
    """Somebody's tokens. POST makes one, and shows it this once."""
    form, text, at = TokenForm(request.POST or None), "", timezone.now()
    if form.is_valid():
        with refusals_in(form):
            _token, text = tokens.token_create(user=request.user, at=at, **form.cleaned_data)
            form = TokenForm()
    listing = Listing(request, tokens.tokens_of(request.user), sorts=TOKEN_SORTS)
    context = {"form": form, "text": text, "now": at, "listing": listing}
    return render(request, "api/tokens.html", context, status=201 if text else status_of(form))


@needs(Right.SIGNED_IN)
@require_POST
def token_revoke(request: Request, pk: int) -> HttpResponse:
    """Let a token open nothing any more."""
    token = tokens.tokens_of(request.user).filter(pk=pk).first()
    if token is None:
        raise NotYours(_("You have no such token."))
    tokens.token_revoke(token=token, at=timezone.now())
    messages.success(request, _("The token “%(name)s” has been revoked.") % {"name": token.name})
    return see_other("api:tokens")


@cache
def described() -> dict[str, Any]:
    """The OpenAPI description of the API, made once in a process: that takes a second or two."""
    with translation.override("en"):
        content: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return content


@needs(Right.PUBLIC)
@require_GET
def description(request: HttpRequest) -> HttpResponse:
    """The OpenAPI description, as a file. It holds nothing that is secret."""
    return HttpResponse(_description_file(), content_type="application/json")


@cache
def _description_file() -> bytes:
    return json.dumps(described(), ensure_ascii=False).encode()


@needs(Right.SIGNED_IN)
@require_GET
def reference(request: Request) -> HttpResponse:
    """What the API can do, for people."""
    return render(request, "api/reference.html", {"groups": _groups()})


@cache
def _groups() -> list[dict[str, Any]]:
    """The operations by their tags, in the order of the description."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for address, verbs in described()["paths"].items():
        for verb, operation in verbs.items():
            about, _end, needs = operation["description"].rpartition("\n\n")
            entry = {
                "id": operation["operationId"],
                "verb": verb.upper(),
                "address": address,
                "about": about,
                "needs": needs,
                "parameters": [
                    parameter for parameter in operation.get("parameters", []) if parameter["in"] == "query"
                ],
                "takes": _example(operation.get("requestBody", {})),
                "answers": next(
                    (_example(answer) for code, answer in operation["responses"].items() if code.startswith("2")), ""
                ),
            }
            groups.setdefault(operation["tags"][0], []).append(entry)
    return [{"name": name, "operations": operations} for name, operations in groups.items()]


def _example(body: dict[str, Any]) -> str:
    for content in body.get("content", {}).values():
        for example in content.get("examples", {}).values():
            return json.dumps(example["value"], indent=2, ensure_ascii=False)
    return ""
