"""Histories at the marketplace: a double of it in this process, whose assignments move by its own table."""

from contextlib import suppress
from datetime import datetime, timedelta

from botocore.exceptions import ReadTimeoutError

from core.models import Alarm, User
from platforms.arriving import assignment_arrive
from platforms.models import Payment, Publication, PublishedHit, Submission
from platforms.mturk.operations import mark_of
from tasks import services as task_services
from tasks.models import Assignment
from tests.histories.frame import Wrong
from tests.histories.market import Market, Through
from tests.histories.published import EXTRA, Published

CROWD = [f"A{number:013d}" for number in range(9)]


class AtMarketplace(Published):
    """Workers who take HITs, two researchers here and one at the marketplace, jobs, and time."""

    def __init__(self, publication: Publication, market: Market, people: tuple[User, User], now: datetime) -> None:
        super().__init__(publication, people, now)
        self.market = market.copy(self.clock)
        self.client = Through(self.market, self.trouble_of_call)
        self.seen = len(self.market.paid)

    def lost(self) -> BaseException:
        return ReadTimeoutError(endpoint_url="lost")

    def status_of(self, key: str) -> str:
        return str(self.market.assignments[key]["AssignmentStatus"])

    def amounts_of(self, key: str) -> list[int]:
        """Of a compensation, what was paid for the assignment that was made to pay it."""
        mine = {key, *self._compensations_of(key)}
        return [cents for _kind, paid, cents in self.market.paid if paid in mine and cents != EXTRA * 100]

    def _compensations_of(self, key: str) -> list[str]:
        """The assignments by which a compensation for one was taken."""
        offers = PublishedHit.objects.filter(hit=None, operations__payment__assignment=self.begun.get(key))
        ids = set(offers.exclude(platform_hit_id="").values_list("platform_hit_id", flat=True))
        return [row["AssignmentId"] for row in self.market.assignments.values() if row["HITId"] in ids]

    def cents_there(self) -> int:
        return sum(cents for _kind, _key, cents in self.market.paid)

    # --- workers

    def _open(self, worker: str) -> list[str]:
        return [hit_id for hit_id in self.market.hits if self.market.may_accept(hit_id, worker)]

    def somebody_comes(self, pick: int) -> None:
        """A worker accepts a HIT and begins it here, or takes the compensation that they are offered."""
        worker = CROWD[pick % len(CROWD)]
        hit_id = self._one(self._open(worker), pick // 10)
        if hit_id is None:
            return
        key = self.market.accept(hit_id, worker)
        which = self.market.hits[hit_id]["RequesterAnnotation"].removeprefix(mark_of(self.publication))
        if which.startswith("compensation"):
            self.market.submit(key, "taken")
            return
        hit = self.campaign.hits.get(number=which.partition("/")[0])  # its address has it, before its id is stored
        with suppress(task_services.NoWork):
            begun = assignment_arrive(
                publication=self.publication, hit=hit, assignment_id=key, worker_id=worker, at=self.now
            )
            self.begun[key], self.answers[key] = begun, 0

    def _held(self) -> list[str]:
        return [key for key, row in self.market.assignments.items() if row["AssignmentStatus"] == "Accepted"]

    def somebody_comes_back(self, pick: int) -> None:
        """They submit what they ended here, with its receipt; now and then something that they did not end."""
        keys = [key for key in self._held() if key in self.over or pick % 8 == 0]
        if (key := self._one(keys, pick)) is None:
            return
        receipts = Assignment.objects.filter(platform_assignment_id=key).values_list("receipt", flat=True)
        self.market.submit(key, next(iter(receipts), "") if pick % 15 else "WRONG")

    def somebody_returns(self, pick: int) -> None:
        if (key := self._one(self._held(), pick)) is not None:
            self.market.give_back(key)

    # --- time

    def _pass(self, **time: float) -> None:
        self.now += timedelta(**time)
        for key in self.market.tick():
            if self._is_alarmed(key):
                self.by_person.add(key)  # somebody looked on until the clock approved it

    # --- researchers

    def by_hand(self, pick: int) -> None:
        """At the marketplace, somebody approves or rejects, or pays what was rejected after all."""
        move = (("Submitted", "Approved"), ("Submitted", "Rejected"), ("Rejected", "Approved"))[pick % 3]
        rows = [key for key, row in self.market.assignments.items() if row["AssignmentStatus"] == move[0]]
        if (key := self._one(rows, pick // 3)) is None:
            return
        if move[1] == "Approved":
            self.by_person.update({key, *self._same_work(key)})
        elif move[1] == "Rejected":
            self.declined.update(self._same_work(key))
        self.market.decide(key, move[1])

    def _same_work(self, key: str) -> list[str]:
        """The work that an assignment compensates. Its HIT may be there before its id is stored here."""
        annotation = self.market.hits[self.market.assignments[key]["HITId"]]["RequesterAnnotation"]
        what, _space, token = annotation.removeprefix(mark_of(self.publication)).partition(" ")
        if what != "compensation":
            return []
        paid = Payment.objects.select_related("assignment").get(token=token.partition("/")[0])
        return [paid.assignment.platform_assignment_id] if paid.assignment else []

    def take_offers(self) -> None:
        """Everybody takes the compensation that they are offered."""
        for worker in CROWD:
            for hit_id in self._open(worker):
                if PublishedHit.objects.filter(platform_hit_id=hit_id, hit=None).exists():
                    self.market.submit(self.market.accept(hit_id, worker), "taken")

    # --- what must hold

    def check(self) -> None:
        """Nobody is paid more than the reward for one HIT, however often they took it and by whatever."""
        if len(self.market.paid) == self.seen:
            return
        new, self.seen = self.market.paid[self.seen :], len(self.market.paid)
        for key in {key for _kind, key, _cents in new}:
            for own in self._same_work(key) or [key]:
                self._check_paid_once(own)

    def _check_paid_once(self, key: str) -> None:
        if key not in self.begun:
            return
        begun = self.begun[key]
        same = Assignment.objects.filter(hit=begun.hit_id, worker=begun.worker_id)
        mine = same.values_list("platform_assignment_id", flat=True)
        paid = sum(sum(self.amounts_of(one)) for one in mine)
        works = Submission.objects.filter(platform_assignment_id__in=self._all_of(mine)).values("pk")
        chosen = self.by_person.intersection(mine) or Alarm.objects.filter(
            kind__in=("twice", "unmatched"), settled_at=None, about_id__in=works
        )
        if paid > int(self.campaign.reward * 100) and not chosen:
            raise Wrong(f"{paid} cents were paid for one HIT: {[(one, self.amounts_of(one)) for one in mine]}")

    def works(self) -> list[list[str]]:
        """Of what one worker began of one HIT, again and again, one is paid."""
        works: dict[tuple[int, int], list[str]] = {}
        for key, begun in self.begun.items():
            works.setdefault((begun.hit_id, begun.worker_id), []).append(key)
        return list(works.values())

    def _all_of(self, keys: list[str]) -> list[str]:
        return [other for key in keys for other in (key, *self._compensations_of(key))]
