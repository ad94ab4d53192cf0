"""A public board as plain values: what its page, its archive and `docs/board_page.py` have in common."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

from evaluation.boards.checking import COSTS, HARDWARE
from leaderboards.public import board_page
from leaderboards.public.embargo import POST_HOC, WITHDRAWN, Shown
from leaderboards.public.published import Published

FORMAT = 1
AT_ONCE = 160  # entries on the page before somebody asks for the rest
FIELDS = (
    *("season", "section", "rank", "mark", "id", "run", "date", "description", "team", "paper", "code", "type"),
    *("dev", "eval", "note", "origin", "link", "named", "variant_of"),
    *COSTS,
    *HARDWARE,
)
# What costs are called, with their units, and the hardware that each was measured on.
COST_NAMES = {
    "parameters": "Parameters",
    "training_hours": "Training, hours",
    "query_latency_ms": "Latency, ms",
    "index_gigabytes": "Index, GB",
    "energy_kwh": "Energy, kWh",
}
ON = {"training_hours": ("training_hardware", "Trained on"), "query_latency_ms": ("query_hardware", "Measured on")}
ALL_COSTS = "costs"


def board_data(board: Published) -> dict[str, Any]:
    """What `board.json` holds: the board's settings, and all that its page says besides the entries."""
    row, policy = board.board, board.policy
    measure = row.ranking_measure
    seasons = [season.name for season in board.seasons] or [""]
    costs = costs_told(board)
    more = {name: [[name, COST_NAMES[name]], *([list(ON[name])] if name in ON else [])] for name in costs}
    choices = [["", "none"], [ALL_COSTS, "all"], *([name, COST_NAMES[name]] for name in costs)]
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
        "at_once": AT_ONCE,
        "columns": [
            ["rank", "Rank"], ["mark", "Mark"], ["date", "Date"], ["description", "Description"], ["team", "Team"],
            ["paper", "Paper"], ["code", "Code"], ["type", "Type"],
            ["dev", f"{measure} dev"], ["eval", f"{measure} eval"],
        ],
        "more": more | {ALL_COSTS: [column for columns in more.values() for column in columns]},
        "numbers": list(COSTS),
        "filters": [
            ["type", "Type", [["", "all"], *([name, name] for name in row.types)]],
            ["mark", "Mark", [["", "any"], ["trophy", "best when it came"], ["baseline", "baseline"]]],
            *([["season", "Season", [[name, name] for name in seasons]]] if len(seasons) > 1 else []),
            *([["show", "Costs", choices]] if costs else []),
        ],
        "facts": facts(board),
        "calls": calls(board),
        "links": links(board),
        "notes": notes(board),
    }  # fmt: skip


def costs_told(board: Published) -> list[str]:
    """The costs that any entry tells."""
    return [name for name in COSTS if any(name in entry.costs for entry in board.entries)]


def calls(board: Published) -> list[list[str]]:
    """What the page asks people to do, with addresses."""
    place, newest = f"/leaderboards/at/{board.board.slug}/", next(iter(board.seasons), None)
    has_queries = newest is not None and newest.files.filter(part="eval_queries").exists()
    return [["Take part", place], *([["Sample submission", f"{place}sample.zip"]] if has_queries else [])]


def links(board: Published) -> list[list[str]]:
    """The other pages of the board, with addresses."""
    return [
        ["Over time", "time"], *([["Costs", "costs"]] if costs_told(board) else []), ["Certainty", "order"],
        ["Compare two entries", "compare"], ["Versions of the qrels", "versions/"], ["Policy", "policy"],
        ["Files", "files"], ["News (Atom)", "feed.atom"], ["Embed", "embedding"], ["All as a zip", "board.zip"],
    ]  # fmt: skip


