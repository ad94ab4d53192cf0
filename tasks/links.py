"""Workers who open a campaign's link, or a personal one. No accounts, no cookies.

Addresses carry signed tokens: a worker's home names worker and campaign; an assignment's pages name assignment,
worker and HIT. Anyone who has the address can act, so addresses are never sent on (Referrer-Policy) or logged by us,
and they expire. Visiting renews them: a worker's own page links to fresh ones, and a platform's frame is opened anew.
"""

from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.urls import reverse
from django.utils.translation import gettext as _

from core.errors import NotYours
from pools.models import Campaign
from tasks.models import Assignment, Worker

HOME_LASTS = timedelta(days=365)  # from when the address was made: a panel may wait for months
PAGES_LAST = timedelta(days=30)  # beyond the lease: time for late work, for handing in, and to read the receipt
_HOME = "bestknown.home"
_ASSIGNMENT = "bestknown.assignment"


class Expired(NotYours):
    """The address was right, and is too old."""

    status = 410
    title = "This link has expired"

    def __init__(self, text: str, campaign: Campaign, assignment: Assignment | None = None) -> None:
        super().__init__(text)
        self.assignment = assignment
        self.way_out = (reverse("judging:preview", args=[campaign.link]), _("Go to the start page"))
        if assignment is not None and assignment.platform_assignment_id:
            self.way_out = None


class Keys(NamedTuple):
    """What the token of an assignment's pages names."""

    assignment_id: int
    worker_id: int
    hit_id: int


class Home(NamedTuple):
    """A worker in a campaign."""

    worker: Worker
    campaign: Campaign


def home_token(worker: Worker, campaign: Campaign) -> str:
    """The signed token of a worker's home in a campaign."""
    return home_token_of(worker.pk, campaign.pk)


def home_token_of(worker_id: int, campaign_id: int) -> str:
    """The same, for the keys of worker and campaign."""
    return signing.dumps([worker_id, campaign_id], salt=_HOME)


def home_of(token: str) -> Home:
    """The home that a token was made for. Raises NotYours for any other text, and Expired for a token that is old."""
    worker_id, campaign_id = _loads(token, _HOME, 2)
    worker = Worker.objects.filter(pk=worker_id, erased_at=None).first()
    campaign = Campaign.objects.select_related("collection", "lab").filter(pk=campaign_id).first()
    if worker is None or campaign is None:
        raise _unknown()
    if _is_older(token, _HOME, HOME_LASTS):
        text = _("This personal link is more than a year old. Ask the person who sent it for a new one.")
        raise Expired(text, campaign)
    return Home(worker, campaign)


def assignment_token(assignment: Assignment) -> str:
    """The signed token of an assignment's pages, bound to assignment, worker and HIT."""
    return signing.dumps([assignment.pk, assignment.worker_id, assignment.hit_id], salt=_ASSIGNMENT)


def assignment_keys(token: str) -> Keys:
    """The keys that a token was made for. Raises what `assignment_of` does.

    Nothing is looked up, unless the token is so old that whether it is still good depends on the lease.
    """
    try:
        return Keys(*signing.loads(token, salt=_ASSIGNMENT, max_age=PAGES_LAST))
    except signing.BadSignature:
        assignment = assignment_of(token)
        return Keys(assignment.pk, assignment.worker_id, assignment.hit_id)


def assignment_of(token: str) -> Assignment:
    """The assignment that a token was made for. Raises NotYours for any other text, and Expired for an old token.

    A token lasts for as long as the lease, and PAGES_LAST.
    """
    keys = Keys(*_loads(token, _ASSIGNMENT, 3))
    assignment = (
        Assignment.objects.select_related("campaign__collection", "campaign__lab", "hit", "worker")
        .filter(pk=keys.assignment_id, worker_id=keys.worker_id, hit_id=keys.hit_id, worker__erased_at=None)
        .first()
    )
    if assignment is None:
        raise _unknown()
    lease = max(timedelta(0), assignment.leased_until - assignment.taken_at)
    if _is_older(token, _ASSIGNMENT, lease + PAGES_LAST):
        text = _("This link has expired. Open your own page or the link that you were given, and continue from there.")
        if assignment.platform_assignment_id:
            text = _("This page has expired. Open the task again where you accepted it.")
        raise Expired(text, assignment.campaign, assignment)
    return assignment


def campaign_address(campaign: Campaign) -> str:
    """The link that a campaign's workers open, with the site's own address before it."""
    return str(settings.SITE_URL) + reverse("judging:preview", args=[campaign.link])


def home_address(worker: Worker, campaign: Campaign) -> str:
    """A worker's personal link, with the site's own address before it."""
    return str(settings.SITE_URL) + reverse("judging:home", args=[home_token(worker, campaign)])


def _loads(token: str, salt: str, length: int) -> list[int]:
    try:
        values = signing.loads(token, salt=salt)
    except signing.BadSignature:
        raise _unknown() from None
    if not isinstance(values, list) or len(values) != length:
        raise _unknown()
    return values


def _is_older(token: str, salt: str, age: timedelta) -> bool:
    try:
        signing.loads(token, salt=salt, max_age=age)
    except signing.SignatureExpired:
        return True
    return False


def _unknown() -> NotYours:
    return NotYours(_("This link is incomplete or not valid. Please open the link that you were given again."))
