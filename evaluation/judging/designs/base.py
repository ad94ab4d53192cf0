"""What every pairing design answers: which pairs are asked, what is asked after them, and which answers follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, NamedTuple, Protocol, Self

from evaluation.files.preferences import Pair, Preference
from evaluation.files.qrels import Policy, Qrels
from evaluation.judging.challengers import Answers, Challenge
from evaluation.judging.equal_texts import merge_equal
from evaluation.judging.pooling import Tops, all_pairs, pool_queries
from evaluation.judging.posterior import Judging
from evaluation.judging.rounds import Status, count_full_pairs
from evaluation.judging.tournament import Derived, Method, derive

Sizes = Mapping[int, int]  # how many pools there are of each size


@dataclass(frozen=True)
class Material:
    """What pools and pairs are planned from.

    `tops`: of each run, as deep as `Design.run_depth`. `text_keys`: by id, what equal texts among some lists of
    passages have in common. Where answers are challenged, `answers` are those, `considered` what was in their pools,
    and `judged` what was judged of them, by query.
    """

    tops: Sequence[Tops]
    qrels: Qrels
    text_keys: Callable[[Iterable[Collection[str]]], Mapping[str, str]]
    answers: Answers
    considered: Answers
    judged: Iterable[Preference]


class Plan(NamedTuple):
    """The pool of each query, what is asked of it first, and how many pairs are in each category, if there are such."""

    pools: Mapping[str, tuple[str, ...]]
    pairs: Mapping[str, tuple[Pair, ...]]
    split: Mapping[str, Mapping[str, int]]


class Evidence(Protocol):
    """What answers follow from.

    `pools` are all pools by query, `waiting` the queries with a pair that lacks a judgment. `counted`: the judgments as
    they count, on pairs in `decided` as a person decided. `allow_incomplete`: nobody will judge the pairs that are
    missing. `begun`: who played in the rounds that have begun. `challenged`: the answers that are challenged, by every
    id of their texts; `before`: what was judged earlier on pairs that are not asked; `judging`: how people judged then.
    """

    @property
    def pools(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def waiting(self) -> Collection[str]: ...
    @property
    def counted(self) -> Sequence[Preference]: ...
    @property
    def decided(self) -> Mapping[tuple[str, str, str], str | None]: ...
    @property
    def allow_incomplete(self) -> bool: ...
    @property
    def begun(self) -> Mapping[str, Sequence[Collection[str]]]: ...
    @property
    def challenged(self) -> Answers: ...
    @property
    def before(self) -> Sequence[Preference]: ...
    @property
    def judging(self) -> Judging | None: ...


class Outcome(NamedTuple):
    """What came of the judgments. `derived.incomplete` are all queries without an answer. `rounds`: how far those of
    each query have come. `challenges`: what challengers came to, of queries that wait for no judgment.
    """

    derived: Derived
    rounds: Mapping[str, Status] = {}
    challenges: Sequence[Challenge] = ()


class Expected(NamedTuple):
    """What is expected to be asked where judgments are right: so many `pairs`, in so many rounds with the final, and
    how many of them `again`, beyond the judgments that each pair has.
    """

    pairs: int
    rounds: int
    again: int = 0


@dataclass(frozen=True)
class Design:
    """A pairing design with the settings that it reads, by their names. What is written here holds for pools of the
    runs' tops and the qrels, of which all pairs are asked, and all runs are scored.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    order: ClassVar[int]  # among the others, where one is chosen
    what: ClassVar[str]  # is asked, in words that go on after its title
    empty: ClassVar[str] = "There is nothing to judge: every pool has only one passage."
    finds_answers: ClassVar[bool] = True
    scores_runs: ClassVar[bool] = True  # by its answers, and all of the collection, as pools are of all they say
    is_whole: ClassVar[bool] = True  # its pairs are asked at once, and nothing else decides
    is_staged: ClassVar[bool] = False  # each of its rounds is planned, priced, and asked by itself
    goes_on: ClassVar[bool] = False  # what is asked next follows from what was judged
    challenges: ClassVar[bool] = False  # the answers of a version, with what was judged before
    takes_one_run: ClassVar[bool] = False
    only_method: ClassVar[Method | None] = None  # by which its winners are found

    depth: int
    min_grade: int
    qrel_policy: Policy
    method: Method

    @classmethod
    def of(cls, settings: object) -> Self:
        """From whatever has its settings as attributes."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})

    @classmethod
    def explain(cls) -> str:
        """What it asks, as a sentence."""
        return f"{cls.title.capitalize()}: {cls.what}."

    @classmethod
    def refuse(cls, *, depth: int | None, method: str | None) -> dict[str, str]:
        """Why it cannot be used with these settings: a sentence for each by its name."""
        return {}

    @property
    def run_depth(self) -> int:
        """How far down a run it looks."""
        return self.depth

    def plan(self, material: Material) -> Plan:
        """The pools, equal texts in them once, and the pairs that are asked from the start."""
        pools = pool_queries(material.tops, material.qrels, self.qrel_policy, min_grade=self.min_grade)
        pools = merge_equal(pools, material.text_keys(pools.values())).pools
        return Plan(pools, {query: self.first_pairs(query, pool) for query, pool in pools.items()}, {})

    def first_pairs(self, query: str, pool: Collection[str]) -> tuple[Pair, ...]:
        """The pairs that are asked of a pool from the start, sorted."""
        return tuple(all_pairs(query, pool))

    def derive(self, evidence: Evidence) -> Outcome:
        """The answers by now, none to queries that wait. Raises UnknownPassage where a judgment is of no pool."""
        waiting = evidence.waiting
        pools = {query: pool for query, pool in evidence.pools.items() if query not in waiting}
        rows = [row for row in evidence.counted if row.query not in waiting]
        derived = derive(pools, rows, self.method, evidence.allow_incomplete)
        return Outcome(replace(derived, incomplete=tuple(sorted({*waiting, *derived.incomplete}))))

    def next(self, outcome: Outcome) -> list[Pair]:
        """The pairs that are to be asked (again) by what was judged, sorted."""
        return []

    def estimate(self, sizes: Sizes, pairs: int, reused: int = 0) -> Expected:
        """What it asks in all, where it asks so many pairs from the start, of which `reused` have their judgments."""
        return Expected(pairs, 1)

    def alternatives(self, sizes: Sizes) -> dict[str, Expected]:
        """What designs by which these pools could be judged as well are expected to ask, by title, the full tournament
        first; empty where that is no question.
        """
        return {}


def full_tournaments(sizes: Sizes) -> Expected:
    """What all pairs of these pools are."""
    return Expected(sum(count * count_full_pairs(size) for size, count in sizes.items()), 1)
