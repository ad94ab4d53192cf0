"""How the calls of each kind are made at a platform that speaks the Mechanical Turk API.

A class says what is asked for (`request`), by which call (`method`), and how to see at the platform whether it was done
(`look`).
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from platforms.addresses import frame_address
from platforms.calls import (
    BONUSES,
    COMPENSATION_TIME,
    DECISIONS,
    Answer,
    Handler,
    exclusion_name,
    hit_of,
    payment_of,
    submission_of,
    terms_of,
    worker_of,
)
from platforms.models import Operation, Publication, PublishedHit, TermsVersion
from platforms.mturk.client import (
    as_json,
    code_of,
    compensation_question,
    existing_hit,
    external_question,
    listed,
    read,
)
from platforms.mturk.endpoints import endpoint_of
from platforms.mturk.requirements import exclusion_of
from tasks.models import Assignment, Platform
from tasks.selectors import expected_pace

Kind = Operation.Kind
COMPENSATION_LIFETIME = timedelta(days=30)
COMPENSATION_AUTO_APPROVAL = timedelta(days=3)
EXCLUSION_DESCRIPTION = "Workers who have this are not offered more tasks of this kind. It says nothing about a worker."
FIRST_POLL = timedelta(minutes=2)  # after a HIT was published
LONG_AGO = 1  # a time that is past for every platform, in seconds: a HIT that expires then has expired


def token_of(operation: Operation) -> dict[str, str]:
    """The parameter by which the platform knows a repeated call."""
    return {"UniqueRequestToken": operation.token}


class MTurkHandler(Handler):
    """Makes calls by one `method` of the API, with a token where it takes one."""

    method: ClassVar[str]
    has_token: ClassVar[bool] = False

    def call(self, client: Any, operation: Operation) -> Answer:
        call: Callable[..., Answer] = getattr(client, self.method)
        return dict(call(**operation.request, **(token_of(operation) if self.has_token else {})))

    def look(self, client: Any, operation: Operation) -> Answer | None:
        """What the API says of what was to be done; None if it is not done, or may be done again and is the same."""
        return None

    def make(self, client: Any, operation: Operation) -> Answer:
        answer: Answer = as_json(self.call(client, operation))
        return answer

    def find(self, client: Any, operation: Operation) -> Answer | None:
        answer = self.look(client, operation)
        return None if answer is None else as_json(answer) | {"found": True}

    def recall(self, client: Any, error: Exception, operation: Operation) -> Answer:
        """The code of the error says that it was done the first time."""
        return {"repeated": code_of(error)}

    def evidence(self, operation: Operation, answer: Answer) -> Answer:
        return super().evidence(operation, {"token": operation.token} | answer)


# --- what must be there before the first HIT


class ExclusionType(MTurkHandler):
    """Makes the qualification of workers who get no more HITs: one for each lab and platform."""

    def request(self, operation: Operation) -> Answer:
        return {
            "Name": exclusion_name(operation, "Name"),
            "Description": EXCLUSION_DESCRIPTION,
            "QualificationTypeStatus": "Active",
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return make_own_qualification(client, operation.request)

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        type_id = answer["QualificationType"]["QualificationTypeId"]
        Publication.objects.filter(pk=operation.publication_id, exclusion_id="").update(exclusion_id=type_id)


def make_own_qualification(client: Any, request: Answer) -> Answer:
    """Make a qualification type, or find ours of that name."""
    try:
        return dict(client.create_qualification_type(**request))
    except ClientError as error:
        if code_of(error) != "QualificationTypeAlreadyExists":
            raise
        mine = listed(
            client.list_qualification_types,
            "QualificationTypes",
            Query=request["Name"],
            MustBeRequestable=False,
            MustBeOwnedByCaller=True,
        )
        ours = next((qualification for qualification in mine if qualification["Name"] == request["Name"]), None)
        if ours is None:  # of that name, and not among those that are ours
            raise
        return {"QualificationType": ours}


class HitType(MTurkHandler):
    """Makes the HIT type of one version of the terms: the same terms give the same HIT type."""

    method = "create_hit_type"

    def request(self, operation: Operation) -> Answer:
        return hit_type_request(operation.publication, operation.publication.exclusion_id)

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The publication's HIT type is that of its newest terms, whichever answer comes last."""
        publication = Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
        terms = terms_of(operation)
        publication.terms.filter(pk=terms.pk).update(hit_type_id=answer["HITTypeId"])
        if not publication.terms.filter(version__gt=terms.version).exists():
            publication.hit_type_id = answer["HITTypeId"]
            publication.save(update_fields=["hit_type_id"])


