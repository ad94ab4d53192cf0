"""What the clock, the workers and the jobs last did. Each writes it into Redis itself, so a fresh entry is proof.

Nothing of Django is imported here: a container's check reads this within a fraction of a second.
"""

import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from redis import Redis

JOBS = "bestknown:jobs"  # a hash: what the clock and the jobs of each kind last did
WORKERS = "bestknown:workers"  # a sorted set: each worker by the time at which it last reported
SERVED = "bestknown:queues"  # a sorted set: each queue by the time at which a worker that takes from it last reported
TOTALS = "bestknown:totals"  # a hash: how many jobs of each kind ended, how, and in how many seconds
QUEUES = ("money", "default", "compute")  # Celery's own lists of jobs that wait for a worker, by these names
TIMEOUT = 1.0  # seconds for Redis to answer
BEAT_LATE = 300.0  # seconds; the shortest schedule is 15
WORKER_LATE = 60.0
WORKER_EVERY = 10.0
JOB_LATE = 600.0  # besides twice its own schedule: one long job may keep the only worker busy for minutes
FORGET_AFTER = 86_400.0


class Kind(NamedTuple):
    """A kind of job that the clock sends every `every` seconds, in words, and when one last ended well or failed."""

    what: str
    every: float
    ended_at: float | None
    failed_at: float | None
    error: str


class Total(NamedTuple):
    """How many jobs of a name ended so (`succeeded`, `failed`), and how many seconds they took together."""

    job: str
    outcome: str
    ended: int
    seconds: float


@dataclass(frozen=True)
class JobStatus:
    """What Redis holds, with all times in seconds since 1970. `waiting` gives the jobs in each queue.

    `served` gives for each queue when a worker that takes from it last reported.
    """

    waiting: Mapping[str, int]
    beat_started_at: float | None
    beat_at: float | None
    workers: Mapping[str, float]
    served: Mapping[str, float]
    kinds: tuple[Kind, ...]
    totals: tuple[Total, ...]

    def beat_problems(self, now: float) -> list[str]:
        """What is wrong with the clock, a sentence each."""
        if self.beat_at is None:
            return ["The clock (Celery Beat) has not sent a job yet."]
        if now - max(self.beat_at, self.beat_started_at or 0) > BEAT_LATE:
            return [f"The clock (Celery Beat) last sent a job {_ago(now - self.beat_at)}."]
        return []

    def workers_alive(self, now: float) -> int:
        """How many workers have reported within the last minute."""
        return sum(now - at <= WORKER_LATE for at in self.workers.values())

    def worker_problems(self, now: float, host: str) -> list[str]:
        """What is wrong with the worker on one machine. That no job is sent is the clock's fault, not the worker's."""
        reported = self.workers.get(host)
        if reported is None:
            return [f"The worker on {host} has not reported yet."]
        if now - reported > WORKER_LATE:
            return [f"The worker on {host} last reported {_ago(now - reported)}."]
        if self.beat_problems(now) or self.beat_started_at is None or not self.kinds:
            return []
        latest = max(kind.ended_at or 0 for kind in self.kinds)
        silent = now - max(latest, self.beat_started_at)
        soonest = min(kind.every for kind in self.kinds)
        return [f"No job has ended for {_span(silent)}."] if silent > JOB_LATE + 2 * soonest else []

    def problems(self, now: float) -> list[str]:
        """Everything that keeps jobs from running, a sentence each."""
        problems = self.beat_problems(now)
        if not self.workers_alive(now):
            latest = max(self.workers.values(), default=None)
            problems.append(
                "No worker has reported yet."
                if latest is None
                else f"No worker is alive: the last one reported {_ago(now - latest)}."
            )
        else:
            idle = [queue for queue in QUEUES if now - self.served.get(queue, 0) > WORKER_LATE]
            problems += [f"No worker takes jobs from the queue “{queue}”." for queue in idle]
        for kind in self.kinds:
            since = max(kind.ended_at or 0, self.beat_started_at or 0)
            if now - since > JOB_LATE + 2 * kind.every:
                last = "never ended well" if kind.ended_at is None else f"last ended well {_ago(now - kind.ended_at)}"
                failed = "" if kind.failed_at is None else f" It failed {_ago(now - kind.failed_at)}: {kind.error}"
                problems.append(f"“{kind.what}” {last}; it is due every {_span(kind.every)}.{failed}")
        return problems


