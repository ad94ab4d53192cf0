"""A crowd that is not there: simulated people who judge over HTTP, on the real pages, by a file of preferences.

What a person does is drawn from the seed and their number. They read and post the pages as a browser without scripts
does, or save as the page's script does; they believe that a choice is stored when, and only when, a page says so, and
try again when the network or the server fails them.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, NamedTuple
from urllib.parse import urljoin

import httpx
from django.db import close_old_connections, connection
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from evaluation.preferences import Preference
from evaluation.textfiles import name_of
from pools.models import Campaign
from tasks import services as tasks
from tasks.crowd import link as crowd
from tasks.models import Hit, Item
from tasks.selectors import hits_free

GIVE_UP_SECONDS = 120.0
LONGEST_WAIT = 2.0


class Habits(NamedTuple):
    """How a simulated crowd behaves: shares between 0 and 1, each the chance that it befalls a person or a choice.

    `errors`: of a careful person's choices on pairs, how many are wrong. Of the people: `careless` answer by chance
    and fail at least one test pair, `leavers` leave early, `late` come back after their time. Of the choices:
    `double_clicks` are sent twice at once, `reloads` are looked at again, `second_thoughts` are first made wrongly
    and then changed. Of the people, `scripted` save as the page's script does; the others post forms.
    """

    errors: float = 0.0
    careless: float = 0.1
    leavers: float = 0.05
    late: float = 0.05
    double_clicks: float = 0.05
    reloads: float = 0.05
    second_thoughts: float = 0.03
    scripted: float = 0.5
    most_hits: int = 5


class Answers:
    """What the crowd thinks: the majority of a file's preferences for each pair, and a fixed coin where it has none."""

    def __init__(self, preferences: Iterable[Preference]) -> None:
        self.votes: dict[tuple[str, str, str], int] = {}
        for query, a, b, preferred in preferences:
            if preferred is None:
                continue
            first, second = sorted((a, b))
            self.votes[query, first, second] = self.votes.get((query, first, second), 0) + (
                1 if preferred == first else -1
            )
        self.unknown: set[tuple[str, str, str]] = set()

    def preferred(self, query: str, a: str, b: str) -> str:
        """The passage that the crowd prefers. A pair that the file lacks, or is undecided on, gets a fixed coin."""
        first, second = sorted((a, b))
        votes = self.votes.get((query, first, second), 0)
        if not votes:
            self.unknown.add((query, first, second))
            votes = Random(f"{query} {first} {second}").choice((-1, 1))
        return first if votes > 0 else second


class WrongPage(Exception):
    """A page does not show what it should: a fault of the site, which the crowd does not pass over."""


@dataclass
class Tally:
    """What a crowd did, counted over all its people."""

    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    acknowledged: IO[str] | None = None

    def add(self, what: str) -> None:
        """Count one more of something."""
        with self.lock:
            self.counts[what] += 1

    def saved(self, assignment_id: int, position: int, side: str) -> None:
        """A page has said that this choice is stored; it is logged before anything else happens."""
        with self.lock:
            self.counts["choices"] += 1
            if self.acknowledged is not None:
                record = {"assignment": assignment_id, "position": position, "preferred": side}
                self.acknowledged.write(json.dumps(record) + "\n")
                self.acknowledged.flush()


