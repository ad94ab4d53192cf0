"""The README's pictures, drawn anew: `make screenshots`.

Everything starts from nothing in a temporary folder: the site, the demo, a simulated crowd that judges it. Chromium
then opens the pages as a worker and as a researcher, always in a window of the same size.
"""

import os
import shutil
import socket
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from local import embedded
from local.supervisor import Site
from tests import browser

REPOSITORY = Path(__file__).parent.parent
IMAGES = REPOSITORY / "docs" / "images"
SIZES = {"judging": (1120, 620), "campaign": (1120, 968)}
ITEM = 2  # its two passages are both about the question
WORKERS = 1  # so that the crowd does the same each time


def main() -> int:
    """Draw all pictures, and say where they are."""
    IMAGES.mkdir(exist_ok=True)
    with _site() as url, sync_playwright() as playwright:
        worker, researcher, password = _judged_demo(url)
        chromium = playwright.chromium.launch(**browser.launch_options())
        _picture("judging", _judging_page(_window(chromium, "judging", url), worker))
        _picture("campaign", _campaign_page(_window(chromium, "campaign", url), researcher, password))
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


def _judged_demo(url: str) -> tuple[str, str, str]:
    """Load the demo and have it judged. Gives the workers' address, the campaign's, and the researcher's password."""
    from django.urls import reverse

    from simulation import demonstration as demo
    from tasks.links import campaign_address

    folder = demo.folder_at(REPOSITORY / "demo")
    password = demo.accounts()["researcher"]
    assert folder.preferences is not None
    collection = demo.load(folder, _quiet)
    people = demo.open_campaign(collection, folder, "Everyday questions, judged by people", _quiet)
    campaign = demo.open_campaign(collection, folder, "Everyday questions", _quiet)
    demo.judge(campaign, folder.preferences, url, _quiet, workers=WORKERS)
    return campaign_address(people), url + reverse("judgments:campaign", args=[campaign.pk]), password


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


def _campaign_page(page: Page, address: str, password: str) -> Page:
    """The finished campaign, as the researcher sees it."""
    page.goto(address)
    page.fill("input[name=username]", "researcher")
    page.fill("input[name=password]", password)
    page.press("input[name=password]", "Enter")
    page.wait_for_url(address)
    return page


def _window(chromium: Browser, name: str, url: str) -> Page:
    width, height = SIZES[name]
    context = chromium.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=1.5,
        color_scheme="light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
        base_url=url,
    )
    return context.new_page()


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
