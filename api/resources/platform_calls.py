"""Calls to a campaign's platform that need a person, its alarms, and its notifications."""

from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import ChoiceFilter, FilterSet
from rest_framework.request import Request
from rest_framework.response import Response

from api import platform_shapes
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.resources.publications import published_of
from core.errors import NotYours
from core.roles import Right
from platforms import alarms, hooks, outbox
from platforms import status as platform_status
from platforms.models import Operation, Publication

TAGS = ["Publication"]


class CallFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By kind and state."""

    kind = ChoiceFilter(choices=Operation.Kind.choices)
    state = ChoiceFilter(choices=Operation.State.choices)


class Calls(Endpoint):
    """Calls in trouble."""

    pagination_class = Pages
    filterset_class = CallFilter

    @operation("calls", answer=platform_shapes.CallShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """Calls to the platform that were refused, whose outcome is unknown, or that failed and are tried again."""
        publication = published_of(self.campaign(pk))
        rows = platform_status.calls_in_trouble(publication)
        return self.page_of(rows, platform_shapes.CallShape, decidable=outbox.may_be_decided(publication))


class _Call(Endpoint):
    def call(self, publication: Publication, key: int) -> Operation:
        """A call of the publication. Raises NotYours."""
        call = publication.operations.select_related("publication", "published_hit").filter(pk=key).first()
        if call is None:
            raise NotYours(_("This publication has no such call."))
        return call

    def shown(self, call: Operation) -> Response:
        """The call as it is now."""
        call.refresh_from_db()
        decidable = outbox.may_be_decided(call.publication)
        return Response(platform_shapes.CallShape(call, context={"decidable": decidable}).data)


class CallRetry(_Call):
    """Trying a call again."""

    @operation("call_retry", answer=platform_shapes.CallShape, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int, call_pk: int) -> Response:
        """Try a call that was refused once more, with the same token, so that nothing is done twice. A call that was
        not refused stays as it is."""
        call = self.call(published_of(self.campaign(pk)), call_pk)
        outbox.operation_retry(operation=call, at=timezone.now())
        return self.shown(call)


class CallDecide(_Call):
    """Saying what came of a call."""

    @operation(
        "call_decide",
        takes=platform_shapes.CallDecision,
        answer=platform_shapes.CallShape,
        right=Right.SPEND,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int, call_pk: int) -> Response:
        """Say whether a call in doubt was done that is never made again by itself. A call that is not in doubt stays as
        it is. Refused (409) where you say that it was not done while the platform may still do it, as Prolific pays a
        while after it was asked to: the refusal says from when you can."""
        call = self.call(published_of(self.campaign(pk)), call_pk)
        sent = checked(platform_shapes.CallDecision, request)
        outbox.operation_decide(operation=call, by=user_of(request), at=timezone.now(), **sent)
        return self.shown(call)


class AlarmDismiss(Endpoint):
    """Dismissing an alarm."""

    @operation("publication_alarm_dismiss", status=204, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int, alarm_pk: int) -> Response:
        """Dismiss an alarm of a publication that you have dealt with. It is raised again if its cause comes back.
        Refused (409) for those that disappear with their cause only."""
        alarm = published_of(self.campaign(pk)).alarms.filter(pk=alarm_pk).first()
        if alarm is None:
            raise NotYours(_("This publication has no such alarm."))
        alarms.alarm_dismiss(alarm=alarm, by=user_of(request), at=timezone.now())
        return Response(status=204)


class Listen(Endpoint):
    """Being notified of submitted work."""

    @operation("publication_listen", status=204, right=Right.SPEND, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Have the marketplace notify this site as soon as work is submitted, so that it asks sooner. Again is no
        error."""
        hooks.notifications_ask(publication=published_of(self.campaign(pk)))
        return Response(status=204)
