"""Orders of tests over HTTP: JSON in, JSON out, no keys."""

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from marketplace import clock
from marketplace.errors import InvalidValue, Refused
from marketplace.models import Requester, Worker
from marketplace.selectors.earnings import earnings_of
from marketplace.selectors.lookups import worker_of
from marketplace.selectors.messages import messages_of
from marketplace.selectors.tasks import hits_findable
from marketplace.services import accounts, assignments, keys, ledger, qualifications
from marketplace.services.delivery import Sender
from marketplace.services.due import catch_up, tick
from tests.marketplace.testing import faults
from tests.marketplace.testing.models import Clock


def _clock(body: dict[str, Any]) -> dict[str, Any]:
    """`{"advance": seconds}`, `{"set": "2026-01-31T12:00:00+00:00"}` or `{"reset": true}`; empty: only look."""
    with transaction.atomic():
        row, _ = Clock.objects.select_for_update(no_key=True).get_or_create(pk=1)
        if body.get("reset"):
            row.ahead = timedelta(0)
        if "advance" in body:
            row.ahead += timedelta(seconds=float(body["advance"]))
        if "set" in body:
            row.ahead = datetime.fromisoformat(body["set"]) - timezone.now()
        row.save()
    return {"now": clock.now().isoformat(), "ahead": row.ahead.total_seconds()}


def _faults(body: dict[str, Any]) -> dict[str, Any]:
    """`{"clear": true}`, `{"script": [...]}` and `{"storm": {...}}`, in this order. Says what was met."""
    if body.get("clear"):
        faults.clear()
    if "script" in body:
        faults.script(body["script"])
    if "storm" in body:
        faults.storm(**body["storm"])
    return {"met": faults.count_met()}


def _tick(_body: dict[str, Any]) -> dict[str, Any]:
    """What the clock's process does."""
    return {"done": tick()}


def _deliver(_body: dict[str, Any]) -> dict[str, Any]:
    """What the sender of notifications does, once."""
    delivered, failed = Sender().drain()
    return {"taken": delivered, "failed": failed}


def _requester(body: dict[str, Any]) -> dict[str, Any]:
    """A new requester with money and a key: `{"name": …, "deposit": "100.00"}`."""
    with transaction.atomic():
        requester = accounts.requester_create(name=body["name"])
        if Decimal(body.get("deposit", "0")):
            ledger.deposit_make(requester=requester, amount=Decimal(body["deposit"]))
        issued = keys.key_issue(requester=requester)
    return {"account_id": requester.account_id, "key_id": issued.key_id, "secret": issued.secret}


def _deposit(body: dict[str, Any]) -> dict[str, Any]:
    """`{"account_id": …, "amount": "100.00"}`."""
    requester = Requester.objects.get(account_id=body["account_id"])
    entry = ledger.deposit_make(requester=requester, amount=Decimal(body["amount"]))
    return {"available": str(entry.available_after)}


def _invitation(body: dict[str, Any]) -> dict[str, Any]:
    """A new invitation, of what the operator's form has: `{"email": …, "vouched_approved": 0 …}`."""
    return {"token": accounts.invitation_make(**body).token}


def _worker(body: dict[str, Any]) -> dict[str, Any]:
    """A new worker: `{"email": …, "country": "US", "vouched_approved": 0 …}`. The password is made up if not given."""
    invitation = accounts.invitation_make(
        vouched_approved=body.get("vouched_approved", 0), vouched_rejected=body.get("vouched_rejected", 0)
    )
    worker = accounts.worker_register(
        email=body["email"],
        password=body.get("password") or f"made up {invitation.token}",
        country=body.get("country", "US"),
        subdivision=body.get("subdivision", ""),
        adult_content=body.get("adult_content", False),
        invitation_token=invitation.token,
    )
    if body.get("is_master"):
        Worker.objects.filter(pk=worker.pk).update(is_master=True)
    return {"worker_id": worker.worker_id}


def _find(body: dict[str, Any]) -> dict[str, Any]:
    """The HITs that a worker could take, oldest first: `{"worker_id": …, "most": 100}`."""
    catch_up()
    rows = hits_findable(worker_of(body["worker_id"])).values_list("hit_id", flat=True)
    return {"hit_ids": list(rows[: int(body.get("most", 100))])}


def _accept(body: dict[str, Any]) -> dict[str, Any]:
    """`{"worker_id": …, "hit_id": …}`."""
    catch_up()
    assignment = assignments.assignment_accept(worker=worker_of(body["worker_id"]), hit_id=body["hit_id"])
    return {"assignment_id": assignment.assignment_id, "deadline": assignment.deadline.isoformat()}


def _accept_next(body: dict[str, Any]) -> dict[str, Any]:
    """`{"worker_id": …, "group_id": …}`: what the button *Accept* of the list does."""
    catch_up()
    worker = worker_of(body["worker_id"])
    assignment = assignments.assignment_accept_next(worker=worker, group_id=body["group_id"])
    return {"assignment_id": assignment.assignment_id, "hit_id": assignment.hit.hit_id}


def _return(body: dict[str, Any]) -> dict[str, Any]:
    """`{"worker_id": …, "assignment_id": …}`."""
    catch_up()
    row = assignments.assignment_return(worker=worker_of(body["worker_id"]), assignment_id=body["assignment_id"])
    return {"state": row.state}


def _request_qualification(body: dict[str, Any]) -> dict[str, Any]:
    """`{"worker_id": …, "qualification_type_id": …}`."""
    row = qualifications.qualification_request(
        worker=worker_of(body["worker_id"]), type_id=body["qualification_type_id"]
    )
    return {"request_id": row.request_id, "state": row.state}


def _look(body: dict[str, Any]) -> dict[str, Any]:
    """What a worker has: `{"worker_id": …}`."""
    catch_up()
    worker = worker_of(body["worker_id"])
    earnings = earnings_of(worker)
    messages = [{"subject": row.subject, "text": row.text} for row in messages_of(worker)]
    return {
        "earnings": {name: str(amount) for name, amount in earnings._asdict().items()} | {"owed": str(earnings.owed)},
        "messages": messages,
    }


_WORKERS = (_worker, _find, _accept, _accept_next, _return, _request_qualification, _look)
_OTHERS = (_clock, _faults, _tick, _deliver, _requester, _deposit, _invitation)
ACTIONS = {action.__name__.strip("_").replace("_", "-"): action for action in (*_WORKERS, *_OTHERS)}


@csrf_exempt
def order(request: HttpRequest, name: str) -> HttpResponse:
    """Do what a test orders."""
    try:
        body = json.loads(request.body or b"{}")
        if not isinstance(body, dict):
            raise InvalidValue("Send a JSON object.")
        return JsonResponse(ACTIONS[name](body))
    except Refused as refused:
        return JsonResponse({"error": str(refused), "code": refused.code}, status=400)
    except (ValueError, KeyError, TypeError) as error:
        return JsonResponse({"error": f"{type(error).__name__}: {error}"}, status=400)
