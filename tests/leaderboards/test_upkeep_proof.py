"""The whole loop on whole runs: twelve submissions, a crowd that judges by an oracle, and a tournament from scratch."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from core.models import Lab, User
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels, read_qrels
from evaluation.files.runs import check_run
from evaluation.files.texts import read_passages
from evaluation.judging.equal_texts import normalize_text
from evaluation.judging.pooling import Tops, all_pairs, pool_queries
from evaluation.judging.tournament import derive
from evaluation.statistics.ranks import Board as Ranking
from leaderboards import artifacts
from leaderboards.models import Board, Challenger, Part, Score, SeasonFile, UpkeepRound
from leaderboards.upkeep import jobs
from leaderboards.upkeep.rescoring import season_queries
from pools import selectors as pool_selectors
from pools.models import Campaign
from results import versions
from runs import services as run_services
from runs.models import Collection
from tasks import services as task_services
from tests import factories
from tests.judgments.judged import judge_all
from tests.leaderboards import upkept
from tests.real_data import COLLECTIONS

FIRST = 4
LIMIT, EACH = 0.18, 0.03  # of the pairs that the submissions add to the pools, and of all pairs: what is asked


class Oracle:
    """Prefers the text of the higher grade, then that of the smaller id: transitive, whatever ids a text has."""

    def __init__(self, data: Path) -> None:
        texts = {passage.id: normalize_text(passage.text) for passage in read_passages(data / "passages.tsv.gz")}
        alike: dict[str, list[str]] = {}
        for pid, text in sorted(texts.items()):
            alike.setdefault(text, []).append(pid)
        self.twins = {pid: tuple(alike[text]) for pid, text in texts.items()}
        self.grades = read_qrels(data / "qrels.txt.gz").grades

    def key(self, qid: str, pid: str) -> tuple[int, str]:
        """Smaller is better."""
        grades = self.grades.get(qid, {})
        return min(-grades.get(twin, 0) for twin in self.twins[pid]), self.twins[pid][0]

    def judge(self, pools: dict[str, tuple[str, ...]]) -> list[Preference]:
        """Every two passages of the pools that are not one text."""
        return [
            Preference(qid, a, b, a if self.key(qid, a) < self.key(qid, b) else b)
            for query, pool in pools.items()
            for qid, a, b in all_pairs(query, pool)
            if self.twins[a] != self.twins[b]
        ]

    def from_scratch(self, tops: list[Tops], qrels: Qrels) -> dict[str, tuple[str, ...]]:
        """The winners of tournaments over all tops, by each id of their texts."""
        pools = {
            qid: tuple(sorted({self.twins[pid][0] for pid in pool})) for qid, pool in pool_queries(tops, qrels).items()
        }
        return {qid: self.twins[pid] for qid, pid in derive(pools, self.judge(pools)).qrels}


def _half(data: Path, folder: Path) -> Path:
    """A folder with every second query, and its qrels: those on which submissions replace more answers."""
    queries = (data / "queries.tsv").read_text().splitlines(keepends=True)[1::2]
    qids = {line.split("\t")[0] for line in queries}
    judged = (data / "sparse-qrels.txt").read_text().splitlines(keepends=True)
    (folder / "queries.tsv").write_text("".join(queries))
    (folder / "sparse-qrels.txt").write_text("".join(line for line in judged if line.split()[0] in qids))
    return folder


def _collection(data: Path, half: Path, lab: Lab, runs: list[Path]) -> Collection:
    collection = run_services.collection_import(
        lab=lab, name="DL 2021", language="en", queries=half / "queries.tsv", qrels=half / "sparse-qrels.txt",
        passages=data / "passages.tsv.gz", keep="all",
    ).collection  # fmt: skip
    for path in runs:
        with path.open("rb") as file:
            run_services.run_import(collection=collection, name=path.name, source=file, filename=path.name)
    return collection


def _board(half: Path, collection: Collection) -> Board:
    """Of the queries, every second one is of dev, and the others are of eval."""
    board = upkept.board(collection)
    lines = (half / "queries.tsv").read_bytes().splitlines(keepends=True)
    for first, part in enumerate((SeasonFile.Part.DEV_QUERIES, SeasonFile.Part.EVAL_QUERIES)):
        row = board.seasons.get().files.get(part=part)
        row.file.save(f"{part}.tsv", ContentFile(b"".join(lines[first::2])))
    return board


def weakest_first(runs: list[Path]) -> list[Path]:
    """As a field improves."""
    return runs


def mixed(runs: list[Path]) -> list[Path]:
    """In any order."""
    return Random(3).sample(runs, len(runs))


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("data", "ordered"),
    [("made-up", mixed), *((name, weakest_first) for name in COLLECTIONS if name != "made-up")],
    indirect=["data"],
)
def test_after_every_submission_the_answers_are_those_of_a_tournament_held_from_scratch(
    data: Path, lab: Lab, rita: User, ordered: Callable[[list[Path]], list[Path]], tmp_path: Path
) -> None:
    half = _half(data, tmp_path)
    qrels, oracle = read_qrels(half / "sparse-qrels.txt"), Oracle(data)
    runs = {
        path: check.artifact for path in sorted((data / "runs").glob("*.gz")) if (check := check_run(path)).artifact
    }
    ranking = Ranking({str(path): run for path, run in runs.items() if run}, 10, "rank")
    means = ranking.ranks(read_qrels(data / "sparse-qrels.txt")).means()
    weakest = sorted(runs, key=lambda path: means[str(path)])
    weakest[FIRST:] = ordered(weakest[FIRST:])
    collection = _collection(data, half, lab, weakest[:FIRST])
    tops: list[Tops] = [run.top("rank") for path in weakest[:FIRST] if (run := runs[path])]
    everything = pool_queries([run.top("rank") for run in runs.values() if run], qrels)
    crowd = oracle.judge(everything)

    first = factories.campaign(collection, "first", order="rank")
    judge_all(first, crowd)
    versions.version_add(campaign=first, why="The four weaker runs.", by=rita, at=timezone.now())
    counts, before = [first.pair_count], oracle.from_scratch(tops, qrels)
    board = _board(half, collection)
    upkept.turn_on(board, first, rita, runs_itself=True, covers_eval=True)
    halves = {part: season_queries(board.seasons.get(), part) for part in Part}
    assert min(map(len, halves.values())) > 12
    for number, path in enumerate(weakest[FIRST:], 1):
        run = runs[path]
        assert run is not None
        tops.append(run.top("rank"))
        submission = upkept.entry(board, f"run-{number}", {})
        for part in Part:  # what a run has of other queries is not the board's
            artifacts.write(submission=submission, part=part, run=run, at=timezone.now())
        counts.append(_keep_up(board, crowd))
        newest = pool_selectors.newest_version(collection)
        assert pool_selectors.version_answers(newest) == oracle.from_scratch(tops, qrels), path.name
    assert before != oracle.from_scratch(tops, qrels), "no answer was replaced"
    assert not board.challengers.filter(outcome=Challenger.Outcome.OPEN).exists()
    jobs.keep_up()
    # Re-scoring is exact: the newest version scores all entries as qrels from scratch do, on dev and on eval.
    answers = oracle.from_scratch(tops, qrels)
    for part, queries in halves.items():
        scratch = Qrels({qid: dict.fromkeys(pids, 1) for qid, pids in answers.items() if qid in queries})
        rows = Score.objects.filter(
            submission__board=board, version=pool_selectors.newest_version(collection), part=part
        )
        assert [Fraction(row.fraction) for row in rows.order_by("submission__arrived_at")] == [
            _by_hand(runs[path], scratch) for path in weakest[FIRST:]
        ]
    # Of the pairs that the twelve add to a tournament, and of all pairs of the sixteen runs' pools: a small share.
    every = sum(len(pool) * (len(pool) - 1) // 2 for pool in everything.values())
    print([round(sum(counts[1:number]) / (every - counts[0]), 3) for number in range(2, len(counts) + 1)])
    assert sum(counts[1:]) < LIMIT * (every - counts[0]) and max(counts[1:]) < EACH * every


def _by_hand(run: RunArtifact | None, answers: Qrels) -> Fraction:
    """The mean of RR@10 over the queries of the answers, walked list by list."""
    assert run is not None
    top, total = run.top("rank", 10), Fraction()
    for qid, grades in answers.grades.items():
        places = [place for place, pid in enumerate(top.get(qid, ()), 1) if grades.get(pid)]
        total += Fraction(1, places[0]) if places else 0
    return total / len(answers.grades)


def _keep_up(board: Board, crowd: list[Preference]) -> int:
    """Let the jobs and the crowd work until nothing waits. How many pairs were asked about."""
    count = 0
    for _time in range(40):
        jobs.keep_up()
        for campaign in Campaign.objects.filter(state=Campaign.State.PACKING):
            task_services.campaign_pack(campaign_id=campaign.pk)
        round = board.upkeep_rounds.order_by("-number").first()
        if round is not None and round.state == UpkeepRound.State.JUDGING and round.campaign is not None:
            campaign = round.campaign
            if campaign.hits.filter(needed__gt=0).exists():
                count += campaign.pair_count - campaign.reused_pair_count
                judge_all(campaign, crowd)
        elif not board.challengers.filter(outcome="").exists():
            return count
    raise AssertionError(f"still going on: {round}, {round.obstacle if round else ''}")
