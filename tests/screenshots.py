"""The pictures of the docs, drawn anew: `make screenshots`.

Everything starts from nothing in a temporary folder: the site, the demo, a simulated crowd that judges it. Chromium
then opens the pages as a worker and as a researcher, always in a window of the same size.
"""

import os
import shutil
import socket
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from local import embedded
from local.supervisor import Site
from tests import browser

REPOSITORY = Path(__file__).parent.parent
IMAGES = REPOSITORY / "docs" / "images"
SIZES = {
    "run": (1120, 760),
    "draft": (1120, 900),
    "test-pairs": (1120, 760),
    "judging": (1120, 620),
    "campaign": (1120, 890),
    "results": (1120, 760),
    "leaderboard": (1060, 440),
}
ITEM = 2  # its two passages are both about the question
WORKERS = 1  # so that the crowd does the same each time
# Nobody errs, so that the pictures show what `python -m evaluation leaderboard` prints; the careless are excluded.
HABITS = {"errors": 0.0, "careless": 0.2, "leavers": 0.1, "late": 0.1}
RESULTS_SECONDS = 180
LEADERBOARD = """
<style>
  body {{ background: white; color: black; font: 15px "DejaVu Sans", sans-serif; margin: 24px }}
  main {{ display: flex; gap: 24px }}
  h2 {{ font-size: 17px; margin: 0 0 12px }}
  p {{ color: #444; margin: 16px 0 0 }}
  svg text {{ font-family: "DejaVu Sans" !important }}
</style>
<main>
  <section><h2>Before: the original qrels</h2>{original}</section>
  <section><h2>After: the preference qrels</h2>{preference}</section>
</main>
<p>The demo: {runs} runs, in the order of the original leaderboard on both sides.</p>
"""


class Demo(NamedTuple):
    """Where the demo's pages are."""

    worker: str
    run: str
    draft: str
    test_pairs: str
    campaign: str
    results: str
    runs: int


def main() -> int:
    """Draw all pictures, and say where they are."""
    IMAGES.mkdir(exist_ok=True)
    with _site() as url, sync_playwright() as playwright:
        demo = _judged_demo(url)
        chromium = playwright.chromium.launch(**browser.launch_options())
        _picture("judging", _judging_page(_window(chromium, "judging", url).new_page(), demo.worker))
        for name, address in (
            ("run", demo.run),
            ("draft", demo.draft),
            ("test-pairs", demo.test_pairs),
            ("campaign", demo.campaign),
        ):
            _picture(name, _researchers_page(_window(chromium, name, url), url, address))
        results = _results_page(_window(chromium, "results", url), url, demo)
        _picture("results", results)
        figures = {
            qrels: results.request.get(f"{demo.results}figures/intervals-{qrels}.svg").text()
            for qrels in ("original", "preference")
        }
        leaderboard = _window(chromium, "leaderboard", url).new_page()
        leaderboard.set_content(LEADERBOARD.format(runs=demo.runs, **figures))
        _picture("leaderboard", leaderboard)
        chromium.close()
    return 0


@contextmanager
def _site() -> Iterator[str]:
    """The site on an unused port with data of its own, which are gone afterwards."""
    folder = tempfile.mkdtemp(prefix="bestknown-screenshots-")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://localhost:{port}"
    for variable in ("DATABASE_URL", "REDIS_URL", "MEDIA_ROOT", "FILES_BUCKET"):
        os.environ.pop(variable, None)
    os.environ |= {
        **{"BESTKNOWN_VAR": folder, "DEVELOPMENT": "1", "PORT": str(port), "SITE_URL": url, "RATE_LIMITS": "0"},
        **{"DJANGO_SETTINGS_MODULE": "config.settings", "DJANGO_ALLOW_ASYNC_UNSAFE": "1"},  # Playwright brings a loop
    }
    site = Site(port)
    try:
        embedded.ensure()
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0, interactive=False)
        site.start()
        site.wait_until_ready()
        yield url
    finally:
        site.stop()
        if "django" in sys.modules:
            from django.db import connections

            connections.close_all()
        embedded.leave()
        shutil.rmtree(folder, ignore_errors=True)


