"""What runs score beside what they would without wrong judgments, by simulated runs and people."""

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluation.files.preferences import Preference
from evaluation.statistics.certainty import certainty
from evaluation.statistics.ranks import Board

# Campaigns that are simulated of each kind; CAMPAIGNS=200 tells 93 to 97% from others.
CAMPAIGNS = int(os.environ.get("CAMPAIGNS", "8"))
QUERIES, PASSAGES, RUNS = 60, 6, 5


class Ranked(Board):
    """Runs whose ranks of the passages of pools are given [runs x queries x passages]."""

    def __init__(self, ranks: NDArray[Any]) -> None:
        self.k, self.runs, self._ranks = 10, tuple(f"run{at}" for at in range(len(ranks))), ranks

    def places(self, pools: Any) -> NDArray[np.int64]:
        return self._ranks


def simulate(queries: int, random: np.random.Generator, quality: float = 0.5) -> tuple[NDArray[Any], NDArray[Any]]:
    """Strengths [queries x passages], and the runs' ranks of them: the later the run, the better."""
    strengths = random.normal(0, 1.4, (queries, PASSAGES))
    strengths_seen = np.linspace(0, quality, RUNS)[:, None, None] * strengths
    order = np.argsort(-strengths_seen - random.normal(0, 1.5, strengths_seen.shape), axis=2)
    return strengths, order.argsort(axis=2) + 1


@pytest.mark.parametrize("rate", [0.1, 0.3, None])
def test_corrected_scores_are_right_on_average_and_their_intervals_hold(rate: float | None) -> None:
    """Each judged pair once, and a few twice; people err at a rate, or by Bradley and Terry. The truth is what the runs
    score over very many queries.
    """
    random = np.random.default_rng(20)
    strengths, ranks = simulate(30_000, random)
    truth = (1 / ranks[:, np.arange(30_000), strengths.argmax(axis=1)]).mean(axis=1)
    names, pairs = "abcdef", np.array(np.triu_indices(PASSAGES, 1)).T.tolist()
    holds, apart, plain, first, right = [], [], [], [], []
    for campaign in range(CAMPAIGNS):
        strengths, ranks = simulate(QUERIES, random)
        rows = []
        for query in range(QUERIES):
            for a, b in [*pairs, *(pairs[:1] if query % 2 else [])]:
                gap = strengths[query, a] - strengths[query, b]
                chance = 1 / (1 + np.exp(-gap)) if rate is None else 1 - rate if gap > 0 else rate
                won = names[a if random.random() < chance else b]
                rows.append(Preference(f"{query:03}", names[a], names[b], won))
        pools = {f"{query:03}": names for query in range(QUERIES)}
        runs = certainty(pools, rows, board=Ranked(ranks), draws=400, seed=campaign).runs
        holds += [run.interval.low <= true <= run.interval.high for run, true in zip(runs, truth, strict=True)]
        apart.append([run.corrected - true for run, true in zip(runs, truth, strict=True)])
        plain.append([run.mean - true for run, true in zip(runs, truth, strict=True)])
        first.append(max(run.first for run in runs))
        right.append(max(runs, key=lambda run: run.first).run == "run4")
    slack = 2.5 * (0.0475 / CAMPAIGNS / 2) ** 0.5  # the runs of a campaign err together
    assert 0.93 - slack <= np.mean(holds) <= 0.97 + slack
    assert np.mean(apart) == pytest.approx(0, abs=0.02 + 0.1 / CAMPAIGNS**0.5)
    if rate == 0.3:  # plain scores of good runs are too low
        assert np.mean(plain, axis=0)[-1] < np.mean(apart, axis=0)[-1]
    assert np.mean(first) == pytest.approx(np.mean(right), abs=0.1 + 0.8 / CAMPAIGNS**0.5)
