"""`python -m evaluation workers`: how far each worker can be relied on."""

from __future__ import annotations

import argparse
from typing import Any

from evaluation.cli.common import OK, add_command, print_json, table, tell
from evaluation.errors import BadInput
from evaluation.files.judgments import last_judgments, read_judgments
from evaluation.files.preferences import TIE, Preference
from evaluation.files.textfiles import counted
from evaluation.judging.adjudication import adjudicate
from evaluation.judging.pooling import canonical
from evaluation.statistics.reliability import MODELS, Cast, Model, reliabilities, weigh, weights


def add_workers(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "workers",
        _workers,
        "tell how far each worker can be relied on",
        """Reads judgments with whoever made them: lines `query a b preferred worker`, the judgments.tsv of a campaign's
exports, or what other tools export. Of each worker it tells, over the pairs that others judged, too: the share of the
others' judgments that are the same; how often the worker is right, by the model of Dawid and Skene; and which share of
their judgments are no guesses, by MACE, to which somebody who always takes one side guesses. It needs no test pairs,
and says nothing of who judged alone. --json prints

  {"workers": {"<worker>": {"pairs", "agreement", "correct", "unguessed"}}, "judgments", "left_out": {"<why>": n}}

--weigh prints the judgments instead, as they count when workers weigh by one of the models: lines
`query a b preferred`, sorted. On a pair whose judgments disagree, all of them say what they weigh more for; where they
weigh the same, and on all other pairs, they stay as they are. Of a worker who judged a pair again, the last judgment
counts. A judgment without a worker weighs as that of somebody who judged nothing that others judged. Ties, written =,
weigh nothing, and tell nothing of a worker.""",
        [
            "python -m evaluation workers --judgments judgments.tsv",
            "python -m evaluation workers --judgments judgments.tsv --weigh dawid-skene > counted-preferences.txt",
        ],
    )
    command.add_argument("--judgments", metavar="FILE", required=True, help="the judgments, with workers")
    printed = command.add_mutually_exclusive_group()
    printed.add_argument("--json", action="store_true", help="print JSON")
    printed.add_argument("--weigh", choices=MODELS, help="print the judgments as they count when workers weigh by it")


def _workers(options: argparse.Namespace) -> int:
    judgments = read_judgments(options.judgments, name=options.judgments)
    cast, ties = [], []
    judgments_in_file = list(judgments.made)
    counting = last_judgments(judgments_in_file)
    for _ in range(len(judgments_in_file) - len(counting)):
        judgments.leave_out("that their worker changed later")
    for judgment in counting:
        if judgment.preferred is None:
            if options.weigh:
                ties.append(Preference(judgment.query, *canonical(judgment.a, judgment.b), None))
            else:
                judgments.leave_out("without a preference")
        elif judgment.worker or options.weigh:
            cast.append(Cast(judgment.query, judgment.a, judgment.b, judgment.worker, judgment.preferred))
        else:
            judgments.leave_out("without a worker")
    if not cast:
        why = "; ".join(f"{count:,} {reason}" for reason, count in judgments.left_out.items())
        raise BadInput(options.judgments, None, f"no judgment of a known worker{f' ({why} left out)' if why else ''}.")
    for reason, count in judgments.left_out.items():
        tell(f"{counted(count, 'judgment')} {reason} left out.")
    if options.weigh:
        return _weigh(cast, ties, options.weigh)
    reliable = reliabilities(cast)
    if options.json:
        workers = {worker: reliability._asdict() for worker, reliability in reliable.items()}
        print_json({"workers": workers, "judgments": len(cast), "left_out": judgments.left_out})
        return OK
    rows: list[tuple[str, ...]] = [("worker", "pairs", "agreement", "correct", "unguessed")]
    for worker, reliability in sorted(reliable.items(), key=lambda row: (-(row[1].correct or 0), row[0])):
        shares = (
            "–" if share is None else f"{share:.3f}"
            for share in (reliability.agreement, reliability.correct, reliability.unguessed)
        )
        rows.append((worker, f"{reliability.pairs:,}", *shares))
    print("\n".join(table(rows)))
    return OK


def _weigh(cast: list[Cast], ties: list[Preference], model: Model) -> int:
    by = weights(cast, model)
    heavier = weigh(cast, by)
    preferences = (Preference(row.query, *canonical(row.a, row.b), row.preferred) for row in cast)
    for row in adjudicate([*preferences, *ties], heavier):
        print(row.query, row.a, row.b, row.preferred or TIE)
    votes: dict[tuple[str, str, str], set[str]] = {}
    for vote in cast:
        votes.setdefault((vote.query, *canonical(vote.a, vote.b)), set()).add(vote.preferred)
    disagreeing = sum(len(answers) > 1 for answers in votes.values())
    balanced = disagreeing - len(heavier)
    tell(
        f"{counted(disagreeing, 'pair')} with judgments that disagree"
        + (f", {balanced:,} of them with the same weight on both sides, left as they are." if balanced else ".")
    )
    return OK
