"""What commands that read files share: labs by name, and refusals as one clear sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.core.management.base import CommandError

from evaluation.errors import BadInput
from pools.errors import Refused
from pools.models import Campaign, Collection, Lab


@contextmanager
def refusals_as_errors() -> Iterator[None]:
    """Turn bad input and refusals into a CommandError: one sentence, no traceback, exit code 1."""
    try:
        yield
    except (BadInput, Refused) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        if error.filename is None:
            raise
        raise CommandError(f"{error.filename}: {error.strerror}.") from error


Row = TypeVar("Row", Lab, Collection, Campaign)


def lab_called(name: str) -> Lab:
    """The lab of that name."""
    return _the(Lab, f"lab called {name}", name=name)


def collection_called(name: str, lab: str | None) -> Collection:
    """The collection of that name, of a lab where several have one."""
    return _the(Collection, f"collection called {name}", name=name, **({"lab__name": lab} if lab else {}))


def campaign_called(name: str, lab: str | None) -> Campaign:
    """The campaign of that name, of a lab where several have one."""
    return _the(Campaign, f"campaign called {name}", name=name, **({"lab__name": lab} if lab else {}))


def _the(model: type[Row], what: str, **by: str) -> Row:
    found = list(model.objects.filter(**by)[:2])
    if not found:
        raise CommandError(f"There is no {what}.")
    if len(found) > 1:
        raise CommandError(f"Several labs have a {what}: say which with --lab.")
    return found[0]
