"""What follows here from an operation that is done at the platform. Runs in the transaction that marks it done."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils.dateparse import parse_datetime

from platforms.models import Operation, Payment, Publication, PublishedHit, Submission
from platforms.mturk.client import Answer
from platforms.planning import end_plan

Kind = Operation.Kind
FIRST_POLL = timedelta(minutes=2)


def operation_apply(*, operation: Operation, answer: Answer, at: datetime) -> None:
    """Store what the platform said: ids, times, payments."""
    if "superseded" in answer and operation.kind == Kind.RETYPE:
        # An earlier attempt may have been done after all: the next call settles it, whichever type it is for.
        PublishedHit.objects.filter(operations=operation).update(hit_type_id="")
    apply = _APPLY.get(operation.kind)
    if apply is not None and "superseded" not in answer:
        apply(operation, answer, at)


def payment_settle(*, payment_id: int, evidence: Answer, at: datetime) -> bool:
    """Mark a payment paid, with the platform's word for it. Returns False where it was paid before."""
    unpaid = Payment.objects.filter(pk=payment_id).exclude(state=Payment.State.PAID)
    return bool(unpaid.update(state=Payment.State.PAID, paid_at=at, evidence=evidence))


def _exclusion_type(operation: Operation, answer: Answer, at: datetime) -> None:
    made = answer["QualificationType"]["QualificationTypeId"]
    Publication.objects.filter(pk=operation.publication_id, exclusion_id="").update(exclusion_id=made)


def _hit_type(operation: Operation, answer: Answer, at: datetime) -> None:
    """The publication's HIT type is that of its newest terms, whichever answer comes last."""
    publication = Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
    made = answer["HITTypeId"]
    version = operation.terms.version if operation.terms else 1
    publication.terms.filter(version=version).update(hit_type_id=made)
    if not publication.terms.filter(version__gt=version).exists():
        publication.hit_type_id = made
        publication.save(update_fields=["hit_type_id"])


def _posted(operation: Operation, answer: Answer, at: datetime) -> None:
    publication, published_hit = _locked(operation)
    hit = answer["HIT"]
    lifetime = operation.request.get("hit", operation.request)["LifetimeInSeconds"]
    said = hit.get("Expiration")
    published_hit.platform_hit_id = hit["HITId"]
    published_hit.hit_type_id = operation.request.get("HITTypeId", "")
    published_hit.posted_at = at
    published_hit.expires_at = (parse_datetime(said) if said else None) or (at + timedelta(seconds=lifetime))
    published_hit.next_poll_at = at + FIRST_POLL
    published_hit.save(update_fields=["platform_hit_id", "hit_type_id", "posted_at", "expires_at", "next_poll_at"])
    # Paused or stopped while the call was on its way; or the work that it compensates has arrived after all.
    halted = publication.state == Publication.State.STOPPED or (
        operation.kind == Kind.CREATE and publication.state != Publication.State.OPEN
    )
    if halted or (operation.payment is not None and operation.payment.state == Payment.State.REFUSED):
        end_plan(publication=publication, published_hits=[published_hit], at=at)


def _locked(operation: Operation) -> tuple[Publication, PublishedHit]:
    """The publication and then the posting, locked: a halt that comes meanwhile sees what is stored here."""
    publication = Publication.objects.select_for_update(no_key=True).get(pk=operation.publication_id)
    return publication, PublishedHit.objects.select_for_update(no_key=True, of=("self",)).get(operations=operation)


def _ended(operation: Operation, answer: Answer, at: datetime) -> None:
    publication, published_hit = _locked(operation)
    ends = datetime.fromtimestamp(operation.request["ExpireAt"], tz=at.tzinfo)
    published_hit.expires_at, published_hit.next_poll_at = at if operation.kind == Kind.EXPIRE else ends, at
    published_hit.save(update_fields=["expires_at", "next_poll_at"])
    newest = operation.subject == f"{published_hit.pk}/{published_hit.turn}"
    if operation.kind == Kind.REOPEN and newest and publication.state != Publication.State.OPEN:
        end_plan(publication=publication, published_hits=[published_hit], at=at)


def _retyped(operation: Operation, answer: Answer, at: datetime) -> None:
    PublishedHit.objects.filter(operations=operation).update(hit_type_id=operation.request["HITTypeId"])


def _paid(operation: Operation, answer: Answer, at: datetime) -> None:
    if operation.payment_id is not None:
        evidence = {"operation": operation.kind, "token": operation.token, **answer}
        payment_settle(payment_id=operation.payment_id, evidence=evidence, at=at)


def _approved(operation: Operation, answer: Answer, at: datetime) -> None:
    _paid(operation, answer, at)
    Submission.objects.filter(operations=operation).update(status=Submission.Status.APPROVED)


def _rejected(operation: Operation, answer: Answer, at: datetime) -> None:
    Submission.objects.filter(operations=operation).update(status=Submission.Status.REJECTED)


_APPLY: dict[str, Callable[[Operation, Answer, datetime], None]] = {
    Kind.EXCLUSION_TYPE: _exclusion_type,
    Kind.HIT_TYPE: _hit_type,
    Kind.CREATE: _posted,
    Kind.COMPENSATE: _posted,
    Kind.RETYPE: _retyped,
    Kind.EXPIRE: _ended,
    Kind.REOPEN: _ended,
    Kind.APPROVE: _approved,
    Kind.REJECT: _rejected,
    Kind.BONUS: _paid,
}
