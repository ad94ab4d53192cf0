"""The judging pages with 100 workers at once, on the site as production runs it, on this machine.

Each worker opens an item and saves a choice, over and over, through keep-alive connections. First as fast as answers
come, which gives the requests per second; then with a pause between choices as short as nobody's, which gives the
tail. The peer is the health page under the same load: what a request costs that does next to nothing. The tail is
judged beside the peer's at the same time, so that a machine that is busy with other things does not fail it.
"""

import argparse
import http.client
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from benchmarks.servers import own_servers, own_site

WORKERS = 100
SECONDS = 15.0
# Seconds between a worker's choices when the tail is measured; people take longer.
PAUSE = 4.0
ITEMS = 13
# Seconds that 99 in 100 requests may take with pausing workers, or on a busy machine
SLOWEST = 1.0
# This many times what the health page takes at the same time.
TIMES_PEER = 10.0
# Clients that ask for the health page at the same time.
WATCHERS = 20


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if the tail is too long or anything fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--small", action="store_true", help="two seconds each, as a quick check")
    seconds = 2.0 if parser.parse_args(arguments).small else SECONDS
    with own_servers(RATE_LIMITS="0") as folder:  # all workers have one address here
        tokens = _assignments(folder)
        with own_site() as (port, _site):
            return _measure(port, tokens, seconds)


def _assignments(folder: Path) -> list[str]:
    """A hundred workers, each at a HIT of 13 items. The addresses' tokens."""
    from tasks.links import assignment_token
    from tests import factories

    queries = [f"q{number}" for number in range(WORKERS * 10)]
    collection = factories.collection(
        folder,
        in_lab=factories.lab("bench"),
        qrels={query: [f"{query}a"] for query in queries},
        tops={"red": {query: [f"{query}b"] for query in queries}},
    )
    campaign = factories.campaign(collection, tests=30, pairs_per_hit=10, tests_per_hit=3)
    workers = [factories.worker(campaign, f"worker {number}") for number in range(WORKERS)]
    return [assignment_token(factories.take(worker, campaign)) for worker in workers]


def _measure(port: int, tokens: list[str], seconds: float) -> int:
    peer, _times, failed = _load(port, seconds, [_Health() for _ in tokens], 0)
    rate, times, more = _load(port, seconds, [_Judge(token) for token in tokens], 0)
    print(f"judging as fast as answers come: {rate:.0f} requests a second with {WORKERS} workers; {_tail(times)}")
    print(f"the peer, the health page: {peer:.0f} a second; the judging pages reach {rate / peer:.2f} of that")
    with ThreadPoolExecutor(1) as beside:
        watched = beside.submit(_load, port, seconds, [_Health() for _ in range(WATCHERS)], PAUSE / 10)
        rate, times, last = _load(port, seconds, [_Judge(token) for token in tokens], PAUSE)
        _rate, peer_times, peer_failed = watched.result()
    print(f"with {PAUSE:.0f} seconds between choices: {rate:.0f} requests a second; {_tail(times)}")
    print(f"the health page meanwhile: {_tail(peer_times)}")
    failures = failed + more + last + peer_failed
    slowest, of_peer = (statistics.quantiles(each, n=100)[98] for each in (times, peer_times))
    passed = not failures and slowest <= max(SLOWEST, TIMES_PEER * of_peer)
    print(
        f"{'PASS' if passed else 'FAIL'}: 99% within {SLOWEST:.1f} s with pauses, or {TIMES_PEER:.0f} times the health "
        f"page's ({slowest / of_peer:.1f}), and no failures ({failures} seen)"
    )
    return 0 if passed else 1


def _tail(times: list[float]) -> str:
    cuts = statistics.quantiles(times, n=100)
    shares = ((50, cuts[49]), (95, cuts[94]), (99, cuts[98]))
    return ", ".join(f"{share}% within {seconds * 1000:.0f} ms" for share, seconds in shares)


class _Health:
    """Asks for the health page."""

    def step(self, ask: Callable[..., bytes]) -> None:
        """One request."""
        ask("GET", "/healthz")


class _Judge:
    """Opens the next item as a browser does, and saves a choice as the page's form does."""

    def __init__(self, token: str) -> None:
        self.token, self.position = token, 0
        self.random = Random(token)

    def step(self, ask: Callable[..., bytes]) -> None:
        """An item and a choice: two requests."""
        self.position = self.position % ITEMS + 1
        address = f"/j/{self.token}/{self.position}/"
        page = LexborHTMLParser(ask("GET", address))
        shown = page.css("input[name=shown]")[0].attributes["value"]
        side = self.random.choice(["left", "right"])
        ask("POST", address, f"shown={shown}&preferred={side}")


def _load(port: int, seconds: float, people: list[Any], pause: float) -> tuple[float, list[float], int]:
    """All people at once for so long: requests per second, the seconds that each took, and how many failed."""
    times: list[float] = []
    failures: list[str] = []
    ends = time.perf_counter() + seconds

    def come(person: Any, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(method: str, path: str, body: str | None = None) -> bytes:
            headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
            started = time.perf_counter()
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            times.append(time.perf_counter() - started)
            if answer.status >= 400:
                failures.append(f"{answer.status} {path}")
            return content

        time.sleep(pause * number / len(people))
        try:
            while time.perf_counter() < ends:
                person.step(ask)
                if pause:
                    connection.close()  # the server would, before the next choice; browsers open another as well
                    time.sleep(pause)
        except (OSError, http.client.HTTPException, AttributeError) as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=come, args=(person, number)) for number, person in enumerate(people)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures[:3]:
        print(f"failed: {failure}")
    return len(times) / (time.perf_counter() - started), times, len(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
