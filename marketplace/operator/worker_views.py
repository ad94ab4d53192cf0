"""The operator's pages about workers: invitations, standing, place, passwords."""

from collections.abc import Mapping

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace.models import Account, Worker
from marketplace.operator.edge import page
from marketplace.operator.forms import (
    InvitationForm,
    MoveForm,
    PasswordForm,
    StatusForm,
)
from marketplace.qualifying import LOCALE, Place
from marketplace.selectors import qualifying, work
from marketplace.selectors import site as selectors
from marketplace.selectors.lookups import worker_of
from marketplace.services.accounts import (
    audit_note,
    invitation_make,
    password_link_make,
    worker_move,
    worker_set_status,
)
from marketplace.site.edge import asked_for, operator_page, page_of, see_other
from marketplace.site.words import value_said


@require_GET
@operator_page
def workers(request: HttpRequest, _operator: Account) -> HttpResponse:
    """All workers, and the invitations."""
    words = asked_for(request)
    context = {
        "page": page_of(request, selectors.workers_found(words)),
        "words": words,
        "invitations": selectors.invitations_all()[:50],
        "form": InvitationForm(),
    }
    return page(request, "workers.html", context)


@require_POST
@operator_page
def invite(request: HttpRequest, operator: Account) -> HttpResponse:
    """An invitation. Its address is in this answer, and nowhere else."""
    form = InvitationForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        with transaction.atomic():
            issued = invitation_make(**given)
            subject = f"invitation {issued.invitation.pk}"
            audit_note(actor=operator, action="invite worker", subject=subject, note=given["note"])
        address = f"{settings.MARKETPLACE_URL}{reverse('site:register')}?invitation={issued.token}"
        return page(request, "invitation.html", {"address": address, "invitation": issued.invitation})
    return page(request, "invite.html", {"form": form}, status=400)


@require_http_methods(["GET", "POST"])
@operator_page
def worker(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """One worker, and another standing."""
    found = worker_of(worker_id)
    form = StatusForm(request.POST or None, initial={"status": found.status})
    if form.is_bound and form.is_valid():
        status, reason = Worker.Status(form.cleaned_data["status"]), form.cleaned_data["reason"]
        with transaction.atomic():
            before = found.status
            worker_set_status(worker=found, status=status)
            audit_note(actor=operator, action=f"worker {status}", subject=found.worker_id, before=before, reason=reason)
        messages.success(request, _("The worker is %(status)s now.") % {"status": status.label})
        return see_other("operator:worker", worker_id)
    return worker_shown(request, found, {"form": form}, status=400 if form.is_bound else 200)


def worker_shown(request: HttpRequest, found: Worker, forms: Mapping[str, Form], *, status: int = 200) -> HttpResponse:
    """One worker: record, money, standing, place, password. Some of the forms may be filled in."""
    context = {
        "person": found,
        "record": qualifying.record_of(found),
        "earnings": work.earnings_of(found),
        "page": page_of(request, work.entries_of(found)),
        "form": StatusForm(initial={"status": found.status}),
        "move_form": MoveForm(initial={"country": found.country, "subdivision": found.subdivision}),
        "password_form": PasswordForm(),
    }
    return page(request, "worker.html", context | dict(forms), status=status)


@require_POST
@operator_page
def worker_country(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """Where a worker lives now."""
    found = worker_of(worker_id)
    form = MoveForm(request.POST)
    if not form.is_valid():
        return worker_shown(request, found, {"move_form": form}, status=400)
    given = form.cleaned_data
    before = value_said(LOCALE, Place(found.country, found.subdivision))
    with transaction.atomic():
        worker_move(worker=found, country=given["country"], subdivision=given["subdivision"])
        audit_note(
            actor=operator,
            action="move worker",
            subject=found.worker_id,
            before=before,
            after=value_said(LOCALE, Place(found.country, found.subdivision)),
            reason=given["reason"],
        )
    messages.success(request, _("The country is changed."))
    return see_other("operator:worker", worker_id)


@require_POST
@operator_page
def worker_password(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """A link to a new password. It is in this answer, and nowhere else."""
    found = worker_of(worker_id)
    form = PasswordForm(request.POST)
    if not form.is_valid():
        return worker_shown(request, found, {"password_form": form}, status=400)
    with transaction.atomic():
        link = password_link_make(account=found.account)
        audit_note(
            actor=operator,
            action="issue password link",
            subject=found.worker_id,
            reason=form.cleaned_data["reason"],
        )
    address = f"{settings.MARKETPLACE_URL}{reverse('site:password_new', args=link)}"
    hours = settings.PASSWORD_RESET_TIMEOUT // 3600
    return page(request, "password_link.html", {"person": found, "address": address, "hours": hours})
