"""How a platform's assignment ids are remembered once the worker is erased, so that they are known if seen again."""

import hashlib
import hmac

from pools.models import Campaign


def erased_name(campaign: Campaign, assignment_id: str) -> str:
    """What takes the place of an assignment's id at the platform: keyed, so that it leads nowhere; always the same."""
    digest = hmac.new(bytes(campaign.pseudonym_key), f"assignment {assignment_id}".encode(), hashlib.sha256)
    return f"erased-{digest.hexdigest()[:32]}"
