"""What simulated people at any platform have in common: they come while there are places, until all is paid."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from platforms.models import Operation, Publication, Submission
from simulation.browser import GIVE_UP_SECONDS, WrongPage
from simulation.crowd import Answers, Habits, Person, Tally, on_thread
from tasks.models import Assignment, Hit

# Seconds from one turn of the background jobs to the next, at least.
SECONDS_A_TURN = 1.0
# Statuses of pages that say why something is not possible: people read them and do something else.
REFUSED = (200, 400, 403, 404, 409)


class Progress(NamedTuple):
    """How far a published campaign is: HITs that are done, of all; work that is decided and paid, of all handed in."""

    done: int
    hits: int
    settled: int
    handed_in: int


class Crowd(ABC):
    """What the people of one crowd have in common. `url` is where our own pages are."""

    def __init__(self, publication: Publication, answers: Answers, url: str, habits: Habits, seed: int) -> None:
        self.publication = publication
        self.answers = answers
        self.url = url
        self.habits = habits
        self.seed = seed
        self.tally = Tally()
        self.people: list[Visitor] = []
        self.handed_in: set[str] = set()
        self.closed = False

    @abstractmethod
    def person(self, number: int) -> "Visitor":
        """Somebody who has not come yet."""

    @abstractmethod
    def free_places(self) -> int:
        """How many more people could take work now, by the platform's word. 0 if it does not answer."""

    def newcomer(self) -> "Visitor":
        """One more person."""
        self.people.append(self.person(len(self.people) + 1))
        return self.people[-1]

    def all_arrived(self) -> bool:
        """Whether all that these people handed in at the platform is known here."""
        submissions = self.publication.submissions.filter(platform_assignment_id__in=self.handed_in)
        return submissions.count() == len(self.handed_in)


class Visitor(Person, ABC):
    """Somebody who comes by a platform. `searching`: they have not taken work yet."""

    def __init__(self, number: int, crowd: Crowd) -> None:
        super().__init__(number, crowd.answers, crowd.habits, crowd.seed, crowd.tally)
        self.searching = True

    @abstractmethod
    def come(self) -> None:
        """Do HITs until there is none, or no more wish to."""


def attend(
    crowd: Crowd, *, workers: int, turn: Callable[[], None], progress: Callable[[Progress], None] | None = None
) -> Tally:
    """Let a crowd judge its publication, `workers` people at a time, until all is done, approved and paid.

    `turn` has the background jobs run, and is called about once a second. New people come while there are places.

    Raises WrongPage, or what else went wrong, of the first who met it, and if nothing moves for two minutes.
    """
    publication = crowd.publication
    now, last, last_change, next_turn = _progress(publication), None, time.monotonic(), 0.0
    with ThreadPoolExecutor(workers) as pool:
        running: set[Future[Visitor]] = set()
        try:
            while True:
                if time.monotonic() >= next_turn:
                    turn()
                    next_turn = time.monotonic() + SECONDS_A_TURN
                    places = crowd.free_places() if now.done < now.hits else 0
                    for _place in range(min(workers - len(running), places - _searching(crowd.people))):
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
                time.sleep(0.25)
        except BaseException:
            crowd.closed = True
            raise
    crowd.tally.counts["pairs without a preference in the file"] = len(crowd.answers.unknown)
    return crowd.tally


def _searching(people: Sequence[Visitor]) -> int:
    return sum(person.searching for person in people)


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
