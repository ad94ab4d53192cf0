"""What the researcher's pages show of one query, one assignment, and of the outcome as it stands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic, perf_counter, sleep, time
from typing import NamedTuple

from django.core.cache import cache
from django.utils import timezone

from evaluation.tournament import Judged, most_wins
from judgments import selectors
from judgments.models import Judgment
from judgments.results import selectors as results
from judgments.selectors import JudgmentRow
from pools.locks import alone
from pools.models import Campaign, Pair, Passage, Pool, Qrel
from pools.snapshot import one_moment
from tasks.models import Assignment, Item

SLOW_SECONDS = 0.5
REST_FACTOR = 30
KEPT_SECONDS = 86_400  # to be shown while somebody counts anew
MOST_WAIT = 2.0  # seconds for which a page waits for another's counting


# --- one query


@dataclass(frozen=True)
class CandidateDetail:
    """A passage of a pool. `number` names it on the page; `grade` is that of its original qrel, None without one.

    `runs` are those that put it first, as of the stored results.
    """

    number: int
    passage: Passage
    wins: int
    losses: int
    best: bool
    grade: int | None
    runs: Sequence[str]


@dataclass(frozen=True)
class PairDetail:
    """A pair (the lower number first), its outcome, and every judgment behind it, oldest first."""

    a: CandidateDetail
    b: CandidateDetail
    for_a: int
    for_b: int
    judgments: Sequence["JudgmentDetail"]


class JudgmentDetail(NamedTuple):
    """One judgment on a pair. `side` is where the preferred passage stood."""

    worker_id: int
    assignment_id: int
    preferred: CandidateDetail
    side: str
    seconds: float
    made_at: datetime
    standing: str


class MatrixCell(NamedTuple):
    """How often the row's passage was preferred over the column's, of how many accepted judgments."""

    column: CandidateDetail
    wins: int | None
    judged: int


class Round(NamedTuple):
    """One round of a tournament: between whom, and who won most, with how many wins each."""

    playing: Sequence[CandidateDetail]
    leaders: Sequence[CandidateDetail]
    wins: int


@dataclass(frozen=True)
class PoolDetail:
    """A pool: its candidates (most wins first), who beat whom, and whether a best known answer follows already.

    `rounds` are the tournament's, while there is a winner and that is the method. `certainty` is the share of draws of
    the judgments in which the best known answers stay, as of the stored results.
    """

    candidates: Sequence[CandidateDetail]
    matrix: Sequence[tuple[CandidateDetail, Sequence[MatrixCell | None]]]
    pairs: Sequence[PairDetail]
    complete: bool
    filled: int
    places: int
    rounds: Sequence[Round]
    certainty: float | None

    @property
    def best(self) -> list[CandidateDetail]:
        """The best known answers; none while pairs wait."""
        return [candidate for candidate in self.candidates if candidate.best]


def pool_detail(pool: Pool) -> PoolDetail:
    """Everything about one pool: the candidates, who beat whom, the winners, and the judgments behind each pair."""
    campaign = pool.campaign
    pairs = list(Pair.objects.filter(pool=pool).select_related("a", "b"))
    preferences = selectors.accepted_preferences(campaign, pool)
    passages = [row.passage for row in pool.candidates.select_related("passage")]
    pids = [passage.pid for passage in passages]
    outcome = selectors.derived(campaign, pool)
    best = {pid for _query, pid in outcome.qrels}
    tops = results.tops_of(pool)
    grades = dict(
        Qrel.objects.filter(query=pool.query, passage__in=passages).values_list("passage__pid", "grade").order_by()
    )
    wins: dict[tuple[str, str], int] = {}
    for preference in preferences:
        loser = preference.b if preference.preferred == preference.a else preference.a
        key = (str(preference.preferred), loser)
        wins[key] = wins.get(key, 0) + 1
    totals = {pid: sum(count for (winner, _loser), count in wins.items() if winner == pid) for pid in pids}
    lost = {pid: sum(count for (_winner, loser), count in wins.items() if loser == pid) for pid in pids}
    passages.sort(key=lambda passage: (passage.pid not in best, -totals[passage.pid], passage.pid))
    candidates = [
        CandidateDetail(
            number,
            passage,
            totals[passage.pid],
            lost[passage.pid],
            passage.pid in best,
            grades.get(passage.pid),
            tops.get(passage.pid, ()),
        )
        for number, passage in enumerate(passages, start=1)
    ]
    by_pid = {candidate.passage.pid: candidate for candidate in candidates}
    behind: dict[tuple[str | None, str | None], list[JudgmentDetail]] = {}
    for row in selectors.judgment_rows(campaign, pool):
        behind.setdefault((row.a, row.b), []).append(_judgment(row, by_pid))
    asked = {frozenset((pair.a.pid, pair.b.pid)) for pair in pairs}
    details = []
    for pair in pairs:
        a, b = sorted((by_pid[pair.a.pid], by_pid[pair.b.pid]), key=lambda candidate: candidate.number)
        for_a = wins.get((a.passage.pid, b.passage.pid), 0)
        for_b = wins.get((b.passage.pid, a.passage.pid), 0)
        details.append(PairDetail(a, b, for_a, for_b, behind.get((pair.a.pid, pair.b.pid), [])))
    details.sort(key=lambda pair: (pair.a.number, pair.b.number))
    matrix = [(row, [_cell(row, column, wins, asked) for column in candidates]) for row in candidates]
    filled = sum(pair.for_a + pair.for_b for pair in details)
    settled = bool(best) and len(candidates) > 1 and campaign.method == Campaign.Method.TOURNAMENT
    return PoolDetail(
        candidates=candidates,
        matrix=matrix,
        pairs=details,
        complete=not outcome.incomplete,
        filled=filled,
        places=len(pairs) * campaign.overlap,
        rounds=_rounds(by_pid, wins) if settled else [],
        certainty=results.certainty_of(pool, best),
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
    row: CandidateDetail, column: CandidateDetail, wins: dict[tuple[str, str], int], asked: set[frozenset[str]]
) -> MatrixCell | None:
    if row is column:
        return None
    here, there = row.passage.pid, column.passage.pid
    won, lost = wins.get((here, there), 0), wins.get((there, here), 0)
    return MatrixCell(column, won if frozenset((here, there)) in asked else None, won + lost)


def _judgment(row: JudgmentRow, by_pid: dict[str, CandidateDetail]) -> JudgmentDetail:
    prefers_a = (row.preferred == Judgment.Side.LEFT) == row.a_left
    if row.accepted:
        standing = "accepted"
    elif row.superseded:
        standing = "superseded"
    elif row.verdict == Assignment.Verdict.EXCLUDED:
        standing = "excluded"
    else:
        standing = "spare" if row.verdict == Assignment.Verdict.ACCEPTED else row.verdict
    return JudgmentDetail(
        worker_id=row.worker_id,
        assignment_id=row.assignment_id,
        preferred=by_pid[str(row.a if prefers_a else row.b)],
        side=row.preferred,
        seconds=(row.made_at - row.shown_at).total_seconds(),
        made_at=row.made_at,
        standing=standing,
    )


# --- one assignment


@dataclass(frozen=True)
class ItemDetail:
    """One item of an assignment: what was asked, what stood on each side, and what was preferred.

    `passed` says whether the relevant passage of a test pair was preferred; None for pairs, and where nothing was.
    `changes` is how often the worker changed their mind.
    """

    position: int
    question: str
    left: str
    right: str
    left_name: str
    right_name: str
    pool_id: int | None
    is_test: bool
    judgment: Judgment | None
    seconds: float | None
    changes: int
    passed: bool | None
    accepted: bool


def item_details(assignment: Assignment) -> list[ItemDetail]:
    """Every item of an assignment in the order in which it was shown."""
    items = (
        Item.objects.filter(hit_id=assignment.hit_id)
        .select_related("pair__a", "pair__b", "pair__pool__query", "test__relevant", "test__off_topic")
        .order_by("position")
    )
    judgments: dict[int, list[Judgment]] = {}
    for judgment in Judgment.objects.filter(assignment=assignment).select_related("item").order_by("id"):
        judgments.setdefault(judgment.item_id, []).append(judgment)
    accepted = set(assignment.acceptances.values_list("judgment_id", flat=True))
    return [_item(item, judgments.get(item.pk, []), accepted) for item in items]


def _item(item: Item, judgments: Sequence[Judgment], accepted: set[int]) -> ItemDetail:
    if item.pair is not None:
        pair = item.pair
        question, texts, names = pair.pool.query.text, (pair.a.text, pair.b.text), (pair.a.pid, pair.b.pid)
    else:
        assert item.test is not None  # the database holds that an item is a pair or a test pair
        test = item.test
        question, texts = test.question, (test.relevant_text, test.off_topic_text)
        names = (test.relevant.pid if test.relevant else "", test.off_topic.pid if test.off_topic else "")
    left, right = texts if item.a_left else texts[::-1]
    left_name, right_name = names if item.a_left else names[::-1]
    last = judgments[-1] if judgments else None
    return ItemDetail(
        position=item.position,
        question=question,
        left=left,
        right=right,
        left_name=left_name,
        right_name=right_name,
        pool_id=item.pair.pool_id if item.pair else None,
        is_test=item.pair is None,
        judgment=last,
        seconds=selectors.duration_of(last) if last else None,
        changes=max(0, len(judgments) - 1),
        passed=last.prefers_a if last and item.pair is None else None,
        accepted=last is not None and last.pk in accepted,
    )


# --- the outcome


class Outcome(NamedTuple):
    """The preference qrels in numbers, as they stood at a time. `deadlocks` are sizes, each with how many there are."""

    at: datetime
    pools: int
    single: int
    deadlocks: list[tuple[int, int]]
    incomplete: int


def outcome(campaign: Campaign) -> Outcome | None:
    """The outcome as it stands, or, where counting it takes long, as it stood a little while ago.

    One process counts it at a time. The others show what was counted before; None if they waited for that in vain.
    """
    key = f"outcome 2 {campaign.link}"  # the number is that of what is kept: another version's is left alone
    ends = monotonic() + MOST_WAIT
    while True:
        known = cache.get(key)
        if known is not None and known["fresh until"] > time():
            return Outcome(**known["outcome"])
        with alone(f"outcome of campaign {campaign.pk}") as ours:
            if ours:
                return _count_outcome(campaign, key)
        if known is not None:
            return Outcome(**known["outcome"])
        if monotonic() > ends:
            return None
        sleep(0.05)


def _count_outcome(campaign: Campaign, key: str) -> Outcome:
    begun, at = perf_counter(), timezone.now()
    with one_moment():
        derived = selectors.derived(campaign)
    counted = Outcome(
        at=at,
        pools=derived.single + sum(derived.deadlocks.values()) + len(derived.incomplete),
        single=derived.single,
        deadlocks=sorted(derived.deadlocks.items()),
        incomplete=len(derived.incomplete),
    )
    seconds = perf_counter() - begun
    if seconds > SLOW_SECONDS:
        known = {"outcome": counted._asdict(), "fresh until": time() + seconds * REST_FACTOR}
        cache.set(key, known, timeout=KEPT_SECONDS)
    return counted
