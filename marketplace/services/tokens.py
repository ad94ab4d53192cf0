"""Unique request tokens: a request that comes again within 24 hours is an error that names what the first one did."""

from datetime import timedelta

from django.db import IntegrityError, transaction

from marketplace import clock
from marketplace.errors import AlreadyDone
from marketplace.models import Requester, UniqueRequestToken

LIFE = timedelta(hours=24)


class Claim:
    """A token that was taken in the running transaction. `settle` writes what came of it; a rollback frees it."""

    def __init__(self, row: UniqueRequestToken | None) -> None:
        self._row = row

    def settle(self, subject: str) -> None:
        """Remember the HIT id, or request id, that a repeat is told."""
        if self._row is not None:
            UniqueRequestToken.objects.filter(pk=self._row.pk).update(subject=subject)


def token_claim(*, requester: Requester, operation: str, token: str | None) -> Claim:
    """Take a token, inside a transaction. Of two at once, the second waits for the first's outcome.

    Raises AlreadyDone if it was used within 24 hours.
    """
    if not token:
        return Claim(None)
    at = clock.now()
    rows = UniqueRequestToken.objects.filter(requester=requester, operation=operation, token=token)
    rows.filter(made_at__lte=at - LIFE).delete()
    row = UniqueRequestToken(requester=requester, operation=operation, token=token, made_at=at)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        subject = rows.values_list("subject", flat=True).get()
        if operation.startswith("CreateHIT"):
            raise AlreadyDone(
                f'The HIT with ID "{subject}" already exists, made with this UniqueRequestToken.', "HitAlreadyExists"
            ) from None
        raise AlreadyDone(
            f'This UniqueRequestToken was used before, by the request with ID "{subject}".', "DuplicateRequest"
        ) from None
    return Claim(row)
