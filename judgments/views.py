"""The researcher's pages about judgments: a campaign as it stands, its queries, the work behind it, the exports."""

from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods

from core.errors import NotYours, Refused
from core.http import Request, page_of, refuse_in, see_other
from core.money import dollars
from judgments import detail, exports
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from platforms.bills import campaign_bill
from platforms.models import Alarm
from platforms.publishing import publication_likely
from pools import selectors as pool_selectors
from pools.charts import size_histogram
from pools.forms import LABELS
from pools.models import Campaign
from pools.views import campaign_of
from tasks import campaign_alarms, links
from tasks import selectors as task_selectors
from tasks.models import Assignment, Worker

TYPES = {
    "txt": "text/plain; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "zip": "application/zip",
}
LATEST = 10


class ReasonForm(forms.Form):
    """Why somebody decides what they decide."""

    why = forms.CharField(label=gettext_lazy("Why"), max_length=2000, widget=forms.Textarea(attrs={"rows": 3}))


# --- the campaign


@login_required
@require_GET
def campaign(request: Request, pk: int) -> HttpResponse:
    """A campaign as it stands: what, how far, how good, how much, what next."""
    found = campaign_of(request, pk)
    draft = found.state == Campaign.State.DRAFT
    judging = judgment_selectors.judging_progress(found)
    sizes = pool_selectors.stored_sizes(found)
    context = {
        "campaign": found,
        "draft": draft,
        "runs": found.runs.order_by("name"),
        "sizes": sizes,
        "histogram": size_histogram(sizes),
        "judging": judging,
        "bill": campaign_bill(publication_likely(found), pairs=judging.pairs),
        "settings": _settings(found),
        "address": links.campaign_address(found),
        "tests": task_selectors.test_counts(found),
        "alarms": campaign_alarms.alarms_raised(found),
        "platform_alarms": Alarm.objects.filter(publication__campaign=found, settled_at=None).count(),
    }
    if draft:
        context["obstacles"] = task_selectors.launch_obstacles(found)
    else:
        context |= {
            "progress": task_selectors.progress(found),
            "outcome": detail.outcome(found),
            "files": exports.NAMES.items(),
            "decisions": judgment_selectors.decisions(found)[:LATEST],
        }
    return render(request, "judgments/campaign.html", context)


def _settings(found: Campaign) -> list[tuple[object, object]]:
    """Every setting with its label and its value in words."""
    return [(LABELS[name], _in_words(found, name)) for name in exports.SETTINGS]


def _in_words(found: Campaign, name: str) -> object:
    value = getattr(found, name)
    display: Callable[[], str] | None = getattr(found, f"get_{name}_display", None)
    if display is not None:
        return display()
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if name == "reward":
        return dollars(value)
    if name == "fee_rate" and value is None:
        return _("what the platform takes")
    if name in ("fee_rate", "redo_rate"):
        return _("%(percent)s %%") % {"percent": f"{float(value) * 100:g}"}
    return "–" if value in ("", None) else value


# --- queries


@login_required
@require_GET
def queries(request: Request, pk: int) -> HttpResponse:
    """A campaign's queries, with a search."""
    found = campaign_of(request, pk)
    search = request.GET.get("q", "").strip()
    page = page_of(request, judgment_selectors.pool_keys(found, search))
    context = {
        "campaign": found,
        "search": search,
        "page": page,
        "rows": judgment_selectors.pool_rows(page.object_list, found.overlap),
        "lang": found.collection.language,
    }
    return render(request, "judgments/queries.html", context)


# --- work


