"""What one judged pair costs a server, beside Turkle, a self-hosted clone of Mechanical Turk's workers' pages.

Both run behind gunicorn with the same workers, on one PostgreSQL, and both are asked over HTTP for what browsers ask
for, without static files, by the same few clients. What is compared is the processor time of the web servers and of
PostgreSQL, a pair. They take turns, so that a busy machine slows both.

Turkle is asked as its users would: a task is accepted, its page and the frame in it are opened, the answer is posted,
and the next task is accepted. A task is one pair, since each choice is kept as it is made here; its batch has no more
tasks than are judged, because accepting one locks all that are left. Here a HIT has 10 pairs and 3 test pairs, and what
belongs to the HIT is counted apart: taking it, the instructions, finishing, the check and the receipt. Turkle with all
thirteen on one page, which keeps nothing of half-done work, is measured as well. Neither is judged.

Turkle comes from PyPI into an environment of its own. Where that fails, nothing is measured.
"""

import argparse
import csv
import http.client
import json
import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from benchmarks.processor import tree_seconds
from benchmarks.servers import own_servers

TURKLE = "turkle==3.1.0"
LIMIT = 0.25  # of Turkle's processor time for one pair, shown and saved; the goal is 0.2
CLIENTS = 4
ROUNDS = 3
# In a round: HITs here, each taken by another worker; tasks of one pair, and of thirteen, in Turkle.
HITS, TASKS, PAGES = 40, 200, 20
ITEMS = 13
# About as many words as an MS MARCO passage has.
TEXT = " ".join(["Passage number {} says what it says in about sixty words, as passages on the web do."] * 4)

SETTINGS = """
import json, os
SECRET_KEY, DEBUG, ALLOWED_HOSTS, USE_TZ = "benchmark", False, ["*"], True
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "turkle", "django.contrib.admin", "rest_framework", "rest_framework.authtoken",
    "turkle.api", "guardian", "djaa_list_filter2",
]
MIDDLEWARE = [
    "django.middleware.common.CommonMiddleware", "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware", "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.contrib.auth.context_processors.auth", "django.template.context_processors.request",
        "django.contrib.messages.context_processors.messages", "turkle.utils.turkle_vars",
    ]},
}]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend", "guardian.backends.ObjectPermissionBackend",
]
DATABASES = {"default": json.loads(os.environ["TURKLE_DATABASE"])}
ROOT_URLCONF, WSGI_APPLICATION = "site_urls", "site_wsgi.application"
STATIC_URL, X_FRAME_OPTIONS = "/static/", "SAMEORIGIN"
DEFAULT_AUTO_FIELD, LOGIN_URL = "django.db.models.AutoField", "login"
TURKLE_SITE_NAME, TURKLE_TEMPLATE_LIMIT, TURKLE_EMAIL_ENABLED, META_TAGS = "Turkle", 64, False, []
TURKLE_AUTO_ACCEPT_DEFAULT = True
"""
URLS = """
from django.contrib import admin
from django.urls import include, path
urlpatterns = [
    path("", include("turkle.urls")), path("admin/", admin.site.urls), path("", include("django.contrib.auth.urls")),
]
"""
WSGI = """
from django.core.wsgi import get_wsgi_application
application = get_wsgi_application()
"""
# Workers who are logged in, and a published batch for each CSV file. Prints the cookies and the batches' keys.
PREPARE = """
import json, sys, django
django.setup()
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from turkle.models import Batch, Project
call_command("migrate", verbosity=0)
sessions = []
for number in range(int(sys.argv[1])):
    client = Client()
    client.force_login(
        get_user_model().objects.create_user(f"worker{number}"), backend="django.contrib.auth.backends.ModelBackend"
    )
    sessions.append(client.cookies["sessionid"].value)
batches = []
for name in sys.argv[2:]:
    project = Project(name=name, html_template=open(name + ".html").read())
    project.process_template()
    project.save()
    batch = Batch.objects.create(name=name, project=project, filename=name + ".csv")
    with open(name + ".csv") as rows:
        batch.create_tasks_from_csv(rows)
    batches.append(batch.pk)
print(json.dumps({"sessions": sessions, "batches": batches}))
"""


