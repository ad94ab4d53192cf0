"""The last comparison of the ledgers, kept for the page. What differs also raises an alarm (`ledger_compare`)."""

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from platforms.ledger import Comparison, ledger_compare
from platforms.models import LedgerComparison, Publication

MOST_SENTENCES = 100  # differences that are kept in words; all are counted
VERSION = 1  # of what is kept; a comparison of another version is as none: the next one follows within hours


class Compared(NamedTuple):
    """A comparison, when it was made, and how many HITs differ."""

    comparison: Comparison
    at: datetime
    differences: int


def comparison_make(*, publication: Publication, at: datetime) -> Comparison:
    """Compare our ledger with the platform's, and keep what came of it."""
    comparison = ledger_compare(publication=publication, at=at)
    content = {
        name: str(value) if isinstance(value, Decimal) else value[:MOST_SENTENCES]
        for name, value in comparison._asdict().items()
    }
    LedgerComparison.objects.update_or_create(
        publication=publication,
        defaults={
            "version": VERSION,
            "made_at": at,
            "differences": len(comparison.differences),
            "content": content,
        },
    )
    return comparison


def comparison_last(publication: Publication) -> Compared | None:
    """The last comparison; None if there was none, or it was another version of the software's."""
    row = LedgerComparison.objects.filter(publication=publication, version=VERSION).first()
    if row is None:
        return None
    amounts = {name: Decimal(value) for name, value in row.content.items() if name != "differences"}
    return Compared(Comparison(**amounts, differences=row.content["differences"]), row.made_at, row.differences)
