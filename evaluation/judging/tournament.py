"""From preferences to the best known answer.

A judgment is a win of one passage over another, or a tie, which is half a win for both. Counted in halves, so that
everything stays in whole numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference

Method = Literal["tournament", "most-wins", "bradley-terry"]
METHODS: tuple[Method, ...] = get_args(Method)

# Strengths closer than this are one strength: what the fit leaves open, and rounding.
_SAME_STRENGTH = 1e-6


class Judged(NamedTuple):
    """One accepted judgment: `winner` was preferred over `loser`."""

    winner: str
    loser: str


class Tied(NamedTuple):
    """One accepted judgment that found `a` and `b` equally good."""

    a: str
    b: str


Judgment = Judged | Tied


def best_known(pool: Collection[str], judgments: Iterable[Judgment]) -> frozenset[str]:
    """The winners of a pool's tournament: one passage, or several in a deadlock.

    Most wins first; while several tie for first and are fewer than the set they came from, play again among the tied
    (Arabzadeh et al. 2022, section 5.1). Every judgment is one win, so repeats count; a tie is half a win for both.

    Raises UnknownPassage if a judgment names a passage outside the pool.
    """
    playing = frozenset(pool)
    played = _within(playing, judgments)
    while True:
        leaders = _leaders(playing, played)
        if len(leaders) in (1, len(playing)):
            return leaders
        playing = leaders
        played = [judgment for judgment in played if judgment[0] in leaders and judgment[1] in leaders]


def most_wins(pool: Collection[str], judgments: Iterable[Judgment]) -> frozenset[str]:
    """All passages with the most wins over the whole pool. Raises UnknownPassage as `best_known` does."""
    playing = frozenset(pool)
    return _leaders(playing, _within(playing, judgments))


def bradley_terry(pool: Collection[str], judgments: Iterable[Judgment]) -> frozenset[str]:
    """The passages of the greatest strength in a Bradley–Terry model, fitted by `choix.ilsr_pairwise(alpha=0.1)`.

    Usually one; several where the judgments make them equal, as in a cycle. Raises UnknownPassage as `best_known` does.
    """
    ids = sorted(set(pool))
    played = _within(frozenset(ids), judgments)
    if len(ids) < 2 or not played:
        return frozenset(ids)
    import choix  # brings scipy along, which nothing else here needs

    index = {passage: at for at, passage in enumerate(ids)}
    wins = []  # in halves: twice the winner's, or once each. Sorted, so that the order of the input does not matter.
    for judgment in sorted(played):
        first, other = index[judgment[0]], index[judgment[1]]
        wins += [(first, other), (first, other) if isinstance(judgment, Judged) else (other, first)]
    # Every win is there twice, so alpha is doubled too: the fit is that of whole wins with alpha 0.1.
    strengths = choix.ilsr_pairwise(len(ids), wins, alpha=0.2, max_iter=1000)
    best = max(strengths)
    return frozenset(passage for passage, value in zip(ids, strengths, strict=True) if best - value <= _SAME_STRENGTH)


def _within(pool: frozenset[str], judgments: Iterable[Judgment]) -> list[Judgment]:
    played = list(judgments)
    for judgment in played:
        for passage in judgment:
            if passage not in pool:
                raise UnknownPassage(passage)
    return played


def _leaders(playing: frozenset[str], judgments: Iterable[Judgment]) -> frozenset[str]:
    halves = dict.fromkeys(playing, 0)
    for judgment in judgments:
        if isinstance(judgment, Judged):
            halves[judgment.winner] += 2
        else:
            halves[judgment.a] += 1
            halves[judgment.b] += 1
    most = max(halves.values(), default=0)
    return frozenset(passage for passage, count in halves.items() if count == most)


_METHODS: dict[Method, Callable[[Collection[str], Iterable[Judgment]], frozenset[str]]] = {
    "tournament": best_known,
    "most-wins": most_wins,
    "bradley-terry": bradley_terry,
}


@dataclass(frozen=True)
class Derived:
    """Preference qrels, and how they came out.

    `qrels`: (query, passage), sorted as strings. `single`: queries with one winner. `deadlocks[size]`: queries with so
    many winners. `incomplete`: queries without a winner, because pairs of their pool have no judgment, sorted.
    """

    qrels: tuple[tuple[str, str], ...]
    single: int
    deadlocks: dict[int, int]
    incomplete: tuple[str, ...]

    @classmethod
    def of(cls, answers: Mapping[str, Collection[str]], queries: Iterable[str]) -> Derived:
        """From the winners of some of these queries: the others are incomplete."""
        sizes = Counter(map(len, answers.values()))
        return cls(
            qrels=tuple(sorted((query, passage) for query, winners in answers.items() for passage in winners)),
            single=sizes.pop(1, 0),
            deadlocks=dict(sorted(sizes.items())),
            incomplete=tuple(sorted({*queries} - answers.keys())),
        )


def derive(
    pools: Mapping[str, Collection[str]],
    preferences: Iterable[Preference],
    method: Method = "tournament",
    allow_incomplete: bool = False,
) -> Derived:
    """Play every pool. The result depends on what was judged, not on the order it comes in.

    A pool in which two passages were never compared is refused, unless `allow_incomplete`; one without any judgment is
    refused in either case, as nothing speaks for any of its passages. A pool of one needs no judgment; an empty one
    has no winner and does not count. Raises UnknownPassage if a preference names a passage outside its query's pool.
    """
    if method not in METHODS:
        raise ValueError(f"method {method!r} where there are {', '.join(METHODS)}")
    judged: dict[str, list[Judgment]] = defaultdict(list)
    for query, a, b, preferred in preferences:
        if query not in pools:
            raise UnknownPassage(a)
        judged[query].append(Tied(a, b) if preferred is None else Judged(preferred, b if preferred == a else a))
    answers: dict[str, frozenset[str]] = {}
    for query, pool in pools.items():
        passages = frozenset(pool)
        judgments = judged.get(query, [])
        if passages and _enough(passages, judgments, allow_incomplete):
            answers[query] = _METHODS[method](passages, judgments)
        else:
            _within(passages, judgments)
    return Derived.of(answers, (query for query, pool in pools.items() if pool))


def graded_levels(
    pools: Mapping[str, Collection[str]], preferences: Iterable[Preference], winners: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """All passages of the pools that have winners as (query, passage), with grades that say what is preferred to what.

    The winners have the highest grade. Below them, passages with more wins have a higher grade than those with fewer (a
    tie is half a win for both), and those with equally many the same; the fewest wins are grade 1.
    """
    best: dict[str, set[str]] = defaultdict(set)
    for query, passage in winners:
        best[query].add(passage)
    halves: dict[tuple[str, str], int] = defaultdict(int)
    for query, a, b, preferred in preferences:
        halves[query, a] += 1 if preferred is None else 2 * (preferred == a)
        halves[query, b] += 1 if preferred is None else 2 * (preferred == b)
    grades: dict[tuple[str, str], int] = {}
    for query, first in best.items():
        others = {passage: halves[query, passage] for passage in pools[query] if passage not in first}
        level = {wins: grade for grade, wins in enumerate(sorted(set(others.values())), 1)}
        grades |= {(query, passage): level[wins] for passage, wins in others.items()}
        grades |= {(query, passage): len(level) + 1 for passage in first}
    return grades


def _enough(pool: frozenset[str], judgments: Collection[Judgment], allow_incomplete: bool) -> bool:
    if len(pool) == 1:
        return True
    if allow_incomplete:
        return bool(judgments)
    compared = {(first, other) if first <= other else (other, first) for first, other in judgments}
    return len(compared) == len(pool) * (len(pool) - 1) // 2
