"""Data protection: erasing workers, members and campaigns, how long data are kept, and release bundles."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from api import protection_shapes, shapes
from api.asking import ask_now
from api.frame import FILE, Resource, get, operation, post, put
from api.resources.labs import People
from core.alarms import alarms_raised
from core.audit.notes import entry_note
from core.errors import NotNow
from core.models import Lab
from core.roles import Right
from judgments import selectors as judgment_selectors
from judgments.downloads import file_response
from judgments.models import StoredFile
from pools.models import Campaign
from protection import campaign_erasing, closing, erasing, releasing
from protection import jobs as protection_jobs
from protection.models import Retention
from tasks.models import CampaignAlarm, Worker


class WorkerFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By what somebody knows of a worker."""

    who = CharFilter(method="by_words", required=True, max_length=100)

    def by_words(self, rows: QuerySet[Worker], _name: str, words: str) -> QuerySet[Worker]:
        return erasing.workers_called(Lab.objects.filter(pk__in=rows.values("lab")), words)


def _planned(plan: erasing.Plan) -> dict[str, Any]:
    return plan.as_json() | {"is_done": plan.is_done, "erased_at": plan.worker.erased_at}


class WorkerErasure(Resource):
    """Finding and erasing workers."""

    tags = ["Data protection"]
    lookup_url_kwarg = "worker_pk"
    filterset_class = WorkerFilter

    def get_queryset(self) -> QuerySet[Worker]:
        return Worker.objects.filter(lab=self.lab).select_related("lab")

    @operation(protection_shapes.FoundWorker(many=True), Right.MANAGE, name="workers_find")
    def list(self, request: Request, pk: int) -> Any:
        """The workers of a lab with an id at a platform, a name on the panel, or a pseudonym in an export."""
        return self.get_queryset()

    @get("erasure", protection_shapes.ErasureShape, Right.MANAGE)
    def erasure_plan(self, request: Request, pk: int, worker_pk: int) -> Any:
        """What erasing a worker would remove, what stays and why, and what stands in the way. Nothing is changed."""
        return _planned(erasing.erasure_plan(self.get_object(), at=timezone.now()))

    @post(erasure_plan, protection_shapes.ErasureShape, Right.MANAGE, takes=protection_shapes.WorkerErasure)
    def erase(self, request: Request, pk: int, worker_pk: int) -> Any:
        """Remove who a worker is. This cannot be undone. Refused (409) while money is unsettled, and where the lab owes
        the worker something that is not written off. Again is no error."""
        worker, at = self.get_object(), timezone.now()
        erasing.worker_erase(worker=worker, at=at, **self.sent)
        worker.refresh_from_db()
        return _planned(erasing.erasure_plan(worker, at=at))

    @get("data", protection_shapes.PersonalData, Right.MANAGE)
    def personal_data(self, request: Request, pk: int, worker_pk: int) -> Any:
        """All that is stored of a worker, to be handed to the worker. The audit keeps that it was read."""
        worker = self.get_object()
        response = self.answer(erasing.personal_data(worker))
        entry_note(
            subject="personal-data", action="downloaded", key=worker.pk, lab_id=worker.lab_id, worker_id=worker.pk
        )
        return response


class MemberErasure(Resource):
    """Closing a member's account."""

    tags = ["Data protection"]
    lookup_url_kwarg = "membership_pk"
    get_queryset = People.get_queryset

    @get("erasure", protection_shapes.MemberErasure, Right.SITE)
    def member_erasure_plan(self, request: Request, pk: int, membership_pk: int) -> Any:
        """What closing a member's account would remove, what stays and why, and what goes on. Nothing is changed."""
        return _closing(closing.closing_plan(self.get_object().user))

    @post(member_erasure_plan, protection_shapes.MemberErasure, Right.SITE, takes=protection_shapes.NewErasure)
    def member_erase(self, request: Request, pk: int, membership_pk: int) -> Any:
        """Close the account of a member who leaves, in every lab, and remove who it was. This cannot be undone. Your
        own account is closed on its page, which asks for your password."""
        user, sent = self.get_object().user, self.sent
        if user == self.user:
            raise NotNow(_("Close your own account on its page, which asks for your password."))
        return _closing(closing.account_close(user=user, at=timezone.now(), why=sent["why"]))


def _closing(plan: closing.Plan) -> dict[str, Any]:
    return plan.as_json() | {"is_done": plan.is_done, "closed_at": plan.user.closed_at}


