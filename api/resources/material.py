"""Panels, what was scored or judged elsewhere, and what machines judged."""

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from django_filters import CharFilter
from rest_framework.request import Request

from api import material_shapes, shapes
from api.filters import filterset
from api.frame import FILE, Resource, delete, get, operation, post, put, refusals_of
from api.resources.collections import accepted, name_of
from core.errors import NotYours
from core.roles import Right
from judgments import importing
from judgments.downloads import TYPES
from machines import answers
from machines import answers as machine_services
from machines.models import MachineJudge
from pools import preference_imports
from runs import selectors as run_selectors
from runs import services as run_services
from runs.models import PreferenceImport
from tasks import outside_panels
from tasks import selectors as task_selectors
from tasks import services as task_services

PanelFilter = filterset(name=CharFilter(field_name="worker__label", lookup_expr="icontains"))


class Panels(Resource):
    """The panel of a campaign, and an outside panel."""

    tags = ["Panel"]

    @get("panel", material_shapes.PanelMember(many=True), Right.DESIGN, filterset_class=PanelFilter)
    def panel(self, request: Request, pk: int) -> Any:
        """The people of a campaign's panel, newest first, with their personal links and what they have done."""
        campaign = self.campaign
        return self.page_of(
            task_selectors.invitations_of(campaign), lambda page: task_selectors.panel_rows(campaign, page)
        )

    @post(panel, material_shapes.Invited, Right.DESIGN, takes=material_shapes.NewPanel, status=201)
    def panel_invite(self, request: Request, pk: int) -> Any:
        """Give people personal links to a campaign. Nothing is mailed. Who has a link already keeps it."""
        invited = task_services.panel_invite(campaign=self.campaign, labels=self.sent["names"])
        content = {"members": task_selectors.panel_rows(self.campaign, invited)}
        members = self.answer(content).data["members"]
        return self.answer_once(content, {"members": [member | {"name": None, "link": None} for member in members]})

    @get("outside-panel", material_shapes.OutsidePanelShape, Right.DESIGN)
    def outside_panel(self, request: Request, pk: int) -> Any:
        """How people of an outside panel come and go; 404 in a campaign without one."""
        panel = outside_panels.panel_of(self.campaign)
        if panel is None:
            raise NotYours(_("This campaign has no outside panel."))
        return panel

    @put(outside_panel, material_shapes.OutsidePanelShape, Right.DESIGN, takes=material_shapes.OutsidePanelShape)
    def outside_panel_set(self, request: Request, pk: int) -> Any:
        """Set up an outside panel, or change it. From then on the open link lets in only people with ids."""
        return outside_panels.outside_panel_set(campaign=self.campaign, **self.sent)

    @delete(outside_panel, right=Right.DESIGN)
    def outside_panel_delete(self, request: Request, pk: int) -> Any:
        """Delete an outside panel from which nobody has come yet. Again is not an error."""
        outside_panels.outside_panel_delete(campaign=self.campaign)

    @get("outside-panel/sessions", material_shapes.PanelSession(many=True), Right.DESIGN)
    def outside_panel_sessions(self, request: Request, pk: int) -> Any:
        """The sessions of people from an outside panel, newest first, with their outcome and what is owed."""
        campaign = self.campaign
        return self.page_of(outside_panels.visits_of(campaign), lambda page: outside_panels.visit_rows(campaign, page))


def sent_file(resource: Resource) -> dict[str, Any]:
    """The collection, and what was sent with a file, which has a name at least then."""
    collection, sent = resource.collection, resource.sent
    return {"collection": collection, **sent, "name": name_of(sent)}


class Preferences(Resource):
    """Preferences that were made elsewhere."""

    tags = ["Imports"]
    lookup_url_kwarg = "import_pk"

    def get_queryset(self) -> QuerySet[PreferenceImport]:
        return self.collection.preference_imports.all()

    @operation(material_shapes.PreferenceImportShape(many=True), name="preferences")
    def list(self, request: Request, pk: int) -> Any:
        """The preferences that were imported into a collection, newest first."""
        return self.get_queryset()

    @operation(
        shapes.JobShape, Right.DESIGN, name="preferences_import", takes=material_shapes.NewPreferences, status=202
    )
    def create(self, request: Request, pk: int) -> Any:
        """Import preferences that were made elsewhere, for campaigns to reuse. A job reads them; errors are in its
        `complaints`, and nothing is then stored."""
        return accepted(preference_imports.preferences_ask(**sent_file(self), **self.signed))

    @operation(material_shapes.PreferenceImportShape, name="preferences_one")
    def retrieve(self, request: Request, pk: int, import_pk: int) -> Any:
        """The preferences of one file: where they come from, and how many they are."""
        return self.get_object()

    @operation(right=Right.DESIGN, name="preferences_delete")
    def destroy(self, request: Request, pk: int, import_pk: int) -> Any:
        """Delete imported preferences that no campaign has used."""
        preference_imports.preference_import_delete(preference_import=self.get_object())


