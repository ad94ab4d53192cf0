"""What every workplace page must hold in a real browser, whatever it shows."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SIZES = ({"width": 360, "height": 740}, {"width": 1280, "height": 900})


def looks_right(page: Page) -> None:
    """In both sizes, light and dark: nothing beyond the edge, no small button, nothing that axe finds."""
    for size in SIZES:
        for scheme in ("light", "dark"):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            where = (page.url, size, scheme)
            beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert beyond == 0, where
            small = page.locator("main button, main a.button").evaluate_all(
                "all => all.filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 43.5)"
                ".map(one => one.outerHTML)"
            )
            assert small == [], where
            found = Axe().run(page).response["violations"]
            assert [f"{one['id']}: {node['html']}" for one in found for node in one["nodes"]] == [], where
