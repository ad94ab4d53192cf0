"""Every kind of operation at a platform that speaks the Mechanical Turk API: one class each.

A class says what is asked for (`request`), the call (`call`), how to see at the platform whether it was done (`look`),
what changes here then (`apply`), whether it spends, and whether it runs while the publication is paused or stopped.
"""

from abc import abstractmethod
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from platforms.adapter import Answer, Handler
from platforms.addresses import frame_address
from platforms.models import Operation, Payment, Publication, PublishedHit, Submission, TermsVersion
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
from platforms.payments import COMPENSATION_TIME, payment_settle
from tasks.models import Assignment, Platform, Worker
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
    """One kind of operation by one call of the API, or by some that may all be repeated."""

    @abstractmethod
    def call(self, client: Any, operation: Operation) -> Answer:
        """Make the call once: what the API answers."""

    @abstractmethod
    def look(self, client: Any, operation: Operation) -> Answer | None:
        """What the API says of what was to be done; None if it is not done, or need not be looked for."""

    def make(self, client: Any, operation: Operation) -> Answer:
        """Make the call once. The answer, as it is stored."""
        answer: Answer = as_json(self.call(client, operation))
        return answer

    def find(self, client: Any, operation: Operation) -> Answer | None:
        """What it was to do, where the platform says that this is done."""
        answer = self.look(client, operation)
        return None if answer is None else as_json(answer) | {"found": True}

    def recall(self, client: Any, error: Exception, operation: Operation) -> Answer:
        """What was done the first time: the code of the error says that it was."""
        return {"repeated": code_of(error)}


# --- what must be there before the first HIT


