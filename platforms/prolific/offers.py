"""What only some workspaces of Prolific have. Nothing tells which: a draft that wants it is made, and deleted again."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from platforms.adapter import Trouble
from platforms.calls import Answer
from platforms.prolific.client import ERRORS, trouble_of

log = logging.getLogger(__name__)
SECURE = "signed addresses"  # is_external_study_url_secure: a token on the address of each visit
PARTIAL = "partial payment"  # DYNAMIC_PAYMENT: a share of the reward for whoever leaves early
NAME = "Bestknown asks what this workspace offers (a draft, deleted at once)"


def offers_of(client: Any, project_id: str) -> list[str]:
    """Which of these a workspace has. A draft costs nothing, and no participant sees it."""
    partial = _code("ASKED2", "OTHER LEFT", "DYNAMIC_PAYMENT") | {"actor": "researcher"}
    offers: dict[str, Answer] = {
        SECURE: {"is_external_study_url_secure": True},
        PARTIAL: {"completion_codes": [_code("ASKED1", "COMPLETED", "MANUALLY_REVIEW"), partial]},
    }
    return [offer for offer, fields in offers.items() if _takes(client, project_id, fields)]


def _takes(client: Any, project_id: str, fields: Answer) -> bool:
    draft = {
        "name": NAME,
        "internal_name": NAME,
        "description": NAME,
        "external_study_url": "https://example.org/?PROLIFIC_PID={{%PROLIFIC_PID%}}&SESSION_ID={{%SESSION_ID%}}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [_code("ASKED1", "COMPLETED", "MANUALLY_REVIEW")],
        "total_available_places": 1,
        "estimated_completion_time": 5,
        "maximum_allowed_time": 30,
        "reward": 100,
        "device_compatibility": ["desktop"],
        "filters": [],
        "project": project_id,
    }
    try:
        with drafted(client, draft | fields) as study:
            pass
    except ERRORS as error:
        if trouble_of(error) in (Trouble.REFUSED, Trouble.ACCOUNT):
            return False
        raise
    return all(study.get(name) == value for name, value in fields.items() if isinstance(value, bool))


@contextmanager
def drafted(client: Any, body: Answer) -> Iterator[Answer]:
    """A draft of a study, which is deleted afterwards."""
    study = client.post("studies/", body)
    try:
        yield study
    finally:
        try:
            client.delete(f"studies/{study['id']}/")
        except ERRORS as error:
            log.warning("The draft %s was not deleted: %s", study["id"], error)


def _code(code: str, kind: str, action: str) -> Answer:
    return {"code": code, "code_type": kind, "actions": [{"action": action}]}
