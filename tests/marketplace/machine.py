"""A marketplace driven at random, step by step, with its books checked after each.

It is a program of its own, because the marketplace has settings of its own: test_machine.py runs it. hypothesis
chooses what requesters, workers, the operator and the clock do, and shrinks what goes wrong to the fewest steps.

All happens in the services, on PostgreSQL, in one transaction for each example, which is rolled back at its end.
The clock stands still between steps, so that an example is the same each time.

MACHINE_EXAMPLES and MACHINE_STEPS say how many examples of how many steps; MACHINE_SEED varies them.
"""

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import django
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

django.setup()

from django.db import transaction  # noqa: E402

from marketplace import clock, ids  # noqa: E402
from marketplace.errors import InsufficientFunds, Refused, TooLate, WrongState  # noqa: E402
from marketplace.models import Account, Assignment, DailyRun, DueFailure, Entry, Hit, HitType, Requester, Worker  # noqa: E402
from marketplace.money import reward_fee  # noqa: E402
from marketplace.selectors import books  # noqa: E402
from marketplace.services import accounts, assignments, due, hits, lapsing, ledger  # noqa: E402
from marketplace.steps import MOVES  # noqa: E402
from tests.marketplace.server import HTML_QUESTION  # noqa: E402

START = datetime(2026, 1, 1, tzinfo=UTC)
REWARDS = [Decimal(text) for text in ("0.00", "0.01", "1.00", "5.00", "500.00")]
WORKERS = 3
_lists = itertools.count(1)
BOTH = st.integers(0, 1)
SOME_WORKER = st.integers(0, WORKERS - 1)
AMOUNTS = st.sampled_from([Decimal(text) for text in ("0.01", "0.50", "1.20", "7.00", "100.00")])


class Cast:
    """Who is there in each example: a requester with little money, one with plenty, workers, an operator."""

    def __init__(self) -> None:
        self.operator = Account.objects.create(email="machine@example.org", is_operator=True, created_at=START)
        self.requesters: list[Requester] = []
        self.types: list[list[HitType]] = []
        for name, deposit in (("poor", "3.00"), ("rich", "2000.00")):
            requester = accounts.requester_create(name=f"machine {name}")
            ledger.deposit_make(requester=requester, amount=Decimal(deposit))
            self.requesters.append(requester)
            self.types.append([self._type(requester, reward) for reward in REWARDS])
        self.workers = []
        for number in range(WORKERS):
            account = Account.objects.create(email=f"machine{number}@example.org", created_at=START)
            worker_id = f"AMACHINE{number}"
            self.workers.append(
                Worker.objects.create(account=account, worker_id=worker_id, country="US", registered_at=START)
            )
        for name in ("books", "forget"):  # done here after each step
            DailyRun.objects.create(name=name, began_at=START + timedelta(days=100_000))

    @staticmethod
    def _type(requester: Requester, reward: Decimal) -> HitType:
        facts = hits.HitTypeFacts(
            title=f"For {reward}",
            description="Compare",
            reward=reward,
            assignment_seconds=60 if reward == 1 else 600,
            auto_approval_seconds=120 if reward == 5 else 86_400,
        )
        return hits.hit_type_register(requester=requester, facts=facts)


