"""A crowd that is not there: simulated people who judge over HTTP, on the real pages, by a file of preferences.

What a person does is drawn from the seed and their number. They read and post the pages as a browser without scripts
does, or save as the page's script does; they believe that a choice is stored when, and only when, a page says so, and
try again when the network or the server fails them. They do not wait to read, but say that the item was shown to them
as long ago as reading it takes. Here they come by a campaign's link; simulation/at_platform.py has those who come by a
marketplace.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import IO, NamedTuple, TypeVar

from django.db import close_old_connections, connection
from django.utils import timezone

from evaluation.files.preferences import Preference
from evaluation.files.textfiles import name_of
from evaluation.judging.reading import least_minutes, reading_minutes
from judgments.pages.worker import shown_token
from pools.models import Campaign
from simulation.browser import GIVE_UP_SECONDS, Browser, Page, WrongPage
from tasks import links
from tasks import services as task_services
from tasks.models import Assignment, Hit, Item
from tasks.selectors import hits_free


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
    late: list[_Guest] = []
    total = Hit.objects.filter(campaign=campaign).count()
    numbers = iter(range(1, 1_000_000))
    with ThreadPoolExecutor(workers) as pool, _log(acknowledged) as tally.acknowledged:
        running: set[Future[_Guest]] = set()
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
                person = _Guest(next(numbers), campaign, url, answers, habits, seed, tally)
                running.add(pool.submit(on_thread, person, person.come))
            if not running:
                if not waiting:
                    break
                if late:
                    running, late = {pool.submit(on_thread, person, person.come_back) for person in late}, []
                time.sleep(0.2)  # what is left is with people who are not of this crowd
                continue
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            late += [future.result() for future in finished if future.result().is_late]
        for future in [pool.submit(on_thread, person, person.come_back) for person in late]:
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


P = TypeVar("P", bound="Person")


def on_thread(person: P, act: Callable[[], None]) -> P:
    """Let a person act on a thread of their own, with a database connection that is closed afterwards."""
    close_old_connections()
    try:
        act()
    finally:
        connection.close()
    return person


class End(StrEnum):
    """How work on a HIT ended: its answers sent, left early on our page, or stopped in the middle without a word."""

    SENT = "sent"
    LEFT = "left"
    STOPPED = "stopped"


class Work(NamedTuple):
    """The outcome of a HIT that a person worked on, and the last page they saw."""

    assignment: Assignment
    end: End
    page: Page


class Person:
    """One simulated worker: how they judge a HIT on its pages, wherever they come from."""

    def __init__(self, number: int, answers: Answers, habits: Habits, seed: int, tally: Tally) -> None:
        self.random = Random(f"{seed} {number}")
        self.pace = Random(f"pace {seed} {number}").uniform(0.7, 1.4)
        self.answers = answers
        self.habits = habits
        self.tally = tally
        kind = self.random.random()
        self.careless = kind < habits.careless
        self.leaver = not self.careless and kind < habits.careless + habits.leavers
        self.dawdler = not (self.careless or self.leaver) and kind < habits.careless + habits.leavers + habits.late
        self.scripted = self.random.random() < habits.scripted
        self.hits = self.random.randint(1, habits.most_hits)
        self.browser: Browser

    def open_browser(self, url: str, *, cookies: bool = True) -> Browser:
        def again(times: int) -> None:
            self.tally.add("requests tried again" if times == 1 else "requests that had to be tried again and again")

        return Browser(url, again, cookies=cookies)

    def judge(self, page: Page, *, stops: bool = False) -> Work:
        """Judge one HIT from its first page, until its end or for as long as this person stays.

        With `stops`, they stop in the middle of this one, as dawdlers do of each.
        """
        stops = stops or self.dawdler
        token = page.path.split("/")[2]
        assignment = links.assignment_of(token)
        items = {item.position: item for item in _items(assignment)}
        stop_after = self.random.randint(1, len(items) - 1) if self.leaver or stops else len(items)
        tests = [position for position, item in items.items() if item.test_id is not None]
        missed = self.random.choice(tests)
        page = self.browser.get(page.onward())
        done = 0
        while not page.path.endswith("/finish/"):
            position = int(page.path.rstrip("/").rsplit("/", 1)[1])
            side = self._opinion(items[position], fails=self.careless and position == missed)
            page = self._choose(page, assignment.pk, position, items[position], side)
            done += 1
            if done == stop_after and stops:
                return Work(assignment, End.STOPPED, page)
            if done == stop_after and self.leaver:
                form = self.browser.get(f"/j/{token}/leave/").form("form[action$='/leave/']")
                page = self.browser.post(form, {})
                self.tally.add("left early")
                return Work(assignment, End.LEFT, page)
            page = self.browser.get(page.onward())
        form = page.form("form[action$='/finish/']")
        page = self.browser.post(form, {})
        if self.random.random() < self.habits.double_clicks:
            page = self.browser.post(form, {})
        if not page.path.endswith("/done/"):
            raise WrongPage(f"sending the answers led to {page.path}")
        self.tally.add("HITs sent")
        return Work(assignment, End.SENT, page)

    def _choose(self, page: Page, assignment_id: int, position: int, item: Item, side: str) -> Page:
        """Choose on an item's page, with whatever clumsiness befalls this choice; returns the marked page."""
        page.shows(item)
        token = self._shown(assignment_id, position, item)
        if self.random.random() < self.habits.second_thoughts:
            other = "left" if side == "right" else "right"
            page = self._send(page, assignment_id, position, other, token)
            self.tally.add("second thoughts")
        if self.random.random() < self.habits.double_clicks:
            with ThreadPoolExecutor(2) as clicks:
                list(clicks.map(lambda _click: self._send(page, assignment_id, position, side, token), range(2)))
            self.tally.add("double clicks")
            page = self.browser.get(page.path)
        else:
            page = self._send(page, assignment_id, position, side, token)
        if self.random.random() < self.habits.reloads:
            page = self.browser.get(page.path)
            self.tally.add("reloads")
            if page.chosen() != side:
                raise WrongPage(f"{page.path} shows {page.chosen()} after a reload, where {side} was acknowledged")
        return page

    def _shown(self, assignment_id: int, position: int, item: Item) -> str:
        """What says when the item was shown: as long ago as people take to read it. The careless only skim it."""
        texts = _texts(item)
        skimmed = least_minutes(texts) + reading_minutes([], choices=1)
        minutes = skimmed if self.careless else reading_minutes(texts, choices=1)
        seconds = 60 * max(skimmed, minutes * self.pace)
        return shown_token(assignment_id, position, timezone.now() - timedelta(seconds=seconds))

    def _send(self, page: Page, assignment_id: int, position: int, side: str, token: str) -> Page:
        form = page.form("form#item")
        if self.scripted:
            body = {"preferred": side, "shown": token}
            answer = self.browser.request("POST", form.save, json=body).json()
            if answer.get("saved") is not True or answer.get("preferred") != side:
                raise WrongPage(f"{form.save} answered {answer}")
            self.tally.saved(assignment_id, position, side)
            return page
        marked = self.browser.post(form, {"preferred": side, "shown": token})
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


