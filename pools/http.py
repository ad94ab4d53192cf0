"""What pages about campaigns share."""

from core.http import Request
from core.roles import Right, right_of
from pools import selectors as pool_selectors
from pools.models import Campaign


def campaign_of(request: Request, pk: int, right: Right | None = None) -> Campaign:
    """The campaign, if the user has the right that the address needs, or another. Raises NotYours and NotAllowed."""
    return pool_selectors.campaign_for(request.user, pk, right or right_of(request))
