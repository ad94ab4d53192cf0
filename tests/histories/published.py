"""Histories of a campaign at a platform: what people do here, what researchers decide, jobs, and what befalls them."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Q

from core.errors import Refused
from core.models import Alarm, User
from judgments import quality
from judgments import services as judgment_services
from platforms.finishing import publication_finish
from platforms.ledger_comparison import comparison_make
from platforms.models import Operation, Payment, PlatformAlarm, Publication, PublishedHit, Submission
from platforms.outbox import operations_run
from platforms.publishing.publications import publication_plan
from platforms.registry import CALL_ERRORS
from platforms.reviewing.compensations import compensation_decline, compensation_offer
from platforms.reviewing.deciding import bonus_grant, may_book, return_ask, submission_approve, submission_reject
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.syncing import finished_end, publication_sync
from tasks.models import Assignment
from tests.histories.frame import Killed, World, Wrong

EXTRA = Decimal("0.37")  # an amount that nothing else has
WHY = "This is what a person writes who decides, and it is as long as Prolific wants the reason of a rejection to be. "
PURPOSES = Payment.Purpose


class Trouble(NamedTuple):
    """What befalls the next call but so many: it is lost, or its process is killed, before it is done or after."""

    calls: int
    error: Callable[[], BaseException]
    after: bool


class Published(World):
    """A campaign at a platform, with two researchers. An assignment here has the key of the one there."""

    WEIGHTS = {
        "somebody_comes": 12,
        "somebody_answers": 30,
        "somebody_finishes": 10,
        "somebody_leaves": 3,
        "somebody_comes_back": 12,
        "somebody_returns": 4,
        "minutes_pass": 12,
        "hours_pass": 4,
        "days_pass": 1,
        "by_hand": 2,
        "a_researcher_decides": 2,
        "a_researcher_compensates": 2,
        "a_researcher_thanks": 1,
        "trouble_comes": 2,
        "sync": 3,
        "check_work": 2,
        "settle": 3,
        "call": 4,
        "requeue": 1,
    }
    items = 3

    def __init__(self, publication: Publication, people: tuple[User, User], now: datetime) -> None:
        super().__init__(now)
        self.key, self.people, self.campaign = publication.pk, people, publication.campaign
        self.begun: dict[str, Assignment] = {}  # here, as they were then
        self.answers: dict[str, int] = {}
        self.over: dict[str, str] = {}  # how people ended here
        self.by_person: set[str] = set()  # whom a person chose to pay beside a compensation
        self.declined: set[str] = set()
        self.coming: list[Trouble] = []
        self.did: Counter[str] = Counter()

    def lost(self) -> BaseException:
        """What a call raises whose answer is lost."""
        raise NotImplementedError

    def status_of(self, key: str) -> str:
        """What an assignment is at the platform."""
        raise NotImplementedError

    def amounts_of(self, key: str) -> list[int]:
        """What was paid for it there, in cents, but for thanks."""
        raise NotImplementedError

    def cents_there(self) -> int:
        raise NotImplementedError

    def _pass(self, **time: float) -> None:
        raise NotImplementedError

    @property
    def publication(self) -> Publication:
        return Publication.objects.select_related("campaign__lab").get(pk=self.key)

    def trouble_of_call(self) -> Trouble | None:
        if not self.coming:
            return None
        first = self.coming[0]
        if first.calls > 0:
            self.coming[0] = first._replace(calls=first.calls - 1)
            return None
        return self.coming.pop(0)

    def _one(self, rows: Sequence[Any], pick: int) -> Any:
        return rows[pick % len(rows)] if rows else None

    # --- people, here

    def _at_work(self, least: int, most: int) -> list[str]:
        chosen = (key for key, count in self.answers.items() if least <= count <= most)
        return [key for key in chosen if key not in self.over]

    def somebody_answers(self, pick: int) -> None:
        """They answer the next item; whatever Prolific says of them, as long as nothing ended it here."""
        key = self._one(self._at_work(0, self.items - 1), pick)
        if key is None:
            return
        self.now += timedelta(seconds=20)
        assignment, position = self.begun[key], self.answers[key] + 1
        try:
            judgment_services.judgment_save(
                assignment_id=assignment.pk,
                position=position,
                preferred=self.right_answer(assignment, position),
                shown_at=self.now - timedelta(seconds=15),
                at=self.now,
            )
        except Refused:
            self.over[key] = "by itself"
        else:
            self.answers[key] += 1

    def _end_here(self, key: str, *, leaves: bool) -> None:
        end = judgment_services.assignment_leave if leaves else judgment_services.assignment_finish
        ended = end(assignment=self.begun[key], at=self.now)
        self.over[key] = "left" if ended.state == Assignment.State.LEFT else "finished"

    def somebody_finishes(self, pick: int) -> None:
        if (key := self._one(self._at_work(self.items, self.items), pick)) is not None:
            self._end_here(key, leaves=False)

    def somebody_leaves(self, pick: int) -> None:
        if (key := self._one(self._at_work(0, self.items - 1), pick)) is not None:
            self._end_here(key, leaves=True)

    # --- time

    def minutes_pass(self, pick: int) -> None:
        self._pass(minutes=1 + pick % 30)

    def hours_pass(self, pick: int) -> None:
        self._pass(hours=1 + pick % 5)

    def days_pass(self, pick: int) -> None:
        self._pass(days=1 + pick % 3)

    # --- researchers

    def _same_work(self, key: str) -> list[str]:
        """The work that is paid by a compensation which was taken."""
        return []

    def _is_alarmed(self, key: str, kind: str = PlatformAlarm.TWICE) -> bool:
        """Whether a person was told that this work had been compensated, or something else of it."""
        works = Submission.objects.filter(platform_assignment_id=key).values("pk")
        return Alarm.objects.filter(kind=kind, settled_at=None, about_id__in=works).exists()

    def a_researcher_decides(self, pick: int) -> None:
        """One of two approves, rejects, or books what Prolific paid."""
        wait = Q(decision="") | Q(decision="reject", status=Submission.Status.APPROVED)
        waiting = Submission.objects.filter(wait).select_related("published_hit").order_by("pk")
        submission = self._one(list(waiting), pick)
        if submission is None:
            return
        about = {"submission": submission, "by": self.people[pick % 2], "why": WHY, "at": self.now}
        key = submission.platform_assignment_id
        with suppress(Refused):
            if pick % 5 == 0 and submission.status == Submission.Status.SUBMITTED:
                submission_reject(**about, category="OTHER")
                self.declined.update([key, *self._same_work(key)])
                return
            if submission.published_hit.hit_id is None:
                self.by_person.update(self._same_work(key) if self._is_alarmed(key, PlatformAlarm.UNMATCHED) else [])
            elif self._is_alarmed(key):
                self.by_person.add(key)
            elif submission.assignment_id is not None and pick % 3 and not may_book(submission):
                return  # the jobs do
            submission_approve(**about)

    def a_researcher_asks_for_a_return(self, pick: int) -> None:
        waiting = Submission.objects.filter(decision="", status=Submission.Status.SUBMITTED).order_by("pk")
        if (submission := self._one(list(waiting), pick)) is not None:
            with suppress(Refused):
                return_ask(submission=submission, by=self.people[pick % 2], why=WHY, at=self.now)

    def _owed(self) -> list[Payment]:
        owed = Payment.objects.filter(purpose=PURPOSES.COMPENSATION, state=Payment.State.OWED)
        return list(owed.exclude(operations__ended_at=None, operations__isnull=False).order_by("pk"))

    def a_researcher_compensates(self, pick: int) -> None:
        """Offer what is listed, or now and then decline it."""
        payment = self._one(self._owed(), pick)
        if payment is None or payment.assignment is None:
            return
        with suppress(Refused):
            if pick % 12 == 0:
                compensation_decline(payment=payment, by=self.people[pick % 2], why=WHY, at=self.now)
                self.declined.add(payment.assignment.platform_assignment_id)
            else:
                compensation_offer(payment=payment, at=self.now)

    def a_researcher_thanks(self, pick: int) -> None:
        work = Submission.objects.filter(decision="approve", status=Submission.Status.APPROVED).order_by("pk")
        if (submission := self._one(list(work), pick)) is not None:
            with suppress(Refused):
                bonus_grant(submission=submission, amount=EXTRA, by=self.people[0], why="Thank you.", at=self.now)

    # --- jobs, and what befalls them

    def trouble_comes(self, pick: int) -> None:
        error = Killed if pick % 3 == 0 else self.lost
        self.coming.append(Trouble(pick // 12 % 6, error, bool(pick // 3 % 2)))

    def _job(self, act: Callable[[], object]) -> None:
        try:
            act()
        except (Killed, Refused, *CALL_ERRORS):
            self.did["failed"] += 1

    def sync(self, pick: int) -> None:
        self._job(lambda: publication_sync(publication=self.publication, at=self.now, everything=pick % 4 == 0))

    def check_work(self, _pick: int) -> None:
        self._job(lambda: judgment_services.abandoned_end_all(at=self.now))
        self._job(lambda: quality.confirmed_check_all(at=self.now))

    def settle(self, _pick: int) -> None:
        self._job(lambda: publication_settle(publication=self.publication, at=self.now))

    def call(self, _pick: int) -> None:
        self._job(lambda: operations_run(publication=self.publication, limit=20, clock=self.clock, sleep=self.sleep))

    def requeue(self, _pick: int) -> None:
        self._job(lambda: publication_requeue(publication=self.publication, at=self.now))
        self._job(lambda: finished_end(publication=self.publication, at=self.now))
        self._job(lambda: publication_plan(publication_id=self.key, at=self.now))
        self._job(lambda: publication_finish(publication=self.publication, at=self.now))

    # --- what must hold at the end

    def look_at_doubts(self) -> bool:
        """A person says what became of calls that are not made again. Whether there were such."""
        return False

    def end(self) -> None:
        """Time passes, the researchers do what they are asked to, and then everything is paid, or waits for them."""
        self.coming.clear()
        for days in (2, 22):
            self._pass(days=days)
            self._round()
            self.look_at_doubts()
        self._round()
        self._wait_for_lapsed()
        self.check()
        self._check_offers()
        self._book()
        self.check()
        self._check_over()
        self._check_answers()
        self._check_owed()
        self._check_comparison()

    def _wait_for_lapsed(self) -> None:
        """An offer that nobody took in its time waits for a person a while later, when nobody can be at it any more."""
        for _again in range(20):
            offers = PublishedHit.objects.filter(hit=None, expires_at__lte=self.now, submissions=None)
            if not offers.filter(operations__payment__state=Payment.State.SENT).exists():
                return
            self._pass(hours=3)
            self._round()
        raise Wrong("an offer is over, and nobody is told")

    def take_offers(self) -> None:
        """Whoever is offered a compensation takes it, where it must be taken."""

    def _check_offers(self) -> None:
        waiting = Payment.objects.filter(purpose=PURPOSES.COMPENSATION)
        if not waiting.filter(state__in=[Payment.State.OWED, Payment.State.SENT]).exists():
            return
        offers = []
        for payment in self._owed():
            with suppress(Refused):
                compensation_offer(payment=payment, at=self.now)
                offers.append(payment)
        self._round()
        self.take_offers()
        self._round()
        if self.look_at_doubts():
            self._round()
        for payment in Payment.objects.filter(pk__in=[row.pk for row in offers]).select_related("assignment"):
            assert payment.assignment is not None
            key = payment.assignment.platform_assignment_id
            paid = self.amounts_of(key)
            if int(payment.amount * 100) not in paid or payment.state != Payment.State.PAID:
                raise Wrong(f"offered {payment.amount}, {payment.state}, and {self.status_of(key)} there: {paid}")

    def _book(self) -> None:
        """A person books what the platform paid for and nobody approved here."""
        books = [row for row in Submission.objects.exclude(decision="approve") if may_book(row)]
        for submission in books:
            self.by_person.add(submission.platform_assignment_id)
            submission_approve(submission=submission, by=self.people[0], why=WHY, at=self.now)
        if books:
            self._round()

    def _check_answers(self) -> None:
        """Every answer counts that was saved."""
        ours = Assignment.objects.filter(campaign=self.campaign).exclude(platform_assignment_id="")
        for key, judged, owed in ours.values_list("platform_assignment_id", "judged", "owed"):
            if judged != self.answers[key]:
                raise Wrong(f"{self.answers[key]} answers were saved, and {judged} count")
            if owed != self.share_of(key):
                raise Wrong(f"{owed} is owed for {judged} answers")

    def share_of(self, key: str) -> Decimal:
        return (self.campaign.reward * self.answers[key] / self.items).quantize(Decimal("0.01"))

    def _check_owed(self) -> None:
        """Whoever answered has their share, or a person decided otherwise."""
        for keys in self.works():
            status = {self.status_of(key).upper() for key in keys}
            if "REJECTED" in status or self.declined.intersection(keys):
                continue
            paid = sum(sum(self.amounts_of(key)) for key in keys)
            share = min((int(self.share_of(key) * 100) for key in keys if self.answers[key]), default=0)
            if paid < share and not ("APPROVED" in status and self._was_unmatched(keys)):
                rows = list(
                    Submission.objects.filter(platform_assignment_id__in=keys).values_list("status", "decision")
                )
                states = [Assignment.objects.get(pk=self.begun[key].pk).state for key in keys]
                raise Wrong(f"{share} cents are owed and {paid} paid: {status} there, {states} and {rows} here")

    def works(self) -> list[list[str]]:
        """What is paid once: an assignment, or all that somebody began of the same."""
        return [[key] for key in self.answers]

    def _was_unmatched(self, keys: list[str]) -> bool:
        """Whether a person was told that what was submitted matches nothing, so that what it pays is theirs to say."""
        works = Submission.objects.filter(platform_assignment_id__in=keys).values("pk")
        return Alarm.objects.filter(kind=PlatformAlarm.UNMATCHED, about_id__in=works).exists()

    def _check_comparison(self) -> None:
        """The ledgers differ where they do, and nowhere else: now they do nowhere."""
        found = comparison_make(publication=self.publication, at=self.now).differences  # and books what it finds paid
        ours = sum(Payment.objects.filter(state=Payment.State.PAID).values_list("amount", flat=True), Decimal(0))
        if found or self.cents_there() != int(ours * 100):
            raise Wrong(f"{self.cents_there()} cents there, {ours} here: {found}")

    def _check_over(self) -> None:
        """Nothing goes on for ever."""
        going_on = Assignment.objects.filter(state=Assignment.State.ACTIVE)
        if going_on.exists():
            raise Wrong(f"still being judged: {list(going_on.values_list('platform_assignment_id', flat=True))}")
        if (calls := Operation.objects.filter(ended_at=None, first_sent_at__isnull=False)).exists():
            raise Wrong(f"calls that do not end: {list(calls.values_list('kind', 'state', 'error'))}")

    def _round(self) -> None:
        self.sync(0)
        self.check_work(0)
        self.settle(0)
        for _again in range(3):
            self.call(0)
            if not Operation.objects.filter(ended_at=None).exists():
                break
            self._pass(minutes=20)
