"""The workers' pages in a real browser, on the site as production runs it.

One browser and one site serve all of these tests; what they store is their own.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, expect

from judgments import services as judgment_services
from judgments.models import Judgment
from pools.models import Campaign
from runs.models import Collection, Passage
from tasks import links
from tasks.models import Assignment, Worker
from tests import factories
from tests.conftest import RunningSite, running_site
from tests.looking import looks_right, overflow, small_targets

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 800}
BUTTONS = "button, a.button"
DESK_AT_200_PERCENT = {"width": 640, "height": 400}
ARABIC = "السلحفاة من الزواحف، وتعيش بعض أنواعها أكثر من مئة عام. " * 3
LONG = "A sentence of a passage that goes on for longer than any screen is high. " * 90
UNSAVED = "Not saved yet, trying again"


@pytest.fixture(scope="module")
def site(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    """One site on the test database for all of these tests."""
    with running_site(str(tmp_path_factory.mktemp("files"))) as running:
        yield running


@pytest.fixture
def visitor(chromium: Browser, site: RunningSite, transactional_db: None) -> Iterator[Callable[..., Page]]:
    """Opens a page in a browser profile of its own. What a script or the content policy complains of is a failure."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def come(at: str = "", **options: object) -> Page:
        contexts.append(chromium.new_context(base_url=site.url, **{"viewport": DESK, **options}))  # type: ignore[arg-type]
        contexts[-1].set_default_timeout(10_000)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text) if "Content Security" in line.text else None)
        if at:
            page.goto(at)
        return page

    yield come
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def thirteen(transactional_db: None, site: RunningSite, tmp_path: Path) -> Campaign:
    """An open campaign of one full HIT: ten pairs and three test pairs."""
    return one_hit(tmp_path, pairs=10)


@pytest.fixture
def eight(transactional_db: None, site: RunningSite, tmp_path: Path) -> Campaign:
    """An open campaign of one HIT of five pairs and three test pairs."""
    return one_hit(tmp_path, pairs=5)


def one_hit(folder: Path, pairs: int) -> Campaign:
    queries = [f"q{number}" for number in range(pairs)]
    collection = factories.collection(
        folder,
        in_lab=factories.lab("The lab"),
        qrels={query: [f"{query}-old"] for query in queries},
        tops={"run": {query: [f"{query}-new"] for query in queries}},
    )
    return factories.campaign(collection, tests=3, pairs_per_hit=pairs)


@pytest.fixture
def zoe(thirteen: Campaign) -> Worker:
    return factories.worker(thirteen, "Zoe")


@pytest.fixture
def work(thirteen: Campaign, zoe: Worker) -> Assignment:
    return factories.take(zoe, thirteen)


def item_path(work: Assignment, position: int = 1) -> str:
    """The address of one comparison."""
    return f"/j/{links.assignment_token(work)}/{position}/"


def chosen(work: Assignment) -> list[tuple[int, str]]:
    """What is stored, oldest first: the position and the side."""
    return list(Judgment.objects.filter(assignment=work).order_by("id").values_list("item__position", "preferred"))


def says(page: Page, words: str) -> None:
    """Wait until the page says how a choice is kept."""
    expect(page.locator("#state")).to_have_text(words)


def marked(page: Page) -> str | None:
    """The side that the page shows as chosen, in the button, the card and the words alike."""
    for side in ("left", "right"):
        if page.locator(f"button[value={side}][aria-pressed=true]").count():
            card = page.locator(f".passage[data-side={side}]")
            expect(card).to_have_class(re.compile("chosen"))
            expect(card.get_by_text("Your choice")).to_be_visible()
            expect(page.get_by_text("Your choice").filter(visible=True)).to_have_count(1)
            return side
    expect(page.get_by_text("Your choice").filter(visible=True)).to_have_count(0)
    return None


def tab_to(page: Page, name: str) -> None:
    """Go to a link or button with the Tab key alone, and see that the focus can be seen."""
    for _press in range(30):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and name in focused.inner_text():
            style = focused.evaluate("one => [getComputedStyle(one).outlineStyle, getComputedStyle(one).outlineWidth]")
            assert style == ["solid", "3px"]
            return
    raise AssertionError(f"no Tab leads to “{name}”")


def press_through(page: Page, name: str) -> None:
    """Go to a link or button with the keyboard, and press it."""
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


# --- a whole task


