"""Erasing a whole campaign: every row and file of it, where nothing else rests on them.

Judgments are append-only. The one way to delete them is a function of the database that deletes a whole closed
campaign's, called here, in one transaction with all else that goes.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from core.audit.notes import entry_note
from core.audit.origin import because
from core.audit.retention import worker_forget
from core.errors import NotNow
from judgments.models import Acceptance, Decision, Judgment, PairReport, Reuse, ReusedJudgment, StoredFile, WorkerNote
from platforms.models import Publication, TermsVersion
from platforms.money.pay_desk import desk_of
from pools.models import Campaign, Pair
from review.models import BulkDecision
from runs.models import Job
from tasks.models import Assignment, Consent, Hit, Invitation, Item, PanelVisit, Practice, TestPair, Worker

NAMED = 5  # of what stands in the way, by name


class CampaignPlan(NamedTuple):
    """What erasing a campaign would do: `goes` as (key, what, how many), `stays` as (what, why), `obstacles` as
    sentences.
    """

    campaign: Campaign
    goes: list[tuple[str, str, int]]
    owed: Decimal
    stays: list[tuple[str, str]]
    obstacles: list[str]

    def as_json(self) -> dict[str, Any]:
        """The same for a script."""
        return {
            "campaign": self.campaign.name,
            "lab": self.campaign.lab.name,
            "goes": {key: count for key, _what, count in self.goes if count},
            "owed": str(self.owed),
            "stays": [{"what": what, "why": why} for what, why in self.stays],
            "obstacles": self.obstacles,
        }


def whole_plan(campaign: Campaign, *, at: datetime) -> CampaignPlan:
    """What erasing the whole campaign would do now, and what stands in the way."""
    assignments = Assignment.objects.filter(campaign=campaign)
    goes = [
        ("campaign", _("the campaign, with its settings and wording"), 1),
        ("judgments", _("judgments"), Judgment.objects.filter(assignment__campaign=campaign).count()),
        ("assignments", _("assignments"), assignments.count()),
        ("decisions", _("decisions on work and workers"), Decision.objects.filter(campaign=campaign).count()),
        ("adjudications", _("settled disagreements"), campaign.adjudications.count()),
        ("reports", _("reports of pairs, and notes"), _reports(campaign).count() + _notes(campaign).count()),
        ("workers", _("workers who took part in no other campaign"), _only_here(campaign).count()),
        ("consents", _("consents"), Consent.objects.filter(text__campaign=campaign).count()),
        ("hits", _("HITs"), Hit.objects.filter(campaign=campaign).count()),
        ("pairs", _("pairs"), Pair.objects.filter(pool__campaign=campaign).count()),
        ("test_pairs", _("test pairs"), TestPair.objects.filter(campaign=campaign).count()),
        (
            "files",
            _("files: exports, results and release bundles"),
            StoredFile.objects.filter(campaign=campaign).count(),
        ),
    ]
    stays = [
        (_("the collection, its runs, and preferences that were imported into it"), _("They are not the campaign's.")),
        (_("workers who took part in other campaigns too"), _("They can be erased one by one.")),
        (_("the audit, without what it says of workers"), _("It says who erased what, when and why.")),
        (_("copies in backups, and files that were downloaded"), _("They go when you remove them.")),
    ]
    return CampaignPlan(campaign, goes, desk_of(campaign).by_hand.to_pay, stays, _obstacles(campaign, at))


def _obstacles(campaign: Campaign, at: datetime) -> list[str]:
    """Why a campaign's rows have to stay."""
    reasons = []
    if campaign.state != Campaign.State.CLOSED:
        reasons.append(_("The campaign is not closed."))
    if campaign.assignments.filter(state=Assignment.State.ACTIVE, leased_until__gt=at).exists():
        reasons.append(_("Somebody is judging now. Wait until the task is finished, left, or out of time."))
    if _was_published(campaign):
        reasons.append(
            _(
                "It was published at a platform: its payments and calls are the ledger, which has to agree with the "
                "platform's, and may be needed for taxes. Erase its workers' identities instead."
            )
        )
    if campaign.hand_payments.exists():
        reasons.append(
            _(
                "Payments to its workers are recorded here, and may be needed for taxes. Erase its workers' identities "
                "instead."
            )
        )
    versions = [f"{version.collection} {version.number}" for version in campaign.versions.order_by("pk")[:NAMED]]
    if versions:
        text = _("Versions of the preference qrels rest on its judgments: %(which)s. They are never taken back.")
        reasons.append(text % {"which": get_text_list(versions, _("and"))})
    reusing = Campaign.objects.filter(reuses__source=campaign).distinct().order_by("name")[:NAMED]
    if reusing:
        names = get_text_list([f"“{other.name}”" for other in reusing], _("and"))
        reasons.append(_("Other campaigns reuse its judgments: %(which)s. Erase these first.") % {"which": names})
    return reasons


