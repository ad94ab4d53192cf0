"""What takes long at a marketplace, and is done once in a process: its rows, there and here, come back in each test."""

from django.core.cache import cache
from django.db import connection, transaction
from django.utils import timezone

from platforms.models import Publication
from platforms.publishing.publications import publication_publish
from platforms.terms import publication_write
from pools.models import Campaign
from tests.marketplace.server import Marketplace, Requester
from tests.platforms.platforms import Clock, drain
from tests.worlds import Deed, Rows, deed_of, deed_repeat, rows_of

_accounts: dict[Marketplace, tuple[Requester, Deed]] = {}
_published: dict[tuple[Marketplace, int, str], tuple[Deed, Deed]] = {}


def account_at(marketplace: Marketplace) -> Requester:
    """A requester with $1,000 at a marketplace where there was none, and a worker."""
    if marketplace in _accounts:
        account, deed = _accounts[marketplace]
        with marketplace.behind() as cursor:
            deed_repeat(cursor, deed, timezone.now())
        return account
    before = rows_there(marketplace)
    account = marketplace.requester()
    marketplace.worker()
    _accounts[marketplace] = account, deed_of(before, rows_there(marketplace), timezone.now())
    return account


def published_once(campaign: Campaign, marketplace: Marketplace, **terms: object) -> Publication:
    """A campaign that is laid out again in each test, published on these terms from the account above."""
    cache.clear()  # of what was known of this publication in another test
    key = marketplace, campaign.pk, repr(terms)
    if key in _published:
        here, deed = _published[key]
        with transaction.atomic(), connection.cursor() as cursor:
            deed_repeat(cursor, here, timezone.now())
        with marketplace.behind() as cursor:
            deed_repeat(cursor, deed, timezone.now())
    else:
        before = rows_here(), rows_there(marketplace)
        publication, clock = publication_write(campaign=campaign, **terms), Clock()
        publication_publish(publication=publication, at=clock())
        drain(publication, clock)
        after, at = (rows_here(), rows_there(marketplace)), timezone.now()
        here, deed = (deed_of(*sides, at) for sides in zip(before, after, strict=True))
        _published[key] = here, deed
    campaign.refresh_from_db()
    current = Publication.objects.get(campaign=campaign)
    current.campaign = campaign
    return current


def rows_here() -> Rows:
    with connection.cursor() as cursor:
        return rows_of(cursor)


def rows_there(marketplace: Marketplace) -> Rows:
    with marketplace.behind() as cursor:
        return rows_of(cursor)
