"""What comes of a campaign: exports, results with their files, machine judges, and versions of the preference qrels."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from api import material_shapes, result_shapes, shapes
from api.access import Pages
from api.asking import soon
from api.frame import FILE, Resource, get, operation, post
from core.errors import NotYours
from core.roles import Right
from judgments import exports, rounds
from judgments import jobs as judgment_jobs
from judgments import selectors as judgment_selectors
from judgments.downloads import TYPES, file_response
from judgments.models import StoredFile
from machines import machine_asking
from machines.models import MachineAsking
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import QrelsVersion
from results import asking, planning
from results import jobs as result_jobs
from results import selectors as result_selectors
from results import versions as version_services
from results.earlier import earlier_results, report_of, result_of
from results.findings import findings
from results.machine_tables import judges_beside, machine_data
from results.models import MachineComparison
from results.pool_detail import pool_detail
from results.report import ARCHIVE, SETS
from results.sections import whole
from results.tables import Table
from results.version_tables import version_scores


def table_content(table: Table) -> dict[str, object]:
    """A table as TableShape shows it, all of its rows."""
    return {
        "name": table.name,
        "title": str(table.title),
        "columns": [{"key": column.key, "title": str(column.label), "kind": column.kind} for column in table.columns],
        "rows": [[_plain(value) for value in row] for row in (*table.rows, *table.foot)],
    }


def _plain(value: object) -> object:
    """A cell as JSON: what is a word to be translated becomes text."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


ABOUT_SCORES = ("measure", "tau", "waiting", "unreadable")


class NumberPages(Pages):
    """By number."""

    ordering = "-number"


def _offered(offer: asking.Offer) -> dict[str, Any]:
    return offer._asdict() | {"queries": len(offer.queries), "hits": offer.bill.hits, "total": offer.bill.total}


