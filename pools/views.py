"""The researcher's pages about collections, runs and campaigns, and the log-in."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from kombu.exceptions import OperationalError

from core.errors import NotYours, Refused
from core.http import Request, edits, refuse_in, see_other
from core.lists import Listing, render_lists
from core.models import Lab
from core.progress import progress_of
from core.roles import Right, labs_of, needs, right_of
from evaluation.files.metadata import flatten
from evaluation.files.runs import run_name
from pools import background
from pools import jobs as pool_jobs
from pools import lists as pool_lists
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.census import census_sentences
from pools.forms import (
    MEGABYTE,
    OFFERED,
    AnswersForm,
    CampaignForm,
    OutsideScoresForm,
    PreferencesForm,
    RenameForm,
    RunModelsForm,
    RunUploadForm,
    too_large,
)
from pools.models import Campaign, CampaignTemplate, Collection, Job, Run
from pools.templating import default_template

REFRESH = 2  # seconds between two looks of the page
VERSIONS = 10  # of the preference qrels, on a collection's page
JOBS = 10  # in progress, or without success, on a page
FORM_BYTES = MEGABYTE  # what an upload's other fields may add to its file
log = logging.getLogger(__name__)


# --- what all of the researcher's pages share


def campaign_of(request: Request, pk: int, right: Right | None = None) -> Campaign:
    """The campaign, if the user has the right that the address needs, or another. Raises NotYours and NotAllowed."""
    return pool_selectors.campaign_for(request.user, pk, right or right_of(request))


def collection_of(request: Request, pk: str | int) -> Collection:
    """The collection, if the user has the right that the address needs. Raises NotYours and NotAllowed."""
    return pool_selectors.collection_for(request.user, pk, right_of(request))


def run_of(request: Request, pk: int) -> Run:
    """The run, if the user has the right that the address needs. Raises NotYours and NotAllowed."""
    return pool_selectors.run_for(request.user, pk, right_of(request))


# --- collections


@needs(Right.SIGNED_IN)
@require_GET
def collections(request: Request) -> HttpResponseBase:
    """Every collection of the user's labs."""
    context = _collections_context(request) | {
        "labs": first_labs(request),
        "jobs": _jobs_shown(request, kind=Job.Kind.COLLECTION),
    }
    return render_lists(request, "pools/collections.html", context)


def _collections_context(request: Request, right: Right = Right.SEE) -> dict[str, Any]:
    collections = pool_selectors.collections_of(request.user, right)
    listing = Listing(
        request,
        collections.select_related("lab"),
        sorts=pool_lists.COLLECTION_SORTS,
        narrow=pool_lists.CollectionFilter,
        columns=pool_lists.COLLECTION_COLUMNS,
        lines=pool_selectors.collection_rows,
    )
    return {"listing": listing, "rows": pool_selectors.collection_rows(listing.page.object_list)}


def _choose_collection(request: Request, heading: str, target: str, template: str = "") -> HttpResponse:
    """The collections, each of which leads on to a page that needs one, and may be opened for it."""
    context = _collections_context(request, right_of(request)) | {
        "heading": heading,
        "target": target,
        "template": template if template.isdecimal() else "",
    }
    return render(request, "pools/choose_collection.html", context)


def first_labs(request: Request) -> list[Lab]:
    """A page asks no more than whether there are labs, and several."""
    return list(labs_of(request.user).order_by("name")[:2])


@needs(Right.SEE)
@require_GET
def collection(request: Request, pk: int) -> HttpResponseBase:
    """One collection: what it holds, its runs and its campaigns."""
    collection = collection_of(request, pk)
    context = {
        "collection": collection,
        "size": pool_selectors.collection_size(collection),
        "outside": pool_selectors.outside_scores_of(collection),
        "runs": Listing(
            request,
            collection.runs.select_related("collection").order_by("name"),
            sorts=pool_lists.RUN_SORTS,
            narrow=pool_lists.CollectionRunFilter,
            key="runs",
            columns=pool_lists.RUN_COLUMNS,
        ),
        "campaigns": _campaigns(request, collection.campaigns.order_by("-id")),
        "imports": Listing(
            request,
            pool_selectors.preference_imports_of(collection),
            sorts=pool_lists.PREFERENCE_IMPORT_SORTS,
            narrow=pool_lists.PreferenceImportFilter,
            key="imports",
            columns=pool_lists.PREFERENCE_IMPORT_COLUMNS,
        ),
        "versions": Listing(
            request,
            collection.versions.select_related("campaign", "made_by").order_by("-number"),
            sorts=pool_lists.VERSION_SORTS,
            key="versions",
            columns=pool_lists.VERSION_COLUMNS,
            size=VERSIONS,
        ),
        "jobs": _jobs_shown(request, collection=collection),
    }
    return render_lists(request, "pools/collection.html", context)


