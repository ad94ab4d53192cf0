"""The pages of data protection: erasing workers, periods, release bundles."""

import json
import logging
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from kombu.exceptions import OperationalError

from core.audit.notes import entry_note
from core.audit.selectors import managed_labs
from core.errors import NotNow, NotYours, Refused
from core.forms import EditForm
from core.http import Request, edits, refuse_in, see_other
from core.lists import Listing
from core.roles import Right, labs_of, needs, require
from judgments import selectors as judgment_selectors
from judgments.downloads import file_response
from judgments.models import StoredFile
from pools.http import campaign_of
from pools.models import Campaign
from protection import erasing, releasing
from protection import jobs as protection_jobs
from protection.models import Retention, RetentionResult
from tasks.models import Worker
from tasks.names import name_of, with_name, worker_names

log = logging.getLogger(__name__)


class FindForm(forms.Form):
    who = forms.CharField(
        label=gettext_lazy("A worker's id at a platform, name on the panel, or pseudonym in an export"), max_length=100
    )


class WhyForm(forms.Form):
    """Why somebody is erased."""

    why = forms.CharField(
        label=gettext_lazy("Why (optional, kept in the audit: do not write a name)"), max_length=500, required=False
    )


class EraseWorkerForm(WhyForm):
    """The same, and whether what is owed is written off, where something is."""

    write_off = forms.BooleanField(label=gettext_lazy("The debt is written off: it is not paid any more"))

    def __init__(self, *arguments: Any, is_owed: bool) -> None:
        super().__init__(*arguments)
        if not is_owed:
            del self.fields["write_off"]