def _was_published(campaign: Campaign) -> bool:
    publication = Publication.objects.filter(campaign=campaign).first()
    return publication is not None and any(
        rows.exists()
        for rows in (
            *(publication.published_hits, publication.operations, publication.payments, publication.submissions),
            publication.messages,
        )
    )


def _only_here(campaign: Campaign) -> QuerySet[Worker]:
    """Workers of the campaign on whom nothing else rests."""
    came = Q(assignments__campaign=campaign) | Q(invitations__campaign=campaign) | Q(consents__text__campaign=campaign)
    workers = Worker.objects.filter(pk__in=Worker.objects.filter(came).values("pk"))
    for elsewhere in (
        Assignment.objects.exclude(campaign=campaign),
        Invitation.objects.exclude(campaign=campaign),
        Consent.objects.exclude(text__campaign=campaign),
        PanelVisit.objects.exclude(panel__campaign=campaign),
        Decision.objects.exclude(campaign=campaign),
    ):
        workers = workers.exclude(pk__in=elsewhere.values_list("worker_id", flat=True))
    return workers.filter(operations=None, messages=None)


def _reports(campaign: Campaign) -> QuerySet[PairReport]:
    return PairReport.objects.filter(assignment__campaign=campaign)


def _notes(campaign: Campaign) -> QuerySet[WorkerNote]:
    return WorkerNote.objects.filter(assignment__campaign=campaign)


@transaction.atomic
def whole_erase(*, campaign: Campaign, at: datetime, why: str = "") -> CampaignPlan:
    """Delete a closed campaign with all its rows and files. Raises NotNow while something else rests on them."""
    campaign = Campaign.objects.select_for_update(of=("self",)).select_related("lab").get(pk=campaign.pk)
    plan = whole_plan(campaign, at=at)
    if plan.obstacles:
        raise NotNow(_("The campaign cannot be erased. %(why)s") % {"why": " ".join(plan.obstacles)})
    workers = list(_only_here(campaign).values_list("pk", flat=True))
    files = list(StoredFile.objects.filter(campaign=campaign).values_list("file", flat=True))
    key, name, lab_id = campaign.pk, campaign.name, campaign.lab_id
    with because(why):
        Acceptance.objects.filter(assignment__campaign=campaign).delete()
        ReusedJudgment.objects.filter(reuse__campaign=campaign).delete()
        Reuse.objects.filter(campaign=campaign).delete()
        BulkDecision.objects.filter(campaign=campaign).delete()
        _reports(campaign).delete()
        _notes(campaign).delete()
        with connection.cursor() as cursor:
            cursor.execute("SELECT judgments_erase_campaign(%s)", [campaign.pk])
        Practice.objects.filter(campaign=campaign).delete()
        PanelVisit.objects.filter(panel__campaign=campaign).delete()
        Assignment.objects.filter(campaign=campaign).delete()
        Item.objects.filter(hit__campaign=campaign).delete()
        Consent.objects.filter(text__campaign=campaign).delete()
        TermsVersion.objects.filter(publication__campaign=campaign).delete()
        Job.objects.filter(outcome_id=campaign.pk).update(outcome_id=None)
        campaign.delete()
        Worker.objects.filter(pk__in=workers).delete()
        for worker_id in workers:
            worker_forget(worker_id=worker_id)
        entry_note(
            subject="erasure", action="campaign", key=key, thing=name, lab_id=lab_id, campaign_id=key, campaign=name
        )
    transaction.on_commit(lambda: _files_delete(files))
    return plan._replace(campaign=Campaign(pk=key, name=name, lab=plan.campaign.lab))


def _files_delete(names: list[str]) -> None:
    for name in names:
        default_storage.delete(name)
