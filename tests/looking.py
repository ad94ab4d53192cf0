"""What every page must hold in a real browser, whatever it shows."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Frame, Page

from tests.browser import listen

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
SIGHTS = ((PHONE, "light"), (DESK, "dark"))
WIDTHS = (360, 768, 1280)  # a desk at 200% is between the first two, which share their rules
PAPER, ACROSS = 718, 1047  # A4 at 96 dots an inch, without its margins, upright and across: that is for wide tables
# Tables and figures may scroll in a box of their own, if the keyboard reaches it.
_STUCK = """() => [...document.querySelectorAll("main *")].filter(one => {
    const style = getComputedStyle(one), scrolls = ["auto", "scroll"].includes(style.overflowX);
    return scrolls && one.scrollWidth > one.clientWidth + 1 && one.tabIndex < 0
        && !["TEXTAREA", "INPUT", "SELECT"].includes(one.tagName);
}).map(one => one.outerHTML.slice(0, 200))"""
# A cell's text over its neighbour's.
_SPILT = """() => [...document.querySelectorAll("main td, main th")].filter(one => one.checkVisibility()
        && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "visible"
        && !one.querySelector(".visually-hidden"))
    .slice(0, 3).map(one => one.outerHTML.slice(0, 200))"""
# More columns than people read at once, but where somebody asked for more of them, and in a matrix.
_CROWDED = """() => [...document.querySelectorAll(".workplace main .table:not(.matrix, .whole) thead tr:first-child")]
    .filter(row => [...row.cells].filter(one => one.checkVisibility() && !one.querySelector(".visually-hidden"))[7])
    .map(row => row.innerText)"""
_UNSEEN = """() => [...document.querySelectorAll(
        "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter(one => one.checkVisibility({visibilityProperty: true}) && !one.disabled).filter(one => {
        one.focus({focusVisible: true, preventScroll: true});
        const style = getComputedStyle(one);
        const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        return one.tabIndex !== 0 || document.activeElement !== one || !ring;
    }).map(one => one.outerHTML.slice(0, 200))"""
# What paper cannot use, and what it would cut off.
_SPOILT = """() => [...document.querySelectorAll("main button, main a.button, main form, .rail, .tabs, .breadcrumbs, "
        + ".workplace main :is(nav.row, a[download])")]
    .filter(one => one.checkVisibility() && !one.closest("svg")).map(one => one.outerHTML.slice(0, 200))
    .concat([...document.querySelectorAll("main .table, main .drawing")]
        .filter(one => !one.classList.contains("wide") && one.scrollWidth > one.clientWidth + 1
            && getComputedStyle(one).overflowX !== "visible")
        .map(one => "cut: " + one.outerHTML.slice(0, 200)))
    .concat([...document.querySelectorAll("main .values td:not(.text)")].filter(one => {
        const range = document.createRange();
        range.selectNodeContents(one);
        const lines = new Set([...range.getClientRects()].map(line => line.bottom));
        return one.checkVisibility() && lines.size > 1 && !/\\s/.test(one.innerText.trim());
    }).slice(0, 3).map(one => "broken: " + one.outerHTML.slice(0, 200)))"""
# How the words of a page look, each with its elements: colour, whether they are large, and what is behind them.
_LOOKS = """() => Map.groupBy([...document.querySelectorAll("body, body *")].filter(one => one.checkVisibility()
        && (one.matches("input, select, textarea")
            || [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()))),
    one => {
        const look = [], style = getComputedStyle(one);
        for (let behind = one; behind; behind = behind.parentElement) {
            const {backgroundColor, backgroundImage, opacity} = getComputedStyle(behind);
            if (opacity !== "1") look.push(opacity);
            if (backgroundImage !== "none") look.push(backgroundImage);
            if (!/^rgba\\(.*, 0\\)$/.test(backgroundColor)) { look.push(backgroundColor); break; }
        }
        const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        return [style.color, isLarge, ...look].join(" ");
    })"""
_COLOURS = f"() => [...({_LOOKS})().keys()]"
# Axe takes longest for colours, by far: it reads the words whose looks it is given.
_VIOLATIONS = f"""async unread => {{
    const all = {{resultTypes: ["violations"], rules: {{"color-contrast": {{enabled: false}}}}}};
    const colours = {{resultTypes: ["violations"], runOnly: ["color-contrast"]}};
    const found = [await axe.run(all)], looks = ({_LOOKS})();
    if (unread.length) found.push(await axe.run({{include: unread.flatMap(look => looks.get(look) ?? [])}}, colours));
    return found.flatMap(each => each.violations).flatMap(
        one => one.nodes.map(node => `${{one.id}}: ${{node.html}}`));
}}"""
# What axe looks at: each sort of element with the sort that it lies in, the order of headings and parts of the page,
# and the width, since a phone hides other things.
_SORTS = """() => {
    const sort = one => [one.tagName, one.className, ...[...one.attributes].map(each => each.name),
        one.role, one.getAttribute("type"), one.childNodes.length > 0].join(" ");
    const order = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6, main, nav, header, footer, aside, dialog")];
    const outline = order.map(one => one.tagName).filter((name, at, all) => name !== all[at - 1]).join(" ");
    return [...new Set([...document.querySelectorAll("*")].map(
        one => [innerWidth, sort(one), one.parentElement ? sort(one.parentElement) : outline].join(", ")))];
}"""
_LOADED = """if (document.readyState === "loading") {
        await new Promise(done => addEventListener("DOMContentLoaded", done));
    }"""
_SEEN = f"""async () => {{
    {_LOADED}
    return [({_SORTS})(), ({_COLOURS})()];
}}"""
# Asked of the page itself: a locator has Playwright load its own scripts into each page.
_OVERFLOW = f"""async () => {{
    {_LOADED}
    return document.documentElement.scrollWidth - document.documentElement.clientWidth;
}}"""
_SMALL = """buttons => [...document.querySelectorAll(buttons)]
    .filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 43.5).map(one => one.outerHTML)"""
_without_violations: set[str] = set()  # sorts of elements, in this process
_readable: set[str] = set()  # how words looked that axe could read, in this process


def axe_looks_at(page: Page) -> tuple[dict[str, int], str]:
    """The size and scheme in which axe looks at a page: always the same for an address, and half of them for each.

    Colours do not depend on the size, and nothing else on the scheme; all pages share their colours.
    """
    return SIGHTS[sum(urlsplit(page.url).path.encode()) % 2]


def violations(document: Page | Frame) -> list[str]:
    """What axe finds wrong with a page; nothing if it has seen all sorts of elements of it on pages that were well.

    It looks at the colours of words that look as on no page before.
    """
    sorts, colours = map(set, document.evaluate(_SEEN))
    if sorts <= _without_violations and colours <= _readable:
        return []
    if document.evaluate("typeof axe === 'undefined'"):
        document.evaluate(AXE_SCRIPT)
    violated = list(document.evaluate(_VIOLATIONS, sorted(colours - _readable)))
    if not violated:
        _without_violations.update(sorts)
        _readable.update(colours)
    return violated


def overflow(document: Page | Frame) -> int:
    """How many pixels of a page lie beyond its right edge."""
    return int(document.evaluate(_OVERFLOW))


def small_targets(page: Page, buttons: str) -> list[str]:
    """Buttons that are smaller than a thumb."""
    return list(page.evaluate(_SMALL, buttons))


def looks_right(page: Page, buttons: str = "main button, main a.button") -> None:
    """On a phone and a desk: nothing beyond the edge, no small button, and nothing that axe finds.

    Axe, which takes its time, looks once: see `axe_looks_at`.
    """
    size_of_axe, scheme = axe_looks_at(page)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    for size in (PHONE, DESK):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        where = (page.url, size, scheme)
        assert overflow(page) == 0, where
        assert small_targets(page, buttons) == [], where
        if size == size_of_axe:
            violated = violations(page)
            assert violated == [], (where, violated)


def faults_at(page: Page, url: str, paths: Iterable[str]) -> str:
    """What is wrong with each of the pages, and what its scripts complain of, a line each."""
    complaints, problems = listen(page), []
    for path in paths:
        answer = page.goto(url + path)
        assert answer is not None and answer.status == 200 and page.url.endswith(path), path
        problems += [f"{path}: {fault}" for fault in [*faults(page), *complaints]]
        complaints.clear()
    return "\n".join(problems)


def faults(page: Page) -> list[str]:
    """Everything that is wrong with a page: at every width, in light or in dark, by keyboard, to axe and on paper.

    The page is loaded once, and axe looks once.
    """
    found = []
    size_of_axe, scheme = axe_looks_at(page)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": DESK["height"]})
        if pixels := overflow(page):
            found.append(f"{width} px: {pixels} px beyond the edge")
        if width == size_of_axe["width"]:
            found += [f"{width} px, {scheme}: {each}" for each in violations(page)]
        if width in (PHONE["width"], DESK["width"]):  # each of these looks at every element
            found += [f"{width} px: cannot be scrolled with the keyboard: {each}" for each in page.evaluate(_STUCK)]
            found += [f"{width} px: over the next cell: {each}" for each in page.evaluate(_SPILT)]
            found += [f"{width} px: small: {each}" for each in small_targets(page, "main button, main a.button")]
    found += [f"more than seven columns: {each}" for each in page.evaluate(_CROWDED)]
    found += [f"not in sight with the keyboard: {each}" for each in page.evaluate(_UNSEEN)]
    page.emulate_media(media="print")
    has_wide_tables = page.evaluate("document.querySelector('.table.wide') !== null")
    for width in (ACROSS, PAPER) if has_wide_tables else (PAPER,):
        page.set_viewport_size({"width": width, "height": 1000})
        if pixels := overflow(page):
            found.append(f"on paper of {width} px: {pixels} px beyond the edge")
        if has_wide_tables:
            page.evaluate("document.querySelectorAll('.table.wide').forEach(one => one.hidden = true)")
    found += [f"on paper: {each}" for each in page.evaluate(_SPOILT)]
    page.emulate_media(media="screen")
    return found
