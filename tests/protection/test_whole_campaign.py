"""The whole campaign on whole runs, over HTTP, judged by a mixed crowd: careful, careless, leaving, late, clumsy."""

import json
import os
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from evaluation.files.preferences import Preference, read_preferences
from evaluation.judging.equal_texts import normalize_text
from evaluation.judging.tournament import derive
from judgments import selectors as judgment_selectors
from judgments.behaviour import behaviour
from judgments.evidence import Evidence
from judgments.models import Acceptance, Judgment
from pools.models import Campaign, Pair
from simulation import demonstration
from simulation.crowd import Answers, Habits, Tally, judge
from tasks import services as task_services
from tasks.models import Assignment, Hit
from tasks.selectors import least_seconds
from tests import factories
from tests.conftest import RunningSite, running_site

FOUR = "pash_f3 NLE_P_v1 yorku21_a bcai_p_vbert".split()
QUERIES = 20  # of each collection: enough work for all that a crowd does to happen
MIXED = Habits(
    errors=0.0, careless=0.2, leavers=0.15, late=0.15, double_clicks=0.1, reloads=0.1, second_thoughts=0.1, most_hits=3
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the site of these tests stores files."""
    return str(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def running(django_db_setup: None, stored: str) -> Iterator[RunningSite]:
    """One site for all tests here, whose database each of them leaves empty."""
    with running_site(stored) as started:
        yield started


@pytest.fixture
def site(transactional_db: None, running: RunningSite, stored: str, settings: Any) -> RunningSite:
    settings.MEDIA_ROOT, settings.SITE_URL = stored, running.url
    return running


def quiet(_step: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


def opened(folder: demonstration.Folder) -> Campaign:
    demonstration.accounts()
    collection = demonstration.load(folder, quiet)
    campaign = demonstration.open_campaign(collection, folder, folder.name, quiet)
    if campaign.state == Campaign.State.DRAFT:  # somebody reads what is suggested
        tests = campaign.test_pairs.all()
        task_services.test_pairs_decide(test_pairs=tests, confirm=True, by=None, at=timezone.now())
        campaign = demonstration.open_campaign(collection, folder, folder.name, quiet, is_simulated=True)
    return campaign


def oracle_for(campaign: Campaign, path: Path) -> list[Preference]:
    """The oracle's opinion on each pair of the campaign, once."""
    answers = Answers(read_preferences(path))
    pairs = Pair.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "a__pid", "b__pid")
    return sorted(Preference(qid, a, b, answers.preferred(qid, a, b)) for qid, a, b in pairs)


def assert_sound(campaign: Campaign) -> None:
    """What must hold of every campaign that a faithful crowd has finished."""
    pairs = Pair.objects.filter(pool__campaign=campaign)
    per_pair = Counter(Acceptance.objects.filter(pair__in=pairs).values_list("pair", flat=True))
    assert per_pair == judgment_selectors.slots_of(pairs)
    assert set(per_pair.values()) == {1, 2}  # some are judged by a second person, too
    by_worker = Judgment.objects.filter(assignment__campaign=campaign, item__pair__isnull=False).values_list(
        "assignment__worker", "item__pair", "assignment"
    )
    assert max(Counter((worker, pair) for worker, pair, _assignment in set(by_worker)).values()) == 1
    for excluded in campaign.assignments.filter(verdict=Assignment.Verdict.EXCLUDED):
        redone = Assignment.objects.filter(hit=excluded.hit, verdict=Assignment.Verdict.ACCEPTED)
        assert redone.exclude(worker=excluded.worker).exists()
    assert not Hit.objects.filter(campaign=campaign, needed__gt=0).exists()


