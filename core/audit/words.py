"""Entries of the audit as sentences."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from celery import current_app
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.audit.tables import recorded_tables
from core.models import AuditEntry
from core.recorded import value_after

Kind = AuditEntry.ActorKind
# What is noted, by subject and action. `%(thing)s` is its name then, `%(campaign)s` the campaign's, `%(person)s` and
# `%(worker)s` what these are called now.
NOTED: dict[tuple[str, str], Promise] = {
    ("session", "ended"): gettext_lazy("ended a session of %(person)s"),
    ("session", "logged-in"): gettext_lazy("logged in"),
    ("session", "logged-out"): gettext_lazy("logged out"),
    ("session", "reset-link"): gettext_lazy("made a link for a new password of %(person)s"),
    ("session", "failed"): gettext_lazy("failed to log in as %(person)s"),
    ("export", "made"): gettext_lazy("asked for the export files of %(campaign)s"),
    ("export", "downloaded"): gettext_lazy("downloaded %(thing)s of %(campaign)s"),
    ("erasure", "worker"): gettext_lazy("erased worker %(worker)s"),
    ("erasure", "campaign"): gettext_lazy("erased the whole campaign %(thing)s"),
    ("erasure", "member"): gettext_lazy("closed and erased the account %(person)s"),
    ("personal-data", "downloaded"): gettext_lazy("downloaded what is stored of worker %(worker)s"),
    ("release", "made"): gettext_lazy("made the release bundle of %(campaign)s"),
    ("release", "downloaded"): gettext_lazy("downloaded the release bundle of %(campaign)s"),
    ("alarm", "dismissed"): gettext_lazy("dismissed an alarm of %(campaign)s: %(thing)s"),
    ("audit", "downloaded"): gettext_lazy("downloaded the audit"),
}


@cache
def jobs_by_name() -> dict[str, Promise]:
    """What each background job is called, by the name that Celery knows it by: each says it in `words`."""
    current_app.loader.import_default_modules()
    jobs = {name: job for name, job in current_app.tasks.items() if not name.startswith("celery.")}
    return {name: job.words for name, job in jobs.items()}  # type: ignore[attr-defined]  # core.background.job


def who(entry: AuditEntry, names: Mapping[int, str]) -> str:
    """Who did it: a person, under the name that they have now, or a job, a command, a user of the database."""
    person = names.get(entry.actor_id or 0, "")
    if entry.actor_id and not person:
        person = _("a person who is no longer known here")
    if entry.actor_kind == Kind.PERSON:
        return person
    if entry.actor_kind == Kind.JOB:
        job = jobs_by_name().get(entry.actor_name) or _("the background job %(name)s") % {"name": entry.actor_name}
        return _("%(job)s, for %(person)s") % {"job": job, "person": person} if person else str(job)
    if entry.actor_kind == Kind.COMMAND:
        command = _("the command %(name)s") % {"name": entry.actor_name}
        return _("%(command)s, as %(person)s") % {"command": command, "person": person} if person else command
    if entry.actor_kind == Kind.DATABASE:
        return _("%(name)s, directly in the database") % {"name": entry.actor_name}
    return _("a visitor")


def jobs_called(words: str) -> list[str]:
    """Celery's names of the jobs with these words in what pages call them."""
    return [name for name, label in jobs_by_name().items() if words.casefold() in str(label).casefold()]


def say(entry: AuditEntry, person: str, lab: str, worker: str) -> str:
    """What was done, to follow the name of who did it."""
    facts: dict[str, Any] = {
        "thing": entry.thing or _("(no name)"),
        "key": entry.key,
        "campaign": entry.campaign or _("a campaign"),
        "person": person or _("somebody unknown"),
        "worker": worker,
        "lab": lab or _("(deleted)"),
        "fields": ", ".join(name.removesuffix("_id").replace("_", " ") for name in sorted(entry.changes)),
        "changes": ", ".join(_changed(name, change) for name, change in sorted(entry.changes.items())),
        "state": value_after(entry.changes, "state"),
        "decision": value_after(entry.changes, "decision"),
    }
    audit = recorded_tables().get(entry.subject)
    sentence = audit.sentence(entry.action, entry.changes) if audit else NOTED.get((entry.subject, entry.action))
    if sentence is None:
        return f"{entry.action} {entry.subject} {entry.key}"
    return str(sentence) % facts


def _changed(name: str, change: Any) -> str:
    words = name.removesuffix("_id").replace("_", " ")
    if not isinstance(change, list) or len(change) != 2:
        return words
    before, after = (_("nothing") if value in (None, "") else value for value in change)
    return _("%(field)s from %(before)s to %(after)s") % {"field": words, "before": before, "after": after}