def hit_type_request(publication: Publication, exclusion_id: str) -> Answer:
    """What CreateHITType is asked for, with the exclusion of workers who get no more HITs."""
    return {
        "Title": publication.title,
        "Description": _description(publication),
        "Keywords": _keywords(publication),
        "Reward": f"{publication.listed:.2f}",
        "AssignmentDurationInSeconds": int(publication.assignment_duration.total_seconds()),
        "AutoApprovalDelayInSeconds": int(publication.auto_approval.total_seconds()),
        "QualificationRequirements": [*publication.requirements, exclusion_of(exclusion_id)],
    }


def _description(publication: Publication) -> str:
    """The description, after a sentence about the bonus where the listed reward is not all of the pay."""
    bonus = _bonus_up_to(publication)
    if not bonus:
        return publication.description
    sentence = _("Pays %(listed)s and a bonus of up to %(bonus)s for the comparisons that you make.") % {
        "listed": publication.campaign.money(publication.listed),
        "bonus": publication.campaign.money(bonus),
    }
    return f"{sentence} {publication.description}"[:2000]


def _keywords(publication: Publication) -> str:
    """The keywords; at our own marketplace with those by which it shows the bonus beside the reward, and the time."""
    if publication.platform != Platform.MARKETPLACE:
        return publication.keywords
    bonus, pace = _bonus_up_to(publication), expected_pace(publication.campaign, publication.assignment_duration)
    words = [f"bonus-up-to-{bonus:.2f}"] if bonus else []
    if pace is not None:
        words.append(f"takes-{pace.minutes}-minutes")
    room = 1000 - len(", ".join(words)) - 2
    text = publication.keywords if len(publication.keywords) <= room else publication.keywords[:room].rpartition(",")[0]
    return ", ".join([*filter(None, [text]), *words])


def _bonus_up_to(publication: Publication) -> Decimal:
    """What the listed reward lacks of all the pay; 0 where it is all."""
    bonus = publication.campaign.reward - publication.listed
    return bonus if publication.pay == Publication.Pay.BASE_AND_BONUS and bonus > 0 else Decimal(0)


# --- HITs


def mark_of(publication: Publication) -> str:
    """What the annotations of all of a publication's HITs begin with."""
    return f"bestknown {publication.reference} "


class Posting(MTurkHandler):
    """Publishes a HIT, which bears a mark by which it is found again."""

    method, has_token = "create_hit_with_hit_type", True
    opens = True

    def mark_in(self, request: Answer) -> str:
        return str(request["RequesterAnnotation"])

    def look(self, client: Any, operation: Operation) -> Answer | None:
        mark = self.mark_in(operation.request)
        hit = next((hit for hit in listed(client.list_hits, "HITs") if hit.get("RequesterAnnotation") == mark), None)
        return None if hit is None else {"HIT": hit}

    def recall(self, client: Any, error: Exception, operation: Operation) -> Answer:
        """The HIT that the error names, or that is found by its mark."""
        again = super().recall(client, error, operation)
        if hit_id := existing_hit(error):
            return again | {"HIT": {"HITId": hit_id}}
        recalled = self.find(client, operation)
        if recalled is None:
            raise error
        return again | recalled

    def store(self, operation: Operation, answer: Answer, *, lifetime: int, hit_type_id: str, at: datetime) -> None:
        published_hit = lock_published_hit(operation)
        expiry = answer["HIT"].get("Expiration")
        published_hit.platform_hit_id = answer["HIT"]["HITId"]
        published_hit.hit_type_id = hit_type_id
        published_hit.posted_at = at
        published_hit.expires_at = (parse_datetime(expiry) if expiry else None) or (at + timedelta(seconds=lifetime))
        published_hit.next_poll_at = at + FIRST_POLL
        published_hit.save(update_fields=["platform_hit_id", "hit_type_id", "posted_at", "expires_at", "next_poll_at"])


class Create(Posting):
    """Publishes one of our HITs."""

    def request(self, operation: Operation) -> Answer:
        publication, published_hit = operation.publication, hit_of(operation)
        assert published_hit.hit is not None
        return {
            "HITTypeId": publication.hit_type_id,
            "MaxAssignments": published_hit.max_assignments,
            "LifetimeInSeconds": int(publication.lifetime.total_seconds()),
            "Question": external_question(frame_address(publication, published_hit.hit)),
            "RequesterAnnotation": f"{mark_of(publication)}{published_hit.hit.number}/{published_hit.round}",
        }

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        body = operation.request
        self.store(operation, answer, lifetime=body["LifetimeInSeconds"], hit_type_id=body.get("HITTypeId", ""), at=at)


