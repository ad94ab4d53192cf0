"""The files of a campaign's results, one query, machine judges beside people, and the scores on a version."""

from collections.abc import Iterator

from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import result_shapes
from api.frame import Endpoint, operation
from api.resources.outcomes import FILE, table_content, version_of
from core.errors import NotYours
from core.roles import Right
from judgments import selectors as judgment_selectors
from judgments.downloads import TYPES, file_response
from judgments.machines import answers_of
from judgments.models import StoredFile
from pools import selectors as pool_selectors
from pools import services as pool_services
from results.earlier import earlier_results, report_of
from results.machine_tables import judges_beside, machine_data
from results.models import MachineComparison
from results.pool_detail import pool_detail
from results.report import ARCHIVE, SETS
from results.version_tables import version_scores

TAGS = ["Results"]
BESIDE = [OpenApiParameter("beside", OpenApiTypes.INT, description="Another version; the original qrels if not given.")]
MEASURE = OpenApiParameter("measure", description="RR@10 if not given, or another that the version's campaign names.")


class _ResultFile(Endpoint):
    def file(self, pk: int, name: str) -> FileResponse:
        """A stored file of the results. Raises NotYours, and NotMadeYet before the results are computed."""
        campaign, kind = self.campaign(pk), StoredFile.Kind.RESULT
        files = judgment_selectors.stored_files(campaign, kind)
        if files and name not in files:
            raise NotYours(_("These results have no such table, figure or report."))
        return file_response(campaign, kind, name)


class Report(_ResultFile):
    """The report."""

    @operation("report", answer=FILE, media="application/zip", tags=TAGS)
    def get(self, request: Request, pk: int) -> FileResponse:
        """Download the whole report on a campaign's results: pages, tables, figures, and a manifest."""
        return self.file(pk, ARCHIVE)