class _Guest(Person):
    """Somebody who comes by the campaign's link."""

    def __init__(
        self, number: int, campaign: Campaign, url: str, answers: Answers, habits: Habits, seed: int, tally: Tally
    ) -> None:
        super().__init__(number, answers, habits, seed, tally)
        self.campaign = campaign
        self.url = url
        self.is_late = False
        self.home = ""

    def come(self) -> None:
        """Open the campaign's link, agree, and do HITs until there is no more, or no more wish to."""
        with self.open_browser(self.url) as self.browser:
            self.tally.add("people")
            address = links.campaign_address(self.campaign)
            page = self.browser.get(address[address.index("/c/") :])
            start = page.link("a[href$='/consent/']")
            if start is None:
                return
            page = self.browser.post(self.browser.get(start).form(), {})
            while page.path.startswith("/j/"):
                work = self.judge(page)
                if work.end == End.STOPPED:
                    self._stop(work)
                if work.end != End.SENT:
                    return
                self.hits -= 1
                page = self.browser.get(work.page.home or self.home)
                self.home = page.path
                form = page.maybe_form("form[action$='/next/']")
                if self.hits <= 0 or form is None:
                    return
                page = self.browser.post(form, {})

    def _stop(self, work: Work) -> None:
        """Be away until the time is over."""
        self.is_late = True
        self.unfinished = f"/j/{work.page.path.split('/')[2]}/"
        task_services.assignment_lapse(assignment=work.assignment, at=timezone.now())
        self.tally.add("stopped in the middle")

    def come_back(self) -> None:
        """Finish, late, what was begun."""
        self.dawdler = False
        self.is_late = False
        with self.open_browser(self.url) as self.browser:
            page = self.browser.get(self.unfinished)
            if page.path.endswith("/done/"):
                return
            self.judge(page)
            self.tally.add("came back late")


def _texts(item: Item) -> list[str]:
    """What is to be read on an item's page."""
    if item.test is not None:
        return [item.test.question, item.test.relevant_text, item.test.off_topic_text]
    assert item.pair is not None
    return [item.pair.pool.query.text, item.pair.a.text, item.pair.b.text]


def _items(assignment: Assignment) -> Iterable[Item]:
    return assignment.items.select_related("pair__a", "pair__b", "pair__pool__query", "test")


def describe_crowd(tally: Tally, preferences: Path) -> list[str]:
    """What a crowd did, in lines for a person."""
    lines = [f"{count:,} {what}" for what, count in sorted(tally.counts.items()) if count]
    unknown = tally.counts["pairs without a preference in the file"]
    if unknown:
        lines.append(f"({name_of(preferences)} says nothing on {unknown:,} pairs: a fixed coin decided.)")
    return lines
