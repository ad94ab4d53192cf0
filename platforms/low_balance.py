"""Whether the account at a platform will last: its balance against what the campaigns that are open there still cost.

A platform keeps back what open HITs can cost, so that is not in the balance, and not counted here either.
"""

from collections import defaultdict
from datetime import datetime
from decimal import Decimal

from django.db.models import F, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from core.alarms import alarm_raise, alarm_settle
from core.models import Alarm
from platforms.finishing import unfinished
from platforms.models import Payment, PlatformAlarm, Publication, Submission
from platforms.money.account import balance_keep, balance_look
from platforms.money.bills import ZERO, remaining_bill
from platforms.money.protocol import Money
from platforms.registry import adapter_of, phrase
from pools.models import Campaign


def publications_spending() -> QuerySet[Publication]:
    """Those whose campaigns are open, and published, by platform."""
    spending = unfinished().filter(state=Publication.State.OPEN, campaign__state=Campaign.State.OPEN)
    return spending.select_related("campaign__lab").order_by("platform", "id")


def cost_to_come(publication: Publication, adapter: Money, at: datetime) -> Decimal:
    """What a campaign is expected to cost beyond what the platform keeps back for its open HITs: work that is needed
    and not offered yet, bonuses, work done again, and what is owed and not on its way.
    """
    bill = remaining_bill(publication)
    open_hits = publication.published_hits.filter(hit__needed__gt=0, expires_at__gt=at).exclude(platform_hit_id="")
    slots = open_hits.aggregate(sum=Sum("max_assignments", default=0))["sum"]
    used = Submission.objects.filter(published_hit__in=open_hits).count()
    offered = min(bill.assignments, max(0, slots - used))
    fee = adapter.reward_fee(publication.listed, publication.campaign.overlap)
    rewards = Q(purpose=Payment.Purpose.REWARD)  # these are kept back until the work is decided on
    owed = publication.payments.filter(state=Payment.State.OWED).exclude(rewards)
    owing: Decimal = owed.aggregate(sum=Sum(F("amount") + F("fee"), default=ZERO))["sum"]
    unoffered: Decimal = max(ZERO, bill.total - offered * (publication.listed + fee))
    return unoffered + owing


def balances_check(*, at: datetime) -> int:
    """Raise, or settle, the alarm of each open publication that the account may not last for. How many are raised.

    Each account is asked once: it pays for all that it published. One that does not answer changes nothing.
    """
    by_payer: dict[tuple[str, str], tuple[Money, list[Publication]]] = {}
    for publication in publications_spending():
        adapter: Money = adapter_of(publication)
        by_payer.setdefault((publication.platform, adapter.payer), (adapter, []))[1].append(publication)
    raised = 0
    for adapter, publications in by_payer.values():
        costs = {publication.pk: cost_to_come(publication, adapter, at) for publication in publications}
        balance, total = balance_look(publications[0]).amount, sum(costs.values(), ZERO)
        of_labs: dict[int, Decimal] = defaultdict(Decimal)
        for publication in publications:
            of_labs[publication.campaign.lab_id] += costs[publication.pk]
        if balance is None:
            continue
        balance_keep(publications=publications, amount=balance, at=at)
        for publication in publications:
            if balance < total and costs[publication.pk]:
                of_lab = of_labs[publication.campaign.lab_id]
                _raise(publication, adapter, balance, of_lab, costs[publication.pk], total > of_lab, at)
                raised += 1
            else:
                alarm_settle(of=publication, kind=PlatformAlarm.LOW, at=at)
    over = Alarm.objects.filter(kind=PlatformAlarm.LOW, settled_at=None)
    over.exclude(of_id__in=publications_spending().values("pk")).update(settled_at=at)
    return raised


def _raise(
    publication: Publication,
    adapter: Money,
    balance: Decimal,
    of_lab: Decimal,
    of_campaign: Decimal,
    is_shared: bool,
    at: datetime,
) -> None:
    """Once while it lasts: the sums of that moment stay in it. What other labs spend is no number of it."""
    if publication.alarms.filter(kind=PlatformAlarm.LOW, settled_at=None).exists():
        return
    if is_shared:
        text = _(
            "The account at the platform has %(balance)s, which will not last for what the labs of this site still "
            "have to publish and pay there. Your lab's part is expected to cost %(total)s (%(own)s of it for this "
            "campaign). Work will stop when the money runs out. %(who)s"
        )
    else:
        text = _(
            "The account at the platform has %(balance)s, but what is still to be published and paid is expected to "
            "cost %(total)s (%(own)s of it for this campaign). Work will stop when the money runs out. %(who)s"
        )
    text = phrase(publication, text) % {
        "balance": publication.campaign.money(balance),
        "total": publication.campaign.money(of_lab),
        "own": publication.campaign.money(of_campaign),
        "who": adapter.who_adds_money(),
    }
    alarm_raise(of=publication, kind=PlatformAlarm.LOW, text=text, at=at)
