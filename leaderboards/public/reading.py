"""A board as anybody may see it. The embargo is applied here, and whatever is public is made from what this gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from django.db.models import Prefetch, Q

from evaluation.boards.entries import Entry, Mark, ordered, ranks, rounded, trophies
from leaderboards.models import Board, Part, PolicyVersion, Score, Season, Submission

ANONYMOUS = "Anonymous"
FLAG_UNDER_EMBARGO = "the organizers’ reason is shown when the embargo ends"
WITHDRAWN = "Withdrawn"
POST_HOC = "After the season ended"


@dataclass(frozen=True)
class Shown:
    """An entry as anybody may see it.

    `id` is random and stays; `run_id` and everything that says whose it is are empty, or Anonymous, under embargo.
    `dev`, `eval`: scores in their printed places, None where there is none or none is shown. `gains_nothing`: the
    release rule shows no score, and `repeats` is the id of its team's entry that it is no gain over, unless an embargo
    hides whose either is. `rank` is 0 without one. `changed_at`: when what is shown of it last changed.
    """

    id: str
    run_id: str
    season: str
    day: date
    type: str
    description: str
    team: str
    paper: str
    code: str
    link: str
    flag: str
    mark: str
    rank: int
    is_tied: bool
    dev: Decimal | None
    eval: Decimal | None
    gains_nothing: bool
    repeats: str
    is_hidden: bool
    is_imported: bool
    has_run: bool
    is_post_hoc: bool
    withdrawn_on: date | None
    published_at: datetime
    changed_at: datetime

    @property
    def section(self) -> str:
        """Under what it is listed: empty for entries with a rank or a chance of one."""
        return WITHDRAWN if self.withdrawn_on else POST_HOC if self.is_post_hoc else ""

    @property
    def printed_dev(self) -> str:
        """The dev score in three places, or nothing."""
        return "" if self.dev is None else str(self.dev)

    @property
    def printed_eval(self) -> str:
        """The eval score in three places, or nothing."""
        return "" if self.eval is None else str(self.eval)


@dataclass(frozen=True)
class Published:
    """A board at a moment: its policy then, its seasons (newest first), and its entries in the order it lists them.

    `overdue` is how many submissions wait for the organizers for longer than was promised.
    """

    board: Board
    at: datetime
    policy: PolicyVersion
    seasons: list[Season]
    entries: list[Shown]
    overdue: int

    def of_season(self, name: str) -> list[Shown]:
        """The entries of one season, in the board's order."""
        return [entry for entry in self.entries if entry.season == name]

    def entry(self, public_id: str) -> Shown | None:
        """One entry by its public id."""
        return next((entry for entry in self.entries if entry.id == public_id), None)


def printed(score: Fraction | None) -> str:
    """A score in three places, half up; nothing for none."""
    return "" if score is None else str(rounded(score))


def published(board: Board, at: datetime) -> Published:
    """The board at a moment: five queries, however many entries there are."""
    measure = board.ranking_measure
    rows = (
        board.submissions.filter(Q(state="published") | Q(state="withdrawn", published_at__isnull=False))
        .select_related("season", "release__reference")
        .prefetch_related(
            Prefetch(
                "scores", Score.objects.filter(measure=measure, version=None).order_by("pk"), to_attr="shown_scores"
            )
        )
        .order_by("arrived_at", "pk")
    )
    seasons = list(board.seasons.filter(opens_at__lte=at).order_by("-number"))
    arrived = [_shown(row, at) for row in rows]
    entries = [entry for season in seasons for entry in _listed([one for one in arrived if one.season == season.name])]
    policy = board.policy_at(at)
    waiting = board.submissions.filter(state="waiting").select_related("policy")
    overdue = sum(row.promised_at is not None and row.promised_at <= at for row in waiting)
    return Published(board, at, policy, seasons, entries, overdue)


def _shown(row: Submission, at: datetime) -> Shown:
    hidden = row.is_hidden(at)
    scores: dict[str, Decimal] = {}
    for score in row.shown_scores:  # type: ignore[attr-defined]
        is_wanted = score.origin == ("published" if row.origin == "imported" else "computed")
        if score.fraction and (is_wanted or score.part not in scores):
            scores[score.part] = rounded(Fraction(score.fraction))
    release = getattr(row, "release", None)
    shown_eval = scores.get(Part.EVAL) if row.origin == "imported" else None
    if release is not None:
        shown_eval = rounded(Fraction(release.fraction)) if release.is_shown else None
    gains_nothing = release is not None and not release.is_shown
    reference = release.reference if release is not None and gains_nothing else None
    assert row.published_at is not None
    changed = [row.published_at, *filter(None, [row.withdrawn_at])]
    if row.embargo_until and not hidden:
        changed.append(datetime(row.embargo_until.year, row.embargo_until.month, row.embargo_until.day, tzinfo=UTC))
    closes_at = row.season.closes_at
    return Shown(
        id=row.public_id,
        run_id="" if hidden else row.run_id,
        season=row.season.name,
        day=row.arrived_at.astimezone(UTC).date(),
        type=row.type,
        description=ANONYMOUS if hidden else row.description,
        team=ANONYMOUS if hidden else row.team_words,
        paper="" if hidden else row.paper,
        code="" if hidden else row.code,
        link="" if hidden else row.link,
        flag=FLAG_UNDER_EMBARGO if hidden and row.flag else row.flag,
        mark="baseline" if row.is_baseline else "",
        rank=0,
        is_tied=False,
        dev=scores.get(Part.DEV),
        eval=shown_eval,
        gains_nothing=gains_nothing,
        repeats="" if reference is None or hidden or reference.is_hidden(at) else reference.public_id,
        is_hidden=hidden,
        is_imported=row.origin == "imported",
        has_run=bool(row.package_sha256),
        is_post_hoc=closes_at is not None and row.arrived_at >= closes_at,
        withdrawn_on=row.withdrawn_at.astimezone(UTC).date() if row.withdrawn_at else None,
        published_at=row.published_at,
        changed_at=max(changed),
    )


def _listed(arrived: list[Shown]) -> list[Shown]:
    """One season's entries with marks and ranks, as the board lists them: ranked, unscored, post-hoc, withdrawn.

    A withdrawn entry has no rank, and nobody's trophy changes by it.
    """
    plain = {one.id: _entry(one) for one in arrived}
    earned = trophies(plain[one.id] for one in arrived if not one.is_post_hoc)
    shown = {one.id: replace(one, mark="trophy") if one.id in earned else one for one in arrived}
    ranked = [one for one in shown.values() if not one.section]
    places = ranks(plain[one.id] for one in ranked)
    shared = Counter(places.values())
    for one in ranked:
        place = places.get(one.id, 0)
        shown[one.id] = replace(one, rank=place, is_tied=shared[place] > 1)
    listed: list[Shown] = []
    for section in ("", POST_HOC, WITHDRAWN):
        together = [plain[one.id] for one in shown.values() if one.section == section]
        listed += [shown[entry.key] for entry in ordered(together)]
    return listed


def _entry(one: Shown) -> Entry:
    mark: Mark = "baseline" if one.mark == "baseline" else ""
    return Entry(key=one.id, date=one.day, mark=mark, dev=one.dev, eval=one.eval, repeats=one.repeats)
