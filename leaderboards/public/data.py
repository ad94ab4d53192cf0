"""A public board as plain values: what its page, its archive and `docs/board_page.py` have in common."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from leaderboards.public import board_page
from leaderboards.public.reading import POST_HOC, WITHDRAWN, Published, Shown

FORMAT = 1
FIELDS = (
    *("season", "section", "rank", "mark", "id", "run", "date", "description", "team", "paper", "code", "type"),
    *("dev", "eval", "note", "origin", "link"),
)


def board_data(board: Published) -> dict[str, Any]:
    """What `board.json` holds: the board's settings, and all that its page says besides the entries."""
    row, policy = board.board, board.policy
    measure = row.ranking_measure
    links = [
        ["Over time", "time"], ["Compare two entries", "compare"], ["Versions of the qrels", "versions/"],
        ["Policy", "policy"], ["Files and numbers", "files"], ["Take part", f"/leaderboards/at/{row.slug}/"],
        ["News (Atom)", "feed.atom"], ["Embed", "embedding"], ["Everything as a zip", "board.zip"],
    ]  # fmt: skip
    seasons = [season.name for season in board.seasons] or [""]
    return {
        "format": FORMAT,
        "slug": row.slug,
        "name": row.name,
        "about": row.about,
        "measures": row.measures,
        "hits": row.hits,
        "order": row.order,
        "types": row.types,
        "policy": policy.number,
        "release_rule": policy.release_rule,
        "seasons": seasons,
        "sections": ["", POST_HOC, WITHDRAWN],
        "columns": [
            ["rank", "Rank"], ["mark", "Mark"], ["date", "Date"], ["description", "Description"], ["team", "Team"],
            ["paper", "Paper"], ["code", "Code"], ["type", "Type"],
            ["dev", f"{measure} dev"], ["eval", f"{measure} eval"],
        ],
        "filters": [
            ["type", "Type", [["", "all"], *([name, name] for name in row.types)]],
            ["mark", "Mark", [["", "any"], ["trophy", "best when it came"], ["baseline", "baseline"]]],
            *([["season", "Season", [[name, name] for name in seasons]]] if len(seasons) > 1 else []),
        ],
        "facts": facts(board),
        "links": links,
        "notes": notes(board),
    }  # fmt: skip


def facts(board: Published) -> list[list[str]]:
    """The head of the page. Teams are counted among entries that are not under embargo."""
    entries = [entry for entry in board.entries if not entry.withdrawn_on]
    changes = [entry.changed_at for entry in board.entries]
    found = [
        ["Open since", min((season.opens_at for season in board.seasons), default=board.board.created_at)],
        ["Entries", len(entries)],
        ["Teams", len({entry.team.casefold() for entry in entries if not entry.is_hidden})],
        ["Imported", sum(entry.is_imported for entry in entries)],
        ["Without runs", sum(not entry.has_run for entry in entries)],
        ["Under embargo", sum(entry.is_hidden for entry in entries)],
        ["Last activity", max(changes, default=board.board.created_at)],
    ]
    for type_ in board.board.types:
        best = best_of_type(board, type_)
        if best is not None:
            found.append([f"Best {type_}", best.printed_eval])
    if board.overdue:
        found.append(["Waiting longer than promised", board.overdue])
    return [[str(name), f"{value:%Y-%m-%d}" if hasattr(value, "strftime") else str(value)] for name, value in found]


def best_of_type(board: Published, type_: str) -> Shown | None:
    """The first entry with a rank of a type in the newest season."""
    newest = board.of_season(board.seasons[0].name) if board.seasons else []
    return next((entry for entry in newest if entry.type == type_ and entry.rank and entry.mark != "baseline"), None)


def notes(board: Published) -> list[str]:
    """What a reader must know to read the table."""
    order = {"rank": "by rank, with gaps closed", "score": "by score, ties by id as trec_eval does"}[board.board.order]
    said = [
        "🏆 best when it came, by the printed score; 🏛 the organizers’ baseline: a mark to beat, without 🏆.",
        "Scores are rounded half up to three places. Equal printed scores are a tie (=), listed in order of arrival.",
        f"{board.board.ranking_measure} of the first {board.board.hits} passages of each query, in order {order}; "
        "the mean is over all queries of the qrels.",
    ]
    if board.policy.release_rule != "plain":
        said.append(
            "The release rule shows a new score only where it is a gain over the team’s own best by more than chance "
            "explains; the policy says how."
        )
    if any(entry.is_imported for entry in board.entries):
        said.append("Scores of imported entries are as published; their level is not compared between dev and eval.")
    if any(entry.is_hidden for entry in board.entries):
        said.append("Anonymous entries are under an embargo, and are revealed by themselves when it ends.")
    return said


def entry_data(board: Published) -> list[dict[str, str]]:
    """What `entries.csv` holds: a line for each entry, in the board's order."""
    names = {entry.id: entry.run_id for entry in board.entries}
    return [
        {
            "season": entry.season,
            "section": entry.section,
            "rank": f"{entry.rank:>3}{'=' if entry.is_tied else ''}" if entry.rank else "",  # sorts as text, too
            "mark": entry.mark,
            "id": entry.id,
            "run": entry.run_id,
            "date": entry.day.isoformat(),
            "description": entry.description,
            "team": entry.team,
            "paper": entry.paper,
            "code": entry.code,
            "type": entry.type,
            "dev": entry.printed_dev,
            "eval": entry.printed_eval,
            "note": note(entry, names),
            "origin": "imported" if entry.is_imported else "",
            "link": entry.link,
        }
        for entry in board.entries
    ]


def note(entry: Shown, names: dict[str, str]) -> str:
    """What is said under an entry's description."""
    said = []
    if entry.gains_nothing:
        said.append(
            f"no gain over {names[entry.repeats]}" if entry.repeats in names else "no gain over its team’s best"
        )
    if entry.withdrawn_on:
        said.append(f"withdrawn on {entry.withdrawn_on}")
    if entry.flag:
        said.append(f"flagged: {entry.flag}")
    return "; ".join(said)


def board_json(board: Published) -> bytes:
    """`board.json`: the same board gives the same bytes."""
    return (json.dumps(board_data(board), ensure_ascii=False, indent=1) + "\n").encode()


def entries_csv(board: Published) -> bytes:
    """`entries.csv`: as `entry_data`, with a head."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(entry_data(board))
    return file.getvalue().encode()


def scores_text(board: Published, part: str) -> bytes:
    """Lines `run measure topic value` of all entries with a score, topic `all`, as AutoJudge has them.

    A run goes by its id, under embargo by its public one. Scores have three places: more would tell more of the qrels.
    """
    measure = board.board.ranking_measure
    scores = {
        entry.run_id or entry.id: entry.printed_dev if part == "dev" else entry.printed_eval for entry in board.entries
    }
    return "".join(f"{name} {measure} all {score}\n" for name, score in scores.items() if score).encode()


def content(board: Published, query: str) -> str:
    """What the board's page says, sorted and filtered as the query asks."""
    return board_page.content(board_data(board), entry_data(board), query)
