"""The account at the venue, as a page asks for it: quickly, and with a sentence where there is no answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.utils.translation import gettext as _

from pools.errors import Refused
from tasks.crowd.environments import environment
from tasks.crowd.mturk import Trouble, assert_host, client_for, code_of, trouble_of
from tasks.models import Publication

PATIENCE = 5
"""Seconds that a page waits for the venue."""


class NoAnswer(Refused):
    """The venue cannot be asked. The text says why, and what to do."""

    status = 502
    title = "The venue does not answer"


class Balance(NamedTuple):
    """What the account can spend now, in dollars; None where the venue could not be asked, for the reason given."""

    amount: Decimal | None
    trouble: str


@contextmanager
def venue_refusals() -> Iterator[None]:
    """Turn a call that failed into a NoAnswer."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise NoAnswer(_in_words(error)) from error
    except ValueError as error:  # of an address that is none
        raise NoAnswer(_("The venue's address is not one: %(error)s.") % {"error": error}) from error


def balance_look(publication: Publication) -> Balance:
    """Ask once for the balance. It raises nothing: the page is shown in any case."""
    try:
        with venue_refusals():
            venue = environment(publication.environment)
            client = client_for(venue, read_seconds=PATIENCE)
            assert_host(client, venue)
            return Balance(Decimal(client.get_account_balance()["AvailableBalance"]), "")
    except Refused as refused:
        return Balance(None, str(refused))


def _in_words(error: Exception) -> str:
    trouble = trouble_of(error)
    if trouble == Trouble.ACCOUNT:
        return _(
            "The venue does not take our access key, or none is set. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "or AWS_PROFILE, where this site runs, and start it again. (%(code)s)"
        ) % {"code": code_of(error)}
    if trouble in (Trouble.UNKNOWN, Trouble.THROTTLED):
        return _("The venue does not answer at the moment. Try again in a minute. (%(error)s)") % {"error": error}
    return _("The venue refused: %(error)s") % {"error": error}
