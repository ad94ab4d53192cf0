"""What the commands share."""

from django.core.management.base import CommandError
from django.db.models import Q

from marketplace.models import Requester


def requester_named(text: str) -> Requester:
    """The requester of an account id or a name. Raises CommandError."""
    requester = Requester.objects.filter(Q(account_id=text) | Q(name=text)).first()
    if requester is None:
        raise CommandError(f"There is no requester '{text}'. create_requester makes one.")
    return requester