def test_a_whole_task_with_the_keyboard_alone(visitor: Callable[..., Page], eight: Campaign) -> None:
    page = visitor(at=f"/c/{eight.link}/")
    for name in ("Continue", "Agree and begin", "Begin"):
        press_through(page, name)
        page.wait_for_load_state()
    keys = ["a", "b", "1", "2", "ArrowLeft", "ArrowRight", "A", "B"]
    sides = ["left" if key in ("a", "A", "1", "ArrowLeft") else "right" for key in keys]
    for position, key in enumerate(keys, start=1):
        page.wait_for_url(f"**/{position}/")
        page.keyboard.press("Enter")  # nothing is chosen yet
        says(page, "Choose A or B first")
        page.keyboard.press(key)
        says(page, "Saved")
        assert marked(page) == sides[position - 1]
        if position == 5:
            page.keyboard.press("p")
            page.wait_for_url("**/4/")
            assert marked(page) == "right"
            page.keyboard.press("a")
            says(page, "Saved")
            page.keyboard.press("Enter")
            page.wait_for_url("**/5/")
            assert marked(page) == "left"
        page.keyboard.press("Enter")
    page.wait_for_url("**/finish/")
    press_through(page, "Send my answers")
    page.wait_for_url("**/done/")
    work = Assignment.objects.get()
    expect(page.locator(".receipt")).to_have_text(work.receipt)
    expect(page.get_by_text("The lab owes you $2.00 and will pay it.")).to_be_visible()
    stored = chosen(work)
    assert stored.pop(5) == (4, "left")
    assert stored == list(enumerate(sides, start=1))
    press_through(page, "Go to my page")
    expect(page.get_by_role("heading", name="No task right now")).to_be_visible()
    page.goto(f"/c/{eight.link}/")
    page.wait_for_url("**/w/**")  # the link leads a worker back to their own page
    assert Worker.objects.count() == 1


def test_a_whole_task_without_a_script_and_without_cookies(visitor: Callable[..., Page], eight: Campaign) -> None:
    page = visitor(java_script_enabled=False, at=f"/c/{eight.link}/")
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Agree and begin").click()
    page.context.clear_cookies()
    page.get_by_role("link", name="Begin").click()
    for position in range(1, 9):
        expect(page.get_by_text(f"{position} of 8", exact=True)).to_be_visible()
        expect(page.locator("#continue")).to_be_hidden()
        page.get_by_role("button", name="B is better" if position % 2 else "A is better").click()
        says(page, "Saved")
        assert marked(page) == ("right" if position % 2 else "left")
        if position == 3:
            page.get_by_role("link", name="Back").click()
            page.get_by_role("button", name="B is better").dblclick()
            expect(page.locator("button[value=right]")).to_have_attribute("aria-pressed", "true")
            assert marked(page) == "right"
            page.get_by_role("link", name="Continue").click()
        page.reload()
        page.get_by_role("link", name="Finish" if position == 8 else "Continue").click()
    page.get_by_role("button", name="Send my answers").click()
    expect(page.get_by_role("heading", name="Thank you. Your answers have been sent.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Thank you. Your answers have been sent.")).to_be_visible()
    stored = chosen(Assignment.objects.get())
    assert stored.pop(3) == (2, "right")
    assert stored == [(position, "right" if position % 2 else "left") for position in range(1, 9)]


# --- clicks, keys, tabs


def test_a_choice_clicked_again_and_again_is_one_row(visitor: Callable[..., Page], work: Assignment) -> None:
    page = visitor()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url) if request.url.endswith("/save/") else None)
    page.goto(item_path(work))
    page.route("**/save/", lambda route: (page.wait_for_timeout(300), route.continue_()))
    button = page.get_by_role("button", name="A is better")
    button.click(click_count=3)
    says(page, "Saved")
    assert len(requests) == 1
    page.unroute("**/save/")
    button.dblclick()
    says(page, "Saved")
    assert chosen(work) == [(1, "left")]


def test_of_choices_in_quick_succession_the_last_one_stands(visitor: Callable[..., Page], work: Assignment) -> None:
    page = visitor(at=item_path(work))
    for key in "abababab":
        page.keyboard.press(key)
    page.keyboard.press("Enter")  # goes on once the last one is saved
    page.wait_for_url("**/2/")
    assert chosen(work)[-1] == (1, "right")
    page.go_back()
    page.wait_for_url("**/1/")
    assert marked(page) == "right"


