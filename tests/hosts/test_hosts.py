"""A campaign is judged on several hosts while they die: nothing acknowledged is lost, and nothing is paid twice."""

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.databases import EMPTY_TABLES
from tests.hosts import servers
from tests.hosts.cluster import CLOCKS, JOBS, NAMES, WEB, Cluster
from tests.hosts.network import lacking, network
from tests.hosts.world import LINK, MARKETPLACE
from tests.marketplace.server import Marketplace
from tests.storm.weather import doubled
from tests.tied import tied
from tests.upgrades import DATABASE

LAST, COMMIT = "0.2.0", "23a1ad45c8c433683e20ab99fb67984938db759a"  # the release before this version
# How many work by link at a time, and for how many seconds each trouble lasts: `make hosts` has 500 for an hour.
PEOPLE, SECONDS = int(os.environ.get("HOSTS_PEOPLE", "3")), float(os.environ.get("HOSTS_SECONDS", "1"))
PAIRS = int(os.environ.get("HOSTS_PAIRS", "400"))
TAKEOVER_SECONDS = 60


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """The files of the last release, with this version's simulated people; all this version's where the clone has not
    so much history.
    """
    folder = tmp_path / "released"
    folder.mkdir()
    archive = subprocess.run(["git", "archive", COMMIT], cwd=REPOSITORY, capture_output=True, check=False)
    if archive.returncode:
        print(f"the commit {COMMIT} of version {LAST} is not in this clone: no version is rolled to the next")
        return REPOSITORY
    subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
    for part in ("local", "simulation", "tests/hosts"):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).symlink_to(REPOSITORY / part)
    return folder


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """The hosts with their servers, a marketplace that they reach, and the tables of the last release, empty."""
    if reason := lacking() or servers.lacking():
        pytest.skip(reason)
    with TemporaryDirectory(prefix="bestknown-hosts-") as path, network(NAMES, folder := Path(path)) as hosts:
        folder.chmod(0o711)  # other accounts pass through it, which no folder of pytest's allows
        environment = {"OPEN_REGISTRATION": "1", "RATE_LIMITS": "0", "ALLOWED_HOSTS": hosts.address}
        environment = {f"MARKETPLACE_{name}": value for name, value in environment.items()}
        marketplace = Marketplace(folder, address=hosts.address, **environment)
        try:
            running = Cluster(hosts, folder, marketplace)
            with zipfile.ZipFile(REPOSITORY / "tests" / "upgrades" / f"{LAST}.zip") as archive:
                servers.execute(running.primary.url, archive.read(DATABASE).decode())
            running.primary.execute(EMPTY_TABLES, database="bestknown")
            running.have_standby()
            yield running
        finally:
            marketplace.stop()


class Crowd:
    """A program of simulated people at work on a campaign, on whose tables a version looks."""

    def __init__(self, cluster: Cluster, campaign: str, people: int, version: Path) -> None:
        self.log = cluster.folder / f"{campaign}.acknowledged"
        self.errors = cluster.folder / f"{campaign}.log"
        command = [sys.executable, "-m", "tests.hosts.crowd", campaign, str(people), str(self.log)]
        environment = cluster.environment | {"DJANGO_SETTINGS_MODULE": "tests.hosts.settings"}
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                tied(command), cwd=version, env=environment, stdout=subprocess.PIPE, stderr=errors
            )

    def acknowledged(self) -> list[dict[str, Any]]:
        """The choices that pages said were saved. The last line may be half written. Raises what went wrong."""
        assert not self.process.poll(), self.errors.read_text()[-5000:]
        lines = self.log.read_text().split("\n")[:-1] if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def send_away(self) -> Counter[str]:
        """Have them stop in the midst of what they do. What they did."""
        self.process.terminate()
        return self.finish()

    def finish(self) -> Counter[str]:
        """Wait until all is done, and paid. What they did. Raises what went wrong with somebody."""
        output, _errors = self.process.communicate(timeout=600 + SECONDS)
        assert self.process.returncode == 0, self.errors.read_text()[-5000:]
        return Counter(json.loads(output.splitlines()[-1]))


@contextmanager
def crowds(cluster: Cluster, version: Path) -> Iterator[tuple[Crowd, Crowd]]:
    """People by link and people at the marketplace, until the block ends."""
    by_link = Crowd(cluster, LINK, PEOPLE, version)
    running = by_link, Crowd(cluster, MARKETPLACE, max(2, PEOPLE // 10), version)
    try:
        yield running
    finally:
        for crowd in running:
            crowd.process.kill()
            crowd.process.wait()


def lost(cluster: Cluster, acknowledged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The acknowledged choices that are no row."""
    stored = cluster.primary.execute(
        "SELECT assignment_id, position, preferred FROM judgments_judgment j JOIN tasks_item i ON i.id = j.item_id",
        database="bestknown",
    )
    stored = set(stored)
    return [choice for choice in acknowledged if tuple(choice.values()) not in stored]


@pytest.mark.timeout(3 * 3600)
def test_hosts_die_and_nothing_is_lost_or_paid_twice(cluster: Cluster, released: Path) -> None:
    started, figures = time.monotonic(), {}
    for name in (*WEB, *JOBS, CLOCKS[0]):
        cluster.start(name, released)
    cluster.start_proxy()
    if released == REPOSITORY:
        cluster.migrate(REPOSITORY)
    cluster.make_campaigns(PAIRS, released)
    for name in WEB:
        cluster.wait_for(name)

    with crowds(cluster, released) as (by_link, at_marketplace), ThreadPoolExecutor(1) as pool:

        def work_after(what: str) -> None:
            """Note when something has happened, and let people go on for a while. They must get somewhere."""
            figures[what] = time.monotonic() - started
            before = len(by_link.acknowledged())
            time.sleep(SECONDS)
            going_on = cluster.wait(lambda: len(by_link.acknowledged()) > before + PEOPLE, f"work after {what}")
            figures[f"choices after {what}"] = (len(by_link.acknowledged()) - before) / (SECONDS + going_on)

        work_after("the last release serves")
        cluster.migrate(REPOSITORY)
        work_after("the last release serves from this version's tables")
        for name in (*WEB, *JOBS, CLOCKS[0]):
            cluster.replace(name, REPOSITORY)
        cluster.wait(cluster.clock, "the first clock runs")
        holder = cluster.clock()
        cluster.start(CLOCKS[1], REPOSITORY)
        work_after("this version is rolled out")
        cluster.network[CLOCKS[0]].crash()
        taken_over = pool.submit(
            cluster.wait, lambda: cluster.clock() not in ("", holder), "the other clock takes over"
        )
        cluster.network[WEB[0]].cut()
        work_after("a web host is cut off")
        cluster.network[JOBS[0]].crash()
        work_after("a host of jobs is dead")
        cluster.fail_over()
        work_after("the database is dead")
        takeover = taken_over.result()
        cluster.network[WEB[0]].mend()
        work_after("the web host is back")
        did = at_marketplace.finish()
        figures["all is paid"] = time.monotonic() - started
        did += by_link.send_away()
    choices = by_link.acknowledged()
    figures |= {"takeover": takeover, "choices": len(choices)} | did
    print("\n".join(f"{value:10,.1f} {what}" for what, value in figures.items()))
    assert lost(cluster, choices) == []
    assert doubled(cluster.publication(), cluster.marketplace) == []
    assert did["handed in"] > 0
    assert did["requests that had to be tried again and again"] == 0
    assert takeover < TAKEOVER_SECONDS
