"""`python -m evaluation qrels`: from judgments to preference qrels."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Mapping
from typing import Any

from evaluation.cli.common import OK, POOLS_HELP, add_command, read_pools, read_texts, tell, with_names
from evaluation.errors import BadInput, UnknownPassage
from evaluation.files.textfiles import counted
from evaluation.files.texts import read_passages
from evaluation.judging.equal_texts import judge_merged, merge_equal, normalize_text, with_equal_texts
from evaluation.judging.tournament import METHODS, Derived, derive, graded_levels
from evaluation.statistics.consistency import Triples, intransitive_triples


def _qrels(options: argparse.Namespace) -> int:
    pools: Mapping[str, Collection[str]]
    pools, preferences = read_pools(options.pools, options.file)
    texts: dict[str, str] = {}
    if options.passages:
        texts = read_texts(options.passages, {passage for pool in pools.values() for passage in pool})
        merged = merge_equal(pools, texts)
        pools, preferences = merged.pools, judge_merged(merged, preferences)
    try:
        derived = derive(pools, preferences, options.method, options.allow_incomplete)
    except UnknownPassage as error:  # found above already; kept for the day the two disagree
        raise BadInput(options.file, None, f"{error}.") from None
    grades = dict.fromkeys(derived.qrels, 1)
    if options.levels:
        grades = graded_levels(pools, preferences, derived.qrels)
    named = len(grades)
    if options.passages:
        ids = _ids_of({texts.get(passage) for _, passage in grades}, options)
        for grade in sorted(set(grades.values())):
            rows_of_grade = [row for row, other in grades.items() if other == grade]
            grades |= dict.fromkeys(with_equal_texts(rows_of_grade, texts, ids), grade)
    sys.stdout.writelines(f"{query} 0 {passage} {grade}\n" for (query, passage), grade in sorted(grades.items()))
    sys.stdout.flush()
    _summarize(derived, intransitive_triples(preferences), options)
    if len(grades) > named:
        whose = "a passage above" if options.levels else "a winner"
        tell(f"{counted(len(grades) - named, 'more passage')} with the text of {whose}.")
    return OK


def _ids_of(texts: Collection[str | None], options: argparse.Namespace) -> dict[str, set[str]]:
    """The ids of the file's passages that have one of these texts, by normalized text."""
    ids_of_text: dict[str, set[str]] = {normalize_text(text): set() for text in texts if text is not None}
    for passage in read_passages(options.passages, name=options.passages):
        ids = ids_of_text.get(normalize_text(passage.text))
        if ids is not None:
            ids.add(passage.id)
    return ids_of_text


def _summarize(derived: Derived, triples: Triples, options: argparse.Namespace) -> None:
    if options.json:
        summary = {
            "method": options.method,
            "single": derived.single,
            "deadlocks": {str(size): count for size, count in derived.deadlocks.items()},
            "incomplete": len(derived.incomplete),
            "incomplete_queries": list(derived.incomplete),
            **triples._asdict(),
        }
        tell(json.dumps(summary, ensure_ascii=False))
        return
    tell(f"{counted(derived.single, 'query', 'queries')} with a single winner.")
    for size, count in derived.deadlocks.items():
        tell(f"{counted(count, 'deadlock')} of {size}.")
    if not derived.deadlocks:
        tell("0 deadlocks.")
    names = with_names(len(derived.incomplete), list(derived.incomplete[:10]))
    tell(f"Pools refused as incomplete, with pairs that nobody judged: {names}.")
    tell(f"Intransitive triples of passages: {triples.intransitive:,} of {triples.triples:,}.")


def add_qrels(commands: Any) -> None:
    command = add_command(
        commands,
        "qrels",
        _qrels,
        "turn preference judgments into qrels",
        """Plays each query's judgments (lines `query a b preferred`) as a tournament, and prints the winners as TREC
qrels, `query 0 passage 1`, sorted. A line is a judgment and counts as one win, so repeated judgments each count. A
summary goes to standard error: queries with a single winner, deadlocks by size, pools refused.

Methods:
  tournament     most wins; while several tie for first and are fewer than before, again among those tied. More than
                 one winner is a deadlock, as when a beats b beats c beats a.
  most-wins      all passages with the most wins.
  bradley-terry  the passage of the greatest strength in a Bradley-Terry model (choix, alpha 0.1).

A pool with two passages that nobody compared is refused: it gives no qrels, and the summary says so.""",
        ["python -m evaluation qrels --pools pairs.tsv preferences.txt > preference-qrels.txt"],
    )
    command.add_argument("file", metavar="PREFERENCES", help="the judgments (query a b preferred)")
    command.add_argument("--method", choices=METHODS, default="tournament", help="default: tournament")
    command.add_argument("--pools", metavar="FILE", help=POOLS_HELP)
    command.add_argument(
        "--levels",
        action="store_true",
        help="print every passage of the pools, with grades: the winners' is the highest, and below them more wins are "
        "a higher grade, from 1 up. Measures with graded levels, such as Compat and nDCG, use them",
    )
    command.add_argument(
        "--allow-incomplete",
        action="store_true",
        help="play pools with pairs that nobody judged, if anything in them was judged",
    )
    command.add_argument(
        "--passages",
        metavar="FILE",
        help="the passages' texts (id TAB text, or JSON lines): passages of a pool with the same text, but for white "
        "space, are one candidate, and every id of the file that has a winner's text is printed",
    )
    command.add_argument("--json", action="store_true", help="the summary on standard error as JSON")