@login_required
@require_GET
def work(request: Request, pk: int) -> HttpResponse:
    """Who did what: assignments, and workers."""
    found = campaign_of(request, pk)
    verdict, state = request.GET.get("verdict", ""), request.GET.get("state", "")
    assignments = judgment_selectors.assignments_of(found)
    if verdict in Assignment.Verdict.values:
        assignments = assignments.filter(verdict=verdict)
    if state in Assignment.State.values:
        assignments = assignments.filter(state=state)
    worker_page = page_of(request, judgment_selectors.worker_keys(found), key="workers")
    context = {
        "campaign": found,
        "page": page_of(request, assignments),
        "worker_page": worker_page,
        "workers": judgment_selectors.worker_rows(found, list(worker_page)),
        "verdict": verdict,
        "state": state,
        "verdicts": Assignment.Verdict.choices,
        "states": Assignment.State.choices,
    }
    return render(request, "judgments/work.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def assignment(request: Request, pk: int, assignment_pk: int) -> HttpResponse:
    """One assignment, item by item; POST excludes its data, or uses them again."""
    found = campaign_of(request, pk)
    one = judgment_selectors.assignments_of(found).filter(pk=assignment_pk).first()
    if one is None:
        raise NotYours(_("This campaign has no such assignment."))
    form, status = ReasonForm(), 200
    if request.method == "POST":
        form = ReasonForm(request.POST)
        status = 400
        if form.is_valid():
            decision = {"assignment": one, "by": request.user, "at": timezone.now(), **form.cleaned_data}
            try:
                if request.POST.get("decision") == "restore":
                    judgment_services.assignment_restore(**decision)
                    messages.success(request, _("The data are used again, on the pairs that still need a judgment."))
                else:
                    judgment_services.assignment_exclude(**decision)
                    waiting = judgment_selectors.waiting_pairs(one)
                    told = ngettext(
                        "The data are excluded, and %(count)d pair waits for another worker.",
                        "The data are excluded, and %(count)d pairs wait for another worker.",
                        waiting,
                    )
                    full = _("The data are excluded. No pair waits: others have judged them all.")
                    messages.success(request, told % {"count": waiting} if waiting else full)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                return see_other("judgments:assignment", pk, assignment_pk)
    context = {
        "campaign": found,
        "assignment": one,
        "items": detail.item_details(one),
        "decisions": one.decisions.select_related("by").order_by("-id"),
        "form": form,
        "lang": found.collection.language,
    }
    return render(request, "judgments/assignment.html", context, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def worker(request: Request, pk: int, worker_pk: int) -> HttpResponse:
    """One worker in a campaign; POST bars them from the lab's further HITs, or welcomes them again."""
    found = campaign_of(request, pk)
    person = task_selectors.workers_of(found).filter(pk=worker_pk).first()
    if person is None:
        raise NotYours(_("This campaign has no such worker."))
    form, status = ReasonForm(), 200
    if request.method == "POST":
        form = ReasonForm(request.POST)
        status = 400
        if form.is_valid():
            _decide_worker(request, found, person, form.cleaned_data["why"])
            return see_other("judgments:worker", pk, worker_pk)
    rows = judgment_selectors.worker_rows(found, [person.pk])
    context = {
        "campaign": found,
        "worker": person,
        "row": rows[0] if rows else None,
        "assignments": judgment_selectors.assignments_of(found).filter(worker=person),
        "decisions": judgment_selectors.decisions_on(person),
        "form": form,
    }
    return render(request, "judgments/worker.html", context, status=status)


def _decide_worker(request: Request, found: Campaign, person: Worker, why: str) -> None:
    decision: dict[str, Any] = {
        "worker": person,
        "campaign": found,
        "why": why,
        "by": request.user,
        "at": timezone.now(),
    }
    if request.POST.get("decision") == "unbar":
        judgment_services.worker_unbar(**decision)
        messages.success(request, _("The worker may take HITs of this lab again."))
    else:
        judgment_services.worker_bar(**decision)
        messages.success(request, _("The worker gets no further HITs of this lab."))


# --- exports


@login_required
@require_GET
def export(request: Request, pk: int, name: str) -> FileResponse:
    """One export file, or all of them in an archive."""
    found = campaign_of(request, pk)
    if name != "all.zip" and name not in exports.NAMES:
        raise NotYours(_("There is no export of this name."))
    file = TemporaryFile()  # noqa: SIM115 - the response closes it
    if name == "all.zip":
        exports.export_zip_write(found, file)
    else:
        exports.export_write(found, name, file)
    file.seek(0)
    return FileResponse(
        file,
        as_attachment=True,
        filename=f"{slugify(found.name) or found.pk}-{name}",
        content_type=TYPES[name.rpartition(".")[2]],
    )
