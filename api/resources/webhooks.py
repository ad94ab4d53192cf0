"""Webhooks of a lab, and what they were told."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django_filters import CharFilter, FilterSet
from rest_framework.request import Request
from rest_framework.response import Response

from api import jobs, shapes, webhooks
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.models import Webhook
from api.resources.campaigns import soon
from core.roles import Right

TAGS = ["Webhooks"]


def shown_once(webhook: Webhook, secret: str, status: int = 200) -> Response:
    """The webhook with its secret, which is in no stored answer."""
    content = dict(shapes.NewWebhookShape(webhook, context={"secret": secret}).data)
    response = Response(content, status=status)
    response.kept = content | {"secret": None}  # type: ignore[attr-defined]  # what api.answers stores
    return response


class _OfWebhook(Endpoint):
    def webhook(self, pk: int, webhook_pk: int) -> Webhook:
        """The webhook, for what needs this operation's right."""
        return webhooks.webhook_in(self.lab(pk), webhook_pk)


class Webhooks(Endpoint):
    """All webhooks of a lab."""

    pagination_class = Pages

    @operation("webhooks", answer=shapes.WebhookShape(many=True), right=Right.MANAGE, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """A lab's webhooks, newest first."""
        return self.page_of(webhooks.webhooks_of(self.lab(pk)), shapes.WebhookShape)

    @operation(
        "webhook_create",
        takes=shapes.NewWebhook,
        answer=shapes.NewWebhookShape,
        status=201,
        right=Right.MANAGE,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Add a webhook. The answer has its secret, this once."""
        lab, sent = self.lab(pk), checked(shapes.NewWebhook, request)
        webhook, secret = webhooks.webhook_create(lab=lab, by=user_of(request), at=timezone.now(), **sent)
        return shown_once(webhook, secret, 201)


class WebhookOne(_OfWebhook):
    """One webhook."""

    @operation("webhook", answer=shapes.WebhookShape, right=Right.MANAGE, tags=TAGS)
    def get(self, request: Request, pk: int, webhook_pk: int) -> Response:
        """One webhook."""
        return Response(shapes.WebhookShape(self.webhook(pk, webhook_pk)).data)

    @operation("webhook_change", takes=shapes.WebhookChange, answer=shapes.WebhookShape, right=Right.MANAGE, tags=TAGS)
    def patch(self, request: Request, pk: int, webhook_pk: int) -> Response:
        """Change where it is told, or of what; enable or disable it. What waited while it was disabled is sent then."""
        webhook, sent = self.webhook(pk, webhook_pk), dict(checked(shapes.WebhookChange, request))
        is_enabled, at = sent.pop("is_enabled", None), timezone.now()
        with transaction.atomic():
            if sent:
                kept: dict[str, Any] = {"url": webhook.url, "events": webhook.events}
                webhooks.webhook_change(webhook=webhook, **(kept | sent))
            if is_enabled:
                webhooks.webhook_enable(webhook=webhook, at=at)
            elif is_enabled is not None:
                webhooks.webhook_disable(webhook=webhook, at=at)
        webhook.refresh_from_db()
        return Response(shapes.WebhookShape(webhook).data)

    @operation("webhook_delete", status=204, right=Right.MANAGE, tags=TAGS)
    def delete(self, request: Request, pk: int, webhook_pk: int) -> Response:
        """Delete a webhook, with what it was told."""
        webhooks.webhook_delete(webhook=self.webhook(pk, webhook_pk))
        return Response(status=204)


class WebhookSecret(_OfWebhook):
    """The secret."""

    @operation("webhook_secret", answer=shapes.NewWebhookShape, right=Right.MANAGE, tags=TAGS)
    def post(self, request: Request, pk: int, webhook_pk: int) -> Response:
        """Make a new secret, which replaces the old one at once. The answer has it, this once."""
        webhook = self.webhook(pk, webhook_pk)
        return shown_once(webhook, webhooks.webhook_renew(webhook=webhook))


class WebhookTest(_OfWebhook):
    """Tests."""

    __test__ = False

    @operation("webhook_test", answer=shapes.DeliveryShape, status=202, right=Right.MANAGE, tags=TAGS)
    def post(self, request: Request, pk: int, webhook_pk: int) -> Response:
        """Have a test sent, even to a webhook that is disabled. It is in the list of deliveries."""
        delivery = webhooks.webhook_test(webhook=self.webhook(pk, webhook_pk), at=timezone.now())
        transaction.on_commit(soon(jobs.deliver))
        return Response(shapes.DeliveryShape(delivery).data, status=202)


class DeliveryFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By event."""

    event = CharFilter()


class Deliveries(_OfWebhook):
    """What a webhook was told."""

    pagination_class = Pages
    filterset_class = DeliveryFilter

    @operation("deliveries", answer=shapes.DeliveryShape(many=True), right=Right.MANAGE, tags=TAGS)
    def get(self, request: Request, pk: int, webhook_pk: int) -> Response:
        """What a webhook was told in the last thirty days, newest first, and what waits."""
        return self.page_of(self.webhook(pk, webhook_pk).deliveries.all(), shapes.DeliveryShape)


class Repeat(_OfWebhook):
    """Sending something again."""

    @operation("delivery_repeat", answer=shapes.DeliveryShape, status=202, right=Right.MANAGE, tags=TAGS)
    def post(self, request: Request, pk: int, webhook_pk: int, delivery_pk: int) -> Response:
        """Send something again, with the same id."""
        delivery = webhooks.delivery_in(self.webhook(pk, webhook_pk), delivery_pk)
        webhooks.delivery_repeat(delivery=delivery, at=timezone.now())
        transaction.on_commit(soon(jobs.deliver))
        return Response(shapes.DeliveryShape(delivery).data, status=202)
