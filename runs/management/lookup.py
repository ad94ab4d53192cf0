"""People, labs and collections by the names that commands are given."""

from typing import Any, TypeVar

from django.core.management.base import CommandError
from django.db.models import Model
from django.utils import timezone

from core.comparing import compared
from core.labs import lab_create
from core.models import Lab, User
from runs.models import Collection

Row = TypeVar("Row", bound=Model)


def row_called(model: type[Row], what: str, **by: Any) -> Row:
    """The row with these columns. Raises CommandError if there is none, or several, naming `what` it is."""
    rows = list(model._default_manager.filter(**by)[:2])
    if not rows:
        raise CommandError(f"There is no {what}.")
    if len(rows) > 1:
        raise CommandError(f"Several labs have a {what}: say which with --lab.")
    return rows[0]


def collection_called(name: str, lab: str | None) -> Collection:
    """The collection of that name, of a lab where several have one."""
    return row_called(Collection, f"collection called {name}", name=name, **({"lab__name": lab} if lab else {}))


def lab_made(name: str, admin: str | None) -> tuple[Lab, str]:
    """The lab of that name, made if there is none, with `admin` as its first admin; and what there is to say of it."""
    lab = Lab.objects.filter(name=name).first()
    if lab is not None:
        return lab, f"The lab {name} is there already, with its own admins." if admin else ""
    if admin:
        return lab_create(name=name, by=user_called(admin), invited=None, at=timezone.now()).lab, ""
    text = (
        f"The lab {name} is new and has no members, so only admins of the site see it. They can invite its first admin "
        "on its page People; --admin USER would have made one."
    )
    return Lab.objects.create(name=name), text


def user_called(name: str) -> User:
    user = User.objects.filter(username_key=compared(name), is_active=True).first()
    if user is None:
        raise CommandError(f"There is no user called {name}.")
    return user
