"""Studies: what may be in one, how it moves from draft to completed, and when time or places move it."""

import json
import math
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from . import filters, hooks, money
from .errors import bad, missing
from .store import Row, Store, iso, new_id

AFTER_PUBLISHING = ("internal_name", "total_available_places", "submissions_config", "completion_codes")
MOVES = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("UNPUBLISHED", "SCHEDULE_PUBLISH"): "SCHEDULED",
    ("SCHEDULED", "CANCEL_PUBLISH"): "UNPUBLISHED",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}
FIELDS: dict[str, Any] = {
    "internal_name": None, "device_compatibility": [], "peripheral_requirements": [], "filters": [], "metadata": None,
    "completion_codes": [], "is_external_study_url_secure": False,
}  # fmt: skip


def study_get(store: Store, study_id: str) -> Row:
    study = store.one("SELECT * FROM study WHERE id = ?", study_id)
    if study is None:
        raise missing(f"The study {study_id}")
    return study


def body_of(study: Row) -> dict[str, Any]:
    """A study's fields."""
    fields: dict[str, Any] = json.loads(study["body"])
    return fields


def shown(study: Row) -> dict[str, Any]:
    """A study as the API shows it alone."""
    body = body_of(study)
    return body | {"id": study["id"], "status": study["status"], "is_ready_to_publish": bool(body["completion_codes"])}


def shown_short(store: Store, study: Row) -> dict[str, Any]:
    """A study as the API shows it in a list."""
    body = body_of(study)
    cost = money.price(store, int(body["reward"])).total * int(body["total_available_places"])
    everyone = store.number("SELECT COUNT(*) FROM submission WHERE study = ?", study["id"])
    names = ("name", "internal_name", "estimated_completion_time", "total_available_places", "reward")
    return {name: body[name] for name in names} | {
        "id": study["id"], "status": study["status"], "study_type": "SINGLE",
        "places_taken": money.places_taken(store, study["id"]), "number_of_submissions": everyone, "total_cost": cost,
        "published_at": iso(study["published_at"]), "publish_at": iso(study["publish_at"]),
        "date_created": iso(study["created_at"]), "is_ready_to_publish": bool(body["completion_codes"]),
    }  # fmt: skip


def study_create(store: Store, body: dict[str, Any]) -> Row:
    """Make a draft."""
    time = body["estimated_completion_time"]
    fields = FIELDS | {
        "maximum_allowed_time": 2 * shortest_allowed(time), "project": store.setting("project"),
        "submissions_config": {}, **body,
    }  # fmt: skip
    _check(store, fields)
    study_id = new_id()
    store.insert("study", id=study_id, body=json.dumps(fields), status="UNPUBLISHED", created_at=store.now())
    return study_get(store, study_id)


def study_update(store: Store, study: Row, changes: dict[str, Any]) -> Row:
    """Change a draft, or of a published study what may still be changed."""
    before = body_of(study)
    fields = before | changes
    if study["status"] not in ("UNPUBLISHED", "SCHEDULED"):
        for name, value in changes.items():
            if name not in AFTER_PUBLISHING and value != before.get(name):
                raise bad({name: ["This field cannot be changed once the study is published."]})
        more = int(fields["total_available_places"]) - int(before["total_available_places"])
        if more < 0:
            raise bad({"total_available_places": ["The places of a published study can only be increased."]})
        if more > 0:
            _afford(store, more * money.price(store, int(fields["reward"])).total)
    _check(store, fields)
    store.do("UPDATE study SET body = ? WHERE id = ?", json.dumps(fields), study["id"])
    if study["status"] == "COMPLETED" and fields["total_available_places"] > before["total_available_places"]:
        store.do("UPDATE study SET is_stopped = 0 WHERE id = ?", study["id"])
    study_settle(store, study["id"])
    return study_get(store, study["id"])


def study_delete(store: Store, study: Row) -> None:
    if study["status"] != "UNPUBLISHED":
        raise bad("Only draft studies can be deleted.")
    store.do("DELETE FROM study WHERE id = ?", study["id"])


def study_transition(store: Store, study: Row, action: str, publish_at: str | None = None) -> Row:
    """Move a study from one state to the next. Publishing holds its whole cost."""
    after = MOVES.get((study["status"], action))
    if after is None:
        raise bad(f"The action {action} is not available for a study that is {study['status']}.")
    if action in ("PUBLISH", "SCHEDULE_PUBLISH"):
        body = body_of(study)
        if not body["completion_codes"]:
            raise bad({"completion_codes": ["A study needs a completion code before it is published."]})
        if not study["is_test"]:
            _afford(store, money.price(store, int(body["reward"])).total * int(body["total_available_places"]))
    if action == "SCHEDULE_PUBLISH":
        at = datetime.fromisoformat(publish_at).timestamp() if publish_at else study["publish_at"]
        if at is None or at <= store.now():
            raise bad({"publish_at": ["A time in the future is needed."]})
        store.do("UPDATE study SET publish_at = ? WHERE id = ?", at, study["id"])
    if action == "PUBLISH":
        return study_publish(store, study)
    if action == "STOP":
        store.do("UPDATE study SET is_stopped = 1 WHERE id = ?", study["id"])
    study_move(store, study["id"], after)
    if action == "START":
        study_settle(store, study["id"])
    return study_get(store, study["id"])


def study_publish(store: Store, study: Row) -> Row:
    """Publish a draft: at once, or after a while of PUBLISHING."""
    wait = float(store.setting("publishing_seconds"))
    now = store.now()
    store.do("UPDATE study SET published_at = ?, active_at = ? WHERE id = ?", now, now + wait, study["id"])
    study_move(store, study["id"], "PUBLISHING" if wait else "ACTIVE")
    return study_get(store, study["id"])


