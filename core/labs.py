"""Making and renaming labs, and what a lab sets for itself."""

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from core.comparing import compared
from core.errors import Refused
from core.models import Lab, MemberInvitation, Membership, User
from core.people import invitation_add


class NewLab(NamedTuple):
    """A lab, and the invitation of its first admin if that is not the person who made it."""

    lab: Lab
    invitation: MemberInvitation | None


@transaction.atomic
def lab_create(*, name: str, by: User, invited: str | None, at: datetime) -> NewLab:
    """Make a lab. Its first admin is the person who makes it, or else whoever is `invited` (an e-mail address).

    Sends nothing. Raises Refused without a name, and for a name that another lab has.
    """
    lab = _named(Lab(), name)
    if invited is not None:
        return NewLab(lab, invitation_add(lab=lab, role=Membership.Role.ADMIN, email=invited, by=by, at=at))
    Membership.objects.create(lab=lab, user=by, role=Membership.Role.ADMIN)
    return NewLab(lab, None)


def lab_rename(*, lab: Lab, name: str) -> Lab:
    """Give a lab another name. Raises Refused without a name, and for a name that another lab has."""
    return _named(lab, name)


def _named(lab: Lab, name: str) -> Lab:
    lab.name = name.strip() if compared(name) else ""
    name_taken = Refused(_("There is already a lab called “%(name)s”. Choose another name.") % {"name": lab.name})
    if Lab.objects.filter(name_key=compared(lab.name)).exclude(pk=lab.pk).exists():
        raise name_taken
    try:
        lab.clean_fields(exclude=["pay_floor"])
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    try:
        with transaction.atomic():
            lab.save(update_fields=["name", "name_key"] if lab.pk else None)
    except IntegrityError as error:  # somebody was faster
        raise name_taken from error
    return lab


def pay_floor_set(*, lab: Lab, pay_floor: Decimal | None) -> Lab:
    """Set the dollars an hour below which none of a lab's campaigns can start; None for no floor.

    What has started stays as it is. Raises Refused for what is no amount.
    """
    lab.pay_floor = pay_floor
    try:
        lab.clean_fields(exclude=["name"])
    except ValidationError as error:
        raise Refused(" ".join(error.messages)) from error
    lab.save(update_fields=["pay_floor"])
    return lab
