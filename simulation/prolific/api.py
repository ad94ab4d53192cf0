"""The paths of the API that the double answers, each with what it does."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from . import filters, hooks, messages, money, studies, submissions
from .errors import ApiError, bad, missing
from .store import Row, Store, iso, new_id

PAGE_SIZE = 20
MOST_BONUSES = 200  # lines of one batch
LEAST_TOLD = 25  # participants; of fewer, none is said
MOST_APPROVED = 1_000  # submissions of one call
ORDERS = {
    "started_at": "COALESCE(started_at, reserved_at)", "completed_at": "completed_at", "status": "status",
    "participant_id": "participant", "study_code": "entered_code",
}  # fmt: skip
WORDS = {  # query words of a list of submissions, and the states that each stands for
    "awaiting_review": {"AWAITING REVIEW"}, "approved": {"APPROVED"}, "active": {"ACTIVE"}, "timeout": {"TIMED-OUT"},
    "rejected": {"REJECTED"}, "returned": {"RETURNED"}, "screened_out": {"SCREENED OUT"},
    "completed": {"AWAITING REVIEW", "APPROVED", "REJECTED", "PARTIALLY APPROVED", "SCREENED OUT"},
}  # fmt: skip
STATES = (
    "ACTIVE", "APPROVED", "AWAITING REVIEW", "REJECTED", "RESERVED", "RETURNED", "TIMED-OUT", "PARTIALLY APPROVED",
    "SCREENED OUT",
)  # fmt: skip


class Call(NamedTuple):
    """One request: the store, what the path names, the query, and the body."""

    store: Store
    url: str  # of the server, as its links begin
    path: str
    names: dict[str, str]
    query: dict[str, str]
    body: Any


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str] = {}


Operation = Callable[[Call], Answer]
OPERATIONS: list[tuple[str, re.Pattern[str], Operation]] = []


def operation(method: str, path: str) -> Callable[[Operation], Operation]:
    """What a method does at a path, with {names} of its parts."""
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))

    def keep(function: Operation) -> Operation:
        OPERATIONS.append((method, pattern, function))
        return function

    return keep


def find(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """The operation of a request, and what its path names. Refuses what the double does not know."""
    others = []
    for verb, pattern, function in OPERATIONS:
        match = pattern.fullmatch(path)
        if match and verb == method:
            return function, match.groupdict()
        others += [verb] if match else []
    if others:
        raise ApiError(405, "Method not allowed", f"{method} is not available at {path}.")
    raise ApiError(404, "Not found", f"There is nothing at {path}.")


@operation("GET", "/api/v1/users/me/")
def _me(call: Call) -> Answer:
    return Answer(200, {"id": call.store.setting("user"), "email": "lab@example.org"})


@operation("POST", "/api/v1/researchers/participants/")
def _test_participant(call: Call) -> Answer:
    _needs(call.store, "test participants")
    if call.store.number("SELECT COUNT(*) FROM participant WHERE name = ?", call.body["email"]):
        raise bad({"email": ["This address is registered already."]})
    participant = new_id()
    call.store.insert("participant", id=participant, name=call.body["email"], attributes="{}", is_test=1)
    return Answer(201, {"participant_id": participant})


@operation("GET", "/api/v1/workspaces/")
def _workspaces(call: Call) -> Answer:
    return _page(call, [_workspace_shown(call.store)])


@operation("GET", "/api/v1/workspaces/{id}/")
def _workspace(call: Call) -> Answer:
    _check_workspace(call.store, call.names["id"])
    project = {"id": call.store.setting("project"), "title": "Default project", "type": "PRIVATE"}
    return Answer(
        200, _workspace_shown(call.store) | {"projects": [project], "wallet": call.store.setting("workspace")}
    )


@operation("GET", "/api/v1/workspaces/{id}/balance/")
def _balance(call: Call) -> Answer:
    _check_workspace(call.store, call.names["id"])
    return Answer(200, money.balance(call.store))


@operation("GET", "/api/v1/workspaces/{id}/projects/")
def _projects(call: Call) -> Answer:
    _check_workspace(call.store, call.names["id"])
    return _page(call, [{"id": call.store.setting("project"), "title": "Default project", "type": "PRIVATE"}])


@operation("POST", "/api/v1/study-cost-calculator/")
def _calculate(call: Call) -> Answer:
    reward, places = int(call.body["reward"]), int(call.body["total_available_places"])
    if reward < 1 or places < 1:
        raise bad("reward and total_available_places must be at least 1.")
    return Answer(200, {"total_cost": money.price(call.store, reward).total * places})


@operation("GET", "/api/v1/studies/")
def _studies(call: Call) -> Answer:
    rows = call.store.all("SELECT * FROM study ORDER BY created_at DESC")
    states = set(call.query.get("state", "").strip("()").upper().split("|")) - {""}
    return _page(call, [studies.shown_short(call.store, row) for row in rows if not states or row["status"] in states])


@operation("GET", "/api/v1/projects/{id}/studies/")
def _studies_of_project(call: Call) -> Answer:
    if call.names["id"] != call.store.setting("project"):
        raise missing(f"The project {call.names['id']}")
    return _studies(call)


@operation("POST", "/api/v1/studies/")
def _study_create(call: Call) -> Answer:
    return Answer(201, studies.shown(studies.study_create(call.store, call.body)))


@operation("GET", "/api/v1/studies/{id}/")
def _study(call: Call) -> Answer:
    return Answer(200, studies.shown(_study_of(call)))


@operation("PATCH", "/api/v1/studies/{id}/")
def _study_update(call: Call) -> Answer:
    return Answer(200, studies.shown(studies.study_update(call.store, _study_of(call), call.body)))


@operation("DELETE", "/api/v1/studies/{id}/")
def _study_delete(call: Call) -> Answer:
    studies.study_delete(call.store, _study_of(call))
    return Answer(200, {})


@operation("POST", "/api/v1/studies/{id}/transition/")
def _study_transition(call: Call) -> Answer:
    moved = studies.study_transition(call.store, _study_of(call), call.body["action"], call.body.get("publish_at"))
    return Answer(200, studies.shown(moved))


@operation("POST", "/api/v1/studies/{id}/test-study")
def _study_test(call: Call) -> Answer:
    _needs(call.store, "test participants")
    copy = studies.study_test(call.store, _study_of(call))
    return Answer(200, {"study_id": copy["id"], "study_url": f"{call.url}/studies/{copy['id']}"})


@operation("GET", "/api/v1/studies/{id}/cost/")
def _cost(call: Call) -> Answer:
    return Answer(200, money.cost_of_study(call.store, _study_of(call), call.query.get("is_projected") == "true"))


@operation("GET", "/api/v1/studies/{id}/submissions/")
def _study_submissions(call: Call) -> Answer:
    return _submissions_page(call, _study_of(call))


@operation("GET", "/api/v1/studies/{id}/submissions/counts/")
def _counts(call: Call) -> Answer:
    study = _study_of(call)
    query = "SELECT status, COUNT(*) AS number FROM submission WHERE study = ? GROUP BY status"
    counts = dict.fromkeys(STATES, 0) | {row["status"]: row["number"] for row in call.store.all(query, study["id"])}
    return Answer(200, counts | {"TOTAL": sum(counts.values())})


@operation("GET", "/api/v1/filters/")
def _filters(call: Call) -> Answer:
    return Answer(200, filters.offered(call.store))


@operation("POST", "/api/v1/eligibility-count/")
def _eligible(call: Call) -> Answer:
    chosen = call.body["filters"]
    filters.check(call.store, chosen)
    count = sum(filters.meets(call.store, person, chosen) for person in call.store.all("SELECT * FROM participant"))
    return Answer(200, {"count": count if count >= LEAST_TOLD else 0})


@operation("GET", "/api/v1/submissions/")
def _submissions(call: Call) -> Answer:
    return _submissions_page(call, studies.study_get(call.store, call.query["study"]))


@operation("POST", "/api/v1/submissions/bulk-approve/")
def _approve_many(call: Call) -> Answer:
    if "submission_ids" in call.body:
        rows = [submissions.submission_get(call.store, submission) for submission in call.body["submission_ids"]]
    else:
        query = "SELECT * FROM submission WHERE study = ? AND participant = ?"
        rows = [
            row for participant in call.body["participant_ids"]
            for row in call.store.all(query, call.body["study_id"], participant)
        ]  # fmt: skip
    if len(rows) > MOST_APPROVED:
        raise bad(f"{len(rows)} submissions; at most {MOST_APPROVED} are taken at once.")
    submissions.submissions_approve(call.store, rows)
    return Answer(200, "The request to bulk approve has been made successfully.")


@operation("POST", "/api/v1/submissions/bonus-payments/")
def _bonuses(call: Call) -> Answer:
    study = studies.study_get(call.store, call.body.get("study_id", ""))
    lines = [line for line in csv.reader(io.StringIO(call.body.get("csv_bonuses", ""))) if line]
    if not 1 <= len(lines) <= MOST_BONUSES:
        raise bad({"csv_bonuses": [f"{len(lines)} lines; 1 to {MOST_BONUSES} are taken at once."]})
    paid, wrong = [], []
    for line in lines:
        submission = _paid_one(call.store, study, line[0])
        cents = _cents(line[1]) if len(line) == 2 else None
        if submission is None:
            wrong.append(f"{line[0]} did not take part in the study.")
        elif cents is None:
            wrong.append(f"{','.join(line)}: the amount must be a positive decimal with at most two places.")
        else:
            paid.append((submission["id"], money.price(call.store, cents)))
    if wrong:
        raise bad(wrong)
    sums = [sum(getattr(cost, name) for _id, cost in paid) for name in ("amount", "fee", "vat")]
    batch = new_id()
    call.store.insert("batch", id=batch, study=study["id"], amount=sums[0], fees=sums[1], vat=sums[2])
    for submission_id, cost in paid:
        call.store.insert("batch_line", batch=batch, submission=submission_id, amount=cost.amount)
    answer = {"id": batch, "study": study["id"], "amount": sums[0], "fees": sums[1], "vat": sums[2]}
    return Answer(201, answer | {"total_amount": sum(sums)})


@operation("POST", "/api/v1/bulk-bonus-payments/{id}/pay/")
def _pay_bonuses(call: Call) -> Answer:
    batch = call.store.one("SELECT * FROM batch WHERE id = ?", call.names["id"])
    if batch is None:
        raise missing(f"The bulk bonus payment {call.names['id']}")
    if batch["amount"] + batch["fees"] + batch["vat"] > money.available(call.store):
        raise bad("Not enough funds for this bonus payment.")
    due = call.store.now() + float(call.store.setting("bonus_seconds"))
    call.store.insert("payment", batch=batch["id"], due_at=due)  # sent twice, it is here twice, as at Prolific
    return Answer(202, "The bonuses will be paid.")


@operation("GET", "/api/v1/submissions/{id}/")
def _submission(call: Call) -> Answer:
    return Answer(200, submissions.shown(call.store, _submission_of(call)))


@operation("POST", "/api/v1/submissions/{id}/transition/")
def _transition(call: Call) -> Answer:
    submission, body = _submission_of(call), call.body
    if body["action"] == "APPROVE":
        moved = submissions.submission_approve(call.store, submission)
    elif body["action"] == "REJECT":
        message, category = body.get("message", ""), body.get("rejection_category", "")
        moved = submissions.submission_reject(call.store, submission, message, category)
    elif body["action"] == "COMPLETE":
        code, data = body.get("completion_code", ""), body.get("completion_code_data")
        moved = submissions.submission_end(call.store, submission, code, data)
    else:
        raise bad({"action": [f"{body['action']} is not available to researchers."]})
    return Answer(200, submissions.shown_after(moved))


@operation("POST", "/api/v1/submissions/{id}/request-return/")
def _ask_return(call: Call) -> Answer:
    submission = submissions.submission_ask_return(
        call.store, _submission_of(call), call.body["request_return_reasons"]
    )
    return Answer(200, {
        "id": submission["id"], "status": submission["status"], "participant": submission["participant"],
        "return_requested": iso(submission["return_requested"]),
    })  # fmt: skip


@operation("GET", "/api/v1/messages/")
def _messages(call: Call) -> Answer:
    return Answer(200, {"results": messages.messages_of(call.store, call.query)})


@operation("POST", "/api/v1/messages/")
def _message_send(call: Call) -> Answer:
    return _sent(call, [call.body["recipient_id"]])


@operation("POST", "/api/v1/messages/bulk/")
def _message_send_many(call: Call) -> Answer:
    return _sent(call, call.body["ids"])


def _sent(call: Call, recipients: list[str]) -> Answer:
    study = studies.study_get(call.store, call.body["study_id"])["id"]
    messages.participants_check(call.store, recipients)
    messages.message_send(call.store, call.store.setting("user"), recipients, call.body["body"], study)
    return Answer(204, None)


@operation("GET", "/api/v1/participant-groups/")
def _groups(call: Call) -> Answer:
    workspace = call.query.get("workspace_id")
    if workspace is None and "project_id" not in call.query:
        raise bad({"filter": ["workspace_id or project_id is required."]})
    if workspace is not None:
        _check_workspace(call.store, workspace)
    deleted = int(call.query.get("active", "true") == "false")
    rows = call.store.all("SELECT * FROM participant_group WHERE is_deleted = ? ORDER BY name", deleted)
    return _page(call, [_group_shown(call.store, row) for row in rows])


@operation("POST", "/api/v1/participant-groups/")
def _group_create(call: Call) -> Answer:
    if "organisation_id" not in call.body:
        _check_workspace(call.store, call.body.get("workspace_id", ""))
    group = new_id()
    call.store.insert("participant_group", id=group, name=call.body["name"], description=call.body.get("description"))
    _join(call.store, group, call.body.get("participant_ids", []))
    return Answer(201, _group_shown(call.store, _group_get(call.store, group)))


@operation("GET", "/api/v1/participant-groups/{id}/")
def _group(call: Call) -> Answer:
    return Answer(200, _group_shown(call.store, _group_get(call.store, call.names["id"])))


@operation("PATCH", "/api/v1/participant-groups/{id}/")
def _group_update(call: Call) -> Answer:
    group = _group_get(call.store, call.names["id"])
    name = call.body.get("name", group["name"])
    call.store.do("UPDATE participant_group SET name = ? WHERE id = ?", name, group["id"])
    if "participant_ids" in call.body:
        call.store.do("DELETE FROM membership WHERE participant_group = ?", group["id"])
        _join(call.store, group["id"], call.body["participant_ids"])
    return Answer(200, _group_shown(call.store, _group_get(call.store, group["id"])))


@operation("DELETE", "/api/v1/participant-groups/{id}/")
def _group_delete(call: Call) -> Answer:
    group = _group_get(call.store, call.names["id"])
    call.store.do("UPDATE participant_group SET is_deleted = 1 WHERE id = ?", group["id"])
    return Answer(204, None)


@operation("GET", "/api/v1/participant-groups/{id}/participants/")
def _members(call: Call) -> Answer:
    group = _group_get(call.store, call.names["id"])
    return _page(call, _members_shown(call.store, group))


@operation("POST", "/api/v1/participant-groups/{id}/participants/")
def _members_add(call: Call) -> Answer:
    group = _group_get(call.store, call.names["id"])
    _join(call.store, group["id"], call.body.get("participant_ids", []))
    return Answer(200, {"results": _members_shown(call.store, group)})


@operation("DELETE", "/api/v1/participant-groups/{id}/participants/")
def _members_remove(call: Call) -> Answer:
    group = _group_get(call.store, call.names["id"])
    for participant in call.body.get("participant_ids", []):
        call.store.do(
            "DELETE FROM membership WHERE participant_group = ? AND participant = ?", group["id"], participant
        )
    return Answer(200, {"results": _members_shown(call.store, group)})


@operation("GET", "/api/v1/hooks/event-types/")
def _event_types(_call: Call) -> Answer:
    return Answer(
        200, {"results": [{"event_type": name, "description": text} for name, text in hooks.EVENT_TYPES.items()]}
    )


@operation("GET", "/api/v1/hooks/secrets/")
def _secrets(call: Call) -> Answer:
    _check_workspace(call.store, call.query["workspace_id"])
    return Answer(200, {"results": hooks.secrets_shown(call.store)})


@operation("POST", "/api/v1/hooks/secrets/")
def _secret_create(call: Call) -> Answer:
    _check_workspace(call.store, call.body.get("workspace_id", ""))
    return Answer(201, hooks.secret_replace(call.store))


@operation("GET", "/api/v1/hooks/subscriptions/")
def _subscriptions(call: Call) -> Answer:
    enabled = int(call.query.get("is_enabled", "true") == "true")
    rows = call.store.all("SELECT * FROM subscription WHERE is_enabled = ?", enabled)
    return Answer(200, {"results": [hooks.subscription_shown(call.store, row) for row in rows]})


@operation("POST", "/api/v1/hooks/subscriptions/")
def _subscribe(call: Call) -> Answer:
    subscription = hooks.subscription_create(call.store, call.body)
    return Answer(
        201,
        {"results": [hooks.subscription_shown(call.store, subscription)]},
        {"X-Hook-Secret": subscription["secret"]},
    )


@operation("GET", "/api/v1/hooks/subscriptions/{id}/")
def _subscription(call: Call) -> Answer:
    return Answer(200, hooks.subscription_shown(call.store, _subscription_of(call)))


@operation("POST", "/api/v1/hooks/subscriptions/{id}/")
def _subscription_confirm(call: Call) -> Answer:
    confirmed = hooks.subscription_confirm(call.store, _subscription_of(call), call.body["secret"])
    return Answer(200, hooks.subscription_shown(call.store, confirmed))


@operation("PATCH", "/api/v1/hooks/subscriptions/{id}/")
def _subscription_update(call: Call) -> Answer:
    changed = hooks.subscription_update(call.store, _subscription_of(call), call.body)
    return Answer(200, hooks.subscription_shown(call.store, changed))


@operation("DELETE", "/api/v1/hooks/subscriptions/{id}/")
def _subscription_delete(call: Call) -> Answer:
    call.store.do("DELETE FROM subscription WHERE id = ?", _subscription_of(call)["id"])
    return Answer(204, None)


@operation("GET", "/api/v1/hooks/subscriptions/{id}/events/")
def _events(call: Call) -> Answer:
    return Answer(200, {"results": hooks.events_shown(call.store, _subscription_of(call), call.query)})


@operation("GET", "/.well-known/study/jwks.json")
def _keys(call: Call) -> Answer:
    return Answer(200, {"keys": [submissions.public_key(call.store)]})


def _study_of(call: Call) -> Row:
    return studies.study_get(call.store, call.names["id"])


def _submission_of(call: Call) -> Row:
    return submissions.submission_get(call.store, call.names["id"])


def _subscription_of(call: Call) -> Row:
    return hooks.subscription_get(call.store, call.names["id"])


def _submissions_page(call: Call, study: Row) -> Answer:
    order = call.query.get("ordering", "started_at")
    column = ORDERS.get(order.lstrip("-"), "number")
    rows = call.store.all(f"SELECT * FROM submission WHERE study = ? ORDER BY {column}, number", study["id"])
    if order.startswith("-"):
        rows.reverse()
    status = call.query.get("status", "").upper().replace("_", " ")
    if status:
        rows = [row for row in rows if row["status"] == status]
    for word, states in WORDS.items():
        if word in call.query:
            is_among = call.query[word].lower() in ("1", "true", "yes", "t")
            rows = [row for row in rows if (row["status"] in states) == is_among]
    return _page(call, rows, lambda row: submissions.shown_in_list(call.store, row))


def _page(call: Call, rows: Sequence[Any], shape: Callable[[Any], dict[str, Any]] = dict) -> Answer:
    """One page of a list, each row as it is `shown`. A page past the end is not there."""
    try:
        page, size = int(call.query.get("page", 1)), int(call.query.get("page_size", PAGE_SIZE))
    except ValueError as error:
        raise bad("page and page_size must be whole numbers.") from error
    most = int(call.store.setting("most_rows"))
    if size > most and call.store.setting("refuses_more"):
        raise bad({"page_size": [f"At most {most} are given at once."]})
    size = min(size, most)
    last = max(1, -(-len(rows) // max(1, size)))
    if not (size >= 1 and 1 <= page <= last):
        raise ApiError(404, "Not found", "Invalid page.")

    def link(number: int) -> dict[str, Any]:
        words = "&".join(f"{name}={value}" for name, value in {**call.query, "page": str(number)}.items())
        return {"href": f"{call.url}{call.path}?{words}" if 1 <= number <= last else None}

    links = {
        "self": link(page),
        "first": link(1),
        "last": link(last),
        "next": link(page + 1),
        "previous": link(page - 1),
    }
    return Answer(
        200,
        {
            "results": [shape(row) for row in rows[(page - 1) * size : page * size]],
            "_links": links,
            "meta": {"count": len(rows)},
        },
    )


def _paid_one(store: Store, study: Row, identifier: str) -> Row | None:
    """The submission that a line of bonuses means: by its own id, or the newest of a participant."""
    query = "SELECT * FROM submission WHERE study = ? AND ? IN (id, participant) ORDER BY number DESC"
    return store.one(query, study["id"], identifier.strip())


def _cents(text: str) -> int | None:
    try:
        cents = Decimal(text.strip()) * 100
    except InvalidOperation:
        return None
    return int(cents) if cents.is_finite() and cents > 0 and cents == int(cents) else None


def _workspace_shown(store: Store) -> dict[str, Any]:
    return {
        "id": store.setting("workspace"), "title": "Double of a workspace", "owner": store.setting("user"),
        "users": [{"id": store.setting("user"), "email": "lab@example.org", "roles": ["WORKSPACE_ADMIN"]}],
    }  # fmt: skip


def _check_workspace(store: Store, workspace: str) -> None:
    if workspace != store.setting("workspace"):
        raise missing(f"The workspace {workspace}")


def _needs(store: Store, feature: str) -> None:
    if not store.has_feature(feature):
        raise ApiError(403, "Forbidden", "This feature is not enabled for your workspace.")


def _group_get(store: Store, group: str) -> Row:
    row = store.one("SELECT * FROM participant_group WHERE id = ? AND is_deleted = 0", group)
    if row is None:
        raise missing(f"The participant group {group}")
    return row


def _group_shown(store: Store, group: Row) -> dict[str, Any]:
    feeders = []
    for study in store.all("SELECT * FROM study"):
        body = json.loads(study["body"])
        codes = [
            {"code": code["code"], "code_type": code["code_type"], "action": action["action"]}
            for code in body["completion_codes"]
            for action in code["actions"]
            if action.get("participant_group") == group["id"]
        ]
        if codes:
            named = {"id": study["id"], "name": body["name"], "status": study["status"]}
            feeders.append(named | {"feeder_completion_codes": codes})
    return {
        "id": group["id"], "name": group["name"], "project_id": None, "workspace_id": store.setting("workspace"),
        "organisation_id": None, "description": group["description"], "is_deleted": bool(group["is_deleted"]),
        "participant_count": len(_members_shown(store, group)), "feeder_studies": feeders,
    }  # fmt: skip


def _members_shown(store: Store, group: Row) -> list[dict[str, Any]]:
    rows = store.all("SELECT * FROM membership WHERE participant_group = ? ORDER BY created_at", group["id"])
    return [{"participant_id": row["participant"], "datetime_created": iso(row["created_at"])} for row in rows]


def _join(store: Store, group: str, participants: list[str]) -> None:
    unknown = [
        participant for participant in participants
        if not store.number("SELECT COUNT(*) FROM participant WHERE id = ?", participant)
    ]  # fmt: skip
    if unknown:
        raise bad({"participant_ids": [f"{participant} does not exist." for participant in unknown]})
    for participant in participants:
        store.do("INSERT OR IGNORE INTO membership VALUES (?, ?, ?)", group, participant, store.now())
