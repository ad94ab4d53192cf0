"""The public page of a board with 160 entries, sorted and filtered by the server, and the zip of the whole board.

The site is asked as production runs it. What is judged is the CPU of web processes and PostgreSQL together for a page,
or, on a machine that is busy, that beside the health page; and the bytes of the page before it is packed.
"""

import argparse
import http.client
import os
import sys
from pathlib import Path

from benchmarks.results import asked, cpu_of, postmaster, verdict
from benchmarks.servers import own_servers, own_site

LIMIT_CPU = 0.1  # seconds for a page
LIMIT_PEERS = 45  # health pages, where the machine is too busy for the seconds
LIMIT_BYTES = 60_000
ENTRIES = 160


def main(arguments: list[str]) -> int:
    """Measure with servers of its own, and return 1 if a page takes too long or is too large."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.board", description=__doc__)
    parser.add_argument("--small", action="store_true", help="each page a few times, as a quick check")
    count = 5 if parser.parse_args(arguments).small else 100
    os.environ["RATE_LIMITS"] = "off"  # the zip is asked for more often than an address may
    with own_servers() as folder:
        slug = _board(folder)
        with own_site() as (port, site):
            return _measure(port, site.pids()["web"], slug, count)


def _board(folder: Path) -> str:
    """A public board with entries as long as those of MS MARCO. Its name in addresses."""
    from tests import factories
    from tests.leaderboards.public_boards import filled

    collection = factories.small(folder, factories.lab("bench"))
    return filled(collection, ENTRIES).slug


def _measure(port: int, web: int, slug: str, count: int) -> int:
    def spent(path: str) -> float:
        asked(port, path, "", count=0, unseen=20)  # each of the processes once
        before = cpu_of(web, postmaster())
        asked(port, path, "", count=count, unseen=0)
        return (cpu_of(web, postmaster()) - before) / count

    peer = spent("/healthz")
    page = f"/boards/{slug}/"
    costs = {path: spent(page + path) for path in ("", "?sort=-dev&type=reranking", "time", "feed.atom", "board.zip")}
    for path, seconds in costs.items():
        print(f"{seconds * 1000:.0f} ms of CPU, {seconds / max(peer, 1e-4):.1f} health pages: {page}{path}")
    size = _size(port, page)
    slowest = max(costs[""], costs["?sort=-dev&type=reranking"])
    good = slowest <= max(LIMIT_CPU, LIMIT_PEERS * peer) and size <= LIMIT_BYTES
    print(
        f"{verdict(good)}: the page with {ENTRIES} entries takes {slowest * 1000:.0f} ms of CPU (at most "
        f"{LIMIT_CPU * 1000:.0f}, or {LIMIT_PEERS} health pages, each {peer * 1000:.1f} ms) and {size:,} bytes "
        f"(at most {LIMIT_BYTES:,})"
    )
    return 0 if good else 1


def _size(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Host": "localhost"})
    return len(connection.getresponse().read())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
