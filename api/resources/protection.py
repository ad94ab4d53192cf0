"""Data protection: erasing workers, members and campaigns, how long data are kept, and release bundles."""

from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import protection_shapes, shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import ask_now
from api.resources.outcomes import FILE
from api.resources.people import membership_of
from core.audit.services import entry_note
from core.errors import NotNow, NotYours
from core.models import Lab
from core.roles import Right
from judgments import campaign_erasing, closing, erasing, releasing
from judgments import jobs as judgment_jobs
from judgments import selectors as judgment_selectors
from judgments.downloads import file_response
from judgments.models import Retention, StoredFile
from pools.models import Campaign
from tasks.campaign_alarms import alarms_raised
from tasks.models import CampaignAlarm, Worker

PROTECTION = ["Data protection"]


# --- workers


class WorkerFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By what somebody knows of a worker."""

    who = CharFilter(method="by_words", required=True, max_length=100)

    def by_words(self, rows: QuerySet[Worker], _name: str, words: str) -> QuerySet[Worker]:
        """Those of the same lab who are called that."""
        return erasing.workers_called(Lab.objects.filter(pk__in=rows.values("lab")), words)


class FoundWorkers(Endpoint):
    """Finding a worker."""

    pagination_class = Pages
    filterset_class = WorkerFilter

    @operation("workers_find", answer=protection_shapes.FoundWorker(many=True), right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> Response:
        """The workers of a lab with an id at a platform, a name on the panel, or a pseudonym in an export."""
        return self.page_of(Worker.objects.filter(lab=self.lab(pk)), protection_shapes.FoundWorker)


class _OneWorker(Endpoint):
    def worker(self, pk: int, worker_pk: int) -> Worker:
        """The worker, for what needs this operation's right."""
        worker = Worker.objects.filter(pk=worker_pk, lab=self.lab(pk)).select_related("lab").first()
        if worker is None:
            raise NotYours(_("There is no such worker, or the worker is another lab's."))
        return worker


class Erasure(_OneWorker):
    """Erasing a worker."""

    @operation("erasure_plan", answer=protection_shapes.ErasureShape, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int, worker_pk: int) -> Response:
        """What erasing a worker would remove, what stays and why, and what stands in the way. Nothing is changed."""
        return _planned(erasing.erasure_plan(self.worker(pk, worker_pk), at=timezone.now()))

    @operation(
        "erase",
        takes=protection_shapes.WorkerErasure,
        answer=protection_shapes.ErasureShape,
        right=Right.MANAGE,
        tags=PROTECTION,
    )
    def post(self, request: Request, pk: int, worker_pk: int) -> Response:
        """Remove who a worker is. This cannot be undone. Refused (409) while money is unsettled, and where the lab owes
        the worker something that is not written off. Again is no error."""
        worker, sent, at = self.worker(pk, worker_pk), checked(protection_shapes.WorkerErasure, request), timezone.now()
        erasing.worker_erase(worker=worker, at=at, **sent)
        worker.refresh_from_db()
        return _planned(erasing.erasure_plan(worker, at=at))


def _planned(plan: erasing.Plan) -> Response:
    content: dict[str, Any] = plan.as_json() | {"is_done": plan.is_done, "erased_at": plan.worker.erased_at}
    return Response(protection_shapes.ErasureShape(content).data)


class WorkerData(_OneWorker):
    """What is stored of a worker."""

    @operation("personal_data", answer=protection_shapes.PersonalData, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int, worker_pk: int) -> Response:
        """All that is stored of a worker, to be handed to the worker. The audit keeps that it was read."""
        worker = self.worker(pk, worker_pk)
        content = protection_shapes.PersonalData(erasing.personal_data(worker)).data
        entry_note(
            subject="personal-data", action="downloaded", key=worker.pk, lab_id=worker.lab_id, worker_id=worker.pk
        )
        return Response(content)


# --- members


class MemberErasure(Endpoint):
    """Closing a member's account."""

    @operation("member_erasure_plan", answer=protection_shapes.MemberErasure, right=Right.SITE, tags=PROTECTION)
    def get(self, request: Request, pk: int, membership_pk: int) -> Response:
        """What closing a member's account would remove, what stays and why, and what goes on. Nothing is changed."""
        membership = membership_of(self.lab(pk), membership_pk)
        return _closing(closing.closing_plan(membership.user))

    @operation(
        "member_erase",
        takes=protection_shapes.NewErasure,
        answer=protection_shapes.MemberErasure,
        right=Right.SITE,
        tags=PROTECTION,
    )
    def post(self, request: Request, pk: int, membership_pk: int) -> Response:
        """Close the account of a member who leaves, in every lab, and remove who it was. This cannot be undone. Your
        own account is closed on its page, which asks for your password."""
        membership, sent = membership_of(self.lab(pk), membership_pk), checked(protection_shapes.NewErasure, request)
        if membership.user == user_of(request):
            raise NotNow(_("Close your own account on its page, which asks for your password."))
        return _closing(closing.account_close(user=membership.user, at=timezone.now(), why=sent["why"]))


def _closing(plan: closing.Plan) -> Response:
    content: dict[str, Any] = plan.as_json() | {"is_done": plan.is_done, "closed_at": plan.user.closed_at}
    return Response(protection_shapes.MemberErasure(content).data)


# --- campaigns


