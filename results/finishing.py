"""When a campaign is finished: no work can come, nothing is owed, and its exports and results are as they will stay.

The runs that it scores are fixed then, and its results are final: results.refreshing keeps them beside later ones.

That holds for one revision of it: late work and decisions on data raise it. Opening, publishing or readmitting reopens
it (`pools.services.campaign_reopen`). Until then, no periodic job reads it.
"""

from datetime import datetime

from django.contrib.postgres.aggregates import JSONBAgg
from django.db import transaction
from django.db.models import Exists, F, JSONField, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce

from core.models import Alarm
from evaluation.judging.designs import designs_that
from judgments import selectors as judgment_selectors
from platforms.models import Publication
from pools.models import Campaign
from results import refreshing
from results.models import Result
from runs.models import Run
from tasks.models import Assignment, Hit


@transaction.atomic
def campaigns_finish(*, at: datetime) -> int:
    """Mark the campaigns that are finished now, in two statements however many there are. How many."""
    finished = Q(finished_revision=F("revision"), finished_revision__isnull=False)
    going_on = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING]).exclude(finished)
    of_it = {"campaign": OuterRef("pk")}
    lacks = Exists(Hit.objects.filter(needed__gt=0, **of_it)) | Exists(Hit.objects.filter(is_held=True, **of_it))
    at_work = Exists(Assignment.objects.filter(state=Assignment.State.ACTIVE, leased_until__gt=at, **of_it))
    alarmed = Exists(Alarm.objects.filter(settled_at=None, **of_it))
    published = Publication.objects.exclude(state=Publication.State.DRAFT).filter(**of_it)
    unsettled = Exists(published.exclude(finished_revision=OuterRef("revision"), finished_revision__isnull=False))
    in_rounds = Q(design__in=designs_that("goes_on")) & ~Q(rounds_revision=F("revision"), rounds_revision__isnull=False)
    over = going_on.filter(Q(state=Campaign.State.CLOSED) | ~lacks & ~in_rounds).exclude(at_work | alarmed | unsettled)
    done = over.exclude(pk__in=judgment_selectors.campaigns_to_export()).exclude(pk__in=refreshing.out_of_step())
    runs = Run.objects.filter(collection=OuterRef("collection")).order_by().values("collection")
    fixed = Coalesce(F("fixed_runs"), Subquery(runs.values(keys=JSONBAgg("id"))), Value([], JSONField()))
    count = done.update(finished_revision=F("revision"), fixed_runs=fixed)
    # Not only of these: who opens a finished campaign again and changes nothing has it finish with the same results.
    of_finished = Q(revision=F("campaign__revision"), campaign__finished_revision=F("campaign__revision"))
    Result.objects.filter(of_finished, final_at=None).update(final_at=at)
    return count
