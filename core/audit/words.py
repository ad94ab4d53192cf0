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
    ("judgments_machinejudge", "insert"): gettext_lazy("imported the machine judge %(thing)s"),
    ("judgments_machinejudge", "delete"): gettext_lazy("deleted the machine judge %(thing)s"),
    ("judgments_machineasking", "insert"): gettext_lazy("had the machine %(thing)s asked"),
    ("judgments_machineasking", "update"): gettext_lazy("asking the machine %(thing)s: %(changes)s"),
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
    ("pools_round", "insert"): gettext_lazy("planned round %(thing)s of %(campaign)s"),
    ("pools_round", "update"): gettext_lazy("took round %(thing)s of %(campaign)s further: %(changes)s"),
    ("pools_qrelsversion", "insert"): gettext_lazy("made preference qrels of %(thing)s"),
    ("tasks_consenttext", "insert"): gettext_lazy("wrote version %(thing)s of the consent text of %(campaign)s"),
    ("tasks_consenttext", "update"): gettext_lazy("changed version %(thing)s of the consent text of %(campaign)s"),
    ("tasks_consenttext", "delete"): gettext_lazy("deleted version %(thing)s of the consent text of %(campaign)s"),
    ("tasks_paywords", "insert"): gettext_lazy("wrote how people are paid for %(campaign)s"),
    ("tasks_paywords", "update"): gettext_lazy("changed how people are paid for %(campaign)s: %(fields)s"),
    ("tasks_paywords", "delete"): gettext_lazy("deleted how people are paid for %(campaign)s"),
    ("tasks_outsidepanel", "insert"): gettext_lazy("set up %(thing)s as an outside panel of %(campaign)s"),
    ("tasks_outsidepanel", "update"): gettext_lazy("changed the outside panel %(thing)s of %(campaign)s: %(fields)s"),
    ("tasks_outsidepanel", "delete"): gettext_lazy("deleted the outside panel %(thing)s of %(campaign)s"),
    ("tasks_worker", "update"): gettext_lazy("changed worker %(worker)s: %(fields)s"),
    ("tasks_worker", "delete"): gettext_lazy("deleted worker %(worker)s"),
    ("platforms_labaccount", "insert"): gettext_lazy("stored a token of the lab %(lab)s at %(thing)s"),
    ("platforms_labaccount", "update"): gettext_lazy("stored another token of the lab %(lab)s at %(thing)s"),
    ("platforms_labaccount", "delete"): gettext_lazy("deleted the token of the lab %(lab)s at %(thing)s"),
    ("platforms_publication", "insert"): gettext_lazy("set terms for %(campaign)s at a platform"),
    ("platforms_publication", "update"): gettext_lazy("changed %(campaign)s at the platform: %(fields)s"),
    ("platforms_publication", "delete"): gettext_lazy("deleted the terms of %(campaign)s at the platform"),
    ("platforms_termsversion", "insert"): gettext_lazy("fixed version %(thing)s of the terms of %(campaign)s"),
    ("platforms_submission", "update"): gettext_lazy("decided on submitted work in %(campaign)s: %(decision)s"),
    ("platforms_payment", "update"): gettext_lazy("settled a payment in %(campaign)s (%(thing)s): %(state)s"),
    ("platforms_handpayment", "insert"): gettext_lazy(
        "recorded in %(campaign)s what the lab paid a worker itself: %(thing)s"
    ),
    ("judgments_decision", "insert"): gettext_lazy("decided on work in %(campaign)s: %(thing)s"),
    ("judgments_pairdecision", "insert"): gettext_lazy("decided on a reported pair in %(campaign)s: %(thing)s"),
    ("judgments_adjudication", "insert"): gettext_lazy("settled a disagreement in %(campaign)s: %(thing)s"),
    ("judgments_adjudication", "delete"): gettext_lazy("deleted how a disagreement in %(campaign)s was settled"),
    ("judgments_adjudication", "update"): gettext_lazy("took back how a disagreement in %(campaign)s was settled"),
    ("core_user_groups", "insert"): gettext_lazy("put the account %(person)s into a group of the admin site"),
    ("core_user_groups", "delete"): gettext_lazy("took the account %(person)s out of a group of the admin site"),
    ("core_user_user_permissions", "insert"): gettext_lazy("gave %(person)s a permission at the admin site"),
    ("core_user_user_permissions", "delete"): gettext_lazy("took a permission at the admin site from %(person)s"),
    ("account_emailaddress", "insert"): gettext_lazy("added an e-mail address to the account %(person)s"),
    ("account_emailaddress", "update"): gettext_lazy("changed an e-mail address of the account %(person)s: %(fields)s"),
    ("account_emailaddress", "delete"): gettext_lazy("removed an e-mail address from the account %(person)s"),
    ("mfa_authenticator", "insert"): gettext_lazy("added a second factor to the account %(person)s: %(changes)s"),
    ("mfa_authenticator", "delete"): gettext_lazy("removed a second factor from the account %(person)s: %(changes)s"),
    ("socialaccount_socialaccount", "insert"): gettext_lazy("connected the account %(person)s with an institution's"),
    ("socialaccount_socialaccount", "delete"): gettext_lazy(
        "disconnected the account %(person)s from an institution's"
    ),
    ("api_token", "insert"): gettext_lazy("made an API token for %(person)s: %(changes)s"),
    ("api_token", "update"): gettext_lazy("changed an API token of %(person)s: %(fields)s"),
    ("api_token", "delete"): gettext_lazy("deleted an API token of %(person)s: %(changes)s"),
    ("tasks_testpair", "update"): gettext_lazy("decided on a test pair of %(campaign)s: %(changes)s"),
    ("platforms_message", "insert"): gettext_lazy("wrote to worker %(worker)s of %(campaign)s"),
    ("platforms_message", "update"): gettext_lazy("set aside a message of worker %(worker)s of %(campaign)s"),
    ("platforms_alarm", "update"): gettext_lazy("dismissed an alarm of %(campaign)s: %(thing)s"),
    ("judgments_bulkdecision", "insert"): gettext_lazy("decided on many at once in %(campaign)s: %(thing)s"),
    ("judgments_bulkdecision", "update"): gettext_lazy("undid a decision on many at once in %(campaign)s: %(thing)s"),
    ("judgments_alarmchoice", "insert"): gettext_lazy("chose which alarms %(person)s gets by mail: %(changes)s"),
    ("judgments_alarmchoice", "update"): gettext_lazy("chose which alarms %(person)s gets by mail: %(changes)s"),
    ("judgments_alarmchoice", "delete"): gettext_lazy("deleted which alarms %(person)s gets by mail"),
    ("session", "ended"): gettext_lazy("ended a session of %(person)s"),
    ("session", "logged-in"): gettext_lazy("logged in"),
    ("session", "logged-out"): gettext_lazy("logged out"),
    ("session", "reset-link"): gettext_lazy("made a link for a new password of %(person)s"),
    ("session", "failed"): gettext_lazy("failed to log in as %(person)s"),
    ("export", "made"): gettext_lazy("asked for the export files of %(campaign)s"),
    ("export", "downloaded"): gettext_lazy("downloaded %(thing)s of %(campaign)s"),
    ("judgments_retention", "insert"): gettext_lazy("set the periods of the lab %(lab)s: %(changes)s"),
    ("judgments_retention", "update"): gettext_lazy("changed the periods of the lab %(lab)s: %(changes)s"),
    ("judgments_retention", "delete"): gettext_lazy("deleted the periods of the lab %(lab)s"),
    ("api_webhook", "insert"): gettext_lazy("added a webhook at %(thing)s"),
    ("api_webhook", "update"): gettext_lazy("changed the webhook at %(thing)s: %(fields)s"),
    ("api_webhook", "delete"): gettext_lazy("deleted the webhook at %(thing)s"),
    ("leaderboards_board", "insert"): gettext_lazy("created the leaderboard %(thing)s"),
    ("leaderboards_board", "update"): gettext_lazy("changed the leaderboard %(thing)s: %(fields)s"),
    ("leaderboards_policyversion", "insert"): gettext_lazy("wrote the policy of a leaderboard: %(thing)s"),
    ("leaderboards_boardkey", "insert"): gettext_lazy("made a key of a leaderboard: %(thing)s"),
    ("leaderboards_boardkey", "update"): gettext_lazy("retired a key of a leaderboard: %(thing)s"),
    ("leaderboards_season", "insert"): gettext_lazy("added the season %(thing)s to a leaderboard"),
    ("leaderboards_season", "update"): gettext_lazy("changed the season %(thing)s of a leaderboard: %(changes)s"),
    ("leaderboards_seasonfile", "insert"): gettext_lazy("added a file to a season of a leaderboard: %(thing)s"),
    ("leaderboards_team", "insert"): gettext_lazy("registered the team %(thing)s"),
    ("leaderboards_team", "update"): gettext_lazy("changed the team %(thing)s: %(changes)s"),
    ("leaderboards_teammember", "insert"): gettext_lazy("added %(person)s to a team"),
    ("leaderboards_teammember", "delete"): gettext_lazy("removed %(person)s from a team"),
    ("leaderboards_submission", "insert"): gettext_lazy("submitted the run %(thing)s"),
    ("leaderboards_submission", "update"): gettext_lazy("changed the submission %(thing)s: %(fields)s"),
    ("leaderboards_opening", "insert"): gettext_lazy("opened %(thing)s of a submission"),
    ("leaderboards_upkeep", "insert"): gettext_lazy("set the upkeep of the leaderboard %(thing)s"),
    ("leaderboards_upkeep", "update"): gettext_lazy("changed the upkeep of the leaderboard %(thing)s: %(changes)s"),
    ("leaderboards_upkeepround", "insert"): gettext_lazy("proposed a round of upkeep: %(thing)s"),
    ("leaderboards_upkeepround", "update"): gettext_lazy("took a round of upkeep further, %(thing)s: %(changes)s"),
    ("leaderboards_spotcheck", "insert"): gettext_lazy("drew an entry of a leaderboard for a spot check: %(thing)s"),
    ("leaderboards_spotcheck", "update"): gettext_lazy("made a spot check of an entry: %(thing)s"),
    ("leaderboards_decision", "insert"): gettext_lazy("decided on a leaderboard: %(thing)s"),
    ("leaderboards_metadatarequest", "insert"): gettext_lazy("asked for other metadata of a submission: %(thing)s"),
    ("leaderboards_metadatarequest", "update"): gettext_lazy("decided on other metadata of a submission: %(thing)s"),
    ("erasure", "worker"): gettext_lazy("erased worker %(worker)s"),
    ("erasure", "campaign"): gettext_lazy("erased the whole campaign %(thing)s"),
    ("erasure", "member"): gettext_lazy("closed and erased the account %(person)s"),
    ("personal-data", "downloaded"): gettext_lazy("downloaded what is stored of worker %(worker)s"),
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
# What each background job is called, by the name that Celery knows it by.
JOBS: dict[str, Promise] = {
    "api.jobs.clear": gettext_lazy("the job that clears old answers of the API"),
    "api.jobs.deliver": gettext_lazy("the job that calls webhooks"),
    "api.jobs.count_submitted": gettext_lazy("the job that counts submitted work for webhooks"),
    "core.jobs.expire_audit": gettext_lazy("the job that removes old entries of the audit"),
    "judgments.jobs.check": gettext_lazy("the job that checks confirmed work"),
    "judgments.jobs.make_exports": gettext_lazy("the job that makes export files"),
    "judgments.jobs.summarize": gettext_lazy("the job that sums up work"),
    "judgments.jobs.ask_machines": gettext_lazy("the job that asks machine judges"),
    "judgments.jobs.advance_rounds": gettext_lazy("the job that plans and asks rounds"),
    "judgments.jobs.decide": gettext_lazy("the job that carries out decisions on many"),
    "judgments.jobs.watch": gettext_lazy("the job that watches campaigns and sends alarms"),
    "judgments.jobs.make_bundle": gettext_lazy("the job that makes release bundles"),
    "leaderboards.upkeep.jobs.keep_up": gettext_lazy("the job that keeps the answers of leaderboards current"),
    "judgments.jobs.erase_campaign": gettext_lazy("the job that erases a campaign's workers"),
    "judgments.jobs.erase_whole_campaign": gettext_lazy("the job that erases whole campaigns"),
    "judgments.jobs.keep_periods": gettext_lazy("the job that keeps the labs' periods"),
    "leaderboards.jobs.evaluate": gettext_lazy("the job that evaluates submissions to leaderboards"),
    "leaderboards.jobs.score_dev": gettext_lazy("the job that scores runs on dev queries"),
    "leaderboards.jobs.check_orders": gettext_lazy("the job that checks how sure the orders of leaderboards are"),
    "leaderboards.jobs.draw_spot_checks": gettext_lazy("the job that draws entries of leaderboards for spot checks"),
    "leaderboards.jobs.check_seasons": gettext_lazy("the job that looks at the entries of a season"),
    "leaderboards.jobs.publish_qrels": gettext_lazy("the job that publishes the eval qrels of closed seasons"),
    "leaderboards.jobs.forget": gettext_lazy("the job that deletes expired invitations of leaderboards"),
    "leaderboards.jobs.delete_unnamed_files": gettext_lazy(
        "the job that deletes files of leaderboards that no row names"
    ),
    "leaderboards.jobs.send_mails": gettext_lazy("the job that mails what happened to submissions"),
    "platforms.jobs.publish": gettext_lazy("the job that publishes HITs"),
    "platforms.jobs.sync": gettext_lazy("the job that collects submitted work"),
    "platforms.jobs.settle": gettext_lazy("the job that approves and pays"),
    "platforms.jobs.requeue": gettext_lazy("the job that puts HITs back"),
    "platforms.jobs.offer": gettext_lazy("the job that ends HITs that are done, or reopens them"),
    "platforms.jobs.reconcile": gettext_lazy("the job that compares the ledgers"),
    "platforms.jobs.compare": gettext_lazy("the job that compares a ledger"),
    "platforms.jobs.watch_balances": gettext_lazy("the job that watches balances at platforms"),
    "platforms.jobs.look_at_balance": gettext_lazy("the job that asks for the balance of drafts"),
    "platforms.jobs.hear": gettext_lazy("the job that asks about what a platform notified this site of"),
    "platforms.jobs.keep_notifications": gettext_lazy("the job that turns platforms' notifications on and off"),
    "platforms.jobs.messages": gettext_lazy("the job that sends and collects messages"),
    "pools.jobs.fetch_dataset": gettext_lazy("the job that fetches public collections"),
    "pools.jobs.work": gettext_lazy("the job that reads files and draws up campaigns"),
    "results.jobs.compute_results": gettext_lazy("the job that computes results"),
    "results.jobs.compare_machines": gettext_lazy("the job that compares machine judges with people"),
    "results.jobs.score_versions": gettext_lazy("the job that scores runs"),
    "results.jobs.add_versions": gettext_lazy("the job that makes versions of the preference qrels"),
    "results.jobs.finish_campaigns": gettext_lazy("the job that finishes campaigns"),
    "tasks.jobs.pack_waiting_campaigns": gettext_lazy("the job that packs HITs"),
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
        job = JOBS.get(entry.actor_name) or _("the background job %(name)s") % {"name": entry.actor_name}
        return _("%(job)s, for %(person)s") % {"job": job, "person": person} if person else str(job)
    if entry.actor_kind == Kind.COMMAND:
        return _("the command %(name)s") % {"name": entry.actor_name}
    if entry.actor_kind == Kind.DATABASE:
        return _("%(name)s, directly in the database") % {"name": entry.actor_name}
    return _("a visitor")


def jobs_called(words: str) -> list[str]:
    """Celery's names of the jobs with these words in what pages call them."""
    return [name for name, label in JOBS.items() if words.casefold() in str(label).casefold()]


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
            return gettext_lazy("barred worker %(worker)s")
        return gettext_lazy("lifted the bar of worker %(worker)s")
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
