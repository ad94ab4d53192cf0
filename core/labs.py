"""What a lab sets for itself."""

from decimal import Decimal

from django.core.exceptions import ValidationError

from core.errors import Refused
from core.models import Lab


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
