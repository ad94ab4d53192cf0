"""How probable it is of each passage of a pool that it is the best, given every judgment that was ever made there.

People judge in one of several ways, the hypotheses. Either passages have strengths, normal around a common mean, the
first of two is preferred by Bradley and Terry's model, and a share of the judgments is guessed; or passages have a true
order, and each judgment is wrong at one rate, however close the two are. What all queries of a campaign say, pairs that
were judged several times above all, weighs the hypotheses by their marginal likelihood; a query's probabilities are the
mean of theirs. A tie is half a judgment for each passage. Pairs without judgments say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.judging.batch_tournaments import SizedPools

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

SPREADS = (0.4, 0.7, 1.1, 1.6, 2.4, 4.0)
GUESSES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6)
RATES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
_USUAL, _VARIES = math.log(1.4), 0.7  # a spread's logarithm before anything is judged: normal
_RARE = 5.0  # guesses before anything is judged: exponential with this rate
_ORDERED = 13  # passages of the largest pool whose orders are all summed over
_PART = 12  # of a larger pool that is learned from at a time
_CHAINS, _SETTLING = 60, 10  # of orders that are drawn of a larger pool: how many, after how many rounds of moves
_LEARNED = 3500  # pairs of the pools that weigh the hypotheses
_TELLING = 0.9  # of the judged pairs: what pools of the most usual sizes have
_TRIALS, _DRAWS = 150, 600  # draws of a pool's strengths, to weigh a hypothesis, and to say which passage is best
_LEAST = 0.05  # weight of a hypothesis that counts, of the heaviest
_FREEDOM = 6.0  # of the t-distribution that strengths are drawn from, beside one for each passage
_ENOUGH, _POWERS = 1 / 12, (0.5, 0.25, 0.1, 0.0)  # of the draws, that many must decide; else, powers of their weights
_NUMBERS = 1 << 19  # at a time, so that a batch stays in cache
_STEPS, _NEAR, _FAR = 40, 1e-4, 1.5  # of looking for the likeliest strengths: how many, the last, the longest
_TINY = 1e-9
# How far a standard normal number is from 0: twenty distances, evenly likely.
_APART = np.array([NormalDist().inv_cdf(0.5 + (at + 0.5) / 40) for at in range(20)])


class Strengths(NamedTuple):
    """Strengths are normal with the spread, on a scale of log odds; so many of the judgments are guessed."""

    spread: float
    guesses: float

    @property
    def error_rate(self) -> float:
        """How often a judgment of two passages is wrong."""
        wrong = 1 / (1 + np.exp(self.spread * math.sqrt(2) * _APART))
        return float(self.guesses / 2 + (1 - self.guesses) * wrong.mean())


class Order(NamedTuple):
    """Passages have a true order; each judgment is wrong at the rate."""

    error_rate: float


Hypothesis = Strengths | Order


@dataclass(frozen=True)
class Judging:
    """How people judge: hypotheses with their weights, which add up to 1."""

    weights: dict[Hypothesis, float]

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[float]]) -> Judging:
        """What `rows` gives, for who keeps it: of each hypothesis, its numbers and its weight."""
        return cls({Strengths(*row[:2]) if len(row) == 3 else Order(row[0]): row[-1] for row in rows})

    @property
    def rows(self) -> list[list[float]]:
        return [[*hypothesis, weight] for hypothesis, weight in self.weights.items()]

    @property
    def error_rate(self) -> float:
        """How often a judgment is wrong, in the mean of the hypotheses."""
        return sum(weight * hypothesis.error_rate for hypothesis, weight in self.weights.items())


def given(error_rate: float) -> Judging:
    """People whose judgments are wrong at a rate, 0 to 0.5, however close the passages are."""
    return Judging({Order(min(max(error_rate, _TINY), 0.5)): 1.0})


def learn(groups: Sequence[SizedPools], *, seed: int = 0) -> Judging:
    """How people judge, by the pools of a campaign. The same pools give the same, and are remembered for a while: many
    figures of a campaign begin with this.
    """
    return _learned(tuple((group.size, len(group.pools), group.counts.tobytes()) for group in groups), seed)


@lru_cache(8)
def _learned(groups: tuple[tuple[int, int, bytes], ...], seed: int) -> Judging:
    """By the size of pools, how many there are, and their counts."""
    logs: dict[Hypothesis, float] = {}
    for spread in SPREADS:
        likely = -0.5 * ((math.log(spread) - _USUAL) / _VARIES) ** 2 - math.log(len(SPREADS) * len(GUESSES))
        logs |= {Strengths(spread, guesses): likely - _RARE * guesses for guesses in GUESSES}
    logs |= {Order(rate): -math.log(len(RATES)) for rate in RATES}
    judged, whole = [], 0
    parts = [np.zeros((0, math.comb(_PART, 2), 3), np.int64)]
    for size, pools, raw in groups:
        counts = _counts(size, pools, raw)
        rows = np.flatnonzero(counts.any(axis=(1, 2)))
        pairs_of_size = int(counts[rows].any(axis=2).sum())
        if size > _PART:
            whole += pairs_of_size
            parts.append(_part(size, counts[rows], np.random.default_rng([seed, size])))
        else:
            judged.append((pairs_of_size, size, counts, rows, 1.0))
    counts = np.concatenate(parts)
    rows = np.flatnonzero(counts.any(axis=(1, 2)))
    within = int(counts[rows].any(axis=2).sum())  # what pairs between parts would say is as much as those within say
    judged.append((within, _PART, counts, rows, whole / max(1, within)))
    pairs = sum(count for count, *_ in judged)
    share, telling = min(1.0, _LEARNED / max(1, pairs)), 0
    for count, size, counts, rows, weight in sorted(judged, key=lambda row: (-row[0], row[1])):
        if not rows.size or (share < 1 and telling > _TELLING * pairs):
            break  # where there is plenty, what few pools of rare sizes say takes long and changes little
        telling += count
        sample = rows[np.linspace(0, len(rows) - 1, max(1, round(share * len(rows)))).astype(np.int64)]
        for hypothesis in logs:
            random = np.random.default_rng([seed, size])  # the same for each, so that they are told apart
            simulation = _tell(hypothesis, size, counts[sample], _TRIALS, random)
            logs[hypothesis] += weight * float(simulation.evidence.sum()) * len(rows) / len(sample)
    most = max(logs.values())
    weights = {hypothesis: math.exp(value - most) for hypothesis, value in logs.items()}
    weights = {hypothesis: weight for hypothesis, weight in weights.items() if weight >= _LEAST}
    total = sum(weights.values())
    return Judging({hypothesis: weight / total for hypothesis, weight in weights.items()})


def _part(size: int, counts: Integers, random: np.random.Generator) -> Integers:
    """Large pools as pools of `_PART` passages, each a passage by lot and those that were compared with it and with
    one another most often; the last of a pool has passages that nobody judged, which say nothing.
    """
    wins, rows = _wins(size, counts), np.arange(len(counts))
    met, left, order = (
        wins + wins.swapaxes(1, 2),
        np.ones((len(counts), size), bool),
        np.zeros((len(counts), size), int),
    )
    for place in range(size):
        if place % _PART == 0:
            near = random.random((len(counts), size))
        order[:, place] = np.where(left, near, -1).argmax(axis=1)
        left[rows, order[:, place]] = False
        near += met[rows, order[:, place]]
    number = np.zeros((size, size), int)
    first, second = np.triu_indices(size, 1)
    number[first, second] = number[second, first] = np.arange(len(first))
    parts = []
    for start in range(0, size, _PART):
        members = order[:, start : start + _PART]
        one, other = (members[:, ends] for ends in np.triu_indices(members.shape[1], 1))
        part = counts[rows[:, None], number[one, other]]
        part[one > other] = part[one > other][:, [1, 0, 2]]
        whole = np.zeros((len(counts), math.comb(_PART, 2), 3), np.int64)
        whole[:, np.triu_indices(_PART, 1)[1] < members.shape[1]] = part
        parts.append(whole)
    return np.concatenate(parts)


def best_chances(group: SizedPools, judging: Judging, *, seed: int = 0) -> Floats:
    """P(best) of the passages of pools of one size [pools x size], remembered for a while. A pool without judgments has
    equal ones.
    """
    raw, weights = group.counts.tobytes(), tuple(judging.weights.items())
    return _best_chances(group.size, len(group.pools), raw, weights, seed).copy()


def better_chances(group: SizedPools, rivals: Integers, judging: Judging, *, seed: int = 0) -> Floats:
    """How probable it is [pools] that one passage of a pool is better than another: `rivals` [pools x 2]."""
    return _mean(group.size, group.counts, tuple(judging.weights.items()), rivals, seed)[1]


@lru_cache(32)
def _best_chances(
    size: int, pools: int, raw: bytes, weights: tuple[tuple[Hypothesis, float], ...], seed: int
) -> Floats:
    return _mean(size, _counts(size, pools, raw), weights, None, seed)[0]


def _mean(
    size: int, counts: Integers, weights: tuple[tuple[Hypothesis, float], ...], rivals: Integers | None, seed: int
) -> tuple[Floats, Floats]:
    best = np.full((len(counts), size), 1 / size)
    better = np.full(len(counts), 0.5)
    rows = np.flatnonzero(counts.any(axis=(1, 2)))
    if size == 1 or not rows.size:
        return best, better
    best[rows], better[rows] = 0, 0
    for hypothesis, weight in weights:
        random = np.random.default_rng([seed, size])
        rivals_of_rows = None if rivals is None else rivals[rows]
        simulation = _tell(hypothesis, size, counts[rows], _DRAWS, random, rivals_of_rows)
        best[rows] += weight * simulation.best
        if rivals_of_rows is not None:
            better[rows] += weight * simulation.better
    return best, better


def _counts(size: int, pools: int, raw: bytes) -> Integers:
    return np.frombuffer(raw, np.int64).reshape(pools, math.comb(size, 2), 3)


def judge_again(group: SizedPools, judging: Judging, random: np.random.Generator) -> SizedPools:
    """The pools with as many judgments of each pair, where how people judge
    and what is true of each pool are drawn from what the judgments make probable.
    """
    counts = group.counts.copy()
    rows = np.flatnonzero(counts.any(axis=(1, 2)))
    hypotheses, weights = zip(*judging.weights.items(), strict=True)
    kinds = random.choice(len(hypotheses), len(rows), p=weights)
    for kind, hypothesis in enumerate(hypotheses):
        rows_of_kind = rows[kinds == kind]
        if group.size == 1 or not rows_of_kind.size:
            continue
        chances = _tell(hypothesis, group.size, counts[rows_of_kind], _TRIALS, random, again=True).again
        times = counts[rows_of_kind].sum(axis=2)
        counts[rows_of_kind, :, 0] = random.binomial(times, chances)
        counts[rows_of_kind, :, 1] = times - counts[rows_of_kind, :, 0]
        counts[rows_of_kind, :, 2] = 0
    return SizedPools(group.size, group.pools, counts, group.again)


def play_forward(
    group: SizedPools, judging: Judging, more: Sequence[Integers], futures: int, draws: int, *, seed: int = 0
) -> list[Floats]:
    """P(best) in so many futures [pools x futures x size], once each pair was judged so many `more` times [pools x
    pairs]; for each of `more`. What is true of a pool, and what people will say, are drawn from what is probable now.

    How probable a truth is then is told by so many `draws` of it, and how people judge stays as it is known now.
    """
    random, after = np.random.default_rng([seed, group.size]), [list[Floats]() for _ in more]
    in_question = np.sum(more, axis=0) > 0
    pairs = max(1, int(in_question.sum(axis=1).max(initial=0)))
    step = max(1, _NUMBERS // (draws * max(futures, pairs, group.size)))
    for start in range(0, len(group.counts), step):
        part = slice(start, start + step)
        chosen = np.argsort(~in_question[part], axis=1, kind="stable")[:, :pairs]
        wins = _wins(group.size, group.counts[part])
        truths = [_draw_truths(hypothesis, wins, chosen, draws, random) for hypothesis in judging.weights]
        rows, weights = np.arange(len(wins))[:, None], list(judging.weights.values())
        kinds = random.choice(len(weights), (len(wins), futures), p=weights)
        drawn = np.stack([_choose_draws(truth.weights, futures, random) for truth in truths])
        chances = np.stack([truth.chances[rows, at] for truth, at in zip(truths, drawn, strict=True)])
        truly = np.take_along_axis(chances, kinds[None, ..., None], axis=0)[0]
        for futures_best, times in zip(after, more, strict=True):
            asks = np.take_along_axis(times[part], chosen, axis=1)[:, None]
            won = random.binomial(asks, truly).astype(np.float32).swapaxes(1, 2)
            lost = asks.swapaxes(1, 2) - won
            best = np.zeros((len(wins), futures, group.size))
            for number, (truth, weight) in enumerate(zip(truths, weights, strict=True)):
                logs = np.log(truth.chances) @ won + np.log1p(-truth.chances) @ lost.astype(np.float32)
                likely = np.exp(logs - logs.max(axis=1, keepdims=True)) * truth.weights[..., None]
                alone = (rows, drawn[number], np.arange(futures))
                likely[alone] *= kinds != number  # what is true is not among what is thought of
                likely /= np.maximum(likely.sum(axis=1, keepdims=True), _TINY)
                best += weight * (likely.swapaxes(1, 2) @ truth.best)
            futures_best.append(best)
    return [np.concatenate(parts) if parts else np.zeros((0, futures, group.size)) for parts in after]


class _Truths(NamedTuple):
    """Draws of what is true of pools: their `weights` [pools x draws], which add up to 1; which passage is `best`, as 1
    among 0 [pools x draws x size]; and how probable it is that the first of a pair is preferred [pools x draws x
    pairs].
    """

    weights: Singles
    best: Singles
    chances: Singles


def _draw_truths(
    hypothesis: Hypothesis, wins: Floats, pairs: Integers, draws: int, random: np.random.Generator
) -> _Truths:
    """Of pairs, by their number in `combinations` [pools x pairs]."""
    size = wins.shape[1]
    first, second = (ends[pairs][:, None] for ends in np.triu_indices(size, 1))
    if isinstance(hypothesis, Order):
        places = _draw_orders(hypothesis, wins, draws, random)
        weights = np.full(places.shape[:2], 1 / draws)
        strengths = -places.astype(np.float32)
        ahead = np.take_along_axis(strengths, first, axis=2) > np.take_along_axis(strengths, second, axis=2)
        chances = np.where(ahead, 1 - hypothesis.error_rate, hypothesis.error_rate)
    else:
        strengths, weights, _ = _draw_strengths(hypothesis, wins, draws, random)
        gap = np.take_along_axis(strengths, second, axis=2) - np.take_along_axis(strengths, first, axis=2)
        chances = hypothesis.guesses / 2 + (1 - hypothesis.guesses) / (1 + np.exp(np.clip(gap, -15, 15)))
    best = strengths.argmax(axis=2)[..., None] == np.arange(size)
    return _Truths(*(value.astype(np.float32) for value in (weights, best, chances)))


def _choose_draws(weights: Singles, count: int, random: np.random.Generator) -> Integers:
    """So many of the draws [pools x count], by their weights [pools x draws]."""
    sums = np.cumsum(weights, axis=1)
    draws: Integers = (sums[:, None] > random.random((len(weights), count, 1)) * sums[:, None, -1:]).argmax(axis=2)
    return draws


class _Told(NamedTuple):
    """What a hypothesis says of pools: how likely it makes their judgments [pools], as a logarithm; P(best) of their
    passages [pools x size]; that one rival is better than the other [pools], where there are rivals; and where it is
    wanted, how probable it is by a truth that is drawn that the first of each pair is preferred [pools x pairs].
    """

    evidence: Floats
    best: Floats
    better: Floats
    again: Floats


def _tell(
    hypothesis: Hypothesis,
    size: int,
    counts: Integers,
    draws: int,
    random: np.random.Generator,
    rivals: Integers | None = None,
    again: bool = False,
) -> _Told:
    pairs = int(counts.any(axis=2).sum(axis=1).max())
    if not isinstance(hypothesis, Order):
        numbers = draws * max(pairs, size)
    elif size > _ORDERED:
        numbers = max(draws, _CHAINS) * size
    else:
        numbers = size << size
    step = max(1, _NUMBERS // numbers)
    pieces = []
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        rivals_of_part = None if rivals is None else rivals[part]
        wins = _wins(size, counts[part])
        same = random if rivals is None else deepcopy(random)
        if not isinstance(hypothesis, Order):
            pieces.append(_tell_strengths(hypothesis, wins, draws, same, rivals_of_part, again))
        elif size > _ORDERED:
            pieces.append(_tell_drawn_orders(hypothesis, wins, 1 if again else draws, same, rivals_of_part))
        else:
            pieces.append(_tell_orders(hypothesis, wins, same, rivals_of_part, again))
    return _Told(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))


def _wins(size: int, counts: Integers) -> Floats:
    """How often each passage was preferred to each other one [pools x size x size], a tie half of the time."""
    first, second = np.triu_indices(size, 1)
    wins = np.zeros((len(counts), size, size))
    wins[:, first, second] = counts[..., 0] + counts[..., 2] / 2
    wins[:, second, first] = counts[..., 1] + counts[..., 2] / 2
    return wins


# --- strengths: their posterior is drawn from by a t-distribution around its mode, and draws are weighed


def _tell_strengths(
    of: Strengths, wins: Floats, draws: int, random: np.random.Generator, rivals: Integers | None, again: bool
) -> _Told:
    pools, size, _ = wins.shape
    strengths, weights, evidence = _draw_strengths(of, wins, draws, random, alike=rivals is not None)
    places = strengths.argmax(axis=2) + size * np.arange(pools)[:, None]
    best: Floats = np.bincount(places.ravel(), weights.ravel(), pools * size).reshape(pools, size).astype(np.float64)
    better = np.zeros(pools)
    if rivals is not None:
        challenger, other = (strengths[np.arange(pools), :, rivals[:, at]] for at in (0, 1))
        better = (weights * (challenger > other)).sum(axis=1)
    chances = np.zeros((pools, 0))
    if again:
        drawn = (np.cumsum(weights, axis=1) > random.random((pools, 1))).argmax(axis=1)
        truly = strengths[np.arange(pools), drawn].astype(np.float64)
        first, second = np.triu_indices(size, 1)
        chances = of.guesses / 2 + (1 - of.guesses) / (1 + np.exp(np.clip(truly[:, second] - truly[:, first], -30, 30)))
    return _Told(evidence, best, better, chances)


def _draw_strengths(
    of: Strengths, wins: Floats, draws: int, random: np.random.Generator, *, alike: bool = False
) -> tuple[Singles, Floats, Floats]:
    """Strengths [pools x draws x size], their weights [pools x draws], and the evidence [pools]. Where pools are drawn
    `alike`, what is drawn of one does not depend on what others there are.
    """
    pools, size, _ = wins.shape
    freedom = _FREEDOM + size
    likeliest, information = _likeliest(of, wins)
    spreads = np.linalg.cholesky(np.linalg.inv(information))
    drawn = 1 if alike else pools
    steps = random.standard_normal((drawn, draws, size), np.float32)
    steps /= np.sqrt(random.chisquare(freedom, (drawn, draws, 1)) / freedom).astype(np.float32)
    strengths = likeliest.astype(np.float32)[:, None] + steps @ spreads.astype(np.float32).swapaxes(1, 2)
    logs = _log_likelihood(of, wins, strengths).astype(np.float64)
    logs -= (strengths * strengths).sum(axis=2) / (2 * of.spread**2)
    logs += (freedom + size) / 2 * np.log1p((steps * steps).sum(axis=2) / freedom)
    most = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - most)
    evidence = most[:, 0] + np.log(weights.mean(axis=1))
    evidence += np.log(np.diagonal(spreads, axis1=1, axis2=2)).sum(axis=1) - size * math.log(of.spread)
    evidence += math.lgamma(freedom / 2) - math.lgamma((freedom + size) / 2) + size / 2 * math.log(freedom / 2)
    return strengths, _evened(weights), evidence


def _evened(weights: Floats) -> Floats:
    """Weights of draws [pools x draws] that add up to 1. Where few draws would decide, as may be in large pools, all
    weights are drawn towards 1, which is what the mode and the information there say.
    """
    evened: Floats = weights / weights.sum(axis=1, keepdims=True)
    for power in _POWERS:
        few = 1 / (evened * evened).sum(axis=1) < _ENOUGH * weights.shape[1]
        if not few.any():
            break
        evener = weights[few] ** power
        evened[few] = evener / evener.sum(axis=1, keepdims=True)
    return evened


def _log_likelihood(of: Strengths, wins: Floats, strengths: Singles) -> Singles:
    """Of the judgments, by strengths [pools x draws x size]: [pools x draws]."""
    first, second = np.triu_indices(wins.shape[1], 1)
    ahead, behind = wins[:, first, second], wins[:, second, first]
    met = ahead + behind > 0
    if met.mean() > 0.5:  # to leave the others out takes longer
        gap = strengths[..., second] - strengths[..., first]
    else:  # of each pool, the pairs that were judged, and others where it has fewer than another
        order_of_met = np.argsort(~met, axis=1, kind="stable")[:, : int(met.sum(axis=1).max())]
        ahead, behind = (np.take_along_axis(chosen, order_of_met, axis=1) for chosen in (ahead, behind))
        gap = np.take_along_axis(strengths, second[order_of_met][:, None], axis=2)
        gap -= np.take_along_axis(strengths, first[order_of_met][:, None], axis=2)
    gap *= np.where(behind > ahead, -1, 1).astype(np.float32)[:, None]
    np.exp(np.clip(gap, -30, 30, out=gap), out=gap)  # the odds of the one that was preferred less often
    share = np.float32(1 - of.guesses) / (1 + gap)
    guessed = np.float32(of.guesses / 2)
    more, less = (chosen.astype(np.float32)[..., None] for chosen in _larger(ahead, behind))
    logs: Singles = (np.log(share + guessed) @ more)[..., 0]
    if less.any():
        logs += (np.log(share * gap + guessed) @ less)[..., 0]
    return logs


def _larger(first: Floats, other: Floats) -> tuple[Floats, Floats]:
    return np.maximum(first, other), np.minimum(first, other)


def _likeliest(of: Strengths, wins: Floats) -> tuple[Floats, Floats]:
    """The mode of the strengths [pools x size], by Fisher's scoring, and the information there."""
    pools, size, _ = wins.shape
    met, places, usual = wins + wins.swapaxes(1, 2), np.arange(size), 1 / of.spread**2
    strengths = np.zeros((pools, size))
    for _ in range(_STEPS):
        logistic = 1 / (1 + np.exp(np.clip(strengths[:, None, :] - strengths[:, :, None], -30, 30)))
        slope = (1 - of.guesses) * logistic * (1 - logistic)
        chance = of.guesses / 2 + (1 - of.guesses) * logistic
        varies = np.maximum(chance * (1 - chance), _TINY)
        gradient = (slope * (wins - met * chance) / varies).sum(axis=2) - usual * strengths
        bend = met * slope * slope / varies
        information = -bend
        information[:, places, places] += bend.sum(axis=2) + usual
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        strengths += step * np.minimum(longest >= _NEAR, _FAR / np.maximum(longest, _TINY))
        if longest.max() < _NEAR:
            break
    return strengths, information


