"""The platforms that speak the Mechanical Turk API, as the rest of the package sees them."""

from collections.abc import Iterable, Iterator
from copy import copy
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from platforms.adapter import Adapter, Heard, MarkedHit, NotTold, Trouble, Work
from platforms.calls import Answer
from platforms.demands import Demands
from platforms.models import Operation, Publication, PublishedHit
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
from tasks.models import Hit, Platform

Kind = Operation.Kind
COUNT_PATH = "/extensions/count-workers"
COUNT_TARGET = "BestknownMarketplace.CountWorkers"
DEPOSIT_PATH = "/extensions/request-deposit"
DEPOSIT_TARGET = "BestknownMarketplace.RequestDeposit"
MESSAGES_PATH = "/extensions/list-messages"
MESSAGES_TARGET = "BestknownMarketplace.ListMessages"


class MTurkAdapter(Adapter):
    """Mechanical Turk, its sandbox, or our own marketplace."""

    errors = (BotoCoreError, ClientError)
    token_life = timedelta(hours=23)  # platforms forget a token after 24 hours

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.operations = HANDLERS
        self.spends_real_money = platform == Platform.MTURK

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
        """Where its frames post finished work: from settings, never from what a frame was told."""
        return self.endpoint.submit_host

    def client(self, *, read_seconds: int | None = None) -> Any:
        return client_for(self.endpoint, read_seconds=read_seconds or READ_SECONDS)

    def assert_host(self, client: Any) -> None:
        """Raise WrongHost unless the client's requests go to the platform's endpoint."""
        assert_host(client, self.endpoint)

    def trouble_of(self, error: Exception) -> Trouble:
        return trouble_of(error)

    def code_of(self, error: Exception) -> str:
        """`HitAlreadyExists`, `ThrottlingException`, or the exception's name."""
        return code_of(error)

    # --- terms

    def pay_at_first(self) -> str:
        """At our own marketplace the whole reward is listed, so that workers see it. At Mechanical Turk, where a
        compensation takes a worker's attention, a base and a bonus.
        """
        is_marketplace = self.platform == Platform.MARKETPLACE
        return Publication.Pay.RETURN_AND_COMPENSATE if is_marketplace else Publication.Pay.BASE_AND_BONUS

    def requirements_at_first(self) -> list[dict[str, Any]]:
        """The paper's requirements where workers have a record, none at our own marketplace."""
        return requirements.requirements_at_first(self.platform)

    def requirements_of(self, demands: Demands) -> list[dict[str, Any]]:
        return requirements.requirements_of(demands)

    def demands_of(self, requirements_given: list[dict[str, Any]]) -> Demands:
        """The demands behind QualificationRequirements."""
        return requirements.demands_of(requirements_given)

    def countries_of(self, requirements_given: Iterable[dict[str, Any]]) -> Iterator[str]:
        """The countries that QualificationRequirements name."""
        return requirements.countries_of(requirements_given)

    def is_told_the_same(self, before: Publication, after: Publication) -> bool:
        return hit_type_request(before, "") == hit_type_request(after, "")

    def dry_run(self, publication: Publication, hits: Iterable[Hit]) -> Iterator[tuple[str, Answer]]:
        """The requests for the exclusion, the HIT type and each HIT.

        The platform's own ids and the tokens are not known before: they are words in pointed brackets.
        """
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
        if self.platform != Platform.MARKETPLACE:
            raise NotTold(_("Mechanical Turk does not say."))
        needed = list(publication.requirements)
        if publication.exclusion_id:
            needed.append(requirements.exclusion_of(publication.exclusion_id))
        self.assert_host(self.client())
        answer = signed_post(self.endpoint, COUNT_PATH, COUNT_TARGET, {"QualificationRequirements": needed}, seconds)
        try:
            return int(answer["QualifiedWorkers"]), int(answer["ActiveWorkers"])
        except (KeyError, TypeError, ValueError) as error:
            raise NotTold(_("The marketplace at this address does not count its workers.")) from error

    # --- money

    def balance(self, client: Any, *, once: bool = False) -> Decimal:
        answer = client.get_account_balance() if once else read(client.get_account_balance)
        return Decimal(answer["AvailableBalance"])

    def reward_fee(self, reward: Decimal, max_assignments: int) -> Decimal:
        """Twice the rate on HITs of ten assignments or more."""
        return endpoints.reward_fee(reward, max_assignments)

    def bonus_fee(self, bonus: Decimal) -> Decimal:
        return endpoints.bonus_fee(bonus)

    def fees_in_words(self, max_assignments: int) -> str:
        """`20 % of each payment`, or what ten assignments cost more."""
        words = {"percent": _percent(FEE), "double": _percent(2 * FEE)}
        if max_assignments >= LARGE:
            return (
                _("%(double)s %% of rewards, because a HIT has ten assignments or more; %(percent)s %% of bonuses")
                % words
            )
        return _("%(percent)s %% of each payment") % words

    def who_adds_money(self) -> str:
        """The marketplace's operator, or whoever has the account at Amazon."""
        if self.platform == Platform.MARKETPLACE:
            return _("The operator of the marketplace adds money.")
        return _("Buy prepaid HITs on the requester site of Mechanical Turk, under “My Account”.")

    @property
    def can_be_asked_for_money(self) -> bool:
        return self.platform == Platform.MARKETPLACE

    def ask_for_money(self, amount: Decimal, reason: str) -> None:
        """Our own marketplace shows the request to its operator."""
        if not self.can_be_asked_for_money:
            raise NotTold(_("Nobody at Mechanical Turk can be asked for money."))
        self.assert_host(self.client())
        signed_post(
            self.endpoint, DEPOSIT_PATH, DEPOSIT_TARGET, {"Amount": f"{amount:.2f}", "Reason": reason}, READ_SECONDS
        )

    # --- work

    def about_rejecting(self, publication: Publication) -> str:
        """A rejection stays on a worker's record; the feedback has at most 1,024 characters."""
        text = _(
            "A rejected worker is not paid and reads the first 1,024 characters of your reason. Only work that has not "
            "been approved yet can be rejected."
        )
        if self.platform == Platform.MARKETPLACE:
            return text
        return (
            text
            + " "
            + _(
                "The rejection lowers their approval rate, which can keep them from other work for a long time. It "
                "can be reversed at Mechanical Turk, within 30 days of the submission."
            )
        )

    def about_reversing(self) -> str:
        """ApproveAssignment with OverrideRejection, which nothing here calls. The operator can do it, too."""
        if self.platform == Platform.MARKETPLACE:
            return _(
                "Ask the marketplace's operator to approve it, within 30 days of its submission, or call "
                "ApproveAssignment with OverrideRejection there."
            )
        return _("Approve it at Mechanical Turk, where a rejection can be reversed within 30 days of the submission.")

    def about_writing(self) -> str:
        """A subject of 200 and a text of 4,096 characters, to workers whose work was approved or rejected; at the
        marketplace, to those who wrote to us too.
        """
        if self.platform == Platform.MARKETPLACE:
            return _(
                "A message reaches workers whose work you have approved or rejected, or who have written to you, and "
                "has at most 4,096 characters."
            )
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

    @property
    def tells_messages(self) -> bool:
        return self.platform == Platform.MARKETPLACE

    def messages_after(self, cursor: str) -> list[Heard]:
        """Only our own marketplace says: Mechanical Turk mails them to the requester."""
        if self.platform != Platform.MARKETPLACE:
            raise NotTold(_("Mechanical Turk mails what workers write to the address of the requester's account."))
        self.assert_host(self.client())
        answer = signed_post(self.endpoint, MESSAGES_PATH, MESSAGES_TARGET, {"After": cursor or "0"}, READ_SECONDS)
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
        """An Assignment, with the receipt from its answers."""
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
        """The annotation of the HIT that an operation publishes."""
        handler = self.operations[Kind(operation.kind)]
        assert isinstance(handler, Posting)
        return handler.mark_in(operation.request)

    def reward_of(self, client: Any, platform_hit_id: str) -> Decimal:
        return Decimal(read(client.get_hit, HITId=platform_hit_id)["HIT"]["Reward"])

    def bonuses_of(self, client: Any, platform_hit_id: str) -> Decimal:
        bonuses = listed(client.list_bonus_payments, "BonusPayments", HITId=platform_hit_id)
        return sum((Decimal(bonus["BonusAmount"]) for bonus in bonuses), Decimal("0.00"))

    # --- notifications

    def ask_for_notifications(self, publication: Publication, address: str) -> None:
        notifications.notifications_ask(publication=publication, address=address)

    def is_notification_signed(self, *, secret: str, header: str, body: bytes, at: datetime) -> bool:
        return notifications.is_signed(secret=secret, header=header, body=body, at=at)

    def hits_notified_of(self, body: bytes) -> list[str]:
        return notifications.hit_ids(body)


def _percent(share: Decimal) -> str:
    return f"{share * 100:f}".rstrip("0").rstrip(".")


def _time(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) or value is None else parse_datetime(str(value))
