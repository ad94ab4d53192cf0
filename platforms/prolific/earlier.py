"""Keeping those out who took part in earlier campaigns of the lab: by Prolific's filter, and at our own door."""

from django.utils.translation import gettext as _

from core.errors import NotNow
from platforms.models import Publication
from tasks.models import Assignment, Platform

KEPT_OUT, LET_IN = "previous_studies_blocklist", "previous_studies_allowlist"


def earlier_studies(lab_id: int | None) -> dict[str, str]:
    """The studies of a lab's campaigns, by id, with the names of the campaigns: the newest first."""
    published = Publication.objects.filter(campaign__lab=lab_id, platform=Platform.PROLIFIC).exclude(hit_type_id="")
    return dict(published.order_by("-id").values_list("hit_type_id", "campaign__name"))


def check_earlier(publication: Publication, worker_id: str) -> None:
    """Raise NotNow if a participant has begun in a campaign of the lab whose people the terms keep out. Prolific does
    not show them the study; an address can be passed on.
    """
    studies = [
        study
        for row in publication.requirements
        if row.get("filter_id") == KEPT_OUT
        for study in row.get("selected_values") or []
    ]
    if not studies:
        return
    earlier = Publication.objects.filter(
        campaign__lab=publication.campaign.lab_id, platform=publication.platform, hit_type_id__in=studies
    )
    if Assignment.objects.filter(campaign__publication__in=earlier, worker__external_id=worker_id).exists():
        raise NotNow(
            _(
                "You took part in an earlier study, and this one is for others. Please return it; it does not count "
                "against you."
            )
        )
