"""Results that were final until others took their place."""

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.utils.translation import gettext as _

from core.errors import NotYours
from judgments.downloads import file_response
from judgments.models import StoredFile
from pools.models import Campaign
from results.models import EarlierResult


def earlier_results(campaign: Campaign) -> QuerySet[EarlierResult]:
    """Results that were final before the present ones, the newest first, without their data."""
    return EarlierResult.objects.filter(campaign=campaign).defer("data").order_by("-number")


def result_of(campaign: Campaign, number: int) -> EarlierResult:
    """One of them. Raises NotYours where there is none of this number."""
    result = EarlierResult.objects.filter(campaign=campaign, number=number).select_related("campaign").first()
    if result is None:
        raise NotYours(_("This campaign has no such earlier results."))
    return result


def must_not_tell(result: EarlierResult) -> str:
    """Why the report of earlier results may not leave; empty if it may. A run that was released then may not be now."""
    held_back = set(result.campaign.runs.filter(is_released=False).values_list("name", flat=True))
    since = sorted(held_back.difference(result.data.get("held_back_runs", ())))
    if not since:
        return ""
    text = _("The report of these results has passages of runs that are held back since: %(names)s.")
    return text % {"names": ", ".join(since)}


def report_of(campaign: Campaign, number: int) -> HttpResponseBase:
    """The report of earlier results. Raises NotYours where there is none, or a run has been held back since."""
    result = result_of(campaign, number)
    if refused := must_not_tell(result):
        raise NotYours(refused)
    return file_response(campaign, StoredFile.Kind.KEPT, result.report)
