"""Simulated people who find their work at a marketplace: they register there, accept HITs, judge in the frame, hand in.

Nothing is asked of the marketplace but its pages and its API, as people and requesters ask it. The two things that time
would do are done by the caller: the background jobs, with `turn`, and the end of a person's time, with `lapse`.
"""

import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import urlencode

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from selectolax.lexbor import LexborNode

from evaluation.files.preferences import Preference
from platforms.models import Publication, PublishedHit
from platforms.mturk.client import client_for, listed
from platforms.mturk.endpoints import endpoint_of
from simulation.attending import REFUSED, Crowd, Progress, Visitor, attend
from simulation.browser import ANSWERED, Page, WrongPage
from simulation.crowd import Answers, End, Habits, Tally


class PlatformHabits(NamedTuple):
    """What else people do at a marketplace, as shares of them: `previews` look before they accept, `returners` give
    a HIT back in the middle and take another. Those who are late, by their other habits, never come back.
    """

    previews: float = 0.3
    returners: float = 0.15


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
    return attend(crowd, workers=workers, turn=turn, progress=progress)


class _Crowd(Crowd):
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
        super().__init__(publication, answers, url, habits, seed)
        endpoint = endpoint_of(publication.platform)
        self.market = endpoint.submit_host
        self.client = client_for(endpoint)
        self.platform_habits = platform_habits
        self.lapse = lapse

    def person(self, number: int) -> "_Worker":
        """Somebody who will register."""
        return _Worker(number, self)

    def free_places(self) -> int:
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


class _Worker(Visitor):
    """Somebody who works at the marketplace. In its frame, our pages get no cookies."""

    def __init__(self, number: int, crowd: _Crowd) -> None:
        super().__init__(number, crowd)
        self.crowd: _Crowd = crowd
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
        fields = {"email": self.email, "password": self.password, "country": "US"}
        page = self.market.post(form, fields, good=REFUSED)
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
            link = page.link("section[aria-labelledby=held] a[href^='/work/']")
            if link is not None:
                return self.market.get(link)
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
            task = self.browser.get(frame.attributes["src"] or "")
            if task.maybe_form(ANSWERED) is not None:
                raise WrongPage(f"{link}: the preview asks for an answer")
            self.tally.add("previews")

    def _work(self, page: Page) -> bool:
        """Do an accepted HIT from its page at the marketplace. Returns whether the person continues with another."""
        assignment_id = page.path.rpartition("/")[2]
        frame = page.html.css_first("iframe")
        if frame is None:  # its time is over
            return True
        task = self.browser.get(frame.attributes["src"] or "", good=REFUSED)
        consent = task.maybe_form("form[action^='/m/']")
        if consent is not None:
            task = self.browser.post(consent, {}, good=REFUSED)
        if not task.path.startswith("/j/"):
            self._give_back(assignment_id)
            self.tally.add("sent away")
            return False
        returns, self.returner = self.returner, False
        work = self.judge(task, stops=returns)
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
        """Send the last page's form to the marketplace, and see there that it has arrived. Who left early is asked to
        return the task, where the terms say so.
        """
        form = page.maybe_form("form#submit")
        if form is None:
            self._give_back(assignment_id)
            self.tally.add("given back")
            return
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
