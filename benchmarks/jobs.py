"""What a member asks for at the largest size: uploading a run, creating a campaign, packing it.

The pages are asked on the site as production runs it, and must answer at once; the jobs that do the work run here. What
is judged is the CPU of web processes and PostgreSQL together, and for the upload the memory of the web processes, since
the file must pass through them without being held.
"""

import argparse
import http.client
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.packing import PAIRS, QUERIES, sizes
from benchmarks.results import RUNS, cookie_of, cpu_of, largest_of, postmaster, ranked, verdict
from benchmarks.servers import own_servers, own_site

if TYPE_CHECKING:
    from pools.models import Collection

HITS = 1000  # of each query of the uploaded run
LIMIT_CPU = 0.2  # seconds for each page
LIMIT_PEERS = 8  # pages of the same site that are the same at any size, where the machine is too busy for the seconds
PEERS = 40
ASKED = 3
LIMIT_MEGABYTES = 30  # that an upload adds to the largest web process
TOKEN = "t" * 32
BOUNDARY = "bestknown-bench"


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a page takes too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description=__doc__)
    parser.add_argument("--small", action="store_true", help="a hundredth of it, as a quick check")
    share = 100 if parser.parse_args(arguments).small else 1
    with own_servers() as folder:
        _vacuum_nothing()
        collection = _collection(folder, QUERIES // share, PAIRS // share)
        with own_site() as (port, site):
            return _measure(port, site.pids()["web"], collection, folder)


def _collection(folder: Path, queries: int, pairs: int) -> "Collection":
    from tests import factories

    pool_sizes = sizes(queries, pairs)
    return factories.collection(
        folder,
        in_lab=factories.lab("bench"),
        qrels={f"q{query}": [f"q{query}-0"] for query in range(queries)},
        tops={f"run{number}": dict(ranked(number, pool_sizes)) for number in range(RUNS)},
    )


def _measure(port: int, web: int, collection: "Collection", folder: Path) -> int:
    from pools import background
    from pools.models import Campaign, Job
    from tasks import services as task_services
    from tasks.models import TestPair

    cookie = f"{cookie_of(collection, 'member')}; csrftoken={TOKEN}"
    asking = _Asking(port, cookie, web)
    for _time in range(20):  # each web process has loaded what every page needs
        asking.ask("GET", "/runs/new/")
        asking.ask("GET", f"/campaigns/new/?collection={collection.pk}")
    asking.measure_peer("/runs/new/")
    passed = True

    run = _run_file(folder, collection)
    memory = largest_of(web)
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    seconds = asking.ask("POST", "/runs/new/", _multipart(collection, run), kind)
    grown = largest_of(web) - memory
    job = Job.objects.get()
    mine = _cpu_here(lambda: background.job_do(job_id=job.pk))
    job.refresh_from_db()
    assert job.state == Job.State.DONE, job.error
    passed &= grown <= LIMIT_MEGABYTES
    print(
        f"{verdict(grown <= LIMIT_MEGABYTES)}: uploading a run of {run.stat().st_size / 1e6:,.0f} MB: {seconds:.2f} s "
        f"of CPU and {grown} MB more in the largest web process; its job takes {mine:.2f} s of CPU"
    )
    collection.runs.get(name=job.name).delete()

    sent = urlencode(_settings(collection), doseq=True).encode()
    address = f"/campaigns/new/?collection={collection.pk}"
    passed &= asking.judge("asking for the campaign", "POST", address, [sent])
    job = Job.objects.latest("id")
    passed &= asking.judge("the page of its progress", "GET", f"/jobs/{job.pk}/")
    mine = _cpu_here(lambda: background.job_do(job_id=job.pk))
    campaign = Campaign.objects.get()
    print(f"creating it, {campaign.pair_count:,} pairs: {mine:.1f} s of CPU in the job")
    TestPair.objects.bulk_create(
        TestPair(campaign=campaign, question=f"{n}", relevant_text=f"r{n}", off_topic_text=f"o{n}", state="confirmed")
        for n in range(30)
    )
    _analyze()
    page = f"/campaigns/{campaign.pk}/"
    passed &= asking.judge("the draft's page", "GET", page)
    passed &= asking.judge("starting it", "POST", f"{page}start/", [b""])
    passed &= asking.judge("its page while it waits for packing", "GET", page)
    mine = _cpu_here(lambda: task_services.campaign_pack(campaign_id=campaign.pk))
    _analyze()
    print(f"packing {campaign.hits.count():,} HITs: {mine:.1f} s of CPU in the job")
    passed &= asking.judge("its page once it is open", "GET", page)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"the jobs' process had {most} MB at most, this benchmark's own data included")
    return 0 if passed else 1


