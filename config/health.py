"""Whether this process can serve, and whether jobs are done. Answers within two seconds, whatever hangs."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Generic, TypeVar

from django.conf import settings
from django.core.files.storage import FileSystemStorage, storages
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from redis import Redis

from core.job_status import JobStatus, read_status, redis_at
from core.roles import Right, needs

PATIENCE = 1.5  # seconds in which all parts must have answered
FRESH = 1.0  # seconds for which an answer is given again: many may ask, and the parts are not asked more often
Answer = TypeVar("Answer")


@needs(Right.PUBLIC)
def healthz(_request: HttpRequest) -> HttpResponse:
    """Whether this process reaches its database and Redis, for load balancers: 200, or 503 naming what is down.

    It also says how the jobs are, but stays 200 without them, because pages do not need them.
    """
    parts, down, _jobs = _look()
    return JsonResponse({"ok": not down, "down": down, "parts": parts}, status=503 if down else 200)


@needs(Right.PUBLIC)
def healthz_all(_request: HttpRequest) -> HttpResponse:
    """Whether everything works, for alarms and for people: also 503 if files cannot be stored, or jobs are late."""
    question, ends = _STORAGE.ask(), time.monotonic() + PATIENCE
    parts, down, jobs = _look()
    try:
        _STORAGE.answer(question, ends - time.monotonic())
        parts["storage"] = "answers"
    except Exception as error:
        down.append("storage")
        parts["storage"] = _in_words(error)
    down += jobs
    return JsonResponse({"ok": not down, "down": down, "parts": parts}, status=503 if down else 200)


def job_notice(_request: HttpRequest) -> dict[str, object]:
    """For the workplace's pages, which ask only where they show it: `job_problems`."""
    return {"job_problems": job_problems}


def job_problems() -> list[str]:
    """What keeps jobs from running that ran before, a sentence each. Empty while that cannot be known."""
    try:
        status = REDIS.answer(REDIS.ask(), PATIENCE)
    except Exception:
        return []
    return [] if status.beat_at is None else status.problems(time.time())


def _look() -> tuple[dict[str, str], list[str], list[str]]:
    """Every part in words, the names of those that are down, and `jobs` if they are."""
    ends = time.monotonic() + PATIENCE
    questions = _DATABASE.ask(), REDIS.ask()
    parts, down, jobs = {"web": "answers"}, [], []
    try:
        _DATABASE.answer(questions[0], ends - time.monotonic())
        parts["database"] = "answers"
    except Exception as error:
        down.append("database")
        parts["database"] = _in_words(error)
    try:
        status = REDIS.answer(questions[1], ends - time.monotonic())
        parts["redis"] = "answers"
        now = time.time()
        problems = status.problems(now)
        jobs = ["jobs"] if problems else []
        parts["jobs"] = " ".join(problems) or (
            f"are done; workers alive: {status.workers_alive(now)}, jobs waiting: {sum(status.waiting.values())}"
        )
    except Exception as error:
        down.append("redis")
        parts["redis"] = _in_words(error)
        parts["jobs"] = "are not known while Redis is down"
        jobs = ["jobs"]
    return parts, down, jobs


def _in_words(error: Exception) -> str:
    """The public wording: no addresses, and no names of databases or folders."""
    if isinstance(error, Unanswered):
        return str(error)
    cause = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    return f"cannot be reached ({type(error).__name__}{cause})"


class Unanswered(Exception):
    """A part has not answered in time."""


class _Question(Generic[Answer]):
    def __init__(self) -> None:
        self.asked_at = time.monotonic()
        self.answered = threading.Event()
        self.answer: Answer | None = None
        self.error: Exception | None = None


class Part(Generic[Answer]):
    """A part of the installation, asked by one thread at a time: what hangs holds that thread, and nobody else."""

    def __init__(self, question: Callable[[], Answer]) -> None:
        self._question = question
        self._lock = threading.Lock()
        self._last: _Question[Answer] | None = None

    def ask(self) -> "_Question[Answer]":
        """Ask now, unless an answer is on its way, or fresh."""
        with self._lock:
            last = self._last
            if last is not None and (not last.answered.is_set() or time.monotonic() - last.asked_at < FRESH):
                return last
            self._last = _Question()
            threading.Thread(target=self._find_out, args=(self._last,), name="health", daemon=True).start()
            return self._last

    def answer(self, question: "_Question[Answer]", seconds: float) -> Answer:
        """The answer, or the exception that came instead. Raises Unanswered if there is none within so many seconds."""
        if not question.answered.wait(max(0.0, seconds)):
            raise Unanswered(f"has not answered for {time.monotonic() - question.asked_at:.0f} seconds")
        if question.error is not None:
            raise question.error
        assert question.answer is not None
        return question.answer

    def _find_out(self, question: "_Question[Answer]") -> None:
        try:
            question.answer = self._question()
        except Exception as error:
            question.error = error
        question.answered.set()


def _ask_database() -> bool:
    try:
        with connection.cursor() as cursor:  # this thread's own connection
            cursor.execute("SELECT 1")
        return True
    finally:
        connection.close()


def _ask_storage() -> bool:
    """Ask for a file that need not be there; in a folder, also write one that vanishes."""
    storage = storages["default"]
    storage.exists("health")
    if isinstance(storage, FileSystemStorage):
        folder = Path(storage.location)
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
    return True


def _ask_redis() -> JobStatus:
    redis: Redis = redis_at(settings.REDIS_URL)
    with redis:
        return read_status(redis)


_DATABASE = Part(_ask_database)
REDIS = Part(_ask_redis)
_STORAGE = Part(_ask_storage)
