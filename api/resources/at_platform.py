"""Work at a campaign's platform that waits for a person: submissions, compensations, messages, alarms."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import ChoiceFilter, FilterSet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import review_shapes, shapes
from api.frame import Endpoint, Pages, checked, may_spend_too, operation, user_of
from api.resources.publications import publication_of, published_of
from api.resources.work import worker_named
from core.errors import NotYours
from core.roles import Right
from platforms import messaging, publishing, testing
from platforms import status as platform_status
from platforms.models import Message, Payment, Publication, Submission
from platforms.reviewing import compensations, deciding

TAGS = ["Publication"]
LONGEST = timedelta(days=364)


class Extend(Endpoint):
    """Keeping HITs open longer."""

    @operation(
        "publication_extend",
        takes=review_shapes.Extend,
        answer=review_shapes.Extended,
        right=Right.SPEND,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Keep the HITs that need work open until the end of a day."""
        publication, sent = published_of(self.campaign(pk)), checked(review_shapes.Extend, request)
        at, until = timezone.now(), datetime.combine(sent["until"], time(23, 59), UTC)
        if not at.date() < sent["until"] <= (at + LONGEST).date():
            raise ValidationError({"until": [_("It must be a day of the coming year.")]})
        return Response({"extended": publishing.publication_extend(publication=publication, until=until, at=at)})


