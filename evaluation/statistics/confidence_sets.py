"""The passages that are the best known answer with a given certainty."""

from collections.abc import Mapping

import numpy as np

SURE = 0.9  # of a confidence set


def confidence_set(chances: Mapping[str, float], level: float = SURE) -> list[str]:
    """The fewest passages whose chances add up to the level, the likeliest first, equal ones by id."""
    likeliest = sorted(chances, key=lambda passage: (-chances[passage], passage))
    sums = np.cumsum([chances[passage] for passage in likeliest])
    return likeliest[: int(np.searchsorted(sums, level - 1e-9)) + 1]