class Compensate(Posting):
    """Offers a compensation: a HIT that only one worker can take. Taken and approved, it is paid."""

    def request(self, operation: Operation) -> Answer:
        """The steps: a qualification that one worker gets, a HIT type that asks for it, one HIT."""
        publication, payment, worker = operation.publication, payment_of(operation), _compensated(operation).worker
        endpoint = endpoint_of(publication.platform)
        return {
            "worker": worker.external_id,
            "qualification": {
                "Name": f"Compensation {payment.token} ({endpoint.name})",
                "Description": "Given to the one worker whom a task owes a payment.",
                "QualificationTypeStatus": "Active",
            },
            "hit_type": {
                "Title": f"Compensation: {publication.title}"[:128],
                "Description": "Payment for work that could not be submitted. Only you can see this task.",
                "Reward": f"{payment.amount:.2f}",
                "AssignmentDurationInSeconds": int(COMPENSATION_TIME.total_seconds()),
                "AutoApprovalDelayInSeconds": int(COMPENSATION_AUTO_APPROVAL.total_seconds()),
            },
            "hit": {
                "MaxAssignments": 1,
                "LifetimeInSeconds": int(COMPENSATION_LIFETIME.total_seconds()),
                "Question": self._question(endpoint.submit_host, operation),
                "RequesterAnnotation": f"{mark_of(publication)}compensation {payment.token}/{operation.turn}",
            },
        }

    def _question(self, submit_host: str, operation: Operation) -> str:
        text = _("This pays %(amount)s for work that could not be submitted: receipt %(receipt)s. Press the button.")
        values = {"amount": f"${payment_of(operation).amount}", "receipt": _compensated(operation).receipt}
        return compensation_question(submit_host, text % values, _("Accept the payment"))

    def mark_in(self, request: Answer) -> str:
        return super().mark_in(request["hit"])

    def call(self, client: Any, operation: Operation) -> Answer:
        """Make and grant the qualification silently, then make type and HIT; what was made before is found."""
        body = operation.request
        type_id = make_own_qualification(client, body["qualification"])["QualificationType"]["QualificationTypeId"]
        client.associate_qualification_with_worker(
            QualificationTypeId=type_id, WorkerId=body["worker"], IntegerValue=1, SendNotification=False
        )
        only = {"QualificationTypeId": type_id, "Comparator": "Exists", "ActionsGuarded": "DiscoverPreviewAndAccept"}
        hit_type = client.create_hit_type(**body["hit_type"], QualificationRequirements=[only])["HITTypeId"]
        return dict(client.create_hit_with_hit_type(HITTypeId=hit_type, **body["hit"], **token_of(operation)))

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        self.store(operation, answer, lifetime=operation.request["hit"]["LifetimeInSeconds"], hit_type_id="", at=at)


class Retype(MTurkHandler):
    """Puts a HIT under the HIT type of newer terms."""

    method = "update_hit_type_of_hit"

    def request(self, operation: Operation) -> Answer:
        return {"HITId": hit_of(operation).platform_hit_id, "HITTypeId": terms_of(operation).hit_type_id}

    def look(self, client: Any, operation: Operation) -> Answer | None:
        hit = read(client.get_hit, HITId=operation.request["HITId"])["HIT"]
        return {"HIT": hit} if hit["HITTypeId"] == operation.request["HITTypeId"] else None

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        PublishedHit.objects.filter(operations=operation).update(hit_type_id=operation.request["HITTypeId"])

    def is_overtaken(self, operation: Operation) -> bool:
        newer = TermsVersion.objects.filter(
            publication_id=operation.publication_id, version__gt=terms_of(operation).version
        )
        return newer.exists()

    def overtake(self, operation: Operation) -> None:
        """An earlier attempt may have been done after all: the next call settles it, whichever type it is for."""
        PublishedHit.objects.filter(operations=operation).update(hit_type_id="")


class Extend(MTurkHandler):
    """Asks for more assignments of a HIT. The operation's turn is how many there are to be."""

    method, has_token = "create_additional_assignments_for_hit", True

    def request(self, operation: Operation) -> Answer:
        """Made before the HIT counts them: nothing is left to be stored afterwards."""
        published_hit = hit_of(operation)
        return {
            "HITId": published_hit.platform_hit_id,
            "NumberOfAdditionalAssignments": operation.turn - published_hit.max_assignments,
        }

    def look(self, client: Any, operation: Operation) -> Answer | None:
        hit = read(client.get_hit, HITId=operation.request["HITId"])["HIT"]
        return {"HIT": hit} if hit["MaxAssignments"] >= operation.turn else None


class Expire(MTurkHandler):
    """Ends a HIT, by changing when it expires to a time that is past."""

    method = "update_expiration_for_hit"

    def request(self, operation: Operation) -> Answer:
        return {"HITId": hit_of(operation).platform_hit_id, "ExpireAt": LONG_AGO}

    def call(self, client: Any, operation: Operation) -> Answer:
        moved = {"ExpireAt": datetime.fromtimestamp(operation.request["ExpireAt"], UTC)}
        return dict(client.update_expiration_for_hit(**{**operation.request, **moved}))

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        self.store(operation, at, at)

    def store(self, operation: Operation, expires_at: datetime, at: datetime) -> None:
        """The HIT ends then, and is asked about now."""
        published_hit = lock_published_hit(operation)
        published_hit.expires_at, published_hit.next_poll_at = expires_at, at
        published_hit.save(update_fields=["expires_at", "next_poll_at"])


