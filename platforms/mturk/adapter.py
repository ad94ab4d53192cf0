"""The platforms that speak the Mechanical Turk API, as the rest of the package sees them."""

from collections.abc import Iterable, Iterator
from copy import copy
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.percent import in_percent
from platforms.adapter import Adapter, NotTold
from platforms.calls import Answer
from platforms.demands import PAPER
from platforms.messages.protocol import Heard, Inbox
from platforms.models import Operation, Publication, PublishedHit
from platforms.money.protocol import Deposits, MarkedHit
from platforms.mturk import endpoints, notifications, requirements
from platforms.mturk.client import (
    READ_SECONDS,
    answers_of,
    assert_host,
    client_for,
    code_of,
    listed,
    read,
    signed_post,
    trouble_of,
)
from platforms.mturk.endpoints import FEE, LARGE, Endpoint, endpoint_of
from platforms.mturk.operations import HANDLERS, Posting, hit_type_request, mark_of
from platforms.publishing.protocol import HitLists, HitNotifications
from platforms.reviewing.protocol import Work
from tasks.models import Hit, Platform

Kind = Operation.Kind
COUNT_PATH = "/extensions/count-workers"
COUNT_TARGET = "BestknownMarketplace.CountWorkers"
DEPOSIT_PATH = "/extensions/request-deposit"
DEPOSIT_TARGET = "BestknownMarketplace.RequestDeposit"
MESSAGES_PATH = "/extensions/list-messages"
MESSAGES_TARGET = "BestknownMarketplace.ListMessages"
REJECTING = gettext_lazy(
    "A rejected worker is not paid and reads the first 1,024 characters of your reason. Only work that has not been "
    "approved yet can be rejected."
)


