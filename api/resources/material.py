"""Panels, what was scored or judged elsewhere, and what machines judged."""

from typing import Any, BinaryIO, cast

from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import CharFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from api import material_shapes, shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.collections import accepted, name_of
from core.errors import NotYours, Refused
from core.roles import Right
from judgments import machines as machine_services
from judgments.models import MachineJudge
from pools import background
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import PreferenceImport
from tasks import outside_panels
from tasks import selectors as task_selectors
from tasks import services as task_services

# --- panels


class PanelFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By name."""

    name = CharFilter(field_name="worker__label", lookup_expr="icontains")


class Panel(Endpoint):
    """The panel of a campaign."""

    pagination_class = Pages
    filterset_class = PanelFilter

    @operation("panel", answer=material_shapes.PanelMember(many=True), right=Right.DESIGN, tags=["Panel"])
    def get(self, request: Request, pk: int) -> Response:
        """The people of a campaign's panel, newest first, with their personal links and what they have done."""
        campaign = self.campaign(pk)
        return self.page_of(
            task_selectors.invitations_of(campaign),
            material_shapes.PanelMember,
            lambda page: task_selectors.panel_rows(campaign, page),
            campaign=campaign,
        )

    @operation(
        "panel_invite",
        takes=material_shapes.NewPanel,
        answer=material_shapes.Invited,
        status=201,
        right=Right.DESIGN,
        tags=["Panel"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Give people personal links to a campaign. Nothing is mailed. Who has a link already keeps it."""
        campaign, sent = self.campaign(pk), checked(material_shapes.NewPanel, request)
        invited = task_services.panel_invite(campaign=campaign, labels=sent["names"])
        rows = task_selectors.panel_rows(campaign, invited)
        content = material_shapes.Invited({"members": rows}, context={"campaign": campaign}).data
        response = Response(content, status=201)
        kept = [dict(member) | {"name": None, "link": None} for member in content["members"]]
        response.kept = {"members": kept}  # type: ignore[attr-defined]  # what api.answers stores
        return response


# --- an outside panel


class Outsiders(Endpoint):
    """How people of somebody else's panel come to a campaign and leave it."""

    @operation("outside_panel", answer=material_shapes.OutsidePanelShape, right=Right.DESIGN, tags=["Panel"])
    def get(self, request: Request, pk: int) -> Response:
        """How people of an outside panel come and go; 404 in a campaign without one."""
        panel = outside_panels.panel_of(self.campaign(pk))
        if panel is None:
            raise NotYours(_("This campaign has no outside panel."))
        return Response(material_shapes.OutsidePanelShape(panel).data)

    @operation(
        "outside_panel_set",
        takes=material_shapes.OutsidePanelShape,
        answer=material_shapes.OutsidePanelShape,
        right=Right.DESIGN,
        tags=["Panel"],
    )
    def put(self, request: Request, pk: int) -> Response:
        """Set up an outside panel, or change it. From then on the open link lets in only people with ids."""
        campaign, sent = self.campaign(pk), checked(material_shapes.OutsidePanelShape, request)
        panel = outside_panels.outside_panel_set(campaign=campaign, **sent)
        return Response(material_shapes.OutsidePanelShape(panel).data)

    @operation("outside_panel_delete", status=204, right=Right.DESIGN, tags=["Panel"])
    def delete(self, request: Request, pk: int) -> Response:
        """Delete an outside panel from which nobody has come yet. Again is not an error."""
        outside_panels.outside_panel_delete(campaign=self.campaign(pk))
        return Response(status=204)


class Sessions(Endpoint):
    """Who came from an outside panel."""

    pagination_class = Pages

    @operation(
        "outside_panel_sessions",
        answer=material_shapes.PanelSession(many=True),
        right=Right.DESIGN,
        tags=["Panel"],
    )
    def get(self, request: Request, pk: int) -> Response:
        """The sessions of people from an outside panel, newest first, with their outcome and what is owed."""
        campaign = self.campaign(pk)
        return self.page_of(
            outside_panels.visits_of(campaign),
            material_shapes.PanelSession,
            lambda page: outside_panels.visit_rows(campaign, page),
            campaign=campaign,
        )


# --- scores from elsewhere


class Outside(Endpoint):
    """How a collection's runs score elsewhere."""

    parser_classes = [MultiPartParser]

    @operation("outside_scores", answer=material_shapes.OutsideShape, tags=["Collections"])
    def get(self, request: Request, pk: int) -> Response:
        """How the runs of a collection score elsewhere, such as on a public leaderboard; 404 where that is not
        stored."""
        stored = pool_selectors.outside_scores_of(self.collection(pk))
        if stored is None:
            raise NotYours(_("No outside scores are stored for this collection."))
        return Response(material_shapes.OutsideShape(stored).data)

    @operation(
        "outside_scores_set",
        takes={"multipart/form-data": material_shapes.NewOutside},
        answer=material_shapes.OutsideShape,
        right=Right.MAINTAIN,
        tags=["Collections"],
    )
    def put(self, request: Request, pk: int) -> Response:
        """Store how the runs of a collection score elsewhere, in place of what is stored. Results are computed
        again."""
        collection, sent = self.collection(pk), checked(material_shapes.NewOutside, request)
        about: dict[str, Any] = {"by": user_of(request), "at": timezone.now(), "filename": str(sent["file"].name)}
        try:
            stored = pool_services.outside_scores_set(
                collection=collection, source=sent["source"], file=cast(BinaryIO, sent["file"]), **about
            )
        except Refused as error:  # it names the line
            raise ValidationError({"file": [str(error)]}) from error
        return Response(material_shapes.OutsideShape(stored.outside).data)

    @operation("outside_scores_delete", status=204, right=Right.MAINTAIN, tags=["Collections"])
    def delete(self, request: Request, pk: int) -> Response:
        """Delete how the runs of a collection score elsewhere. Again is not an error. Results are computed again."""
        pool_services.outside_scores_delete(collection=self.collection(pk))
        return Response(status=204)


# --- judgments from elsewhere


class Preferences(Endpoint):
    """Preferences that were made elsewhere."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages

    @operation("preferences", answer=material_shapes.PreferenceImportShape(many=True), tags=["Imports"])
    def get(self, request: Request, pk: int) -> Response:
        """The preferences that were imported into a collection, newest first."""
        return self.page_of(self.collection(pk).preference_imports.all(), material_shapes.PreferenceImportShape)

    @operation(
        "preferences_import",
        takes={"multipart/form-data": material_shapes.NewPreferences},
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=["Imports"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Import preferences that were made elsewhere, for campaigns to reuse. A job reads them; errors are in its
        `complaints`, and nothing is then stored."""
        collection, sent = self.collection(pk), checked(material_shapes.NewPreferences, request)
        job = background.preferences_ask(
            collection=collection,
            file=cast("UploadedFile[Any]", sent["file"]),
            name=name_of(sent),
            note=sent["note"],
            by=user_of(request),
            at=timezone.now(),
        )
        return accepted(request, job)


class PreferencesOne(Endpoint):
    """Preferences of one file."""

    def found(self, pk: int, import_pk: int) -> PreferenceImport:
        """The import, for what needs this operation's right."""
        imported: PreferenceImport | None = self.collection(pk).preference_imports.filter(pk=import_pk).first()
        if imported is None:
            raise NotYours(_("This collection has no such imported preferences."))
        return imported

    @operation("preferences_one", answer=material_shapes.PreferenceImportShape, tags=["Imports"])
    def get(self, request: Request, pk: int, import_pk: int) -> Response:
        """The preferences of one file: where they come from, and how many they are."""
        return Response(material_shapes.PreferenceImportShape(self.found(pk, import_pk)).data)

    @operation("preferences_delete", status=204, right=Right.DESIGN, tags=["Imports"])
    def delete(self, request: Request, pk: int, import_pk: int) -> Response:
        """Delete imported preferences that no campaign has used."""
        pool_services.preference_import_delete(preference_import=self.found(pk, import_pk))
        return Response(status=204)


class Judgments(Endpoint):
    """Judgments that were made elsewhere."""

    parser_classes = [MultiPartParser]

    @operation(
        "judgments_import",
        takes={"multipart/form-data": material_shapes.NewJudgments},
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=["Imports"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Import judgments that were made elsewhere as a closed campaign of their own, with results like any other. A
        job reads them; its `campaign` is then that campaign."""
        collection, sent = self.collection(pk), checked(material_shapes.NewJudgments, request)
        job = background.judgments_ask(
            collection=collection,
            file=cast("UploadedFile[Any]", sent["file"]),
            name=name_of(sent),
            question=sent["question"],
            note=sent["note"],
            by=user_of(request),
            at=timezone.now(),
        )
        return accepted(request, job)


# --- what machines judged


class MachineFilter(FilterSet):  # type: ignore[misc]
    """By name and model."""

    name = CharFilter(lookup_expr="icontains")
    model = CharFilter(lookup_expr="icontains")


class Machines(Endpoint):
    """The machine judges of a collection."""

    parser_classes = [MultiPartParser]
    pagination_class = Pages
    filterset_class = MachineFilter

    @operation("machine_judges", answer=material_shapes.MachineShape(many=True), tags=["Machine judges"])
    def get(self, request: Request, pk: int) -> Response:
        """The machine judges of a collection, newest first."""
        return self.page_of(self.collection(pk).machine_judges.all(), material_shapes.MachineShape)

    @operation(
        "machine_judge_import",
        takes={"multipart/form-data": material_shapes.NewMachine},
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=["Machine judges"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Import a machine's answers, to be compared with people's judgments and never counted among them. A job reads
        them; where a line is wrong, its `error` names it, and nothing is stored."""
        collection, sent = self.collection(pk), checked(material_shapes.NewMachine, request)
        job = background.machine_ask(
            collection=collection,
            file=cast("UploadedFile[Any]", sent["file"]),
            name=name_of(sent),
            model=sent["model"],
            prompt=sent["prompt"],
            by=user_of(request),
            at=timezone.now(),
        )
        return accepted(request, job)


class MachineOne(Endpoint):
    """One machine judge."""

    def found(self, pk: int, judge_pk: int) -> MachineJudge:
        """The machine judge, for what needs this operation's right."""
        judge: MachineJudge | None = self.collection(pk).machine_judges.filter(pk=judge_pk).first()
        if judge is None:
            raise NotYours(_("This collection has no such machine judge."))
        return judge

    @operation("machine_judge", answer=material_shapes.MachineDetail, tags=["Machine judges"])
    def get(self, request: Request, pk: int, judge_pk: int) -> Response:
        """One machine judge: which model it was, what it was told, and how much it answered."""
        return Response(material_shapes.MachineDetail(self.found(pk, judge_pk)).data)

    @operation("machine_judge_delete", status=204, right=Right.DESIGN, tags=["Machine judges"])
    def delete(self, request: Request, pk: int, judge_pk: int) -> Response:
        """Delete a machine judge with its answers and comparisons, and nothing else."""
        machine_services.machine_judge_delete(judge=self.found(pk, judge_pk))
        return Response(status=204)
