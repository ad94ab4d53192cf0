"""Submissions: what a participant and a researcher can do to one, from taking a place to being reviewed."""

import base64
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from . import filters, hooks, money, studies
from .errors import bad, missing
from .store import Row, Store, iso, new_id
from .transitions import may, step

RESERVED_SECONDS = 600  # until a place that nobody begins to use is free again
REVIEW_SECONDS = 21 * 86_400  # until work that nobody reviews is approved
CATEGORIES = (
    "TOO_QUICKLY TOO_SLOWLY FAILED_INSTRUCTIONS INCOMP_LONGITUDINAL FAILED_CHECK LOW_EFFORT MALINGERING NO_CODE "
    "BAD_CODE NO_DATA UNSUPP_DEVICE OTHER"
).split()
SHORTEST_MESSAGE = 100  # of a rejection, in characters


def submission_get(store: Store, submission_id: str) -> Row:
    submission = store.one("SELECT * FROM submission WHERE id = ?", submission_id)
    if submission is None:
        raise missing(f"The submission {submission_id}")
    return submission


def shown(store: Store, submission: Row) -> dict[str, Any]:
    """A submission as the API shows it alone."""
    paid = store.all("SELECT amount FROM ledger WHERE submission = ? AND kind = 'bonus'", submission["id"])
    return shown_after(submission) | {
        "parent_study_id": None,
        "bonus_payments": [row["amount"] for row in paid],
        "return_requested": iso(submission["return_requested"]),
    }


def shown_after(submission: Row) -> dict[str, Any]:
    """A submission as the API shows it after a transition."""
    return {
        "id": submission["id"],
        "status": submission["status"],
        "study_id": submission["study"],
        "participant": submission["participant"],
        "started_at": iso(submission["started_at"] or submission["reserved_at"]),
        "completed_at": iso(submission["completed_at"]),
        "entered_code": submission["entered_code"],
    }


def shown_in_list(store: Store, submission: Row) -> dict[str, Any]:
    """A submission as the API shows it in a list."""
    others = store.number(
        "SELECT COUNT(*) FROM submission WHERE study = ? AND participant = ? AND id <> ?",
        submission["study"], submission["participant"], submission["id"],
    )  # fmt: skip
    return {
        "id": submission["id"], "participant_id": submission["participant"], "status": submission["status"],
        "started_at": iso(submission["started_at"] or submission["reserved_at"]),
        "completed_at": iso(submission["completed_at"]), "has_siblings": others > 0,
        "study_code": submission["entered_code"], "return_requested": iso(submission["return_requested"]),
    }  # fmt: skip


def is_open(store: Store, study: Row, participant: Row) -> bool:
    """Whether a participant sees a study and may take a place."""
    body = studies.body_of(study)
    if study["status"] != "ACTIVE" or bool(study["is_test"]) > bool(participant["is_test"]):
        return False
    if money.places_taken(store, study["id"]) >= body["total_available_places"]:
        return False
    limits = body["submissions_config"] or {}
    most = limits.get("max_submissions_per_participant") or 1
    query = "SELECT COUNT(*) FROM submission WHERE study = ? AND participant = ?"
    if most != -1 and store.number(query, study["id"], participant["id"]) >= most:
        return False
    at_work = " AND status IN ('RESERVED', 'ACTIVE')"
    if store.number(query + at_work, study["id"], participant["id"]):
        return False
    together = limits.get("max_concurrent_submissions") or -1
    everyone = "SELECT COUNT(*) FROM submission WHERE study = ?" + at_work
    if together != -1 and store.number(everyone, study["id"]) >= together:
        return False
    return filters.meets(store, participant, body["filters"])


def submission_reserve(store: Store, study: Row, participant: Row) -> Row:
    """Take a place in a study."""
    if not is_open(store, study, participant):
        raise bad(f"The study {study['id']} has no place for {participant['name']}.")
    submission_id = new_id()
    number = store.number("SELECT MAX(number) FROM submission") + 1
    store.insert(
        "submission", id=submission_id, number=number, study=study["id"], participant=participant["id"],
        status=step("", "take"), reserved_at=store.now(),
    )  # fmt: skip
    _tell(store, submission_id)
    return submission_get(store, submission_id)