# --- a true order: the likelihoods of all orders are added up, subset by subset; of large pools, orders are drawn


def _tell_orders(of: Order, wins: Floats, random: np.random.Generator, rivals: Integers | None, again: bool) -> _Told:
    pools, size, _ = wins.shape
    right, wrong = math.log1p(-of.error_rate), math.log(of.error_rate)
    lead = _lead(of, wins)
    above, sums = _sum_orders(lead)
    evidence = sums[-1] - math.lgamma(size + 1) + wins.sum(axis=(1, 2)) * (right + wrong) / 2
    best = _first_of(np.full(pools, (1 << size) - 1), np.arange(pools), above, sums)
    better = np.zeros(pools)
    chances = np.zeros((pools, 0))
    if again:
        chances = _chances(of, _draw_summed_orders(above, sums, 1, random))
    if rivals is not None:
        lead[rivals[:, 1], rivals[:, 0], np.arange(pools)] = -1e9  # the other is never above
        better = np.exp(_sum_orders(lead)[1][-1] - sums[-1])
    return _Told(evidence, best, better, chances)


def _tell_drawn_orders(
    of: Order, wins: Floats, draws: int, random: np.random.Generator, rivals: Integers | None
) -> _Told:
    """Without evidence, for which large pools are parted."""
    places = _draw_moved_orders(of, wins, draws, random, alike=rivals is not None)
    better = np.zeros(len(wins))
    if rivals is not None:
        challenger, other = (places[np.arange(len(wins)), :, rivals[:, at]] for at in (0, 1))
        better = (challenger < other).mean(axis=1)
    return _Told(np.zeros(len(wins)), (places == 0).mean(axis=1), better, _chances(of, places))