def _campaigns(request: Request, campaigns: QuerySet[Campaign]) -> Listing:
    """The campaigns of a collection, or of a run."""
    return _campaign_listing(request, campaigns.select_related("collection", "lab"), key="campaigns")


def _campaign_listing(request: Request, campaigns: QuerySet[Campaign], key: str = "") -> Listing:
    return Listing(
        request,
        campaigns,
        sorts=pool_lists.CAMPAIGN_SORTS,
        narrow=pool_lists.CampaignFilter,
        key=key,
        columns=pool_lists.CAMPAIGN_COLUMNS,
        lines=pool_selectors.campaign_rows,
    )


@csrf_exempt  # as of run_upload
@needs(Right.SEE, changing=Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def outside_scores(request: Request, pk: int) -> HttpResponseBase:
    """How the collection's runs score elsewhere; a file replaces what is stored."""
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, "pools/outside_scores.html", OutsideScoresForm(None), collection=collection)
    checked: HttpResponseBase = _outside_scores_checked(request, collection)
    return checked


@csrf_protect
def _outside_scores_checked(request: Request, collection: Collection) -> HttpResponseBase:
    stored = pool_selectors.outside_scores_of(collection)
    status = 200
    form = OutsideScoresForm(initial={"source": stored.source if stored else ""})
    if request.method == "POST":
        form, status = OutsideScoresForm(request.POST, request.FILES), 400
        if form.is_valid():
            file = form.cleaned_data["file"]
            try:
                outcome = pool_services.outside_scores_set(
                    collection=collection,
                    source=form.cleaned_data["source"],
                    file=file,
                    filename=file.name,
                    by=request.user,
                    at=timezone.now(),
                )
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The outside scores have been stored. Results are computed again."))
                if outcome.foreign:
                    messages.warning(request, _foreign_in_words(outcome.foreign))
                return see_other("pools:outside_scores", collection.pk)
    context: dict[str, Any] = {"collection": collection, "form": form, "stored": stored}
    if stored is not None:
        scores = sorted(stored.scores.items(), key=lambda entry: (-entry[1][0], entry[0]))
        listing = Listing(request, scores, columns=pool_lists.SCORE_COLUMNS)
        names = [run for run, _score in listing.page]
        keys = dict(collection.runs.filter(name__in=names).values_list("name", "id"))
        context |= {
            "listing": listing,
            "rows": [(run, score, rank, keys.get(run)) for run, (score, rank) in listing.page],
        }
    return render_lists(request, "pools/outside_scores.html", context, status=status)


def _foreign_in_words(count: int) -> str:
    return ngettext(
        "%(count)s run of the file is not in the collection. Its score counts once the run is imported.",
        "%(count)s runs of the file are not in the collection. Their scores count once the runs are imported.",
        count,
    ) % {"count": f"{count:,}"}


@needs(Right.MAINTAIN)
@require_POST
def outside_scores_delete(request: Request, pk: int) -> HttpResponse:
    pool_services.outside_scores_delete(collection=collection_of(request, pk))
    messages.success(request, _("The outside scores have been deleted. Results are computed again."))
    return see_other("pools:collection", pk)


# --- preferences that were made elsewhere


class ImportPage(NamedTuple):
    """A page on which a file is imported into a collection. `ask` takes the form's values and makes a job of `kind`."""

    kind: Job.Kind
    template: str
    form: type[AnswersForm]
    ask: Callable[..., Job]


def import_file(request: Request, pk: int, page: ImportPage) -> HttpResponse:
    """Show a page of an import, or ask for it. A file that is too large is refused before it is read: the view is
    exempt from the check of the form's origin, which would read all of it, and that is checked here afterwards.
    """
    collection = collection_of(request, pk)
    if is_too_large(request):
        return refuse_too_large(request, page.template, page.form(None), collection=collection)
    checked: HttpResponse = _import_checked(request, collection, page)
    return checked