def submission_open(store: Store, submission: Row) -> str:
    """Begin, or go on. The study's address with this person's parameters, and a signed token where it asks for one."""
    status = step(submission["status"], "open")
    if submission["status"] != status:
        store.do("UPDATE submission SET started_at = ? WHERE id = ?", store.now(), submission["id"])
        _move(store, submission, status)
    body = studies.body_of(studies.study_get(store, submission["study"]))
    values = {
        "PROLIFIC_PID": submission["participant"], "STUDY_ID": submission["study"], "SESSION_ID": submission["id"],
    }  # fmt: skip
    address: str = body["external_study_url"]
    for name, value in values.items():
        address = address.replace(f"{{{{%{name}%}}}}", value)
    if body["is_external_study_url_secure"]:
        claims = {name: value for name, value in values.items() if f"%{name}%" in body["external_study_url"]}
        glue = "&" if urlsplit(address).query else "?"
        address += f"{glue}prolific_token={_token(store, address, submission['id'], claims)}"
    return address


def submission_complete(store: Store, submission: Row, code: str | None) -> Row:
    """End by coming back with a code; without one (None), or late, the work waits for review."""
    step(submission["status"], "come back")
    now = store.now()
    store.do("UPDATE submission SET completed_at = ?, entered_code = ? WHERE id = ?", now, code, submission["id"])
    study = studies.study_get(store, submission["study"])
    entry = _code(study, code, "participant")
    _act(store, submission_get(store, submission["id"]), study, entry, None, "come back")
    return submission_get(store, submission["id"])


def submission_return(store: Store, submission: Row) -> Row:
    """Give the place back."""
    status = step(submission["status"], "return")
    store.do("UPDATE submission SET completed_at = NULL WHERE id = ?", submission["id"])
    _move(store, submission, status)
    return submission_get(store, submission["id"])


def submission_time_out(store: Store, submission: Row) -> Row:
    """End the time of somebody at work."""
    _move(store, submission, step(submission["status"], "time out"))
    return submission_get(store, submission["id"])


def submission_approve(store: Store, submission: Row, event: str = "approve") -> Row:
    """Approve and pay. Again is not an error."""
    if submission["status"] == "APPROVED":
        return submission
    if not may(submission["status"], event):
        raise not_reviewable(submission, submission["status"], "APPROVE")
    _pay(store, submission, "reward", step(submission["status"], event), int(_reward(store, submission)))
    return submission_get(store, submission["id"])


def submission_reverse(store: Store, submission: Row) -> Row:
    """Take back a rejection or a return, at Prolific's own pages: it waits for review again."""
    status = step(submission["status"], "reverse")
    store.do(
        "UPDATE submission SET completed_at = COALESCE(completed_at, ?), rejection = '', return_requested = NULL "
        "WHERE id = ?", store.now(), submission["id"],
    )  # fmt: skip
    _move(store, submission, status)
    return submission_get(store, submission["id"])


def submissions_approve(store: Store, submissions: Iterable[Row]) -> None:
    """Approve and pay those that wait for review. Their studies move once all are paid."""
    waiting = [submission for submission in submissions if may(submission["status"], "approve")]
    for submission in waiting:
        money.pay(store, "reward", submission, int(_reward(store, submission)))
        _become(store, submission, step(submission["status"], "approve"))
    for study in {submission["study"] for submission in waiting}:
        studies.study_settle(store, study)


def submission_reject(store: Store, submission: Row, message: str, category: str, event: str = "reject") -> Row:
    """Reject, with a reason. Again is not an error."""
    if submission["status"] == "REJECTED":
        return submission
    if len(message) < SHORTEST_MESSAGE:
        raise bad({"message": [f"It has {len(message)} characters; at least {SHORTEST_MESSAGE} are needed."]})
    if category not in CATEGORIES:
        raise bad({"rejection_category": [f"{category or 'Nothing'} is not a category."]})
    if not may(submission["status"], event):
        raise not_reviewable(submission, submission["status"], "REJECT")
    store.do("UPDATE submission SET rejection = ? WHERE id = ?", f"{category}: {message}", submission["id"])
    _move(store, submission, step(submission["status"], event))
    return submission_get(store, submission["id"])


