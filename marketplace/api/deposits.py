"""An extension beside the API, at `POST /extensions/request-deposit`: a requester asks the operator for money.

It books nothing. The operator grants it on the overview, or declines it.
"""

from decimal import Decimal, InvalidOperation
from typing import Any

from marketplace.api.extensions import extension
from marketplace.errors import InvalidValue
from marketplace.models import AccessKey
from marketplace.services.deposits import deposit_request
from marketplace.services.limits import REQUEST_FOR_DEPOSIT


@extension("RequestDeposit", REQUEST_FOR_DEPOSIT)
def request_deposit(key: AccessKey, body: Any) -> dict[str, Any]:
    """Answer `{"Amount": "20.12"}` to the `Amount` and the `Reason` in the body, once the operator has been asked."""
    fields = body if isinstance(body, dict) else {}
    amount, reason = fields.get("Amount"), fields.get("Reason")
    if not (isinstance(amount, str) and isinstance(reason, str)):
        raise InvalidValue("Amount is dollars as text, such as 20.12, and Reason says what for.")
    try:
        dollars = Decimal(amount)
        if not dollars.is_finite():
            raise InvalidOperation
    except InvalidOperation:
        raise InvalidValue("Amount is dollars as text, such as 20.12.") from None
    return {"Amount": f"{deposit_request(requester=key.requester, amount=dollars, reason=reason).amount:.2f}"}
