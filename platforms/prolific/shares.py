"""Paying whoever leaves early a share of the reward, where a study can: 8 to 99 %, in whole percent."""

from decimal import ROUND_HALF_UP, Decimal

from core.money import CENT
from platforms.models import LabAccount, Operation, Publication
from platforms.prolific.offers import PARTIAL

LEAST, MOST = 8, 99
SHARES = "pays_shares"  # in the result of the operation that made the study


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