def submission_end(store: Store, submission: Row, code: str, data: dict[str, Any] | None) -> Row:
    """COMPLETE by the researcher, with a code of theirs. Again with the same code is not an error."""
    study = studies.study_get(store, submission["study"])
    entry = _code(study, code, "researcher")
    if entry is None:
        raise bad({"completion_code": [f"{code} is not a code of this study whose actor is researcher."]})
    if submission["entered_code"] == code and submission["status"] not in ("ACTIVE", "RESERVED"):
        return submission
    if not may(submission["status"], "end"):
        raise not_reviewable(submission, submission["status"], "COMPLETE")
    if any(action["action"] == "DYNAMIC_PAYMENT" for action in entry["actions"]):
        share = (data or {}).get("percentage_of_reward")
        if share is None or not 8 <= share <= 99:
            raise bad({"completion_code_data": [f"percentage_of_reward is {share}, expected 8 to 99."]})
    now = store.now()
    store.do(
        "UPDATE submission SET completed_at = COALESCE(completed_at, ?), entered_code = ? WHERE id = ?",
        now, code, submission["id"],
    )  # fmt: skip
    _act(store, submission_get(store, submission["id"]), study, entry, data, "end")
    return submission_get(store, submission["id"])


def submission_ask_return(store: Store, submission: Row, reasons: list[str]) -> Row:
    step(submission["status"], "ask for a return")
    store.do(
        "UPDATE submission SET return_requested = ?, return_reasons = ? WHERE id = ?",
        store.now(), "; ".join(reasons), submission["id"],
    )  # fmt: skip
    return submission_get(store, submission["id"])


def submission_refuse_return(store: Store, submission: Row) -> Row:
    """Keep what one was asked to return: nobody is asked any more, and it waits as before."""
    step(submission["status"], "refuse to return")
    if not submission["return_requested"]:
        raise bad(f"Nobody asked for a return of the submission {submission['id']}.")
    store.do("UPDATE submission SET return_requested = NULL WHERE id = ?", submission["id"])
    return submission_get(store, submission["id"])


def submissions_tick(store: Store) -> None:
    """End the time of those whose time is over, and approve what nobody has reviewed."""
    now = store.now()
    for submission in store.all("SELECT * FROM submission WHERE status IN ('RESERVED', 'ACTIVE')"):
        allowed = RESERVED_SECONDS
        if submission["status"] == "ACTIVE":
            allowed = 60 * studies.body_of(studies.study_get(store, submission["study"]))["maximum_allowed_time"]
        if (submission["started_at"] or submission["reserved_at"]) + allowed < now:
            submission_time_out(store, submission)
    late = "SELECT * FROM submission WHERE status = 'AWAITING REVIEW' AND completed_at < ?"
    for submission in store.all(late, now - REVIEW_SECONDS):
        submission_approve(store, submission, "approve by time")


def not_reviewable(submission: Row, status: str, action: str) -> Exception:
    """The refusal of an action that a submission's state does not allow."""
    return bad(f"The submission {submission['id']} is {status}: {action} is not available.")


def public_key(store: Store) -> dict[str, Any]:
    """The key that tokens are signed with, for everybody to read."""
    numbers = _key(store).public_key().public_numbers()
    return {
        "kty": "RSA", "kid": _key_name(store), "alg": "RS256", "use": "sig", "key_ops": ["verify"],
        "n": _base64(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8)), "e": _base64(numbers.e.to_bytes(3)),
    }  # fmt: skip