class MarketplaceMachine(RuleBasedStateMachine):
    """What people and the clock may do to HITs and money, in any order."""

    cast: Cast
    hit_ids = Bundle("hit_ids")
    held = Bundle("held")
    submitted = Bundle("submitted")
    rejected = Bundle("rejected")
    approved = Bundle("approved")

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.states: dict[int, str] = {}
        clock.now = lambda: self.now
        self._example = transaction.atomic()
        self._example.__enter__()

    def teardown(self) -> None:
        """Take the whole example back."""
        transaction.set_rollback(True)
        self._example.__exit__(None, None, None)

    def do(self, service: Callable[..., Any], **facts: Any) -> Any:
        """Call a service as a request does: what is due first, then all or nothing. None if it was refused."""
        self.changed |= due.catch_up() > 0
        try:
            with transaction.atomic():
                done = service(**facts)
        except Refused as refused:
            self.refused = refused
            return None
        self.changed = True
        return done

    def never_for_want_of_money(self) -> None:
        """What a worker does is never refused because of the requester's money."""
        assert not isinstance(self.refused, InsufficientFunds), self.refused

    refused: Refused | None = None
    changed = True

    def owner(self, hit_id: str) -> Requester:
        """Whose HIT it is, as it is now."""
        return Requester.objects.get(hits__hit_id=hit_id)

    def owner_of(self, assignment_id: str) -> Requester:
        """Whose HIT an assignment is on."""
        return Requester.objects.get(hits__assignments__assignment_id=assignment_id)

    # --- requesters

    @initialize(target=hit_ids)
    def first_hit(self) -> str:
        """There is a HIT of the requester with little money."""
        return self._create(0, 2, 1, 3600)  # a dollar, one slot, an hour

    @rule(
        target=hit_ids,
        who=BOTH,
        price=st.integers(0, len(REWARDS) - 1),
        slots=st.sampled_from([1, 2, 3, 9, 10]),
        lifetime=st.sampled_from([30, 3600]),
    )
    def create(self, who: int, price: int, slots: int, lifetime: int) -> Any:
        """CreateHIT."""
        hit_id = self._create(who, price, slots, lifetime)
        return hit_id if hit_id else multiple()

    def _create(self, who: int, price: int, slots: int, lifetime: int) -> str:
        hit = self.do(
            hits.hit_create,
            hit_id=ids.entity_id(),
            requester=self.cast.requesters[who],
            hit_type=self.cast.types[who][price],
            question=HTML_QUESTION,
            lifetime_seconds=lifetime,
            max_assignments=slots,
        )
        return hit.hit_id if hit else ""

    @rule(hit_id=hit_ids, more=st.integers(1, 8))
    def extend(self, hit_id: str, more: int) -> None:
        """CreateAdditionalAssignmentsForHIT."""
        self.do(hits.hit_extend, requester=self.owner(hit_id), hit_id=hit_id, more=more)

    @rule(hit_id=hit_ids, seconds=st.sampled_from([-1, 45, 7200]))
    def move_end(self, hit_id: str, seconds: int) -> None:
        """UpdateExpirationForHIT."""
        at = self.now + timedelta(seconds=seconds)
        self.do(hits.hit_expire_at, requester=self.owner(hit_id), hit_id=hit_id, expires_at=at)

    @rule(hit_id=hit_ids, price=st.sampled_from([0, 1, 2, 3, 3, 4, 4]))
    def change_type(self, hit_id: str, price: int) -> None:
        """UpdateHITTypeOfHIT."""
        owner = self.owner(hit_id)
        who = self.cast.requesters.index(owner)
        type_id = self.cast.types[who][price].type_id
        self.do(hits.hit_change_type, requester=owner, hit_id=hit_id, type_id=type_id)

    @rule(hit_id=hit_ids, how=st.sampled_from(["mark", "revert", "delete"]))
    def finish(self, hit_id: str, how: str) -> None:
        """UpdateHITReviewStatus there and back, DeleteHIT."""
        owner = self.owner(hit_id)
        if how == "delete":
            self.do(hits.hit_delete, requester=owner, hit_id=hit_id)
        else:
            self.do(hits.hit_mark_reviewing, requester=owner, hit_id=hit_id, revert=how == "revert")

    @rule(target=approved, assignment_id=consumes(submitted))
    def approve(self, assignment_id: str) -> str:
        """ApproveAssignment. The clock may have been first."""
        owner = self.owner_of(assignment_id)
        self.refused = None
        self.do(assignments.assignment_approve, requester=owner, assignment_id=assignment_id)
        assert self.refused is None or isinstance(self.refused, WrongState), self.refused
        return assignment_id

    @rule(target=rejected, assignment_id=consumes(submitted))
    def reject(self, assignment_id: str) -> str:
        """RejectAssignment. The clock may have been first."""
        owner = self.owner_of(assignment_id)
        self.do(assignments.assignment_reject, requester=owner, assignment_id=assignment_id, feedback="No")
        return assignment_id

    @rule(assignment_id=rejected)
    def override(self, assignment_id: str) -> None:
        """ApproveAssignment with OverrideRejection."""
        owner = self.owner_of(assignment_id)
        self.do(assignments.assignment_approve, requester=owner, assignment_id=assignment_id, override=True)

    @rule(assignment_id=st.one_of(submitted, approved, rejected, held), amount=AMOUNTS)
    def bonus(self, assignment_id: str, amount: Decimal) -> None:
        worker_id = Assignment.objects.get(assignment_id=assignment_id).worker.worker_id
        fields = {"assignment_id": assignment_id, "worker_id": worker_id, "amount": amount, "reason": "Good"}
        self.do(assignments.bonus_send, requester=self.owner_of(assignment_id), **fields)

    @rule(who=BOTH, worker=SOME_WORKER, on=st.booleans())
    def block(self, who: int, worker: int, on: bool) -> None:
        """CreateWorkerBlock, DeleteWorkerBlock."""
        fields = {"requester": self.cast.requesters[who], "worker_id": self.cast.workers[worker].worker_id}
        if on:
            self.do(accounts.block_create, **fields, reason="Careless")
        else:
            self.do(accounts.block_delete, **fields)

    # --- workers

    @rule(target=held, hit_id=hit_ids, worker=SOME_WORKER)
    def accept(self, hit_id: str, worker: int) -> Any:
        """Accept a HIT."""
        self.refused = None
        assignment = self.do(assignments.assignment_accept, worker=self.cast.workers[worker], hit_id=hit_id)
        self.never_for_want_of_money()
        return assignment.assignment_id if assignment else multiple()

    @rule(target=held, hit_id=hit_ids, worker=SOME_WORKER)
    def accept_next(self, hit_id: str, worker: int) -> Any:
        """Accept whichever HIT of a group is free."""
        group_id = Hit.objects.get(hit_id=hit_id).hit_type.group_id
        self.refused = None
        assignment = self.do(assignments.assignment_accept_next, worker=self.cast.workers[worker], group_id=group_id)
        self.never_for_want_of_money()
        return assignment.assignment_id if assignment else multiple()

    @rule(assignment_id=consumes(held))
    def give_back(self, assignment_id: str) -> None:
        """Return a HIT."""
        worker = Assignment.objects.get(assignment_id=assignment_id).worker
        self.refused = None
        self.do(assignments.assignment_return, worker=worker, assignment_id=assignment_id)
        assert self.refused is None or isinstance(self.refused, WrongState), self.refused

    @rule(target=submitted, assignment_id=consumes(held))
    def submit(self, assignment_id: str) -> Any:
        self.refused = None
        done = self.do(assignments.assignment_submit, assignment_id=assignment_id, fields=[("answer", "left")])
        assert self.refused is None or isinstance(self.refused, TooLate | WrongState), self.refused
        return assignment_id if done else multiple()

    # --- the operator and the clock

    @rule(who=BOTH, amount=AMOUNTS, sign=st.sampled_from([1, -1]))
    def deposit(self, who: int, amount: Decimal, sign: int) -> None:
        """Money comes in, or goes back."""
        self.do(ledger.deposit_make, requester=self.cast.requesters[who], amount=amount * sign)

    @rule(back=st.booleans())
    def pay_out(self, back: bool) -> None:
        """All that workers are owed is paid; or the newest payout comes back."""
        payout = Entry.objects.filter(kind=Entry.Kind.PAYOUT).order_by("-pk").first()
        if not back:
            self.do(ledger.payouts_make, reference=f"list {next(_lists)}")
        elif payout:
            self.do(ledger.payout_bounce, payout_pk=payout.pk, reason="Closed account")

    @rule(who=BOTH, active=st.booleans())
    def switch(self, who: int, active: bool) -> None:
        """A requester is deactivated, or taken back."""
        service = accounts.requester_reactivate if active else accounts.requester_deactivate
        self.do(service, requester=self.cast.requesters[who], actor=self.cast.operator, reason="Because")

    @rule(assignment_id=held)
    def lapse(self, assignment_id: str) -> None:
        """Somebody is known to be gone."""
        self.do(lapsing.assignments_lapse, assignment_ids=[assignment_id])

    @rule(seconds=st.sampled_from([1, 30, 61, 601, 3600, 90_000, 121 * 86_400]), in_background=st.booleans())
    def wait(self, seconds: int, in_background: bool) -> None:
        """Time passes, and somebody asks for something, or the background process comes by."""
        self.now += timedelta(seconds=seconds)
        self.changed |= (due.tick() if in_background else due.catch_up()) > 0

    # --- what must hold after each step

    @invariant()
    def all_is_well(self) -> None:
        """In this order, since what is due changes what is held. What was refused changed nothing."""
        if not self.changed:
            return
        self.nothing_is_due_or_in_the_way()
        self.assignments_moved_by_steps_of_the_table()
        self.the_books_are_right()
        self.each_hit_holds_what_it_may_cost_and_is_not_overbooked()
        self.changed = False

    def nothing_is_due_or_in_the_way(self) -> None:
        """What is due can always be done, whatever anybody's account holds."""
        due.catch_up()
        assert [f"{failure.step}: {failure.error}" for failure in DueFailure.objects.all()] == []
        assert due.catch_up() == 0

    def assignments_moved_by_steps_of_the_table(self) -> None:
        """By one of them or some: what is due comes before what somebody does."""
        for key, state in Assignment.objects.values_list("pk", "state"):
            reached = {self.states.get(key, "")}
            for _move in range(3):
                reached |= {after for before, after in MOVES if before in reached}
            assert state in reached, (self.states.get(key), state)
            self.states[key] = state

    def the_books_are_right(self) -> None:
        """Sums, gaps, holds, rewards, fees, bonuses, payouts; and nothing comes from nowhere."""
        assert books.differences() == []
        sums = books.totals()
        assert sums.deposited == sums.available + sums.on_hold + sums.earned + sums.fees, sums

    def each_hit_holds_what_it_may_cost_and_is_not_overbooked(self) -> None:
        """By the rule as documentation states it, worked out from the rows alone."""
        for hit in Hit.objects.select_related("hit_type"):
            rows = list(Assignment.objects.filter(hit=hit))
            numbers = {state: sum(row.state == state for row in rows) for state in Assignment.State.values}
            numbers_of_live = [numbers[state] for state in ("Accepted", "Submitted", "Approved", "Rejected")]
            assert numbers_of_live == [hit.n_accepted, hit.n_submitted, hit.n_approved, hit.n_rejected]
            assert sum(numbers_of_live) <= hit.max_assignments
            reward = hit.hit_type.reward
            unit = reward + reward_fee(reward, hit.max_assignments)
            open_ = hit.status != Hit.Status.DISPOSED and hit.expires_at > self.now
            expected = unit * (hit.max_assignments - sum(numbers_of_live)) if open_ else Decimal(0)
            for row in rows:
                if row.state == Assignment.State.SUBMITTED:
                    expected += row.reward + row.fee
                elif row.state == Assignment.State.ACCEPTED:
                    expected += max(row.reward + row.fee, unit if open_ else Decimal(0))
            assert hit.held == expected, (hit.status, hit.held, expected)


def main(arguments: Sequence[str]) -> None:
    """Make the cast, and let hypothesis play. Exit code 1, and the shortest way to the fault, if there is one."""
    clock.now = lambda: START
    MarketplaceMachine.cast = Cast()
    varied = int(os.environ.get("MACHINE_SEED") or 1)
    chosen = settings(
        max_examples=int(os.environ.get("MACHINE_EXAMPLES") or 20),
        stateful_step_count=int(os.environ.get("MACHINE_STEPS") or 25),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
    )
    run_state_machine_as_test(seed(varied)(MarketplaceMachine), settings=chosen)
    print("Nothing went wrong.")


if __name__ == "__main__":
    main(sys.argv[1:])