class Outcomes(Resource):
    """What comes of a campaign."""

    tags = ["Results"]

    @get("exports", shapes.ExportsShape, tags=["Exports"])
    def exports(self, request: Request, pk: int) -> Any:
        """The export files of a campaign, and whether they are up to date."""
        campaign = self.campaign
        export = judgment_selectors.export_of(campaign)
        stored = judgment_selectors.stored_files(campaign, StoredFile.Kind.EXPORT)
        is_stale = export is None or judgment_selectors.campaigns_to_export().filter(pk=campaign.pk).exists()
        files = sorted(stored.values(), key=lambda file: file.name)
        return {"made_at": export and export.made_at, "is_current": not is_stale, "files": files}

    @post(exports, shapes.AskedFor, Right.EXPORT, status=202, tags=["Exports"])
    def exports_make(self, request: Request, pk: int) -> Any:
        """Have the export files made now. They are also made by themselves, within minutes of new judgments."""
        return soon(judgment_jobs.make_exports, self.campaign.pk)

    @get("results", shapes.ResultsShape)
    def results(self, request: Request, pk: int) -> Any:
        """What the preferences say about the runs: in sentences, and which tables there are."""
        campaign = self.campaign
        status = result_selectors.result_status(campaign)
        data = status.data
        return {
            "computed_at": status.result.computed_at if status.result else None,
            "final_at": status.result.final_at if status.result else None,
            "later_runs": list(pool_selectors.later_runs(campaign).values_list("name", flat=True)),
            "is_current": not status.stale,
            "judgments": status.judgments,
            "tables": list(whole.tables(data)) if data else [],
            "findings": [sentence for finding in findings(data) for sentence in finding.sentences] if data else [],
        }

    @post("results/compute", shapes.AskedFor, Right.DESIGN, status=202)
    def results_compute(self, request: Request, pk: int) -> Any:
        """Have the results computed now. They are also computed by themselves, soon after something has changed."""
        return soon(result_jobs.compute_results, self.campaign.pk)

    @get("results/further", shapes.FurtherShape, asks=shapes.Wish)
    def further_offer(self, request: Request, pk: int) -> Any:
        """What a budget would buy: more judgments for the queries whose confidence sets are larger than wanted, most
        certainty for a judgment first; the bill, and how many queries are expected to be settled."""
        return _offered(asking.offer_for(self.campaign, **self.query))

    @post(further_offer, shapes.FurtherShape, Right.SPEND, takes=shapes.NewAsking)
    def further_ask(self, request: Request, pk: int) -> Any:
        """Ask for the judgments of an offer: new HITs, which are published as others are. `seen` is the offer's, so
        that asking twice asks once."""
        return _offered(asking.further_ask(campaign=self.campaign, **self.sent))

    @get("results/plan", shapes.PlanShape, asks=shapes.WrongJudgments)
    def results_plan(self, request: Request, pk: int) -> Any:
        """What 1, 3 or 5 judgments of each pair cost, and how sure the best known answers would be: simulated, by the
        share of wrong judgments that you name, that the judgments show, or, while nothing shows it, 30%."""
        campaign = self.campaign
        observed = planning.observed_error(campaign)
        rate = float(self.query.get("error_rate", planning.likely_error(observed)))
        planned = planning.plan_for(campaign, result_selectors.stored_data(campaign), rate)
        content = {"error_rate": rate, "observed": observed and observed._asdict()}
        return content | (planned or planning.Planned(rows=[], pools=0, draws=0))._asdict()

    @get("rounds", shapes.RoundShape(many=True))
    def rounds(self, request: Request, pk: int) -> Any:
        """The rounds that were planned until now, the newest first; none for other designs."""
        return self.campaign.rounds.select_related("asked_by")

    @post("rounds/<int:number>/ask", shapes.RoundShape, Right.SPEND)
    def round_ask(self, request: Request, pk: int, number: int) -> Any:
        """Ask a round that waits for a person: its pairs are packed into new HITs, which are published as others are.
        Asked again, it is a conflict, and nothing is asked twice."""
        return rounds.round_ask(campaign=self.campaign, number=number, **self.signed)

    @get("results/tables/<slug:name>", shapes.TableShape)
    def results_table(self, request: Request, pk: int, name: str) -> Any:
        """One table of the results, all of its rows. A share with an interval is a list; what is not known is null."""
        data = result_selectors.table_data(self.campaign, name)
        table = None if data is None else whole.table(data, name)
        if table is None:
            raise NotYours(_("These results have no such table. Tables appear once the results are computed."))
        return Response(table_content(table))

    @post("versions", shapes.VersionShape, Right.MAINTAIN, takes=shapes.NewVersion, status=201, tags=["Versions"])
    def version_create(self, request: Request, pk: int) -> Any:
        """Make a version of what a campaign has settled. It is refused if another came after `parent`."""
        version = version_services.version_add(campaign=self.campaign, **self.signed, **self.sent)
        soon(result_jobs.score_versions, version.collection_id)
        address = reverse("api:v1:versions-detail", args=[version.collection_id, version.number])
        return Response(shapes.VersionShape(version).data, status=201, headers={"Location": address})

    @get("exports/<str:name>", FILE, Right.EXPORT, media="*/*", tags=["Exports"])
    def export(self, request: Request, pk: int, name: str) -> Any:
        """Download one export file, such as `preference-qrels.txt`, or all of them as `all.zip`."""
        campaign = self.campaign
        if name != exports.ARCHIVE and name not in exports.NAMES:
            raise NotYours(_("There is no export with this name."))
        return file_response(campaign, StoredFile.Kind.EXPORT, name)

    @get("results/earlier", result_shapes.EarlierShape(many=True), pagination_class=None)
    def earlier_results(self, request: Request, pk: int) -> Any:
        """Results that were final until others took their place, the newest first."""
        return earlier_results(self.campaign)

    @get("results/earlier/<int:number>", result_shapes.WholeEarlierShape)
    def earlier_result(self, request: Request, pk: int, number: int) -> Any:
        """Results that were final until others took their place, with all that was computed."""
        return result_of(self.campaign, number)

    @post("results/later-runs", result_shapes.LaterRuns, Right.DESIGN)
    def later_runs_score(self, request: Request, pk: int) -> Any:
        """Score the runs that came after the campaign finished, as new results beside those that there are."""
        return {"scored": pool_services.later_runs_score(campaign=self.campaign)}

    @get("queries/<int:pool_pk>", result_shapes.QueryDetail)
    def campaign_query(self, request: Request, pk: int, pool_pk: int) -> Any:
        """One query of a campaign: the passages of its pool with their texts, who beat whom, the best known answers."""
        pool = get_object_or_404(self.campaign.pools.select_related("query", "campaign"), pk=pool_pk)
        return {"pool": pool, "detail": pool_detail(pool)}

    @get("machines", result_shapes.MachinesBeside)
    def machines_beside(self, request: Request, pk: int) -> Any:
        """Each machine judge of the campaign's collection beside its people, as last compared: all that was counted."""
        return {"judges": machine_data(judges_beside(self.campaign, whole=True))}

    def file(self, pk: int, name: str) -> HttpResponseBase:
        """A stored file of the results. Raises NotYours, and NotMadeYet before the results are computed."""
        campaign, kind = self.campaign, StoredFile.Kind.RESULT
        files = judgment_selectors.stored_files(campaign, kind)
        if files and name not in files:
            raise NotYours(_("These results have no such table, figure or report."))
        return file_response(campaign, kind, name)

    @get("results/report.zip", FILE, media="application/zip")
    def report(self, request: Request, pk: int) -> Any:
        """Download the whole report on a campaign's results: pages, tables, figures, and a manifest."""
        return self.file(pk, ARCHIVE)

    @get("results/earlier/<int:number>/report.zip", FILE, media="application/zip")
    def earlier_report(self, request: Request, pk: int, number: int) -> Any:
        """Download the report of earlier results, as it was."""
        return report_of(self.campaign, number)

    @get("results/confidence-sets.txt", FILE, media="text/plain")
    def confidence_sets(self, request: Request, pk: int) -> Any:
        """Download the confidence sets of all queries, as TREC qrels."""
        return self.file(pk, SETS)

    @get("results/tables/<slug:name>.<slug:form>", FILE, media="*/*")
    def results_table_file(self, request: Request, pk: int, name: str, form: str) -> Any:
        """Download one table of the results as `csv` or `tex`, all of its rows; `pairs-all.tex` has all columns."""
        if form not in ("csv", "tex"):
            raise NotYours(_("Tables are available as .csv and .tex files."))
        return self.file(pk, f"tables/{name}.{form}")

    @get("results/figures/<slug:name>.<slug:form>", FILE, media="*/*")
    def results_figure(self, request: Request, pk: int, name: str, form: str) -> Any:
        """Download one figure of the results as `svg`, `pdf` or `png`. The report names them."""
        if form not in ("svg", "pdf", "png"):
            raise NotYours(_("Figures can be had as .svg, .pdf and .png."))
        return self.file(pk, f"figures/{name}.{form}")

    @get("machines/<int:judge_pk>/preference-qrels.txt", FILE, Right.EXPORT, media="text/plain")
    def machine_winners(self, request: Request, pk: int, judge_pk: int) -> Any:
        """Download the winners by a machine judge's answers alone, in TREC format. They are in no other file."""
        compared = MachineComparison.objects.filter(campaign=self.campaign, judge=judge_pk)
        qrels = compared.values_list("qrels", flat=True).first()
        if not qrels:
            raise NotYours(_("There are no winners by this machine judge in this campaign, or not yet."))
        return HttpResponse(qrels.encode(), content_type=TYPES["txt"])


