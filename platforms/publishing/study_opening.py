"""When a campaign's one study is open. Its places are not tied to HITs, and what people who come by a link take or do
leaves it more places than HITs: so it is open only while whoever takes a place gets a HIT.
"""

from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from platforms.models import Operation, Publication, PublishedHit, StudySync, Submission
from platforms.planning import end_plan, reopen_plan
from platforms.publishing.protocol import Studies
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks.models import Assignment, Hit

Kind = Operation.Kind


def study_end(*, publication: Publication, adapter: Studies, at: datetime) -> int:
    """Stop a study that is not needed any more; pause it for now where its next participant would find nothing. How
    many of its HITs are ended. The caller holds the publication's lock.
    """
    if publication.operations.filter(kind=Kind.EXPIRE, ended_at=None).exists():
        return 0
    ours = _posted(publication)
    free = ours.filter(expires_at__gt=at, max_assignments__gt=Coalesce(Subquery(_stored()), 0))
    if publication.campaign.state == Campaign.State.CLOSED or not _is_needed(publication, at):
        ended = ours if study_pause(publication) else free
        return end_plan(publication=publication, published_hits=ended.order_by("id")[:1], at=at)
    if free.exists() and _finds_nothing(publication, adapter, at):
        return end_plan(publication=publication, published_hits=free.order_by("id")[:1], at=at, for_now=True)
    return 0


def study_reopen(*, publication: Publication, adapter: Studies, at: datetime) -> int:
    """Open a study again that was paused for now, once its next participant would get a HIT. How many calls."""
    pause = study_pause(publication)
    if pause is None or pause.until is None or _finds_nothing(publication, adapter, at):
        return 0
    ours = _posted(publication).order_by("id")[:1]
    return reopen_plan(publication=publication, published_hits=ours, until=pause.until, at=at)


def study_pause(publication: Publication) -> Operation | None:
    """The call that paused a study for now, if nothing has moved it since."""
    last = publication.operations.filter(kind__in=(Kind.EXPIRE, Kind.REOPEN)).order_by("-turn").first()
    if last is None or last.kind != Kind.EXPIRE or last.until is None or last.result.get("status") != "PAUSED":
        return None
    return last


def _posted(publication: Publication) -> QuerySet[PublishedHit]:
    return publication.published_hits.filter(hit__isnull=False).exclude(platform_hit_id="")


def _stored() -> QuerySet[Any, Any]:
    stored = Submission.objects.filter(published_hit=OuterRef("pk")).order_by().values("published_hit")
    return stored.annotate(n=Count("pk")).values("n")


def _is_needed(publication: Publication, at: datetime) -> bool:
    """Whether any HIT of a campaign needs work, or is being worked on."""
    needed = Hit.objects.filter(campaign=publication.campaign_id, needed__gt=0)
    running = Assignment.objects.filter(
        campaign=publication.campaign_id, state=Assignment.State.ACTIVE, leased_until__gt=at
    )
    return needed.exists() or running.exists()


def _finds_nothing(publication: Publication, adapter: Studies, at: datetime) -> bool:
    """Whether the study has a free place, and all HITs are with others, or are left for those who are on their way: who
    took a place there and have not begun here. Where nobody comes by a link, there are as many HITs as places.
    """
    rows = Assignment.objects.filter(campaign=publication.campaign_id)
    if not rows.filter(platform_assignment_id="").exists():
        return False
    counts = StudySync.objects.filter(publication=publication).values_list("counts", flat=True).first() or {}
    used, at_work = adapter.places_taken(counts)
    places = publication.published_hits.filter(hit__isnull=False).aggregate(n=Sum("max_assignments", default=0))["n"]
    begun = rows.filter(submission=None, leased_until__gt=at).exclude(platform_assignment_id="").count()
    return used < places and task_selectors.hits_free(publication.campaign, at) <= max(0, at_work - begun)
