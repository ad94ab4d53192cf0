"""The docs say what is so: their commands run, their links lead somewhere, and nothing is left unwritten."""

import argparse
import ast
import contextlib
import importlib
import io
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.urls import resolve

from core.version import VERSION
from evaluation.cli import main as cli
from evaluation.cli.main import main
from evaluation.judging.tournament import Judged, best_known, most_wins
from judgments import exports
from platforms.money.bills import campaign_bill
from platforms.terms import publication_likely
from pools.models import Campaign
from pools.services import campaign_create
from pools.settings import settings_of
from tests import architecture, factories, screenshots, settings_table

REPOSITORY = Path(__file__).parent.parent
PAGES = [REPOSITORY / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "demo/README.md")]
PAGES += sorted((REPOSITORY / "docs").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CALL = re.compile(r"\b(get|post|put|patch|delete)\s+\"?([a-z-]+/[\w<>/.-]*)", re.IGNORECASE)
MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")
EVALUATION = re.compile(r"(?:\.venv/bin/)?python -m evaluation ")


# What one of our programs tells another.
SET_BY_OURSELVES = {"DJANGO_SETTINGS_MODULE", "WORKERS"}


class Block(NamedTuple):
    """A code block: its language, its text, and the text of the block of output right below it, if there is one."""

    language: str
    text: str
    output: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found = list(FENCE.finditer(text))
    result = []
    for block, after in zip_longest(found, found[1:]):
        adjoins = after is not None and not text[block.end() : after.start()].strip() and after[1] != "sh"
        result.append(Block(block[1], block[2], after[2] if after is not None and adjoins else None))
    return result


def commands(page: Path) -> Iterator[str]:
    """The command lines of a page's code blocks, without the shell's prefixes."""
    for block in blocks(page):
        for line in block.text.splitlines():
            yield re.sub(
                r"^(?:[A-Z_]+=\S* |docker compose (?:exec|run) (?:-T |--rm |--no-deps )*\w+ )*", "", line.strip()
            )


def code(page: Path) -> str:
    """All that stands in code blocks and between backticks on a page."""
    text = page.read_text()
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    return "\n".join([block.text for block in blocks(page)] + spans)


def names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(REPOSITORY)) for path in paths]


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                found |= options_of(child)
    return found


# --- commands