def _judged_demo(url: str) -> Demo:
    """Load the demo, have one campaign judged, and leave one as a draft and one to its first worker."""
    from django.urls import reverse

    from evaluation.files.preferences import read_preferences
    from pools import services as pool_services
    from simulation import crowd, demonstration
    from tasks import services as task_services
    from tasks.links import campaign_address

    folder = demonstration.folder_at(REPOSITORY / "demo")
    demonstration.accounts()
    assert folder.preferences is not None
    collection = demonstration.load(folder, _quiet)
    runs = collection.runs.order_by("name")
    draft = pool_services.campaign_create(
        lab=collection.lab, collection=collection, runs=runs, name="My first campaign", reuse="nothing"
    )
    task_services.test_pairs_suggest(campaign=draft, count=12, seed=task_services.next_test_seed(draft))
    unjudged = demonstration.open_campaign(collection, folder, "Everyday questions, judged by people", _quiet)
    campaign = demonstration.open_campaign(collection, folder, "Everyday questions", _quiet)
    crowd.judge(
        campaign=campaign,
        preferences=read_preferences(folder.preferences),
        url=url,
        workers=WORKERS,
        habits=crowd.Habits(**HABITS),
        seed=campaign.seed,
    )
    return Demo(
        worker=campaign_address(unjudged),
        run=url + reverse("pools:run", args=[runs.get(name="bm25").pk]),
        draft=url + reverse("campaigns:campaign", args=[draft.pk]),
        test_pairs=url + reverse("tasks:tests", args=[draft.pk]),
        campaign=url + reverse("campaigns:campaign", args=[campaign.pk]),
        results=url + reverse("results:results", args=[campaign.pk]),
        runs=runs.count(),
    )


def _judging_page(page: Page, address: str) -> Page:
    """A comparison in the middle of a HIT, with a choice made and saved."""
    page.goto(address)
    page.click("a[href$='/consent/']")
    page.click("form button.primary")
    page.click("main a.primary")
    for item in range(1, ITEM + 1):
        page.wait_for_url(f"**/{item}/")
        page.wait_for_selector("html.js")
        page.click("button[name=preferred][value=left]")
        page.wait_for_selector("#state.saved")
        if item < ITEM:
            page.click("#continue")
    page.evaluate("document.activeElement.blur()")
    return page


def _researchers_page(window: BrowserContext, url: str, address: str) -> Page:
    from core.models import User

    page = browser.sign_in(window, url, User.objects.get(username="researcher"))
    page.goto(address)
    return page


def _results_page(window: BrowserContext, url: str, demo: Demo) -> Page:
    """The results of the judged campaign, once the jobs have computed them."""
    page = _researchers_page(window, url, demo.results)
    compute = page.locator("form[action$='/compute/'] button")
    ends = time.monotonic() + RESULTS_SECONDS
    while compute.count():  # it is offered until the results have every judgment in them
        assert time.monotonic() < ends, "the results are not computed"
        compute.click()
        time.sleep(2)
        page.goto(demo.results)
    return page


def _window(chromium: Browser, name: str, url: str) -> BrowserContext:
    width, height = SIZES[name]
    return chromium.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=1.5,
        color_scheme="light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
        base_url=url,
    )


def _picture(name: str, page: Page) -> None:
    path = IMAGES / f"{name}.png"
    page.mouse.move(0, 0)
    path.write_bytes(smaller(page.screenshot(animations="disabled", caret="hide")))
    print(f"{path.relative_to(REPOSITORY)}: {path.stat().st_size / 1000:,.0f} kB")


def smaller(png: bytes) -> bytes:
    """The same picture, its pixel data packed as tightly as zlib can."""
    head, data, at = b"", b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            head = body
        elif kind == b"IDAT":
            data += body
        at += length + 12
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(zlib.decompress(data), 9)), (b"IEND", b""))
    packed = png[:8] + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return min(packed, png, key=len)


def _quiet(_step: str, _done: int, _total: int) -> None:
    """Nobody watches."""


if __name__ == "__main__":
    sys.exit(main())
