"""How a measurement is declared, the servers it may use, and how processor time and memory are counted.

A measurement is a decorated function that yields rows:

    @measurement
    def packing(bench: Bench) -> Iterator[Row]:
        yield Row("packing", ours=cost(pack), peer=cost(pack_plainly), limit=0.7)

Ours and the peer are measured in the same run and in processor time, so that a busy machine slows both.
"""

import gc
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

# The largest design of the paper. Other sizes are shares of it.
QUERIES = 6_980
PAIRS = 141_887
RUNS = 16
SHARES = {"full": 1, "small": 10, "tiny": 500}


@dataclass(frozen=True)
class Row:
    """`ours` may be at most `limit` times `peer`. Both are in `unit`; where that is "s", seconds of processor time."""

    what: str
    ours: float
    peer: float
    limit: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / max(self.peer, 1e-9)

    @property
    def passed(self) -> bool:
        return self.ratio <= self.limit


class NotMeasured(Exception):
    """Something that a measurement needs cannot be had on this machine. The message says what."""


Measurement = Callable[["Bench"], Iterator[Row]]
MEASUREMENTS: dict[str, Measurement] = {}


def measurement(function: Measurement) -> Measurement:
    """Add a measurement under the function's name."""
    MEASUREMENTS[function.__name__] = function
    return function


class Bench:
    """The size of this run, and a folder that lasts as long as it. PostgreSQL and Redis are in it once started."""

    def __init__(self, size: str) -> None:
        self.size = size
        self.share = SHARES[size]
        self.queries = QUERIES // self.share
        self.pairs = PAIRS // self.share
        self.more_queries = min(QUERIES, 5 * self.queries)  # where few say little, and many are quick
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stack.close()

    @cached_property
    def folder(self) -> Path:
        place = tempfile.TemporaryDirectory(prefix="bestknown-bench-", ignore_cleanup_errors=True)
        folder = Path(self.stack.enter_context(place))
        folder.chmod(0o755)  # PostgreSQL may run as another account
        return folder

    def start_servers(self) -> None:
        """Start PostgreSQL and Redis, and set Django up with an empty database."""
        os.environ.update(
            BESTKNOWN_VAR=str(self.folder),
            RATE_LIMITS="0",  # all who ask have one address
            SITE_URL="http://localhost:8000",
        )
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        from local import embedded

        embedded.ensure()
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", verbosity=0)
        with connection.cursor() as cursor:  # what PostgreSQL does in the background is not to be counted
            cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
            for (table,) in cursor.fetchall():
                cursor.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = false)')

    @cached_property
    def site(self) -> "Server":
        """The web server as production runs it, without jobs."""
        from local.supervisor import Site
        from tests.ports import free_port

        site = Site(free_port(), with_jobs=False)
        site.start()
        self.stack.callback(site.stop)
        site.wait_until_ready()
        return Server(site.port, site.pids()["web"])


class Server(NamedTuple):
    """A web server: its port and its main process."""

    port: int
    pid: int


def pool_sizes(queries: int, pairs: int) -> list[int]:
    """Sizes of so many pools whose pairs add up to `pairs` or a little more, 17 passages at most."""
    random = Random(1)
    drawn = [1 + min(15, int(random.gammavariate(3.6, 1.45))) for _ in range(queries)]
    while sum(size * (size - 1) // 2 for size in drawn) < pairs:
        at = random.randrange(queries)
        drawn[at] = min(17, drawn[at] + 1)
    return drawn


# --- processor time and memory


def cost(work: Callable[[], object], *servers: int, rounds: int = 1, here: bool = True) -> float:
    """Seconds of processor time of the servers, given by their main processes, and of this process and those that it
    starts and waits for, unless it only asks the servers. The least of a few rounds.
    """

    def spent() -> float:
        return tree_seconds(*servers) + (_seconds_here() if here else 0)

    seconds = []
    if here:
        gc.collect()
        gc.freeze()  # what was there before is not to be searched for garbage
    for _ in range(rounds):
        before = spent()
        work()
        seconds.append(spent() - before)
    gc.unfreeze()
    return min(seconds)


def _seconds_here() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def tree_seconds(*roots: int) -> float:
    """Seconds of processor time that processes, and all below them, have used: those that have ended since, too."""
    ticks, nanoseconds = 0, 0
    for pid in (pid for root in roots for pid in _family(root)):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended, and its parent counts it
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]))
            for schedule in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                nanoseconds += int(schedule.read_text().split()[0])
    return ticks / os.sysconf("SC_CLK_TCK") + nanoseconds / 1e9


def peak_megabytes(root: int) -> float:
    """The most that one of these processes has had in memory."""
    peaks = [0.0]
    for pid in _family(root):
        with suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            peaks += [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")]
    return max(peaks)


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    children: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            children += map(int, file.read_text().split())
    return [pid, *(below for child in children for below in _family(child))]


def postmaster() -> int:
    """The main process of PostgreSQL."""
    (file,) = Path(os.environ["BESTKNOWN_VAR"]).rglob("postmaster.pid")
    return int(file.read_text().split()[0])


class Used(NamedTuple):
    """Seconds of processor time; the most memory in megabytes, before the work and after it; and what it returned."""

    seconds: float
    before: float
    peak: float
    result: object

    @property
    def grown(self) -> float:
        return self.peak - self.before


def in_new_process(work: Callable[..., object], *arguments: object) -> Used:
    """What a function costs in a process of its own, in which Django is set up if it is here."""
    with multiprocessing.get_context("spawn").Pool(1, _set_up) as pool:
        return pool.apply(_use, (work, arguments))


def _set_up() -> None:
    if "DATABASE_URL" in os.environ:
        import django

        django.setup()


def _use(work: Callable[..., object], arguments: tuple[object, ...]) -> Used:
    before, started = peak_megabytes(os.getpid()), _seconds_here()
    result = work(*arguments)
    return Used(_seconds_here() - started, before, peak_megabytes(os.getpid()), result)
