"""What the answers of a campaign rest on. Pages, exports and results all read it here, so that all say the same."""

from bisect import bisect_left, bisect_right
from collections import Counter
from functools import cached_property
from operator import itemgetter
from sys import intern
from typing import Self

from django.db.models import Count, Exists, OuterRef, Q

from evaluation.files.preferences import Preference, in_order
from evaluation.judging.adjudication import adjudicate
from evaluation.judging.designs.base import Outcome
from evaluation.judging.equal_texts import Merged, judge_merged
from evaluation.judging.pooling import canonical
from evaluation.judging.posterior import Judging
from evaluation.judging.tournament import Derived
from judgments import selectors as judgment_selectors
from judgments.models import Acceptance, Adjudication, Judgment, ReusedJudgment, is_for_a
from judgments.selectors import ReusedRow, preferred_of
from judgments.weighing import weighed_pairs
from pools import selectors as pool_selectors
from pools.models import Campaign, Candidate, Pair, Pool, RoundPool
from pools.reuse import known_preferences
from tasks.models import Item

PairKey = tuple[str, str, str]  # (query, a, b), by id


class Evidence:
    """What the answers of a campaign, or of one of its pools, rest on: of stored judgments and settings, as
    `evaluation.judging.designs` reads it. Each part is read once, when it is first needed: used within one moment.
    """

    def __init__(self, campaign: Campaign, pool: Pool | None = None) -> None:
        self.campaign, self.pool = campaign, pool
        self.query = None if pool is None else pool.query
        self.allow_incomplete = campaign.is_imported  # nobody will judge the pairs that are missing

    def _within(self, pool: str) -> dict[str, object]:
        """What a row of the campaign, or of its pool, is filtered by, where this is the way to its pool."""
        return {f"{pool}__campaign": self.campaign} if self.pool is None else {pool: self.pool}

    @cached_property
    def pools(self) -> dict[str, tuple[str, ...]]:
        """Every pool by query id: its passage ids, sorted."""
        pools: dict[str, list[str]] = {}
        rows = Candidate.objects.filter(**self._within("pool")).values_list("pool__query__qid", "passage__pid")
        for qid, pid in rows.iterator(chunk_size=20_000):
            pools.setdefault(intern(qid), []).append(intern(pid))
        return {qid: tuple(sorted(pools[qid])) for qid in sorted(pools)}

    @cached_property
    def waiting(self) -> frozenset[str]:
        """The queries with a pair that has too few judgments that count, or that is set aside: what is judged on that
        one, in HITs that show it, waits until it is asked about again.
        """
        pairs = Pair.objects.filter(is_reused=False, **self._within("pool")).annotate(slots=Count("acceptances"))
        waiting = pairs.filter(Q(slots__lt=self.campaign.slots_needed) | Q(is_set_aside=True)).order_by()
        return frozenset(waiting.values_list("pool__query__qid", flat=True))

    @cached_property
    def reused(self) -> list[ReusedRow]:
        """The judgments that were made before and fill slots, sorted."""
        return judgment_selectors.reused_judgments(self.campaign, self.pool)

    @cached_property
    def preferences(self) -> list[Preference]:
        """Every judgment that counts, as `(query, a, b, preferred)` by id, sorted."""
        rows = Acceptance.objects.filter(**self._within("pair__pool")).values_list(
            "pair__pool__query__qid", "pair__a__pid", "pair__b__pid", "judgment__preferred", "judgment__item__a_left"
        )
        direct = (
            Preference(qid, a, b, preferred_of(a, b, is_for_a(side, left)))
            for *ids, side, left in rows.iterator(chunk_size=20_000)
            for qid, a, b in (map(intern, ids),)  # each id is in many rows
        )
        return sorted([*direct, *(row.preference for row in self.reused)], key=in_order)

    @cached_property
    def ties(self) -> Counter[PairKey]:
        """How many judgments are ties, by pair: imported ones, as workers have no such choice."""
        return Counter((query, a, b) for query, a, b, preferred in self.preferences if preferred is None)

    def votes_on(self, query: str) -> dict[PairKey, list[int]]:
        """How many judgments prefer a, and how many b, by pair of a query. Ties are in neither."""
        votes: dict[PairKey, list[int]] = {}
        first, end = (find(self.preferences, query, key=itemgetter(0)) for find in (bisect_left, bisect_right))
        for row in self.preferences[first:end]:
            if row.preferred is not None:
                votes.setdefault((row.query, row.a, row.b), [0, 0])[row.preferred == row.b] += 1
        return votes

    @cached_property
    def decided(self) -> dict[PairKey, str | None]:
        """The better passage, None for a tie, by pair, of those that count as a person decided: those whose judgments
        disagree now.
        """
        deciding = judgment_selectors.adjudications_of(self.campaign, self.pool).order_by()
        deciding = deciding.exclude(choice=Adjudication.Choice.UNSURE)
        deciding = deciding.filter(_has_judgment(for_a=True), _has_judgment(for_a=False))
        rows = deciding.values_list("pair__pool__query__qid", "pair__a__pid", "pair__b__pid", "choice")
        return {(qid, a, b): {"a": a, "b": b}.get(choice) for qid, a, b, choice in rows}

    @cached_property
    def weighed(self) -> dict[PairKey, str]:
        """The passage that judgments weigh more for, by pair, where they disagree and the campaign weighs them."""
        return weighed_pairs(self.campaign, self.pool)

    @cached_property
    def counted(self) -> list[Preference]:
        """The tournament's whole input: every judgment that counts, sorted; on a decided pair what was decided, and on
        weighed others what weighs more, as often as the pair has judgments.

        Where most pairs are judged once, one that a second person judged too counts no more than they do: once, and as
        a tie if the two disagree.
        """
        outcomes = adjudicate(self.preferences, {**self.weighed, **self.decided})
        if not self.campaign.repeated_hits(1):
            return outcomes
        items = Item.objects.filter(hit__campaign=self.campaign, hit__wanted=2, layout=0, **self._within("pair__pool"))
        repeated = items.values_list("pair__pool__query__qid", "pair__a__pid", "pair__b__pid")
        opinions: dict[PairKey, list[str | None]] = {pair: [] for pair in repeated}
        for query, a, b, preferred in outcomes:
            if (votes := opinions.get((query, a, b))) is not None:
                votes.append(preferred)
        once = {pair: votes for pair, votes in opinions.items() if len(votes) == 2}
        others = (row for row in outcomes if (row.query, row.a, row.b) not in once)
        merged = (Preference(*pair, votes[0] if votes[0] == votes[1] else None) for pair, votes in once.items())
        return sorted([*others, *merged], key=in_order)

    @cached_property
    def begun(self) -> dict[str, list[list[str]]]:
        """Who played in the rounds that have begun, by query."""
        planned = RoundPool.objects.filter(**self._within("pool")).order_by("round__number")
        return dict(planned.values_list("pool__query__qid", "begun"))  # the newest of each

    @cached_property
    def challenged(self) -> dict[str, tuple[str, ...]]:
        """The best known answers that are challenged, by query and every id of their texts."""
        return pool_selectors.base_answers(self.campaign, self.query)

    @cached_property
    def before(self) -> list[Preference]:
        """What was judged before a campaign that challenges answers, on pairs that it does not ask about."""
        if not self.campaign.pairing.challenges:
            return []
        pairs = Pair.objects.filter(**self._within("pool"))
        id_pairs = set(pairs.values_list("pool__query__qid", "a__pid", "b__pid"))
        rows = (row for row in known_preferences(self.campaign, self.query) if row.query in self.pools)
        before = judge_merged(Merged({}, self.stands_for, {}), rows)
        return [row for row in before if (row.query, *canonical(row.a, row.b)) not in id_pairs]

    @cached_property
    def judging(self) -> Judging | None:
        """How people judged before the campaign; None where it does not say."""
        return None if self.campaign.error_model is None else Judging.of_rows(self.campaign.error_model)

    @cached_property
    def stands_for(self) -> dict[str, dict[str, str]]:
        """By query and id, the candidate that has the text of a passage with another id."""
        return pool_selectors.twins_of(self.campaign, self.pool)

    @cached_property
    def withheld(self) -> frozenset[tuple[str, str]]:
        """`(query id, passage id)` of passages that may not leave: only runs that are not for release brought them."""
        return frozenset(pool_selectors.withheld_passages(self.campaign))

    @cached_property
    def outcome(self) -> Outcome:
        """What came of it by the campaign's design."""
        return self.campaign.pairing.derive(self)

    def read(self) -> Self:
        """Read now whatever else would be read when it is needed, so that all of it is of one moment."""
        _parts = self.outcome, self.pools, self.preferences, self.counted, self.decided, self.weighed
        _more = self.stands_for, self.challenged
        return self

    @property
    def derived(self) -> Derived:
        """The preference qrels. Queries that wait for a judgment or another round have none: they are incomplete."""
        return self.outcome.derived


def _has_judgment(*, for_a: bool) -> Q:
    """Whether one of the judgments that count on the `pair` of a row prefers this passage."""
    left, right = Q(judgment__preferred=Judgment.Side.LEFT), Q(judgment__preferred=Judgment.Side.RIGHT)
    side = left & Q(judgment__item__a_left=for_a) | right & Q(judgment__item__a_left=not for_a)
    accepted = Acceptance.objects.filter(side, pair=OuterRef("pair"))
    return Q(Exists(accepted)) | Q(Exists(ReusedJudgment.objects.filter(pair=OuterRef("pair"), prefers_a=for_a)))
