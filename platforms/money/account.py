"""The account at the platform: what it can spend, as a job last heard; a sentence where there is no answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.core.cache import cache
from django.utils.translation import gettext as _

from core.errors import NotNow, Refused
from platforms.adapter import Adapter, NotTold, Trouble
from platforms.models import Publication
from platforms.money.bills import ZERO, remaining_bill
from platforms.money.protocol import Deposits
from platforms.registry import adapter_of, phrase

PATIENCE = 5  # seconds that is waited for the platform
TROUBLE_KEPT = 600  # seconds that pages say why there was no answer


class NoAnswer(Refused):
    """The platform cannot be asked. The text says why, and what to do."""

    status = 502
    title = "The platform does not answer"


class Balance(NamedTuple):
    """What the account could spend when it was asked; None where nobody has asked yet, or for the reason given."""

    amount: Decimal | None
    trouble: str
    at: datetime | None = None


@contextmanager
def platform_refusals(publication: Publication) -> Iterator[Adapter]:
    """The publication's platform. A call to it that fails becomes a NoAnswer."""
    adapter = adapter_of(publication)
    try:
        yield adapter
    except adapter.errors as error:
        raise NoAnswer(_in_words(adapter, error)) from error
    except ValueError as error:  # of an address that is none
        text = phrase(publication, _("The platform's address is not valid: %(error)s."))
        raise NoAnswer(text % {"error": error}) from error


def balance_look(publication: Publication) -> Balance:
    """Ask once for the balance. A failure is part of the answer."""
    try:
        with platform_refusals(publication) as adapter:
            client = adapter.client(read_seconds=PATIENCE)
            adapter.assert_host(client)
            return Balance(adapter.balance(client, once=True), "")
    except Refused as refused:
        return Balance(None, str(refused))


def balance_store(*, publication: Publication, at: datetime) -> Balance:
    """Ask for the balance, for pages that must not ask. A platform that does not answer leaves what it said last."""
    balance = balance_look(publication)
    if balance.amount is None:
        cache.set(_trouble_key(publication), balance.trouble, TROUBLE_KEPT)
        return balance
    balance_keep(publications=[publication], amount=balance.amount, at=at)
    return balance


def balance_keep(*, publications: Sequence[Publication], amount: Decimal, at: datetime) -> None:
    """Keep what one account has that all of these are paid from."""
    keys, platforms = [row.pk for row in publications], {row.platform for row in publications}
    Publication.objects.filter(pk__in=keys, platform__in=platforms).update(balance=amount, balance_at=at)
    cache.delete_many(map(_trouble_key, publications))


def balance_kept(publication: Publication) -> Balance:
    """What the account could spend when it was last asked, without asking."""
    return Balance(publication.balance, cache.get(_trouble_key(publication), ""), publication.balance_at)


def _trouble_key(publication: Publication) -> str:
    return f"why {publication.platform} did not tell the balance for publication {publication.pk}"


def money_missing(publication: Publication, balance: Decimal | None) -> Decimal:
    """What the bill for the work that is still needed exceeds the balance by. 0 where the balance is not known."""
    return ZERO if balance is None else max(ZERO, remaining_bill(publication).total - balance)


def publication_ask_for_money(*, publication: Publication, at: datetime) -> Decimal:
    """Ask whoever adds money to the account for what the bill lacks now. How much that is.

    Asking again replaces what was asked for, so two presses ask once. Raises NotNow if nothing is missing, NoAnswer.
    """
    balance = balance_store(publication=publication, at=at)
    if balance.amount is None:
        raise NoAnswer(balance.trouble)
    missing = money_missing(publication, balance.amount)
    if not missing:
        raise NotNow(_("The account has enough for the bill, so nobody was asked for money."))
    with platform_refusals(publication) as adapter:
        if not isinstance(adapter, Deposits):
            raise NotTold(phrase(publication, _("Nobody at this platform can be asked for money.")))
        adapter.ask_for_money(missing, f"{publication.campaign.name[:160]} ({publication.reference})")
    publication.money_asked, publication.money_asked_at = missing, at
    publication.save(update_fields=["money_asked", "money_asked_at"])
    return missing


def _in_words(adapter: Adapter, error: Exception) -> str:
    trouble, phrase = adapter.trouble_of(error), adapter.vocabulary.phrase
    if trouble == Trouble.ACCOUNT:
        text = _("The platform does not accept our access key, or none is set. %(what_to_do)s (%(code)s)")
        return phrase(text) % {"what_to_do": adapter.how_to_give_access(), "code": adapter.code_of(error)}
    if trouble in (Trouble.UNKNOWN, Trouble.THROTTLED):
        text = _("The platform does not answer at the moment. Try again in a minute. (%(error)s)")
        return phrase(text) % {"error": error}
    return phrase(_("The platform refused: %(error)s")) % {"error": error}
