"""Histories of people who come by a link or from a panel, and whom their lab pays itself."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from core.errors import Refused
from core.models import User
from judgments import quality
from judgments import services as judgment_services
from platforms.models import HandPayment
from platforms.money.pay_desk import assignments_owed, desk_of, payments_mark, payments_take_back
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests.histories.frame import World, Wrong

WHY = "Somebody looked at it."
CHANGES = 15  # between two looks at everything


class ByLink(World):
    """Many people with a browser of their own, two researchers, and time."""

    WEIGHTS = {
        "somebody_comes": 10,
        "somebody_answers": 40,
        "somebody_finishes": 8,
        "somebody_leaves": 4,
        "minutes_pass": 10,
        "hours_pass": 6,
        "days_pass": 2,
        "check_work": 4,
        "a_researcher_pays_some": 3,
        "a_researcher_pays_all": 1,
        "a_researcher_takes_back": 1,
        "a_researcher_excludes_or_restores": 1,
    }

    def __init__(self, campaign: Campaign, people: tuple[User, User], items: int, now: datetime) -> None:
        super().__init__(now)
        self.campaign, self.people, self.items = campaign, people, items
        self.crowd: list[Worker] = []
        self.answers: dict[int, int] = {}
        self.at_work: dict[int, Assignment] = {}
        self.changed, self.changes = False, 0

    def _one(self, rows: Sequence[Any], pick: int) -> Any:
        return rows[pick % len(rows)] if rows else None

    # --- people

    def somebody_comes(self, pick: int) -> None:
        """Somebody new, or somebody known: on with what they are at, however long ago that was."""
        if not self.crowd or pick % 3:
            name = f"{len(self.crowd)}"
            if pick % 2:
                worker = task_services.worker_join(campaign=self.campaign, form=name)
            else:
                worker = task_services.panel_invite(campaign=self.campaign, labels=[name])[0].worker
            if (text := task_selectors.current_consent(self.campaign)) is not None:
                task_services.consent_give(worker=worker, text=text)
            self.crowd.append(worker)
        with suppress(task_services.NoWork):
            worker = self._one(self.crowd, pick // 3)
            begun = task_services.assignment_take(worker=worker, campaign=self.campaign, at=self.now)
            self.answers.setdefault(begun.pk, 0)
            self.at_work[begun.pk] = begun

    def _at_work(self, least: int, most: int) -> list[Assignment]:
        return [work for key, work in self.at_work.items() if least <= self.answers[key] <= most]

    def somebody_answers(self, pick: int) -> None:
        assignment = self._one(self._at_work(0, self.items - 1), pick)
        if assignment is None:
            return
        self.now += timedelta(seconds=20)
        position = self.answers[assignment.pk] + 1
        right = self.right_answer(assignment, position)
        judgment_services.judgment_save(
            assignment_id=assignment.pk,
            position=position,
            preferred=right if pick % 20 else {"left": "right", "right": "left"}[right],
            shown_at=self.now - timedelta(seconds=15),
            at=self.now,
        )
        self.answers[assignment.pk] += 1

    def _end(self, assignment: Assignment | None, act: Any) -> None:
        if assignment is not None:
            act(assignment=assignment, at=self.now)
            del self.at_work[assignment.pk]
            self.changed = True

    def somebody_finishes(self, pick: int) -> None:
        self._end(self._one(self._at_work(self.items, self.items), pick), judgment_services.assignment_finish)

    def somebody_leaves(self, pick: int) -> None:
        self._end(self._one(self._at_work(0, self.items - 1), pick), judgment_services.assignment_leave)

    # --- time and jobs

    def minutes_pass(self, pick: int) -> None:
        self.sleep(60 * (1 + pick % 30))

    def hours_pass(self, pick: int) -> None:
        self.sleep(3600 * (1 + pick % 12))

    def days_pass(self, pick: int) -> None:
        self.sleep(86_400 * (1 + pick % 3))

    def check_work(self, _pick: int) -> None:
        judgment_services.abandoned_end_all(at=self.now)
        quality.confirmed_check_all(at=self.now)
        active = set(Assignment.objects.filter(state=Assignment.State.ACTIVE).values_list("pk", flat=True))
        self.at_work = {key: work for key, work in self.at_work.items() if key in active}
        self.changed = True

    # --- researchers

    def _about(self, pick: int) -> dict[str, Any]:
        return {"campaign": self.campaign, "by": self.people[pick % 2], "at": self.now}

    def a_researcher_pays_some(self, pick: int) -> None:
        rows = list(assignments_owed(self.campaign).values_list("pk", flat=True))
        if (row := self._one(rows, pick)) is not None:
            about = self._about(pick) | {"paid_on": self.now.date(), "expected": Decimal(0)}
            payments_mark(chosen=[row, rows[pick // 7 % len(rows)]], **about)
            self.changed = True

    def a_researcher_pays_all(self, pick: int) -> None:
        """What the page showed; now and then it had changed since."""
        to_pay = desk_of(self.campaign).by_hand.to_pay
        expected = to_pay + (Decimal("0.67") if pick % 4 == 0 else 0)
        with suppress(Refused):
            payments_mark(chosen=None, **self._about(pick), paid_on=self.now.date(), expected=expected)
        self.changed = True

    def a_researcher_takes_back(self, pick: int) -> None:
        rows = list(HandPayment.objects.order_by("pk").values_list("assignment", flat=True))
        if (key := self._one(rows, pick)) is not None:
            payments_take_back(chosen=[key], **self._about(pick))
            self.changed = True

    def a_researcher_excludes_or_restores(self, pick: int) -> None:
        """What becomes of the data changes nothing of the pay."""
        ended = Assignment.objects.exclude(state=Assignment.State.ACTIVE).order_by("pk")
        if (assignment := self._one(list(ended), pick)) is not None:
            with suppress(Refused):
                quality.assignment_exclude(assignment=assignment, why=WHY, by=self.people[pick % 2], at=self.now)
            self.changed = True

    # --- what must hold

    def check(self) -> None:
        """Every so many changes, as at the end, everything is looked at."""
        self.changes += self.changed
        self.changed = False
        if self.changes >= CHANGES:
            self._check_all()

    def _check_all(self) -> None:
        """Nobody is paid more than their share, and the desk has to pay what is left of all shares."""
        self.changes = 0
        owed = Decimal(0)
        for key, judged, share in Assignment.objects.filter(finished_at__isnull=False).values_list(
            "pk", "judged", "owed"
        ):
            right = (self.campaign.reward * self.answers[key] / self.items).quantize(Decimal("0.01"))
            if (judged, share) != (self.answers[key], right):
                raise Wrong(f"{share} for {judged} of {self.answers[key]} answers, and not {right}")
            owed += share
        paid = dict(HandPayment.objects.order_by().values_list("assignment").annotate(sum=Sum("amount")))
        shares = dict(Assignment.objects.values_list("pk", "owed"))
        if more := {key: amount for key, amount in paid.items() if not 0 <= amount <= shares[key]}:
            raise Wrong(f"paid more than owed: {more}")
        desk = desk_of(self.campaign).by_hand
        if (desk.owed, desk.paid) != (owed, sum(paid.values(), Decimal(0))):
            raise Wrong(f"the desk has {desk.owed} and {desk.paid}, and not {owed} and {sum(paid.values())}")

    def end(self) -> None:
        """Days later, nothing goes on, everybody's share is on the desk, and paying all pays each."""
        self.sleep(3 * 86_400)
        self.check_work(0)
        self._check_all()
        if Assignment.objects.filter(state=Assignment.State.ACTIVE).exists():
            raise Wrong("somebody is at work for ever")
        to_pay = desk_of(self.campaign).by_hand.to_pay
        payments_mark(chosen=None, **self._about(0), paid_on=self.now.date(), expected=to_pay)
        self._check_all()
        paid = dict(HandPayment.objects.order_by().values_list("assignment").annotate(sum=Sum("amount")))
        for key, count in self.answers.items():
            right = (self.campaign.reward * count / self.items).quantize(Decimal("0.01"))
            if paid.get(key, Decimal(0)) != right:
                raise Wrong(f"{paid.get(key)} for {count} answers")