class Used(NamedTuple):
    """Seconds of processor time, of the web server and of PostgreSQL."""

    web: float
    database: float

    @property
    def both(self) -> float:
        return self.web + self.database


class Server(NamedTuple):
    """A gunicorn, and the PostgreSQL behind it."""

    process: subprocess.Popen[bytes]
    port: int
    postmaster: int

    def used(self, work: Callable[[], object]) -> Used:
        """Do some work, and return what it took."""
        before = Used(tree_seconds(self.process.pid), tree_seconds(self.postmaster))
        work()
        after = Used(tree_seconds(self.process.pid), tree_seconds(self.postmaster))
        return Used(after.web - before.web, after.database - before.database)


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a pair costs too much here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turkle", description=__doc__)
    parser.add_argument("--small", action="store_true", help="one short round each, as a quick check")
    share = 5 if parser.parse_args(arguments).small else 1
    with own_servers(RATE_LIMITS="0") as folder:  # all workers have one address here
        python = _install(folder / "turkle")
        if python is None:
            print(f"not measured: {TURKLE} could not be installed")
            return 0
        rounds = 1 if share > 1 else ROUNDS
        return _compare(folder, python, rounds, HITS // share, TASKS // share, PAGES // share)


def _install(folder: Path) -> Path | None:
    """Turkle in a fresh environment, and the Python that runs it; None where there is no package to be had."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    wanted = [TURKLE, "psycopg2-binary", f"gunicorn=={version('gunicorn')}"]
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    return python if subprocess.run(command, check=False).returncode == 0 else None


def _compare(folder: Path, python: Path, rounds: int, hits: int, tasks: int, pages: int) -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]
        cursor.execute("CREATE DATABASE turkle")
    postmaster = int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])
    rounds += 1  # the first is not counted: it opens connections and compiles templates
    homes = _our_workers(folder, hits, rounds)
    site, environment = folder / "site", os.environ | _turkle_environment(folder)
    batches = {"pair": (rounds * tasks + CLIENTS, 1), "page": (rounds * pages + CLIENTS, ITEMS)}
    told = _prepare_turkle(site, python, environment, batches)
    connection.close()

    ours = _serve(sys.executable, "config.wsgi:application", os.environ, Path.cwd(), postmaster)
    theirs = _serve(str(python), "site_wsgi:application", environment, site, postmaster)
    try:
        for server, path in ((ours, "/healthz"), (theirs, "/login/")):
            _wait_for(server, path)
        return _take_turns(ours, theirs, homes, told, rounds, hits, tasks, pages)
    finally:
        for server in (ours, theirs):
            server.process.terminate()
            server.process.wait()


def _take_turns(
    ours: Server, theirs: Server, homes: Sequence[str], told: Any, rounds: int, hits: int, tasks: int, pages: int
) -> int:
    batches = {"pair": (told["batches"][0], tasks // CLIENTS), "page": (told["batches"][1], pages // CLIENTS)}
    people = [_TurkleWorker(theirs.port, session) for session in told["sessions"]]
    parts: dict[str, list[Used]] = {name: [] for name in ("taking", "judging", "finishing", *batches)}
    for turn in range(rounds):
        workers = [_Worker(ours.port, home) for home in homes[turn * hits : (turn + 1) * hits]]
        for name, do in (("taking", _Worker.take), ("judging", _Worker.judge), ("finishing", _Worker.finish)):
            parts[name].append(ours.used(partial(_all_at_once, workers, do)))
        for name, batch in batches.items():
            parts[name].append(theirs.used(partial(_all_at_once, people, _TurkleWorker.judge, *batch)))

    def cost(pairs: int, *names: str) -> Used:
        web, database = (
            sum(used[part] for name in names for used in parts[name][1:]) * 1000 / pairs / (rounds - 1)
            for part in (0, 1)
        )
        return Used(web, database)

    pair = cost(hits * ITEMS, "judging")
    whole = cost(hits * ITEMS, "taking", "judging", "finishing")
    turkle = cost(tasks, "pair")
    page = cost(pages * ITEMS, "page")
    for what, used in (
        ("a pair here, shown and saved", pair),
        ("a pair here, with its share of the HIT", whole),
        (f"a pair in {TURKLE}", turkle),
        (f"a pair in {TURKLE}, {ITEMS} on a page", page),
    ):
        print(f"{what}: {used.both:.1f} ms of processor time ({used.web:.1f} web, {used.database:.1f} PostgreSQL)")
    print(f"shown and saved: {pair.both / turkle.both:.2f} of Turkle; with the HIT: {whole.both / turkle.both:.2f}")
    passed = pair.both <= LIMIT * turkle.both
    print(f"{'PASS' if passed else 'FAIL'}: a pair shown and saved in under {LIMIT} of Turkle's processor time")
    return 0 if passed else 1


# --- the two sites


def _our_workers(folder: Path, hits: int, rounds: int) -> list[str]:
    """The personal addresses of as many workers as there are HITs."""
    from pools.models import Passage
    from tasks.links import home_token
    from tests import factories

    queries = [f"q{number}" for number in range(hits * rounds * 10)]
    collection = factories.collection(
        folder,
        in_lab=factories.lab("bench"),
        qrels={query: [f"{query}a"] for query in queries},
        tops={"red": {query: [f"{query}b"] for query in queries}},
    )
    passages = list(Passage.objects.filter(collection=collection))
    for passage in passages:
        passage.text = TEXT.format(*[passage.pid] * 4)
    Passage.objects.bulk_update(passages, ["text"], batch_size=1000)
    campaign = factories.campaign(collection, tests=30, pairs_per_hit=10, tests_per_hit=3)
    workers = [factories.worker(campaign, f"worker {number}") for number in range(hits * rounds)]
    return [f"/w/{home_token(worker, campaign)}/" for worker in workers]


def _turkle_environment(folder: Path) -> dict[str, str]:
    from django.db import connection

    given = connection.get_connection_params()
    database = {key: str(given.get(key.lower(), "")) for key in ("HOST", "PORT", "USER", "PASSWORD")}
    database |= {"NAME": "turkle", "ENGINE": "django.db.backends.postgresql"}
    return {
        "TURKLE_DATABASE": json.dumps(database | {"CONN_MAX_AGE": 60}),
        "DJANGO_SETTINGS_MODULE": "site_settings",
        "PYTHONPATH": str(folder / "site"),
    }


def _prepare_turkle(
    site: Path, python: Path, environment: dict[str, str], batches: dict[str, tuple[int, int]]
) -> dict[str, list[Any]]:
    """Write its site, and fill its database with batches of so many tasks, each with so many pairs."""
    site.mkdir()
    for name, content in (("site_settings", SETTINGS), ("site_urls", URLS), ("site_wsgi", WSGI)):
        (site / f"{name}.py").write_text(content)
    for name, (count, pairs) in batches.items():
        fields = [f"{part}{place}" for place in range(pairs) for part in ("query", "left", "right")]
        questions = (
            f"<h3>${{query{place}}}</h3><p>${{left{place}}}</p><p>${{right{place}}}</p>"
            f'<label><input type="radio" name="preferred{place}" value="left"> A is better</label>'
            f'<label><input type="radio" name="preferred{place}" value="right"> B is better</label>'
            for place in range(pairs)
        )
        (site / f"{name}.html").write_text("".join(questions))
        with (site / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(fields)
            for number in range(count):
                rows.writerow(
                    [
                        f"question q{number}-{place}" if part == "query" else TEXT.format(*[f"{number}-{part}"] * 4)
                        for place in range(pairs)
                        for part in ("query", "left", "right")
                    ]
                )
    command = [str(python), "-c", PREPARE, str(CLIENTS), *batches]
    printed = subprocess.run(command, cwd=site, env=environment, check=True, stdout=subprocess.PIPE).stdout
    told: dict[str, list[Any]] = json.loads(printed)
    return told


def _serve(python: str, application: str, environment: Any, folder: Path, postmaster: int) -> Server:
    from tests.ports import free_port

    port = free_port()
    options = "--preload --workers 2 --worker-class gthread --threads 8 --keep-alive 60 --no-control-socket"
    command = [python, "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}", *options.split()]
    command += ["--log-level", "warning"]
    return Server(subprocess.Popen(command, cwd=folder, env=environment), port, postmaster)


def _wait_for(server: Server, path: str) -> None:
    ends = time.monotonic() + 120
    while True:
        try:
            if _Browser(server.port).ask("GET", path):
                return
        except OSError:
            if time.monotonic() > ends or server.process.poll() is not None:
                raise
            time.sleep(0.2)


# --- the people


class _Browser:
    """Keeps one connection open, and the cookies."""

    def __init__(self, port: int, **cookies: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.cookies = cookies

    def ask(self, method: str, path: str, body: str = "", kind: str = "application/x-www-form-urlencoded") -> str:
        """The page at an address, or the one that it leads on to."""
        headers = {"Content-Type": kind} if method == "POST" else {}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.connection.request(method, path, body or None, headers)
        answer = self.connection.getresponse()
        content = answer.read().decode()
        if answer.status >= 400:
            raise RuntimeError(f"{answer.status} for {method} {path}: {content[:500]}")
        given = "\n".join(answer.headers.get_all("Set-Cookie", []))
        self.cookies |= dict(re.findall(r"^(csrftoken|sessionid)=([^;]+)", given, re.MULTILINE))
        if answer.status >= 300:
            self.path = urlsplit(answer.headers["Location"]).path
            return self.ask("GET", self.path)
        self.path = path
        return content


class _Worker(_Browser):
    """Does one HIT here as a browser with a script does: a page and a request to save for each item."""

    def __init__(self, port: int, home: str) -> None:
        super().__init__(port)
        self.home = home

    def take(self) -> None:
        """Take the HIT, which leads to the instructions."""
        self.ask("POST", f"{self.home}next/")
        self.task = self.path

    def judge(self) -> None:
        """Judge all items, the test pairs rightly."""
        for position in range(1, ITEMS + 1):
            page = self.ask("GET", f"{self.task}{position}/")
            shown = _find(r'name="shown" value="([^"]+)"', page)
            texts = re.findall(r'<p dir="auto"[^>]*>([^<]*)</p>', page)
            side = "right" if texts[-1].startswith("The relevant") else "left"
            body = json.dumps({"preferred": side, "shown": shown})
            self.ask("POST", f"{self.task}{position}/save/", body, "application/json")

    def finish(self) -> None:
        """Look at the summary, finish, and see the receipt."""
        self.ask("GET", f"{self.task}finish/")
        if "13 of 13" not in self.ask("POST", f"{self.task}finish/"):
            raise RuntimeError("The receipt does not say that all was judged.")
        self.connection.close()


class _TurkleWorker(_Browser):
    """Does tasks in Turkle: the page, the frame in it, the answer; then it leads on to the next task."""

    def __init__(self, port: int, session: str) -> None:
        super().__init__(port, sessionid=session)
        self.accepted: dict[int, str] = {}

    def judge(self, batch: int, count: int) -> None:
        """Do so many tasks of a batch. Each leads on to the next, and the last to the first of the next time."""
        page = self.accepted.get(batch) or self.ask("GET", f"/batch/{batch}/accept_next_task/")
        for _task in range(count):
            frame = self.ask("GET", _find(r'<iframe[^>]* src="([^"?]+)', page))
            token = _find(r'name="csrfmiddlewaretoken" value="([^"]+)"', frame)
            names = dict.fromkeys(re.findall(r'name="(preferred\d+)"', frame), "left")
            answer = urlencode({"csrfmiddlewaretoken": token, **names})
            page = self.ask("POST", _find(r'action="([^"]+)"', frame), answer)
        self.accepted[batch] = page


def _find(pattern: str, page: str) -> str:
    found = re.search(pattern, page)
    if found is None:
        raise RuntimeError(f"{pattern} is not in {page[:500]}")
    return found[1]


def _all_at_once(people: Sequence[Any], do: Callable[..., object], *arguments: int) -> None:
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(lambda person: do(person, *arguments), people))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
