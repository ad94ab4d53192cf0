"""The account at the platform, as a page asks for it: quickly, and with a sentence where there is no answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.utils.translation import gettext as _

from core.errors import NotNow, Refused
from platforms.adapter import Adapter, Trouble
from platforms.bills import ZERO, remaining_bill
from platforms.models import Publication
from platforms.registry import adapter_of, phrase

PATIENCE = 5  # seconds that a page waits for the platform


class NoAnswer(Refused):
    """The platform cannot be asked. The text says why, and what to do."""

    status = 502
    title = "The platform does not answer"


class Balance(NamedTuple):
    """What the account can spend now; None where the platform could not be asked, for the reason given."""

    amount: Decimal | None
    trouble: str


@contextmanager
def platform_refusals(publication: Publication) -> Iterator[Adapter]:
    """The publication's platform. A call to it that fails becomes a NoAnswer."""
    adapter = adapter_of(publication)
    try:
        yield adapter
    except adapter.errors as error:
        raise NoAnswer(_in_words(adapter, error)) from error
    except ValueError as error:  # of an address that is none
        said = phrase(publication, _("The platform's address is not valid: %(error)s."))
        raise NoAnswer(said % {"error": error}) from error


def balance_look(publication: Publication) -> Balance:
    """Ask once for the balance. A failure is part of the answer, so that the page is always shown."""
    try:
        with platform_refusals(publication) as adapter:
            client = adapter.client(read_seconds=PATIENCE)
            adapter.assert_host(client)
            return Balance(adapter.balance(client, once=True), "")
    except Refused as refused:
        return Balance(None, str(refused))


def balance_store(*, publication: Publication, at: datetime) -> Balance:
    """Ask for the balance, for pages that must not ask. A platform that does not answer changes nothing."""
    balance = balance_look(publication)
    if balance.amount is not None:
        asked = Publication.objects.filter(pk=publication.pk, platform=publication.platform)
        asked.update(balance=balance.amount, balance_at=at)
    return balance


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
        adapter.ask_for_money(missing, f"{publication.campaign.name[:160]} ({publication.reference})")
    publication.money_asked, publication.money_asked_at = missing, at
    publication.save(update_fields=["money_asked", "money_asked_at"])
    return missing


def _in_words(adapter: Adapter, error: Exception) -> str:
    trouble, phrase = adapter.trouble_of(error), adapter.vocabulary.phrase
    if trouble == Trouble.ACCOUNT:
        said = _("The platform does not accept our access key, or none is set. %(what_to_do)s (%(code)s)")
        return phrase(said) % {"what_to_do": adapter.how_to_give_access(), "code": adapter.code_of(error)}
    if trouble in (Trouble.UNKNOWN, Trouble.THROTTLED):
        said = _("The platform does not answer at the moment. Try again in a minute. (%(error)s)")
        return phrase(said) % {"error": error}
    return phrase(_("The platform refused: %(error)s")) % {"error": error}