def _act(
    store: Store, submission: Row, study: Row, entry: dict[str, Any] | None, data: dict[str, Any] | None, event: str
) -> None:
    """Do what a code says: nothing but waiting for review where it is unknown."""
    actions = {action["action"]: action for action in entry["actions"]} if entry else {}
    if "ADD_TO_PARTICIPANT_GROUP" in actions:
        group = actions["ADD_TO_PARTICIPANT_GROUP"]["participant_group"]
        store.do("INSERT OR IGNORE INTO membership VALUES (?, ?, ?)", group, submission["participant"], store.now())
    if "REMOVE_FROM_PARTICIPANT_GROUP" in actions:
        group = actions["REMOVE_FROM_PARTICIPANT_GROUP"]["participant_group"]
        store.do(
            "DELETE FROM membership WHERE participant_group = ? AND participant = ?", group, submission["participant"]
        )
    if "DYNAMIC_PAYMENT" in actions:
        share = (data or {})["percentage_of_reward"]
        status = step(submission["status"], "pay a share")
        _pay(store, submission, "partial", status, round(_reward(store, submission) * share / 100))
        return
    if "FIXED_SCREEN_OUT_PAYMENT" in actions:
        screen_out = actions["FIXED_SCREEN_OUT_PAYMENT"]
        status = step(submission["status"], "screen out")
        _pay(store, submission, "screen-out", status, screen_out["fixed_screen_out_reward"])
        used = store.number("SELECT COUNT(*) FROM submission WHERE study = ? AND status = 'SCREENED OUT'", study["id"])
        if used >= screen_out["slots"] and studies.study_get(store, study["id"])["status"] == "ACTIVE":
            studies.study_move(store, study["id"], "PAUSED")
        return
    _move(store, submission, step(submission["status"], event))
    submission = submission_get(store, submission["id"])
    if "AUTOMATICALLY_APPROVE" in actions:
        submission_approve(store, submission, "approve by code")
    elif "REQUEST_RETURN" in actions:
        submission_ask_return(store, submission, [actions["REQUEST_RETURN"]["return_reason"]])


def _code(study: Row, code: str | None, actor: str) -> dict[str, Any] | None:
    """A study's completion code that this actor may give."""
    for entry in studies.body_of(study)["completion_codes"]:
        if entry["code"] == code and entry.get("actor", "participant") == actor:
            completion_code: dict[str, Any] = entry
            return completion_code
    return None


def _pay(store: Store, submission: Row, kind: str, status: str, cents: int) -> None:
    money.pay(store, kind, submission, cents)
    _move(store, submission, status)


def _reward(store: Store, submission: Row) -> float:
    return float(studies.body_of(studies.study_get(store, submission["study"]))["reward"])


def _move(store: Store, submission: Row, status: str) -> None:
    _become(store, submission, status)
    studies.study_settle(store, submission["study"])


def _become(store: Store, submission: Row, status: str) -> None:
    store.do("UPDATE submission SET status = ? WHERE id = ?", status, submission["id"])
    _tell(store, submission["id"])


def _tell(store: Store, submission_id: str) -> None:
    submission = submission_get(store, submission_id)
    hooks.emit(
        store, "submission.status.change", submission_id,
        participant_id=submission["participant"], status=submission["status"],
    )  # fmt: skip
    hooks.emit(store, "study.progress.change", submission["study"])


def _token(store: Store, address: str, session: str, values: dict[str, str]) -> str:
    """An RS256 token, good for two minutes."""
    now = int(store.now())
    return sign(store, {
        "iss": "https://www.prolific.com", "iat": now, "exp": now + 120, "aud": address, "sub": session,
        "prolific": values | {"workspace_id": store.setting("workspace")},
    })  # fmt: skip


def sign(store: Store, claims: dict[str, Any]) -> str:
    header = {"alg": "RS256", "kid": _key_name(store), "typ": "JWT"}
    signed = ".".join(_base64(json.dumps(part).encode()) for part in (header, claims))
    return f"{signed}.{_base64(_key(store).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def key_replace(store: Store) -> None:
    """Sign with another key from now on; the one before is not shown any more."""
    store.set_settings({"key": None, "key number": store.setting("key number", 1) + 1})


def _key_name(store: Store) -> str:
    return f"double-{store.setting('key number', 1)}"


def _key(store: Store) -> rsa.RSAPrivateKey:
    pem = store.setting("key")
    if pem is None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = serialization.PrivateFormat.PKCS8
        pem = key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()).decode()
        store.set_settings({"key": pem})
    loaded = serialization.load_pem_private_key(pem.encode(), None)
    assert isinstance(loaded, rsa.RSAPrivateKey)
    return loaded


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