class Reopen(Expire):
    """Opens a HIT again, or keeps it open for longer."""

    opens = True

    def request(self, operation: Operation) -> Answer:
        assert operation.until is not None
        return {"HITId": hit_of(operation).platform_hit_id, "ExpireAt": int(operation.until.timestamp())}

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        self.store(operation, datetime.fromtimestamp(operation.request["ExpireAt"], tz=at.tzinfo), at)


# --- submitted work


class Approve(MTurkHandler):
    """Approves submitted work, which pays the listed reward. What is approved cannot be approved again."""

    method = "approve_assignment"

    def request(self, operation: Operation) -> Answer:
        return {"AssignmentId": submission_of(operation).platform_assignment_id}

    def look(self, client: Any, operation: Operation) -> Answer | None:
        answer = read(client.get_assignment, AssignmentId=operation.request["AssignmentId"])["Assignment"]
        is_decided = answer["AssignmentStatus"] == DECISIONS[Kind(operation.kind)]
        return {"Assignment": answer} if is_decided else None


class Reject(Approve):
    """Rejects submitted work; the worker reads the reason of whoever decided."""

    method = "reject_assignment"

    def request(self, operation: Operation) -> Answer:
        return super().request(operation) | {"RequesterFeedback": submission_of(operation).reason[:1024]}


class Bonus(MTurkHandler):
    """Pays an assignment a bonus: the part of what is owed that the listed reward leaves; one that a person granted
    beyond that; what brings the pay of an hour to what a person wants. One of each kind at most.
    """

    method, has_token = "send_bonus", True

    def request(self, operation: Operation) -> Answer:
        """The worker reads why."""
        submission, payment = submission_of(operation), payment_of(operation)
        why = payment.why
        if operation.kind == Kind.BONUS:
            assert submission.assignment is not None
            why = _("For the comparisons that you made: receipt %(receipt)s.") % {
                "receipt": submission.assignment.receipt
            }
        return {
            "AssignmentId": submission.platform_assignment_id,
            "WorkerId": submission.platform_worker_id,
            "BonusAmount": f"{payment.amount:.2f}",
            "Reason": why,
        }

    def look(self, client: Any, operation: Operation) -> Answer | None:
        """One of this amount, with these words, to this worker is it."""
        body = operation.request
        for bonus in listed(client.list_bonus_payments, "BonusPayments", AssignmentId=body["AssignmentId"]):
            same = Decimal(bonus["BonusAmount"]) == Decimal(body["BonusAmount"])
            same = same and bonus.get("Reason", body["Reason"]) == body["Reason"]
            if same and bonus["WorkerId"] == body["WorkerId"]:
                return {"BonusPayment": bonus}
        return None


# --- workers who get no more: done again, it is the same


class Exclude(MTurkHandler):
    """Gives a barred worker the exclusion qualification, silently."""

    method = "associate_qualification_with_worker"

    def request(self, operation: Operation) -> Answer:
        who = {"QualificationTypeId": operation.publication.exclusion_id, "WorkerId": worker_of(operation).external_id}
        return who | ({"IntegerValue": 1, "SendNotification": False} if operation.kind == Kind.EXCLUDE else {})


class Readmit(Exclude):
    """Takes the exclusion from a worker who is welcome again."""

    method = "disassociate_qualification_from_worker"


def _compensated(operation: Operation) -> Assignment:
    assignment = payment_of(operation).assignment
    assert assignment is not None
    return assignment


def lock_published_hit(operation: Operation) -> PublishedHit:
    """Lock the publication and then the HIT: a halt that comes meanwhile sees what is stored here."""
    Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
    return PublishedHit.objects.select_for_update(no_key=True, of=("self",)).get(operations=operation)


HANDLERS: dict[Kind, Handler] = {
    Kind.EXCLUSION_TYPE: ExclusionType(),
    Kind.HIT_TYPE: HitType(),
    Kind.CREATE: Create(),
    Kind.COMPENSATE: Compensate(),
    Kind.RETYPE: Retype(),
    Kind.EXTEND: Extend(),
    Kind.EXPIRE: Expire(),
    Kind.REOPEN: Reopen(),
    Kind.APPROVE: Approve(),
    Kind.REJECT: Reject(),
    **dict.fromkeys(BONUSES, Bonus()),
    Kind.EXCLUDE: Exclude(),
    Kind.READMIT: Readmit(),
}
