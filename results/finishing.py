"""When a campaign is finished: no work can come, nothing is owed, and its exports and results are as they will stay.

That holds for one revision of it: late work and decisions on data raise it. Opening, publishing or readmitting reopens
it (`pools.services.campaign_reopen`). Until then, no periodic job reads it.
"""

from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q

from judgments import selectors as judgment_selectors
from platforms.models import Publication
from pools.models import Campaign
from results import refreshing
from tasks.models import Assignment, CampaignAlarm, Hit


def campaigns_finish(*, at: datetime) -> int:
    """Mark the campaigns that are finished now, in one statement however many there are. How many."""
    finished = Q(finished_revision=F("revision"), finished_revision__isnull=False)
    going_on = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]).exclude(finished)
    of_it = {"campaign": OuterRef("pk")}
    wanted = Exists(Hit.objects.filter(needed__gt=0, **of_it)) | Exists(Hit.objects.filter(is_held=True, **of_it))
    at_work = Exists(Assignment.objects.filter(state=Assignment.State.ACTIVE, leased_until__gt=at, **of_it))
    alarmed = Exists(CampaignAlarm.objects.filter(settled_at=None, **of_it))
    published = Publication.objects.exclude(state=Publication.State.DRAFT).filter(**of_it)
    unsettled = Exists(published.exclude(finished_revision=OuterRef("revision"), finished_revision__isnull=False))
    in_rounds = Q(design=Campaign.Design.ROUNDS) & ~Q(rounds_revision=F("revision"), rounds_revision__isnull=False)
    over = going_on.filter(Q(state=Campaign.State.CLOSED) | ~wanted & ~in_rounds).exclude(at_work | alarmed | unsettled)
    made = over.exclude(pk__in=judgment_selectors.campaigns_to_export()).exclude(pk__in=refreshing.out_of_step())
    return made.update(finished_revision=F("revision"))
