"""A board over the tests' small collection, with entries that have runs: for tests of its upkeep."""

from collections.abc import Iterable, Mapping

from django.core.files.base import ContentFile
from django.utils import timezone

from campaigns.templating import template_create
from core.models import User
from evaluation.files.artifact import RunArtifact
from evaluation.files.runs import check_run
from leaderboards import artifacts
from leaderboards.models import Board, Part, PolicyVersion, Release, Season, SeasonFile, Submission, Team, Upkeep
from leaderboards.upkeep import rounds
from pools.models import Campaign
from runs.models import Collection

DEV, EVAL = ("q1", "q2", "q3"), ("q4",)


def board(collection: Collection, slug: str = "small", **fields: object) -> Board:
    """A public board whose dev queries are q1 to q3, and whose eval query is q4."""
    now = timezone.now()
    row = Board.objects.create(
        lab=collection.lab, collection=collection, slug=slug, name=f"The {slug} board", measures=["RR@10"], hits=10,
        types=["full ranking"], created_at=now, **({"is_public": True} | fields),
    )  # fmt: skip
    PolicyVersion.objects.create(
        board=row, number=1, text="Two runs a month.", begins_at=now, made_at=now, quota_runs=2, quota_days=30,
        embargo_months=9, promised_days=7, alike_threshold="0.95", release_rule="plain",
    )  # fmt: skip
    season = Season.objects.create(board=row, number=1, name="One", opens_at=now)
    for part, qids in ((SeasonFile.Part.DEV_QUERIES, DEV), (SeasonFile.Part.EVAL_QUERIES, EVAL)):
        text = "".join(f"{qid}\tquestion {qid}\n" for qid in qids)
        file = ContentFile(text.encode(), name=f"{part}.tsv")
        SeasonFile.objects.create(
            season=season, part=part, file=file, name=f"{part}.tsv", size=len(text), sha256="0" * 64, added_at=now
        )
    return row


def run_of(ranked: Mapping[str, Iterable[str]]) -> RunArtifact:
    """A run from ranked passages by query."""
    lines = ((qid, pid, rank) for qid, pids in ranked.items() for rank, pid in enumerate(pids, 1))
    rows = (f"{qid} Q0 {pid} {rank} {1000 - rank} run\n" for qid, pid, rank in lines)
    check = check_run(ContentFile("".join(rows).encode()), name="run", depth=1000)
    assert check.artifact is not None
    return check.artifact


def entry(of: Board, name: str, ranked: Mapping[str, Iterable[str]], *, eval_shown: bool = True) -> Submission:
    """A published entry with a dev and an eval run; a team of its own."""
    now, season, policy = timezone.now(), of.seasons.get(), of.policies.get()
    team = Team.objects.create(lab=of.lab, organization=f"{name} university", group=name, created_at=now)
    row = Submission.objects.create(
        board=of, season=season, policy=policy, team=team, run_id=f"20261101-{name}", arrived_at=now,
        state=Submission.State.PUBLISHED, published_at=now, type="full ranking", team_words=f"Team {name}",
        description=f"System {name}",
    )  # fmt: skip
    for part, qids in ((Part.DEV, DEV), (Part.EVAL, EVAL)):
        part_pids = {qid: pids for qid, pids in ranked.items() if qid in qids}
        if part_pids:
            artifacts.write(submission=row, part=part, run=run_of(part_pids), at=now)
    if eval_shown:
        Release.objects.create(
            submission=row, is_shown=True, fraction="1/2", rule="plain", why="Every score is shown.", policy=policy,
            at=now,
        )  # fmt: skip
    return row


def turn_on(of: Board, source: Campaign, by: User, **fields: object) -> Upkeep:
    """Upkeep with a template of its own and the test pairs of a campaign; every challenger at once."""
    now = timezone.now()
    template = template_create(
        lab=of.lab, name=f"upkeep of {of.slug}", values={"pairs_per_hit": 3, "tests_per_hit": 2, "confirmations": 1},
        consent="", terms=None, by=by, at=now,
    )  # fmt: skip
    settings = {"is_on": True, "template": template, "tests_from": source, "fewest": 1, "every_days": 0}
    return rounds.upkeep_set(board=of, by=by, at=now, **(settings | fields))


def make_due(of: Board) -> None:
    """Let what rests be tried again now."""
    of.upkeep_rounds.update(retry_at=None)