class CampaignProtection(Resource):
    """Erasing a campaign or its workers, and its release bundle."""

    tags = ["Data protection"]

    @get("erasure", protection_shapes.CampaignErasure, Right.MANAGE)
    def campaign_erasure_plan(self, request: Request, pk: int) -> Any:
        """What erasing a whole campaign would remove, what stays and why, and what stands in the way. Nothing is
        changed."""
        return campaign_erasing.whole_plan(self.campaign, at=timezone.now()).as_json()

    @post(campaign_erasure_plan, shapes.AskedFor, Right.MANAGE, takes=protection_shapes.NewCampaignErasure, status=202)
    def campaign_erase(self, request: Request, pk: int) -> Any:
        """Have a closed campaign erased with all its rows and files. This cannot be undone. The campaign is gone (404)
        once it is done; refused (409) while something rests on it."""
        campaign, sent = self.campaign, self.sent
        plan = campaign_erasing.whole_plan(campaign, at=timezone.now())
        if plan.obstacles:
            raise NotNow(_("The campaign cannot be erased. %(why)s") % {"why": " ".join(plan.obstacles)})
        if sent["name"] != campaign.name:
            raise ValidationError({"name": [_("This is not the campaign's name. Nothing was changed.")]})
        return ask_now(request, protection_jobs.erase_whole_campaign, campaign.pk, sent["why"])

    @get("erasure/workers", protection_shapes.CampaignWorkers, Right.MANAGE)
    def campaign_workers_named(self, request: Request, pk: int) -> Any:
        """How many workers of a campaign are not erased."""
        return {"workers": erasing.campaign_workers(self.campaign).count()}

    @post(campaign_workers_named, shapes.AskedFor, Right.MANAGE, takes=protection_shapes.NewErasure, status=202)
    def campaign_workers_erase(self, request: Request, pk: int) -> Any:
        """Have the workers of a closed campaign erased, one by one; judgments stay. Who is owed money, or takes part in
        a campaign that is not closed, is left as they are."""
        campaign, sent = self.campaign, self.sent
        if campaign.state != Campaign.State.CLOSED:
            raise NotNow(_("The campaign is not closed: its workers are still needed."))
        return ask_now(request, protection_jobs.erase_campaign, campaign.pk, sent["why"])

    @get("bundle", protection_shapes.BundleShape, Right.EXPORT)
    def bundle(self, request: Request, pk: int) -> Any:
        """The release bundle as it was last made, and why it was not made since, if it was asked for."""
        campaign = self.campaign
        alarm = alarms_raised(campaign).filter(kind=CampaignAlarm.BUNDLE).first()
        return {
            "file": judgment_selectors.stored_file(campaign, StoredFile.Kind.BUNDLE, releasing.NAME),
            "why": alarm.text if alarm else "",
        }

    @post(bundle, shapes.AskedFor, Right.EXPORT, status=202)
    def bundle_make(self, request: Request, pk: int) -> Any:
        """Have the release bundle made: the export files in one archive, offered only if a search finds no id of a
        person in it."""
        campaign = self.campaign
        if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
            raise NotNow(_("The campaign has not started: there is nothing to release."))
        return ask_now(request, protection_jobs.make_bundle, campaign.pk)

    @get("bundle/release.zip", FILE, Right.EXPORT, media="application/zip")
    def bundle_file(self, request: Request, pk: int) -> Any:
        """Download the release bundle. The audit keeps that it was."""
        campaign = self.campaign
        response = file_response(campaign, StoredFile.Kind.BUNDLE, releasing.NAME)
        releasing.bundle_note(campaign=campaign, action="downloaded")
        return response

    @get("ethics/summary.pdf", FILE, media="application/pdf")
    def ethics_summary(self, request: Request, pk: int) -> Any:
        """Download what a review board asks about, as a PDF: what workers see, their pay, their consent, which data are
        kept and for how long. Refused (409) for scripts that the PDF's font lacks; print the page instead."""
        from protection.ethics_pdf import ethics_response  # its libraries take a second to load

        return ethics_response(self.campaign)


class Periods(Resource):
    """How long a lab keeps personal data."""

    tags = ["Data protection"]

    @get("retention", protection_shapes.RetentionShape, Right.MANAGE)
    def retention(self, request: Request, pk: int) -> Any:
        """After how many days a lab's personal data go by themselves."""
        return Retention.objects.filter(lab=self.lab).first() or Retention(lab=self.lab)

    @put(retention, protection_shapes.RetentionShape, Right.MANAGE, takes=protection_shapes.RetentionShape)
    def retention_set(self, request: Request, pk: int) -> Any:
        """Set how long a lab keeps personal data. What is older goes within an hour, and cannot be brought back."""
        return erasing.retention_set(lab=self.lab, **self.sent)
