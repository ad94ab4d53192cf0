"""The last comparison of the ledgers, kept for the page. What differs also rings, as `ledger_compare` says."""

from datetime import datetime
from typing import NamedTuple

from django.core.cache import cache

from tasks.models import Publication
from tasks.venue.ledger import Comparison, ledger_compare

MOST_SENTENCES = 100
"""Differences that are kept in words; all are counted."""


class Compared(NamedTuple):
    """A comparison, when it was made, and how many HITs differ."""

    comparison: Comparison
    at: datetime
    differences: int


def comparison_make(*, publication: Publication, at: datetime) -> Comparison:
    """Compare our ledger with the venue's, and keep what came of it."""
    made = ledger_compare(publication=publication, at=at)
    kept = {**made._asdict(), "differences": made.differences[:MOST_SENTENCES]}
    cache.set(_key(publication), {"kept": kept, "at": at, "count": len(made.differences)}, timeout=None)
    return made


def comparison_last(publication: Publication) -> Compared | None:
    """The last comparison; None if there was none, or it is not remembered any more."""
    kept = cache.get(_key(publication))
    return None if kept is None else Compared(Comparison(**kept["kept"]), kept["at"], kept["count"])


def _key(publication: Publication) -> str:
    return f"venue-comparison-{publication.reference}"