def facts(board: Published) -> list[list[str]]:
    """The head of the page. Teams are counted among entries that are not under embargo."""
    entries = [entry for entry in board.entries if not entry.withdrawn_on]
    changes = [entry.changed_at for entry in board.entries]
    rows = [
        ["Open since", min((season.opens_at for season in board.seasons), default=board.board.created_at)],
        ["Entries", len(entries)],
        ["Teams", len({entry.team.casefold() for entry in entries if not entry.is_hidden})],
        ["Imported", sum(entry.is_imported for entry in entries)],
        ["Without runs", sum(not entry.has_run for entry in entries)],
        ["Under embargo", sum(entry.is_hidden for entry in entries)],
        ["Last activity", max(changes, default=board.board.created_at)],
    ]
    rows += season_facts(board)
    for type_ in board.board.types:
        best = best_of_type(board, type_)
        if best is not None:
            rows.append([f"Best {type_}", best.printed_eval])
    if board.overdue:
        rows.append(["Waiting longer than promised", board.overdue])
    return [
        [str(name), f"{value:%Y-%m-%d}" if hasattr(value, "strftime") else str(value)] for name, value in rows if value
    ]


def season_facts(board: Published) -> list[list[object]]:
    """When the newest season ends or ended; and whether the next waits for its queries."""
    closes_at = board.seasons[0].closes_at if board.seasons else None
    if closes_at is not None:
        return [["Season ended" if closes_at <= board.at else "Season ends", closes_at]]
    due = board.board.season_due(board.at)
    if due is None:
        return []
    waits: list[object] = ["Next season", f"due since {due:%Y-%m-%d}, waits for its queries"]
    return [["Season runs until", due] if due > board.at else waits]


def best_of_type(board: Published, type_: str) -> Shown | None:
    """The first entry with a rank of a type in the newest season."""
    newest = board.of_season(board.seasons[0].name) if board.seasons else []
    return next((entry for entry in newest if entry.type == type_ and entry.rank and entry.mark != "baseline"), None)


def notes(board: Published) -> list[str]:
    """What a reader must know to read the table."""
    order = {"rank": "by rank, with gaps closed", "score": "by score, ties by id as trec_eval does"}[board.board.order]
    notes = [
        "🏆 best when it came, by the printed score; 🏛 the organizers’ baseline: a mark to beat, without 🏆.",
        "Scores are rounded half up to three places. Equal printed scores are a tie (=), listed in order of arrival.",
        f"{board.board.ranking_measure} of the first {board.board.hits} passages of each query, in order {order}; "
        "the mean is over all queries of the qrels.",
    ]
    if board.policy.release_rule != "plain":
        notes.append(
            "The release rule shows a new score only where it is a gain over what the team was shown before by more "
            "than chance explains; the policy says how."
        )
    if any(entry.is_imported for entry in board.entries):
        notes.append("Scores of imported entries are as published; their level is not compared between dev and eval.")
    if any(entry.is_hidden for entry in board.entries):
        notes.append("Anonymous entries are under an embargo, and are revealed automatically when it ends.")
    return notes


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
            "note": "; ".join(filter(None, [note(entry, names), verdict(entry)])),
            "origin": "imported" if entry.is_imported else "",
            "link": entry.link,
            "named": entry.named,
            "variant_of": entry.variant_of,
            **{name: entry.costs.get(name, "") for name in (*COSTS, *HARDWARE)},
        }
        for entry in board.entries
    ]


def cost_lines(entry: Shown) -> list[tuple[str, str]]:
    """What an entry tells of its costs: names with units, and values."""
    names = [pair for name, label in COST_NAMES.items() for pair in ((name, label), ON.get(name, ("", "")))]
    return [(label, cost_text(entry.costs[name], name)) for name, label in names if name in entry.costs]


def cost_text(value: str, name: str) -> str:
    """A cost as people read it: with commas between thousands. Hardware as it is."""
    return f"{Decimal(value):,f}" if name in COSTS else value


def note(entry: Shown, names: dict[str, str]) -> str:
    """What is said under an entry's description."""
    remarks = []
    if entry.gains_nothing:
        over = names.get(entry.repeats, "an earlier entry of the same people")
        remarks.append(f"no gain over {over}")
    if entry.withdrawn_on:
        remarks.append(f"withdrawn on {entry.withdrawn_on}")
    if entry.flag:
        remarks.append(f"flagged: {entry.flag}")
    return "; ".join(remarks)


def verdict(entry: Shown) -> str:
    """What qualifies a trophy: whether the entry was significantly better than the best before it, where known."""
    return f"new best: {entry.verdict}" if entry.mark == "trophy" and entry.verdict else ""


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
