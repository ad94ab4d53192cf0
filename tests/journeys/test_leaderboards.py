"""A leaderboard from one end to the other, in a real browser: a participant, an organizer, and the public."""

import bz2
import gzip
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, expect

from campaigns.templating import template_create
from core.models import Lab, User
from evaluation.boards.sealing import seal
from leaderboards import boards, jobs, publishing, submitting, teams
from leaderboards.models import Board, Decision, Look, MetadataRequest, Submission, Upkeep, UpkeepRound
from leaderboards.upkeep import jobs as upkeep_jobs
from results import versions
from runs.models import Collection
from tests import factories
from tests.conftest import REPOSITORY
from tests.journeys.colleagues import Colleague
from tests.journeys.files import brought
from tests.leaderboards import taking_part
from tests.results.judging import judged, new_run

Come = Callable[..., Colleague]
State = Submission.State
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]  # on a machine that may be busy
HALVES = ("dev", "eval")
PASSAGES = 50  # that a run may have for a query


class Files(NamedTuple):
    """A season's files by part, and the runs on both halves of its queries, by name."""

    season: dict[str, tuple[str, bytes]]
    runs: dict[str, dict[str, bytes]]


@pytest.fixture
def url(live_server: Any, settings: Any) -> str:
    """The address of the site; its jobs are called by the tests."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    settings.HAS_MAIL = False
    settings.SITE_URL = live_server.url
    return str(live_server.url)


@pytest.fixture
def come(chromium: Browser, url: str) -> Iterator[Come]:
    """Brings somebody in a browser of their own. What a script, the console or the content policy says is a failure."""
    came: list[Colleague] = []

    def one(**options: Any) -> Colleague:
        came.append(Colleague(chromium, url, **options))
        return came[-1]

    yield one
    for colleague in came:
        colleague.context.close()
    assert [complaint for colleague in came for complaint in colleague.complaints] == []


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Queries, qrels and three runs as somebody has them, the queries dealt to dev and eval in turn."""
    sent = {path.name: path for path in brought(tmp_path).files}
    queries = sent["queries.tsv"].read_text().splitlines(keepends=True)
    qrels = sent["sparse-qrels.txt"].read_text().splitlines(keepends=True)
    judged = {line.split()[0] for line in qrels}
    texts = {line.partition("\t")[0]: line for line in queries}
    known = sorted(judged & set(texts))
    of_half = {half: set(known[number::2]) for number, half in enumerate(HALVES)}
    season, runs = {}, {}
    for half, own in of_half.items():
        season[f"{half}_queries"] = (f"{half}-queries.tsv", "".join(texts[query] for query in sorted(own)).encode())
        own_qrels = [line for line in qrels if line.split()[0] in own]
        season[f"{half}_qrels"] = (f"{half}-qrels.txt", "".join(own_qrels).encode())
    for name in [name for name in sorted(sent) if name.endswith(".gz") and "passages" not in name][:3]:
        lines = gzip.decompress(sent[name].read_bytes()).decode().splitlines()
        runs[name.partition(".")[0]] = {half: bz2.compress(_cut(lines, own)) for half, own in of_half.items()}
    return Files(season, runs)


def _cut(lines: list[str], queries: set[str]) -> bytes:
    """The first passages of these queries, as MS MARCO has a run: query, passage, rank."""
    ranked: dict[str, list[tuple[float, str]]] = {}
    for query, _q0, passage, _rank, score, _tag in (line.split() for line in lines):
        if query in queries:
            ranked.setdefault(query, []).append((-float(score), passage))
    return "".join(
        f"{query}\t{passage}\t{rank}\n"
        for query, own in ranked.items()
        for rank, (_score, passage) in enumerate(sorted(own)[:PASSAGES], start=1)
    ).encode()


