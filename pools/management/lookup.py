"""Labs, collections and campaigns by the names that commands are given."""

from typing import TypeVar

from django.core.management.base import CommandError

from core.models import Lab, User
from pools.models import Campaign, Collection

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


def user_called(name: str) -> User:
    """The person of that user name."""
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CommandError(f"There is no user called {name}.")
    return user


def _the(model: type[Row], what: str, **by: str) -> Row:
    rows = list(model.objects.filter(**by)[:2])
    if not rows:
        raise CommandError(f"There is no {what}.")
    if len(rows) > 1:
        raise CommandError(f"Several labs have a {what}: say which with --lab.")
    return rows[0]