def _chances(of: Order, places: Integers) -> Floats:
    """How probable it is, by the first order of each pool, that the first of each pair is preferred [pools x pairs]."""
    first, second = np.triu_indices(places.shape[2], 1)
    return np.where(places[:, 0, first] < places[:, 0, second], 1 - of.error_rate, of.error_rate)


def _lead(of: Order, wins: Floats) -> Floats:
    """What `_sum_orders` adds up."""
    gain = math.log1p(-of.error_rate) - math.log(of.error_rate)
    return np.ascontiguousarray((wins - wins.swapaxes(1, 2)).transpose(1, 2, 0)) * gain / 2


def _draw_orders(of: Order, wins: Floats, draws: int, random: np.random.Generator) -> Integers:
    """The places of passages, from 0, in orders that are drawn by how probable they are [pools x draws x size]."""
    if wins.shape[1] > _ORDERED:
        return _draw_moved_orders(of, wins, draws, random)
    return _draw_summed_orders(*_sum_orders(_lead(of, wins)), draws, random)


def _draw_moved_orders(
    of: Order, wins: Floats, draws: int, random: np.random.Generator, *, alike: bool = False
) -> Integers:
    """By Gibbs sampling: chains of orders, in which each passage in turn is taken out and put back by how probable each
    place is. `alike` is as for `_draw_strengths`.
    """
    pools, size, _ = wins.shape
    chains = min(draws, _CHAINS)
    pool = np.repeat(np.arange(pools), chains)
    lead = _lead(of, wins).transpose(2, 0, 1).astype(np.float32) * 2

    def draw_numbers(count: int) -> Singles:
        """As many for each chain [chains of all pools x count]."""
        numbers = random.random((1 if alike else pools, chains, count), np.float32)
        return np.broadcast_to(numbers, (pools, chains, count)).reshape(-1, count)

    order = np.argsort(-lead.sum(axis=2)[pool] - 2 * draw_numbers(size), axis=1)
    row, slots = np.arange(len(pool)), np.arange(size)
    places = np.zeros((pools, -(-draws // chains), chains, size), np.int64)
    for number in range(-_SETTLING, places.shape[1]):
        for passage in random.permutation(size):
            others = order[order != passage].reshape(len(pool), size - 1)
            behind = np.cumsum(-lead[pool[:, None], passage, others], axis=1)
            logs = np.concatenate([np.zeros((len(pool), 1), np.float32), behind], axis=1)
            likely = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
            slot = (likely > draw_numbers(1) * likely[:, -1:]).argmax(axis=1)
            order = np.take_along_axis(others, np.minimum(slots - (slots > slot[:, None]), size - 2), axis=1)
            order[row, slot] = passage
        if number >= 0:
            places[:, number] = np.argsort(order, axis=1).reshape(pools, chains, size)
    return places.reshape(pools, -1, size)[:, :draws]


def _draw_summed_orders(above: Floats, sums: Floats, draws: int, random: np.random.Generator) -> Integers:
    size, _, pools = above.shape
    rows = np.repeat(np.arange(pools), draws)
    left, places = np.full(len(rows), (1 << size) - 1), np.zeros((len(rows), size), np.int64)
    for place in range(size):
        likely = np.cumsum(_first_of(left, rows, above, sums), axis=1)
        drawn = (likely > random.random((len(rows), 1)) * likely[:, -1:]).argmax(axis=1)
        places[np.arange(len(rows)), drawn] = place
        left = left - (1 << drawn)
    return places.reshape(pools, draws, size)


def _sum_orders(lead: Floats) -> tuple[Floats, Floats]:
    """What each passage gains above each subset [size x subsets x pools], and the logarithm of the sum over all orders
    of each subset [subsets x pools]: it is that over the passage that is first, and the orders of the others.

    `lead` [size x size x pools]: what an order's logarithm gains where the first passage is above the second.
    """
    size, _, pools = lead.shape
    above = np.zeros((size, 1 << size, pools))
    for other in range(size):
        bit = 1 << other
        np.add(above[:, :bit], lead[:, None, other], out=above[:, bit : 2 * bit])
    sums = np.zeros((1 << size, pools))
    for subsets, firsts, others in _subsets(size):
        terms = sums[others] + above[firsts, others]
        most = terms.max(axis=1)
        sums[subsets] = most + np.log(np.exp(terms - most[:, None]).sum(axis=1))
    return above, sums


def _first_of(subset: Integers, rows: Integers, above: Floats, sums: Floats) -> Floats:
    """How probable it is of each passage that it is the first of a subset [subsets x size] of a pool in `rows`."""
    size = len(above)
    bits = 1 << np.arange(size)
    others = subset[:, None] & ~bits
    logs = above[np.arange(size), others, rows[:, None]] + sums[others, rows[:, None]] - sums[subset, rows][:, None]
    return np.where(subset[:, None] & bits, np.exp(np.minimum(logs, 0)), 0.0)


@lru_cache(_ORDERED)
def _subsets(size: int) -> list[tuple[Any, Any, Any]]:
    """Subsets as bits, the smallest first: those of one size, [subsets], and of each its members, and what it is
    without each, [subsets x members].
    """
    by_size = []
    for count in range(1, size + 1):
        members = np.array(list(combinations(range(size), count)))
        subsets = (1 << members).sum(axis=1)
        by_size.append((subsets, members, subsets[:, None] - (1 << members)))
    return by_size
