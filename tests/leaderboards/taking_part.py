"""A small board for tests: four queries of dev and of eval, two teams, and runs that find what they are told to."""

import bz2
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from core.models import User
from evaluation.boards.sealing import seal
from leaderboards import boards, evaluating, publishing, submitting, teams
from leaderboards.models import Board, Season, Submission, Team
from runs.models import Collection

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
DEV = {f"d{number}": f"dp{number}" for number in range(1, 5)}  # the relevant passage of each query
EVAL = {f"e{number}": f"ep{number}" for number in range(1, 5)}
METADATA = {"team": "Red of Example University", "model_description": "A red run", "type": "full ranking"}


def season_files() -> dict[str, tuple[str, bytes]]:
    """Queries and qrels of a season."""
    files = {}
    for half, relevant in (("dev", DEV), ("eval", EVAL)):
        queries = "".join(f"{query}\tquestion {query}\n" for query in relevant)
        qrels = "".join(f"{query} 0 {passage} 1\n" for query, passage in relevant.items())
        files[f"{half}_queries"] = (f"{half}-queries.tsv", queries.encode())
        files[f"{half}_qrels"] = (f"{half}-qrels.txt", qrels.encode())
    return files


def make(collection: Collection, by: User | None = None, at: datetime = NOW, **numbers: Any) -> Board:
    """A public board with a season that has just begun."""
    board = boards.board_create(
        lab=collection.lab, collection=collection, slug="small", name="Small board", measures=["RR@10"], hits=10,
        numbers=numbers, by=by, at=at,
    )  # fmt: skip
    season(board, "First", at)
    return boards.board_change(board=board, is_public=True)


def season(board: Board, name: str, at: datetime, closes_at: datetime | None = None) -> Season:
    return boards.season_add(board=board, name=name, opens_at=at, closes_at=closes_at, files=season_files(), at=at)


def team(board: Board, user: User, group: str = "Red", *, confirmed_by: User | None = None) -> Team:
    """A team of one, confirmed if somebody confirms it."""
    row = teams.team_found(
        board=board, organization="Example University", group=group, contributors="", by=user, at=NOW
    )
    if confirmed_by is None:
        return row
    return teams.team_confirm(team=row, board=board, reason="I know them", by=confirmed_by, at=NOW)


def run(relevant: Mapping[str, str], hits: int, at_rank: int = 1) -> str:
    """A run that has the relevant passage of its first `hits` queries at a rank, and others around it."""
    lines = []
    for number, (query, passage) in enumerate(relevant.items()):
        ranked = [f"x{query}-{rank}" for rank in range(1, 6)]
        if number < hits:
            ranked[at_rank - 1] = passage
        lines += [f"{query}\t{pid}\t{rank}\n" for rank, pid in enumerate(ranked, start=1)]
    return "".join(lines)


def package(board: Board, run_id: str, *, hits: int = 2, key: str = "", header: str = "", **metadata: str) -> bytes:
    """A sealed package; its run has as many answers in eval as in dev. `header` stands before its dev run."""
    files = {
        "metadata.json": json.dumps(METADATA | metadata).encode(),
        "dev.txt.bz2": bz2.compress(f"{header}{run(DEV, hits)}".encode()),
        "eval.txt.bz2": bz2.compress(run(EVAL, hits).encode()),
    }
    to = key or board.keys.get(retired_at=None).public_pem
    return seal(files, to=to, board=board.slug, run_id=run_id)


def send(
    board: Board, team: Team, by: User, name: str = "red", at: datetime = NOW, sealed: bytes | None = None, **how: Any
) -> Submission:
    """A run that is sent, and not evaluated."""
    run_id = f"{at:%Y%m%d}-{name}"
    return submitting.submission_send(
        board=board, team=team, run_id=run_id, package=sealed or package(board, run_id, **how),
        policy_number=board.policy_at(at).number, by=by, at=at,
    )  # fmt: skip


def evaluated(board: Board, team: Team, by: User, name: str = "red", at: datetime = NOW, **how: Any) -> Submission:
    """A run that is sent and evaluated, in a process of its own."""
    submission = send(board, team, by, name, at, **how)
    assert evaluating.submission_evaluate(submission_id=submission.pk, at=at)
    submission.refresh_from_db()
    return submission


def published(
    board: Board, team: Team, by: User, organizer: User, name: str = "red", at: datetime = NOW, **how: Any
) -> Submission:
    """A run that is sent, evaluated and published."""
    submission = evaluated(board, team, by, name, at, **how)
    publishing.submission_publish(submission=submission, reason="Fine", by=organizer, at=at)
    submission.refresh_from_db()
    return submission
