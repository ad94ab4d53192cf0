"""How much there is of everything, and the settings that all sections share."""

from dataclasses import dataclass, field

from results.inputs import FORMAT


@dataclass(frozen=True, kw_only=True)
class Counts:
    """`best`: how many queries have so many best known answers; `pool_sizes`: how many pools have so many passages."""

    version: int = FORMAT
    k: int
    order: str
    min_grade: int
    overlap: int
    design: str
    qrel_policy: str
    seed: int
    queries: int
    sampled_from: int | None
    answered: int
    preference_qrels: int
    twins: int
    incomplete: int
    held_back: int = 0
    held_back_runs: list[str] = field(default_factory=list)
    is_release: bool = False
    pairs: int
    judgments: int
    adjudicated: int
    weighed: int
    best: dict[int, int]
    changed: int
    pool_sizes: list[tuple[int, int]]
