"""Test runs: a study that only a workspace's test participants see, and that pays nobody.

Only some workspaces have them, and nothing tells which: Prolific refuses what a workspace does not have.
"""

from typing import Any

from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.calls import Answer
from platforms.models import Publication
from platforms.prolific.client import ProlificError
from platforms.prolific.offers import drafted
from platforms.prolific.operations import mark_of, study_request
from platforms.publishing.protocol import TestStudy

OVER = ("COMPLETED", "UNPUBLISHED")


def test_study_make(client: Any, publication: Publication, *, email: str) -> TestStudy:
    """A draft as the study will be, but under another mark and without filters, which test participants need not pass.
    Prolific makes the test study from it; the draft itself is deleted.
    """
    if email:
        _asked(client, "researchers/participants/", {"email": email})
    mark = f"{mark_of(publication)} test run"
    body = study_request(publication, "") | {"filters": [], "internal_name": mark, "metadata": mark}
    with drafted(client, body) as draft:
        answer = _asked(client, f"studies/{draft['id']}/test-study", None)
    return TestStudy(str(answer["study_id"]), str(answer["study_url"]))


def _asked(client: Any, path: str, body: Answer | None) -> Answer:
    """What Prolific answers. Raises Refused where the workspace has no test runs: the token is right, and it is 403."""
    try:
        answer: Answer = client.post(path, body)
    except ProlificError as error:
        if error.status != 403:
            raise
        raise Refused(_("This workspace has no test runs. Prolific says: %(error)s") % {"error": error}) from error
    return answer


def test_study_end(client: Any, publication: Publication) -> None:
    study = publication.test_study_id
    if client.get(f"studies/{study}/")["status"] not in OVER:
        client.post(f"studies/{study}/transition/", {"action": "STOP"})
