"""Champion check: whether what one run ranks first beats the qrels (Arabzadeh et al. 2022, section 3)."""

from collections import Counter
from dataclasses import dataclass

from evaluation.files.preferences import Pair
from evaluation.judging.designs.base import Design, Material, Plan
from evaluation.judging.equal_texts import merge_equal, name_once, relevant_once
from evaluation.judging.pooling import ChampionQrel, champion_pairs

SECOND = 10  # passages of a run among which another text than the first is looked for
DEEPEST = 100  # passages of a run among which its highest qrel is looked for


@dataclass(frozen=True)
class ChampionCheck(Design):
    """One run's first passage is compared with a qrel, or where it is the qrel, with the second."""

    name, title, order = "champion_check", "champion check", 2
    what = "one run against the qrels, one pair per query"
    finds_answers = scores_runs = False
    takes_one_run = True

    champion_qrel: ChampionQrel

    @property
    def run_depth(self) -> int:
        return DEEPEST if self.champion_qrel == "highest" else SECOND

    def plan(self, material: Material) -> Plan:
        """Pools of what is compared; a query without a comparison has its first qrel."""
        (top,) = material.tops
        relevant = {query: pids for query, pids in material.qrels.relevant("all", self.min_grade).items() if pids}
        pooled = {query: {*pids, *top.get(query, ())} for query, pids in relevant.items()}
        stands_for = merge_equal(pooled, material.text_keys(pooled.values())).stands_for
        once = relevant_once(stands_for, material.qrels, self.min_grade)
        pools = {query: set(pids) for query, pids in once.relevant("first", self.min_grade).items() if pids}
        pairs: dict[str, list[Pair]] = {query: [] for query in pools}
        split: dict[str, Counter[str]] = {query: Counter() for query in pools}
        rows = champion_pairs(name_once(stands_for, top), once, min_grade=self.min_grade, choice=self.champion_qrel)
        for row in rows:
            if not pairs[row.query]:
                pools[row.query] = set()
            pools[row.query].update((row.qrel, row.other))
            pairs[row.query].append(row.pair)
            split[row.query][row.category] += 1
        return Plan(
            {query: tuple(sorted(pool)) for query, pool in pools.items()},
            {query: tuple(sorted(of_query)) for query, of_query in pairs.items()},
            split,
        )
