"""`python -m evaluation agreement`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    add_without_query,
    cutoff,
    p_shown,
    print_json,
    print_report,
    read_runs,
    read_texts,
    table,
    tell,
)
from evaluation.files.answers import Answer, read_answers
from evaluation.files.artifact import ORDERS
from evaluation.files.preferences import Preference, read_preferences
from evaluation.files.textfiles import counted
from evaluation.judging.pooling import canonical
from evaluation.judging.tournament import derive
from evaluation.statistics.agreement import repeated_agreement
from evaluation.statistics.machines import (
    Beside,
    Longer,
    RunOrders,
    Settled,
    compare_orders,
    count_beside,
    first_preferred,
    longer_preferred,
    settle,
    winners_of,
)
from evaluation.statistics.ranks import Board
from evaluation.statistics.resampling import CONFIDENCE


def add_agreement(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "agreement",
        _agreement,
        "tell how far a machine's answers agree with people's judgments",
        """Compares the answers of a machine, such as a language model, with judgments that people made. Neither becomes
part of the other.

Both are lines `query a b preferred`. `preferred` is the id of a or b, or = for a tie; in the machine's file also !,
where it gave no answer. In people's file each line is a judgment. The machine has one answer for a pair, in whichever
order it was asked: answers that differ are a tie, and where one is ! the other holds. A pair with no answer but ! is
missing.

--json prints:

  {"pairs", "decisive", "agree", "ties", "missing"}

counted over people's judgments: how many there are, where both people and the machine preferred one of the two, how
often of these the same, where the machine's answer is a tie, and where it has none.

With --passages also "longer": {"judgments", "machine", "people", "machine_share", "people_share"}, over the decisive
judgments of passages of different lengths, in characters: how often the longer one was preferred.

With run files also "orders": {"k", "queries", "runs": {"<run>": {"people", "machine"}}, "tau", "first", "tau_first"}:
mean RR@k of each run on the winners by people and by the machine, as `qrels --allow-incomplete` derives them from
either alone, over the pools of the passages that people judged and the queries where both have a winner; Kendall's tau
of the two orders; and tau among the runs that people rank tenth or better. It is null where no query has both.

Without --json, the report also says how often the machine preferred the passage that it was shown first (a), with the
p of the exact two-sided binomial test.""",
        [
            "python -m evaluation agreement --human preferences.txt --machine answers.txt --json",
            "python -m evaluation agreement --human preferences.txt --machine answers.txt --passages texts.tsv runs/*",
        ],
    )
    command.add_argument("files", metavar="RUN", nargs="*", help="run files, to compare what either says of them")
    command.add_argument("--human", metavar="FILE", required=True, help="people's judgments (query a b preferred)")
    command.add_argument("--machine", metavar="FILE", required=True, help="the machine's answers (query a b preferred)")
    command.add_argument("--passages", metavar="FILE", help="the passages' texts (id TAB text, or JSON lines)")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument("--k", metavar="N", type=cutoff, default=10, help="how far down a run is read; default: 10")
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


class _Found(NamedTuple):
    people: list[Preference]
    answers: list[Answer]
    beside: Beside
    longer: Longer | None
    orders: RunOrders | None
    compared: bool


def _agreement(options: argparse.Namespace) -> int:
    people = list(read_preferences(options.human, name=options.human, ties=True))
    answers = list(read_answers(options.machine, name=options.machine))
    runs = read_runs(options.files, options.k, without_query=options.without_query)
    if runs is None:
        return BAD
    machine = settle(answers)
    longer = None
    if options.passages:
        judged = {passage for row in people for passage in (row.a, row.b)}
        texts = read_texts(options.passages, judged, "their judgments are left out where lengths are compared")
        longer = longer_preferred(people, machine, {passage: len(text) for passage, text in texts.items()})
    orders = _orders(Board(runs, options.k, options.order), people, machine) if runs else None
    result = _Found(people, answers, count_beside(people, machine), longer, orders, bool(runs))
    _tell_unused(people, answers)
    if options.json:
        print_json(
            {
                **result.beside._asdict(),
                **({"longer": longer.as_dict()} if longer else {}),
                **({"orders": orders and orders.as_dict()} if runs else {}),
            }
        )
    else:
        print_report(_report(result))
    return OK


def _orders(board: Board, people: list[Preference], machine: Settled) -> RunOrders | None:
    pools: dict[str, set[str]] = {}
    for query, a, b, _ in people:
        pools.setdefault(query, set()).update((a, b))
    return compare_orders(board, derive(pools, people, allow_incomplete=True).qrels, winners_of(pools, machine))


def _tell_unused(people: list[Preference], answers: list[Answer]) -> None:
    judged = {(row.query, *canonical(row.a, row.b)) for row in people}
    others = {(row.query, *canonical(row.a, row.b)) for row in answers} - judged
    if others:
        tell(f"The machine was also asked about {counted(len(others), 'pair')} that people did not judge.")


def _report(result: _Found) -> Iterator[str]:
    beside, side = result.beside, first_preferred(result.answers)
    yield from table(
        [
            ["people's judgments", f"{beside.pairs:,}", ""],
            ["both prefer one", f"{beside.decisive:,}", _share(beside.decisive, beside.pairs)],
            ["of these, the same", f"{beside.agree:,}", _share(beside.agree, beside.decisive)],
            ["the machine ties", f"{beside.ties:,}", _share(beside.ties, beside.pairs)],
            ["the machine has no answer", f"{beside.missing:,}", _share(beside.missing, beside.pairs)],
        ]
    )
    yield ""
    interval = beside.interval()
    if interval:
        yield (
            f"Where both prefer one, the machine agrees with people in {beside.share:.1%} of the judgments "
            f"({CONFIDENCE:.0%} interval by Wilson: {interval.low:.1%} to {interval.high:.1%})."
        )
    repeats = repeated_agreement(result.people)
    if repeats.raw is not None:
        pairs = counted(repeats.pairs, "pair")
        yield f"People agree with each other in {repeats.raw:.1%}, over {pairs} judged repeatedly."
    if side.left_share is not None:
        yield (
            f"The machine preferred the passage that it was shown first in {side.left_share:.1%} of "
            f"{counted(side.left + side.right, 'answer')} (p = {p_shown(side.p)} in the exact binomial test)."
        )
    if longer := result.longer:
        yield (
            f"The longer passage was preferred by the machine in {_share(longer.machine, longer.judgments)}"
            f" and by people in {_share(longer.people, longer.judgments)} of "
            f"{counted(longer.judgments, 'judgment')} of passages of different lengths."
        )
    if result.orders:
        yield from _on_runs(result.orders)
    elif result.compared:
        yield "No query has a winner by people and by the machine, so the runs cannot be compared."


def _on_runs(orders: RunOrders) -> Iterator[str]:
    yield ""
    rows = [["run", f"RR@{orders.k}, people", "machine"]]
    best_first = sorted(orders.people, key=lambda run: -orders.people[run])
    rows += [[run, f"{orders.people[run]:.4f}", f"{orders.machine[run]:.4f}"] for run in best_first]
    yield from table(rows)
    yield ""
    yield (
        f"Kendall's tau of the two orders of runs: {_tau(orders.tau)}; among the first {len(orders.first)} by people: "
        f"{_tau(orders.tau_first)}. {counted(orders.queries, 'query', 'queries')}."
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _tau(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
