"""Histories at Prolific: its double as an object in this process, without its server."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings

from core.errors import Refused
from core.models import User
from platforms.arriving import worker_of
from platforms.models import Operation, PlatformAlarm, Publication, Submission
from platforms.outbox import may_be_decided, operation_decide
from platforms.prolific.client import Client, _error_of
from platforms.registry import adapter_of
from platforms.reviewing.deciding import return_ask
from platforms.reviewing.protocol import Ending
from simulation.prolific import api, commands, money, studies, submissions
from simulation.prolific.errors import ApiError
from simulation.prolific.store import Row, Store
from simulation.prolific.transitions import may
from tasks import services as task_services
from tasks.models import Assignment, Worker
from tests.histories.frame import Wrong
from tests.histories.published import EXTRA, WHY, Published


class Double(Store):
    """The double's rows in memory, at a time that a history sets."""

    def __init__(self, clock: Callable[[], datetime], path: Path | str = ":memory:") -> None:
        self.clock = clock
        super().__init__(path)  # type: ignore[arg-type]

    def now(self) -> float:
        return self.clock().timestamp()

    def copy(self, clock: Callable[[], datetime]) -> "Double":
        """As many rows, which change apart."""
        other = Double(clock)
        self.connection.backup(other.connection)
        return other

    def tick(self) -> None:
        """Do what the time has brought."""
        studies.studies_tick(self)
        submissions.submissions_tick(self)
        money.settle_bonuses(self)


class InProcess(Client):
    """Calls that are answered by a double in this process."""

    def __init__(self, double: Double, world: "AtProlific | None") -> None:
        self.url, self.double, self.world = httpx.URL(settings.PROLIFIC_API_URL), double, world
        self.sleep = world.sleep if world else lambda _seconds: None
        self.kept_rows = self.kept_by_hit = None

    def _send(self, method: str, path: str, body: Any, parameters: Any) -> httpx.Response:
        trouble = self.world.trouble_of_call() if self.world else None
        if trouble is not None and not trouble.after:
            raise trouble.error()
        operation, names = api.find(method, f"/api/v1/{path}")
        asked = {name: str(value) for name, value in parameters.items()}
        status, answer = 200, None
        try:
            with self.double.transaction():
                status, answer, _headers = operation(api.Call(self.double, "", path, names, asked, body))
            money.settle_bonuses(self.double)
        except ApiError as error:
            status, answer = error.status, error.body()
        if trouble is not None:
            raise trouble.error()
        response = httpx.Response(status, json=answer)
        if not response.is_success:
            raise _error_of(response)
        return response