class RetentionForm(EditForm, forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs only
    """A lab's periods."""

    class Meta:
        model = Retention
        fields = ["worker_days", "audit_days"]
        labels = {
            "worker_days": gettext_lazy("Workers’ identities: days after their last work"),
            "audit_days": gettext_lazy("Entries of the audit: days"),
        }
        help_texts = {
            "worker_days": gettext_lazy(
                "Names, ids at platforms, links and reasons go; judgments stay under pseudonyms. Workers who are owed "
                "money, or take part in a campaign that is not closed, are kept until then. Leave empty to keep all."
            ),
            "audit_days": gettext_lazy(
                "Leave empty to keep them as long as the site does. If the site's period is shorter, it applies."
            ),
        }


@needs(Right.MANAGE)
@require_GET
def protection(request: Request) -> HttpResponse:
    """Finding a worker, and the labs with their periods."""
    labs = managed_labs(request.user)
    form = FindForm(request.GET or None)
    workers: list[Worker] | None = None
    if form.is_bound and form.is_valid():
        workers = list(erasing.workers_called(labs, form.cleaned_data["who"])[:50])
    listing = Listing(request, labs.select_related("retention", "retention_result").order_by("name"), key="labs")
    return render(request, "protection/protection.html", {"form": form, "found": workers, "listing": listing})


def _worker_of(request: Request, pk: int) -> Worker:
    worker = with_name(Worker.objects.filter(pk=pk, lab__in=labs_of(request.user))).select_related("lab").first()
    if worker is None:
        raise NotYours(_("There is no such worker, or the worker is another lab's."))
    require(request.user, worker.lab, Right.MANAGE)
    return worker


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
def protection_worker(request: Request, pk: int) -> HttpResponse:
    """What erasing a worker would do; POST does it."""
    worker, at, status = _worker_of(request, pk), timezone.now(), 200
    plan = erasing.erasure_plan(worker, at=at)
    form = EraseWorkerForm(request.POST or None, is_owed=bool(plan.owed))
    if request.method == "POST":
        status = 400
    if request.method == "POST" and form.is_valid():
        try:
            erasing.worker_erase(worker=worker, at=at, **form.cleaned_data)
        except Refused as error:
            status = refuse_in(form, error)
        else:
            messages.success(request, _("The worker is erased. Nothing here says any more who it was."))
            return see_other("protection:protection_worker", pk)
    context = {"worker": worker, "plan": plan, "form": form}
    return render(request, "protection/protection_worker.html", context, status=status)


@needs(Right.MANAGE)
@require_GET
def protection_worker_data(request: Request, pk: int) -> HttpResponse:
    """All that is stored of a worker, as one file for the worker."""
    worker = _worker_of(request, pk)
    text = json.dumps(erasing.personal_data(worker), cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
    entry_note(subject="personal-data", action="downloaded", key=worker.pk, lab_id=worker.lab_id, worker_id=worker.pk)
    response = HttpResponse(text + "\n", content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="worker-{name_of(worker)}.json"'
    return response


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
@edits
def protection_lab(request: Request, pk: int) -> HttpResponse:
    """A lab's periods."""
    lab = labs_of(request.user).filter(pk=pk).first()
    if lab is None:
        raise NotYours(_("There is no such lab, or it is not yours."))
    require(request.user, lab, Right.MANAGE)
    retention = Retention.objects.filter(lab=lab).first() or Retention(lab=lab)
    form = RetentionForm(request.POST or None, instance=retention)
    status = 200
    if request.method == "POST":
        if form.is_valid():
            erasing.retention_set(lab=lab, **form.cleaned_data)
            messages.success(request, _("The periods are stored. What is older goes within an hour."))
            return see_other("protection:protection")
        status = 400
    result = RetentionResult.objects.filter(lab=lab).first()
    rows = [] if result is None else result.kept
    names = worker_names((None, row["worker"]) for row in rows)
    rows = [row | {"name": names[None, row["worker"]]} for row in rows]
    context = {"lab": lab, "form": form, "result": result, "listing": Listing(request, rows, key="kept")}
    return render(request, "protection/protection_lab.html", context, status=status)


# --- a campaign


@needs(Right.EXPORT)
@require_GET
def protection_campaign(request: Request, pk: int) -> HttpResponse:
    """Erasing a campaign's workers, and its release bundle."""
    campaign = campaign_of(request, pk)
    context = {
        "campaign": campaign,
        "named": erasing.campaign_workers(campaign).count(),
        "bundle": judgment_selectors.stored_file(campaign, StoredFile.Kind.BUNDLE, releasing.NAME),
        "form": WhyForm(),
    }
    return render(request, "protection/protection_campaign.html", context)


@needs(Right.MANAGE)
@require_POST
def protection_campaign_erase(request: Request, pk: int) -> HttpResponse:
    """Have a campaign's workers erased, in the background."""
    campaign = campaign_of(request, pk)
    if campaign.state != Campaign.State.CLOSED:
        raise NotNow(_("The campaign is not closed: its workers are still needed."))
    why = request.POST.get("why", "")[:500]
    _ask(request, lambda: protection_jobs.erase_campaign.delay(pk, why), _("The workers are being erased."))
    return see_other("protection:protection_campaign", pk)


@needs(Right.EXPORT)
@require_POST
def bundle_make(request: Request, pk: int) -> HttpResponse:
    """Have the release bundle made, in the background."""
    campaign = campaign_of(request, pk)
    if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        raise NotNow(_("The campaign has not started: there is nothing to release."))
    message = _("The bundle is being made and searched. Load this page again in a moment.")
    _ask(request, lambda: protection_jobs.make_bundle.delay(pk), message)
    return see_other("protection:protection_campaign", pk)


def _ask(request: Request, ask: Callable[[], Any], message: str) -> None:
    try:
        ask()
    except OperationalError as error:
        log.warning("A job could not be asked for: %s", error)
        messages.warning(request, _("This cannot be asked for now. Nothing was changed; try again in a minute."))
    else:
        messages.success(request, message)


@needs(Right.EXPORT)
@require_GET
def bundle(request: Request, pk: int) -> HttpResponseBase:
    """The release bundle as it was last made."""
    campaign = campaign_of(request, pk)
    response = file_response(campaign, StoredFile.Kind.BUNDLE, releasing.NAME)
    releasing.bundle_note(campaign=campaign, action="downloaded")
    return response
