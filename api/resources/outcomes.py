"""What comes of a campaign: export files, results, and versions of the preference qrels."""

from django.db import transaction
from django.http import FileResponse, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from api import shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.campaigns import soon
from core.errors import NotYours
from core.roles import Right
from judgments import exports, rounds
from judgments import jobs as judgment_jobs
from judgments import selectors as judgment_selectors
from judgments.downloads import TYPES, file_response
from judgments.models import StoredFile
from pools import selectors as pool_selectors
from pools.models import Collection, QrelsVersion
from results import asking, planning, tables
from results import jobs as result_jobs
from results import selectors as result_selectors
from results import versions as version_services
from results.sentences import findings

WISH = [
    OpenApiParameter("budget", OpenApiTypes.DECIMAL, description="In the campaign's currency; 40 if it is not given."),
    OpenApiParameter("judgments", OpenApiTypes.INT, description="Of each pair of a set: 3, 5 or 7; 3 if not given."),
    OpenApiParameter("wanted", OpenApiTypes.INT, description="Passages of a set, at most: 1, 2 or 3; 1 if not given."),
]
ERROR_RATE = [
    OpenApiParameter("error_rate", OpenApiTypes.DECIMAL, description="The share of wrong judgments, from 0 to 0.5."),
]
FILE = OpenApiResponse(OpenApiTypes.BINARY, description="The file.")


class Exports(Endpoint):
    """The export files of a campaign."""

    @operation("exports", answer=shapes.ExportsShape, tags=["Exports"])
    def get(self, request: Request, pk: int) -> Response:
        """The export files of a campaign, and whether they are up to date."""
        campaign = self.campaign(pk)
        made = judgment_selectors.export_of(campaign)
        stored = judgment_selectors.stored_files(campaign, StoredFile.Kind.EXPORT)
        content = {
            "made_at": made.made_at if made else None,
            "is_current": made is not None
            and not judgment_selectors.campaigns_to_export().filter(pk=campaign.pk).exists(),
            "files": sorted(stored.values(), key=lambda file: file.name),
        }
        return Response(shapes.ExportsShape(content).data)

    @operation("exports_make", answer=shapes.AskedFor, status=202, right=Right.EXPORT, tags=["Exports"])
    def post(self, request: Request, pk: int) -> Response:
        """Have the export files made now. They are also made by themselves, within minutes of new judgments."""
        transaction.on_commit(soon(judgment_jobs.make_exports, self.campaign(pk).pk))
        return Response({"asked_for": True}, status=202)


class ExportFile(Endpoint):
    """One export file."""

    @operation("export", answer=FILE, media="*/*", right=Right.EXPORT, tags=["Exports"])
    def get(self, request: Request, pk: int, name: str) -> FileResponse:
        """Download one export file, such as `preference-qrels.txt`, or all of them as `all.zip`."""
        campaign = self.campaign(pk)
        if name != exports.ARCHIVE and name not in exports.NAMES:
            raise NotYours(_("There is no export with this name."))
        return file_response(campaign, StoredFile.Kind.EXPORT, name)


class Results(Endpoint):
    """The results of a campaign."""

    @operation("results", answer=shapes.ResultsShape, tags=["Results"])
    def get(self, request: Request, pk: int) -> Response:
        """What the preferences say about the runs: in sentences, and which tables there are."""
        campaign = self.campaign(pk)
        status = result_selectors.result_status(campaign)
        data = status.result.data if status.result else None
        content = {
            "computed_at": status.result.computed_at if status.result else None,
            "final_at": status.result.final_at if status.result else None,
            "later_runs": list(pool_selectors.later_runs(campaign).values_list("name", flat=True)),
            "is_current": not status.stale,
            "judgments": status.judgments,
            "tables": tables.tables(data) if data else [],
            "findings": [said for finding in findings(data) for said in finding.sentences] if data else [],
        }
        return Response(shapes.ResultsShape(content).data)


class Compute(Endpoint):
    """Computing results."""

    @operation("results_compute", answer=shapes.AskedFor, status=202, right=Right.DESIGN, tags=["Results"])
    def post(self, request: Request, pk: int) -> Response:
        """Have the results computed now. They are also computed by themselves, soon after something has changed."""
        transaction.on_commit(soon(result_jobs.compute_results, self.campaign(pk).pk))
        return Response({"asked_for": True}, status=202)


class Further(Endpoint):
    """More judgments where answers are not certain."""

    @operation("further_offer", answer=shapes.FurtherShape, parameters=WISH, tags=["Results"])
    def get(self, request: Request, pk: int) -> Response:
        """What a budget would buy: more judgments for the queries whose confidence sets are larger than wanted, most
        certainty for a judgment first; the bill, and how many queries are expected to be settled."""
        wish = shapes.Wish(data=request.query_params)
        wish.is_valid(raise_exception=True)
        return self._answer(asking.offer_for(self.campaign(pk), **wish.validated_data))

    @operation("further_ask", takes=shapes.NewAsking, answer=shapes.FurtherShape, right=Right.SPEND, tags=["Results"])
    def post(self, request: Request, pk: int) -> Response:
        """Ask for the judgments of an offer: new HITs, which are published as others are. `seen` is the offer's, so
        that asking twice asks once."""
        return self._answer(asking.further_ask(campaign=self.campaign(pk), **checked(shapes.NewAsking, request)))

    def _answer(self, offer: asking.Offer) -> Response:
        content = offer._asdict() | {"queries": len(offer.queries), "hits": offer.bill.hits, "total": offer.bill.total}
        return Response(shapes.FurtherShape(content).data)


