"""Versions that somebody asked for on a page, made in the background."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core.alarms import in_words
from core.errors import NotNow, Refused
from core.locks import alone
from core.models import User
from core.progress import forget, report_on
from pools.models import Campaign
from results.models import VersionRequest
from results.versions import version_add, why_no_version

MOST_TRIES = 20  # of one request: some ten minutes, in which file storage may come back


def version_ask(*, campaign: Campaign, why: str, parent: int, by: User, at: datetime) -> VersionRequest:
    """Ask for a version that follows `parent`: what results.versions.version_add needs.

    Raises Refused where no version can come of the campaign, NotNow while another is being made from it.
    """
    if reason := why_no_version(campaign):
        raise Refused(reason)
    try:
        with transaction.atomic():
            return VersionRequest.objects.create(campaign=campaign, why=why, parent=parent, asked_by=by, asked_at=at)
    except IntegrityError:
        raise NotNow(_("A version is being made from this campaign already. Wait until it is done.")) from None


def requests_open() -> QuerySet[VersionRequest]:
    """Versions that are still to be made, the oldest first."""
    return VersionRequest.objects.filter(ended_at=None).order_by("id")


def version_request_do(*, request_id: int, at: datetime) -> VersionRequest | None:
    """Make the version, or keep why not. None where that has been done, or another does it now."""
    with alone(f"version request {request_id}") as ours:
        request = requests_open().select_related("campaign__collection", "asked_by").filter(pk=request_id).first()
        if not ours or request is None:
            return None
        key = progress_key(request)
        if request.tries >= MOST_TRIES:  # its process was killed each time
            _end(request, _("it was begun %(tries)d times and never done") % {"tries": request.tries}, at)
            return request
        requests_open().filter(pk=request.pk).update(tries=request.tries + 1)
        try:
            version_add(
                campaign=request.campaign,
                why=request.why,
                by=request.asked_by,
                at=at,
                parent=request.parent,
                request=request,
                report=report_on(key),
            )
        except Refused as error:
            requests_open().filter(pk=request.pk).update(refused=str(error), ended_at=at)
        except Exception as error:
            if request.tries + 1 >= MOST_TRIES:
                _end(request, in_words(error), at)
            raise
        finally:
            forget(key)
        request.refresh_from_db()
        return request


def _end(request: VersionRequest, why: str, at: datetime) -> None:
    """Give up, with a message: whoever asked can ask again."""
    text = _(
        "The version could not be made (%(why)s), and it is not tried again by itself. Nothing was changed. Ask for it "
        "again; if that fails too, show this to the person who runs this site."
    )
    requests_open().filter(pk=request.pk).update(refused=text % {"why": why}, ended_at=at)
    request.refresh_from_db()


def progress_key(request: VersionRequest) -> str:
    """Under which the progress of a request is told."""
    return f"version request {request.pk}"
