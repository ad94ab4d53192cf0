"""A board as anybody may see it. Whatever is public is made from what this gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from django.db.models import Prefetch, Q

from evaluation.boards import entries as board_entries
from evaluation.boards.entries import Entry, Mark, ordered, ranks, rounded
from leaderboards.models import Board, Part, PolicyVersion, Score, Season, SeasonCheck
from leaderboards.public.embargo import POST_HOC, WITHDRAWN, Shown, shown, without_hidden


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
    arrived = without_hidden([shown(row, at) for row in rows], {row.run_id for row in rows if row.is_hidden(at)})
    entries = [entry for each in seasons for entry in _listed([row for row in arrived if row.season == each.name])]
    entries = [replace(row, best_p=best_p[row.id]) if row.mark and row.id in best_p else row for row in entries]
    policy = board.policy_at(at)
    waiting = board.submissions.filter(state="waiting").select_related("policy")
    overdue = sum(row.promised_at is not None and row.promised_at <= at for row in waiting)
    return Published(board, at, policy, seasons, entries, overdue)


def _bests(season: Season) -> dict[str, dict[str, float]]:
    check: SeasonCheck | None = getattr(season, "check_of_entries", None)
    return check.bests if check is not None else {}


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
