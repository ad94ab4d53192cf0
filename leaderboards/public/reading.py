"""A board as anybody may see it. The embargo is applied here, and whatever is public is made from what this gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from django.db.models import Prefetch, Q

from evaluation.boards import entries as board_entries
from evaluation.boards.checking import COSTS, HARDWARE, plain_cost
from evaluation.boards.entries import Entry, Mark, ordered, ranks, rounded
from leaderboards.models import Board, Part, PolicyVersion, Score, Season, SeasonCheck, Submission
from leaderboards.selectors import root

ANONYMOUS = "Anonymous"
LEVEL = 0.05  # of p, below which one entry is significantly better than another
FLAG_UNDER_EMBARGO = "the organizers’ reason is shown when the embargo ends"
WITHDRAWN = "Withdrawn"
POST_HOC = "After the season ended"


@dataclass(frozen=True)
class Shown:
    """An entry as anybody may see it.

    `id` is random and stays; `run_id` and everything that says whose it is are empty, or Anonymous, under embargo.
    `team` is the team as the organizers confirmed it, and `named` what its metadata say of whose it is, where that says
    something else; of an imported entry `team` is what was published.
    `dev`, `eval`: scores in their printed places, None where there is none or none is shown. `gains_nothing`: the
    release rule shows no score, and `repeats` is the id of the entry that it is no gain over, unless an embargo
    hides whose either is. `rank` is 0 without one. `changed_at`: when what is shown of it last changed. `arrived`: when
    it came by the clock of this server, then its key; all that depends on order goes by it, and no page shows it.
    `variant_of`: the run from which it differs in small settings only, by its metadata; empty where either is hidden.
    `costs`: what its metadata tell of COSTS, as plain decimals, and of HARDWARE; none under embargo.
    `best_p`: of one that was the best when it came, p against the best before it, by part, as last found by
    leaderboards.season_checks.
    """

    id: str
    run_id: str
    season: str
    arrived: tuple[datetime, int]
    day: date
    type: str
    description: str
    team: str
    named: str
    paper: str
    code: str
    link: str
    variant_of: str
    costs: Mapping[str, str]
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
    best_p: Mapping[str, float] = field(default_factory=dict)

    @property
    def section(self) -> str:
        """Under what it is listed: empty for entries with a rank or a chance of one."""
        return WITHDRAWN if self.withdrawn_on else POST_HOC if self.is_post_hoc else ""

    @property
    def verdict(self) -> str:
        """Whether a new best was significantly better than the one before it; empty where that is not known."""
        parts = [
            f"{'significant' if p < LEVEL else 'not significant'} on {part} (p = {p:.3f})"
            for part, p in self.best_p.items()
        ]
        return ", ".join(parts)

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
        return next((entry for entry in self.entries if entry.id == public_id), None)


def matching(board: Published, text: str) -> list[Shown]:
    """The entry that goes by an id, whatever its case; else those with the text in run id, description or team."""
    word = text.casefold()
    exact = [entry for entry in board.entries if word in (entry.id, entry.run_id.casefold())]
    return exact or [
        entry for entry in board.entries if word in f"{entry.run_id}\n{entry.description}\n{entry.team}".casefold()
    ]


def printed(score: Fraction | None) -> str:
    """A score in three places, half up; nothing for none."""
    return "" if score is None else str(rounded(score))


def published(board: Board, at: datetime, *, season: Season | None = None) -> Published:
    """The board at a moment, with the entries of one season if one is given: five queries, however many there are."""
    measure = board.ranking_measure
    rows = (
        board.submissions.filter(Q(state="published") | Q(state="withdrawn", published_at__isnull=False))
        .select_related("season", "release__reference", "team__merged_into__merged_into")
        .prefetch_related(
            Prefetch(
                "scores", Score.objects.filter(measure=measure, version=None).order_by("pk"), to_attr="shown_scores"
            )
        )
        .order_by("arrived_at", "pk")
    )
    if season is not None:
        rows = rows.filter(season=season)
    seasons = list(board.seasons.filter(opens_at__lte=at).select_related("check_of_entries").order_by("-number"))
    best_p = {key: p_values for each in seasons for key, p_values in _bests(each).items()}
    arrived = _without_hidden([_shown(row, at) for row in rows], {row.run_id for row in rows if row.is_hidden(at)})
    entries = [entry for each in seasons for entry in _listed([row for row in arrived if row.season == each.name])]
    entries = [replace(row, best_p=best_p[row.id]) if row.mark and row.id in best_p else row for row in entries]
    policy = board.policy_at(at)
    waiting = board.submissions.filter(state="waiting").select_related("policy")
    overdue = sum(row.promised_at is not None and row.promised_at <= at for row in waiting)
    return Published(board, at, policy, seasons, entries, overdue)


def _bests(season: Season) -> dict[str, dict[str, float]]:
    check: SeasonCheck | None = getattr(season, "check_of_entries", None)
    return check.bests if check is not None else {}


def _without_hidden(entries: list[Shown], hidden: Collection[str]) -> list[Shown]:
    """The same, where none says that it is a variant of a run that is under embargo: its id is not to be known."""
    secret = {run_id.casefold() for run_id in hidden}
    return [replace(entry, variant_of="") if entry.variant_of.casefold() in secret else entry for entry in entries]


def bests(entries: Iterable[Shown]) -> list[Shown]:
    """The entries of a season that were the best when they came, by printed eval score, in order of arrival.

    Baselines and entries that were withdrawn later count; what came after the season ended does not.
    """
    arrived = {entry.id: entry for entry in sorted(entries, key=lambda entry: entry.arrived) if not entry.is_post_hoc}
    return [arrived[entry.key] for entry in board_entries.bests(map(_entry, arrived.values()))]


def other_dev_scores(board: Published, entry: Shown) -> list[tuple[str, str]]:
    """The entry's dev scores by the board's other measures, in the board's order. Those on eval are nobody's to see."""
    rows = Score.objects.filter(
        submission__board=board.board, submission__public_id=entry.id, part=Part.DEV, version=None,
        origin=Score.Origin.COMPUTED, measure__in=board.board.measures[1:],
    )  # fmt: skip
    fractions = dict(rows.values_list("measure", "fraction"))
    return [(name, printed(Fraction(fractions[name]))) for name in board.board.measures[1:] if fractions.get(name)]


class GroupScores(NamedTuple):
    """A group of dev queries, how many it has, and the printed mean of each entry on it (empty where it has none)."""

    group: str
    queries: int
    scores: tuple[str, ...]


def dev_groups(board: Published, *entries: Shown) -> list[GroupScores]:
    """How entries of a season do on the groups of its dev queries by the ranking measure: the first entry's worst group
    first, equal ones by name. Empty without entries, and where the season has no groups. One query.
    """
    rows = Score.objects.filter(
        submission__board=board.board, submission__public_id__in=[entry.id for entry in entries], part=Part.DEV,
        version=None, origin=Score.Origin.COMPUTED, measure=board.board.ranking_measure,
    )  # fmt: skip
    by_id = dict(rows.values_list("submission__public_id", "groups"))
    all_groups = [by_id.get(entry.id, {}) for entry in entries]
    counts = {group: score["queries"] for groups in all_groups for group, score in groups.items()}

    if not entries:
        return []

    def key(group: str) -> tuple[float, str]:
        return (float(Fraction(all_groups[0][group]["fraction"])) if group in all_groups[0] else math.inf, group)

    return [
        GroupScores(
            group,
            counts[group],
            tuple(printed(Fraction(groups[group]["fraction"])) if group in groups else "" for groups in all_groups),
        )
        for group in sorted(counts, key=key)
    ]


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
    team = row.team_words if row.team is None else str(root(row.team))
    return Shown(
        id=row.public_id,
        run_id="" if hidden else row.run_id,
        season=row.season.name,
        arrived=(row.arrived_at, row.pk),
        day=row.arrived_at.astimezone(UTC).date(),
        type=row.type,
        description=ANONYMOUS if hidden else row.description,
        team=ANONYMOUS if hidden else team,
        named="" if hidden or row.team_words == team else row.team_words,
        paper="" if hidden else row.paper,
        code="" if hidden else row.code,
        link="" if hidden else row.link,
        variant_of="" if hidden else _text_of(row.metadata, "variant_of"),
        costs={} if hidden else _costs(row.metadata),
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


def _text_of(metadata: Mapping[str, object], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _costs(metadata: Mapping[str, object]) -> dict[str, str]:
    costs = {name: plain_cost(metadata.get(name)) for name in (*COSTS, *HARDWARE)}
    return {
        name: text for name, text in costs.items() if text and (name in HARDWARE or not isinstance(metadata[name], str))
    }


def _listed(arrived: list[Shown]) -> list[Shown]:
    """One season's entries with marks and ranks, as the board lists them: ranked, unscored, post-hoc, withdrawn.

    A withdrawn entry has no rank, and nobody's trophy changes by it.
    """
    plain = {entry.id: _entry(entry) for entry in arrived}
    earned = {entry.id for entry in bests(arrived) if entry.mark != "baseline"}
    by_id = {entry.id: replace(entry, mark="trophy") if entry.id in earned else entry for entry in arrived}
    ranked = [entry for entry in by_id.values() if not entry.section]
    places = ranks(plain[entry.id] for entry in ranked)
    shared = Counter(places.values())
    for entry in ranked:
        place = places.get(entry.id, 0)
        by_id[entry.id] = replace(entry, rank=place, is_tied=shared[place] > 1)
    entries: list[Shown] = []
    for section in ("", POST_HOC, WITHDRAWN):
        together = [plain[entry.id] for entry in by_id.values() if entry.section == section]
        entries += [by_id[entry.key] for entry in ordered(together)]
    return entries


def _entry(entry: Shown) -> Entry:
    mark: Mark = "baseline" if entry.mark == "baseline" else ""
    return Entry(key=entry.id, date=entry.day, mark=mark, dev=entry.dev, eval=entry.eval, repeats=entry.repeats)