def board_of(files: Files, lab: Lab, by: User) -> Board:
    """A public board with a season, opened before."""
    at = timezone.now() - timedelta(days=60)
    collection = Collection.objects.create(lab=lab, name="passages", language="en")
    board = boards.board_create(
        lab=lab, collection=collection, slug="passages", name="Passages", measures=["RR@10"], hits=PASSAGES,
        numbers={"quota_runs": 2, "release_rule": "plain"}, by=by, at=at,
    )  # fmt: skip
    boards.season_add(board=board, name="First", opens_at=at, closes_at=None, files=files.season, at=at)
    return boards.board_change(board=board, is_public=True)


def seal_by_command(folder: Path, files: Files, terms: bytes, name: str, run: str, **metadata: str) -> tuple[Path, str]:
    """What the participant's own machine does with the board's file: the package, and what the command printed."""
    told = {"team": "Red of Example University", "model_description": f"System {name}", "type": "full ranking"}
    contents = {f"{half}.txt.bz2": files.runs[run][half] for half in HALVES}
    contents |= {"board.json": terms, "metadata.json": json.dumps(told | metadata).encode()}
    contents |= {f"{half}.tsv": files.season[f"{half}_queries"][1] for half in HALVES}
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    command = [
        *(sys.executable, "-m", "evaluation", "seal", "--board", "board.json", "--name", name),
        *("--metadata", "metadata.json", "--dev", "dev.txt.bz2", "--eval", "eval.txt.bz2"),
        *("--dev-queries", "dev.tsv", "--eval-queries", "eval.tsv", "--output", f"{name}.sealed"),
    ]
    ran = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(REPOSITORY), "PATH": ""}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return folder / f"{name}.sealed", ran.stdout + ran.stderr


def send(paul: Colleague, package: Path, name: str) -> Submission:
    """Upload a sealed package with the form."""
    run_id = f"{timezone.now():%Y%m%d}-{name}"
    paul.go(reverse("leaderboards:submit", args=["passages"]))
    paul.page.get_by_label("Id of the run").fill(run_id)
    paul.page.get_by_label("Sealed package").set_input_files(package)
    paul.page.get_by_label("I have read the policy").check()
    paul.press("Submit", then="It is evaluated next")
    return Submission.objects.get(run_id=run_id)


