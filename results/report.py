"""The report on a campaign: a folder that needs nothing else, fit to stand beside a paper. The same inputs, same bytes.

index.html                              summary, figures, tables, settings: no outside resources, prints
figures/*.svg, *.pdf, *.png             each figure
tables/*.csv, *.tex                     each table
data/*                                  the campaign's exports, and results.json
manifest.json                           what made it, and size and SHA-256 of every file
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString, mark_safe

from core.errors import Refused
from core.snapshot import one_moment
from judgments.exports import export_files, write_to, zipped
from pools.models import Campaign
from results import figures
from results.figures import Figure
from results.inputs import digest_of
from results.models import Result
from results.presentation import Shown, cells, heads
from results.sentences import findings
from results.tables import Table, table, tables
from results.writing import as_csv, as_tex

LONGEST = 200
"""Rows of a table on the page; all of them are in its CSV file."""


class ShownFigure(NamedTuple):
    """A figure on the page."""

    name: str
    title: str
    description: str
    svg: SafeString


def report_files(campaign: Campaign) -> dict[str, bytes]:
    """All files of the report by name, as of one moment. The manifest comes last and describes the others.

    Raises Refused where results are not computed yet, are about nothing, or are not in step with the judgments.
    """
    with one_moment():
        result = Result.objects.filter(campaign=campaign).first()
        if result is None:
            raise Refused(
                f"There are no results of “{campaign.name}” yet: nothing is judged, or they are being computed."
            )
        if result.digest != digest_of(campaign):
            raise Refused(
                f"The results of “{campaign.name}” are older than its judgments. They are being computed again: "
                "ask once more in a while."
            )
        if not result.data["leaderboard"]:
            raise Refused(f"No query of “{campaign.name}” is judged yet: there is nothing to report.")
        exported = export_files(campaign)
    with translation.override("en"):
        return _files(campaign, result.data, exported)


def report_zip(campaign: Campaign) -> bytes:
    """The report in one archive. Raises Refused as `report_files` does."""
    return zipped(report_files(campaign))


def report_to(campaign: Campaign, folder: Path) -> list[Path]:
    """Write the report into a folder and return the files' paths. Raises Refused as `report_files` does."""
    return write_to(folder, report_files(campaign))


def _files(campaign: Campaign, data: dict[str, Any], exported: dict[str, bytes]) -> dict[str, bytes]:
    drawn = figures.drawable(data)
    made = [found for name in tables(data) if (found := table(data, name)) is not None]
    about = json.loads(exported["manifest.json"])
    files = {f"figures/{figure.name}.svg": figures.svg(figure.name, data) for figure in drawn}
    page = {
        "campaign": about["campaign"],
        "collection": about["collection"],
        "software": about["software"],
        "settings": about["settings"].items(),
        "runs": about["runs"],
        "findings": findings(data),
        "figures": [_shown_figure(figure, data, files[f"figures/{figure.name}.svg"]) for figure in drawn],
        "tables": [_shown_table(one) for one in made],
        "exports": [(name, entry["what"]) for name, entry in about["files"].items()],
    }
    for figure in drawn:
        files[f"figures/{figure.name}.pdf"] = figures.pdf(figure.name, data)
        files[f"figures/{figure.name}.png"] = figures.png(figure.name, data)
    for one in made:
        files[f"tables/{one.name}.csv"] = as_csv(one).encode()
        files[f"tables/{one.name}.tex"] = as_tex(one).encode()
    files |= {f"data/{name}": content for name, content in exported.items()}
    files["data/results.json"] = _json(data)
    files = {"index.html": render_to_string("results/report/index.html", page).encode()} | files
    return files | {"manifest.json": _manifest(about, files)}


def _shown_figure(figure: Figure, data: dict[str, Any], svg: bytes) -> ShownFigure:
    safe = mark_safe(svg.decode())  # noqa: S308 - our own drawing, where names are escaped
    return ShownFigure(figure.name, figure.title, figure.description(data), safe)


def _shown_table(found: Table) -> Shown:
    return Shown(found, heads(found, "", lambda _order: ""), cells(found, found.rows[:LONGEST], {}), len(found.rows))


def _manifest(about: dict[str, Any], files: dict[str, bytes]) -> bytes:
    """What the exports' manifest says of the campaign, and all files of the report."""
    hashes = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in files.items()
    }
    return _json(about | {"files": hashes})


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()