class PlatformAlarms(Endpoint):
    """What a person must look at."""

    pagination_class = Pages

    @operation("publication_alarms", answer=review_shapes.PlatformAlarmShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What is wrong with a campaign at its platform, as long as it is."""
        raised = published_of(self.campaign(pk)).alarms.filter(settled_at=None)
        return self.page_of(raised, review_shapes.PlatformAlarmShape)


# --- submissions


class SubmissionFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By status at the platform."""

    status = ChoiceFilter(choices=Submission.Status.choices)


class Submissions(Endpoint):
    """What was submitted."""

    pagination_class = Pages
    filterset_class = SubmissionFilter

    @operation("submissions", answer=review_shapes.SubmissionShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What was submitted at the platform, newest first."""
        publication = published_of(self.campaign(pk))
        return self.page_of(platform_status.submissions_of(publication), review_shapes.SubmissionShape)


class _Submission(Endpoint):
    def decide(
        self, request: Request, pk: int, key: int, service: Callable[..., Submission], shape: type[shapes.Reason]
    ) -> Response:
        publication, sent = published_of(self.campaign(pk)), checked(shape, request)
        submission = _submission_of(publication, key)
        may_spend_too(request, publication.campaign.lab)
        decided = service(submission=submission, by=user_of(request), at=timezone.now(), **sent)
        return Response(review_shapes.SubmissionShape(decided).data)


class Approve(_Submission):
    """Approving."""

    @operation(
        "submission_approve",
        takes=shapes.Reason,
        answer=review_shapes.SubmissionShape,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, submission_pk: int) -> Response:
        """Approve submitted work, and pay it. The platform is told in the background."""
        return self.decide(request, pk, submission_pk, deciding.submission_approve, shapes.Reason)


class Reject(_Submission):
    """Rejecting."""

    @operation(
        "submission_reject",
        takes=shapes.Rejection,
        answer=review_shapes.SubmissionShape,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, submission_pk: int) -> Response:
        """Reject submitted work; the worker reads why. The platform is told in the background."""
        return self.decide(request, pk, submission_pk, deciding.submission_reject, shapes.Rejection)


class AskReturn(_Submission):
    """Asking for a return."""

    @operation(
        "submission_ask_return",
        takes=review_shapes.ReturnAsked,
        answer=review_shapes.SubmissionShape,
        right=Right.DECIDE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, submission_pk: int) -> Response:
        """Ask a worker to return submitted work without answers here, where the platform can. They read why, once."""
        publication, sent = published_of(self.campaign(pk)), checked(review_shapes.ReturnAsked, request)
        submission = _submission_of(publication, submission_pk)
        deciding.return_ask(submission=submission, by=user_of(request), at=timezone.now(), **sent)
        submission.refresh_from_db()
        return Response(review_shapes.SubmissionShape(submission).data)


def _submission_of(publication: Publication, key: int) -> Submission:
    submission = platform_status.submissions_of(publication).filter(pk=key).first()
    if submission is None:
        raise NotYours(_("This publication has no such submission."))
    submission.publication = publication
    return submission


# --- test runs


class TestRun(Endpoint):
    """Trying a campaign through its platform."""

    @operation(
        "test_run_begin", takes=review_shapes.TestRun, answer=review_shapes.TestRunShape, right=Right.SPEND, tags=TAGS
    )
    def post(self, request: Request, pk: int) -> Response:
        """Make a study that only the workspace's test participants see, before the campaign is published. Nobody is
        paid. Only some workspaces at Prolific have test runs.
        """
        publication, sent = publication_of(self.campaign(pk)), checked(review_shapes.TestRun, request)
        begun = testing.test_run_begin(publication=publication, email=sent.get("email", ""))
        return Response({"study": begun.test_study_id, "address": begun.test_study_address})

    @operation("test_run_end", status=204, right=Right.SPEND, tags=TAGS)
    def delete(self, request: Request, pk: int) -> Response:
        """End the test run. If there is none, nothing changes."""
        testing.test_run_end(publication=publication_of(self.campaign(pk)))
        return Response(status=204)


# --- compensations


class _Compensation(Endpoint):
    def payment(self, pk: int, payment_pk: int) -> Payment:
        """The compensation, for what needs this operation's right."""
        payments = published_of(self.campaign(pk)).payments.filter(purpose=Payment.Purpose.COMPENSATION)
        payment = payments.filter(pk=payment_pk).first()
        if payment is None:
            raise NotYours(_("This publication has no such compensation."))
        return payment

    def shown(self, payment: Payment) -> Response:
        """The payment as it is now."""
        payment.refresh_from_db()
        return Response(shapes.PaymentShape(payment).data)


class Offer(_Compensation):
    """Offering a compensation."""

    @operation("compensation_offer", answer=shapes.PaymentShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int, payment_pk: int) -> Response:
        """Offer to pay work that was done here and never submitted there. Again is the same offer."""
        payment = self.payment(pk, payment_pk)
        compensations.compensation_offer(payment=payment, at=timezone.now())
        return self.shown(payment)


class Decline(_Compensation):
    """Declining a compensation."""

    @operation("compensation_decline", takes=shapes.Reason, answer=shapes.PaymentShape, right=Right.DECIDE, tags=TAGS)
    def post(self, request: Request, pk: int, payment_pk: int) -> Response:
        """Decide that a compensation is not owed."""
        payment, sent = self.payment(pk, payment_pk), checked(shapes.Reason, request)
        compensations.compensation_decline(payment=payment, by=user_of(request), at=timezone.now(), **sent)
        return self.shown(payment)


# --- messages


class MessageFilter(FilterSet):  # type: ignore[misc]
    """By state."""

    state = ChoiceFilter(choices=Message.State.choices)


class Messages(Endpoint):
    """Messages with workers."""

    pagination_class = Pages
    filterset_class = MessageFilter

    @operation("messages", answer=review_shapes.MessageShape(many=True), tags=["Messages"])
    def get(self, request: Request, pk: int) -> Response:
        """What workers of a campaign wrote, and what was written to them, newest first."""
        campaign = self.campaign(pk)
        rows = messaging.messages_of(published_of(campaign))
        return self.page_of(rows, review_shapes.MessageShape, campaign=campaign)


class MessageWrite(Endpoint):
    """Writing to a worker."""

    @operation(
        "message_write",
        takes=review_shapes.NewMessage,
        answer=review_shapes.MessageShape,
        status=202,
        right=Right.DECIDE,
        tags=["Messages"],
    )
    def post(self, request: Request, pk: int, name: str) -> Response:
        """Write to a worker. A job sends it, once."""
        campaign = self.campaign(pk)
        publication, sent = published_of(campaign), checked(review_shapes.NewMessage, request)
        given: dict[str, Any] = {"by": user_of(request), "at": timezone.now(), **sent}
        message = messaging.message_write(publication=publication, worker=worker_named(campaign, name), **given)
        return Response(review_shapes.MessageShape(message, context={"campaign": campaign}).data, status=202)


class MessageSetAside(Endpoint):
    """Messages that need no answer."""

    @operation("message_set_aside", status=204, right=Right.DECIDE, tags=["Messages"])
    def post(self, request: Request, pk: int, message_pk: int) -> Response:
        """Decide that a message needs no answer."""
        message = published_of(self.campaign(pk)).messages.filter(pk=message_pk).first()
        if message is None:
            raise NotYours(_("This campaign has no such message."))
        messaging.message_set_aside(message=message)
        return Response(status=204)