class Versions(Resource):
    """The versions of a collection's preference qrels."""

    tags = ["Versions"]
    lookup_field = lookup_url_kwarg = "number"
    pagination_class = NumberPages

    def get_queryset(self) -> QuerySet[QrelsVersion]:
        return self.collection.versions.all()

    @operation(shapes.VersionShape(many=True), name="versions")
    def list(self, request: Request, pk: int) -> Any:
        """The versions of a collection's preference qrels, newest first."""
        return self.get_queryset()

    @operation(shapes.VersionShape, name="version")
    def retrieve(self, request: Request, pk: int, number: int) -> Any:
        """One version: where it comes from, and what it changed."""
        return self.get_object()

    @get("scores", result_shapes.VersionScoresShape, asks=result_shapes.Beside)
    def version_scores(self, request: Request, pk: int, number: int) -> Any:
        """The scores of all runs on a version of the preference qrels, beside those on the original qrels or on another
        version."""
        version, query = self.get_object(), self.query
        beside = get_object_or_404(self.get_queryset(), number=query["beside"]) if "beside" in query else None
        measure = query["measure"]
        scores = version_scores(version, beside, measure)
        if measure and measure != scores.measure:
            named = ", ".join(scores.measures)
            raise ValidationError({"measure": [_("This is none of %(measures)s.") % {"measures": named}]})
        return table_content(scores.table) | {name: getattr(scores, name) for name in ABOUT_SCORES}

    @get("preference-qrels.txt", FILE, Right.EXPORT, media="text/plain")
    def version_qrels(self, request: Request, pk: int, number: int) -> Any:
        """Download the preference qrels of a version, in TREC format."""
        version = self.get_object()
        lines = "".join(version_services.qrels_lines(pool_selectors.version_answers(version)))
        return HttpResponse(lines, content_type=TYPES["txt"], headers={"ETag": f'"{version.sha256}"'})


class MachineAskings(Resource):
    """The machines that are asked about a campaign's pairs."""

    tags = ["Machine judges"]
    lookup_url_kwarg = "asking_pk"

    def get_queryset(self) -> QuerySet[MachineAsking]:
        return self.campaign.machine_askings.select_related("asked_by").order_by("-id")

    @operation(material_shapes.AskingShape(many=True), name="machine_askings")
    def list(self, request: Request, pk: int) -> Any:
        """The machines that are asked about a campaign's pairs, or were, the newest first: how far each is."""
        return self.get_queryset()

    @operation(
        material_shapes.AskingShape, Right.DESIGN, name="machine_ask", takes=material_shapes.NewAskedMachine, status=202
    )
    def create(self, request: Request, pk: int) -> Any:
        """Have a machine asked about all pairs of a campaign in both orders, at the endpoint that whoever runs the site
        has set up. A job asks, and never the same twice; the answers then are a machine judge of the collection, which
        is compared with people and never counted among them."""
        return machine_asking.machine_asking_start(campaign=self.campaign, **self.sent, **self.signed)

    @post("stop", material_shapes.AskingShape, Right.DESIGN)
    def machine_ask_stop(self, request: Request, pk: int, asking_pk: int) -> Any:
        """Ask a machine nothing more. What it has answered stays known, and is not asked again."""
        machine_asking.machine_asking_stop(asking=self.get_object(), at=timezone.now())
        return self.get_object()
