"""How a visit ends at Prolific: completion codes, and a share of the reward, 8 to 99%, for whoever left early where a
study can pay it. Codes prove nothing: one leak tells everybody.
"""

import base64
import hashlib
from decimal import ROUND_HALF_UP, Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.money import CENT
from platforms.models import LabAccount, Operation, Publication
from platforms.prolific.offers import PARTIAL
from platforms.reviewing.protocol import Ending

# The endings after which a submission is to be returned, and what Prolific tells the participant then.
RETURN_REASONS: dict[Ending, Promise] = {
    Ending.LEFT: _("You left before the end. Return the submission: what you answered is paid as a bonus."),
    Ending.UNANSWERED: _("You left before any answer. Return the submission: it does not count against you."),
    Ending.DECLINED: _("You did not agree to take part. Return the submission: it does not count against you."),
    Ending.NOTHING: _("There was no task left for you. Return the submission: it does not count against you."),
}
LEAST, MOST = 8, 99  # percent
SHARES = "pays_shares"  # in the result of the operation that made the study
SHARE = "share"  # of the reward, for whoever left early: a code that only we give


def code_of_ending(publication: Publication, ending: Ending) -> str:
    """The code by which Prolific is told of an ending: eight letters and digits, its own in each study."""
    return _code(publication, ending)


def code_of_share(publication: Publication) -> str:
    """The code by which we ask Prolific to pay a share of the reward."""
    return _code(publication, SHARE)


def _code(publication: Publication, what: str) -> str:
    digest = hashlib.sha256(f"{publication.reference} {what}".encode()).digest()
    return base64.b32encode(digest)[:8].decode()


def may_share(publication: Publication, account: LabAccount) -> bool:
    """Whether a study of these terms, made now, could pay shares: work that is paid in full on leaving needs none."""
    return PARTIAL in account.offers and publication.pay == Publication.Pay.RETURN_AND_COMPENSATE


def shares(publication: Publication) -> bool:
    """Whether the publication's study was made so that it can."""
    studies = publication.operations.filter(kind=Operation.Kind.HIT_TYPE, **{f"result__{SHARES}": True})
    return publication.pay == Publication.Pay.RETURN_AND_COMPENSATE and studies.exists()


def percent_of(reward: Decimal, earned: Decimal) -> int:
    """The least share that pays no less than what was earned."""
    chosen = [percent for percent in _sure(reward) if amount_of_share(reward, percent) >= earned]
    return min(chosen, default=MOST)


def percent_paying(reward: Decimal, amount: Decimal) -> int | None:
    """The least share that is exactly this amount, if there is one."""
    return min((percent for percent in _sure(reward) if amount_of_share(reward, percent) == amount), default=None)


def _sure(reward: Decimal) -> list[int]:
    """The shares whose amount is not rounded from half a cent: nobody knows which way Prolific rounds that."""
    return [percent for percent in range(LEAST, MOST + 1) if int(reward / CENT) * percent % 100 != 50]


def amount_of_share(reward: Decimal, percent: int) -> Decimal:
    """What a share is, in the account's currency."""
    return (reward * percent / 100).quantize(CENT, rounding=ROUND_HALF_UP)