def judge(
    *,
    campaign: Campaign,
    preferences: Iterable[Preference],
    url: str,
    workers: int,
    habits: Habits,
    seed: int = 1,
    acknowledged: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tally:
    """Let a crowd judge a campaign over HTTP, `workers` people at a time, until no HIT waits, and say what they did.

    New people keep coming through the campaign's link while there is work. Those who are late are let come back at
    the end, when others have done their HITs. Raises WrongPage, or what else went wrong, of the first who met it.
    """
    answers = Answers(preferences)
    tally = Tally()
    late: list[_Person] = []
    total = Hit.objects.filter(campaign=campaign).count()
    numbers = iter(range(1, 1_000_000))
    with ThreadPoolExecutor(workers) as pool, _log(acknowledged) as tally.acknowledged:
        running: set[Future[_Person]] = set()
        last_waiting, last_change = -1, time.monotonic()
        while True:
            waiting = Hit.objects.filter(campaign=campaign, needed__gt=0).count()
            if waiting != last_waiting:
                last_waiting, last_change = waiting, time.monotonic()
            elif time.monotonic() - last_change > GIVE_UP_SECONDS:
                raise WrongPage(f"{waiting} HITs wait, and none was done in {GIVE_UP_SECONDS:.0f} seconds.")
            if progress is not None:
                progress(total - waiting, total)
            free = hits_free(campaign, timezone.now())  # those that are not out on a running lease
            for _place in range(min(workers - len(running), free)):
                person = _Person(next(numbers), campaign, url, answers, habits, seed, tally)
                running.add(pool.submit(_on_thread, person, person.come))
            if not running:
                if not waiting:
                    break
                if late:
                    running, late = {pool.submit(_on_thread, person, person.come_back) for person in late}, []
                time.sleep(0.2)  # what is left is with people who are not of this crowd
                continue
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            late += [future.result() for future in finished if future.result().is_late]
        for future in [pool.submit(_on_thread, person, person.come_back) for person in late]:
            future.result()
        if progress is not None:
            progress(total, total)
    tally.counts["pairs without a preference in the file"] = len(answers.unknown)
    return tally


class _log:  # noqa: N801 (used as a function)
    """The file of acknowledged choices, or nothing."""

    def __init__(self, path: Path | None) -> None:
        self.file = path.open("a") if path else None

    def __enter__(self) -> IO[str] | None:
        return self.file

    def __exit__(self, *_error: object) -> None:
        if self.file is not None:
            self.file.close()


def _on_thread(person: "_Person", act: Callable[[], None]) -> "_Person":
    close_old_connections()
    try:
        act()
    finally:
        connection.close()
    return person


class _Person:
    """One simulated worker, with a browser of their own."""

    def __init__(
        self, number: int, campaign: Campaign, url: str, answers: Answers, habits: Habits, seed: int, tally: Tally
    ) -> None:
        self.random = Random(f"{seed} {number}")
        self.campaign = campaign
        self.url = url
        self.answers = answers
        self.habits = habits
        self.tally = tally
        self.hits_done = 0
        self.is_late = False
        kind = self.random.random()
        self.careless = kind < habits.careless
        self.leaver = not self.careless and kind < habits.careless + habits.leavers
        self.dawdler = not (self.careless or self.leaver) and kind < habits.careless + habits.leavers + habits.late
        self.scripted = self.random.random() < habits.scripted
        self.hits = self.random.randint(1, habits.most_hits)
        self.browser = httpx.Client(base_url=url, follow_redirects=True, timeout=30)
        self.home = ""

    def come(self) -> None:
        """Open the campaign's link, agree, and do HITs until there is no more, or no more wish to."""
        with self.browser:
            self.tally.add("people")
            page = self._get(crowd.campaign_address(self.campaign).removeprefix(self._site()))
            start = page.link("a[href$='/consent/']")
            if start is None:
                return
            page = self._post(self._get(start).form(), {})
            while page.path.startswith("/j/"):
                if not self._hit(page):
                    return
                self.hits_done += 1
                self.hits -= 1
                page = self._get(page.home or self.home)
                self.home = page.path
                form = page.maybe_form("form[action$='/next/']")
                if self.hits <= 0 or form is None:
                    return
                page = self._post(form, {})

    def come_back(self) -> None:
        """Finish, late, what was begun."""
        self.dawdler = False
        self.is_late = False
        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=30) as self.browser:
            page = self._get(self.unfinished)
            if page.path.endswith("/done/"):
                return
            self._hit(page)
            self.tally.add("came back late")

    def _hit(self, page: "_Page") -> bool:
        """Judge one HIT from its first page. Returns whether the person goes on to a next one."""
        token = page.path.split("/")[2]
        assignment = crowd.assignment_of(token)
        items = {item.position: item for item in _items(assignment.hit_id)}
        stop_after = self.random.randint(1, len(items) - 1) if self.leaver or self.dawdler else len(items)
        tests = [position for position, item in items.items() if item.test_id is not None]
        missed = self.random.choice(tests)
        page = self._get(page.onward())
        done = 0
        while not page.path.endswith("/finish/"):
            position = int(page.path.rstrip("/").rsplit("/", 1)[1])
            side = self._opinion(items[position], fails=self.careless and position == missed)
            page = self._choose(page, assignment.pk, position, items[position], side)
            done += 1
            if done == stop_after and self.dawdler:
                self.is_late = True
                self.unfinished = f"/j/{token}/"
                tasks.assignment_lapse(assignment=assignment, at=timezone.now())
                self.tally.add("stopped in the middle")
                return False
            if done == stop_after and self.leaver:
                self._post(self._get(f"/j/{token}/leave/").form("form[action$='/leave/']"), {})
                self.tally.add("left early")
                return False
            page = self._get(page.onward())
        form = page.form("form[action$='/finish/']")
        page = self._post(form, {})
        if self.random.random() < self.habits.double_clicks:
            page = self._post(form, {})
        if not page.path.endswith("/done/"):
            raise WrongPage(f"sending the answers led to {page.path}")
        self.tally.add("HITs sent")
        return True

    def _choose(self, page: "_Page", assignment_id: int, position: int, item: Item, side: str) -> "_Page":
        """Choose on an item's page, with whatever clumsiness befalls this choice; returns the marked page."""
        page.shows(item)
        if self.random.random() < self.habits.second_thoughts:
            other = "left" if side == "right" else "right"
            page = self._send(page, assignment_id, position, other)
            self.tally.add("second thoughts")
        if self.random.random() < self.habits.double_clicks:
            with ThreadPoolExecutor(2) as clicks:
                list(clicks.map(lambda _click: self._send(page, assignment_id, position, side), range(2)))
            self.tally.add("double clicks")
            page = self._get(page.path)
        else:
            page = self._send(page, assignment_id, position, side)
        if self.random.random() < self.habits.reloads:
            page = self._get(page.path)
            self.tally.add("reloads")
            if page.chosen() != side:
                raise WrongPage(f"{page.path} shows {page.chosen()} after a reload, where {side} was acknowledged")
        return page

    def _send(self, page: "_Page", assignment_id: int, position: int, side: str) -> "_Page":
        form = page.form("form#item")
        if self.scripted:
            body = {"preferred": side, "shown": form.fields["shown"]}
            answer = self._request("POST", form.save, json=body).json()
            if answer.get("saved") is not True or answer.get("preferred") != side:
                raise WrongPage(f"{form.save} answered {answer}")
            self.tally.saved(assignment_id, position, side)
            return page
        marked = self._post(form, {"preferred": side})
        if marked.chosen() != side:
            raise WrongPage(f"{marked.path} shows {marked.chosen()} after {side} was chosen")
        self.tally.saved(assignment_id, position, side)
        return marked

    def _opinion(self, item: Item, *, fails: bool) -> str:
        """The side that this person takes."""
        if item.pair is None:
            prefers_a = not fails and not (self.careless and self.random.random() < 0.5)
        elif self.careless:
            prefers_a = self.random.random() < 0.5
        else:
            pair = item.pair
            prefers_a = self.answers.preferred(pair.pool.query.qid, pair.a.pid, pair.b.pid) == pair.a.pid
            if self.random.random() < self.habits.errors:
                prefers_a = not prefers_a
        return "left" if prefers_a == item.a_left else "right"

    # --- the browser

    def _site(self) -> str:
        address = crowd.campaign_address(self.campaign)
        return address[: address.index("/c/")]

    def _get(self, path: str) -> "_Page":
        return _Page(self._request("GET", path))

    def _post(self, form: "_Form", values: Mapping[str, str]) -> "_Page":
        return _Page(self._request("POST", form.action, data={**form.fields, **values}))

    def _request(self, method: str, path: str, **body: object) -> httpx.Response:
        """Ask until there is an answer: a server that is down or busy, or a lost reply, is asked again."""
        pause, started = 0.05, time.monotonic()
        while True:
            try:
                response = self.browser.request(method, urljoin(self.url, path), **body)  # type: ignore[arg-type]
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code < 500 and response.status_code != 429:
                break
            self.tally.add("requests tried again")
            if time.monotonic() - started > GIVE_UP_SECONDS:
                raise WrongPage(f"{method} {path}: no answer in {GIVE_UP_SECONDS:.0f} seconds")
            time.sleep(pause)
            pause = min(LONGEST_WAIT, pause * 2)
        if response.status_code != 200:
            raise WrongPage(f"{method} {path} answered {response.status_code}: {response.text[:300]}")
        return response


