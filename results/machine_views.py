"""The page of a campaign on which machine judges are shown beside people, and its files."""

import json

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from core.errors import NotYours
from core.http import Request
from core.lists import Listing
from core.roles import Right, needs
from evaluation.statistics.alternative_annotator import PAIRS, PEOPLE
from judgments.downloads import TYPES, attachment
from machines.answers import answers_of
from machines.models import MachineJudge
from pools.http import campaign_of
from pools.models import Campaign
from results.machine_tables import judges_beside, machine_data, machine_table, tables_of
from results.machines import SOFTWARE, has_winners
from results.models import MachineComparison
from results.presentation import Shown, cells
from results.writing import FORMS, as_csv

SHOWN = 50  # rows of a table on a page; all of them are in its files
SORTS = {"name": "name", "model": "model", "imported": "imported_at"}


@needs(Right.SEE)
@require_GET
def machines(request: Request, pk: int) -> HttpResponse:
    """Each machine judge of the campaign's collection beside its people, as last compared."""
    campaign = campaign_of(request, pk)
    listing = Listing(request, judges_beside(campaign), sorts=SORTS)
    judges = list(listing.page.object_list)
    table = machine_table(judges)
    compared = [row for judge in judges for row in judge.compared]
    context = {
        "campaign": campaign,
        "listing": listing,
        "table": table,
        "rows": list(zip(judges, cells(table, table.rows, {}), strict=True)),
        "people": next((row.data["people"] for row in compared), None),
        "waiting": len(judges) - len(compared),
        "changed": any(row.revision < campaign.revision for row in compared),
        "has_winners": has_winners(campaign),
    }
    return render(request, "results/machines.html", context)


@needs(Right.SEE)
@require_GET
def machines_file(request: Request, pk: int, form: str) -> HttpResponse:
    """The same as CSV, or all that was counted as JSON."""
    campaign = campaign_of(request, pk)
    if form not in ("csv", "json"):
        raise NotYours(_("The comparison is available as a .csv and a .json file."))
    if form == "csv":
        body = as_csv(machine_table(judges_beside(campaign)))
    else:
        data = {"campaign": campaign.name, "judges": machine_data(judges_beside(campaign, whole=True))}
        body = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return attachment(f"{_base(campaign)}-machines.{form}", body)


@needs(Right.SEE)
@require_GET
def machine(request: Request, pk: int, judge_pk: int) -> HttpResponse:
    """What one machine judge is worth here: whether it may stand in for people, and scores that it helps with."""
    campaign = campaign_of(request, pk)
    judge = _judge_of(campaign, judge_pk)
    comparison = _compared(campaign, judge)
    if comparison is None:
        raise NotYours(_("This machine judge has not been compared with people here yet."))
    context = {
        "campaign": campaign,
        "judge": judge,
        "comparison": comparison,
        "data": comparison.data,
        "test": comparison.data["stand_in"],
        "favour": comparison.data["favour"],
        "favoured_by": abs(comparison.data["favour"]["mean"]) if comparison.data["favour"] else None,
        "least": {"pairs": PAIRS, "people": PEOPLE},
        "tables": [Shown.first(table, SHOWN) for table in tables_of(comparison) if table.rows],
        "changed": comparison.revision < campaign.revision,
    }
    return render(request, "results/machine.html", context)


@needs(Right.SEE)
@require_GET
def machine_table_file(request: Request, pk: int, judge_pk: int, name: str, form: str) -> HttpResponse:
    """One of its tables as CSV or LaTeX."""
    campaign = campaign_of(request, pk)
    judge = _judge_of(campaign, judge_pk)
    comparison = _compared(campaign, judge)
    table = next((table for table in tables_of(comparison) if table.name == name), None) if comparison else None
    if table is None or form not in FORMS:
        raise NotYours(_("Tables are available as .csv and .tex files."))
    return attachment(f"{_machine_base(campaign, judge)}-{name}.{form}", FORMS[form](table))


def _compared(campaign: Campaign, judge: MachineJudge) -> MachineComparison | None:
    rows = MachineComparison.objects.filter(campaign=campaign, judge=judge, software=SOFTWARE)
    return rows.defer("qrels", "runs").first()


def _judge_of(campaign: Campaign, pk: int) -> MachineJudge:
    judge = campaign.collection.machine_judges.filter(pk=pk).first()
    if judge is None:
        raise NotYours(_("This collection has no such machine judge."))
    return judge


@needs(Right.EXPORT)
@require_GET
def machine_file(request: Request, pk: int, judge_pk: int, what: str) -> HttpResponseBase:
    """A machine's answers as they were imported, or the winners by its answers alone, in a file of its own."""
    campaign = campaign_of(request, pk)
    judge = _judge_of(campaign, judge_pk)
    if what not in ("answers", "qrels"):
        raise NotYours(_("This collection has no such machine judge."))
    name = f"{_machine_base(campaign, judge)}-{what}.txt"
    if what == "answers":
        return StreamingHttpResponse(
            (" ".join(answer) + "\n" for answer in answers_of(judge)),
            content_type=TYPES["txt"],
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
    qrels = MachineComparison.objects.filter(campaign=campaign, judge=judge).values_list("qrels", flat=True).first()
    if not qrels:
        raise NotYours(_("There are no winners by this machine judge in this campaign, or not yet."))
    return attachment(name, qrels)


def _machine_base(campaign: Campaign, judge: MachineJudge) -> str:
    return f"{_base(campaign)}-machine-{slugify(judge.name) or judge.pk}"


def _base(campaign: Campaign) -> str:
    return slugify(campaign.name) or str(campaign.pk)