class AtProlific(Published):
    """Many people in one study, two researchers here and one at Prolific's own pages, jobs, and time."""

    WEIGHTS = Published.WEIGHTS | {
        "somebody_opens_it_again": 2,
        "somebody_refuses_to_return": 1,
        "weeks_pass": 0.1,
        "a_researcher_asks_for_a_return": 1,
        "look_at_doubts_now": 1,
    }

    def __init__(self, publication: Publication, double: Double, people: tuple[User, User], now: datetime) -> None:
        super().__init__(publication, people, now)
        self.double = double.copy(self.clock)
        self.client = InProcess(self.double, self)
        self.study, self.seen_row = publication.hit_type_id, 0
        self.codes = {
            ending: adapter_of(publication).exit_of(publication, ending).code  # type: ignore[union-attr]
            for ending in (Ending.FINISHED, Ending.LEFT)
        }

    def lost(self) -> BaseException:
        return httpx.ReadTimeout("lost")

    def status_of(self, key: str) -> str:
        return str(submissions.submission_get(self.double, key)["status"])

    def amounts_of(self, key: str) -> list[int]:
        rows = self.double.all("SELECT amount FROM ledger WHERE submission = ?", key)
        return [row["amount"] for row in rows if row["amount"] != EXTRA * 100]

    def cents_there(self) -> int:
        return self.double.number("SELECT SUM(amount) FROM ledger WHERE kind <> 'deposit'")

    # --- participants

    def _rows(self, event: str) -> list[Row]:
        """The submissions to which something can happen."""
        return [row for row in self.double.all("SELECT * FROM submission ORDER BY number") if may(row["status"], event)]

    def somebody_comes(self, pick: int) -> None:
        """Somebody takes a place, and begins here; now and then they never come."""
        person = commands.participant(self.double, name="Pat")
        study = studies.study_get(self.double, self.study)
        if not submissions.is_open(self.double, study, commands.participant_get(self.double, person)):
            return
        row = submissions.submission_reserve(self.double, study, commands.participant_get(self.double, person))
        if pick % 10 == 0:
            return
        submissions.submission_open(self.double, row)
        with suppress(task_services.NoWork):
            begun = self._visit(worker_of(publication=self.publication, worker_id=person), row["id"])
            self.begun[row["id"]], self.answers[row["id"]] = begun, 0

    def _visit(self, worker: Worker, visit: str) -> Assignment:
        lease = timedelta(hours=1)
        return task_services.visit_take(
            worker=worker, campaign=self.campaign, visit=visit, lease=lease, came_from="", at=self.now
        )

    def somebody_comes_back(self, pick: int) -> None:
        """They give the code of their last page, a wrong one, or none; perhaps long after their time was over."""
        row = self._one(self._rows("come back"), pick)
        if row is None or (row["id"] in self.answers and row["id"] not in self.over and pick % 7):
            return
        ending = Ending.LEFT if self.over.get(row["id"]) == "left" else Ending.FINISHED
        code = {0: None, 1: "WRONG"}.get(pick % 9, self.codes[ending] if row["id"] in self.over else None)
        submissions.submission_complete(self.double, row, code)

    def somebody_returns(self, pick: int) -> None:
        """Of themselves, or because they were asked to."""
        rows = self._rows("return")
        asked = [row for row in rows if row["return_requested"]]
        if (row := self._one(asked if asked and pick % 3 else rows, pick)) is not None:
            submissions.submission_return(self.double, row)

    def somebody_refuses_to_return(self, pick: int) -> None:
        asked = [row for row in self._rows("refuse to return") if row["return_requested"]]
        if (row := self._one(asked, pick)) is not None:
            submissions.submission_refuse_return(self.double, row)

    def somebody_opens_it_again(self, pick: int) -> None:
        """In another browser: the same submission, and the same assignment here."""
        row = self._one([row for row in self._rows("open") if row["id"] in self.begun], pick)
        if row is None:
            return
        submissions.submission_open(self.double, row)
        again = self._visit(worker_of(publication=self.publication, worker_id=row["participant"]), row["id"])
        if again != self.begun[row["id"]]:
            raise Wrong("the same visit became another assignment")

    # --- time

    def _pass(self, **time: float) -> None:
        self.now += timedelta(**time)
        waiting = {row["id"] for row in self._rows("approve by time")}
        self.double.tick()
        for key in waiting:
            kinds = PlatformAlarm.TWICE, PlatformAlarm.AUTO_APPROVAL
            if self.status_of(key) == "APPROVED" and any(self._is_alarmed(key, kind) for kind in kinds):
                self.by_person.add(key)  # somebody looked on for three weeks

    def weeks_pass(self, pick: int) -> None:
        """Whatever befalls the jobs, they see by then what waits for a person."""
        self.coming.clear()
        self.sync(0)
        self.check_work(0)
        self.settle(0)
        self._pass(days=15 + pick % 10)

    # --- researchers

    def by_hand(self, pick: int) -> None:
        """At Prolific's own pages, somebody approves, rejects, or takes a rejection or a return back."""
        event = ("approve by hand", "reject by hand", "reverse")[pick % 3]
        row = self._one(self._rows(event), pick // 3)
        if row is None:
            return
        if event == "approve by hand" and self.amounts_of(row["id"]):
            self.by_person.add(row["id"])
        act = {"approve by hand": commands.approve, "reject by hand": commands.reject, "reverse": commands.reverse}
        act[event](self.double, submission=row["id"])

    def a_researcher_asks_for_a_return(self, pick: int) -> None:
        waiting = Submission.objects.filter(decision="", status=Submission.Status.SUBMITTED).order_by("pk")
        if (submission := self._one(list(waiting), pick)) is not None:
            with suppress(Refused):
                return_ask(submission=submission, by=self.people[pick % 2], why=WHY, at=self.now)

    def look_at_doubts_now(self, _pick: int) -> None:
        self.look_at_doubts()

    def look_at_doubts(self) -> bool:
        """They look at Prolific's history, and say truly what is there."""
        doubts = list(Operation.objects.filter(pk__in=may_be_decided(self.publication)))
        for operation in doubts:
            batch = operation.result.get("batch", {}).get("id")
            was_done = bool(self.double.number("SELECT COUNT(*) FROM payment WHERE batch = ?", batch))
            with suppress(Refused):
                operation_decide(operation=operation, was_done=was_done, why=WHY, by=self.people[0], at=self.now)
        return bool(doubts)

    # --- what must hold

    def check(self) -> None:
        """Work is paid once: by its reward, a share of it, or a compensation; twice only where a person chose so."""
        last = self.double.number("SELECT MAX(id) FROM ledger")
        if last == self.seen_row:
            return
        new = self.double.all("SELECT DISTINCT submission FROM ledger WHERE id > ?", self.seen_row)
        self.seen_row = last
        for row in new:
            self._check_paid_once(row["submission"])

    def _check_paid_once(self, key: str) -> None:
        rows = self.double.all("SELECT kind, amount FROM ledger WHERE submission = ?", key)
        thanks = [row for row in rows if row["kind"] == "bonus" and row["amount"] == EXTRA * 100]
        bonuses = [row for row in rows if row["kind"] == "bonus" and row["amount"] != EXTRA * 100]
        wholes = [row for row in rows if row["kind"] != "bonus"]
        if len(thanks) > 1 or len(bonuses) > 1 or len(wholes) > 1:
            raise Wrong(f"the same was paid twice: {[tuple(row) for row in rows]}")
        if bonuses and wholes and key not in self.by_person:
            raise Wrong(f"paid beside a compensation, and nobody chose so: {[tuple(row) for row in rows]}")