def study_move(store: Store, study_id: str, status: str) -> None:
    """Set a study's state and tell subscribers."""
    if store.do("UPDATE study SET status = ? WHERE id = ? AND status <> ?", status, study_id, status):
        metadata = body_of(study_get(store, study_id))["metadata"]
        hooks.emit(store, "study.status.change", study_id, metadata=metadata, status=status)


def study_settle(store: Store, study_id: str) -> None:
    """Move a study as its places do: filled and being reviewed, done, or open again."""
    study = study_get(store, study_id)
    if study["status"] not in ("ACTIVE", "AWAITING REVIEW", "COMPLETED") or study["is_stopped"]:
        return
    free = int(body_of(study)["total_available_places"]) - money.places_taken(store, study_id)
    states = {row["status"] for row in store.all("SELECT DISTINCT status FROM submission WHERE study = ?", study_id)}
    if free > 0 or states & {"RESERVED", "ACTIVE"}:
        study_move(store, study_id, "ACTIVE")
    elif "AWAITING REVIEW" in states:
        study_move(store, study_id, "AWAITING REVIEW")
    else:
        study_move(store, study_id, "COMPLETED")


def shortest_allowed(minutes: float) -> int:
    """The least maximum_allowed_time of a study, in whole minutes."""
    return math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))


def study_test(store: Store, study: Row) -> Row:
    """A copy of a draft that only test participants see, and that costs nothing."""
    if study["status"] != "UNPUBLISHED":
        raise bad("Only a draft can be tested.")
    if not store.number("SELECT COUNT(*) FROM participant WHERE is_test = 1"):
        raise bad("There is no test participant in this workspace.")
    copy_id = new_id()
    store.insert("study", id=copy_id, body=study["body"], status="UNPUBLISHED", created_at=store.now(), is_test=1)
    return study_transition(store, study_get(store, copy_id), "PUBLISH")


def studies_tick(store: Store) -> None:
    """Publish what was scheduled, and end the time of PUBLISHING."""
    now = store.now()
    for study in store.all("SELECT * FROM study WHERE status = 'SCHEDULED' AND publish_at <= ?", now):
        study_publish(store, study)
    for study in store.all("SELECT * FROM study WHERE status = 'PUBLISHING' AND active_at <= ?", now):
        study_move(store, study["id"], "ACTIVE")


def _afford(store: Store, cents: int) -> None:
    free = money.available(store)
    if cents > free:
        currency = store.setting("currency")
        raise bad(
            f"Not enough funds: {cents / 100:.2f} {currency} is needed, {free / 100:.2f} {currency} is available."
        )


def _check(store: Store, body: dict[str, Any]) -> None:
    for name in ("reward", "total_available_places"):
        if body[name] != int(body[name]) or body[name] < 1:
            raise bad({name: [f"{body[name]} is not a positive whole number."]})
    if body["estimated_completion_time"] <= 0:
        raise bad({"estimated_completion_time": ["It must be more than 0 minutes."]})
    shortest = shortest_allowed(body["estimated_completion_time"])
    if body["maximum_allowed_time"] < shortest:
        raise bad({"maximum_allowed_time": [f"It must be at least {shortest} minutes."]})
    if urlsplit(body["external_study_url"]).scheme not in ("http", "https"):
        raise bad({"external_study_url": ["It must be an http or https address."]})
    if body["is_external_study_url_secure"] and not store.has_feature("secure url"):
        raise bad({"is_external_study_url_secure": ["This is not available in your workspace."]})
    if body["project"] != store.setting("project"):
        raise bad({"project": [f"The project {body['project']} does not exist."]})
    most = (body["submissions_config"] or {}).get("max_submissions_per_participant", 1)
    if most is not None and most != -1 and most < 1:
        raise bad({"submissions_config": ["max_submissions_per_participant must be -1, or at least 1."]})
    _check_codes(store, body)
    filters.check(store, body["filters"])


def _check_codes(store: Store, body: dict[str, Any]) -> None:
    codes = body["completion_codes"]
    if len({code["code"] for code in codes}) < len(codes):
        raise bad({"completion_codes": ["Each code must be unique within the study."]})
    for code in codes:
        actions = {action["action"]: action for action in code["actions"]}
        actor = code.get("actor", "participant")
        if code["code"] is None and (actions or actor != "participant" or len(codes) > 1):
            raise bad({"completion_codes": ["A code that is null must be the only one, without actions."]})
        if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= set(actions):
            raise bad({"completion_codes": ["AUTOMATICALLY_APPROVE and MANUALLY_REVIEW cannot be used together."]})
        if "DYNAMIC_PAYMENT" in actions:
            if not store.has_feature("dynamic payment"):
                raise bad({"completion_codes": ["DYNAMIC_PAYMENT is not available in your workspace."]})
            if actor != "researcher":
                raise bad({"completion_codes": ["The actor of DYNAMIC_PAYMENT must be researcher."]})
        if "FIXED_SCREEN_OUT_PAYMENT" in actions:
            if not store.has_feature("fixed screen-out"):
                raise bad({"completion_codes": ["FIXED_SCREEN_OUT_PAYMENT is not available in your workspace."]})
            if actions["FIXED_SCREEN_OUT_PAYMENT"]["fixed_screen_out_reward"] >= body["reward"]:
                raise bad({"completion_codes": ["fixed_screen_out_reward must be less than the reward."]})
        for action in code["actions"]:
            group = action.get("participant_group")
            if group and not store.number(
                "SELECT COUNT(*) FROM participant_group WHERE id = ? AND is_deleted = 0", group
            ):
                raise bad({"completion_codes": [f"The participant group {group} does not exist."]})