def test_keys_with_modifiers_or_while_typing_choose_nothing(visitor: Callable[..., Page], work: Assignment) -> None:
    page = visitor(at=item_path(work))
    for key in ("Control+a", "Control+b", "Alt+1", "Meta+a", "Shift+ArrowRight", "c", "x", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    page.evaluate("document.querySelector('.foot').append(document.createElement('textarea'))")
    page.locator("textarea").focus()
    page.keyboard.type("ab12p")
    page.keyboard.press("ArrowLeft")
    assert page.locator("textarea").input_value() == "ab12p"
    assert marked(page) is None
    page.locator("textarea").evaluate("one => one.remove()")
    page.get_by_role("button", name="Turn shortcuts off").click()
    page.keyboard.press("a")
    assert marked(page) is None
    page.goto(item_path(work, 2))
    page.keyboard.press("b")  # they stay off
    page.wait_for_timeout(200)
    assert marked(page) is None
    assert chosen(work) == []
    page.get_by_role("button", name="Turn shortcuts on").click()
    page.keyboard.press("b")
    says(page, "Saved")
    assert chosen(work) == [(2, "right")]


def test_one_key_is_enough_for_who_turned_that_on_and_undo_is_a_key_away(
    visitor: Callable[..., Page], work: Assignment
) -> None:
    page = visitor(at=item_path(work))
    page.keyboard.press("b")
    says(page, "Saved")
    expect(page).to_have_url(re.compile(r"/1/$"))  # it is off at first
    page.get_by_role("button", name="Go on after each choice").click()
    page.keyboard.press("a")
    expect(page).to_have_url(re.compile(r"/2/$"))
    expect(page.get_by_role("button", name="Go on after each choice")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile(r"/1/$"))
    expect(page.locator(".choice[aria-pressed=true]")).to_have_attribute("value", "left")
    assert chosen(work) == [(1, "right"), (1, "left")]


WHEN_PRESSED = """
for (const kind of ["pointerdown", "keydown"]) {
  addEventListener(kind, (event) => {
    const [drawn] = performance.getEntriesByName("first-contentful-paint");
    const since = drawn ? event.timeStamp - drawn.startTime : -1;
    console.info(`pressed ${location.pathname} ${since}`);
  }, true);
}
"""


@pytest.mark.parametrize("press_with", ["mouse", "key"])
def test_a_press_just_after_a_pair_came_by_itself_is_none_on_that_pair(
    visitor: Callable[..., Page], work: Assignment, press_with: str
) -> None:
    page = visitor(at=item_path(work))
    page.get_by_role("button", name="Go on after each choice").click()
    box = page.get_by_role("button", name="A is better").bounding_box()
    assert box is not None
    context = page.context
    context.add_init_script(WHEN_PRESSED)

    def new_page() -> tuple[Page, list[str], list[str]]:
        """A page that goes nowhere by itself, what it will save of its second pair, and what it will log.

        The page before it stays open: to close a page that is on its way may take for ever.
        """
        page, saves, lines = context.new_page(), list[str](), list[str]()
        page.on("request", lambda request: saves.append(request.url) if request.url.endswith("/2/save/") else None)
        page.on("console", lambda line: lines.append(line.text))
        return page, saves, lines

    def press() -> None:
        if press_with == "key":
            page.keyboard.press("a")
        else:
            page.mouse.click(box["x"] + 20, box["y"] + 20)

    in_time = []
    for gap in (20, 60, 100, 150, 200, 250, 300, 400, 500, 800, 1600, 3200):  # as long as a slow machine needs
        page, saves, lines = new_page()
        page.goto(item_path(work))
        press()
        page.wait_for_timeout(gap)
        press()
        page.wait_for_url(re.compile("/[23]/$"))
        with suppress(Error):  # it goes on
            page.evaluate("1")  # what the page has logged before is here now
        since = [float(line.split()[2]) for line in lines if re.search("^pressed .*/2/ ", line)]
        if any(350 < ms < 450 for ms in since):
            continue  # about the limit itself
        in_time.append(any(ms >= 450 for ms in since))
        if in_time[-1]:
            page.wait_for_url("**/3/")
        assert bool(saves) == in_time[-1], (gap, since)
        if in_time[-1]:
            break
    assert in_time.count(False) >= 3 and in_time[-1], in_time

    page.goto(item_path(work))
    page.keyboard.down("a")
    saves.clear()
    page.wait_for_url("**/2/")
    for _repeated in range(20):
        page.keyboard.down("a")
        page.wait_for_timeout(30)
    assert saves == []


def test_a_finger_that_went_down_on_the_last_page_chooses_nothing(
    visitor: Callable[..., Page], work: Assignment
) -> None:
    page = visitor(at=item_path(work))
    page.evaluate("sessionStorage.setItem('bestknown.went-on', '1')")
    page.add_init_script("""
      addEventListener("DOMContentLoaded", () => {
        const click = new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 });
        window.taken = document.querySelector("[name=preferred]").dispatchEvent(click);
      });
    """)
    page.goto(item_path(work, 2))
    assert page.evaluate("window.taken") is False
    assert marked(page) is None


@pytest.mark.parametrize(
    "translate",
    [
        "document.documentElement.classList.add('translated-ltr')",
        "document.documentElement.lang = 'uk'",
        "document.querySelector('.eyebrow').innerHTML = '<font><font>Який уривок?</font></font>'",
    ],
)
def test_the_page_says_that_it_was_translated(visitor: Callable[..., Page], work: Assignment, translate: str) -> None:
    page = visitor(at=item_path(work))
    page.get_by_role("button", name="B is better").click()
    says(page, "Saved")
    page.evaluate(translate)
    page.get_by_role("button", name="A is better").click()
    says(page, "Saved")
    assert list(Judgment.objects.order_by("id").values_list("is_translated", flat=True)) == [False, True]


def test_ones_place_in_long_passages_is_kept_for_coming_back(visitor: Callable[..., Page], work: Assignment) -> None:
    Passage.objects.update(text=LONG)
    work.campaign.test_pairs.update(relevant_text=LONG, off_topic_text=LONG)
    page = visitor(at=item_path(work))
    tops = "() => [...document.querySelectorAll('.passage .text')].map(passage => passage.scrollTop)"
    page.evaluate("document.querySelectorAll('.passage .text').forEach((passage, n) => passage.scrollTop = 90 + n)")
    page.get_by_role("button", name="A is better").click()
    page.get_by_role("link", name="Continue").click()
    page.wait_for_url("**/2/")
    assert page.evaluate(tops) == [0, 0]
    page.get_by_role("link", name="Back").click()
    page.wait_for_url("**/1/")
    assert page.evaluate(tops) == [90, 91]
    page.get_by_role("button", name="Show long passages in full").click()
    page.evaluate("scrollTo(0, 700)")
    assert page.evaluate(tops) == [0, 0]
    expect(page.get_by_role("button", name="A is better")).to_be_in_viewport()
    page.get_by_role("link", name="Continue").click()
    page.wait_for_url("**/2/")
    expect(page.get_by_role("button", name="Show long passages in full")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("scrollY") == 0
    page.get_by_role("link", name="Back").click()
    page.wait_for_url("**/1/")
    assert page.evaluate("scrollY") == 700


def test_keys_are_found_on_other_keyboards(visitor: Callable[..., Page], work: Assignment) -> None:
    page = visitor(at=item_path(work))
    for key, place, shift, side in (
        *(("q", "KeyA", False, None), ("!", "Digit1", True, None), ("&", "Digit7", False, None)),
        *(("ф", "KeyA", False, "left"), ("и", "KeyB", False, "right"), ("ش", "KeyA", False, "left")),
        *(("é", "Digit2", False, "right"), ("١", "Digit1", False, "left"), ("b", "KeyN", False, "right")),
    ):
        options = {"key": key, "code": place, "shiftKey": shift, "bubbles": True}
        page.evaluate("options => document.body.dispatchEvent(new KeyboardEvent('keydown', options))", options)
        assert marked(page) == side, key
    says(page, "Saved")
    assert chosen(work)[-1] == (1, "right")


def test_reload_the_back_button_and_two_tabs_show_what_is_stored(
    visitor: Callable[..., Page], work: Assignment
) -> None:
    page = visitor(at=item_path(work))
    page.get_by_role("button", name="A is better").click()
    says(page, "Saved")
    page.reload()
    assert marked(page) == "left"
    page.get_by_role("link", name="Continue").click()
    page.wait_for_url("**/2/")
    page.go_back()
    page.wait_for_url("**/1/")
    assert marked(page) == "left"
    assert chosen(work) == [(1, "left")]

    other = page.context.new_page()
    other.goto(item_path(work))
    assert marked(other) == "left"
    other.keyboard.press("b")
    says(other, "Saved")
    expect(page.locator("button[value=right]")).to_have_attribute("aria-pressed", "true")
    assert marked(page) == "right"

    elsewhere = visitor()  # another device, of which the first tab hears nothing
    elsewhere.goto(item_path(work))
    elsewhere.keyboard.press("a")
    says(elsewhere, "Saved")
    assert marked(page) == "right"
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.wait_for_url("**/2/")
    assert chosen(work) == [(1, "left"), (1, "right"), (1, "left"), (1, "right")]
    elsewhere.reload()
    assert marked(elsewhere) == "right"


def test_the_focus_stays_where_a_person_left_it(visitor: Callable[..., Page], work: Assignment) -> None:
    page = visitor(at=item_path(work))
    tab_to(page, "B is better")
    page.keyboard.press("Space")
    says(page, "Saved")
    expect(page.get_by_role("button", name="B is better")).to_be_focused()
    press_through(page, "Continue")
    page.wait_for_url("**/2/")
    page.get_by_role("button", name="A is better").click()
    says(page, "Saved")
    page.keyboard.press("Enter")  # after a click with a pointer, Enter goes on
    page.wait_for_url("**/3/")
    assert chosen(work) == [(1, "right"), (2, "left")]


# --- when the network, or the site, is away


def test_what_is_not_saved_says_so_until_it_is_and_nothing_goes_on_before(
    visitor: Callable[..., Page], work: Assignment, site: RunningSite
) -> None:
    page = visitor(at=item_path(work))

    page.route("**/save/", lambda route: route.abort())
    page.keyboard.press("a")
    says(page, UNSAVED)
    page.wait_for_timeout(1500)  # a second try fails, too
    says(page, UNSAVED)
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.url.endswith("/1/")
    assert chosen(work) == []
    page.unroute("**/save/")
    page.wait_for_url("**/2/")
    page.wait_for_timeout(500)  # what came by itself takes no choice at first
    assert chosen(work) == [(1, "left")]

    def lose_the_reply(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/save/", lose_the_reply, times=1)
    page.keyboard.press("b")
    says(page, UNSAVED)
    assert chosen(work) == [(1, "left"), (2, "right")]
    says(page, "Saved")
    page.keyboard.press("Enter")
    page.wait_for_url("**/3/")

    page.route("**/save/", lambda route: route.fulfill(status=200, body="<p>Log in to the café's network</p>"), times=1)
    page.keyboard.press("a")
    says(page, UNSAVED)
    says(page, "Saved")
    page.route("**/save/", lambda route: route.fulfill(status=503, body="busy"), times=1)
    page.keyboard.press("b")
    says(page, UNSAVED)
    says(page, "Saved")
    page.keyboard.press("Enter")
    page.wait_for_url("**/4/")

    site.process.stop()
    page.keyboard.press("b")
    says(page, UNSAVED)
    page.keyboard.press("Enter")
    site.process.start()
    site.process.wait_until_ready()
    page.wait_for_url("**/5/", timeout=20_000)
    assert chosen(work) == [(1, "left"), (2, "right"), (3, "left"), (3, "right"), (4, "right")]


def test_a_page_with_an_unsaved_choice_asks_before_it_is_left(visitor: Callable[..., Page], work: Assignment) -> None:
    page = visitor()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.dismiss()))
    page.goto(item_path(work))
    page.route("**/save/", lambda route: route.abort())
    page.get_by_role("button", name="A is better").click()
    says(page, UNSAVED)
    page.get_by_role("link", name="How to judge").click()
    page.wait_for_timeout(200)
    assert dialogs == ["beforeunload"]
    assert page.url.endswith("/1/")
    page.unroute("**/save/")
    says(page, "Saved")
    page.get_by_role("link", name="How to judge").click()
    expect(page.get_by_role("heading", name="How to judge")).to_be_visible()
    assert dialogs == ["beforeunload"]


def test_an_answer_after_the_end_is_refused_with_a_way_out(visitor: Callable[..., Page], work: Assignment) -> None:
    factories.judge(work)
    before = chosen(work)
    page = visitor(at=item_path(work))
    stood = marked(page)
    judgment_services.assignment_finish(assignment=work, at=timezone.now())
    page.keyboard.press("b" if stood == "left" else "a")
    expect(page.get_by_role("alert")).to_contain_text("You have already finished this task")
    assert marked(page) == stood
    assert chosen(work) == before
    page.get_by_role("alert").get_by_role("link", name="Go to my page").click()
    expect(page.get_by_role("heading", name="My page")).to_be_visible()


# --- everybody can use it


def test_every_page_is_accessible_and_fits_a_phone_a_desk_and_200_percent(
    visitor: Callable[..., Page], work: Assignment, zoe: Worker, thirteen: Campaign
) -> None:
    page = visitor(reduced_motion="reduce")
    token, place = links.assignment_token(work), links.home_token(zoe, thirteen)
    Passage.objects.filter(pid="q1-old").update(text=LONG)
    Passage.objects.filter(pid="q2-old").update(text="x" * 400)  # a word without an end

    def look(path: str) -> None:
        page.goto(path)
        looks_right(page, BUTTONS)
        page.set_viewport_size(DESK_AT_200_PERCENT)  # type: ignore[arg-type]
        assert overflow(page) == 0, path
        assert small_targets(page, BUTTONS) == [], path

    for path in (f"/c/{thirteen.link}/", f"/c/{thirteen.link}/consent/", f"/c/{thirteen.link}/declined/"):
        look(path)
    for name in ("", "1/", "1/report/", "finish/", "leave/"):
        look(f"/j/{token}/{name}")
    factories.judge(work)
    for name in ("", "1/", "13/", "finish/"):
        look(f"/j/{token}/{name}")
    look(f"/w/{place}/")
    judgment_services.assignment_finish(assignment=work, at=timezone.now())
    look(f"/j/{token}/done/")
    look(f"/w/{place}/")
    look("/j/forged/")


def test_on_a_phone_the_buttons_are_under_the_thumb(visitor: Callable[..., Page], work: Assignment) -> None:
    Passage.objects.all().update(text=LONG)
    page = visitor(viewport=PHONE, has_touch=True, is_mobile=True)
    with_passages = work.items.filter(pair__isnull=False).order_by("position").values_list("position", flat=True)
    for position in (*with_passages[:3], 13):
        page.goto(item_path(work, position))
        for name in ("A is better", "B is better"):
            expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        expect(page.locator(".keys")).to_be_hidden()  # there is no keyboard to speak of
    height = page.locator(".dock").evaluate("one => one.clientHeight")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.get_by_role("button", name="B is better").tap()
    says(page, "Saved")
    assert page.locator(".dock").evaluate("one => one.clientHeight") == height  # nothing jumps under the thumb
    page.get_by_role("link", name="Finish").tap()
    page.wait_for_url("**/finish/")
    assert chosen(work) == [(13, "right")]
    page.goto(item_path(work))
    judgment_services.assignment_leave(assignment=work, at=timezone.now())
    page.get_by_role("button", name="A is better").tap()
    page.get_by_role("alert").get_by_role("link", name="Go to my page").wait_for()
    alert, dock = page.get_by_role("alert").bounding_box(), page.locator(".dock").bounding_box()
    assert alert is not None
    assert dock is not None
    assert 0 < alert["y"] < alert["y"] + alert["height"] <= dock["y"]


def test_passages_keep_their_direction_and_long_ones_scroll_on_their_own(
    visitor: Callable[..., Page], work: Assignment, thirteen: Campaign
) -> None:
    Collection.objects.filter(pk=thirteen.collection_id).update(language="ar")
    thirteen.test_pairs.update(relevant_text=ARABIC, off_topic_text=LONG)
    Passage.objects.filter(pid__endswith="-new").update(text=ARABIC)
    Passage.objects.filter(pid__endswith="-old").update(text=LONG)
    page = visitor(at=item_path(work))
    arabic = page.locator(".passage .text", has_text="السلحفاة")
    long = page.locator(".passage .text", has_text="A sentence of a passage")
    assert arabic.locator("p").evaluate("one => getComputedStyle(one).direction") == "rtl"
    assert long.locator("p").evaluate("one => getComputedStyle(one).direction") == "ltr"
    a, b = page.locator(".passage[data-side=left]"), page.locator(".passage[data-side=right]")
    left, right = a.bounding_box(), b.bounding_box()
    assert left is not None
    assert right is not None
    assert left["x"] < right["x"]  # A stands on the left whatever the language
    assert (left["y"], left["height"], left["width"]) == (right["y"], right["height"], right["width"])
    assert page.evaluate("document.documentElement.scrollHeight <= window.innerHeight")
    assert long.evaluate("one => one.scrollHeight > 2 * one.clientHeight")
    long.focus()
    page.keyboard.press("End")
    expect(page.locator(".ask h1")).to_be_in_viewport()
    page.wait_for_function("one => one.scrollTop + one.clientHeight >= one.scrollHeight - 2", arg=long.element_handle())
    page.keyboard.press("a")
    says(page, "Saved")
    assert chosen(work) == [(1, "left")]
