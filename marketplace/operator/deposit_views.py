"""What requesters ask for: granted or declined with one press on the overview."""

from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from marketplace.errors import InvalidValue
from marketplace.models import Account
from marketplace.operator.pages import for_operator
from marketplace.pages import see_other
from marketplace.services.deposits import deposit_request_decline, deposit_request_grant


@for_operator("POST")
def decide(request: HttpRequest, operator: Account, request_pk: int) -> HttpResponse:
    """Grant a requester the amount that was shown, or decline it. Once: pressed again, it is refused."""
    if request.POST.get("decision") == "decline":
        granted = deposit_request_decline(request_pk=request_pk, actor=operator)
        text = _("The request of %(name)s has been declined. Nothing was booked.")
        messages.success(request, text % {"name": granted.requester.name})
        return see_other("operator:home")
    try:
        amount = Decimal(request.POST.get("amount", ""))
    except InvalidOperation:
        raise InvalidValue("Grant a request with the button beside it.") from None
    granted = deposit_request_grant(request_pk=request_pk, amount=amount, actor=operator)
    text = _("$%(amount)s has been added to the account of %(name)s.")
    messages.success(request, text % {"amount": f"{granted.amount:,.2f}", "name": granted.requester.name})
    return see_other("operator:home")