@csrf_protect
def _import_checked(request: Request, collection: Collection, page: ImportPage) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, page.kind)
        initial = None if before is None else {"name": before.name, **before.request}
        return render(request, page.template, {"form": page.form(initial=initial), "collection": collection})
    form = page.form(request.POST, request.FILES)
    status = 400
    if form.is_valid():
        fields = form.cleaned_data
        fields["name"] = fields["name"] or run_name(fields["file"].name)
        try:
            job = page.ask(collection=collection, by=request.user, at=timezone.now(), **fields)
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return begin(request, job)
    return render(request, page.template, {"form": form, "collection": collection}, status=status)


PREFERENCES = ImportPage(
    Job.Kind.PREFERENCES, "pools/preferences_import.html", PreferencesForm, background.preferences_ask
)


@csrf_exempt  # import_file checks it
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def preferences_import(request: Request, pk: int) -> HttpResponse:
    """Upload a file of preferences."""
    return import_file(request, pk, PREFERENCES)


@needs(Right.DESIGN)
@require_POST
def preferences_delete(request: Request, pk: int, import_pk: int) -> HttpResponse:
    """Delete imported preferences that nothing has used."""
    imported = collection_of(request, pk).preference_imports.filter(pk=import_pk).first()
    if imported is None:
        raise NotYours(_("This collection has no such imported preferences."))
    pool_services.preference_import_delete(preference_import=imported)
    messages.success(request, _("The imported preferences “%(name)s” have been deleted.") % {"name": imported.name})
    return see_other("pools:collection", pk)


# --- runs


@needs(Right.SIGNED_IN)
@require_GET
def runs(request: Request) -> HttpResponseBase:
    """Every run of the user's labs."""
    runs = pool_selectors.runs_of(request.user)
    context = {
        "listing": Listing(
            request,
            runs,
            sorts=pool_lists.RUN_SORTS,
            narrow=pool_lists.RunFilter,
            columns=pool_lists.RUN_COLUMNS,
        ),
        "jobs": _jobs_shown(request, kind=Job.Kind.RUN),
    }
    return render_lists(request, "pools/runs.html", context)


@needs(Right.SEE)
@require_GET
def run(request: Request, pk: int) -> HttpResponseBase:
    run = run_of(request, pk)
    context = {
        "run": run,
        "sentences": census_sentences(run.census),
        "metadata": list(flatten(run.metadata)),
        "campaigns": _campaigns(request, run.campaigns.order_by("-id")),
        "file_name": str(run.original.name).rpartition("/")[2],
        "file_size": pool_selectors.file_size(run),
    }
    return render_lists(request, "pools/run.html", context)


@needs(Right.MAINTAIN)
@require_POST
def run_delete(request: Request, pk: int) -> HttpResponse:
    """Delete a run that no campaign uses."""
    run = run_of(request, pk)
    pool_services.run_delete(run=run)
    messages.success(request, _("The run “%(name)s” has been deleted.") % {"name": run.name})
    return see_other("pools:runs")


@needs(Right.MAINTAIN)
@require_POST
def run_release(request: Request, pk: int) -> HttpResponse:
    """Let exports have what only this run brought, or hold it back."""
    run = run_of(request, pk)
    pool_services.run_release(run=run, is_released=request.POST.get("is_released") == "yes")
    if run.is_released:
        text = _("Exports are made again, with what only “%(name)s” brought.")
    else:
        text = _("Exports are made again, without what only “%(name)s” brought.")
    messages.success(request, text % {"name": run.name})
    return see_other("pools:run", pk)


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
@edits
def run_models(request: Request, pk: int) -> HttpResponse:
    """Say which models a run uses."""
    run = run_of(request, pk)
    form = RunModelsForm(request.POST or None, initial={"models_used": run.models_used})
    if form.is_valid():
        pool_services.run_describe(run=run, at=timezone.now(), **form.cleaned_data)
        messages.success(request, _("Saved. Machine judges are compared again, within a minute or two."))
        return see_other("pools:run", pk)
    return render(request, "pools/run_models.html", {"run": run, "form": form}, status=400 if form.is_bound else 200)


