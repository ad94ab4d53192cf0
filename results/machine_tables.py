"""Machine judges beside a campaign's people, as a table and as data."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext as _

from machines.models import MachineJudge
from pools.models import Campaign
from results.models import MachineComparison
from results.tables import Column, Table, Value


def judges_beside(campaign: Campaign, *, whole: bool = False) -> QuerySet[MachineJudge]:
    """The machine judges of a campaign's collection by name, each with its comparison in the campaign: `compared`, a
    list of one or none. `whole`: with the scores of the runs.
    """
    left_out = ["qrels", *(() if whole else ("runs", "scores"))]
    comparisons = MachineComparison.objects.filter(campaign=campaign).defer(*left_out)
    prefetch = Prefetch("comparisons", comparisons, to_attr="compared")
    return MachineJudge.objects.filter(collection=campaign.collection_id).prefetch_related(prefetch).order_by("name")


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
        Column("advantage", _("Advantage"), "share"),
        Column("passes", _("May stand in"), "yes"),
        Column("favour", _("Favour of its own runs"), "change"),
        Column("favour_p", _("p of the favour"), "p"),
    ]
    rows = [[judge.name, judge.model, *_values(judge.compared)] for judge in judges]  # type: ignore[attr-defined]
    return Table("machines", _("Beside machines"), _about(), columns, rows)


def _values(compared: Sequence[MachineComparison]) -> list[Value]:
    if not compared:
        return [None] * 18
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
        # Older software did not count these.
        *((data.get("stand_in") or {}).get(key) for key in ("advantage", "passes")),
        *((data.get("favour") or {}).get(key) for key in ("mean", "p")),
    ]


def _about() -> str:
    return _(
        "Counted over people's judgments, each by itself. Agreement is the share of the judgments where both prefer "
        "one passage and it is the same one, with Wilson's interval. A tie: the machine finds both equal, or answers "
        "differently when they are shown the other way round. Prefers the first: the share of its own answers that "
        "prefer the passage it was shown first, with the p of the exact binomial test. Prefers the longer: of the "
        "judgments where both prefer one and the lengths differ. tau: Kendall's, between the orders of the runs by the "
        "winners of people and by those of the machine; among the first ten by people, too. Advantage, May stand in: "
        "the alternative annotator test. Favour: how much more the machine gives to runs that use its own model than "
        "to others, beyond what people give, with its p. The machine's own page explains them."
    )


def _columns() -> list[Column]:
    return [
        Column("people", _("People alone"), "score"),
        Column("people_interval", _("95%"), "interval"),
        Column("machine", _("Machine alone"), "score"),
        Column("mean", _("Both"), "score"),
        Column("interval", _("95%, both"), "interval"),
        Column("weight", _("Weight"), "share"),
    ]


def score_table(scores: dict[str, Any]) -> Table:
    """RR of all runs from people alone, the machine alone, and both, the best first by both."""
    runs = sorted(scores["runs"].items(), key=lambda row: (-row[1]["mean"], row[0]))
    columns = _columns()
    rows = [[run, *(values[column.key] for column in columns)] for run, values in runs]
    about = _(
        "Mean %(measure)s. People alone: over %(queries)d queries that people judged. Machine alone: over these and "
        "%(further)d that only the machine answered. Both: prediction-powered inference, in which people’s judgments "
        "correct the machine’s errors; the weight says how far the machine is relied on, and is 0 where it does not "
        "help. With fewer than 30 queries by people, intervals are rough."
    ) % {"measure": f"RR@{scores['k']}", "queries": scores["queries"], "further": scores["further"]}
    columns.insert(0, Column("run", _("Run"), "name"))
    return Table("scores", _("Scores with the machine’s help"), about, columns, rows)


def difference_table(scores: dict[str, Any]) -> Table:
    """How much higher each run scores than the next."""
    columns = [Column("a", _("Run"), "name"), Column("b", _("Next run"), "name"), *_columns()]
    columns = [column._replace(kind="change") if column.kind == "score" else column for column in columns]
    rows = [[row[column.key] for column in columns] for row in scores["differences"]]
    about = _(
        "How much higher each run scores than the next, query by query. Each interval is for one difference by itself: "
        "there is no correction for looking at several."
    )
    return Table("differences", _("Differences of neighbouring runs"), about, columns, rows)


def person_table(test: dict[str, Any]) -> Table:
    """The alternative annotator test, a row a person."""
    columns = [
        Column("person", _("Person"), "name"),
        Column("pairs", _("Pairs"), "count"),
        Column("machine", _("Machine as good"), "share"),
        Column("as_good", _("Person as good"), "share"),
        Column("p", _("p"), "p"),
        Column("stands", _("Machine may stand in"), "yes"),
    ]
    rows = [
        [str(number), *(person[key] for key in ("pairs", "machine", "person", "p", "stands"))]
        for number, person in enumerate(test["people"], 1)
    ]
    about = _(
        "The alternative annotator test of Calderon, Reichart and Dror (2025). Each person in turn is left out and "
        "compared with the machine. Machine as good: the share of the pairs in which it agrees with at least as many "
        "of the other people as this person does. Person as good: the same turned round. The machine may stand in for "
        "a person if it is not worse by %(epsilon)s or more, which allows for how much cheaper it is than a crowd "
        "worker (t-test, false discovery rate of 5%% by Benjamini and Yekutieli)."
    ) % {"epsilon": test["epsilon"]}
    return Table("people", _("May the machine stand in for a person?"), about, columns, rows)


def tables_of(comparison: MachineComparison) -> list[Table]:
    """The tables of one judge beside people."""
    scores = comparison.scores
    return [
        *([score_table(scores), difference_table(scores)] if scores else []),
        person_table(comparison.data["stand_in"]),
    ]


def machine_data(judges: Iterable[MachineJudge]) -> list[dict[str, Any]]:
    """All that is known of each judge, ready for JSON."""
    return [
        {
            "judge": judge.name,
            "model": judge.model,
            "prompt": judge.prompt,
            "sha256": judge.sha256,
            "imported_at": judge.imported_at.isoformat(),
            **(
                {**row.data, "runs": row.runs, "scores": row.scores, "computed_at": row.computed_at.isoformat()}
                if row
                else {}
            ),
        }
        for judge in judges
        for row in [next(iter(judge.compared), None)]  # type: ignore[attr-defined]
    ]
