"""The operator's pages about workers: invitations, status, country, passwords."""

from collections.abc import Mapping

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marketplace.models import Account, AuditEvent, DailyRun, Worker
from marketplace.operator.forms import InvitationForm, MoveForm, PasswordForm, ReasonForm, StatusForm
from marketplace.operator.pages import as_code, for_operator, show_operator_form, show_operator_page
from marketplace.pages import paginate, read_query, see_other
from marketplace.requirements import LOCALE, Place
from marketplace.selectors.earnings import earnings_of, entries_of
from marketplace.selectors.lookups import worker_of
from marketplace.selectors.records import record_of
from marketplace.selectors.upkeep import daily_run
from marketplace.selectors.workers import invitations_all, workers_matching
from marketplace.sentences import write_value
from marketplace.services.accounts import (
    audit_note,
    invitation_make,
    password_link_make,
    worker_move,
    worker_set_status,
)
from marketplace.services.erasing import erasure_plan, worker_erase
from marketplace.templatetags.people import when

_STATUS_ACTIONS = {
    Worker.Status.ACTIVE: AuditEvent.Action.ACTIVATE_WORKER,
    Worker.Status.SUSPENDED: AuditEvent.Action.SUSPEND_WORKER,
    Worker.Status.CLOSED: AuditEvent.Action.CLOSE_WORKER,
}


@for_operator("GET")
def workers(request: HttpRequest, _operator: Account) -> HttpResponse:
    words = read_query(request)
    context = {
        "page": paginate(request, workers_matching(words)),
        "words": words,
        "invitations": paginate(request, invitations_all(), key="invitations"),
        "form": InvitationForm(),
        "forgotten": daily_run(DailyRun.Name.FORGET),
    }
    return show_operator_page(request, "workers.html", context)


@for_operator("POST")
def invite(request: HttpRequest, operator: Account) -> HttpResponse:
    """A new invitation. Its link is in this answer, and nowhere else."""
    form = InvitationForm(request.POST)
    if form.is_valid():
        facts = form.cleaned_data
        with transaction.atomic():
            issued = invitation_make(**facts)
            subject = f"invitation {issued.invitation.pk}"
            audit_note(actor=operator, action=AuditEvent.Action.INVITE_WORKER, subject=subject, note=facts["note"])
        address = f"{settings.MARKETPLACE_URL}{reverse('workers:register')}?invitation={issued.token}"
        context = {
            "title": _("Invitation"),
            "notice": _("This link is shown only once. It works once."),
            "shown": address,
            "facts": [
                (_("For"), issued.invitation.email or _("anyone")),
                (_("Valid until"), when(issued.invitation.expires_at)),
            ],
            "back": (_("Done"), reverse("operator:workers")),
        }
        return show_operator_form(request, context, status=201)
    refused = {"form": form, "title": _("Invite a worker"), "button": _("Create an invitation")}
    return show_operator_form(request, refused, status=400)


@for_operator("GET", "POST")
@transaction.atomic
def worker(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """One worker, and a form for another status."""
    person = worker_of(worker_id, lock=request.method == "POST")
    form = StatusForm(request.POST or None, initial={"status": person.status})
    if form.is_bound and form.is_valid():
        status, reason = Worker.Status(form.cleaned_data["status"]), form.cleaned_data["reason"]
        before = person.status
        worker_set_status(worker=person, status=status)
        audit_note(
            actor=operator, action=_STATUS_ACTIONS[status], subject=person.worker_id, before=before, reason=reason
        )
        messages.success(request, _("The worker is now %(status)s.") % {"status": status.label})
        return see_other("operator:worker", worker_id)
    return show_worker(request, person, {"form": form}, status=400 if form.is_bound else 200)


def show_worker(request: HttpRequest, person: Worker, forms: Mapping[str, Form], *, status: int = 200) -> HttpResponse:
    """Render one worker: record, money, status, country, password. Some of the forms may be filled in."""
    context = {
        "person": person,
        "record": record_of(person),
        "earnings": earnings_of(person),
        "page": paginate(request, entries_of(person)),
        "form": StatusForm(initial={"status": person.status}),
        "move_form": MoveForm(initial=_place_of(person)),
        "password_form": PasswordForm(),
    }
    return show_operator_page(request, "worker.html", context | dict(forms), status=status)


def _place_of(person: Worker) -> dict[str, str]:
    return {"country": person.country, "subdivision": person.subdivision}


@for_operator("POST")
@transaction.atomic
def worker_country(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """Where a worker lives now."""
    person = worker_of(worker_id, lock=True)
    form = MoveForm(request.POST, initial=_place_of(person))
    if not form.is_valid():
        return show_worker(request, person, {"move_form": form}, status=400)
    facts = form.cleaned_data
    before = write_value(LOCALE, Place(person.country, person.subdivision))
    worker_move(worker=person, country=facts["country"], subdivision=facts["subdivision"])
    audit_note(
        actor=operator,
        action=AuditEvent.Action.MOVE_WORKER,
        subject=person.worker_id,
        before=before,
        after=write_value(LOCALE, Place(person.country, person.subdivision)),
        reason=facts["reason"],
    )
    messages.success(request, _("The country has been changed."))
    return see_other("operator:worker", worker_id)


@for_operator("POST")
def worker_password(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """A link to a new password. It is in this answer, and nowhere else."""
    person = worker_of(worker_id)
    form = PasswordForm(request.POST)
    if not form.is_valid():
        return show_worker(request, person, {"password_form": form}, status=400)
    with transaction.atomic():
        link = password_link_make(account=person.account)
        audit_note(
            actor=operator,
            action=AuditEvent.Action.ISSUE_PASSWORD_LINK,
            subject=person.worker_id,
            reason=form.cleaned_data["reason"],
        )
    address = f"{settings.MARKETPLACE_URL}{reverse('workers:password_new', args=link)}"
    hours = settings.PASSWORD_RESET_TIMEOUT // 3600
    text = ngettext(
        "This link is shown only once. It works once, for %(hours)s hour, or until the worker logs in.",
        "This link is shown only once. It works once, for %(hours)s hours, or until the worker logs in.",
        hours,
    )
    context = {
        "title": _("Link to set a new password"),
        "notice": text % {"hours": hours},
        "shown": address,
        "facts": [(_("For"), as_code(person.worker_id))],
        "back": (_("Done"), reverse("operator:worker", args=[person.worker_id])),
    }
    return show_operator_form(request, context, status=201)


@for_operator("GET", "POST")
def worker_erase_page(request: HttpRequest, operator: Account, worker_id: str) -> HttpResponse:
    """What erasing a worker would do; a form does it."""
    person = worker_of(worker_id)
    form = ReasonForm(request.POST or None)
    if form.is_bound and form.is_valid():
        worker_erase(worker=person, actor=operator, reason=form.cleaned_data["reason"])
        messages.success(request, _("The worker is erased. Nothing here says any more who it was."))
        return see_other("operator:worker", worker_id)
    context = {"person": person, "plan": erasure_plan(person), "form": form}
    return show_operator_page(request, "worker_erase.html", context, status=400 if form.is_bound else 200)
