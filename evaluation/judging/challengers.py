"""Keeping best known answers current: what newly surfaces on top challenges them (Arabzadeh et al. 2022, section 6).

A passage that a run puts first, and that no pool had before, is compared with the query's best known answers only, not
with the whole pool. It takes their place if it wins; if it ties, both stay; a deadlock stays until somebody breaks it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from evaluation.files.preferences import Pair, Preference
from evaluation.judging.pooling import Tops, canonical
from evaluation.judging.tournament import Judged, Judgment, Tied, best_known

# Best known answers, or passages, by query.
Answers = Mapping[str, Collection[str]]


def find_challengers(tops: Iterable[Tops], pools: Answers) -> dict[str, tuple[str, ...]]:
    """By query of the pools, what runs put first that its pool does not have, sorted."""
    surfaced: dict[str, set[str]] = defaultdict(set)
    for top in tops:
        for query, passages in top.items():
            if query in pools and passages and passages[0] not in pools[query]:
                surfaced[query].add(passages[0])
    return {query: tuple(sorted(surfaced[query])) for query in pools if surfaced.get(query)}


def challenge_pairs(best: Answers, challengers: Answers) -> list[Pair]:
    """Each challenger against each best known answer of its query, in canonical order. Without an answer, none."""
    return sorted(
        Pair(query, *canonical(answer, challenger))
        for query, passages in challengers.items()
        for challenger in passages
        for answer in best.get(query, ())
    )


# What became of a challenger: it took the place of an answer, tied with all of them, lost, or that is not known yet.
Outcome = Literal["won", "tied", "lost", "open"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Challenge(NamedTuple):
    """What challengers came to. `best`: the best known answers now, sorted; `before`: those until now.

    `missing`: pairs that must be judged before that is known, of challengers with the answers, or of several
    challengers that held their own; until then, `best` is as before.
    """

    query: str
    before: tuple[str, ...]
    best: tuple[str, ...]
    missing: tuple[Pair, ...]

    @property
    def changed(self) -> bool:
        """Whether there are other best known answers than before."""
        return self.best != self.before

    def outcome(self, challenger: str) -> Outcome:
        if self.missing:
            return "open"
        if challenger not in self.best:
            return "lost"
        return "tied" if {*self.before} <= {*self.best} else "won"


# How probable it is that the first passage of a pair is better than the second; None where that decides nothing.
Chance = Callable[[Pair], float | None]


def compare(times: int, lead: int, most: int, level: float, chance: Callable[[], float | None]) -> int | None:
    """What a newcomer's comparison came to: 1 where it is better than its rival, -1 where it is not, 0 where they tie;
    None while it is to be asked (again). `lead`: of `times` judgments, how many more are for the newcomer.

    One that loses the first is out, and so is one that does not lead and is not the likelier one, by its `chance` of
    being better. Otherwise it is over once that, or the chance of not being better, reaches the level, or once it has
    `most` judgments, or more would not change who leads.
    """
    left = max(0, most - times)
    if not times:
        return None
    if lead < 0 and (times == 1 or -lead > left):
        return -1
    if (probable := chance()) is not None:
        if lead <= 0 and probable < 0.5:
            return -1
        if lead > left or not 1 - level < probable < level:
            return 1 if probable > 0.5 else -1
    return 1 if lead > left else None if left else 0


def settle_challenges(
    best: Answers,
    challengers: Answers,
    preferences: Iterable[Preference],
    *,
    most: int = 1,
    level: float = 1.0,
    chance: Chance = lambda _pair: None,
) -> list[Challenge]:
    """The outcome of every challenge. `preferences` are all judgments, those before the challenge among them.

    A challenger that loses to every answer is out. The others and the answers play the tournament of `best_known` among
    themselves, by the judgments there are of any two of them. A pair's judgments are counted; as many for one as for
    the other is a tie. A pair of a challenger is missing until `compare` says that it is over: where that goes by
    `chance`, against most judgments of the pair, these count as if all were for the one that is better.
    """
    judged: dict[str, list[Judgment]] = defaultdict(list)
    for query, a, b, preferred in preferences:
        judged[query].append(Tied(a, b) if preferred is None else Judged(preferred, b if preferred == a else a))
    return [
        _settle(query, tuple(sorted(best[query])), passages, judged.get(query, []), most, level, chance)
        for query, passages in challengers.items()
        if best.get(query)
    ]


def _settle(
    query: str,
    before: tuple[str, ...],
    challengers: Collection[str],
    judgments: Collection[Judgment],
    most: int,
    level: float,
    chance: Chance,
) -> Challenge:
    lead: Counter[tuple[str, str]] = Counter()  # of the first of a pair
    times = Counter(canonical(*judgment) for judgment in judgments)
    for judgment in judgments:
        pair = canonical(*judgment)
        lead[pair] += 0 if isinstance(judgment, Tied) else 1 if judgment.winner == pair[0] else -1

    def outcome(challenger: str, answer: str) -> int | None:
        pair = canonical(challenger, answer)
        is_first = pair[0] == challenger

        def probable() -> float | None:
            of_first = chance(Pair(query, *pair))
            return of_first if of_first is None or is_first else 1 - of_first

        return compare(times[pair], lead[pair] if is_first else -lead[pair], most, level, probable)

    def is_open(pair: tuple[str, str]) -> bool:
        """Whether two challengers are to be compared (again): neither is out for having lost once."""
        left = most - times[pair]
        if not times[pair] or left <= 0 or abs(lead[pair]) > left:
            return not times[pair]
        probable = chance(Pair(query, *pair))
        return probable is None or 1 - level < probable < level

    outcomes = {(challenger, answer): outcome(challenger, answer) for challenger in challengers for answer in before}
    missing = sorted(Pair(query, *canonical(*rivals)) for rivals, came_to in outcomes.items() if came_to is None)
    if missing:
        return Challenge(query, before, before, tuple(missing))
    left = {*before, *(challenger for (challenger, _), came_to in outcomes.items() if came_to != -1)}
    # Answers were found by tournaments of whole pools, and may never have met: only challengers' pairs are asked for.
    missing = [
        Pair(query, *pair)
        for pair in combinations(sorted(left), 2)
        # The answers' own pairs with challengers were settled above.
        if not {*pair}.intersection(before) and is_open(pair)
    ]
    if missing:
        return Challenge(query, before, before, tuple(missing))
    if left == {*before}:
        return Challenge(query, before, before, ())
    overruled = {}
    for (challenger, answer), came_to in outcomes.items():
        pair = canonical(challenger, answer)
        if came_to and came_to * (lead[pair] if pair[0] == challenger else -lead[pair]) <= 0:
            overruled[pair] = Judged(*((challenger, answer) if came_to > 0 else (answer, challenger)))
    among = [
        overruled.get(canonical(*judgment), judgment)
        for judgment in judgments
        if judgment[0] in left and judgment[1] in left
    ]
    return Challenge(query, before, tuple(sorted(best_known(left, among))), ())