class Plan(Endpoint):
    """How many judgments a campaign needs."""

    @operation("results_plan", answer=shapes.PlanShape, parameters=ERROR_RATE, tags=["Results"])
    def get(self, request: Request, pk: int) -> Response:
        """What 1, 3 or 5 judgments of each pair cost, and how sure the best known answers would be: simulated, by the
        share of wrong judgments that you name, that the judgments show, or, while nothing shows it, 30%."""
        campaign = self.campaign(pk)
        sent = shapes.WrongJudgments(data=request.query_params)
        sent.is_valid(raise_exception=True)
        observed = planning.observed_error(campaign)
        rate = float(sent.validated_data.get("error_rate", planning.likely_error(observed)))
        planned = planning.plan_for(campaign, result_selectors.stored_data(campaign), rate)
        content = {
            "error_rate": rate,
            "observed": observed._asdict() if observed else None,
            "pools": planned.pools if planned else 0,
            "draws": planned.draws if planned else 0,
            "overlaps": planned.rows if planned else [],
        }
        return Response(shapes.PlanShape(content).data)


class Rounds(Endpoint):
    """The rounds of a campaign in rounds."""

    pagination_class = Pages

    @operation("rounds", answer=shapes.RoundShape(many=True), tags=["Results"])
    def get(self, request: Request, pk: int) -> Response:
        """The rounds that were planned until now, the newest first; none for other designs."""
        return self.page_of(self.campaign(pk).rounds.select_related("asked_by"), shapes.RoundShape)


class RoundAsk(Endpoint):
    """Asking a round."""

    @operation("round_ask", answer=shapes.RoundShape, right=Right.SPEND, tags=["Results"])
    def post(self, request: Request, pk: int, number: int) -> Response:
        """Ask a round that waits for a person: its pairs are packed into new HITs, which are published as others are.
        Asked again, nothing happens."""
        by, at = user_of(request), timezone.now()
        asked = rounds.round_ask(campaign=self.campaign(pk), number=number, by=by, at=at)
        return Response(shapes.RoundShape(asked).data)


class Table(Endpoint):
    """One table of the results."""

    @operation("results_table", answer=shapes.TableShape, tags=["Results"])
    def get(self, request: Request, pk: int, name: str) -> Response:
        """One table of the results, all of its rows. A share with an interval is a list; what is not known is null."""
        data = result_selectors.table_data(self.campaign(pk), name)
        table = None if data is None else tables.table(data, name)
        if table is None:
            raise NotYours(_("These results have no such table. Tables appear once the results are computed."))
        return Response(table_content(table))


def table_content(table: tables.Table) -> dict[str, object]:
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


# --- versions


class NumberPages(Pages):
    """By number."""

    ordering = "-number"


class Versions(Endpoint):
    """The versions of a collection's preference qrels."""

    pagination_class = NumberPages

    @operation("versions", answer=shapes.VersionShape(many=True), tags=["Versions"])
    def get(self, request: Request, pk: int) -> Response:
        """The versions of a collection's preference qrels, newest first."""
        return self.page_of(self.collection(pk).versions.all(), shapes.VersionShape)


class NewVersion(Endpoint):
    """A new version."""

    @operation(
        "version_create",
        takes=shapes.NewVersion,
        answer=shapes.VersionShape,
        status=201,
        right=Right.MAINTAIN,
        tags=["Versions"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Make a version of what a campaign has settled. It is refused if another came after `parent`."""
        campaign, sent = self.campaign(pk), checked(shapes.NewVersion, request)
        version = version_services.version_add(campaign=campaign, by=user_of(request), at=timezone.now(), **sent)
        transaction.on_commit(soon(result_jobs.score_versions, version.collection_id))
        address = reverse("api:v1:version", args=[version.collection_id, version.number])
        return Response(shapes.VersionShape(version).data, status=201, headers={"Location": address})


def version_of(collection: Collection, number: int) -> QrelsVersion:
    """A version of a collection. Raises NotYours."""
    version = collection.versions.filter(number=number).first()
    if version is None:
        raise NotYours(_("This collection has no such version of its preference qrels."))
    return version


class VersionOne(Endpoint):
    """One version."""

    @operation("version", answer=shapes.VersionShape, tags=["Versions"])
    def get(self, request: Request, pk: int, number: int) -> Response:
        """One version: where it comes from, and what it changed."""
        return Response(shapes.VersionShape(version_of(self.collection(pk), number)).data)


class VersionQrels(Endpoint):
    """The qrels of a version."""

    @operation("version_qrels", answer=FILE, media="text/plain", right=Right.EXPORT, tags=["Versions"])
    def get(self, request: Request, pk: int, number: int) -> HttpResponse:
        """Download the preference qrels of a version, in TREC format."""
        version = version_of(self.collection(pk), number)
        lines = "".join(version_services.qrels_lines(pool_selectors.version_answers(version)))
        return HttpResponse(lines, content_type=TYPES["txt"], headers={"ETag": f'"{version.sha256}"'})
