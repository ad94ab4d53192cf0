"""`python -m evaluation challenge`: what runs newly put first, against the best known answers."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evaluation.cli.common import (
    BAD,
    OK,
    ORDER_HELP,
    add_command,
    add_min_grade,
    add_without_query,
    is_same_file,
    print_json,
    print_report,
    read_judged,
    read_runs,
    table,
    write_whole,
)
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS, RunArtifact
from evaluation.files.preferences import Pair, read_pairs, read_preferences
from evaluation.files.qrels import POLICIES, read_qrels
from evaluation.files.textfiles import counted
from evaluation.judging.challengers import OUTCOMES, Challenge, challenge_pairs, find_challengers, settle_challenges
from evaluation.judging.pooling import all_pairs, pool_queries

Answers = dict[str, tuple[str, ...]]

_SHOWN = 20  # changed queries in the text


def add_challenge(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "challenge",
        _challenge,
        "keep preference qrels current: passages that new runs rank first, against the best known answers",
        """A challenger is a passage that a run ranks first for a query of the preference qrels, and that nobody has
considered before: it is not among the best known answers, not in the pools that earlier runs made (--qrels with
--pool-runs), and not in a file of pairs that were judged (--pools). It is compared with the best known answers of its
query, and with nothing else.

Without --preferences, this prints how many challengers and pairs there are; --pairs writes the pairs. With --qrels and
--pool-runs, it also prints how many pairs a tournament of all passages would take: all of them, and those that the
earlier pools do not have.

With --preferences (all judgments there are, including those before the challenge), it prints how the challengers fared.
One that loses to every answer is out. One that wins replaces the answer; if it ties, both stay, and a deadlock stays
until it is broken. --new-qrels writes the preference qrels that follow, and --pairs what is still to be judged:
challengers that nobody has judged, and several of a query that did not lose, against each other. Until they have been
judged, the query keeps its answers.

--json prints one object:

  {"queries", "challenged", "challengers", "pairs", "all_pairs", "new_pairs", "outcomes": {"won", "tied", "lost",
   "open"}, "to_judge", "changed": [{"query", "before", "after"}]}