@csrf_exempt  # the check would read the whole upload first; _run_upload_checked has it
@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def run_upload(request: Request) -> HttpResponse:
    """Upload a run file. One that is too large is refused before it is read."""
    if is_too_large(request):
        return refuse_too_large(request, "pools/run_upload.html", RunUploadForm(None, user=request.user))
    checked: HttpResponse = _run_upload_checked(request)
    return checked


@csrf_protect
def _run_upload_checked(request: Request) -> HttpResponse:
    if request.method == "GET":
        before = job_asked_again(request, Job.Kind.RUN)
        initial: dict[str, object] = {"collection": request.GET.get("collection")}
        if before is not None:
            initial = {"collection": before.collection_id, "name": before.name, **before.request}
        form = RunUploadForm(user=request.user, initial=initial)
        if form.must_choose:
            return _choose_collection(request, _("Upload a run: to which collection?"), "pools:run_upload")
        return render(request, "pools/run_upload.html", {"form": form})
    form = RunUploadForm(request.POST, request.FILES, user=request.user)
    status = 400
    if form.is_valid():
        data = form.cleaned_data
        try:
            job = background.run_ask(
                collection=data["collection"],
                file=data["file"],
                name=data["name"] or run_name(data["file"].name),
                team=data["team"],
                notes=data["notes"],
                models_used=data["models_used"],
                without_query=data["without_query"],
                by=request.user,
                at=timezone.now(),
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return begin(request, job)
    return render(request, "pools/run_upload.html", {"form": form}, status=status)


def is_too_large(request: Request, megabytes: int | None = None) -> bool:
    length = request.META.get("CONTENT_LENGTH") or "0"
    most = settings.UPLOAD_MEGABYTES if megabytes is None else megabytes
    return request.method == "POST" and int(length) > most * MEGABYTE + FORM_BYTES


def refuse_too_large(request: Request, template: str, form: Form | None, **context: object) -> HttpResponse:
    response = render(request, template, {"form": form, "refused": too_large(), **context}, status=413)
    response["Connection"] = "close"
    return response


# --- jobs


@needs(Right.SEE)
@require_GET
def job(request: Request, pk: int) -> HttpResponse:
    """How far something is that somebody asked for, and what came of it. `?then` leads on once it is done."""
    job = job_of(request, pk)
    if job.state == Job.State.RECEIVING and job.kind == Job.Kind.COLLECTION and not job.is_fetching:
        return see_other("pools:files", job.pk)
    if job.state == Job.State.DONE and "then" in request.GET:
        return _lead_on(request, job)
    context = {
        "job": job,
        "progress": progress_of(background.progress_key(job)),
        "refresh": REFRESH if job.is_open else 0,
        "uploads": job.uploads.select_related("run").order_by("is_stored", "name", "id"),
        "added": added_in_words(job.counts),
    }
    return render(request, "pools/job.html", context)


@needs(Right.MAINTAIN)
@require_POST
def job_cancel(request: Request, pk: int) -> HttpResponse:
    """Cancel a job that has not ended."""
    job = job_of(request, pk, right_of(request))
    background.job_cancel(job=job, by=request.user)
    return see_other("pools:job", job.pk)


def _jobs_shown(request: Request, **which: object) -> Listing:
    jobs = pool_selectors.jobs_shown(pool_selectors.jobs_of(request.user).filter(**which), timezone.now())
    return Listing(request, jobs, key="jobs", size=JOBS, columns=pool_lists.JOB_COLUMNS)


def job_of(request: Request, pk: int, right: Right = Right.SEE) -> Job:
    """The job, if the user has the right. Raises NotYours and NotAllowed."""
    return pool_selectors.job_for(request.user, pk, right)  # SEE also where one that was asked for leads on


def job_asked_again(request: Request, kind: str) -> Job | None:
    """The job whose form is shown again with what was entered (`?again=`)."""
    key = request.GET.get("again", "")
    is_key = key.isdecimal() and len(key) < 19  # what a key can be
    return pool_selectors.jobs_of(request.user).filter(pk=key, kind=kind).first() if is_key else None


def begin(request: Request, job: Job) -> HttpResponse:
    """Do a small job at once, and have any other done in the background."""
    if background.is_small(job):
        background.job_do(job_id=job.pk)
        job = job_of(request, job.pk)
    if job.state == Job.State.DONE:
        return _lead_on(request, job)
    if job.is_open:
        try:
            pool_jobs.work.delay(job.pk)
        except OperationalError as error:
            log.warning("Job %s waits for the next tick: %s", job.pk, error)
    response = see_other("pools:job", job.pk)
    response["Location"] += "?then"
    return response


def _lead_on(request: Request, done: Job) -> HttpResponse:
    """To what came of a job, and say that it is there."""
    name = {"name": done.name}
    if done.kind == Job.Kind.RUN and done.run_id:
        messages.success(request, _("The run “%(name)s” has been checked and stored.") % name)
        return see_other("pools:run", done.run_id)
    if done.kind == Job.Kind.CAMPAIGN and done.campaign_id and "draft" in done.request:
        messages.success(request, _("The draft has been changed. Its pools and its bill follow from the new settings."))
        return see_other("judgments:campaign", done.campaign_id)
    if done.kind == Job.Kind.JUDGMENTS and done.campaign_id:
        messages.success(request, _("The judgments have been imported. The results follow in a moment."))
        return see_other("judgments:campaign", done.campaign_id)
    if done.kind == Job.Kind.CAMPAIGN and done.campaign_id:
        messages.success(
            request, _("The campaign has been created as a draft. Check its pools and its bill, then start it.")
        )
        return see_other("judgments:campaign", done.campaign_id)
    if done.kind == Job.Kind.COLLECTION and done.collection_id:
        if done.counts.get("refused"):
            return see_other("pools:job", done.pk)
        messages.success(request, added_in_words(done.counts))
        return see_other("pools:collection", done.collection_id)
    if done.kind == Job.Kind.MACHINE and done.collection_id:
        messages.success(request, _("The answers of “%(name)s” have been imported.") % name)
        return see_other("machines:machines", done.collection_id)
    if done.kind == Job.Kind.PREFERENCES and done.collection_id:
        judgments, pairs = done.counts["judgments"], done.counts["pairs"]
        names = {
            "judgments": ngettext("%(n)s judgment", "%(n)s judgments", judgments) % {"n": f"{judgments:,}"},
            "pairs": ngettext("%(n)s pair", "%(n)s pairs", pairs) % {"n": f"{pairs:,}"},
        }
        messages.success(request, _("Imported: %(judgments)s on %(pairs)s.") % names)
        return see_other("pools:collection", done.collection_id)
    return see_other("pools:job", done.pk)


def added_in_words(counts: Mapping[str, int]) -> str:
    """What files added to a collection."""
    parts = [
        ngettext("%(count)s query", "%(count)s queries", counts.get("queries", 0)),
        ngettext("%(count)s qrel", "%(count)s qrels", counts.get("qrels", 0)),
        ngettext("%(count)s run", "%(count)s runs", counts.get("runs", 0)),
        ngettext("%(count)s passage", "%(count)s passages", counts.get("passages", 0)),
    ]
    numbers = [counts.get(name, 0) for name in ("queries", "qrels", "runs", "passages")]
    words = [part % {"count": f"{number:,}"} for part, number in zip(parts, numbers, strict=True) if number]
    return _("Added: %(what)s.") % {"what": ", ".join(words) or _("nothing new")}


# --- campaigns


@needs(Right.SIGNED_IN)
@require_GET
def campaigns(request: Request) -> HttpResponseBase:
    """Every campaign of the user's labs."""
    labs = first_labs(request)
    if not labs and not request.user.is_staff:
        return see_other("leaderboards:boards")  # whoever is in no lab takes part in leaderboards
    campaigns = pool_selectors.campaigns_of(request.user)
    listing = _campaign_listing(request, campaigns)
    context = {
        "listing": listing,
        "rows": pool_selectors.campaign_rows(listing.page.object_list),
        "labs": labs,
        "jobs": _jobs_shown(request, kind=Job.Kind.CAMPAIGN),
    }
    return render_lists(request, "pools/campaigns.html", context)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def campaign_new(request: Request) -> HttpResponse:
    """A new campaign: first its collection, then its runs and settings."""
    chosen = request.GET.get("collection")
    if chosen is None:
        carried = request.GET.get("template", "")
        return _choose_collection(
            request, _("New campaign: which collection?"), "pools:campaign_new", template=carried[:18]
        )
    collection = collection_of(request, chosen)
    if request.method == "GET":
        form, template = _campaign_form(request, collection)
        return render(request, "pools/campaign_new.html", _campaign_context(form, collection, template))
    form, template = CampaignForm(request.POST, collection=collection), _template_of(collection, request.POST)
    if form.is_valid():
        job = background.campaign_ask(
            collection=collection,
            runs=form.cleaned_data["runs"],
            name=form.cleaned_data["name"],
            settings=form.settings(),
            by=request.user,
            at=timezone.now(),
            template=template,
        )
        return begin(request, job)
    return render(request, "pools/campaign_new.html", _campaign_context(form, collection, template), status=400)


def _campaign_form(request: Request, collection: Collection) -> tuple[CampaignForm, CampaignTemplate | None]:
    """The form of a new campaign, and the template that it was filled in from: what was asked for before, in vain; a
    copy; what a template has, the lab's default if none was chosen; or the usual settings.
    """
    before, copied = job_asked_again(request, Job.Kind.CAMPAIGN), request.GET.get("copy", "")
    if before is not None and before.collection_id == collection.pk:
        entered = background.settings_of(before)
        form = CampaignForm(collection=collection, instance=entered, initial={"runs": before.request["runs"]})
        return form, _template_of(collection, before.request)
    if copied.isdecimal():
        return CampaignForm.copying(campaign_of(request, int(copied[:18]), Right.SEE), collection), None
    template = _template_of(collection, request.GET)
    if template is None and "template" not in request.GET:
        template = default_template(collection.lab)
    if template is None:
        return CampaignForm(collection=collection), None
    return CampaignForm.beginning(template, collection), template


def _template_of(collection: Collection, fields: Mapping[str, Any]) -> CampaignTemplate | None:
    """The template of the collection's lab that is named by its key, if any."""
    key = str(fields.get("template", ""))
    is_key = key.isdecimal() and len(key) < 19  # what a key can be
    return collection.lab.templates.filter(pk=int(key)).first() if is_key else None


def _campaign_context(
    form: CampaignForm, collection: Collection, template: CampaignTemplate | None
) -> dict[str, object]:
    offered = list(collection.lab.templates.order_by("name")[:OFFERED])
    if template is not None and template not in offered:
        offered.append(template)
    return {"form": form, "collection": collection, "template": template, "templates": offered}


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def campaign_rename(request: Request, pk: int) -> HttpResponse:
    """Give a campaign another name."""
    campaign = campaign_of(request, pk)
    form, status = RenameForm(request.POST or None, initial={"name": campaign.name}), 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                pool_services.campaign_rename(campaign=campaign_of(request, pk), name=form.cleaned_data["name"])
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The campaign has been renamed."))
                return see_other("judgments:campaign", pk)
    return render(request, "pools/campaign_rename.html", {"campaign": campaign, "form": form}, status=status)


@needs(Right.DESIGN)
@require_POST
def campaign_archive(request: Request, pk: int) -> HttpResponse:
    """Leave a campaign out of lists."""
    pool_services.campaign_archive(campaign=campaign_of(request, pk), at=timezone.now())
    messages.success(request, _("The campaign has been archived. To see it in a list, choose the archive there."))
    return see_other("judgments:campaign", pk)


@needs(Right.DESIGN)
@require_POST
def campaign_unarchive(request: Request, pk: int) -> HttpResponse:
    """List a campaign again."""
    pool_services.campaign_unarchive(campaign=campaign_of(request, pk))
    messages.success(request, _("The campaign is listed again."))
    return see_other("judgments:campaign", pk)


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def campaign_delete(request: Request, pk: int) -> HttpResponse:
    """Delete a draft, after asking once."""
    campaign = campaign_of(request, pk)
    if request.method == "GET":
        return render(request, "pools/campaign_delete.html", {"campaign": campaign})
    pool_services.campaign_delete(campaign=campaign)
    messages.success(request, _("The draft “%(name)s” has been deleted.") % {"name": campaign.name})
    return see_other("pools:campaigns")
