"""What a campaign costs: one bill, the same number wherever it is shown. All amounts are dollars in whole cents."""

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import NamedTuple

from django.utils.translation import gettext as _

from core.money import CENT
from core.percent import in_percent
from platforms.models import Publication
from platforms.money.protocol import Money
from platforms.registry import adapter_of
from pools.counting import counts_of
from pools.models import Campaign
from pools.reuse import reused_pairs

ZERO = Decimal("0.00")


class Line(NamedTuple):
    """One line of a bill. `each` is None where not all cost the same."""

    what: str
    detail: str
    assignments: int
    each: Decimal | None
    amount: Decimal


class Bill(NamedTuple):
    """What judging costs if every assignment is finished, and the expected share is done again.

    `hits` have `assignments` between them, each paid `listed` as a reward and `bonus` as a bonus; `fees` are the
    platform's on all of them, described by `fees_detail`. `redone` more are expected because of excluded work, at
    `redone_each`, fees included.
    """

    hits: int
    assignments: int
    redone: int
    listed: Decimal
    bonus: Decimal
    fee_each: Decimal | None
    fees: Decimal
    redone_each: Decimal
    redo_rate: Decimal
    fees_detail: str
    repeated: int = 0  # assignments of a second person

    @property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines), ZERO)

    @property
    def lines(self) -> list[Line]:
        """Rewards, bonuses where the reward is paid in two parts, fees, and work done again."""
        count = self.assignments
        bonuses = [Line(_("Bonuses"), _("if everyone finishes"), count, self.bonus, self.bonus * count)]
        again = _("%(rate)s (assumed)") % {"rate": in_percent(self.redo_rate)}
        twice = _("%(n)d of them by a second person") % {"n": self.repeated}
        return [
            Line(_("Rewards"), twice if self.repeated else "", count, self.listed, self.listed * count),
            *(bonuses if self.bonus else []),
            Line(_("Fees"), self.fees_detail, count, self.fee_each, self.fees),
            Line(_("Work done again"), again, self.redone, self.redone_each, self.redone_each * self.redone),
        ]


