"""Challengers: what runs newly rank first, against the best known answers (Arabzadeh et al. 2022, section 6)."""

from dataclasses import dataclass
from decimal import Decimal

from evaluation.files.preferences import Pair
from evaluation.judging.challengers import challenge_pairs, find_challengers, settle_challenges
from evaluation.judging.designs.base import Design, Evidence, Expected, Material, Outcome, Plan, Sizes
from evaluation.judging.equal_texts import Merged, judge_merged
from evaluation.judging.settling import assess_pairs
from evaluation.judging.tournament import Derived

# Percent of challengers' pairs that are asked again: a third win their first comparison, and a third of these are asked
# a third time.
ASKED_AGAIN = 45


@dataclass(frozen=True)
class Challengers(Design):
    """Each newcomer is compared with the answers only, and one that wins is confirmed before it replaces an answer."""

    name, title, order = "challengers", "challengers", 3
    what = "only passages that runs newly rank first, against the best known answers of a version"
    empty = "There is nothing to judge: the runs bring nothing new, as all that they put first was considered."
    scores_runs = is_whole = False
    goes_on = challenges = True
    only_method = "tournament"

    overlap: int
    confirmations: int
    confirm_level: Decimal | None

    @classmethod
    def refuse(cls, *, depth: int | None, method: str | None) -> dict[str, str]:
        deep = "A challenger is a passage that a run ranks first, so the depth of this design is 1."
        other = "In this design, winners are found by tournament."
        return ({"depth": deep} if depth != 1 else {}) | ({"method": other} if method != cls.only_method else {})

    def plan(self, material: Material) -> Plan:
        """Pools and pairs of the queries that have a challenger: each against the best known answers, and whatever else
        is missing by what was judged before. A text that was considered under another id is not new.
        """
        answers, considered = material.answers, material.considered
        known = {query: {*considered.get(query, ()), *pids} for query, pids in answers.items()}
        firsts = find_challengers(material.tops, known)
        pooled = {query: {*known[query], *pids} for query, pids in firsts.items()}
        keys = material.text_keys(pooled.values())
        challengers, standing = {}, {}
        stands_for: dict[str, dict[str, str]] = {}
        for query, pids in firsts.items():
            # Earlier candidates before other ids of their texts, so that what was judged of them is found.
            earlier = considered.get(query, ())
            ordered = sorted(pooled[query], key=lambda p: (p in pids, p not in answers[query], p not in earlier, p))
            by_text: dict[str, str] = {}
            stands_for[query] = {pid: by_text.setdefault(keys.get(pid, f"id {pid}"), pid) for pid in ordered}
            new = {stands_for[query][pid] for pid in pids}.intersection(pids)
            if new:
                challengers[query] = tuple(sorted(new))
                standing[query] = tuple(sorted({stands_for[query][pid] for pid in answers[query]}))
        chosen = {*challenge_pairs(standing, challengers)}
        judged = judge_merged(Merged({}, stands_for, {}), material.judged)
        for challenge in settle_challenges(standing, challengers, judged):
            chosen.update(challenge.missing)
        pairs: dict[str, list[Pair]] = {}
        for pair in sorted(chosen):
            pairs.setdefault(pair.query, []).append(pair)
        pools = {query: tuple(sorted({*standing[query], *pids})) for query, pids in challengers.items()}
        return Plan(pools, {query: tuple(pairs[query]) for query in pools}, {})

    def derive(self, evidence: Evidence) -> Outcome:
        """Pairs that the campaign asks about are decided by its own judgments, any others by what was judged before it.
        One that a challenger won waits until it is confirmed: by how people judged before the campaign, so that what is
        judged of other pairs cannot undo it.
        """
        pools = {query: pids for query, pids in evidence.pools.items() if query not in evidence.waiting}
        answers = {
            query: tuple(pid for pid in pids if pid in evidence.challenged[query]) for query, pids in pools.items()
        }
        challengers = {query: tuple(sorted({*pids} - {*answers[query]})) for query, pids in pools.items()}
        before = [row for row in evidence.before if row.query in pools]
        rows = [*evidence.counted, *before]
        if self.confirmations == 1 or self.confirm_level is None or evidence.judging is None:
            challenges = settle_challenges(answers, challengers, rows, most=self.confirmations)
        else:
            probable, decided = assess_pairs(evidence.counted, before, evidence.judging), evidence.decided
            challenges = settle_challenges(
                answers,
                challengers,
                rows,
                most=self.confirmations,
                level=float(self.confirm_level),
                chance=lambda pair: None if pair in decided else probable(pair),
            )
        winners = {challenge.query: challenge.best for challenge in challenges if not challenge.missing}
        return Outcome(Derived.of(winners, evidence.pools), challenges=challenges)

    def next(self, outcome: Outcome) -> list[Pair]:
        return sorted(pair for challenge in outcome.challenges for pair in challenge.missing)

    def estimate(self, sizes: Sizes, pairs: int, reused: int = 0) -> Expected:
        again = -(-(pairs - reused) * ASKED_AGAIN // 100) if self.confirmations > self.overlap else 0
        return Expected(pairs, 1, again)