def broker_url(url: str) -> str:
    """The address under which Celery finds the same database of the same server: it reads none in `?db=`. Over TLS it
    is told to look at the certificate, which the other clients do unasked.
    """
    address = urlsplit(url)
    scheme, path, query = address.scheme, address.path, dict(parse_qsl(address.query, keep_blank_values=True))
    database = query.pop("db", "")
    if scheme == "unix":
        scheme = "redis+socket"
        query |= {"virtual_host": database} if database else {}
    elif database:
        path = f"/{database}"
    if scheme == "rediss":
        query.setdefault("ssl_cert_reqs", "required")
    return f"{scheme}://{address.netloc}{path}" + (f"?{urlencode(query)}" if query else "")


def redis_at(url: str) -> "Redis":
    """A client that waits for no answer longer than `TIMEOUT`."""
    return Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, decode_responses=True)


def read_status(redis: "Redis") -> JobStatus:
    """The status of the jobs. Raises RedisError."""
    with redis.pipeline(transaction=False) as pipe:
        pipe.hgetall(JOBS)
        pipe.zrange(WORKERS, 0, -1, withscores=True)
        pipe.zrange(SERVED, 0, -1, withscores=True)
        pipe.hgetall(TOTALS)
        for queue in QUEUES:
            pipe.llen(queue)
        jobs, workers, served, totals, *lengths = pipe.execute()
    kinds = []
    for name, (what, every) in json.loads(jobs.get("schedule", "{}")).items():
        failed_at, _space, error = jobs.get(f"failed {name}", "").partition(" ")
        kinds.append(Kind(what, every, _time(jobs.get(f"ended {name}")), _time(failed_at), error))
    started, sent = _time(jobs.get("beat started")), _time(jobs.get("beat"))
    waiting = dict(zip(QUEUES, lengths, strict=True))
    return JobStatus(waiting, started, sent, dict(workers), dict(served), tuple(kinds), tuple(_totals(totals)))


def write_beat_started(redis: "Redis", schedule: Mapping[str, tuple[str, float]]) -> None:
    """A clock starts, and may have to wait for another's lease to end.

    `schedule` gives each job's kind in words, and how many seconds lie between two.
    """
    redis.hset(JOBS, mapping={"beat started": time.time(), "schedule": json.dumps(schedule)})


def write_beat(redis: "Redis") -> None:
    """The clock has sent a job."""
    redis.hset(JOBS, "beat", str(time.time()))


def write_job(redis: "Redis", name: str, error: str = "", seconds: float = 0.0) -> None:
    """A job of this name has ended well, or failed, after so many seconds."""
    outcome = "failed" if error else "succeeded"
    with redis.pipeline(transaction=False) as pipe:
        if error:
            pipe.hset(JOBS, f"failed {name}", f"{time.time()} {error[:200]}")
        else:
            pipe.hset(JOBS, f"ended {name}", str(time.time()))
            pipe.hdel(JOBS, f"failed {name}")
        pipe.hincrby(TOTALS, f"count {outcome} {name}", 1)
        pipe.hincrbyfloat(TOTALS, f"seconds {outcome} {name}", seconds)
        pipe.execute()


def write_worker(redis: "Redis", queues: Iterable[str]) -> None:
    """The worker on this machine is alive, and takes from `queues`. Who has been silent for a day is forgotten."""
    now = time.time()
    with redis.pipeline(transaction=False) as pipe:
        pipe.zadd(WORKERS, {socket.gethostname(): now})
        pipe.zadd(SERVED, dict.fromkeys(queues, now))
        pipe.zremrangebyscore(WORKERS, 0, now - FORGET_AFTER)
        pipe.execute()


def _totals(totals: Mapping[str, str]) -> Iterator[Total]:
    for field, count in totals.items():
        what, _space, job = field.partition(" ")
        if what == "count":
            outcome, _space, name = job.partition(" ")
            yield Total(name, outcome, int(count), float(totals.get(f"seconds {job}", 0)))


def _time(text: str | None) -> float | None:
    return float(text) if text else None


def _ago(seconds: float) -> str:
    return f"{_span(seconds)} ago"


def _span(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{int(seconds)} seconds"
