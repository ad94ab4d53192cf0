"""Entries of the audit as sentences."""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.models import AuditEntry

Kind = AuditEntry.ActorKind
# By table or subject, and action. `%(thing)s` is its name then, `%(campaign)s` the campaign's, `%(person)s` and
# `%(lab)s` what these are called now.
SENTENCES: dict[tuple[str, str], Promise] = {
    ("core_user", "insert"): gettext_lazy("created the account %(person)s"),
    ("core_user", "update"): gettext_lazy("changed the account %(person)s: %(fields)s"),
    ("core_user", "delete"): gettext_lazy("deleted account %(key)s"),
    ("core_lab", "insert"): gettext_lazy("created the lab %(thing)s"),
    ("core_lab", "update"): gettext_lazy("changed the lab %(thing)s: %(changes)s"),
    ("core_lab", "delete"): gettext_lazy("deleted the lab %(thing)s"),
    ("core_lab_members", "insert"): gettext_lazy("added %(person)s to the lab %(lab)s: %(changes)s"),
    ("core_lab_members", "update"): gettext_lazy("changed the role of %(person)s in the lab %(lab)s: %(changes)s"),
    ("core_lab_members", "delete"): gettext_lazy("removed %(person)s from the lab %(lab)s"),
    ("core_memberinvitation", "insert"): gettext_lazy("invited somebody to the lab %(lab)s: %(changes)s"),
    ("core_memberinvitation", "update"): gettext_lazy("changed an invitation to the lab %(lab)s: %(fields)s"),
    ("core_memberinvitation", "delete"): gettext_lazy("deleted an invitation to the lab %(lab)s"),
    ("pools_collection", "insert"): gettext_lazy("created the collection %(thing)s"),
    ("pools_collection", "update"): gettext_lazy("changed the collection %(thing)s: %(fields)s"),
    ("pools_collection", "delete"): gettext_lazy("deleted the collection %(thing)s"),
    ("pools_preferenceimport", "insert"): gettext_lazy("imported the preferences %(thing)s"),
    ("pools_preferenceimport", "delete"): gettext_lazy("deleted the imported preferences %(thing)s"),
    ("pools_outsidescores", "insert"): gettext_lazy("added the outside scores %(thing)s"),
    ("pools_outsidescores", "update"): gettext_lazy("replaced the outside scores %(thing)s"),
    ("pools_outsidescores", "delete"): gettext_lazy("deleted the outside scores %(thing)s"),
    ("pools_run", "insert"): gettext_lazy("imported the run %(thing)s"),
    ("pools_run", "update"): gettext_lazy("changed the run %(thing)s: %(changes)s"),
    ("pools_run", "delete"): gettext_lazy("deleted the run %(thing)s"),
    ("pools_campaign", "insert"): gettext_lazy("created the campaign %(thing)s"),
    ("pools_campaign", "update"): gettext_lazy("changed the campaign %(thing)s: %(fields)s"),
    ("pools_campaign", "delete"): gettext_lazy("deleted the campaign %(thing)s"),
    ("pools_campaigntemplate", "insert"): gettext_lazy("created the template %(thing)s"),
    ("pools_campaigntemplate", "update"): gettext_lazy("changed the template %(thing)s: %(fields)s"),
    ("pools_campaigntemplate", "delete"): gettext_lazy("deleted the template %(thing)s"),
    ("pools_qrelsversion", "insert"): gettext_lazy("made preference qrels of %(thing)s"),
    ("tasks_consenttext", "insert"): gettext_lazy("wrote version %(thing)s of the consent text of %(campaign)s"),
    ("tasks_consenttext", "update"): gettext_lazy("changed version %(thing)s of the consent text of %(campaign)s"),
    ("tasks_consenttext", "delete"): gettext_lazy("deleted version %(thing)s of the consent text of %(campaign)s"),
    ("tasks_worker", "update"): gettext_lazy("changed worker %(key)s: %(fields)s"),
    ("tasks_worker", "delete"): gettext_lazy("deleted worker %(key)s"),
    ("platforms_publication", "insert"): gettext_lazy("set terms for %(campaign)s at a platform"),
    ("platforms_publication", "update"): gettext_lazy("changed %(campaign)s at the platform: %(fields)s"),
    ("platforms_publication", "delete"): gettext_lazy("deleted the terms of %(campaign)s at the platform"),
    ("platforms_termsversion", "insert"): gettext_lazy("fixed version %(thing)s of the terms of %(campaign)s"),
    ("platforms_submission", "update"): gettext_lazy("decided on submitted work in %(campaign)s: %(decision)s"),
    ("platforms_payment", "update"): gettext_lazy("settled a payment in %(campaign)s (%(thing)s): %(state)s"),
    ("judgments_decision", "insert"): gettext_lazy("decided on work in %(campaign)s: %(thing)s"),
    ("judgments_pairdecision", "insert"): gettext_lazy("decided on a reported pair in %(campaign)s: %(thing)s"),
    ("judgments_adjudication", "insert"): gettext_lazy("settled a disagreement in %(campaign)s: %(thing)s"),
    ("judgments_adjudication", "update"): gettext_lazy("took back how a disagreement in %(campaign)s was settled"),
    ("session", "logged-in"): gettext_lazy("logged in"),
    ("session", "logged-out"): gettext_lazy("logged out"),
    ("session", "reset-link"): gettext_lazy("made a link for a new password of %(person)s"),
    ("session", "failed"): gettext_lazy("failed to log in as %(person)s"),
    ("export", "made"): gettext_lazy("asked for the export files of %(campaign)s"),
    ("export", "downloaded"): gettext_lazy("downloaded %(thing)s of %(campaign)s"),
    ("judgments_retention", "insert"): gettext_lazy("set the periods of the lab %(lab)s: %(changes)s"),
    ("judgments_retention", "update"): gettext_lazy("changed the periods of the lab %(lab)s: %(changes)s"),
    ("judgments_retention", "delete"): gettext_lazy("deleted the periods of the lab %(lab)s"),
    ("erasure", "worker"): gettext_lazy("erased worker %(key)s"),
    ("erasure", "member"): gettext_lazy("closed and erased the account %(person)s"),
    ("personal-data", "downloaded"): gettext_lazy("downloaded what is stored of worker %(key)s"),
    ("release", "made"): gettext_lazy("made the release bundle of %(campaign)s"),
    ("release", "downloaded"): gettext_lazy("downloaded the release bundle of %(campaign)s"),
    ("audit", "downloaded"): gettext_lazy("downloaded the audit"),
}
# What an update that changes one field is called, by table, field and value after it.
STATES: dict[tuple[str, str, str], Promise] = {
    ("pools_campaign", "state", "packing"): gettext_lazy("started the campaign %(thing)s"),
    ("pools_campaign", "state", "open"): gettext_lazy("opened the campaign %(thing)s"),
    ("pools_campaign", "state", "paused"): gettext_lazy("paused the campaign %(thing)s"),
    ("pools_campaign", "state", "closed"): gettext_lazy("closed the campaign %(thing)s"),
    ("platforms_publication", "state", "open"): gettext_lazy("published %(campaign)s"),
    ("platforms_publication", "state", "paused"): gettext_lazy("paused %(campaign)s at the platform"),
    ("platforms_publication", "state", "stopped"): gettext_lazy("stopped %(campaign)s at the platform"),
}
WORDING = {"title", "question", "instructions", "language"}