@pytest.mark.timeout(400)
def test_a_mixed_crowd_ends_at_the_oracles_tournament(
    site: RunningSite, data: Path, tmp_path: Path, settings: object
) -> None:
    settings.VAR = tmp_path  # type: ignore[attr-defined]
    whole = demonstration.folder_at(data)
    four = (
        whole.runs[::4] if data.name == "made-up" else [path for path in whole.runs if path.name.split(".")[0] in FOUR]
    )
    judged = tmp_path / whole.qrels.name
    judged.write_text("".join(whole.qrels.read_text().splitlines(keepends=True)[:QUERIES]))
    folder = whole._replace(runs=tuple(four), qrels=judged)
    assert len(folder.runs) == 4
    campaign = opened(folder)
    assert (campaign.order, campaign.design) == ("score", "all_pairs")
    oracle = oracle_for(campaign, data / "oracle-preferences.txt.gz")

    tally = judge(campaign=campaign, preferences=oracle, url=site.url, workers=8, habits=MIXED, seed=61)

    assert tally.counts["pairs without a preference in the file"] == 0
    assert_sound(campaign)
    seconds = behaviour(campaign).seconds
    assert seconds is not None
    assert least_seconds(campaign) < seconds < 300  # as if people had read
    for happened in ("left early", "came back late", "double clicks", "reloads", "second thoughts"):
        assert tally.counts[happened], f"the crowd never showed: {happened}"
    assert campaign.assignments.filter(verdict=Assignment.Verdict.EXCLUDED).exists()
    expected = derive(Evidence(campaign).pools, oracle)
    texts = dict(campaign.collection.passages.values_list("pid", "text"))
    ids_of = defaultdict[str, list[str]](list)  # the data have equal texts under several ids
    for pid, text in texts.items():
        ids_of[normalize_text(text)].append(pid)
    every = sorted((query, pid) for query, best in expected.qrels for pid in ids_of[normalize_text(texts[best])])
    assert len(every) > len(expected.qrels)
    files = factories.exported(campaign)
    assert files["preference-qrels.txt"].decode() == "".join(f"{query} 0 {pid} 1\n" for query, pid in every)
    slots = judgment_selectors.slots_of(Pair.objects.filter(pool__campaign=campaign))
    times = {
        (pair.pool.query.qid, pair.a.pid, pair.b.pid): slots[pair.pk]
        for pair in Pair.objects.filter(pk__in=slots).select_related("pool__query", "a", "b")
    }
    assert files["preferences.txt"].decode() == "".join(f"{q} {a} {b} {p}\n" * times[q, a, b] for q, a, b, p in oracle)
    assert factories.exported(campaign) == files


@pytest.mark.timeout(400)
def test_nothing_acknowledged_is_lost_when_the_web_process_is_killed_again_and_again(
    site: RunningSite, tmp_path: Path, settings: object
) -> None:
    settings.VAR = tmp_path  # type: ignore[attr-defined]
    folder = demonstration.folder_at(Path(__file__).parents[2] / "demo")
    campaign = opened(folder._replace(runs=folder.runs[:4]))
    assert folder.preferences is not None
    oracle = oracle_for(campaign, folder.preferences)
    log = tmp_path / "acknowledged.jsonl"
    ended = threading.Event()
    kills = 0

    def kill_now_and_then() -> None:
        nonlocal kills
        heard = 0
        while not ended.wait(0.02):
            choices = len(log.read_text().splitlines()) if log.exists() else 0
            pid = site.process.pids().get("web")
            if pid is not None and kills < 3 and choices >= heard + 20:
                # The master and its workers are one group: none of them gets to say goodbye.
                os.killpg(os.getpgid(pid), signal.SIGKILL)
                kills += 1
                heard = choices

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        tally = judge(
            campaign=campaign,
            preferences=oracle,
            url=site.url,
            workers=6,
            habits=MIXED._replace(late=0.0),
            seed=5,
            acknowledged=log,
        )
    finally:
        ended.set()
        killer.join()

    assert kills == 3
    assert tally.counts["requests tried again"] > 0
    assert_kept(log, tally)
    assert_sound(campaign)


def assert_kept(log: Path, tally: Tally) -> None:
    """Every choice that a page acknowledged stands in the database, in its place among the choices on that item."""
    acknowledged: dict[tuple[int, int], list[str]] = {}
    for line in log.read_text().splitlines():
        record = json.loads(line)
        acknowledged.setdefault((record["assignment"], record["position"]), []).append(record["preferred"])
    assert sum(map(len, acknowledged.values())) == tally.counts["choices"] > 0
    for (assignment, position), sides in acknowledged.items():
        stored = list(
            Judgment.objects.filter(assignment=assignment, item__position=position)
            .order_by("id")
            .values_list("preferred", flat=True)
        )
        assert stored, f"assignment {assignment}, item {position}: acknowledged {sides}, and nothing is stored"
        assert stored[-1] == sides[-1]
        assert set(sides) <= set(stored)
