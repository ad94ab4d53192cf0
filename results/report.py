"""The report on a campaign: a self-contained folder, fit to accompany a paper. The same inputs give the same bytes.

index.html                              summary, figures, tables, settings: no outside resources, prints
figures/*.svg, *.pdf, *.png             each figure
tables/*.csv, *.tex, *-all.tex          each table; in LaTeX with the columns that pages show first, and with all
data/*                                  the campaign's exports, confidence-sets.txt and results.json
manifest.json                           what made it, and size and SHA-256 of every file
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe

from judgments.exports import write_whole, write_zip
from judgments.stored_files import sha256_of
from results import figures
from results.drawing.marks import MARKS
from results.figures import Figure
from results.findings import findings
from results.presentation import Shown
from results.sections.certainty import Answer
from results.sections.stored import to_json
from results.sections.whole import Results, tables
from results.writing import as_csv, as_tex

ARCHIVE = "report.zip"
# The folder of the exports.
DATA = "data"
# Judged pairs that the page shows with their texts, drawn by the campaign's seed.
EXAMPLES = 3
# The confidence sets as TREC qrels of grade 1, by every id of their texts.
SETS = f"{DATA}/confidence-sets.txt"
# Rows of a table on the page; all of them are in its CSV file.
LONGEST = 200


class ShownFigure(NamedTuple):
    name: str
    title: str
    description: str
    svg: SafeString


def without(data: Results, withheld: Collection[tuple[str, str]]) -> Results:
    """Results without the ids of passages that may not leave, given as `(query id, passage id)`. An answer of whose set
    a passage may not leave is `partial`.
    """
    if not withheld:
        return data

    def leave(query: str, passages: list[str]) -> list[str]:
        return [pid for pid in passages if (query, pid) not in withheld]

    if data.stability:
        answers = [
            replace(
                answer,
                best=leave(answer.qid, answer.best),
                set=leave(answer.qid, answer.set),
                also=leave(answer.qid, answer.also),
                partial=True if leave(answer.qid, answer.set) != answer.set else None,
                passages=[row for row in answer.passages or () if (answer.qid, row.passage) not in withheld],
            )
            for answer in data.stability
        ]
        data = replace(data, stability=answers)
    if data.challengers:
        rows = [
            replace(row, best=leave(row.qid, row.best))
            for row in data.challengers.rows
            if (row.qid, row.passage) not in withheld
        ]
        data = replace(data, challengers=replace(data.challengers, rows=rows))
    return data


def is_about_something(data: Results) -> bool:
    """Whether there are scores, the decided pairs of a champion check, or settled challenges, to report."""
    if data.challengers is not None:
        outcomes = data.challengers.outcomes
        return bool(outcomes.won or outcomes.tied or outcomes.lost or outcomes.open)
    return bool(data.leaderboard) or (
        data.champion is not None and bool(data.champion.a.queries or data.champion.b.queries)
    )


def write_result_files(data: Results, folder: Path) -> tuple[dict[str, Path], figures.Drawings]:
    """Write every figure, every table and the confidence sets into a folder. Returns their paths by name, and what
    pages have of the figures.
    """
    with translation.override("en"):
        drawn, shown_tables = figures.drawable(data), tables(data).values()
        files: dict[str, bytes] = {}
        drawings = figures.Drawings({}, {})
        for figure in drawn:
            forms = figures.draw(figure.name, data, [*figures.FORMS, MARKS])
            drawings.marks[figure.name] = forms.pop(MARKS).decode()
            drawings.figures[figure.name] = forms["svg"].decode()
            files |= {f"figures/{figure.name}.{form}": drawing for form, drawing in forms.items()}
        for table_ in shown_tables:
            files[f"tables/{table_.name}.csv"] = as_csv(table_).encode()
            files[f"tables/{table_.name}.tex"] = as_tex(table_.at_first()).encode()
            if table_.has_more:
                files[f"tables/{table_.name}-all.tex"] = as_tex(table_.for_pages()).encode()
        if data.stability is not None:
            files[SETS] = _sets(data.stability).encode()
        return {name: write_whole(folder / name, [content]) for name, content in files.items()}, drawings


def _sets(answers: list[Answer]) -> str:
    whole = [answer for answer in answers if not answer.partial]  # what is left of another would be no set of 90%
    rows = sorted((answer.qid, pid) for answer in whole for pid in {*answer.set, *answer.also})
    return "".join(f"{query} 0 {pid} 1\n" for query, pid in rows)


def write_archive(data: Results, exported: list[Path], files: Mapping[str, Path], folder: Path) -> Path:
    """Write the report of these exports, figures and tables into a folder, and as one archive beside it."""
    archive = folder / ARCHIVE
    write_zip(write_report(data, exported, files, folder), archive)
    return archive


def write_report(data: Results, exported: list[Path], files: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """Write what the report has beside them. Returns all paths by name, in the report's order."""
    with translation.override("en"):
        about = json.loads((folder / DATA / "manifest.json").read_bytes())
        page = {
            "campaign": about["campaign"],
            "collection": about["collection"],
            "software": about["software"],
            "settings": about["settings"].items(),
            "runs": about["runs"],
            "findings": findings(data),
            "figures": [
                _shown_figure(figure, data, files[f"figures/{figure.name}.svg"].read_bytes())
                for figure in figures.drawable(data)
            ],
            "tables": [Shown.first(table, LONGEST) for table in tables(data).values()],
            "examples": _examples(folder / DATA / "judged-pairs.jsonl", data.seed),
            "exports": [
                *((name, entry["what"]) for name, entry in about["files"].items()),
                *([(Path(SETS).name, "every passage of the confidence sets (TREC)")] if SETS in files else []),
            ],
        }
        index = render_to_string("results/report/index.html", page).encode()
    whole = {"index.html": write_whole(folder / "index.html", [index]), **files}
    whole |= {f"{DATA}/{path.name}": path for path in exported}
    whole[f"{DATA}/results.json"] = write_whole(folder / DATA / "results.json", [_json(to_json(data))])
    return whole | {"manifest.json": write_whole(folder / "manifest.json", [_manifest(about, whole)])}


def _examples(judged: Path, seed: int) -> list[dict[str, Any]]:
    """Some judged pairs at random, in the order of the file."""
    with judged.open("rb") as file:
        count = sum(1 for _line in file)
    drawn = set(Random(seed).sample(range(count), min(EXAMPLES, count)))
    with judged.open("rb") as file:
        return [json.loads(line) for number, line in enumerate(file) if number in drawn]


def _shown_figure(figure: Figure[Any], data: Results, svg: bytes) -> ShownFigure:
    safe = mark_safe(svg.decode())  # noqa: S308 - our own drawing, where names are escaped
    return ShownFigure(figure.name, figure.title, figure.description(data), safe)


def _manifest(about: dict[str, Any], files: Mapping[str, Path]) -> bytes:
    """What the exports' manifest says of the campaign, and all files of the report."""
    hashes = {name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for name, path in files.items()}
    return _json(about | {"files": hashes})


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()
