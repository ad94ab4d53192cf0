"""The runs on both qrels, as the sections about runs share it."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from evaluation.files.artifact import Order
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.judging.equal_texts import relevant_once
from evaluation.statistics.leaderboards import Leaderboard, leaderboard, perfect_finds
from evaluation.statistics.ranks import Board, Ranks
from evaluation.statistics.significance import Correction
from results.inputs import ALPHA, Inputs, K, People


@dataclass(frozen=True)
class Scored:
    """`preference`: the qrels as they are exported; `queries`: those that both qrels name; `absent`: runs that are in
    no table of judged pairs.
    """

    inputs: Inputs
    people: People
    preference: Qrels
    queries: tuple[str, ...]
    absent: Collection[str]

    @property
    def order(self) -> Order:
        return cast(Order, self.inputs.campaign.order)

    @property
    def correction(self) -> Correction:
        return cast(Correction, self.inputs.campaign.correction)

    @property
    def seed(self) -> int:
        return self.inputs.campaign.seed % (1 << 63)

    @cached_property
    def original(self) -> Board:
        """The runs with every id as it is."""
        return Board(self.inputs.runs, K, self.order)

    @cached_property
    def board(self) -> Board:
        """The runs with the ids of candidates."""
        return self.original.with_twins(self.inputs.evidence.stands_for)

    @cached_property
    def qrels_once(self) -> Qrels:
        """The original qrels with the ids of candidates."""
        return relevant_once(self.inputs.evidence.stands_for, self.inputs.qrels, self.inputs.campaign.min_grade)

    @cached_property
    def everywhere(self) -> Ranks:
        """On all original qrels."""
        return self.original.ranks(self.inputs.qrels, self.inputs.campaign.min_grade)

    @cached_property
    def scores(self) -> Leaderboard:
        before, after = self.everywhere.only(self.queries), self.original.ranks(self.preference).only(self.queries)
        perfect = perfect_finds(self.qrels_once, self.preference, self.queries, self.inputs.campaign.min_grade)
        return leaderboard(before, after, perfect, alpha=ALPHA, correction=self.correction, seed=self.seed)

    @cached_property
    def runs(self) -> list[str]:
        """By their mean on the preference qrels, the highest first."""
        return sorted(self.board.runs, key=lambda run: (-self.scores.preference[run].mean, run))

    @cached_property
    def present(self) -> list[str]:
        """Those that tables of judged pairs name."""
        return [run for run in self.runs if run not in self.absent]

    @cached_property
    def leaving(self) -> list[Preference]:
        """The judgments of passages that may leave."""
        withheld = self.inputs.withheld
        return [row for row in self.people.judgments if withheld.isdisjoint(((row.query, row.a), (row.query, row.b)))]
