"""What every page must hold in a real browser, whatever it shows."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Frame, Page

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
_VIOLATIONS = """() => axe.run({resultTypes: ["violations"]}).then(found =>
    found.violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.html}`)))"""


def violations(document: Page | Frame) -> list[str]:
    """What axe finds wrong with a page."""
    if document.evaluate("typeof axe === 'undefined'"):
        document.evaluate(AXE_SCRIPT)
    return list(document.evaluate(_VIOLATIONS))


def overflow(document: Page | Frame) -> int:
    """How many pixels of a page lie beyond its right edge."""
    return int(document.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def small_targets(page: Page, buttons: str) -> list[str]:
    """Buttons that are smaller than a thumb."""
    return page.locator(buttons).evaluate_all(  # type: ignore[no-any-return]
        "all => all.filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 43.5)"
        ".map(one => one.outerHTML)"
    )


def looks_right(page: Page, buttons: str = "main button, main a.button") -> None:
    """On a phone and a desk: nothing beyond the edge, no small button, and nothing that axe finds.

    Colours do not depend on the size, and nothing else on the scheme. So axe, which takes its time, looks at the phone
    in the light and at the desk in the dark.
    """
    for size, scheme in ((PHONE, "light"), (DESK, "dark")):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        where = (page.url, size, scheme)
        assert overflow(page) == 0, where
        assert small_targets(page, buttons) == [], where
        violated = violations(page)
        assert violated == [], (where, violated)