def who(entry: AuditEntry, names: Mapping[int, str]) -> str:
    """Who did it: a person, under the name that they have now, or a job, a command, a user of the database."""
    person = names.get(entry.actor_id or 0, "")
    if entry.actor_id and not person:
        person = _("a person who is no longer known here")
    if entry.actor_kind == Kind.PERSON:
        return person
    if entry.actor_kind == Kind.JOB:
        job = _("the background job %(name)s") % {"name": entry.actor_name}
        return _("%(job)s, for %(person)s") % {"job": job, "person": person} if person else job
    if entry.actor_kind == Kind.COMMAND:
        return _("the command %(name)s") % {"name": entry.actor_name}
    if entry.actor_kind == Kind.DATABASE:
        return _("%(name)s, directly in the database") % {"name": entry.actor_name}
    return _("a visitor")


def say(entry: AuditEntry, person: str, lab: str) -> str:
    """What was done, to follow the name of who did it."""
    facts: dict[str, Any] = {
        "thing": entry.thing or _("(no name)"),
        "key": entry.key,
        "campaign": entry.campaign or _("a campaign"),
        "person": person or _("somebody unknown"),
        "lab": lab or _("(deleted)"),
        "fields": ", ".join(name.removesuffix("_id").replace("_", " ") for name in sorted(entry.changes)),
        "changes": ", ".join(_changed(name, change) for name, change in sorted(entry.changes.items())),
        "state": _after(entry, "state"),
        "decision": _after(entry, "decision"),
    }
    sentence = _special(entry) or SENTENCES.get((entry.subject, entry.action))
    if sentence is None:
        return f"{entry.action} {entry.subject} {entry.key}"
    return str(sentence) % facts


def _special(entry: AuditEntry) -> Promise | None:
    """The sentence for updates that have a name of their own."""
    if entry.action != "update":
        return None
    fields = set(entry.changes)
    if "state" in fields and (found := STATES.get((entry.subject, "state", _after(entry, "state")))):
        if (entry.subject, *entry.changes["state"]) == ("pools_campaign", "paused", "open"):
            return gettext_lazy("resumed the campaign %(thing)s")
        if (entry.subject, *entry.changes["state"]) == ("platforms_publication", "paused", "open"):
            return gettext_lazy("resumed %(campaign)s at the platform")
        return found
    if entry.subject == "pools_campaign":
        if "archived_at" in fields:
            if _after(entry, "archived_at"):
                return gettext_lazy("put the campaign %(thing)s into the archive")
            return gettext_lazy("took the campaign %(thing)s out of the archive")
        if fields == {"name"}:
            return gettext_lazy("renamed a campaign: %(changes)s")
        if fields <= WORDING:
            return gettext_lazy("changed the wording of %(thing)s: %(fields)s")
    if entry.subject == "tasks_worker" and fields == {"barred_at"}:
        if _after(entry, "barred_at"):
            return gettext_lazy("barred worker %(key)s")
        return gettext_lazy("lifted the bar of worker %(key)s")
    return None


def _after(entry: AuditEntry, field: str) -> str:
    change = entry.changes.get(field)
    return str(change[1]) if isinstance(change, list) and change[1] is not None else ""


def _changed(name: str, change: Any) -> str:
    words = name.removesuffix("_id").replace("_", " ")
    if not isinstance(change, list) or len(change) != 2:
        return words
    before, after = (_("nothing") if value in (None, "") else value for value in change)
    return _("%(field)s from %(before)s to %(after)s") % {"field": words, "before": before, "after": after}