def our_commands() -> list[str]:
    """The commands that this repository adds."""
    return sorted(name for name, app in get_commands().items() if (REPOSITORY / app.partition(".")[0]).is_dir())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run the docs' commands in, with the demo where they look for it."""
    (tmp_path / "demo").symlink_to(REPOSITORY / "demo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_evaluation(line: str, folder: Path) -> tuple[str, str]:
    """Run a line that calls the command line of evaluation, as the shell would; gives standard output and error."""
    words = shlex.split(line)
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[words.index("evaluation") + 1 : words.index(">") if target else None]
    files = [[str(path.relative_to(folder)) for path in sorted(folder.glob(word))] or [word] for word in words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        exit_code = main([word for expanded in files for word in expanded])
    assert exit_code == 0, f"{line}\n{err.getvalue()}"
    if target:
        (folder / target).write_text(out.getvalue())
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("name", names(page for page in PAGES if any(map(EVALUATION.match, commands(page)))))
def test_every_evaluation_command_runs_and_prints_what_the_page_shows(name: str, folder: Path) -> None:
    for block in blocks(REPOSITORY / name):
        printed: list[str] = []
        for line in block.text.splitlines():
            if line.startswith("awk "):
                subprocess.run(["bash", "-ec", line], cwd=folder, check=True)
            elif EVALUATION.match(line):
                printed += run_evaluation(line, folder)
        if printed and block.output is not None:
            assert block.output.strip() in [text.strip() for text in printed], block.text


def test_every_management_command_line_is_one_that_its_parser_accepts() -> None:
    checked = set()
    for page in PAGES:
        for line in commands(page):
            found = re.match(r"(?:\S*python )?(?:\./)?manage\.py (\w+)(.*)", line)
            if found is None:
                continue
            name, arguments = found[1], shlex.split(re.sub(r" [<>] \S+$", "", found[2]))
            if name == "help":
                assert not arguments or arguments[0] in get_commands(), line
                continue
            assert name in get_commands(), f"{page.name}: {line}"
            command = load_command_class(get_commands()[name], name)
            try:
                command.create_parser("manage.py", name).parse_args(arguments)
            except (CommandError, SystemExit) as error:
                pytest.fail(f"{page.name}: {line}: {error}")
            checked.add(name)
    assert checked >= set(our_commands())


def test_every_call_of_the_api_is_one_that_it_answers() -> None:
    calls = {call for page in PAGES for call in CALL.findall(code(page))}
    assert len(calls) > 30
    for method, address in sorted(calls):
        match = resolve(f"/api/v1/{re.sub('<[a-z]+>', '1', address)}")
        assert method.lower() in getattr(match.func, "actions", ()), f"{method} {address}"


@pytest.mark.parametrize("name", our_commands())
def test_every_management_command_has_help_and_is_written_about(name: str) -> None:
    command = load_command_class(get_commands()[name], name)
    assert len(command.help) > 20
    assert any(re.search(rf"manage\.py {name}\b", code(page)) for page in PAGES)


def test_every_option_that_is_named_exists() -> None:
    known = options_of(cli._parser())
    for name in our_commands():
        command = load_command_class(get_commands()[name], name)
        known |= options_of(command.create_parser("manage.py", name))
    for page in PAGES:
        spans = re.findall(r"`(--[a-z-]+)[^`\n]*`", FENCE.sub("", page.read_text()))
        assert set(spans) <= known, f"{page.name}: {set(spans) - known}"


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {target for page in PAGES for target in MAKE.findall(code(page))}
    assert {"run", "test", "check"} <= named <= targets
    told = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    assert told <= named, f"not written about: {told - named}"


def test_the_tournaments_on_the_page_end_as_it_says() -> None:
    text = [block.text for block in blocks(REPOSITORY / "docs" / "evaluation.md")]
    lines = [line.split() for line in next(block for block in text if block.startswith("q a b a")).splitlines()]
    judgments = [Judged(preferred, b if preferred == a else a) for _query, a, b, preferred in lines]
    assert best_known("abcd", judgments) == {"d"}
    assert most_wins("abcd", judgments) == {"a", "d"}
    circle = [Judged("a", "b"), Judged("b", "c"), Judged("c", "a")]
    shown = "".join(f"q 0 {passage} 1\n" for passage in sorted(best_known("abc", circle)))
    assert shown in text


# --- what the pages list


def test_the_page_of_settings_is_what_the_form_says_and_has_every_setting() -> None:
    assert settings_table.PAGE.read_text() == settings_table.page(), "write it again: make settings"
    assert all(f"| {field.verbose_name} |" in settings_table.page() for field in settings_of(Campaign))


def test_every_export_file_and_column_is_explained() -> None:
    spans = set(re.findall(r"`([^`\n]+)`", (REPOSITORY / "docs" / "researchers.md").read_text()))
    assert {
        *exports.NAMES,
        *exports.PAIR_COLUMNS,
        *exports.JUDGMENT_COLUMNS,
        *exports.ADJUDICATION_COLUMNS,
        exports.ADJUDICATED,
        exports.WEIGHED,
    } <= spans


def test_every_setting_from_the_environment_is_explained() -> None:
    read = re.compile(r"""\benv(?:iron)?(?:\.\w+)?[(\[]\s*"([A-Z_]+)\"""")
    settings = {name for path in (REPOSITORY / "config").glob("*.py") for name in read.findall(path.read_text())}
    explained = "\n".join((REPOSITORY / "docs" / name).read_text() for name in ("operators.md", "platforms.md"))
    assert {"DATABASE_URL", "SECRET_KEY", "PORT"} <= settings
    assert settings - SET_BY_OURSELVES <= set(re.findall(r"`([A-Z_]+)`", explained))


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## \[(\d[^\]]*)\]", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert VERSION == project["version"] == newest[1]


# --- links and pictures


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as web pages of it have them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", names(PAGES))
def test_every_relative_link_leads_to_a_file_and_a_heading(name: str) -> None:
    page = REPOSITORY / name
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [REPOSITORY / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for link in LINK.findall(page.read_text()):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                waiting.append(target)
    assert set(PAGES) <= reached


def test_what_users_expect_is_counted_and_each_test_that_shows_it_exists() -> None:
    page = (REPOSITORY / "docs" / "expectations.md").read_text()
    rows = re.findall(r"^\| \d+ \| [^|]+ \| (.*)\|$", page, re.MULTILINE)
    in_part = sum(shown.startswith("In part: ") for shown in rows)
    assert page.strip().endswith(f"Of the {len(rows)}, {len(rows) - in_part} are met, and {in_part} in part.")
    for shown in rows:
        shown_by = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", shown)
        assert shown_by or shown.startswith("In part: ")
        for file, test in shown_by:
            assert f"\ndef {test}(" in (REPOSITORY / file).read_text(), test


@pytest.mark.parametrize("name", screenshots.SIZES)
def test_every_picture_is_on_a_page_and_light(name: str) -> None:
    picture = screenshots.IMAGES / f"{name}.png"
    assert any(re.search(rf"\(\S*images/{name}\.png\)", page.read_text()) for page in PAGES)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert 10_000 < picture.stat().st_size < 300_000


def test_no_picture_is_left_over() -> None:
    drawn = {f"{name}.png" for name in screenshots.SIZES} | {architecture.PICTURE.name}
    assert {path.name for path in screenshots.IMAGES.iterdir()} == drawn


def test_the_diagram_of_the_packages_is_what_the_code_says() -> None:
    assert architecture.PICTURE.read_text() == architecture.picture(), "draw it again: make architecture"


# --- what the README promises, and the newcomer's tour


def test_the_readme_says_what_the_demo_scores(folder: Path) -> None:
    evaluate = "python -m evaluation"
    run_evaluation(f"{evaluate} pool --qrels demo/qrels.txt --pairs pairs.tsv demo/runs/*", folder)
    asked = {tuple(line.split()) for line in (folder / "pairs.tsv").read_text().splitlines()}
    known = (folder / "demo" / "oracle-preferences.txt").read_text().splitlines(keepends=True)
    (folder / "preferences.txt").write_text("".join(line for line in known if tuple(line.split()[:3]) in asked))
    run_evaluation(f"{evaluate} qrels --pools pairs.tsv preferences.txt > preference-qrels.txt", folder)
    both = "--qrels demo/qrels.txt --preference-qrels preference-qrels.txt"
    leaderboard = json.loads(run_evaluation(f"{evaluate} leaderboard --json {both} demo/runs/*", folder)[0])

    told = " ".join((REPOSITORY / "README.md").read_text().split())
    runs, perfect = leaderboard["runs"].values(), leaderboard["perfect"]
    above = sum(run["preference"]["mean"] > perfect for run in runs)
    first = next(run for run in runs if run["preference"]["place"] == 1)
    assert f"the same ranking scores **{perfect:.3f}**" in told
    assert (len(runs), above) == (11, 6) and "six of the eleven runs score more" in told
    assert first["original"]["place"] == 4 and "The run that was fourth is first" in told


def test_the_readme_says_what_the_demo_costs(db: None) -> None:
    lab, demo = factories.lab("Our lab"), REPOSITORY / "demo"
    collection = ["import_collection", "everyday", "--lab", "Our lab"]
    call_command(*collection, "--language", "en", "--queries", demo / "queries.tsv", "--qrels", demo / "qrels.txt")
    call_command("import_run", "everyday", *sorted((demo / "runs").iterdir()))
    call_command(*collection, "--passages", demo / "passages.tsv")
    everyday = lab.collections.get()
    campaign = campaign_create(lab=lab, collection=everyday, runs=everyday.runs.all(), name="My first campaign")
    total = campaign.money(campaign_bill(publication_likely(campaign)).total)
    for name in ("README.md", "docs/first-campaign.md"):
        assert total in (REPOSITORY / name).read_text(), name


def test_the_runbook_quotes_what_the_site_says() -> None:
    runbook = " ".join((REPOSITORY / "docs" / "runbook.md").read_text().split())
    quotes = re.findall("“([^”]+)”", runbook)
    pieces = {piece.strip(" ,.") for quote in quotes for piece in quote.split("…")}
    said = " ".join(_said())
    assert len(quotes) > 20
    assert [piece for piece in sorted(pieces) if piece not in said] == []


SPEAKING = (
    *"api campaigns core evaluation judgments leaderboards local machines marketplace platforms".split(),
    *"pools protection results review runs simulation tasks".split(),
)
# What pages set in italics and no page of the site shows.
NOT_ON_A_PAGE = {
    "Authenticators",  # of the admin site, which names it
    "In every test run",
    "PostgreSQL was lost",
    "Significant Improvements over the State of the Art?",
}


def test_the_names_of_pages_and_buttons_that_users_read_of_are_on_the_site() -> None:
    said = " ".join(" ".join(_said()).split()).lower()
    unknown = set()
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]:
        words = " ".join(re.sub("```.*?```", "", page.read_text(), flags=re.DOTALL).split())
        names = re.findall(r"(?<![*\w])\*([A-Z][^*]{2,60}?)\*(?![*\w])", words)
        unknown |= {name for name in names if any(part.strip(" .").lower() not in said for part in name.split("…"))}
    assert unknown == NOT_ON_A_PAGE


@cache
def _said() -> list[str]:
    """All texts in the code and the templates."""
    said = []
    for package in SPEAKING:
        for file in (REPOSITORY / package).rglob("*.py"):
            if "migrations" not in file.parts:
                nodes = ast.walk(ast.parse(file.read_text()))
                said += [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for folder in ("templates", "marketplace/templates"):
        said += [file.read_text() for file in (REPOSITORY / folder).rglob("*.html")]
    return said


def test_every_name_on_the_tour_is_in_the_code() -> None:
    tour = (REPOSITORY / "docs" / "contributors.md").read_text().partition("## A tour")[2].partition("\n## ")[0]
    names = re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_.]+)`", tour)
    files = [name for name in names if (REPOSITORY / name.partition(".")[0]).is_dir()]
    assert len(files) > 30
    for name in files:
        assert _resolves(name), name
    for path in re.findall(r"`((?:[a-z_]+/)+[a-z_.]+)`", tour):
        assert (REPOSITORY / path).exists(), path


def _resolves(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