def test_a_participant_from_the_policy_to_a_published_entry_and_a_withdrawn_one(
    come: Come, lab: Lab, files: Files, tmp_path: Path
) -> None:
    olga = factories.member(lab, "organizer", "olga")
    user = factories.user("paul", email="paul@example.org")
    board = board_of(files, lab, olga)
    paul = come(with_axe=False)
    paul.log_in("paul", "paul")
    # The policy first, as everybody sees it; then a team.
    paul.go(reverse("boards:policy", args=[board.slug]))
    assert "2 per team in any 30 days" in paul.page.locator("main").inner_text()
    paul.go(reverse("leaderboards:take_part", args=[board.slug]))
    paul.press("Found a team", then="Teams are identifiable")
    paul.page.get_by_label("Organization").fill("Example University")
    paul.page.get_by_label("Group").fill("Red")
    paul.press("Found the team", then="The team is there")
    team = user.team_memberships.get().team
    # Sealed on the participant's machine, for the key that the page prints.
    paul.go(reverse("leaderboards:submit", args=[board.slug]))
    terms = paul.download(f"{board.slug}.json")
    fingerprint = str(board.keys.get())
    assert fingerprint in paul.page.locator("main").inner_text()
    first, second, *_others = files.runs
    package, said = seal_by_command(tmp_path, files, terms, "first", first)
    assert fingerprint in said
    content = package.read_bytes()
    assert b"System first" not in content and files.runs[first]["dev"][:40] not in content
    # A package of another name is refused beside the field, and uses nothing up.
    paul.page.get_by_label("Id of the run").fill(f"{timezone.now():%Y%m%d}-other")
    paul.page.get_by_label("Sealed package").set_input_files(package)
    paul.page.get_by_label("I have read the policy").check()
    paul.press("Submit", then="sealed for")
    assert not Submission.objects.exists()
    submission = send(paul, package, "first")
    jobs.evaluate()
    paul.page.reload()
    paul.look()
    told = paul.page.locator("main").inner_text()
    assert "the organizers promise to decide within" in told and "What the check says" in told
    assert "dev.txt.bz2" in told and "RR@10 (dev)" in told and "(eval" not in told
    assert "the site itself" in told  # who opened what
    # It waits, until an organizer has confirmed the team and decided.
    submission.refresh_from_db()
    assert submission.state == State.WAITING
    teams.team_confirm(team=team, board=board, reason="I know them", by=olga, at=timezone.now())
    publishing.submission_publish(submission=submission, reason="A sound run", by=olga, at=timezone.now())
    paul.page.reload()
    expect(paul.page.locator("main")).to_contain_text("RR@10 (eval, as shown)")
    expect(paul.page.locator("main")).to_contain_text("A sound run")
    paul.press("Public entry", then="System first")
    # Other metadata is asked for, with a reason, and shown before and after.
    paul.go(reverse("leaderboards:submission", args=[submission.public_id]))
    paul.page.get_by_text("Ask for other metadata").click()
    paul.page.get_by_label("What changes").select_option("links")
    paul.page.get_by_label("Paper").fill("https://example.org/paper.pdf")
    paul.page.get_by_label("Why", exact=True).fill("It has appeared")
    paul.press("Ask the organizers", then="Take the request back")
    assert MetadataRequest.objects.get().after == {"paper": "https://example.org/paper.pdf"}
    # Another run, which its team withdraws: the line stays, and so does the quota.
    package, _said = seal_by_command(tmp_path, files, terms, "second", second, embargo_until=_day(100))
    other = send(paul, package, "second")
    jobs.evaluate()
    paul.page.reload()
    paul.page.get_by_label("Why withdraw it?").fill("A bug in the tokenizer")
    paul.press("Withdraw: a line remains, and the run still counts", then="A bug in the tokenizer")
    other.refresh_from_db()
    assert other.state == State.WITHDRAWN
    # What the policy does not allow is said before anything is sealed or uploaded.
    paul.go(reverse("leaderboards:submit", args=[board.slug]))
    assert "2 of 2 runs" in paul.page.locator("main").inner_text()
    assert not paul.page.get_by_label("Sealed package").is_visible()
    assert Submission.objects.count() == 2


def _day(days: int) -> str:
    return f"{timezone.now() + timedelta(days=days):%Y/%m/%d}"


