"""Going on after a pilot at another pay: the pilot ends, and a copy of it reuses what it judged."""

from copy import copy
from datetime import datetime
from decimal import Decimal
from itertools import count

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import NotNow, Refused
from core.models import User
from platforms.models import Publication
from platforms.publishing.publications import campaign_move
from platforms.registry import SANDBOXES
from platforms.terms import TERMS, publication_write
from pools import services as pool_services
from pools.models import Campaign
from pools.settings import settings_of
from pools.wording import EXAMPLE
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.paying import pay_words_of, pay_words_write
from tasks.pilots import LIVE, held_back

SETTINGS = [*(field.name for field in settings_of(Campaign)), *EXAMPLE]
LONGEST_NAME = Campaign._meta.get_field("name").max_length or 0
NAMED = 3  # campaigns that a message names
MOST_PAIRS = 20_000  # that are dealt with at once; a larger campaign is copied on the page for new ones


class BelowFloor(Refused):
    """The rest of a pilot would pay less an hour than the lab's floor."""

    title = "The pay is below the lab's floor"


@transaction.atomic
def rest_copy(*, campaign: Campaign, reward: Decimal, by: User, at: datetime) -> Campaign:
    """End a pilot, and return a draft like it at another pay: with its settings, runs, wording, consent text, test
    pairs and terms. It asks only about pairs that the pilot did not finish.

    Raises NotNow unless HITs are held back and the campaign is open or paused, Refused where the copy would reuse
    something else than what the pilot judged, and BelowFloor where the pay is below the lab's floor by the time that
    the pilot took, or by the time that the draft is expected to take.
    """
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    _check_copied(campaign)
    repaid = copy(campaign)
    repaid.reward = reward
    _check_floor(repaid)
    settings = {name: getattr(campaign, name) for name in SETTINGS} | {"reward": reward}
    if campaign.reuse == Campaign.Reuse.NOTHING:
        settings["reuse"] = Campaign.Reuse.CAMPAIGNS
    draft = pool_services.campaign_create(
        lab=campaign.lab,
        collection=campaign.collection,
        runs=campaign.runs.order_by("name"),
        name=_free_name(campaign),
        created_by=by,
        **settings,
    )
    consent = task_selectors.current_consent(campaign)
    if consent is not None:
        task_services.consent_write(campaign=draft, text=consent.text)
    words = pay_words_of(campaign)
    if words.pk is not None:
        pay_words_write(campaign=draft, how=words.how, asked=words.asked)
    task_services.test_pairs_copy(campaign=draft, source=campaign, by=by, at=at)
    _check_floor(draft)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is not None:
        terms = {name: getattr(publication, name) for name in TERMS}
        publication_write(campaign=draft, **terms | {"base": min(publication.base, reward)})
    campaign_move(campaign=campaign, to=Campaign.State.CLOSED, at=at)
    return draft


def rest_copy_obstacle(campaign: Campaign) -> str:
    """Why a pilot cannot go on at another pay, whatever that is; empty if it can."""
    try:
        _check_copied(campaign)
    except Refused as error:
        return str(error)
    return ""


def _check_copied(campaign: Campaign) -> None:
    """Raises NotNow or Refused where `rest_copy` does at any pay."""
    if campaign.state not in LIVE or not held_back(campaign):
        raise NotNow(_("No HITs are held back, so there is nothing to launch at another pay."))
    if campaign.pair_count > MOST_PAIRS:
        raise Refused(
            _(
                "The campaign is too large to be copied at once. Close it, and then copy it with “Copy it with other "
                "settings”."
            )
        )
    _check_reuse(campaign)


def _check_reuse(campaign: Campaign) -> None:
    """Raises Refused where a copy would not reuse what the pilot judged, or would reuse more than the campaign asks
    for.
    """
    published = Publication.objects.exclude(state=Publication.State.DRAFT)
    trials = published.filter(platform__in=SANDBOXES).values("campaign")
    if trials.filter(campaign=campaign).exists():
        raise Refused(
            _(
                "What was judged in the sandbox of Mechanical Turk counts in its own campaign alone, so a copy would "
                "reuse nothing of this pilot. Close it, and then copy it with “Copy it with other settings”."
            )
        )
    if campaign.reuse != Campaign.Reuse.NOTHING:
        return
    others = Campaign.objects.filter(
        lab=campaign.lab_id, collection=campaign.collection_id, question=campaign.question, language=campaign.language
    ).exclude(pk__in=trials)
    others = others.exclude(pk=campaign.pk).exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING])
    names = list(others.order_by("id").values_list("name", flat=True)[: NAMED + 1])
    if names:
        shortened = ", ".join(f"“{name}”" for name in names[:NAMED]) + (" …" if len(names) > NAMED else "")
        text = _(
            "This campaign reuses no judgments of others. A copy that reuses those of the pilot would also reuse "
            "those of %(others)s, which ask the same question. Launch the rest at the present pay, or close the "
            "campaign and copy it with “Copy it with other settings”."
        )
        raise Refused(text % {"others": shortened})


def _check_floor(campaign: Campaign) -> None:
    if lacking := task_selectors.lacking_pay(campaign):
        raise BelowFloor(_("%(why)s The pilot goes on as it is.") % {"why": " ".join(lacking)})


def _free_name(campaign: Campaign) -> str:
    """The pilot's name, cut to what fits, and that this is the rest; with a number where that is taken."""
    names = set(Campaign.objects.filter(lab=campaign.lab_id).values_list("name", flat=True))
    for number in count(1):
        rest = _("%(name)s, the rest") % {"name": ""} + (f" {number}" if number > 1 else "")
        name = campaign.name[: LONGEST_NAME - len(rest)].rstrip() + rest
        if name not in names:
            return name
    raise AssertionError  # numbers do not end