class ExclusionType(MTurkHandler):
    """Makes the qualification of workers who get no more HITs: one for each lab and platform."""

    kind = Kind.EXCLUSION_TYPE
    spends = False
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """CreateQualificationType, under a name by which it is found again, also after the lab was renamed."""
        campaign, platform = operation.publication.campaign, operation.publication.platform
        others = Operation.objects.filter(
            kind=self.kind, publication__campaign__lab=campaign.lab_id, publication__platform=platform
        )
        first = others.filter(request__has_key="Name").order_by("pk").first()
        return {
            "Name": first.request["Name"]
            if first
            else f"No further tasks of {campaign.lab.name[:100]} ({campaign.lab_id})",
            "Description": EXCLUSION_DESCRIPTION,
            "QualificationTypeStatus": "Active",
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return make_own_qualification(client, operation.request)

    def look(self, client: Any, operation: Operation) -> None:
        """Made again, it is found by its name."""

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
    """Makes the HIT type of one version of the terms."""

    kind = Kind.HIT_TYPE
    spends = False
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """CreateHITType for the publication's terms as they are."""
        return hit_type_request(operation.publication, operation.publication.exclusion_id)

    def call(self, client: Any, operation: Operation) -> Answer:
        """Make it: the same terms give the same HIT type."""
        return dict(client.create_hit_type(**operation.request))

    def look(self, client: Any, operation: Operation) -> None:
        """Made again, it is the same."""

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

    spends = True
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
        """The HIT has its id and its end, and is asked about soon."""
        published_hit = lock_published_hit(operation)
        expiry = answer["HIT"].get("Expiration")
        published_hit.platform_hit_id = answer["HIT"]["HITId"]
        published_hit.hit_type_id = hit_type_id
        published_hit.posted_at = at
        published_hit.expires_at = (parse_datetime(expiry) if expiry else None) or (at + timedelta(seconds=lifetime))
        published_hit.next_poll_at = at + FIRST_POLL
        published_hit.save(update_fields=["platform_hit_id", "hit_type_id", "posted_at", "expires_at", "next_poll_at"])


class Create(Posting):
    """Publishes one of our HITs. In doubt while the publication is halted, it is looked for."""

    kind = Kind.CREATE
    runs_while_paused = False
    runs_while_stopped = False
    is_sought = True

    def request(self, operation: Operation) -> Answer:
        """CreateHITWithHITType, but for the token."""
        publication, published_hit = operation.publication, hit_of(operation)
        assert published_hit.hit is not None
        return {
            "HITTypeId": publication.hit_type_id,
            "MaxAssignments": published_hit.max_assignments,
            "LifetimeInSeconds": int(publication.lifetime.total_seconds()),
            "Question": external_question(frame_address(publication, published_hit.hit)),
            "RequesterAnnotation": f"{mark_of(publication)}{published_hit.hit.number}/{published_hit.round}",
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.create_hit_with_hit_type(**operation.request, **token_of(operation)))

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The HIT is at the platform."""
        body = operation.request
        self.store(operation, answer, lifetime=body["LifetimeInSeconds"], hit_type_id=body.get("HITTypeId", ""), at=at)


class Compensate(Posting):
    """Offers a compensation: a HIT that only one worker can take. Taken and approved, it is paid."""

    kind = Kind.COMPENSATE
    runs_while_paused = True
    runs_while_stopped = False

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
        """The offer is at the platform. It is paid when it was taken and approved."""
        self.store(operation, answer, lifetime=operation.request["hit"]["LifetimeInSeconds"], hit_type_id="", at=at)


class Retype(MTurkHandler):
    """Puts a HIT under the HIT type of newer terms."""

    kind = Kind.RETYPE
    spends = False
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """UpdateHITTypeOfHIT."""
        return {"HITId": hit_of(operation).platform_hit_id, "HITTypeId": terms_of(operation).hit_type_id}

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.update_hit_type_of_hit(**operation.request))

    def look(self, client: Any, operation: Operation) -> Answer | None:
        hit = read(client.get_hit, HITId=operation.request["HITId"])["HIT"]
        return {"HIT": hit} if hit["HITTypeId"] == operation.request["HITTypeId"] else None

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The HIT is under the type."""
        PublishedHit.objects.filter(operations=operation).update(hit_type_id=operation.request["HITTypeId"])

    def is_overtaken(self, operation: Operation) -> bool:
        """There are newer terms."""
        newer = TermsVersion.objects.filter(
            publication_id=operation.publication_id, version__gt=terms_of(operation).version
        )
        return newer.exists()

    def overtake(self, operation: Operation) -> None:
        """An earlier attempt may have been done after all: the next call settles it, whichever type it is for."""
        PublishedHit.objects.filter(operations=operation).update(hit_type_id="")


class Extend(MTurkHandler):
    """Asks for more assignments of a HIT. The operation's turn is how many there are to be."""

    kind = Kind.EXTEND
    spends = True
    runs_while_paused = False
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """CreateAdditionalAssignmentsForHIT, but for the token, before the HIT counts them."""
        published_hit = hit_of(operation)
        return {
            "HITId": published_hit.platform_hit_id,
            "NumberOfAdditionalAssignments": operation.turn - published_hit.max_assignments,
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.create_additional_assignments_for_hit(**operation.request, **token_of(operation)))

    def look(self, client: Any, operation: Operation) -> Answer | None:
        hit = read(client.get_hit, HITId=operation.request["HITId"])["HIT"]
        return {"HIT": hit} if hit["MaxAssignments"] >= operation.turn else None

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """They were counted when they were planned."""


class Ending(MTurkHandler):
    """Changes when a HIT expires: the newest turn of a HIT counts."""

    spends = False

    def call(self, client: Any, operation: Operation) -> Answer:
        moved = {"ExpireAt": datetime.fromtimestamp(operation.request["ExpireAt"], UTC)}
        return dict(client.update_expiration_for_hit(**{**operation.request, **moved}))

    def look(self, client: Any, operation: Operation) -> None:
        """Said again, it is the same."""

    def is_overtaken(self, operation: Operation) -> bool:
        """The HIT had a later turn."""
        return operation.turn < hit_of(operation).turn

    def store(self, operation: Operation, expires_at: datetime, at: datetime) -> None:
        """The HIT ends then, and is asked about now."""
        published_hit = lock_published_hit(operation)
        published_hit.expires_at, published_hit.next_poll_at = expires_at, at
        published_hit.save(update_fields=["expires_at", "next_poll_at"])


class Expire(Ending):
    """Ends a HIT."""

    kind = Kind.EXPIRE
    runs_while_paused = True
    runs_while_stopped = True

    def request(self, operation: Operation) -> Answer:
        """UpdateExpirationForHIT to a time that is past."""
        return {"HITId": hit_of(operation).platform_hit_id, "ExpireAt": LONG_AGO}

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The HIT is over."""
        self.store(operation, at, at)


class Reopen(Ending):
    """Opens a HIT again, or keeps it open for longer."""

    kind = Kind.REOPEN
    runs_while_paused = False
    runs_while_stopped = False
    opens = True

    def request(self, operation: Operation) -> Answer:
        """UpdateExpirationForHIT to the time until which it is to be open."""
        assert operation.until is not None
        return {"HITId": hit_of(operation).platform_hit_id, "ExpireAt": int(operation.until.timestamp())}

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """The HIT is open until then."""
        self.store(operation, datetime.fromtimestamp(operation.request["ExpireAt"], tz=at.tzinfo), at)


# --- submitted work


class Approve(MTurkHandler):
    """Approves submitted work, which pays the listed reward."""

    kind = Kind.APPROVE
    spends = True
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        return {"AssignmentId": submission_of(operation).platform_assignment_id}

    def call(self, client: Any, operation: Operation) -> Answer:
        """Approve it: what is approved cannot be approved again."""
        return dict(client.approve_assignment(**operation.request))

    def look(self, client: Any, operation: Operation) -> Answer | None:
        return _assignment_with(client, operation, "Approved")

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        _settle_payment(operation, answer, at)
        Submission.objects.filter(pk__in=[operation.submission_id]).update(status=Submission.Status.APPROVED)


class Reject(MTurkHandler):
    """Rejects submitted work; the worker reads why."""

    kind = Kind.REJECT
    spends = False
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """RejectAssignment, with the reason of whoever decided."""
        submission = submission_of(operation)
        return {"AssignmentId": submission.platform_assignment_id, "RequesterFeedback": submission.reason[:1024]}

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.reject_assignment(**operation.request))

    def look(self, client: Any, operation: Operation) -> Answer | None:
        return _assignment_with(client, operation, "Rejected")

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        Submission.objects.filter(pk__in=[operation.submission_id]).update(status=Submission.Status.REJECTED)


class Bonus(MTurkHandler):
    """Pays the part of what is owed that the listed reward leaves, as a bonus: one at most."""

    kind = Kind.BONUS
    spends = True
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """SendBonus, but for the token."""
        submission = submission_of(operation)
        assert submission.assignment is not None
        text = _("For the comparisons that you made: receipt %(receipt)s.") % {"receipt": submission.assignment.receipt}
        return {
            "AssignmentId": submission.platform_assignment_id,
            "WorkerId": submission.platform_worker_id,
            "BonusAmount": f"{payment_of(operation).amount:.2f}",
            "Reason": text,
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.send_bonus(**operation.request, **token_of(operation)))

    def look(self, client: Any, operation: Operation) -> Answer | None:
        """We pay an assignment one bonus for what it is owed, and one extra bonus, at most: one of this amount, with
        these words, to this worker is it.
        """
        body = operation.request
        for bonus in listed(client.list_bonus_payments, "BonusPayments", AssignmentId=body["AssignmentId"]):
            same = Decimal(bonus["BonusAmount"]) == Decimal(body["BonusAmount"])
            same = same and bonus.get("Reason", body["Reason"]) == body["Reason"]
            if same and bonus["WorkerId"] == body["WorkerId"]:
                return {"BonusPayment": bonus}
        return None

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        _settle_payment(operation, answer, at)


class ExtraBonus(Bonus):
    """Pays a bonus that a person granted beyond what is owed: one at most. The worker reads why."""

    kind = Kind.EXTRA_BONUS
    spends = True
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        submission, payment = submission_of(operation), payment_of(operation)
        return {
            "AssignmentId": submission.platform_assignment_id,
            "WorkerId": submission.platform_worker_id,
            "BonusAmount": f"{payment.amount:.2f}",
            "Reason": payment.why,
        }

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        _settle_payment(operation, answer, at)


class Adjust(ExtraBonus):
    """Pays what brings the pay of an hour to what a person wants, once for each assignment."""

    kind = Kind.ADJUST
    spends = True
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        return super().request(operation)

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        _settle_payment(operation, answer, at)


def _assignment_with(client: Any, operation: Operation, status: str) -> Answer | None:
    answer = read(client.get_assignment, AssignmentId=operation.request["AssignmentId"])["Assignment"]
    return {"Assignment": answer} if answer["AssignmentStatus"] == status else None


def _settle_payment(operation: Operation, answer: Answer, at: datetime) -> None:
    if operation.payment_id is not None:
        evidence = {"operation": operation.kind, "token": operation.token, **answer}
        payment_settle(payment_id=operation.payment_id, evidence=evidence, at=at)


# --- workers who get no more


class Exclude(MTurkHandler):
    """Gives a barred worker the exclusion qualification, silently."""

    kind = Kind.EXCLUDE
    spends = False
    runs_while_paused = True
    runs_while_stopped = True

    def request(self, operation: Operation) -> Answer:
        """AssociateQualificationWithWorker."""
        return {
            "QualificationTypeId": operation.publication.exclusion_id,
            "WorkerId": worker_of(operation).external_id,
            "IntegerValue": 1,
            "SendNotification": False,
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.associate_qualification_with_worker(**operation.request))

    def look(self, client: Any, operation: Operation) -> None:
        """Given again, it is the same."""

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """Here, the worker was barred before."""


class Readmit(MTurkHandler):
    """Takes the exclusion from a worker who is welcome again."""

    kind = Kind.READMIT
    spends = False
    runs_while_paused = True
    runs_while_stopped = False

    def request(self, operation: Operation) -> Answer:
        """DisassociateQualificationFromWorker."""
        return {
            "QualificationTypeId": operation.publication.exclusion_id,
            "WorkerId": worker_of(operation).external_id,
        }

    def call(self, client: Any, operation: Operation) -> Answer:
        return dict(client.disassociate_qualification_from_worker(**operation.request))

    def look(self, client: Any, operation: Operation) -> None:
        """Taken again, it is the same."""

    def apply(self, operation: Operation, answer: Answer, at: datetime) -> None:
        """Here, the worker was welcome before."""


# --- what the operation is about: the database holds that each kind has its own


def hit_of(operation: Operation) -> PublishedHit:
    """The HIT at the platform."""
    assert operation.published_hit is not None
    return operation.published_hit


def payment_of(operation: Operation) -> Payment:
    assert operation.payment is not None
    return operation.payment


def submission_of(operation: Operation) -> Submission:
    """The submission that it decides on or pays for."""
    assert operation.submission is not None
    return operation.submission


def worker_of(operation: Operation) -> Worker:
    """The worker whom it excludes or readmits."""
    assert operation.worker is not None
    return operation.worker


def terms_of(operation: Operation) -> TermsVersion:
    """The terms that it makes a HIT type of, or puts a HIT under."""
    assert operation.terms is not None
    return operation.terms


def _compensated(operation: Operation) -> Assignment:
    assignment = payment_of(operation).assignment
    assert assignment is not None
    return assignment


def lock_published_hit(operation: Operation) -> PublishedHit:
    """Lock the publication and then the HIT: a halt that comes meanwhile sees what is stored here."""
    Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
    return PublishedHit.objects.select_for_update(no_key=True, of=("self",)).get(operations=operation)


HANDLERS: tuple[Handler, ...] = (
    ExclusionType(),
    HitType(),
    Create(),
    Compensate(),
    Retype(),
    Extend(),
    Expire(),
    Reopen(),
    Approve(),
    Reject(),
    Bonus(),
    ExtraBonus(),
    Adjust(),
    Exclude(),
    Readmit(),
)
