"""Test runs: trying a campaign through its platform before it is published, with people who are paid nothing."""

from django.utils.translation import gettext as _

from core.errors import NotNow
from platforms.models import Publication
from platforms.money.account import platform_refusals
from platforms.publishing.protocol import TestRuns
from platforms.registry import adapter_of
from tasks import trials


def test_run_obstacle(publication: Publication) -> str:
    """Why no test run can begin, or nothing."""
    if not isinstance(adapter_of(publication), TestRuns):
        return _("This platform has no test runs.")
    if publication.state != Publication.State.DRAFT:
        return _("The campaign is published, so there is nothing to test any more.")
    if publication.test_study_id:
        return _("There is a test run already. End it before you begin another.")
    return trials.trial_obstacle(publication.campaign)


def test_run_begin(*, publication: Publication, email: str) -> Publication:
    """Make a study for test participants, one of whom is made first if an address is given. It costs nothing.

    Raises NotNow where there is an obstacle, and Refused in the platform's words where the account has no test runs or
    no test participant.
    """
    if obstacle := test_run_obstacle(publication):
        raise NotNow(obstacle)
    with platform_refusals(publication) as adapter:
        assert isinstance(adapter, TestRuns)
        client = adapter.client()
        adapter.assert_host(client)
        study = adapter.test_study_make(client, publication, email=email.strip())
    publication.test_study_id, publication.test_study_address = study
    publication.save(update_fields=["test_study_id", "test_study_address"])
    return publication


def test_run_end(*, publication: Publication) -> bool:
    """End the test run. Returns whether there was one."""
    if not publication.test_study_id:
        return False
    with platform_refusals(publication) as adapter:
        assert isinstance(adapter, TestRuns)
        client = adapter.client()
        adapter.assert_host(client)
        adapter.test_study_end(client, publication)
    publication.test_study_id = publication.test_study_address = ""
    publication.save(update_fields=["test_study_id", "test_study_address"])
    return True
