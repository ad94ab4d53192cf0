"""The account at the platform, as a page asks for it: quickly, and with a sentence where there is no answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.models import Publication
from platforms.mturk.client import Trouble, assert_host, client_for, code_of, trouble_of
from platforms.mturk.endpoints import endpoint_of

PATIENCE = 5
"""Seconds that a page waits for the platform."""


class NoAnswer(Refused):
    """The platform cannot be asked. The text says why, and what to do."""

    status = 502
    title = "The platform does not answer"


class Balance(NamedTuple):
    """What the account can spend now, in dollars; None where the platform could not be asked, for the reason given."""

    amount: Decimal | None
    trouble: str


@contextmanager
def platform_refusals() -> Iterator[None]:
    """Turn a call that failed into a NoAnswer."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise NoAnswer(_in_words(error)) from error
    except ValueError as error:  # of an address that is none
        raise NoAnswer(_("The platform's address is not one: %(error)s.") % {"error": error}) from error


def balance_look(publication: Publication) -> Balance:
    """Ask once for the balance. It raises nothing: the page is shown in any case."""
    try:
        with platform_refusals():
            endpoint = endpoint_of(publication.platform)
            client = client_for(endpoint, read_seconds=PATIENCE)
            assert_host(client, endpoint)
            return Balance(Decimal(client.get_account_balance()["AvailableBalance"]), "")
    except Refused as refused:
        return Balance(None, str(refused))


def _in_words(error: Exception) -> str:
    trouble = trouble_of(error)
    if trouble == Trouble.ACCOUNT:
        return _(
            "The platform does not take our access key, or none is set. Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
            "or AWS_PROFILE, where this site runs, and start it again. (%(code)s)"
        ) % {"code": code_of(error)}
    if trouble in (Trouble.UNKNOWN, Trouble.THROTTLED):
        return _("The platform does not answer at the moment. Try again in a minute. (%(error)s)") % {"error": error}
    return _("The platform refused: %(error)s") % {"error": error}
