"""Simulated people who find their work at a marketplace: they register there, accept HITs, judge in the frame, hand in.

Nothing is asked of the marketplace but its pages and its API, as people and requesters ask it. The two things that time
would do are done by the caller: the background jobs, with `turn`, and the end of a person's time, with `lapse`.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urlencode

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from selectolax.lexbor import LexborNode

from evaluation.files.preferences import Preference
from platforms.models import Operation, Publication, PublishedHit, Submission
from platforms.mturk.client import client_for, listed
from platforms.mturk.endpoints import endpoint_of
from simulation.browser import ANSWERED, GIVE_UP_SECONDS, Page, WrongPage
from simulation.people import Answers, End, Habits, Person, Tally, on_thread
from tasks.models import Assignment, Hit

# Seconds from one turn of the background jobs to the next, at least.
SECONDS_A_TURN = 1.0
# Statuses of pages that say why something is not possible: people read them and do something else.
REFUSED = (200, 400, 403, 404, 409)


class PlatformHabits(NamedTuple):
    """What else people do at a marketplace, as shares of them: `previews` look before they accept, `returners` give
    a HIT back in the middle and take another. Those who are late, by their other habits, never come back.
    """

    previews: float = 0.3
    returners: float = 0.15


class Progress(NamedTuple):
    """How far a published campaign is: HITs that are done, of all; work that is decided and paid, of all handed in."""

    done: int
    hits: int
    settled: int
    handed_in: int


def judge(
    *,
    publication: Publication,
    preferences: Iterable[Preference],
    url: str,
    workers: int,
    habits: Habits,
    platform_habits: PlatformHabits,
    turn: Callable[[], None],
    lapse: Callable[[str], None],
    seed: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Tally:
    """Let a crowd judge a published campaign, `workers` people at a time, until all is done, approved and paid.

    `url` is where our own pages are; `turn` has the background jobs run, and is called about once a second; `lapse`
    ends a worker's time for the platform's assignment of that id. New people register while there are places.

    Raises WrongPage, or what else went wrong, of the first who met it, and if nothing moves for two minutes.
    """
    crowd = _Crowd(publication, Answers(preferences), url, habits, platform_habits, lapse, seed)
    now, last, last_change, next_turn = _progress(publication), None, time.monotonic(), 0.0
    with ThreadPoolExecutor(workers) as pool:
        running: set[Future[_Worker]] = set()
        try:
            while True:
                if time.monotonic() >= next_turn:
                    turn()
                    next_turn = time.monotonic() + SECONDS_A_TURN
                    places = crowd.free_assignments() if now.done < now.hits else 0
                    searching = sum(member.searching for member in crowd.people)
                    for _place in range(min(workers - len(running), places - searching)):
                        person = crowd.newcomer()
                        running.add(pool.submit(on_thread, person, person.come))
                for future in [future for future in running if future.done()]:
                    running.remove(future)
                    future.result()
                now = _progress(publication)
                if progress is not None:
                    progress(now)
                if now != last or running:
                    last, last_change = now, time.monotonic()
                elif time.monotonic() - last_change > GIVE_UP_SECONDS:
                    raise WrongPage(f"Nothing moved in {GIVE_UP_SECONDS:.0f} seconds, and not all is done: {now}.")
                if not running and now.done == now.hits and crowd.all_arrived() and _is_settled(publication):
                    break
                time.sleep(0.1)
        except BaseException:
            crowd.closed = True
            raise
    crowd.tally.counts["pairs without a preference in the file"] = len(crowd.answers.unknown)
    return crowd.tally


def _progress(publication: Publication) -> Progress:
    hits = Hit.objects.filter(campaign_id=publication.campaign_id)
    handed_in = publication.submissions.all()
    waiting = handed_in.filter(decision=Submission.Decision.NONE) | handed_in.filter(operations__ended_at=None)
    total, count = hits.count(), handed_in.count()
    return Progress(total - hits.filter(needed__gt=0).count(), total, count - waiting.distinct().count(), count)


def _is_settled(publication: Publication) -> bool:
    """Whether everything that was handed in is decided on, and every call to the platform is made."""
    undecided = publication.submissions.filter(decision=Submission.Decision.NONE, assignment__isnull=False)
    unchecked = publication.submissions.filter(assignment__verdict=Assignment.Verdict.PENDING)
    calls = Operation.objects.filter(publication=publication, ended_at=None)
    return not (undecided.exists() or unchecked.exists() or calls.exists())


class _Crowd:
    """What the people of one crowd have in common."""

    def __init__(
        self,
        publication: Publication,
        answers: Answers,
        url: str,
        habits: Habits,
        platform_habits: PlatformHabits,
        lapse: Callable[[str], None],
        seed: int,
    ) -> None:
        self.publication = publication
        self.answers = answers
        self.url = url
        endpoint = endpoint_of(publication.platform)
        self.market = endpoint.submit_host
        self.client = client_for(endpoint)
        self.habits = habits
        self.platform_habits = platform_habits
        self.lapse = lapse
        self.seed = seed
        self.tally = Tally()
        self.people: list[_Worker] = []
        self.handed_in: set[str] = set()
        self.closed = False

    def newcomer(self) -> "_Worker":
        """One more person."""
        self.people.append(_Worker(len(self.people) + 1, self))
        return self.people[-1]

    def free_assignments(self) -> int:
        """How many more assignments workers could accept now, by the platform's word. 0 if it does not answer."""
        ours = set(
            self.publication.published_hits.exclude(platform_hit_id="").values_list("platform_hit_id", flat=True)
        )
        try:
            hits = list(listed(self.client.list_hits, "HITs")) if ours else []
        except (BotoCoreError, ClientError):
            return 0
        open_now = [hit for hit in hits if hit["HITStatus"] == "Assignable" and hit["HITId"] in ours]
        return sum(hit["NumberOfAssignmentsAvailable"] for hit in open_now)

    def all_arrived(self) -> bool:
        """Whether all that these people handed in at the platform is known here."""
        known = self.publication.submissions.filter(platform_assignment_id__in=self.handed_in)
        return known.count() == len(self.handed_in)


