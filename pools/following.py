"""What a change of a collection or run means for its campaigns."""

from typing import Any

from core.progress import Report
from pools import services as pool_services
from runs import changes
from runs.models import Collection, Run


def connect() -> None:
    """Follow changes from now on."""
    changes.collection_changed.connect(_mark_all)
    changes.runs_changed.connect(_mark_unfixed)
    changes.release_changed.connect(_mark_users)
    changes.texts_stored.connect(_compare)


def _mark_all(*, collection: Collection, **_sent: Any) -> None:
    pool_services.campaigns_mark_changed(campaigns=collection.campaigns.all())


def _mark_unfixed(*, collection: Collection, **_sent: Any) -> None:
    """A campaign whose runs are fixed scores these alone."""
    pool_services.campaigns_mark_changed(campaigns=collection.campaigns.filter(fixed_runs__isnull=True))


def _mark_users(*, run: Run, **_sent: Any) -> None:
    pool_services.campaigns_mark_changed(campaigns=run.campaigns.all())


def _compare(*, collection: Collection, count: int, report: Report, **_sent: Any) -> None:
    pool_services.texts_compare(collection=collection, count=count, report=report)