def campaign_bill(publication: Publication, *, pairs: int | None = None, overlap: int | None = None) -> Bill:
    """The bill for all of a campaign on these terms, stored or not, from nothing judged to everything judged.

    Pairs whose judgments are reused cost nothing; in rounds, the expected pairs of all rounds count. `pairs` is for
    another number of them; `overlap` asks what another number of judgments a pair would cost.
    """
    campaign = publication.campaign
    number = pairs_to_ask(campaign) if pairs is None else pairs
    hits, each = -(-number // campaign.pairs_per_hit), overlap or campaign.overlap
    repeated = campaign.repeated_hits(hits) if each == 1 else 0
    return hits_bill(publication, [(each + 1, repeated), (each, hits - repeated)])._replace(repeated=repeated)


def pairs_to_ask(campaign: Campaign) -> int:
    """How many pairs a campaign asks about: those of its design that nobody judged before; in rounds, as many as all of
    them are expected to ask; of challengers, with those that are expected to be asked again.
    """
    reused = reused_pairs(campaign)
    expected = campaign.pairing.estimate(campaign.pool_sizes, campaign.pair_count, reused)
    return expected.pairs - reused + expected.again


def further_bill(publication: Publication, pairs: Mapping[int, int]) -> Bill:
    """The bill for more judgments: of how many pairs so many are asked, by how many are asked of each."""
    per_hit = publication.campaign.pairs_per_hit
    return hits_bill(publication, [(needed, -(-count // per_hit)) for needed, count in sorted(pairs.items())])


class RoundsBill(NamedTuple):
    """What judging a campaign's pools by a design is expected to ask: `pairs`, in `rounds` rounds with the final."""

    design: str
    pairs: int
    rounds: int
    bill: Bill


def rounds_bills(publication: Publication) -> list[RoundsBill]:
    """What the campaign would cost by a full tournament and in rounds, by design, where one of its pools is too large
    for a full tournament; of a campaign in rounds, by its own settings.

    Nothing is reused, so these compare with each other. Empty for other designs.
    """
    campaign = publication.campaign
    return [
        RoundsBill(_(title), pairs, rounds, campaign_bill(publication, pairs=pairs))
        for title, (pairs, rounds, _again) in campaign.pairing.alternatives(campaign.pool_sizes).items()
    ]


def rounds_forecast(publication: Publication) -> RoundsBill | None:
    """What all rounds of a campaign are expected to ask and cost, where reused pairs cost nothing; None for other
    designs. Its publication is billed for the HITs that are packed, which are those of the rounds until now.
    """
    campaign = publication.campaign
    if not campaign.pairing.is_staged:
        return None
    rounds = campaign.pairing.estimate(campaign.pool_sizes, campaign.pair_count).rounds
    return RoundsBill(_("rounds, as set"), pairs_to_ask(campaign), rounds, campaign_bill(publication))


def remaining_bill(publication: Publication, *, with_held: bool = False) -> Bill:
    """The bill for the work that a campaign still needs: all of it while its HITs are not packed. What a pilot holds
    back is in it only with `with_held`.
    """
    campaign = publication.campaign
    if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        return campaign_bill(publication)
    groups: Counter[int] = Counter()
    for (needed, copies, is_held), total in counts_of(campaign, "hits").items():
        if is_held == "1" and with_held:
            groups[int(copies) or campaign.overlap] += total.rows
        elif int(needed):
            groups[int(needed)] += total.rows
    return hits_bill(publication, sorted(groups.items(), reverse=True))


def hits_bill(publication: Publication, hits: Iterable[tuple[int, int]]) -> Bill:
    """The bill for HITs, as `(assignments of each, how many such HITs)`."""
    campaign = publication.campaign
    groups = [group for group in hits if group[1]]
    assignments = sum(max_assignments * count for max_assignments, count in groups)
    adapter = adapter_of(publication)
    fees = {size: _fee(publication, adapter, size) for size in {size for size, _count in groups}}
    redone_fee = _fee(publication, adapter, max(fees, default=campaign.overlap))
    each = set(fees.values()) or {redone_fee}
    return Bill(
        hits=sum(count for _wanted, count in groups),
        assignments=assignments,
        redone=int((assignments * campaign.redo_rate).to_integral_value(rounding=ROUND_CEILING)),
        listed=publication.listed,
        bonus=campaign.reward - publication.listed,
        fee_each=each.pop() if len(each) == 1 else None,
        fees=sum((fees[max_assignments] * max_assignments * count for max_assignments, count in groups), ZERO),
        redone_each=campaign.reward + redone_fee,
        redo_rate=campaign.redo_rate,
        fees_detail=_fees_in_words(publication, adapter, max(fees, default=campaign.overlap)),
    )


def _own_rate(publication: Publication) -> Decimal | None:
    """The fee rate that the researcher set, which holds until a platform is chosen: then its own fees do."""
    return publication.campaign.fee_rate if publication.pk is None else None


def _fee(publication: Publication, adapter: Money, max_assignments: int) -> Decimal:
    """The fees of one finished assignment of a HIT of so many."""
    reward, base, rate = publication.campaign.reward, publication.listed, _own_rate(publication)
    if rate is not None:
        return (reward * rate).quantize(CENT, rounding=ROUND_HALF_UP)
    return adapter.reward_fee(base, max_assignments) + adapter.bonus_fee(reward - base)


def _fees_in_words(publication: Publication, adapter: Money, max_assignments: int) -> str:
    rate = _own_rate(publication)
    if rate is None:
        return adapter.fees_in_words(max_assignments)
    if not rate:
        return _("none for people who come by a link or from a panel")
    return _("%(rate)s, as set for this campaign") % {"rate": in_percent(rate)}