def test_an_organizer_from_a_new_board_to_a_round_of_upkeep(
    come: Come, collection: Collection, lab: Lab, tmp_path: Path
) -> None:
    olga_user = factories.member(lab, "admin", "olga")
    paul = factories.user("paul", email="paul@example.org")
    pilot = judged(collection)
    versions.version_add(campaign=pilot, why="The start.", by=None, at=timezone.now())
    new_run(collection, "texts", {"q1": ["p0"], "q2": ["p00"]})
    template = template_create(
        lab=lab, name="upkeep", values={"pairs_per_hit": 3, "tests_per_hit": 2}, consent="", terms=None, by=olga_user,
        at=timezone.now(),
    )  # fmt: skip
    olga = come(with_axe=False)
    olga.log_in("olga", "olga")
    olga.go(reverse("leaderboards:boards"))
    olga.press("New leaderboard", then="It begins with the policy")
    olga.page.get_by_label("Name", exact=True).fill("Small board")
    olga.page.get_by_label("Address").fill("small")
    olga.page.get_by_label("Passages for each query").fill("10")
    olga.press("Create", then="Add a season next")
    board = Board.objects.get()
    olga.press("New season", then="Its files stay as they are")
    olga.page.get_by_label("Name", exact=True).fill("First")
    for label, content in _season(("q1", "q2", "q3"), ("q4",)).items():
        path = tmp_path / f"{label}.txt"
        path.write_text(content)
        olga.page.get_by_label(label, exact=True).set_input_files(path)
    olga.press("Check and add", then="The season is there")
    # A participant's run arrives, under an embargo.
    team = teams.team_found(
        board=board, organization="Example University", group="Red", contributors="", by=paul, at=timezone.now()
    )
    submission = _sent(board, team, paul)
    jobs.evaluate()
    olga.go(reverse("leaderboards:organize", args=[board.slug]))
    olga.press("Confirm Red, Example University", then="Done.")
    olga.page.get_by_role("link", name=submission.run_id).first.click()
    olga.look()
    told = olga.page.locator("main").inner_text()
    assert "(eval, for organizers only)" in told and "Looks so far" in told
    assert Decision.objects.filter(kind="publish").count() == 0
    # Without a reason of her own the browser itself sends nothing else than publishing.
    olga.page.get_by_text("Reject it…").click()
    olga.page.get_by_role("button", name="Reject", exact=True).click()
    assert Submission.objects.get().state == State.WAITING
    olga.press("Publish", then="The team is told")
    assert Submission.objects.get().state == State.PUBLISHED and Look.objects.count() == 1
    submission.refresh_from_db()
    assert submission.embargo_until is not None
    later = submission.embargo_until + timedelta(days=20)
    olga.page.get_by_text("Extend the embargo…").click()
    olga.page.get_by_label("Anonymous until").fill(f"{later}")
    olga.page.locator("#reason-extend").fill("The review takes longer")
    olga.press("Extend the embargo", then="The team is told")
    assert Submission.objects.get().embargo_until == later
    openings = olga.page.get_by_role("region", name="Who opened what").inner_text()
    assert "olga" in openings and "the site itself" in openings
    # The run ranks first what nobody has judged: a round of upkeep judges it, once it is approved.
    olga.go(reverse("upkeep:upkeep", args=[board.slug]))
    page = olga.page
    page.get_by_label("Keep the answers current").check()
    page.get_by_label("Template").select_option(str(template.pk))
    page.get_by_label("Test pairs of").select_option(str(pilot.pk))
    page.get_by_label("Challengers that a campaign waits for").fill("1")
    page.get_by_label("Days between campaigns").fill("0")
    olga.press("Save", then="The settings of the upkeep are stored")
    assert Upkeep.objects.get().is_on
    upkeep_jobs.keep_up()
    olga.go(reverse("upkeep:upkeep", args=[board.slug]))
    olga.page.get_by_label("Reason").fill("Within the budget")
    olga.press("Approve", then="Round 1 is approved")
    round = UpkeepRound.objects.get()
    assert (round.state, round.decided_by) == (UpkeepRound.State.APPROVED, olga_user)
    upkeep_jobs.keep_up()
    round.refresh_from_db()
    assert round.campaign is not None
    assert set(round.challengers.values_list("pid", flat=True)) == {"p0", "p00"}


def _season(*halves: tuple[str, ...]) -> dict[str, str]:
    """By label of the form: a question, and one relevant passage, for each query."""
    relevant = {"q1": "p1", "q2": "p4", "q3": "p7", "q4": "p9"}
    sent = {}
    for name, queries in zip(("Dev", "Eval"), halves, strict=True):
        sent[f"{name} queries"] = "".join(f"{query}\tquestion {query}\n" for query in queries)
        sent[f"{name} qrels"] = "".join(f"{query} 0 {relevant[query]} 1\n" for query in queries)
    return sent


def _sent(board: Board, team: Any, by: User) -> Submission:
    """A run that has p0 and p00 on top, sealed and sent today, anonymous for a hundred days."""
    at = timezone.now()
    run_id = f"{at:%Y%m%d}-red"
    dev = "q1\tp0\t1\nq1\tp1\t2\nq2\tp00\t1\nq2\tp4\t2\nq3\tp7\t1\n"
    metadata = {"team": "Red", "model_description": "A red run", "type": "full ranking", "embargo_until": _day(100)}
    contents = {
        "metadata.json": json.dumps(metadata).encode(), "dev.txt.bz2": bz2.compress(dev.encode()),
        "eval.txt.bz2": bz2.compress(b"q4\tp9\t1\n"),
    }  # fmt: skip
    package = seal(contents, to=board.keys.get().public_pem, board=board.slug, run_id=run_id)
    return submitting.submission_send(
        board=board, team=team, run_id=run_id, package=package, policy_number=board.policy_at(at).number, by=by, at=at
    )


