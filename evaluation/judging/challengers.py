"""Keeping best known answers current: what newly surfaces on top challenges them (Arabzadeh et al. 2022, section 6).

A passage that a run puts first, and that no pool had before, is compared with the query's best known answers only, not
with the whole pool. It takes their place if it wins; if it ties, both stay; a deadlock stays until somebody breaks it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
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


def settle_challenges(
    best: Answers, challengers: Answers, preferences: Iterable[Preference], *, most: int = 1
) -> list[Challenge]:
    """The outcome of every challenge. `preferences` are all judgments, those before the challenge among them.

    A challenger that loses to every answer is out. The others and the answers play the tournament of `best_known` among
    themselves, by the judgments there are of any two of them. A pair's judgments are counted; as many for one as for
    the other is a tie. With `most`, a challenger that does not lose its first comparison is confirmed: the pair is
    missing until it has so many judgments, or more would not change who leads.
    """
    judged: dict[str, list[Judgment]] = defaultdict(list)
    for query, a, b, preferred in preferences:
        judged[query].append(Tied(a, b) if preferred is None else Judged(preferred, b if preferred == a else a))
    return [
        _settle(query, tuple(sorted(best[query])), passages, judged.get(query, []), most)
        for query, passages in challengers.items()
        if best.get(query)
    ]


def _settle(
    query: str, before: tuple[str, ...], challengers: Collection[str], judgments: Collection[Judgment], most: int
) -> Challenge:
    lead: dict[tuple[str, str], int] = {}
    times = Counter(canonical(*judgment) for judgment in judgments)

    def is_open(pair: tuple[str, str]) -> bool:
        """Whether a pair is to be asked, or asked again."""
        return pair not in lead or (times[pair] < most and abs(lead[pair]) <= most - times[pair])

    def is_unconfirmed(answer: str, challenger: str) -> bool:
        pair = canonical(answer, challenger)
        is_behind = pair in lead and (lead[pair] > 0) == (pair[0] == answer) and lead[pair] != 0
        return is_open(pair) and not (times[pair] == 1 and is_behind)

    for judgment in judgments:
        pair = canonical(*judgment)
        # Positive where the first of the pair leads.
        won = 0 if isinstance(judgment, Tied) else 1 if judgment.winner == pair[0] else -1
        lead[pair] = lead.get(pair, 0) + won
    missing = sorted(
        Pair(query, *canonical(answer, challenger))
        for challenger in challengers
        for answer in before
        if is_unconfirmed(answer, challenger)
    )
    if missing:
        return Challenge(query, before, before, tuple(missing))
    left = {*before}
    for challenger in challengers:
        for answer in before:
            pair = canonical(answer, challenger)
            ahead = lead[pair] if pair[0] == answer else -lead[pair]
            if ahead <= 0:
                left.add(challenger)
    # Answers were found by tournaments of whole pools, and may never have met: only challengers' pairs are asked for.
    pairs = combinations(sorted(left), 2)
    # The answers' own pairs with challengers were settled above.
    missing = [
        Pair(query, *pair)
        for pair in pairs
        if (is_open(pair) if not {*pair}.intersection(before) else pair not in lead and not {*pair} <= {*before})
    ]
    if missing:
        return Challenge(query, before, before, tuple(missing))
    if left == {*before}:
        return Challenge(query, before, before, ())
    among = [judgment for judgment in judgments if judgment[0] in left and judgment[1] in left]
    return Challenge(query, before, tuple(sorted(best_known(left, among))), ())