`all_pairs` and `new_pairs` are null without --pool-runs; `outcomes`, `to_judge` and `changed` without
--preferences.""",
        [
            "python -m evaluation challenge --preference-qrels preference-qrels.txt --pools pairs.tsv --pairs ask.tsv "
            "new.txt.gz",
            "python -m evaluation challenge --preference-qrels preference-qrels.txt --pools pairs.tsv "
            "--preferences all-preferences.txt --new-qrels preference-qrels-2.txt new.txt.gz",
        ],
    )
    command.add_argument("files", metavar="RUN", nargs="+", help="the run files")
    command.add_argument("--preference-qrels", metavar="FILE", required=True, help="the best known answers until now")
    command.add_argument("--order", choices=ORDERS, default="score", help=ORDER_HELP)
    command.add_argument(
        "--pools", metavar="PAIRS.tsv", help="pairs that were judged (query a b), as `pool --pairs` writes them"
    )
    command.add_argument("--qrels", metavar="FILE", help="with --pool-runs: the original qrels (query 0 passage grade)")
    command.add_argument(
        "--pool-runs",
        metavar="RUN,RUN,...",
        help="the names of the runs whose top passages made the earlier pools, with --qrels; the other runs are the "
        "new ones. If the preference qrels lack a query whose pool has one passage, that passage is its answer",
    )
    command.add_argument(
        "--qrel", choices=POLICIES, default="first", help="which original qrels joined the pools; default: first"
    )
    add_min_grade(command)
    command.add_argument("--preferences", metavar="FILE", help="all judgments (query a b preferred)")
    command.add_argument("--pairs", metavar="OUT.tsv", help="write the pairs to judge there: query, a, b, sorted")
    command.add_argument("--new-qrels", metavar="OUT.txt", help="write the new preference qrels there")
    add_without_query(command)
    command.add_argument("--json", action="store_true", help="print JSON")


class Found(NamedTuple):
    """The best known answers, those that challenge them, and, with judgments, what came of it. `all_pairs` are those of
    a tournament of all passages, `new_pairs` those of them that the earlier pools do not have.
    """

    answers: Answers
    challengers: dict[str, tuple[str, ...]]
    pairs: list[Pair]
    all_pairs: int | None
    new_pairs: int | None
    challenges: list[Challenge] | None

    @property
    def to_judge(self) -> list[Pair]:
        """What must be judged before all is known, sorted."""
        if self.challenges is None:
            return self.pairs
        return sorted(pair for challenge in self.challenges for pair in challenge.missing)

    @property
    def changed(self) -> list[Challenge]:
        """The challenges after which there are other answers."""
        return [challenge for challenge in self.challenges or () if challenge.changed]

    @property
    def outcomes(self) -> Counter[str]:
        """How many challengers came to what."""
        return Counter(
            challenge.outcome(passage)
            for challenge in self.challenges or ()
            for passage in self.challengers[challenge.query]
        )


def _challenge(options: argparse.Namespace) -> int:
    _check(options)
    current = read_judged(options.preference_qrels, 1)
    original = read_qrels(options.qrels, name=options.qrels) if options.qrels else None
    judged = list(read_pairs(options.pools, name=options.pools)) if options.pools else []
    preferences = (
        list(read_preferences(options.preferences, name=options.preferences, ties=True))
        if options.preferences
        else None
    )
    runs = read_runs(options.files, 1, without_query=options.without_query)
    if runs is None:
        return BAD
    pooled = _pooled(runs, options)
    tops = {name: run.top(options.order) for name, run in runs.items()}
    answers: Answers = {
        query: tuple(sorted(passages)) for query, passages in current.relevant("all").items() if passages
    }
    before, after = {}, {}
    if original is not None:
        before = pool_queries([tops[name] for name in pooled], original, options.qrel, min_grade=options.min_grade)
        after = pool_queries(tops.values(), original, options.qrel, min_grade=options.min_grade)
        answers = {query: pool for query, pool in before.items() if len(pool) == 1} | answers
    considered = {query: {*passages, *before.get(query, ())} for query, passages in sorted(answers.items())}
    for query, *pair in judged:
        if query in considered:
            considered[query].update(pair)
    challengers = find_challengers([top for name, top in tops.items() if name not in pooled], considered)
    before_pairs, needed = _pairs_of(before), _pairs_of(after)
    result = Found(
        answers,
        challengers,
        challenge_pairs(answers, challengers),
        len(needed) if original is not None else None,
        len(needed - before_pairs) if original is not None else None,
        None if preferences is None else settle_challenges(answers, challengers, preferences),
    )
    if options.pairs:
        with write_whole(options.pairs) as out:
            out.writelines("\t".join(pair) + "\n" for pair in result.to_judge)
    if options.new_qrels:
        with write_whole(options.new_qrels) as out:
            out.writelines(_qrels_lines(result))
    if options.json:
        print_json(_as_dict(result))
    else:
        print_report(_report(result))
    return OK


def _check(options: argparse.Namespace) -> None:
    if bool(options.qrels) != bool(options.pool_runs):
        options.command.error("give --qrels and --pool-runs together: they make the earlier pools")
    if options.new_qrels and not options.preferences:
        options.command.error("--new-qrels needs --preferences")
    inputs = [options.preference_qrels, options.qrels, options.pools, options.preferences, *options.files]
    for target in filter(None, (options.pairs, options.new_qrels)):
        if any(is_same_file(target, path) for path in inputs if path):
            raise BadInput(target, None, "is one of the input files, and would be overwritten.")
    if options.pairs and options.pairs == options.new_qrels:
        options.command.error("--pairs and --new-qrels name the same file")


def _pooled(runs: dict[str, RunArtifact], options: argparse.Namespace) -> set[str]:
    names = options.pool_runs.split(",") if options.pool_runs else []
    unknown = [name for name in names if name not in runs]
    if unknown:
        options.command.error(f"--pool-runs names {unknown[0]!r}, which is not one of the runs: {', '.join(runs)}")
    return set(names)


def _pairs_of(pools: dict[str, tuple[str, ...]]) -> set[Pair]:
    return {pair for query, pool in pools.items() for pair in all_pairs(query, pool)}


def _qrels_lines(result: Found) -> Iterator[str]:
    answers = result.answers | {challenge.query: challenge.best for challenge in result.challenges or ()}
    for query in sorted(answers):
        for passage in sorted(answers[query]):
            yield f"{query} 0 {passage} 1\n"


def _as_dict(result: Found) -> dict[str, Any]:
    values: dict[str, Any] = {
        "queries": len(result.answers),
        "challenged": len(result.challengers),
        "challengers": sum(map(len, result.challengers.values())),
        "pairs": len(result.pairs),
        "all_pairs": result.all_pairs,
        "new_pairs": result.new_pairs,
        "outcomes": None,
        "to_judge": None,
        "changed": None,
    }
    if result.challenges is not None:
        values |= {
            "outcomes": {outcome: result.outcomes[outcome] for outcome in OUTCOMES},
            "to_judge": len(result.to_judge),
            "changed": [
                {"query": challenge.query, "before": challenge.before, "after": challenge.best}
                for challenge in result.changed
            ],
        }
    return values


def _report(result: Found) -> Iterator[str]:
    count = sum(map(len, result.challengers.values()))
    queries = counted(len(result.answers), "query", "queries")
    if not count:
        yield f"No run brings anything new to the {queries} of the preference qrels."
        return
    challengers = counted(count, "challenger")
    yield f"{challengers} in {len(result.challengers):,} of {queries}: {_pairs(result.pairs)} to judge."
    if result.all_pairs is not None:
        yield (
            f"A tournament of all passages would take {result.all_pairs:,} pairs; {result.new_pairs:,} of them are not "
            "in the earlier pools."
        )
    if result.challenges is None:
        return
    yield ""
    outcomes = result.outcomes
    yield (
        f"{outcomes['won']:,} replaced a best known answer, {outcomes['tied']:,} tied, {outcomes['lost']:,} lost, "
        f"{outcomes['open']:,} open."
    )
    if result.to_judge:
        yield f"Still to judge: {_pairs(result.to_judge)}."
    if result.changed:
        yield ""
        rows = [["query", "before", "now"]]
        rows += [
            [challenge.query, " ".join(challenge.before), " ".join(challenge.best)]
            for challenge in result.changed[:_SHOWN]
        ]
        yield from table(rows, left=3)
        if len(result.changed) > _SHOWN:
            yield f"… {len(result.changed) - _SHOWN:,} more."


def _pairs(pairs: Sequence[Pair]) -> str:
    return counted(len(pairs), "pair")