class CampaignErasure(Endpoint):
    """Erasing a whole campaign."""

    @operation("campaign_erasure_plan", answer=protection_shapes.CampaignErasure, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> Response:
        """What erasing a whole campaign would remove, what stays and why, and what stands in the way. Nothing is
        changed."""
        plan = campaign_erasing.whole_plan(self.campaign(pk), at=timezone.now())
        return Response(protection_shapes.CampaignErasure(plan.as_json()).data)

    @operation(
        "campaign_erase",
        takes=protection_shapes.NewCampaignErasure,
        answer=shapes.AskedFor,
        status=202,
        right=Right.MANAGE,
        tags=PROTECTION,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Have a closed campaign erased with all its rows and files. This cannot be undone. The campaign is gone (404)
        once it is done; refused (409) while something rests on it."""
        campaign, sent = self.campaign(pk), checked(protection_shapes.NewCampaignErasure, request)
        plan = campaign_erasing.whole_plan(campaign, at=timezone.now())
        if plan.obstacles:
            raise NotNow(_("The campaign cannot be erased. %(why)s") % {"why": " ".join(plan.obstacles)})
        if sent["name"] != campaign.name:
            raise ValidationError({"name": [_("This is not the campaign's name. Nothing was changed.")]})
        return ask_now(request, judgment_jobs.erase_whole_campaign, campaign.pk, sent["why"])


class CampaignWorkers(Endpoint):
    """Erasing the workers of a campaign."""

    @operation("campaign_workers_named", answer=protection_shapes.CampaignWorkers, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> Response:
        """How many workers of a campaign are not erased."""
        return Response({"workers": erasing.campaign_workers(self.campaign(pk)).count()})

    @operation(
        "campaign_workers_erase",
        takes=protection_shapes.NewErasure,
        answer=shapes.AskedFor,
        status=202,
        right=Right.MANAGE,
        tags=PROTECTION,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Have the workers of a closed campaign erased, one by one; judgments stay. Who is owed money, or takes part in
        a campaign that is not closed, is left as they are."""
        campaign, sent = self.campaign(pk), checked(protection_shapes.NewErasure, request)
        if campaign.state != Campaign.State.CLOSED:
            raise NotNow(_("The campaign is not closed: its workers are still needed."))
        return ask_now(request, judgment_jobs.erase_campaign, campaign.pk, sent["why"])


class Bundle(Endpoint):
    """The release bundle."""

    @operation("bundle", answer=protection_shapes.BundleShape, right=Right.EXPORT, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> Response:
        """The release bundle as it was last made, and why it was not made since, if it was asked for."""
        campaign = self.campaign(pk)
        alarm = alarms_raised(campaign).filter(kind=CampaignAlarm.Kind.BUNDLE).first()
        content = {
            "file": judgment_selectors.stored_file(campaign, StoredFile.Kind.BUNDLE, releasing.NAME),
            "why": alarm.text if alarm else "",
        }
        return Response(protection_shapes.BundleShape(content).data)

    @operation("bundle_make", answer=shapes.AskedFor, status=202, right=Right.EXPORT, tags=PROTECTION)
    def post(self, request: Request, pk: int) -> Response:
        """Have the release bundle made: the export files in one archive, offered only if a search finds no id of a
        person in it."""
        campaign = self.campaign(pk)
        if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
            raise NotNow(_("The campaign has not started: there is nothing to release."))
        return ask_now(request, judgment_jobs.make_bundle, campaign.pk)


class BundleFile(Endpoint):
    """The archive."""

    @operation("bundle_file", answer=FILE, media="application/zip", right=Right.EXPORT, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> FileResponse:
        """Download the release bundle. The audit keeps that it was."""
        campaign = self.campaign(pk)
        response = file_response(campaign, StoredFile.Kind.BUNDLE, releasing.NAME)
        releasing.bundle_note(campaign=campaign, action="downloaded")
        return response


# --- for review boards


class EthicsSummary(Endpoint):
    """The ethics summary of a campaign."""

    @operation("ethics_summary", answer=FILE, media="application/pdf", tags=PROTECTION)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Download what a review board asks about, as a PDF: what workers see, their pay, their consent, which data are
        kept and for how long. Refused (409) for scripts that the PDF's font lacks; print the page instead."""
        from judgments.ethics_pdf import ethics_response  # its libraries take a second to load

        return ethics_response(self.campaign(pk))


# --- periods


class RetentionOne(Endpoint):
    """How long a lab keeps personal data."""

    @operation("retention", answer=protection_shapes.RetentionShape, right=Right.MANAGE, tags=PROTECTION)
    def get(self, request: Request, pk: int) -> Response:
        """After how many days a lab's personal data go by themselves."""
        lab = self.lab(pk)
        retention = Retention.objects.filter(lab=lab).first() or Retention(lab=lab)
        return Response(protection_shapes.RetentionShape(retention).data)

    @operation(
        "retention_set",
        takes=protection_shapes.RetentionShape,
        answer=protection_shapes.RetentionShape,
        right=Right.MANAGE,
        tags=PROTECTION,
    )
    def put(self, request: Request, pk: int) -> Response:
        """Set how long a lab keeps personal data. What is older goes within an hour, and cannot be brought back."""
        lab, sent = self.lab(pk), checked(protection_shapes.RetentionShape, request)
        return Response(protection_shapes.RetentionShape(erasing.retention_set(lab=lab, **sent)).data)