class EarlierResults(Endpoint):
    """Results that were final once."""

    @operation("earlier_results", answer=result_shapes.EarlierShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """Results that were final until others took their place, the newest first."""
        found = earlier_results(self.campaign(pk))
        return Response(result_shapes.EarlierShape(found, many=True).data)


class EarlierReport(Endpoint):
    """A report of results that were final once."""

    @operation("earlier_report", answer=FILE, media="application/zip", tags=TAGS)
    def get(self, request: Request, pk: int, number: int) -> FileResponse:
        """Download the report of earlier results, as it was."""
        return report_of(self.campaign(pk), number)


class LaterRuns(Endpoint):
    """Runs that came after a campaign finished."""

    @operation("later_runs_score", answer=result_shapes.LaterRuns, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Score the runs that came after the campaign finished, as new results beside those that there are."""
        return Response({"scored": pool_services.later_runs_score(campaign=self.campaign(pk))})


class ConfidenceSets(_ResultFile):
    """The confidence sets."""

    @operation("confidence_sets", answer=FILE, media="text/plain", tags=TAGS)
    def get(self, request: Request, pk: int) -> FileResponse:
        """Download the confidence sets of all queries, as TREC qrels."""
        return self.file(pk, SETS)


class TableFile(_ResultFile):
    """A table as a file."""

    @operation("results_table_file", answer=FILE, media="*/*", tags=TAGS)
    def get(self, request: Request, pk: int, name: str, form: str) -> FileResponse:
        """Download one table of the results as `csv` or `tex`, all of its rows."""
        if form not in ("csv", "tex"):
            raise NotYours(_("Tables are available as .csv and .tex files."))
        return self.file(pk, f"tables/{name}.{form}")


class Figure(_ResultFile):
    """A figure."""

    @operation("results_figure", answer=FILE, media="*/*", tags=TAGS)
    def get(self, request: Request, pk: int, name: str, form: str) -> FileResponse:
        """Download one figure of the results as `svg`, `pdf` or `png`. The report names them."""
        if form not in ("svg", "pdf", "png"):
            raise NotYours(_("Figures can be had as .svg, .pdf and .png."))
        return self.file(pk, f"figures/{name}.{form}")


class QueryOne(Endpoint):
    """One query."""

    @operation("campaign_query", answer=result_shapes.QueryDetail, tags=TAGS)
    def get(self, request: Request, pk: int, pool_pk: int) -> Response:
        """One query of a campaign: the passages of its pool with their texts, who beat whom, the best known answers."""
        pool = self.campaign(pk).pools.select_related("query", "campaign").filter(pk=pool_pk).first()
        if pool is None:
            raise NotYours(_("This campaign has no such query."))
        detail = pool_detail(pool)
        content = {
            "id": pool.pk,
            "qid": pool.query.qid,
            "text": pool.query.text,
            "is_complete": detail.complete,
            "passages": detail.candidates,
            "pairs": detail.pairs,
        }
        return Response(result_shapes.QueryDetail(content).data)


# --- machine judges


class MachinesBeside(Endpoint):
    """Machine judges beside people."""

    @operation("machines_beside", answer=result_shapes.MachinesBeside, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """Each machine judge of the campaign's collection beside its people, as last compared: all that was counted."""
        judges = machine_data(judges_beside(self.campaign(pk), whole=True))
        return Response(result_shapes.MachinesBeside({"judges": judges}).data)


class MachineWinners(Endpoint):
    """The winners by a machine."""

    @operation("machine_winners", answer=FILE, media="text/plain", right=Right.EXPORT, tags=TAGS)
    def get(self, request: Request, pk: int, judge_pk: int) -> HttpResponse:
        """Download the winners by a machine judge's answers alone, in TREC format. They are in no other file."""
        compared = MachineComparison.objects.filter(campaign=self.campaign(pk), judge=judge_pk)
        found = compared.values_list("qrels", flat=True).first()
        if not found:
            raise NotYours(_("There are no winners by this machine judge in this campaign, or not yet."))
        return HttpResponse(found.encode(), content_type=TYPES["txt"])


class MachineAnswers(Endpoint):
    """The answers of a machine."""

    @operation("machine_answers", answer=FILE, media="text/plain", right=Right.EXPORT, tags=["Collections"])
    def get(self, request: Request, pk: int, judge_pk: int) -> StreamingHttpResponse:
        """Download a machine judge's answers as they were imported: lines `query a b preferred`."""
        judge = self.collection(pk).machine_judges.filter(pk=judge_pk).first()
        if judge is None:
            raise NotYours(_("This collection has no such machine judge."))
        return StreamingHttpResponse(
            (" ".join(answer) + "\n" for answer in answers_of(judge)), content_type=TYPES["txt"]
        )


# --- collections


class MissingPassages(Endpoint):
    """Passages without a text."""

    @operation("missing_passages", answer=FILE, media="text/plain", tags=["Collections"])
    def get(self, request: Request, pk: int) -> StreamingHttpResponse:
        """Download the ids of the passages of a collection that lack a text, one a line."""
        rows = pool_selectors.untexted_passages(self.collection(pk)).values_list("pid", flat=True)

        def lines() -> Iterator[str]:
            for pid in rows.iterator(chunk_size=10_000):
                yield f"{pid}\n"

        return StreamingHttpResponse(lines(), content_type=TYPES["txt"])


class VersionScores(Endpoint):
    """Scores on a version."""

    @operation(
        "version_scores", answer=result_shapes.VersionScoresShape, parameters=[*BESIDE, MEASURE], tags=["Versions"]
    )
    def get(self, request: Request, pk: int, number: int) -> Response:
        """The scores of all runs on a version of the preference qrels, beside those on the original qrels or on another
        version."""
        version, asked = version_of(self.collection(pk), number), request.query_params.get("beside", "")
        if asked and not (asked.isdecimal() and len(asked) < 10):
            raise ValidationError({"beside": [_("This is not the number of a version.")]})
        beside, measure = (
            version_of(version.collection, int(asked)) if asked else None,
            request.query_params.get("measure"),
        )
        scores = version_scores(version, beside, measure or "")
        if measure and measure != scores.measure:
            named = ", ".join(scores.measures)
            raise ValidationError({"measure": [_("This is none of %(measures)s.") % {"measures": named}]})
        about = {
            "measure": scores.measure,
            "tau": scores.tau,
            "waiting": scores.waiting,
            "unreadable": dict(scores.unreadable),
        }
        return Response(table_content(scores.table) | about)
