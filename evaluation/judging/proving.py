"""Whether a test pair tells careful workers from careless ones: what those who pass all others make of it.

A careful worker here is one who passed every other test pair that they met, and met at least one other.
"""

from collections.abc import Collection
from typing import NamedTuple

PROOF = 2  # careful workers who must have passed it
PROOF_SHARE = 0.8  # of the careful workers who met it
LEAST_FAILED = 3  # careful workers, before it is set aside
SLIPS = 0.1  # the share of careful workers who may fail a good test pair: they slip, or were careless and lucky before
CHANCE = 0.01  # how improbable more failures than that must be


class Record(NamedTuple):
    """How many careful workers passed one test pair, and how many failed it."""

    passed: int
    failed: int

    @property
    def met(self) -> int:
        return self.passed + self.failed


def is_proven(record: Record) -> bool:
    """Whether careful workers pass it, so that failing it may count against others."""
    return record.passed >= PROOF and record.passed >= PROOF_SHARE * record.met


def is_unfair(record: Record, others: Collection[Record]) -> bool:
    """Whether careful workers fail it more often than chance explains: if each failed it with probability SLIPS, or as
    often as they fail the campaign's other test pairs where that is more, so many failures would have a probability
    below CHANCE (one-sided binomial). The first case is three of five.
    """
    if record.failed < LEAST_FAILED:
        return False
    met = sum(other.met for other in others)
    expected = max(SLIPS, sum(other.failed for other in others) / met if met else 0.0)
    from scipy import special  # here, since every start of the site loads this module, and scipy takes long to load

    return bool(special.bdtrc(record.failed - 1, record.met, expected) < CHANCE)