class _Asking:
    """Asks pages, and measures what they cost."""

    def __init__(self, port: int, cookie: str, web: int) -> None:
        self.port = port
        self.cookie = cookie
        self.web = web
        self.database = postmaster()
        self.peer = 0.0

    def ask(
        self, method: str, path: str, body: Sequence[bytes | Path] = (), kind: str = "application/x-www-form-urlencoded"
    ) -> float:
        """CPU seconds."""
        before = cpu_of(self.web, self.database)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Cookie": self.cookie, "Host": "localhost", "X-CSRFToken": TOKEN}
        if method == "POST":
            length = sum(part.stat().st_size if isinstance(part, Path) else len(part) for part in body)
            headers |= {"Content-Type": kind, "Content-Length": str(length)}
        connection.request(method, path, body=_parts(body), headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status in (200, 303), (path, answer.status, text[-3000:])
        assert method == "GET" or answer.status == 303, text
        return cpu_of(self.web, self.database) - before

    def measure_peer(self, path: str) -> None:
        """What one page costs that is the same whatever the size: how fast this machine is now."""
        self.peer = sum(self.ask("GET", path) for _time in range(PEERS)) / PEERS
        print(f"the peer, {path}: {self.peer * 1000:.0f} ms of CPU")

    def judge(self, what: str, method: str, path: str, body: Sequence[bytes] = ()) -> bool:
        """Whether a page costs no more than it may: in the median of a few times, if nothing is changed by asking."""
        times = ASKED if method == "GET" else 1
        seconds = statistics.median(self.ask(method, path, body) for _time in range(times))
        good = seconds <= max(LIMIT_CPU, LIMIT_PEERS * self.peer)
        print(f"{verdict(good)}: {what}: {seconds:.2f} s of CPU, {seconds / self.peer:.1f} peers")
        return good


def _parts(body: Sequence[bytes | Path]) -> Iterator[bytes]:
    for part in body:
        if isinstance(part, bytes):
            yield part
        else:
            with part.open("rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk


def _cpu_here(act: Callable[[], object]) -> float:
    """Seconds of CPU of this process and PostgreSQL."""
    database = postmaster()
    before = time.process_time() + cpu_of(database)
    assert act()
    return time.process_time() + cpu_of(database) - before


def _run_file(folder: Path, collection: "Collection") -> Path:
    path = folder / "large.txt"
    with path.open("w") as file:
        for query in range(collection.queries.count()):
            file.writelines(f"q{query} Q0 q{query}-x{rank} {rank} {HITS - rank} large\n" for rank in range(1, HITS + 1))
    return path


def _multipart(collection: "Collection", run: Path) -> list[bytes | Path]:
    def field(name: str, value: str) -> bytes:
        return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()

    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{run.name}"\r\n\r\n'.encode()
    fields = [field("csrfmiddlewaretoken", TOKEN), field("collection", str(collection.pk))]
    return [*fields, head, run, f"\r\n--{BOUNDARY}--\r\n".encode()]


def _settings(collection: "Collection") -> dict[str, object]:
    from pools.forms import CampaignForm

    form = CampaignForm(collection=collection)
    sent = {name: form[name].value() for name in form.fields}
    sent |= {"name": "largest", "runs": [run.pk for run in collection.runs.all()]}
    return {name: value for name, value in sent.items() if value is not None and value is not False}


def _vacuum_nothing() -> None:
    """Nothing that PostgreSQL does by itself is to be counted."""
    from django.db import connection

    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = false)')


def _analyze() -> None:
    """What PostgreSQL does by itself within a minute."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
