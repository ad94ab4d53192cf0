"""Challengers against the best known answers of a version."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcomes:
    """How many challengers came to what."""

    won: int
    tied: int
    lost: int
    open: int
    waiting: int


@dataclass(frozen=True)
class Brought(Outcomes):
    """How many challengers a run brought, and what they came to."""

    run: str
    brought: int


@dataclass(frozen=True)
class Row:
    """A challenger, the best known answers `before` and now, and the runs that brought it."""

    qid: str
    passage: str
    before: list[str]
    outcome: str
    best: list[str]
    runs: list[str]


@dataclass(frozen=True)
class Challengers:
    """`changed` and `unchanged` count queries, `missing` pairs."""

    version: int
    answered: int
    queries: int
    challengers: int
    changed: int
    unchanged: int
    missing: int
    outcomes: Outcomes
    rows: list[Row]
    runs: list[Brought]
