"""Finding tasks, looking at them, doing them, and what became of each."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from marketplace.errors import NothingLeft
from marketplace.models import Assignment, Worker
from marketplace.pages import paginate, read_query, see_other, show_page
from marketplace.selectors import records
from marketplace.selectors import tasks as task_selectors
from marketplace.selectors.disputes import dispute_of
from marketplace.selectors.qualifications import qualification_names
from marketplace.sentences import write_requirement
from marketplace.services.assignments import assignment_accept, assignment_accept_next, assignment_return
from marketplace.services.messages import MOST_TEXT, dispute_open
from marketplace.templatetags.people import whole_pay
from marketplace.workers.forms import DisputeForm
from marketplace.workers.frames import make_frame
from marketplace.workers.pages import for_worker


def write_requirements(missing: list[Any]) -> list[str]:
    names = qualification_names(missing)
    return [
        write_requirement(requirement, names.get(requirement["QualificationTypeId"], _("a qualification")))
        for requirement in missing
    ]


@for_worker("GET")
def tasks(request: HttpRequest, worker: Worker) -> HttpResponse:
    """The tasks that the worker can find, the best paid first."""
    words, is_qualified_only = read_query(request), bool(request.GET.get("mine"))
    groups = task_selectors.hit_groups_findable(worker, words=words, qualified_only=is_qualified_only)
    page = paginate(request, groups, 25)
    rows = [{"group": group, "missing": write_requirements(group.missing)} for group in page.object_list]
    context = {
        "page": page,
        "rows": rows,
        "words": words,
        "mine": is_qualified_only,
        "held": task_selectors.assignments_held(worker),
    }
    return show_page(request, "workers/tasks.html", context)


@for_worker("GET")
def preview(request: HttpRequest, worker: Worker, hit_id: str) -> HttpResponse:
    """A preview of a task, before it is accepted: in its frame, without a worker."""
    assignment = task_selectors.assignments_held(worker).filter(hit__hit_id=hit_id).first()
    if assignment is not None:
        return see_other("workers:work", assignment.assignment_id)
    hit = task_selectors.hit_preview(worker, hit_id)
    frame = make_frame(hit.hit, hit.question, worker=worker)
    context = {"hit": hit.hit, "frame": frame, "missing": write_requirements(hit.missing)}
    context["open"] = task_selectors.hits_findable(worker).filter(pk=hit.hit.pk).exists()
    context["next"] = None if context["open"] else task_selectors.hit_next(worker, group_id=hit.hit.hit_type.group_id)
    return show_page(request, "workers/preview.html", context, frames=frame.origins)


@for_worker("GET")
def linked(request: HttpRequest, worker: Worker, kind_id: str = "") -> HttpResponse:
    """Where the links of Mechanical Turk lead: to the preview of a task of that kind, or to the one in progress.

    Those that accepted a task at once do not here: what changes something is never a GET.
    """
    hit_type = task_selectors.hit_type_linked(kind_id or read_query(request, "groupId"))
    assignment = task_selectors.assignments_held(worker).filter(hit__hit_type=hit_type).first()
    if assignment is not None:
        return see_other("workers:work", assignment.assignment_id)
    hit = task_selectors.hit_next(worker, group_id=hit_type.group_id)
    if hit is None:
        raise NothingLeft("There are no tasks of this kind left for you.")
    return see_other("workers:preview", hit.hit_id)


@for_worker("POST")
def accept(request: HttpRequest, worker: Worker, hit_id: str) -> HttpResponse:
    """Accept this task; if somebody else was faster, another of its kind."""
    try:
        assignment = assignment_accept(worker=worker, hit_id=hit_id)
    except NothingLeft:
        assignment = assignment_accept_next(worker=worker, group_id=task_selectors.group_of(hit_id))
        messages.info(request, _("Somebody else took that task. This is another one of the same kind."))
    return see_other("workers:work", assignment.assignment_id)


@for_worker("POST")
def accept_next(_request: HttpRequest, worker: Worker, group_id: str) -> HttpResponse:
    """Accept a task of this kind, whichever is free."""
    return see_other("workers:work", assignment_accept_next(worker=worker, group_id=group_id).assignment_id)


@for_worker("GET")
def work_page(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """A task in progress, in its frame; once it is over, what became of it."""
    assignment = task_selectors.assignment_of(worker, assignment_id)
    hit = assignment.hit
    if assignment.state != Assignment.State.ACCEPTED:
        context = {
            "assignment": assignment,
            "state": describe_state(assignment),
            "next": task_selectors.hit_next(worker, group_id=hit.hit_type.group_id),
            "bonuses": list(assignment.bonuses.order_by("pk")),
            "dispute": dispute_of(assignment),
            "form": DisputeForm(),
        }
        return show_page(request, "workers/outcome.html", context)
    frame = make_frame(hit, task_selectors.question_of(hit), worker=worker, assignment=assignment)
    context = {"assignment": assignment, "hit": hit, "frame": frame, "seconds": task_selectors.seconds_left(assignment)}
    return show_page(request, "workers/work.html", context, frames=frame.origins)


@for_worker("GET")
def work_state(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """The state of an assignment, for the script of its page."""
    assignment = task_selectors.assignment_of(worker, assignment_id)
    return JsonResponse({"state": assignment.state, "seconds": task_selectors.seconds_left(assignment)})


@for_worker("GET")
def work_check(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """The way on without JavaScript: to the outcome, or a page that says that nothing has been submitted yet."""
    assignment = task_selectors.assignment_of(worker, assignment_id)
    if assignment.state != Assignment.State.ACCEPTED:
        return see_other("workers:work", assignment_id)
    context = {
        "title": _("Not submitted yet"),
        "lead": _("The task has its own button to submit your work, usually at the end. Press that button first."),
        "back": (_("Back to the task"), reverse("workers:work", args=[assignment_id])),
        "also": (_("Ask the requester"), reverse("workers:contact", args=[assignment.hit.hit_id])),
    }
    return show_page(request, "form.html", context)


@for_worker("GET", "POST")
def work_return(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """Return a task, after a question."""
    assignment = task_selectors.assignment_of(worker, assignment_id)
    if request.method == "POST":
        assignment_return(worker=worker, assignment_id=assignment_id)
        messages.success(request, _("You returned the task. This does not count against you."))
        return see_other("workers:tasks")
    if assignment.state != Assignment.State.ACCEPTED:
        return see_other("workers:work", assignment_id)
    hit_type = assignment.hit.hit_type
    context = {
        "title": _("Return this task?"),
        "lead": f"{hit_type.title} · {whole_pay(assignment.reward, hit_type.bonus_up_to)}",
        "about": [
            _(
                "Another worker can then do it. Returning submits nothing, so what you have done so far is not paid "
                "here. If the task has its own way to stop early and be paid, use that instead. Returning a task never "
                "counts against you."
            )
        ],
        "button": _("Return it"),
        "back": (_("Keep it and continue"), reverse("workers:work", args=[assignment_id])),
    }
    return show_page(request, "form.html", context)


def describe_state(assignment: Assignment) -> str:
    """Name an assignment's state in a worker's words."""
    return {
        Assignment.State.ACCEPTED: _("In progress"),
        Assignment.State.SUBMITTED: _("Waiting for review"),
        Assignment.State.APPROVED: _("Approved"),
        Assignment.State.REJECTED: _("Rejected"),
        Assignment.State.RETURNED: _("Returned"),
        Assignment.State.ABANDONED: _("Time ran out"),
    }[Assignment.State(assignment.state)]


@for_worker("GET")
def history(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Tasks in progress, and all earlier ones."""
    page = paginate(request, task_selectors.assignments_past(worker))
    rows = [
        {"assignment": row, "state": describe_state(row), "bonus": sum(bonus.amount for bonus in row.bonuses.all())}
        for row in page.object_list
    ]
    record = records.record_of(worker)
    context = {"page": page, "rows": rows, "held": task_selectors.assignments_held(worker), "record": record}
    return show_page(request, "workers/history.html", context)


@for_worker("POST")
def dispute(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """Ask the operator to look at a rejection."""
    form = DisputeForm(request.POST)
    if form.is_valid():
        dispute_open(worker=worker, assignment_id=assignment_id, text=form.cleaned_data["text"])
        messages.success(request, _("Your request has been sent. The answer will appear on this page."))
    else:
        messages.error(
            request,
            _("Say why the work should be approved, in up to %(most)s characters.") % {"most": f"{MOST_TEXT:,}"},
        )
    return see_other("workers:work", assignment_id)