class MTurkAdapter(Adapter, HitLists):
    """Mechanical Turk, or its sandbox."""

    errors = (BotoCoreError, ClientError)
    token_life = timedelta(hours=23)  # platforms forget a token after 24 hours
    operations = HANDLERS
    trouble_of, code_of = staticmethod(trouble_of), staticmethod(code_of)
    requirements_of = staticmethod(requirements.requirements_of)
    demands_of = staticmethod(requirements.demands_of)
    countries_of = staticmethod(requirements.countries_of)
    reward_fee, bonus_fee = staticmethod(endpoints.reward_fee), staticmethod(endpoints.bonus_fee)

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.spends_real_money = platform == Platform.MTURK
        self.is_sandbox = platform == Platform.MTURK_SANDBOX

    # --- connecting

    @property
    def endpoint(self) -> Endpoint:
        """Where the API answers. Raises Refused where the marketplace's address is not set."""
        return endpoint_of(self.platform)

    def how_to_give_access(self) -> str:
        return _(
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, where this site runs, and restart it."
        )

    def assert_configured(self) -> None:
        endpoint_of(self.platform)

    @property
    def submit_host(self) -> str:
        """From settings, never from what a frame was told."""
        return self.endpoint.submit_host

    def client(self, *, read_seconds: int | None = None) -> Any:
        return client_for(self.endpoint, read_seconds=read_seconds or READ_SECONDS)

    def assert_host(self, client: Any) -> None:
        assert_host(client, self.endpoint)

    # --- terms

    def pay_at_first(self) -> str:
        """A base and a bonus, as a compensation takes a worker's attention here."""
        return Publication.Pay.BASE_AND_BONUS

    def requirements_at_first(self) -> list[dict[str, Any]]:
        return self.requirements_of(PAPER)

    def is_told_the_same(self, before: Publication, after: Publication) -> bool:
        return hit_type_request(before, "") == hit_type_request(after, "")

    def dry_run(self, publication: Publication, hits: Iterable[Hit]) -> Iterator[tuple[str, Answer]]:
        imagined = copy(publication)
        imagined.exclusion_id = publication.exclusion_id or "<exclusion>"
        imagined.hit_type_id = publication.hit_type_id or "<HIT type>"
        for kind, name in ((Kind.EXCLUSION_TYPE, "CreateQualificationType"), (Kind.HIT_TYPE, "CreateHITType")):
            yield name, self.operations[kind].request(Operation(publication=imagined, kind=kind))
        for hit in hits:
            published_hit = PublishedHit(publication=imagined, hit=hit, max_assignments=hit.needed)
            planned = Operation(publication=imagined, kind=Kind.CREATE, published_hit=published_hit)
            request = self.operations[Kind.CREATE].request(planned)
            yield "CreateHITWithHITType", request | {"UniqueRequestToken": "<token>"}

    def count_workers(self, publication: Publication, *, seconds: int) -> tuple[int, int]:
        raise NotTold(_("Mechanical Turk does not say."))

    # --- money

    def balance(self, client: Any, *, once: bool = False) -> Decimal:
        answer = client.get_account_balance() if once else read(client.get_account_balance)
        return Decimal(answer["AvailableBalance"])

    def fees_in_words(self, max_assignments: int) -> str:
        words = {"rate": in_percent(FEE), "double": in_percent(2 * FEE)}
        if max_assignments >= LARGE:
            return _("%(double)s of rewards, because a HIT has ten assignments or more; %(rate)s of bonuses") % words
        return _("%(rate)s of each payment") % words

    def who_adds_money(self) -> str:
        return _("Buy prepaid HITs on the requester site of Mechanical Turk, under “My Account”.")

    # --- work

    def about_rejecting(self, publication: Publication) -> str:
        return f"{REJECTING} " + _(
            "The rejection lowers their approval rate, which can keep them from other work for a long time. It can be "
            "reversed at Mechanical Turk, within 30 days of the submission."
        )

    def about_reversing(self) -> str:
        """ApproveAssignment with OverrideRejection, which nothing here calls."""
        return _("Approve it at Mechanical Turk, where a rejection can be reversed within 30 days of the submission.")

    def about_writing(self) -> str:
        """NotifyWorkers takes a subject of 200 characters."""
        text = _(
            "A message reaches workers whose work you have approved or rejected, and has at most 4,096 characters."
        )
        return text + " " + _("Workers answer by mail, to the address of the requester's account.")

    def write_to(
        self, client: Any, publication: Publication, *, subject: str, text: str, worker_ids: list[str]
    ) -> dict[str, str]:
        answer = client.notify_workers(Subject=subject[:200], MessageText=text[:4096], WorkerIds=worker_ids)
        failures = answer.get("NotifyWorkersFailureStatuses", [])
        return {
            failure["WorkerId"]: failure.get("NotifyWorkersFailureMessage", "") or failure["NotifyWorkersFailureCode"]
            for failure in failures
        }

    def may_extend(self, max_assignments: int, target: int) -> bool:
        """Ten assignments cost more, so a HIT of fewer may not come to have so many."""
        return not max_assignments < LARGE <= target

    def reviewable_hits(self, client: Any, hit_type_id: str) -> Iterator[str]:
        return (hit["HITId"] for hit in listed(client.list_reviewable_hits, "HITs", HITTypeId=hit_type_id))

    def take_off_list(self, client: Any, platform_hit_id: str) -> None:
        client.update_hit_review_status(HITId=platform_hit_id, Revert=False)

    def submitted(self, client: Any, platform_hit_id: str) -> Iterator[Answer]:
        return listed(client.list_assignments_for_hit, "Assignments", HITId=platform_hit_id)

    def work_of(self, answer: Answer) -> Work:
        accepted, submitted = _time(answer.get("AcceptTime")), _time(answer.get("SubmitTime"))
        return Work(
            assignment_id=answer["AssignmentId"],
            worker_id=answer["WorkerId"],
            status=answer["AssignmentStatus"],
            submitted_at=submitted,
            auto_approval_at=_time(answer.get("AutoApprovalTime")),
            approval=str(answer.get("ApprovalTime", "")),
            receipt=answers_of(answer.get("Answer", "")).get("receipt", "")[:64],
            seconds=(submitted - accepted).total_seconds() if submitted and accepted else None,
        )

    # --- the ledger

    def marked_hits(self, client: Any, publication: Publication) -> dict[str, MarkedHit]:
        mark = mark_of(publication)
        return {
            hit["HITId"]: MarkedHit(hit["RequesterAnnotation"], Decimal(hit["Reward"]))
            for hit in listed(client.list_hits, "HITs")
            if hit.get("RequesterAnnotation", "").startswith(mark)
        }

    def mark_of(self, operation: Operation) -> str:
        handler = self.operations[Kind(operation.kind)]
        assert isinstance(handler, Posting)
        return handler.mark_in(operation.request)

    def reward_of(self, client: Any, platform_hit_id: str) -> Decimal:
        return Decimal(read(client.get_hit, HITId=platform_hit_id)["HIT"]["Reward"])

    def bonuses_of(self, client: Any, platform_hit_id: str) -> Decimal:
        bonuses = listed(client.list_bonus_payments, "BonusPayments", HITId=platform_hit_id)
        return sum((Decimal(bonus["BonusAmount"]) for bonus in bonuses), Decimal("0.00"))