def rows_of(page: Any) -> list[str]:
    """The descriptions of a board's entries, in order."""
    return [text.split("\n")[0] for text in page.locator(".board tbody tr:not(.group) th").all_inner_texts()]


def test_the_public_reads_a_board_compares_goes_back_and_takes_it_along_without_an_account(
    come: Come, collection: Collection, lab: Lab, rita: User, tmp_path: Path
) -> None:
    olga = factories.member(lab, "organizer", "olga")
    pilot = judged(collection)
    versions.version_add(campaign=pilot, why="The start.", by=None, at=timezone.now())
    board = taking_part.make(collection, olga, timezone.now() - timedelta(days=90), release_rule="plain", quota_runs=5)
    people = [factories.user(name, email=f"{name}@example.org") for name in ("paul", "vera")]
    groups = [taking_part.team(board, user, user.username, confirmed_by=olga) for user in people]
    at = timezone.now() - timedelta(days=40)
    taking_part.published(board, groups[0], people[0], olga, "weak", at, hits=1, model_description="A weak system")
    taking_part.published(
        board, groups[1], people[1], olga, "strong", at + timedelta(days=1), hits=4, model_description="A strong one",
        type="reranking",
    )  # fmt: skip
    hidden = taking_part.published(
        board, groups[1], people[1], olga, "secret", at + timedelta(days=2), hits=3,
        model_description="An unheard-of method", embargo_until=_day(100),
    )  # fmt: skip
    upkeep_jobs.keep_up()
    second = judged(collection, "second", runs=list(_names(collection)), design="challengers")
    versions.version_add(campaign=second, why="New passages.", by=None, at=timezone.now())
    anybody = come(with_axe=False)
    anybody.go(reverse("boards:boards"))
    anybody.press("Small board", then="3 of 3 entries")
    assert rows_of(anybody.page) == ["A strong one", "Anonymous", "A weak system"]
    anybody.page.get_by_text("Filter the entries").click()
    anybody.page.get_by_label("Type").select_option("reranking")
    anybody.press("Show", then="1 of 3 entries")
    assert rows_of(anybody.page) == ["A strong one"]
    anybody.press("A strong one", then="Address to cite")
    anybody.press("Compare them", then="On the dev queries")
    facts = anybody.page.locator("dl.facts").first.inner_text().split("\n")
    assert facts[facts.index("FIRST IS BETTER" if "FIRST IS BETTER" in facts else "First is better") + 1] == "3"
    # A version back.
    anybody.go(reverse("boards:versions", args=[board.slug]))
    anybody.press("Version 2", then="What changed")
    anybody.press("Version 1", then="The start.")
    # The feed, and everything as files: a script makes the same page of them.
    feed = anybody.context.request.get(reverse("boards:atom", args=[board.slug]))
    entries = ElementTree.fromstring(feed.body()).findall("{http://www.w3.org/2005/Atom}entry")
    assert len(entries) >= 3
    packed = anybody.context.request.get(reverse("boards:everything", args=[board.slug])).body()
    (tmp_path / "board.zip").write_bytes(packed)
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        opened.extract("board_page.py", tmp_path)
    for query in ("", "sort=-dev", "type=reranking"):
        page = anybody.context.request.get(f"{reverse('boards:board', args=[board.slug])}?{query}").body()
        command = [sys.executable, "-I", str(tmp_path / "board_page.py"), str(tmp_path / "board.zip"), query]
        made = subprocess.run(command, capture_output=True, check=True).stdout
        assert made == page, query
    assert "unheard-of" not in page.decode() and hidden.run_id not in page.decode()


def _names(collection: Collection) -> Iterator[str]:
    """A run with a passage on top that nobody has judged."""
    yield new_run(collection, "later", {"q1": ["p0"]}).name
