"""Webhooks of a lab, and what they were told."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.functional import cached_property
from django_filters.filterset import filterset_factory
from rest_framework.request import Request
from rest_framework.response import Response

from api import jobs, shapes, webhooks
from api.asking import soon
from api.frame import Resource, get, operation, post
from api.models import Delivery, Webhook
from core.roles import Right


class Webhooks(Resource):
    """The webhooks of a lab, and what they were told."""

    tags = ["Webhooks"]
    lookup_url_kwarg = "webhook_pk"

    @cached_property
    def webhook(self) -> Webhook:
        """The webhook, for what needs this operation's right."""
        return webhooks.webhook_in(self.lab, self.kwargs["webhook_pk"])

    def shown_once(self, webhook: Webhook, secret: str) -> Response:
        """The webhook with its secret, which is in no stored answer."""
        return self.answer_once(webhook, {"secret": None}, secret=secret)

    @operation(shapes.WebhookShape(many=True), Right.MANAGE, name="webhooks")
    def list(self, request: Request, pk: int) -> Any:
        """A lab's webhooks, newest first."""
        return webhooks.webhooks_of(self.lab)

    @operation(shapes.NewWebhookShape, Right.MANAGE, name="webhook_create", takes=shapes.NewWebhook)
    def create(self, request: Request, pk: int) -> Any:
        """Add a webhook. The answer has its secret, this once."""
        return self.shown_once(*webhooks.webhook_create(lab=self.lab, **self.signed, **self.sent))

    @operation(shapes.WebhookShape, Right.MANAGE, name="webhook")
    def retrieve(self, request: Request, pk: int, webhook_pk: int) -> Any:
        """One webhook."""
        return self.webhook

    @operation(shapes.WebhookShape, Right.MANAGE, name="webhook_change", takes=shapes.WebhookChange)
    def partial_update(self, request: Request, pk: int, webhook_pk: int) -> Any:
        """Change where it is told, or of what; enable or disable it. What waited while it was disabled is sent then."""
        webhook, sent = self.webhook, self.sent
        is_enabled, at = sent.pop("is_enabled", None), timezone.now()
        with transaction.atomic():
            if sent:
                stored: dict[str, Any] = {"url": webhook.url, "events": webhook.events}
                webhooks.webhook_change(webhook=webhook, **(stored | sent))
            if is_enabled:
                webhooks.webhook_enable(webhook=webhook, at=at)
            elif is_enabled is not None:
                webhooks.webhook_disable(webhook=webhook, at=at)
        webhook.refresh_from_db()
        return webhook

    @operation(right=Right.MANAGE, name="webhook_delete")
    def destroy(self, request: Request, pk: int, webhook_pk: int) -> Any:
        """Delete a webhook, with what it was told."""
        webhooks.webhook_delete(webhook=self.webhook)

    @post("secret", shapes.NewWebhookShape, Right.MANAGE)
    def webhook_secret(self, request: Request, pk: int, webhook_pk: int) -> Any:
        """Make a new secret, which replaces the old one at once. The answer has it, this once."""
        return self.shown_once(self.webhook, webhooks.webhook_renew(webhook=self.webhook))

    @post("test", shapes.DeliveryShape, Right.MANAGE, status=202)
    def webhook_test(self, request: Request, pk: int, webhook_pk: int) -> Any:
        """Have a test sent, even to a webhook that is disabled. It is in the list of deliveries."""
        delivery = webhooks.webhook_test(webhook=self.webhook, at=timezone.now())
        soon(jobs.deliver)
        return delivery

    @get(
        "deliveries",
        shapes.DeliveryShape(many=True),
        Right.MANAGE,
        filterset_class=filterset_factory(Delivery, fields=["event"]),
    )
    def deliveries(self, request: Request, pk: int, webhook_pk: int) -> Any:
        """What a webhook was told in the last thirty days, newest first, and what waits."""
        return self.webhook.deliveries.all()

    @post("deliveries/<int:delivery_pk>/repeat", shapes.DeliveryShape, Right.MANAGE, status=202)
    def delivery_repeat(self, request: Request, pk: int, webhook_pk: int, delivery_pk: int) -> Any:
        """Send something again, with the same id."""
        delivery = webhooks.delivery_in(self.webhook, delivery_pk)
        webhooks.delivery_repeat(delivery=delivery, at=timezone.now())
        soon(jobs.deliver)
        return delivery
