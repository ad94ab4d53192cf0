"""Machine judges beside a campaign's people, as a table and as data."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _

from judgments.models import MachineJudge
from pools.models import Campaign
from results.models import MachineComparison
from results.tables import Column, Table, Value


def judges_beside(campaign: Campaign, *, whole: bool = False) -> QuerySet[MachineJudge]:
    """The machine judges of a campaign's collection by name, each with its comparison in the campaign: `compared`, a
    list of one or none. `whole`: with the scores of the runs.
    """
    comparisons = MachineComparison.objects.filter(campaign=campaign).defer("qrels", *(() if whole else ("runs",)))
    own = Prefetch("comparisons", comparisons, to_attr="compared")
    return MachineJudge.objects.filter(collection=campaign.collection_id).prefetch_related(own).order_by("name")


def machine_table(judges: Iterable[MachineJudge]) -> Table:
    """A row a judge; its values are missing until it has been compared."""
    columns = [
        Column("judge", _("Machine judge"), "name"),
        Column("model", _("Model"), "text"),
        Column("pairs", _("Judgments by people"), "count"),
        Column("decisive", _("Both prefer one"), "count"),
        Column("agree", _("The same one"), "count"),
        Column("share", _("Agreement"), "share"),
        Column("interval", _("95%, by Wilson"), "shares"),
        Column("people_share", _("People with each other"), "share"),
        Column("ties", _("Ties"), "count"),
        Column("missing", _("No answer"), "count"),
        Column("first_share", _("Prefers the first"), "share"),
        Column("first_p", _("p"), "p"),
        Column("longer_share", _("Prefers the longer"), "share"),
        Column("people_longer_share", _("People prefer the longer"), "share"),
        Column("tau", _("tau, all runs"), "score"),
        Column("tau_first", _("tau, first ten"), "score"),
    ]
    rows = [[judge.name, judge.model, *_values(judge.compared)] for judge in judges]  # type: ignore[attr-defined]
    return Table("machines", _("Beside machines"), _about(), columns, rows)


def _values(compared: Sequence[MachineComparison]) -> list[Value]:
    if not compared:
        return [None] * 14
    data = compared[0].data
    orders = data["orders"] or {}
    return [
        *(data[key] for key in ("pairs", "decisive", "agree", "share", "interval")),
        data["people"]["raw"],
        *(data[key] for key in ("ties", "missing")),
        data["first"]["left_share"],
        data["first"]["p"] if data["first"]["left_share"] is not None else None,
        data["longer"]["machine_share"],
        data["longer"]["people_share"],
        orders.get("tau"),
        orders.get("tau_first"),
    ]


def _about() -> str:
    return _(
        "Counted over people's judgments, each by itself. Agreement is the share of the judgments where both prefer "
        "one passage and it is the same one, with Wilson's interval. A tie: the machine finds both equal, or answers "
        "differently when they are shown the other way round. Prefers the first: the share of its own answers that "
        "prefer the passage it was shown first, with the p of the exact binomial test. Prefers the longer: of the "
        "judgments where both prefer one and the lengths differ. tau: Kendall's, between the orders of the runs by the "
        "winners of people and by those of the machine; among the first ten by people, too."
    )


def machine_data(judges: Iterable[MachineJudge]) -> list[dict[str, Any]]:
    """All that is known of each judge, ready for JSON."""
    return [
        {
            "judge": judge.name,
            "model": judge.model,
            "prompt": judge.prompt,
            "sha256": judge.sha256,
            "imported_at": judge.imported_at.isoformat(),
            **({**one.data, "runs": one.runs, "computed_at": one.computed_at.isoformat()} if one else {}),
        }
        for judge in judges
        for one in [next(iter(judge.compared), None)]  # type: ignore[attr-defined]
    ]
