"""The pages about a lab's webhooks."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from api import jobs, webhooks
from api.asking import soon
from api.models import Delivery, Event
from core.errors import NotYours
from core.forms import EditForm
from core.http import Request, edits, lab_of, refusals_in, see_other, status_of
from core.lists import Columns, ListFilter, Listing, choice_filter, render_lists
from core.roles import Right, needs

WEBHOOK_COLUMNS: Columns = {
    "webhook": "pk",
    "url": "url",
    "events": lambda webhook: " ".join(webhook.events),
    "added": "created_at",
    "failing_since": "failing_since",
    "disabled": "disabled_at",
    "why_disabled": "disabled_why",
}
DELIVERY_COLUMNS: Columns = {
    "message": "message",
    "event": "event",
    "happened": "made_at",
    "tries": "tries",
    "last_try": "tried_at",
    "next_try": "next_try_at",
    "taken": "delivered_at",
    "problem": "problem",
}


class WebhookForm(EditForm, forms.Form):
    """What is told of what."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        help_text=gettext_lazy("It starts with https:// and is on the public internet. Redirects are not followed."),
        widget=forms.URLInput,
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Send a message when"), choices=Event.choices, widget=forms.CheckboxSelectMultiple
    )


class DeliveryFilter(ListFilter):
    """By event."""

    event = choice_filter(gettext_lazy("Event"), Event.choices)

    class Meta:
        model = Delivery
        fields = ["event"]


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
@sensitive_variables("secret")
def webhooks_page(request: Request, pk: int) -> HttpResponseBase:
    """A lab's webhooks. POST adds one, and shows its secret this once."""
    lab, form, secret = lab_of(request, pk), WebhookForm(request.POST or None), ""
    if form.is_valid():
        with refusals_in(form):
            at = timezone.now()
            _webhook, secret = webhooks.webhook_create(lab=lab, by=request.user, at=at, **form.cleaned_data)
            form = WebhookForm()
    listing = Listing(request, webhooks.webhooks_of(lab), columns=WEBHOOK_COLUMNS)
    context = {"lab": lab, "form": form, "secret": secret, "listing": listing}
    return render_lists(request, "api/webhooks.html", context, status=201 if secret else status_of(form))


@needs(Right.MANAGE)
@require_http_methods(["GET", "POST"])
@edits
def webhook_page(request: Request, pk: int, webhook_pk: int) -> HttpResponseBase:
    """One webhook, and what it was told. POST changes its address and events."""
    return _show(request, pk, webhook_pk)


@sensitive_variables("secret")
def _show(request: Request, pk: int, webhook_pk: int, secret: str = "") -> HttpResponseBase:
    lab = lab_of(request, pk)
    webhook = webhooks.webhook_in(lab, webhook_pk)
    data = None if secret else request.POST or None
    form = WebhookForm(data, initial={"url": webhook.url, "events": webhook.events})
    if form.is_valid():
        with refusals_in(form):
            webhooks.webhook_change(webhook=webhook, **form.cleaned_data)
            messages.success(request, _("The webhook has been changed."))
            return see_other("api:webhook", pk, webhook_pk)
    rows = webhook.deliveries.order_by("-id")
    listing = Listing(request, rows, narrow=DeliveryFilter, columns=DELIVERY_COLUMNS)
    context = {"lab": lab, "webhook": webhook, "form": form, "secret": secret, "listing": listing}
    return render_lists(request, "api/webhook.html", context, status=status_of(form))


@needs(Right.MANAGE)
@require_POST
@sensitive_variables("secret")
def webhook_act(request: Request, pk: int, webhook_pk: int, action: str) -> HttpResponseBase:
    """Test, enable, disable, delete it, or make a new secret, which is shown this once."""
    webhook, at = webhooks.webhook_in(lab_of(request, pk), webhook_pk), timezone.now()
    if action == "secret":
        secret = webhooks.webhook_renew(webhook=webhook)
        return _show(request, pk, webhook_pk, secret)
    if action == "delete":
        webhooks.webhook_delete(webhook=webhook)
        messages.success(request, _("The webhook has been deleted."))
        return see_other("api:webhooks", pk)
    if action == "test":
        webhooks.webhook_test(webhook=webhook, at=at)
        soon(jobs.deliver)
        messages.success(request, _("A test is being sent. Load this page again to see what came of it."))
    elif action == "enable":
        webhooks.webhook_enable(webhook=webhook, at=at)
        messages.success(request, _("The webhook is enabled. What waited is sent now."))
    elif action == "disable":
        webhooks.webhook_disable(webhook=webhook, at=at)
        messages.success(request, _("The webhook is disabled: it is told nothing."))
    else:
        raise NotYours(_("There is no such page."))
    return see_other("api:webhook", pk, webhook_pk)


@needs(Right.MANAGE)
@require_POST
def delivery_repeat(request: Request, pk: int, webhook_pk: int, delivery_pk: int) -> HttpResponse:
    """Send something again."""
    webhook = webhooks.webhook_in(lab_of(request, pk), webhook_pk)
    webhooks.delivery_repeat(delivery=webhooks.delivery_in(webhook, delivery_pk), at=timezone.now())
    soon(jobs.deliver)
    messages.success(request, _("It is being sent again, with the same id."))
    return see_other("api:webhook", pk, webhook_pk)
