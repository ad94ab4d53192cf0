"""Disputes: what workers ask the operator about rejections."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from marketplace.errors import Refused
from marketplace.models import Account, AuditEvent, Dispute
from marketplace.operator.forms import DecisionForm
from marketplace.operator.pages import for_operator, show_operator_form, show_operator_page
from marketplace.pages import paginate, see_other
from marketplace.selectors.disputes import dispute_by_pk, disputes_all
from marketplace.services.accounts import audit_note
from marketplace.services.messages import dispute_close


@for_operator("GET")
def disputes(request: HttpRequest, _operator: Account) -> HttpResponse:
    """All disputes, those to decide first."""
    return show_operator_page(request, "disputes.html", {"page": paginate(request, disputes_all())})


@for_operator("GET", "POST")
def dispute(request: HttpRequest, operator: Account, dispute_pk: int) -> HttpResponse:
    """One dispute: what was said, and the decision, which is confirmed before it counts."""
    row = dispute_by_pk(dispute_pk)
    form = DecisionForm(request.POST or None)
    context = {"dispute": row, "assignment": row.assignment, "form": form}
    if not form.is_bound:
        return show_operator_page(request, "dispute.html", context)
    if not form.is_valid():
        return show_operator_page(request, "dispute.html", context, status=400)
    overturn = form.cleaned_data["decision"] == Dispute.State.OVERTURNED
    answer = form.cleaned_data["answer"]
    if "confirmed" not in request.POST:
        if overturn:
            heading, button = _("Approve after all?"), _("Approve and pay")
            text = _("The worker gets the reward, and reward and fee are taken from the requester's account now.")
        else:
            heading, button, text = _("Uphold the rejection?"), _("Uphold"), _("No money moves.")
        question = {
            "title": _("Decide this?"),
            "heading": heading,
            "assignment": row.assignment,
            "part": "marketplace/operator/parts.html#dispute",
            "about": [f"{text} {_('The decision is final, and the worker can read this:')}"],
            "written": answer,
            "hidden": [
                ("decision", form.cleaned_data["decision"]),
                ("answer", answer),
                ("confirmed", "yes"),
                ("typed_id", request.POST.get("typed_id", "")),
            ],
            "button": button,
            "back": (_("Go back"), reverse("operator:dispute", args=[dispute_pk])),
        }
        return show_operator_form(request, question)
    try:
        with transaction.atomic():
            dispute_close(dispute_pk=dispute_pk, overturn=overturn, answer=answer)
            audit_note(
                actor=operator,
                action=AuditEvent.Action.OVERTURN_REJECTION if overturn else AuditEvent.Action.UPHOLD_REJECTION,
                subject=row.assignment.assignment_id,
                answer=answer,
                amount=str(row.assignment.reward),
            )
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Your decision is saved, and the worker can read it."))
    return see_other("operator:dispute", dispute_pk)
