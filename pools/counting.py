"""Counts that pages show, kept in step with the rows they count, so that no page counts a campaign's rows.

Triggers add a row for each change of a count (`CountChange`), which nobody has to wait for; the count is their sum. A
job replaces many changes by their sum, and counts again what has changed, so that a count that is wrong is put right.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from time import perf_counter
from typing import NamedTuple

from django.apps import apps
from django.db import connection, transaction
from django.db.migrations import RunSQL
from django.db.models import Count, Max, Q, QuerySet, Sum

from pools.models import Campaign, CountChange, Recount

FOLDED_FROM = 100  # changes of a campaign that are replaced by their sums
REST, REST_FACTOR = timedelta(hours=1), 100  # between two recounts: at least, and times what the last one took
log = logging.getLogger(__name__)


class Counted(NamedTuple):
    """A count that is kept. `actual` is a query for what it must be: rows of kind, count, amount and fee, of the
    campaign whose key is `%(campaign)s`.
    """

    name: str
    actual: str


class Total(NamedTuple):
    """How many there are of a kind, and the sums of their amounts and fees."""

    rows: int = 0
    amount: Decimal = Decimal(0)
    fee: Decimal = Decimal(0)

    def less(self, other: "Total") -> "Total":
        return Total(self.rows - other.rows, self.amount - other.amount, self.fee - other.fee)


def rows_counted(
    name: str, table: str, kind: str, *, where: str = "campaign_id = %(campaign)s", amount: str = "0", fee: str = "0"
) -> Counted:
    """The rows of a table by kind. All are SQL over a row."""
    return Counted(
        name,
        f"SELECT {kind}, count(*), coalesce(sum({amount}), 0), coalesce(sum({fee}), 0) "  # noqa: S608
        f"FROM {table} WHERE {where} GROUP BY 1",
    )


def keep_counts(
    name: str, table: str, kind: str, *, campaign: str = "campaign_id", amount: str = "0", fee: str = "0"
) -> RunSQL:
    """The operation of a migration that counts a table's rows, and keeps the count. Migrations call this, so what they
    have asked for stays what it is: add parameters, and change no output.
    """
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in (name, campaign, kind, amount, fee))
    events = (("INSERT", "NEW TABLE AS new_rows"), ("DELETE", "OLD TABLE AS old_rows"),
              ("UPDATE", "OLD TABLE AS old_rows NEW TABLE AS new_rows"))  # fmt: skip
    triggers = "".join(
        f"CREATE TRIGGER keep_{name}_{event.lower()} AFTER {event} ON {table} REFERENCING {tables} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION pools_keep_counts({quoted});"
        for event, tables in events
    )
    return RunSQL(
        "INSERT INTO pools_countchange (campaign_id, name, kind, count, amount, fee) "  # noqa: S608
        f"SELECT {campaign}, '{name}', {kind}, count(*), coalesce(sum({amount}), 0), coalesce(sum({fee}), 0) "
        f"FROM {table} WHERE {campaign} IS NOT NULL GROUP BY 1, 3; {triggers}",
        "".join(f"DROP TRIGGER keep_{name}_{event.lower()} ON {table};" for event, _tables in events),
    )


def totals_of(campaigns: Iterable[int], *names: str) -> defaultdict[int, dict[tuple[str, str], Total]]:
    """By campaign, what is kept of these counts, by name and kind."""
    totals: defaultdict[int, dict[tuple[str, str], Total]] = defaultdict(dict)
    rows = CountChange.objects.filter(campaign__in=list(campaigns), name__in=names).order_by()
    sums = rows.values_list("campaign", "name", "kind").annotate(Sum("count"), Sum("amount"), Sum("fee"))
    for campaign, name, kind, *values in sums:
        totals[campaign][name, kind] = Total(*values)
    return totals


def counts_of(campaign: Campaign, name: str) -> dict[tuple[str, ...], Total]:
    """One count of a campaign, by the parts of its kind."""
    totals = totals_of([campaign.pk], name)[campaign.pk]
    return {tuple(kind.split("/")): total for (_name, kind), total in totals.items()}


def count_of(campaign: Campaign, name: str) -> int:
    """How many rows there are of all kinds of one count."""
    return sum(total.rows for total in counts_of(campaign, name).values())


_FOLD = """
WITH gone AS (DELETE FROM pools_countchange WHERE campaign_id = %s RETURNING name, kind, count, amount, fee)
INSERT INTO pools_countchange (campaign_id, name, kind, count, amount, fee)
SELECT %s, name, kind, sum(count), sum(amount), sum(fee) FROM gone GROUP BY name, kind
HAVING sum(count) <> 0 OR sum(amount) <> 0 OR sum(fee) <> 0
"""


def counts_fold() -> int:
    """Replace the changes of campaigns that have many by their sums. How many campaigns had."""
    rows = CountChange.objects.order_by().values("campaign").annotate(many=Count("id")).filter(many__gt=FOLDED_FROM)
    campaigns = list(rows.values_list("campaign", flat=True))
    for campaign in campaigns:
        with connection.cursor() as cursor:
            cursor.execute(_FOLD, [campaign, campaign])
    return len(campaigns)


def campaigns_to_recount(*, at: datetime) -> QuerySet[Campaign]:
    """Campaigns whose changes are others than when their counts were last checked, and that have rested."""
    changes = CountChange.objects.order_by().values("campaign").annotate(number=Count("id"), newest=Max("id"))
    checked = {row.campaign_id: row for row in Recount.objects.all()}
    keys = []
    for row in changes:
        last = checked.pop(row["campaign"], None)
        if last is None or (last.changes, last.newest) != (row["number"], row["newest"]):
            keys.append(row["campaign"])
    keys += [key for key, last in checked.items() if last.changes]
    return Campaign.objects.filter(Q(recount=None) | Q(recount__rests_until__lte=at), pk__in=keys).order_by("pk")


def campaign_recount(*, campaign: Campaign, at: datetime) -> dict[str, Total]:
    """Count a campaign's rows again, and put right what is kept. What was wrong: by name and kind, by how much.

    All is read as of one moment, and the difference added as one more change, so that what others change at the same
    time counts too.
    """
    started = perf_counter()
    wrong: dict[str, Total] = {}
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for each in counts_declared():
            stored = {kind: row for (_name, kind), row in totals_of([campaign.pk], each.name)[campaign.pk].items()}
            with connection.cursor() as cursor:
                cursor.execute(each.actual, {"campaign": campaign.pk})
                actual = {kind: Total(*values) for kind, *values in cursor.fetchall()}
            for kind in stored.keys() | actual.keys():
                difference = actual.get(kind, Total()).less(stored.get(kind, Total()))
                if any(difference):
                    rows, amount, fee = wrong[f"{each.name} {kind}"] = difference
                    CountChange.objects.create(
                        campaign=campaign, name=each.name, kind=kind, count=rows, amount=amount, fee=fee
                    )
        changes = CountChange.objects.filter(campaign=campaign).aggregate(
            changes=Count("id"), newest=Max("id", default=0)
        )
        rest = max(REST, REST_FACTOR * timedelta(seconds=perf_counter() - started))
        Recount.objects.update_or_create(campaign=campaign, defaults={**changes, "at": at, "rests_until": at + rest})
    if wrong:
        log.error("Counts of campaign %s were wrong and are put right: %s", campaign.pk, wrong)
    return wrong


def counts_declared() -> list[Counted]:
    """The counts that models declare: `tallies = [...]`."""
    return [each for model in apps.get_models() for each in getattr(model, "tallies", ())]
