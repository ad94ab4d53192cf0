"""All pairs: the tournament of each pool."""

from evaluation.judging.designs.base import Design, Expected, Sizes, full_tournaments
from evaluation.judging.designs.rounds import expected_rounds
from evaluation.judging.rounds import PRESETS


class AllPairs(Design):
    """Every two passages of a pool are compared."""

    name, title, order = "all_pairs", "all pairs", 1
    what = "every two passages of a pool"

    def alternatives(self, sizes: Sizes) -> dict[str, Expected]:
        rounds = {name: settings for name, settings in PRESETS.items() if not all(map(settings.is_full, sizes))}
        if not rounds:
            return {}
        fewer = {name: expected_rounds(settings, sizes) for name, settings in rounds.items()}
        return {self.title: full_tournaments(sizes), **fewer}
