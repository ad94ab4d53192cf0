"""Entries of the audit as pages show them, newest first."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from django.db.models import Q, QuerySet

from core.audit.tables import tables_of_people
from core.audit.words import say, who
from core.models import AuditEntry, Lab, User
from core.roles import Right, labs_of

Keys = tuple[int | None, int]  # of a campaign, if it is known, and of a worker


Names = Callable[[Iterable[Keys]], dict[Keys, str]]
_registered: list[Names] = []


def register(worker_names: Names) -> None:
    """Name what says what workers are called. Naming it again is not an error."""
    _registered[:] = [worker_names]


class Line(NamedTuple):
    """One entry in words. `changes` has the fields with what they were and are; both are None if that is not kept."""

    entry: AuditEntry
    who: str
    what: str
    changes: list[tuple[str, str | None, str | None]]


def entries_of(user: User) -> QuerySet[AuditEntry]:
    """What somebody may see: of the labs that they manage, or everything for an admin of the site."""
    entries = AuditEntry.objects.order_by("-id")
    if user.is_staff:
        return entries
    return entries.filter(lab_id__in=list(managed_labs(user).values_list("pk", flat=True)))


def managed_labs(user: User) -> QuerySet[Lab]:
    """The labs whose audit and data protection are somebody's to see."""
    return labs_of(user, Right.MANAGE)


def people_called(words: str) -> QuerySet[User]:
    """People with these words in their name or user name."""
    fields = ("username", "first_name", "last_name")
    return User.objects.filter(Q(*((f"{field}__icontains", words) for field in fields), _connector=Q.OR))


def lines(entries: Iterable[AuditEntry]) -> list[Line]:
    """Entries in words, with the names that people have now."""
    entries = list(entries)
    keys = {entry.actor_id for entry in entries} | {_person_of(entry) for entry in entries}
    people = {user.pk: user for user in User.objects.filter(pk__in=[key for key in keys if key is not None])}
    names = {pk: user.get_full_name() or user.get_username() for pk, user in people.items()}
    labs = dict(Lab.objects.filter(pk__in={entry.lab_id for entry in entries}).values_list("pk", "name"))
    workers = {entry.pk: _worker_of(entry) for entry in entries}
    called = _registered[0](worker for worker in workers.values() if worker)
    return [
        Line(
            entry,
            who(entry, names),
            say(
                entry,
                person=names.get(_person_of(entry) or 0, ""),
                lab=labs.get(entry.lab_id or 0, ""),
                worker=called[worker_key] if (worker_key := workers[entry.pk]) else "",
            ),
            [_change(name, change) for name, change in sorted(entry.changes.items())],
        )
        for entry in entries
    ]


def _person_of(entry: AuditEntry) -> int | None:
    if entry.subject == "erasure" and entry.action != "member":
        return None
    if entry.subject in tables_of_people():
        key = entry.thing
    else:
        key = entry.key if entry.subject in ("core_user", "session", "erasure") else ""
    return int(key) if key.isdecimal() else None


def _worker_of(entry: AuditEntry) -> Keys | None:
    if entry.worker_id is not None:
        return entry.campaign_id, entry.worker_id
    return (None, int(entry.key)) if (entry.subject, entry.action) == ("erasure", "worker") else None


def _change(name: str, change: object) -> tuple[str, str | None, str | None]:
    words = name.removesuffix("_id").replace("_", " ")
    if change is None:
        return words, None, None
    if isinstance(change, list) and len(change) == 2:
        before, after = (("" if value is None else str(value)) for value in change)
        return words, before, after
    return words, "", str(change)