class MarketplaceAdapter(MTurkAdapter, Deposits, Inbox, HitNotifications):
    """Our own marketplace, which adds calls of its own to the API."""

    ask_for_notifications = staticmethod(notifications.notifications_ask)
    is_notification_signed = staticmethod(notifications.is_signed)
    hits_notified_of = staticmethod(notifications.hit_ids)

    def pay_at_first(self) -> str:
        """The whole reward is listed, so that workers see it."""
        return Publication.Pay.RETURN_AND_COMPENSATE

    def requirements_at_first(self) -> list[dict[str, Any]]:
        """None: all its workers begin with nothing approved."""
        return []

    def count_workers(self, publication: Publication, *, seconds: int) -> tuple[int, int]:
        needed = list(publication.requirements)
        if publication.exclusion_id:
            needed.append(requirements.exclusion_of(publication.exclusion_id))
        answer = self._post(COUNT_PATH, COUNT_TARGET, {"QualificationRequirements": needed}, seconds)
        try:
            return int(answer["QualifiedWorkers"]), int(answer["ActiveWorkers"])
        except (KeyError, TypeError, ValueError) as error:
            raise NotTold(_("The marketplace at this address does not count its workers.")) from error

    def _post(self, path: str, target: str, body: Answer, seconds: int = READ_SECONDS) -> Answer:
        self.assert_host(self.client())
        return signed_post(self.endpoint, path, target, body, seconds)

    def who_adds_money(self) -> str:
        return _("The operator of the marketplace adds money.")

    def ask_for_money(self, amount: Decimal, reason: str) -> None:
        self._post(DEPOSIT_PATH, DEPOSIT_TARGET, {"Amount": f"{amount:.2f}", "Reason": reason})

    def about_rejecting(self, publication: Publication) -> str:
        return str(REJECTING)

    def about_reversing(self) -> str:
        return _(
            "Ask the marketplace's operator to approve it, within 30 days of its submission, or call "
            "ApproveAssignment with OverrideRejection there."
        )

    def about_writing(self) -> str:
        return _(
            "A message reaches workers whose work you have approved or rejected, or who have written to you, and "
            "has at most 4,096 characters."
        )

    def messages_after(self, cursor: str) -> list[Heard]:
        answer = self._post(MESSAGES_PATH, MESSAGES_TARGET, {"After": cursor or "0"})
        return [
            Heard(
                str(row["MessageId"]),
                str(row["WorkerId"]),
                str(row["HITId"]),
                str(row["Subject"]),
                str(row["MessageText"]),
                datetime.fromtimestamp(float(row["SentTime"]), UTC),
                str(row["MessageId"]),
            )
            for row in answer["Messages"]
        ]


def _time(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) or value is None else parse_datetime(str(value))
