"""Work at a campaign's platform that waits for a person: submissions, compensations, messages, alarms."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters.filterset import filterset_factory
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from api import review_shapes, shapes
from api.frame import Resource, delete, get, operation, post
from api.resources.publications import publication_of, published_of
from api.resources.review import worker_named
from core.roles import Right
from platforms import alarms, hooks
from platforms import status as platform_status
from platforms.messages import conversations
from platforms.models import Message, Payment, Submission
from platforms.publishing import publications as publishing
from platforms.publishing import testing
from platforms.reviewing import compensations, deciding

LONGEST = timedelta(days=364)


class Submissions(Resource):
    """What was submitted at the platform."""

    tags = ["Publication"]
    lookup_url_kwarg = "submission_pk"
    filterset_class = filterset_factory(Submission, fields=["status"])

    def get_queryset(self) -> QuerySet[Submission]:
        return platform_status.submissions_of(published_of(self.campaign)).select_related("publication__campaign")

    def decide(self, service: Callable[..., Submission]) -> Submission:
        """Decide on submitted work, which needs the right to spend besides."""
        submission = self.get_object()
        self.require_spending(self.campaign.lab)
        return service(submission=submission, **self.signed, **self.sent)

    @operation(review_shapes.SubmissionShape(many=True), name="submissions")
    def list(self, request: Request, pk: int) -> Any:
        """What was submitted at the platform, newest first."""
        return self.get_queryset()

    @post("approve", review_shapes.SubmissionShape, Right.DECIDE, takes=shapes.Reason)
    def submission_approve(self, request: Request, pk: int, submission_pk: int) -> Any:
        """Approve submitted work, and pay it. The platform is told in the background."""
        return self.decide(deciding.submission_approve)

    @post("reject", review_shapes.SubmissionShape, Right.DECIDE, takes=shapes.Rejection)
    def submission_reject(self, request: Request, pk: int, submission_pk: int) -> Any:
        """Reject submitted work; the worker reads why. The platform is told in the background."""
        return self.decide(deciding.submission_reject)

    @post("ask-return", review_shapes.SubmissionShape, Right.DECIDE, takes=review_shapes.ReturnAsked)
    def submission_ask_return(self, request: Request, pk: int, submission_pk: int) -> Any:
        """Ask a worker to return submitted work without answers here, where the platform can. They read why, once."""
        deciding.return_ask(submission=self.get_object(), **self.signed, **self.sent)
        return self.get_object()


class AtPlatform(Resource):
    """What waits for a person at a campaign's platform."""

    tags = ["Publication"]

    @property
    def compensation(self) -> Payment:
        """The compensation, for what needs this operation's right. Raises Http404."""
        payments = published_of(self.campaign).payments.filter(purpose=Payment.Purpose.COMPENSATION)
        return get_object_or_404(payments, pk=self.kwargs["payment_pk"])

    @post("publication/extend", review_shapes.Extended, Right.SPEND, takes=review_shapes.Extend)
    def publication_extend(self, request: Request, pk: int) -> Any:
        """Keep the HITs that need work open until the end of a day."""
        publication, sent = published_of(self.campaign), self.sent
        at, until = timezone.now(), datetime.combine(sent["until"], time(23, 59), UTC)
        if not at.date() < sent["until"] <= (at + LONGEST).date():
            raise ValidationError({"until": [_("It must be a day of the coming year.")]})
        return {"extended": publishing.publication_extend(publication=publication, until=until, at=at)}

    @get("publication/alarms", review_shapes.PlatformAlarmShape(many=True))
    def publication_alarms(self, request: Request, pk: int) -> Any:
        """What is wrong with a campaign at its platform, as long as it is."""
        return published_of(self.campaign).alarms.filter(settled_at=None)

    @post("publication/test-run", review_shapes.TestRunShape, Right.SPEND, takes=review_shapes.TestRun)
    def test_run_begin(self, request: Request, pk: int) -> Any:
        """Make a study that only the workspace's test participants see, before the campaign is published. Nobody is
        paid. Only some workspaces at Prolific have test runs.
        """
        publication, sent = publication_of(self.campaign), self.sent
        begun = testing.test_run_begin(publication=publication, email=sent.get("email", ""))
        return {"study": begun.test_study_id, "address": begun.test_study_address}

    @delete(test_run_begin, right=Right.SPEND)
    def test_run_end(self, request: Request, pk: int) -> Any:
        """End the test run. If there is none, nothing changes."""
        testing.test_run_end(publication=publication_of(self.campaign))

    @post("publication/payments/<int:payment_pk>/offer", shapes.PaymentShape, Right.SPEND)
    def compensation_offer(self, request: Request, pk: int, payment_pk: int) -> Any:
        """Offer to pay work that was done here and never submitted there. Again is the same offer."""
        compensations.compensation_offer(payment=self.compensation, at=timezone.now())
        return self.compensation

    @post("publication/payments/<int:payment_pk>/decline", shapes.PaymentShape, Right.DECIDE, takes=shapes.Reason)
    def compensation_decline(self, request: Request, pk: int, payment_pk: int) -> Any:
        """Decide that a compensation is not owed."""
        compensations.compensation_decline(payment=self.compensation, **self.signed, **self.sent)
        return self.compensation

    @get(
        "messages",
        review_shapes.MessageShape(many=True),
        tags=["Messages"],
        filterset_class=filterset_factory(Message, fields=["state"]),
    )
    def messages(self, request: Request, pk: int) -> Any:
        """What workers of a campaign wrote, and what was written to them, newest first."""
        return conversations.messages_of(published_of(self.campaign))

    @post(
        "workers/<slug:name>/messages",
        review_shapes.MessageShape,
        Right.DECIDE,
        takes=review_shapes.NewMessage,
        status=202,
        tags=["Messages"],
    )
    def message_write(self, request: Request, pk: int, name: str) -> Any:
        """Write to a worker. A job sends it, once."""
        publication, sent = published_of(self.campaign), self.sent
        worker = worker_named(self.campaign, name)
        return conversations.message_write(publication=publication, worker=worker, **self.signed, **sent)

    @post("messages/<int:message_pk>/set-aside", right=Right.DECIDE, tags=["Messages"])
    def message_set_aside(self, request: Request, pk: int, message_pk: int) -> Any:
        """Decide that a message needs no answer."""
        message = get_object_or_404(published_of(self.campaign).messages, pk=message_pk)
        conversations.message_set_aside(message=message)

    @post("publication/alarms/<int:alarm_pk>/dismiss", right=Right.SPEND)
    def publication_alarm_dismiss(self, request: Request, pk: int, alarm_pk: int) -> Any:
        """Dismiss an alarm of a publication that you have dealt with. It is raised again if its cause comes back.
        Refused (409) for those that disappear with their cause only."""
        alarm = get_object_or_404(published_of(self.campaign).alarms, pk=alarm_pk)
        alarms.alarm_dismiss(alarm=alarm, **self.signed)

    @post("publication/listen", right=Right.SPEND)
    def publication_listen(self, request: Request, pk: int) -> Any:
        """Have the marketplace notify this site as soon as work is submitted, so that it asks sooner. Again is no
        error."""
        hooks.notifications_ask(publication=published_of(self.campaign))