class _Worker(Person):
    """Somebody who works at the marketplace. In its frame, our pages get no cookies."""

    def __init__(self, number: int, crowd: _Crowd) -> None:
        super().__init__(number, crowd.answers, crowd.habits, crowd.seed, crowd.tally)
        self.crowd = crowd
        self.searching = True
        self.previews = self.random.random() < crowd.platform_habits.previews
        self.returner = self.random.random() < crowd.platform_habits.returners
        self.email = f"simulated-{secrets.token_hex(6)}@example.org"
        self.password = secrets.token_urlsafe(12)

    def come(self) -> None:
        """Register, and do HITs until there is none, or no more wish to."""
        try:
            with (
                self.open_browser(self.crowd.market) as self.market,
                self.open_browser(self.crowd.url, cookies=False) as self.browser,
            ):
                self._register()
                while self.hits > 0 and not self.crowd.closed:
                    page = self._accept()
                    if page is None or not self._work(page):
                        return
                    self.hits -= 1
        finally:
            self.searching = False

    def _register(self) -> None:
        form = self.market.get("/register").form("form[action='/register']")
        given = {"email": self.email, "password": self.password, "country": "US"}
        page = self.market.post(form, given, good=REFUSED)
        if page.path == "/register":  # sent twice, as the first answer was lost
            form = self.market.get("/login").form()
            page = self.market.post(form, {"username": self.email, "password": self.password})
        if page.path != "/tasks":
            raise WrongPage(f"Registering at the marketplace led to {page.path}")
        self.tally.add("people")

    def _accept(self) -> Page | None:
        """The page of a HIT to work on: one that is held already, or one more. None if there is none to be had."""
        tasks = "/tasks?" + urlencode({"words": self.crowd.publication.title})
        for _try in range(3):
            page = self.market.get(tasks)
            held = page.link("section[aria-labelledby=held] a[href^='/work/']")
            if held is not None:
                return self.market.get(held)
            card = next(filter(self._is_ours, page.html.css("li.task.card")), None)
            form = None if card is None else page.maybe_form("form[action$='/accept']", card)
            if card is None or form is None:
                break
            if self.previews:
                self._look(_look_link(card))
                self.previews = False
            page = self.market.post(form, {}, good=REFUSED)
            if page.path.startswith("/work/"):
                self.searching = False
                return page
        self.tally.add("found nothing")
        return None

    def _is_ours(self, card: LexborNode) -> bool:
        hit_id = _look_link(card).rpartition("/")[2]
        return PublishedHit.objects.filter(publication=self.crowd.publication, platform_hit_id=hit_id).exists()

    def _look(self, link: str) -> None:
        """Look at a HIT before it is accepted. Someone else may have taken it in the meantime."""
        page = self.market.get(link, good=REFUSED)
        frame = page.html.css_first("iframe")
        if frame is not None:
            shown = self.browser.get(frame.attributes["src"] or "")
            if shown.maybe_form(ANSWERED) is not None:
                raise WrongPage(f"{link}: the preview asks for an answer")
            self.tally.add("previews")

    def _work(self, page: Page) -> bool:
        """Do an accepted HIT from its page at the marketplace. Returns whether the person continues with another."""
        assignment_id = page.path.rpartition("/")[2]
        frame = page.html.css_first("iframe")
        if frame is None:  # its time is over
            return True
        shown = self.browser.get(frame.attributes["src"] or "", good=REFUSED)
        consent = shown.maybe_form("form[action^='/m/']")
        if consent is not None:
            shown = self.browser.post(consent, {}, good=REFUSED)
        if not shown.path.startswith("/j/"):
            self._give_back(assignment_id)
            self.tally.add("sent away")
            return False
        returns, self.returner = self.returner, False
        work = self.judge(shown, stops=returns)
        if returns and work.end == End.STOPPED:
            self._give_back(assignment_id)
            self.tally.add("given back")
            return True
        if work.end == End.STOPPED:
            self.crowd.lapse(assignment_id)
            self.tally.add("time ran out")
            return False
        self._hand_in(work.page, assignment_id)
        return work.end == End.SENT

    def _hand_in(self, page: Page, assignment_id: str) -> None:
        """Send the last page's form to the marketplace, and see there that it has arrived."""
        form = page.form("form#submit")
        times = 2 if self.random.random() < self.habits.double_clicks else 1
        for _click in range(times):
            self.browser.post(form, {})
        self.crowd.handed_in.add(assignment_id)
        page = self.market.get(f"/work/{assignment_id}/check")
        if page.path != f"/work/{assignment_id}":
            raise WrongPage(f"The marketplace does not know of the work that was handed in: {page.path}")
        self.tally.add("handed in")

    def _give_back(self, assignment_id: str) -> None:
        form = self.market.get(f"/work/{assignment_id}/return").form()
        self.market.post(form, {})


def _look_link(card: LexborNode) -> str:
    link = card.css_first("a[href^='/tasks/']")
    return "" if link is None else link.attributes.get("href") or ""
