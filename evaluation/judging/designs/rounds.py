"""Rounds: a few pairs of each passage, round after round, then a final of all pairs among the rest."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluation.files.preferences import Pair
from evaluation.judging.designs.base import Design, Evidence, Expected, Outcome, Sizes, full_tournaments
from evaluation.judging.pooling import canonical
from evaluation.judging.rounds import Settings, estimate_pairs, replay, replay_all
from evaluation.judging.tournament import Derived


@dataclass(frozen=True)
class Rounds(Design):
    """Staged elimination, as `evaluation.judging.rounds` has it."""

    name, title, order = "rounds", "rounds", 4
    what = "for large pools, a few pairs of each passage round after round, then all pairs of those that are left"
    is_whole = False
    is_staged = goes_on = True
    only_method = "most-wins"

    partners: int
    finalists: int
    seed: int

    @classmethod
    def refuse(cls, *, depth: int | None, method: str | None) -> dict[str, str]:
        other = "In this design, the winners are the passages with the most wins in the final."
        return {"method": other} if method == "bradley-terry" else {}

    @cached_property
    def settings(self) -> Settings:
        return Settings(self.partners, self.finalists, self.seed % 2**63)

    def first_pairs(self, query: str, pool: Collection[str]) -> tuple[Pair, ...]:
        requests = replay(query, pool, (), self.settings).requests
        return tuple(sorted(Pair(query, *canonical(*request)) for request in requests))

    def derive(self, evidence: Evidence) -> Outcome:
        """The answers of the queries whose rounds are over. Who plays in a round that was planned stays as it was."""
        begun: dict[str, Sequence[Collection[str]]] = {
            **{query: [pids] for query, pids in evidence.pools.items()},
            **evidence.begun,
        }
        rounds = replay_all(evidence.pools, evidence.counted, self.settings, begun)
        done = {query: status for query, status in rounds.items() if status.is_done and query not in evidence.waiting}
        winners = {query: status.winners for query, status in done.items()}
        return Outcome(Derived.of(winners, rounds), rounds=rounds)

    def next(self, outcome: Outcome) -> list[Pair]:
        return sorted(
            Pair(query, *canonical(*request)) for query, status in outcome.rounds.items() for request in status.requests
        )

    def estimate(self, sizes: Sizes, pairs: int, reused: int = 0) -> Expected:
        expected = expected_rounds(self.settings, sizes)
        return expected._replace(pairs=max(pairs, expected.pairs))

    def alternatives(self, sizes: Sizes) -> dict[str, Expected]:
        return {"all pairs": full_tournaments(sizes), "rounds, as set": expected_rounds(self.settings, sizes)}


def expected_rounds(settings: Settings, sizes: Sizes) -> Expected:
    """What the rounds of pools of these sizes are expected to ask."""
    estimates = {size: estimate_pairs(size, settings) for size in sizes}
    pairs = round(sum(count * estimates[size][0] for size, count in sizes.items()))
    return Expected(pairs, max((rounds for _pairs, rounds in estimates.values()), default=0))
