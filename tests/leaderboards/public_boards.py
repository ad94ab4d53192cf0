"""Small public boards for tests, made of rows alone."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from evaluation.boards.checking import COSTS
from leaderboards.artifacts import per_query_file
from leaderboards.models import Board, PolicyVersion, Release, Score, Season, Submission, Team
from runs.models import Collection

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
OPENED = NOW - timedelta(days=400)


def public_board(collection: Collection, *, slug: str = "small", rule: str = "ladder") -> Board:
    """A public board with a policy and a season that is open, without entries."""
    board = Board.objects.create(
        lab=collection.lab, collection=collection, slug=slug, name=f"Board {slug}", about="What it measures & why.",
        measures=["RR@10"], hits=100, types=["full ranking", "reranking"], created_at=OPENED, is_public=True,
    )  # fmt: skip
    PolicyVersion.objects.create(
        board=board, number=1, text="Be fair.", begins_at=OPENED, made_at=OPENED, quota_runs=2, quota_days=30,
        embargo_months=9, promised_days=14, alike_threshold="0.95", release_rule=rule,
    )  # fmt: skip
    Season.objects.create(board=board, number=1, name="First", opens_at=OPENED)
    return board


def team(board: Board, group: str = "IR") -> Team:
    """A team of Example University."""
    row, _new = Team.objects.get_or_create(
        lab=board.lab, organization="Example University", group=group, defaults={"created_at": OPENED}
    )
    return row


def entry(
    board: Board,
    name: str,
    *,
    on: date,
    dev: str = "",
    eval: str = "",
    gains: bool = True,
    reference: Submission | None = None,
    season: Season | None = None,
    per_query: Sequence[float] = (),
    parts: Sequence[str] = ("dev",),
    **fields: Any,
) -> Submission:
    """A published entry with its exact scores, such as `1/3`. One that gains nothing shows none of eval.

    `per_query` are those of the parts named. It is released by the rule of the board's newest policy.
    """
    arrived = fields.pop("arrived_at", datetime(on.year, on.month, on.day, 9, tzinfo=UTC))
    values: dict[str, Any] = {
        "team": team(board), "policy": board.policies.earliest("number"), "state": "published", "published_at": arrived,
        "type": "full ranking", "team_words": "IR, Example University", "description": f"System {name}",
        "package_sha256": f"{board.pk}-{name}", "paper": "https://example.org/paper", "code": "https://example.org/code",
    }  # fmt: skip
    row = Submission.objects.create(
        board=board, season=season or board.seasons.earliest("number"), run_id=f"{on:%Y%m%d}-{name}",
        arrived_at=arrived, **(values | fields),
    )  # fmt: skip
    for part, score in (("dev", dev), ("eval", eval)):
        if score:
            Score.objects.create(
                submission=row, part=part, measure="RR@10", fraction=score, value=float(Fraction(score)),
                scored_at=arrived, origin="published" if row.origin == "imported" else "computed",
                per_query=per_query_file(np.array(per_query)) if per_query and part in parts else "",
            )  # fmt: skip
    if eval and row.origin != "imported":
        Release.objects.create(
            submission=row, is_shown=gains, fraction=eval if gains else "", why="", at=arrived,
            reference=reference, policy=(policy := board.policies.latest("number")), rule=policy.release_rule,
        )  # fmt: skip
    return row


def filled(collection: Collection, count: int = 160) -> Board:
    """A board with so many entries of forty teams, as long as those of MS MARCO, with links, ties and trophies."""
    board = public_board(collection, slug="large")
    policy, season = board.policies.get(), board.seasons.get()
    days = [OPENED + timedelta(days=2 * number) for number in range(count)]
    rows = Submission.objects.bulk_create(
        Submission(
            board=board, season=season, run_id=f"{day:%Y%m%d}-entry{number}", origin="imported", policy=policy,
            arrived_at=day, published_at=day, state="published", type=board.types[number % 3 == 0],
            team_words=f"Ada Example and Ben Sample {number % 40} - Example University of Somewhere",
            description=f"Dense retrieval with a reranker of {number} million parameters (ensemble)",
            paper=f"https://arxiv.org/pdf/2104.{number:05}.pdf", code=f"https://github.com/example/ranker-{number}",
            is_baseline=number % 50 == 0, metadata=dict.fromkeys(COSTS, 1e6 * number),
        )
        for number, day in enumerate(days)
    )  # fmt: skip
    Score.objects.bulk_create(
        Score(
            submission=row, part=part, measure="RR@10", fraction=score, value=float(score), scored_at=row.arrived_at,
            origin="published",
        )
        for row, scores in zip(rows, _scores(count), strict=True)
        for part, score in zip(("dev", "eval"), scores, strict=True)
    )  # fmt: skip
    return board


def _scores(count: int) -> Sequence[tuple[str, str]]:
    """Scores that rise, with setbacks and ties."""
    return [
        (f"{0.25 + number * 0.001 - number % 7 * 0.01:.3f}", f"{0.24 + number * 0.001 - number % 5 * 0.012:.3f}")
        for number in range(count)
    ]