class _Form(NamedTuple):
    action: str
    fields: dict[str, str]
    save: str


class _Page:
    """A page as it came, with what a person would find on it."""

    def __init__(self, response: httpx.Response) -> None:
        self.path = response.url.path
        self.html = LexborHTMLParser(response.text)

    def form(self, selector: str = "main form") -> _Form:
        form = self.maybe_form(selector)
        if form is None:
            raise WrongPage(f"{self.path} has no form {selector}")
        return form

    def maybe_form(self, selector: str) -> _Form | None:
        form = self.html.css_first(selector)
        if form is None:
            return None
        fields = {
            str(field.attributes["name"]): field.attributes.get("value") or ""
            for field in form.css("input[type=hidden][name]")
        }
        return _Form(form.attributes.get("action") or self.path, fields, form.attributes.get("data-save") or "")

    def link(self, selector: str) -> str | None:
        link = self.html.css_first(selector)
        return None if link is None else link.attributes.get("href")

    def onward(self) -> str:
        """Where *Begin* or *Continue* leads."""
        target = self.link("a#continue") or self.link("main a.primary[href^='/j/']")
        if target is None:
            raise WrongPage(f"{self.path} leads nowhere")
        return target

    @property
    def home(self) -> str | None:
        """The person's own place, where the page links to it."""
        return self.link("a[href^='/w/']")

    def chosen(self) -> str | None:
        """The side that is marked as chosen."""
        card = self.html.css_first(".passage.chosen")
        return None if card is None else card.attributes.get("data-side")

    def shows(self, item: Item) -> None:
        """Raises WrongPage unless the page shows the stored texts of this item on their stored sides."""
        if item.pair is not None:
            query, a, b = item.pair.pool.query.text, item.pair.a.text, item.pair.b.text
        else:
            assert item.test is not None
            query, a, b = item.test.question, item.test.relevant_text, item.test.off_topic_text
        expected = (query, a, b) if item.a_left else (query, b, a)
        selectors = ("form#item h1", "[data-side=left] .text", "[data-side=right] .text")
        for selector, text in zip(selectors, expected, strict=True):
            node = self.html.css_first(selector)
            if node is None or node.text().split() != text.split():
                raise WrongPage(f"{self.path} does not show what is stored: {selector}")


def _items(hit_id: int) -> Iterator[Item]:
    yield from Item.objects.filter(hit_id=hit_id).select_related("pair__a", "pair__b", "pair__pool__query", "test")


def described(tally: Tally, preferences: Path) -> list[str]:
    """What a crowd did, in lines for a person."""
    lines = [f"{count:,} {what}" for what, count in sorted(tally.counts.items()) if count]
    unknown = tally.counts["pairs without a preference in the file"]
    if unknown:
        lines.append(f"({name_of(preferences)} says nothing on {unknown:,} pairs: a fixed coin decided.)")
    return lines
