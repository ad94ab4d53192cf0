"""What the page of one query shows: its pool, who beat whom, and the judgments behind each pair."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from evaluation.judging.tournament import Judged, most_wins
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from judgments.models import Adjudication, Reuse
from judgments.selectors import JudgmentRow
from pools.models import Campaign, Pair, Pool
from results import selectors as result_selectors
from results.sections.certainty import Answer
from runs.models import Passage, Qrel
from tasks.models import Assignment


@dataclass(frozen=True)
class CandidateDetail:
    """A passage of a pool. `number` names it on the page; `grade` is that of its original qrel, None without one.

    `runs` are those that put it first, and `chance` is its P(best), as of the stored results; None where these have
    none. `likely`: it is in the confidence set. `twins` are other ids of the same text.
    """

    number: int
    passage: Passage
    wins: int
    losses: int
    best: bool
    grade: int | None
    runs: Sequence[str]
    twins: Sequence[str]
    chance: float | None
    likely: bool


@dataclass(frozen=True)
class PairDetail:
    """A pair (the lower number first), its outcome, and every judgment behind it, oldest first.

    `for_a` and `for_b` count judgments, and `ties` those that prefer neither. `adjudicated` is what a person
    decided, if that stands, and `better` the passage that it prefers; it counts while judgments are for both. `heavier`
    is the passage for which the judgments weigh more, where they disagree and the campaign weighs them.
    """

    pk: int
    a: CandidateDetail
    b: CandidateDetail
    for_a: int
    for_b: int
    ties: int
    judgments: Sequence["JudgmentDetail"]
    reused: Sequence["ReusedDetail"]
    adjudicated: Adjudication | None
    better: CandidateDetail | None
    heavier: CandidateDetail | None


class ReusedDetail(NamedTuple):
    """A judgment on a pair that was made before; `preferred` is None for a tie. `counts`: whether it still counts where
    it was made.
    """

    reuse: Reuse
    preferred: CandidateDetail | None
    made_at: datetime
    counts: bool


class JudgmentDetail(NamedTuple):
    """One judgment on a pair. `side` is where the preferred passage was shown. Both are None for a tie."""

    worker_id: int
    assignment_id: int
    preferred: CandidateDetail | None
    side: str | None
    seconds: float
    made_at: datetime
    status: str


class JudgmentLine(NamedTuple):
    """One line of the list of judgments, one of the campaign or a reused one: neither if nobody judged the pair."""

    pair: PairDetail
    judgment: JudgmentDetail | None
    reused: ReusedDetail | None


class MatrixCell(NamedTuple):
    """How often the row's passage was preferred over the column's, of how many accepted judgments that prefer either.
    `is_tied`: the pair was judged, and all that counts are ties.
    """

    column: CandidateDetail
    wins: int | None
    judged: int
    is_tied: bool


class Round(NamedTuple):
    """One round of a tournament: between whom, and who won most, with how many wins each."""

    playing: Sequence[CandidateDetail]
    leaders: Sequence[CandidateDetail]
    wins: int


@dataclass(frozen=True)
class PoolDetail:
    """A pool: its candidates (most wins first), its pairs, and whether a best known answer follows already.

    `wins` says how often the first passage of two counts as preferred to the second, by their ids.

    `rounds` are the tournament's, while there is a winner and that is the method. `certainty` is how sure the best
    known answers are, as of the stored results.
    """

    candidates: Sequence[CandidateDetail]
    wins: Mapping[tuple[str, str], int]
    pairs: Sequence[PairDetail]
    complete: bool
    filled: int
    slots: int
    rounds: Sequence[Round]
    certainty: Answer | None

    @property
    def best(self) -> list[CandidateDetail]:
        """The best known answers; none while pairs wait."""
        return [candidate for candidate in self.candidates if candidate.best]

    @property
    def lines(self) -> list[JudgmentLine]:
        """Every judgment beside its pair, pair by pair; a pair without any has one line."""
        lines = []
        for pair in self.pairs:
            reused = [JudgmentLine(pair, None, judgment) for judgment in pair.reused]
            direct = [JudgmentLine(pair, judgment, None) for judgment in pair.judgments]
            lines += reused + direct or [JudgmentLine(pair, None, None)]
        return lines

    def matrix(self, candidates: Sequence[CandidateDetail]) -> list[tuple[CandidateDetail, list[MatrixCell | None]]]:
        """Who beat whom among some of the candidates: a row for each, with a cell for each."""
        judged = {
            frozenset((pair.a.passage.pid, pair.b.passage.pid)): bool(pair.for_a or pair.for_b or pair.ties)
            for pair in self.pairs
        }
        return [(row, [_cell(row, column, self.wins, judged) for column in candidates]) for row in candidates]


def pool_detail(pool: Pool) -> PoolDetail:
    """Everything about one pool: the candidates, who beat whom, the winners, and the judgments behind each pair."""
    campaign = pool.campaign
    pairs = list(Pair.objects.filter(pool=pool).values_list("a__pid", "b__pid", "pk"))
    evidence = Evidence(campaign, pool)
    adjudicated = {row.pair_id: row for row in judgment_selectors.adjudications_of(campaign, pool)}
    passages = list(Passage.objects.filter(candidacies__pool=pool).defer("text"))
    best = {pid for _query, pid in evidence.derived.qrels}
    tops = result_selectors.tops_of(pool)
    stands_for = evidence.stands_for.get(pool.query.qid, {})
    twins: dict[str, list[str]] = {}
    for twin, candidate in sorted(stands_for.items()):
        twins.setdefault(candidate, []).append(twin)
    grades: dict[str, int] = {}
    for pid, grade in Qrel.objects.filter(query=pool.query).values_list("passage__pid", "grade").order_by():
        candidate = stands_for.get(pid, pid)
        grades[candidate] = max(grade, grades.get(candidate, grade))
    decisive = [preference for preference in evidence.counted if preference.preferred is not None]
    wins = Counter((str(row.preferred), row.b if row.preferred == row.a else row.a) for row in decisive)
    totals, lost = Counter[str](), Counter[str]()
    for (winner, loser), count in wins.items():
        totals[winner] += count
        lost[loser] += count
    passages.sort(key=lambda passage: (passage.pid not in best, -totals[passage.pid], passage.pid))
    certainty = result_selectors.certainty_of(pool, best)
    chances = {row.passage: row.p for row in (certainty and certainty.passages) or ()}
    candidates = [
        CandidateDetail(
            number,
            passage,
            totals[passage.pid],
            lost[passage.pid],
            passage.pid in best,
            grades.get(passage.pid),
            tops.get(passage.pid, ()),
            twins.get(passage.pid, ()),
            chances.get(passage.pid),
            certainty is not None and passage.pid in certainty.set,
        )
        for number, passage in enumerate(passages, start=1)
    ]
    by_pid = {candidate.passage.pid: candidate for candidate in candidates}
    behind: dict[tuple[str | None, str | None], list[JudgmentDetail]] = {}
    for row in judgment_selectors.judgment_rows(campaign, pool):
        behind.setdefault((row.a, row.b), []).append(_judgment(row, by_pid))
    reuses = {reuse.pk: reuse for reuse in judgment_selectors.reuses_of(campaign)}
    before: dict[tuple[str, str], list[ReusedDetail]] = {}
    for reused in evidence.reused:
        chosen = reused.preference.preferred
        preferred = None if chosen is None else by_pid[chosen]
        detail = ReusedDetail(reuses[reused.reuse_id], preferred, reused.made_at, reused.counts)
        before.setdefault((reused.a, reused.b), []).append(detail)
    details, voted = [], evidence.votes_on(pool.query.qid)
    for *pids, pk in pairs:
        a, b = sorted((by_pid[pid] for pid in pids), key=lambda candidate: candidate.number)
        pair, decided = (pids[0], pids[1]), adjudicated.get(pk)
        votes = dict(zip(pair, voted.get((pool.query.qid, *pair), (0, 0)), strict=True))
        for_a, for_b = votes[a.passage.pid], votes[b.passage.pid]
        direct, older = behind.get(pair, []), before.get(pair, [])
        better = None if decided is None else dict(zip("ab", pair, strict=True)).get(decided.choice)
        heavier = evidence.weighed.get((pool.query.qid, *pair))
        marks = (by_pid[pid] if pid else None for pid in (better, heavier))
        ties = evidence.ties[pool.query.qid, *pair]
        details.append(PairDetail(pk, a, b, for_a, for_b, ties, direct, older, decided, *marks))
    details.sort(key=lambda pair: (pair.a.number, pair.b.number))
    filled = sum(pair.for_a + pair.for_b + pair.ties for pair in details)
    is_tournament = campaign.method == Campaign.Method.TOURNAMENT and campaign.pairing.is_whole
    settled = bool(best) and len(candidates) > 1 and is_tournament
    settled = settled and len(decisive) == len(
        evidence.counted
    )  # a tie is half a win for both: the rounds count whole ones
    return PoolDetail(
        candidates=candidates,
        wins=wins,
        pairs=details,
        complete=not evidence.derived.incomplete,
        filled=filled,
        slots=len(pairs) * campaign.overlap,
        rounds=_rounds(by_pid, wins) if settled else [],
        certainty=certainty,
    )


def _rounds(candidates: dict[str, CandidateDetail], wins: dict[tuple[str, str], int]) -> list[Round]:
    """The rounds that lead to the best known answers: those who win most play again, while they are fewer."""
    rounds: list[Round] = []
    playing = set(candidates)
    while True:
        between = [Judged(*pair) for pair, count in wins.items() if playing.issuperset(pair) for _win in range(count)]
        leaders = most_wins(playing, between)
        won = sum(judged.winner in leaders for judged in between) // len(leaders)
        rounds.append(
            Round(
                [candidate for pid, candidate in candidates.items() if pid in playing],
                [candidate for pid, candidate in candidates.items() if pid in leaders],
                won,
            )
        )
        if len(leaders) in (1, len(playing)):
            return rounds
        playing = set(leaders)


def _cell(
    row: CandidateDetail,
    column: CandidateDetail,
    wins: Mapping[tuple[str, str], int],
    judged: Mapping[frozenset[str], bool],
) -> MatrixCell | None:
    if row is column:
        return None
    row_pid, column_pid = row.passage.pid, column.passage.pid
    won, lost = wins.get((row_pid, column_pid), 0), wins.get((column_pid, row_pid), 0)
    is_judged = judged.get(frozenset((row_pid, column_pid)))
    return MatrixCell(column, None if is_judged is None else won, won + lost, bool(is_judged) and not won + lost)


def _judgment(row: JudgmentRow, by_pid: dict[str, CandidateDetail]) -> JudgmentDetail:
    preferred = judgment_selectors.preferred_of(str(row.a), str(row.b), row.prefers_a)
    if row.accepted:
        status = "accepted"
    elif row.superseded:
        status = "superseded"
    elif row.verdict == Assignment.Verdict.EXCLUDED:
        status = "excluded"
    else:
        status = "spare" if row.verdict == Assignment.Verdict.ACCEPTED else row.verdict
    return JudgmentDetail(
        worker_id=row.worker_id,
        assignment_id=row.assignment_id,
        preferred=None if preferred is None else by_pid[preferred],
        side=row.preferred,
        seconds=(row.made_at - row.shown_at).total_seconds(),
        made_at=row.made_at,
        status=status,
    )
