"""The browser of the tests: where it is, how it is started, and how to get one (`python -m tests.browser`)."""

import asyncio
import contextlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import BrowserContext, ConsoleMessage, Page

    from core.models import User

SHELL = "chromium-headless-shell"  # Debian's; draws the same pages in less than two thirds of the time
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LONGEST_SECONDS = 90
KEY_SECONDS = 10
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
ADVICE = """\
The tests draw pages in a real browser, and there is none. Install one of these, then run the same command again:
  Debian:   apt-get install --no-install-recommends chromium-headless-shell fonts-dejavu-core
  Ubuntu:   {python} -m playwright install --with-deps --only-shell chromium
  others:   Chromium or Google Chrome, on the PATH or named in the environment variable CHROMIUM"""


def find() -> Path | None:
    """The browser's program: CHROMIUM if that is set, else the first on the PATH, else one installed by Playwright."""
    named = os.environ.get("CHROMIUM")
    for name in [named] if named else NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    if named:
        return None
    browsers = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    ours = (*browsers.glob("chromium_headless_shell-*/*/*headless*shell"), *browsers.glob("chromium-*/*/chrome"))
    return max(ours, default=None)  # the light one if it is there, of the newest version


def launch_options() -> dict[str, Any]:
    """Arguments for Playwright's `chromium.launch`. Raises FileNotFoundError if there is no browser."""
    browser = find()
    if browser is None:
        raise FileNotFoundError(_advice())
    # Chromium's sandbox refuses to run as root
    return {"executable_path": str(browser), "args": [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]}


def bound_waiting(patch: "pytest.MonkeyPatch") -> None:
    """Let nothing that is asked of a browser take longer than a minute and a half, whatever Playwright's own limits.

    Some calls have none. Chromium now and then never confirms a key that replaced the document in a frame, or that a
    page on its way elsewhere was closed: neither is waited for longer, and what comes next says whether it was heard.
    """
    from playwright._impl._sync_base import SyncBase
    from playwright.sync_api import BrowserContext, Keyboard, Page

    ask = SyncBase._sync

    def sync(self: SyncBase, awaitable: Awaitable[Any]) -> Any:
        return ask(self, asyncio.wait_for(awaitable, LONGEST_SECONDS))

    def press(keyboard: Keyboard, key: str, *, delay: float | None = None) -> None:
        with contextlib.suppress(TimeoutError):
            ask(keyboard, asyncio.wait_for(keyboard._impl_obj.press(key=key, delay=delay), KEY_SECONDS))

    def quiet(close: Callable[[Any], None]) -> Callable[[Any], None]:
        def close_quietly(opened: Any) -> None:
            with contextlib.suppress(TimeoutError):
                close(opened)

        return close_quietly

    patch.setattr(SyncBase, "_sync", sync)
    patch.setattr(Keyboard, "press", press)
    patch.setattr(Page, "close", quiet(Page.close))
    patch.setattr(BrowserContext, "close", quiet(BrowserContext.close))


def unfold(page: "Page") -> None:
    """Open all that is folded on a page."""
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")


def sign_in(context: "BrowserContext", url: str, user: "User") -> "Page":
    """A page of somebody who is logged in, without the form for that, which has tests of its own."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])
    return context.new_page()


def listen(page: "Page") -> list[str]:
    """What a page's scripts, its console and the content policy will have complained of, but for requests that were
    refused, or cut as the page was left.
    """
    complaints: list[str] = []
    requests = ("Failed to load resource", "htmx:sendAbort", "htmx:sendError", "htmx:afterRequest")

    def hear(said: "ConsoleMessage") -> None:
        if said.type in ("error", "warning") and not said.text.startswith(requests):
            complaints.append(said.text)

    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", hear)
    return complaints


def main() -> int:
    """Make sure that there is a browser, the light one where it can be installed unasked. Gives the exit code."""
    named = os.environ.get("CHROMIUM")
    if named:
        if find():
            return 0
        print(f"CHROMIUM is set to {named}, which is no program.", file=sys.stderr)
        return 1
    if shutil.which(SHELL):
        return 0
    for command in _install_commands():
        print(f"A browser for the tests. Running: {' '.join(command)}", flush=True)
        if subprocess.run(command, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, check=False).returncode:
            break
    if find():
        return 0
    print(_advice(), file=sys.stderr)
    return 1


def _install_commands() -> list[Sequence[str]]:
    """What installs a browser here without a question: for root, or where sudo asks for no password."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return []
    families = {system.get("ID", ""), *system.get("ID_LIKE", "").split()}
    if os.geteuid() == 0:
        as_root: list[str] = []
    elif shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        as_root = ["sudo", "-n"]
    else:
        return []
    if "ubuntu" in families:  # its own chromium is a snap, which does not run in containers
        return (
            []
            if find()
            else [[sys.executable, "-m", "playwright", "install", "--with-deps", "--only-shell", "chromium"]]
        )
    if "debian" in families:
        packages = [SHELL, "fonts-dejavu-core"]  # the fonts cover Latin, Greek, Cyrillic, Hebrew and Arabic
        return [
            [*as_root, "apt-get", "update", "-qq"],
            [*as_root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
        ]
    return []


def _advice() -> str:
    return ADVICE.format(python=sys.executable)


if __name__ == "__main__":
    sys.exit(main())