class FromElsewhere(Resource):
    """Scores and judgments from elsewhere."""

    tags = ["Collections"]

    @get("outside-scores", material_shapes.OutsideShape)
    def outside_scores(self, request: Request, pk: int) -> Any:
        """How the runs of a collection score elsewhere, such as on a public leaderboard; 404 where that is not
        stored."""
        stored = run_selectors.outside_scores_of(self.collection)
        if stored is None:
            raise NotYours(_("No outside scores are stored for this collection."))
        return stored

    @put(outside_scores, material_shapes.OutsideShape, Right.MAINTAIN, takes=material_shapes.NewOutside)
    def outside_scores_set(self, request: Request, pk: int) -> Any:
        """Store how the runs of a collection score elsewhere, in place of what is stored. Results are computed
        again."""
        collection, sent = self.collection, self.sent
        with refusals_of("file"):  # which name the line
            stored = run_services.outside_scores_set(
                collection=collection, filename=str(sent["file"].name), **sent, **self.signed
            )
        return stored.outside

    @delete(outside_scores, right=Right.MAINTAIN)
    def outside_scores_delete(self, request: Request, pk: int) -> Any:
        """Delete how the runs of a collection score elsewhere. Again is not an error. Results are computed again."""
        run_services.outside_scores_delete(collection=self.collection)

    @post("judgments", shapes.JobShape, Right.DESIGN, takes=material_shapes.NewJudgments, status=202, tags=["Imports"])
    def judgments_import(self, request: Request, pk: int) -> Any:
        """Import judgments that were made elsewhere as a closed campaign of their own, with results like any other. A
        job reads them; its `campaign` is then that campaign."""
        return accepted(importing.judgments_ask(**sent_file(self), **self.signed))


class MachineJudges(Resource):
    """The machine judges of a collection."""

    tags = ["Machine judges"]
    lookup_url_kwarg = "judge_pk"
    filterset_class = filterset(name=CharFilter(lookup_expr="icontains"), model=CharFilter(lookup_expr="icontains"))

    def get_queryset(self) -> QuerySet[MachineJudge]:
        return self.collection.machine_judges.all()

    @operation(material_shapes.MachineShape(many=True), name="machine_judges")
    def list(self, request: Request, pk: int) -> Any:
        """The machine judges of a collection, newest first."""
        return self.get_queryset()

    @operation(shapes.JobShape, Right.DESIGN, name="machine_judge_import", takes=material_shapes.NewMachine, status=202)
    def create(self, request: Request, pk: int) -> Any:
        """Import a machine's answers, to be compared with people's judgments and never counted among them. A job reads
        them; where a line is wrong, its `error` names it, and nothing is stored."""
        return accepted(answers.machine_ask(**sent_file(self), **self.signed))

    @operation(material_shapes.MachineDetail, name="machine_judge")
    def retrieve(self, request: Request, pk: int, judge_pk: int) -> Any:
        """One machine judge: which model it was, what it was told, and how much it answered."""
        return self.get_object()

    @operation(right=Right.DESIGN, name="machine_judge_delete")
    def destroy(self, request: Request, pk: int, judge_pk: int) -> Any:
        """Delete a machine judge with its answers and comparisons, and nothing else."""
        machine_services.machine_judge_delete(judge=self.get_object())

    @get("answers.txt", FILE, Right.EXPORT, media="text/plain")
    def machine_answers(self, request: Request, pk: int, judge_pk: int) -> Any:
        """Download a machine judge's answers as they were imported: lines `query a b preferred`."""
        lines = (" ".join(answer) + "\n" for answer in answers.answers_of(self.get_object()))
        return StreamingHttpResponse(lines, content_type=TYPES["txt"])
