"""The audit: what is recorded, with whose name, what it leaves out, and that nobody can change it."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.db import DatabaseError, connection, transaction
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from api.models import Token
from api.tokens import token_create
from config.celery import app
from core.alarms import alarm_raise, alarm_settle
from core.audit.lists import AuditFilter
from core.audit.notes import entry_note
from core.audit.origin import Kind, Origin, acting, because, shorten
from core.audit.retention import months_prepare, worker_forget
from core.audit.selectors import lines
from core.audit.tables import recorded_tables
from core.audit.words import jobs_by_name
from core.jobs import expire_audit
from core.models import AlarmChoice, AuditEntry, Lab, Membership, User
from judgments import quality
from judgments import services as judgment_services
from platforms.alarms import alarm_dismiss
from platforms.models import Message, PlatformAlarm, Publication
from pools import services as pool_services
from pools.models import Campaign
from review.models import BulkDecision
from runs.models import Collection
from tasks.models import Worker
from tasks.names import pseudonym
from tests import factories

pytestmark = pytest.mark.django_db


def newest(subject: str = "pools_campaign") -> AuditEntry:
    """The last entry about such a thing."""
    return AuditEntry.objects.filter(subject=subject).latest("id")


def said(entry: AuditEntry) -> str:
    """Who did what, as the page says it."""
    [line] = lines([entry])
    return f"{line.who} {line.what}"


def published(campaign: Campaign, **facts: Any) -> Publication:
    """The campaign at our marketplace."""
    terms = {"title": "Compare passages", "description": "Which of two is better?"} | facts
    return Publication.objects.create(campaign=campaign, **terms)


def browser_of(person: User) -> Client:
    """Somebody's browser."""
    client = Client()
    client.force_login(person)
    return client


# Why a table is not recorded, and which these are.
NOT_RECORDED = {
    "written where somebody leaves a team, which is recorded itself": {"leaderboards_formermember"},
    "what workers do: append-only rows, or rows that say themselves what became of them": {
        *("tasks_assignment", "tasks_practice", "tasks_consent", "judgments_judgment", "judgments_pairreport"),
        *("judgments_workernote", "tasks_panelvisit", "tasks_paydetail"),
    },
    "rows of something that is recorded itself": {
        *("runs_query", "runs_passage", "runs_qrel", "runs_importedpreference", "pools_versionquery"),
        "pools_roundpool",
        *("review_bulkrow", "tasks_invitation", "machines_machineanswer", "machines_machinereply"),
    },
    "follows from a campaign's settings, which are recorded, and stays as it was made when the campaign started": {
        *("pools_campaign_runs", "pools_pool", "pools_candidate", "pools_twin", "pools_alikepair", "pools_pair"),
        *("tasks_hit", "tasks_item", "judgments_reuse", "judgments_reusedjudgment"),
    },
    "follows from terms and decisions, which are recorded; the rows are the log of what was sent": {
        *("platforms_publishedhit", "platforms_operation", "platforms_messagecursor")
    },
    "computed, and computed again": {
        *("judgments_acceptance", "judgments_storedfile", "judgments_export", "judgments_assignmentsummary"),
        *(
            "judgments_workersummary",
            "judgments_campaignsummary",
            "results_result",
            "results_earlierresult",
            "results_resultlist",
        ),
        *(
            "judgments_disagreement",
            "protection_retentionresult",
            "results_versionscore",
            "results_machinecomparison",
            "platforms_ledgercomparison",
            "platforms_payrate",
            "platforms_accounthook",
            "platforms_runningcomparison",
            "platforms_studysync",
            "pools_countchange",
            "pools_recount",
        ),
    },
    "append-only, and says itself when it was made and who asked for it": {"leaderboards_ordercheck"},
    "found by a job whenever the entries of a season change": {"leaderboards_seasoncheck"},
    "who is the clock": {"core_lease"},
    "raised, sent and settled by jobs": {"core_alarm", "judgments_alarmepisode", "core_mail"},
    "a request whose row says who asked, and whose effect is recorded": {
        *("runs_job", "runs_upload", "runs_directupload", "results_versionrequest", "api_storedanswer"),
        *("api_delivery", "api_worktold"),
    },
    "what a submission's evaluation and its team's messages leave; openings and decisions are recorded": {
        *("leaderboards_artifact", "leaderboards_score", "leaderboards_release", "leaderboards_look"),
        *("leaderboards_submissionevent", "leaderboards_submissionmessage"),
        *("leaderboards_devscoring", "leaderboards_teaminvitation"),
    },
    "found and settled by the job of upkeep, whose rounds are recorded": {
        *("leaderboards_challenger", "leaderboards_challenger_submissions", "leaderboards_versionentry")
    },
    "logging in is noted as such": {"django_session", "usersessions_usersession", "socialaccount_socialtoken"},
    "a link that was mailed, and expires": {"account_emailconfirmation"},
    "nothing here uses it": {"socialaccount_socialapp", "auth_group", "auth_group_permissions"},
    "Django's own lists of models and permissions": {"auth_permission", "django_content_type"},
    "a log itself": {"core_auditentry", "django_admin_log"},
}


def test_the_triggers_are_on_exactly_the_tables_that_the_code_knows() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'audit'")
        assert {name for (name,) in cursor.fetchall()} == set(recorded_tables())


def test_every_model_is_recorded_or_named_with_the_reason_why_it_is_not() -> None:
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    reasons = [name for names in NOT_RECORDED.values() for name in names]
    assert sorted(reasons) == sorted(tables - set(recorded_tables()))
    assert tables >= set(recorded_tables())


def test_every_recorded_change_has_a_sentence_and_every_job_a_name() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT event_object_table::text, lower(event_manipulation) FROM information_schema.triggers "
            "WHERE action_statement LIKE '%core_audit_record%'"
        )
        for table, action in cursor.fetchall():
            assert recorded_tables()[table].sentence(action, {}), (table, action)
    assert len(jobs_by_name()) > 40
    assert all(str(words).startswith("the job that ") for words in jobs_by_name().values())


def test_a_token_is_recorded_by_its_name_and_neither_by_its_secret_nor_by_its_digest(rita: User) -> None:
    row, secret = token_create(user=rita, name="notebook", scopes=["read"], days=30, at=timezone.now())
    entry = newest("api_token")
    assert said(entry).endswith(
        "made an API token for rita: expires at from nothing to "
        + entry.changes["expires_at"][1]
        + ", name from nothing to notebook, scopes from nothing to ['read']"
    )
    count = AuditEntry.objects.count()
    Token.objects.update(last_used_at=timezone.now())
    assert AuditEntry.objects.count() == count
    Token.objects.update(revoked_at=timezone.now())
    assert set(newest("api_token").changes) == {"revoked_at"}
    text = json.dumps(list(AuditEntry.objects.values_list("changes", "thing", "why")))
    assert secret not in text and row.digest not in text and row.start not in text


def test_factors_and_choices_of_alarms_are_recorded_under_the_persons_name(rita: User) -> None:
    factor = Authenticator.objects.create(user=rita, type="totp", data={"secret": "JBSWY3DP"})
    assert said(newest("mfa_authenticator")).endswith(
        "added a second factor to the account rita: type from nothing to totp"
    )
    count = AuditEntry.objects.count()
    factor.data = {"secret": "OTHER"}
    factor.save()
    assert AuditEntry.objects.count() == count
    AlarmChoice.objects.create(user=rita, reach="none", topics=["money"])
    assert "chose which alarms rita gets by mail: reach from nothing to none" in said(newest("core_alarmchoice"))
    assert "JBSWY3DP" not in json.dumps(list(AuditEntry.objects.values_list("changes", flat=True)))


def test_a_decision_on_many_is_recorded_with_its_reason_and_its_undoing(campaign: Campaign, rita: User) -> None:
    bulk = BulkDecision.objects.create(
        campaign=campaign, action="exclude", why="They guessed", by=rita, at=timezone.now()
    )
    entry = newest("review_bulkdecision")
    assert (entry.thing, entry.why, entry.campaign_id) == ("exclude", "They guessed", campaign.pk)
    BulkDecision.objects.filter(pk=bulk.pk).update(undone_by=rita, undone_at=timezone.now())
    assert said(newest("review_bulkdecision")).endswith("undid a decision on many at once in pilot: exclude")


def test_a_message_is_recorded_without_what_it_says_and_a_workers_own_is_not(
    campaign: Campaign, rita: User, alice: Worker
) -> None:
    publication = published(campaign)
    count = AuditEntry.objects.count()
    facts = {"publication": publication, "worker": alice, "subject": "Pay", "at": timezone.now()}
    received = Message.objects.create(**facts, state="received", text="I am Alice Liddell")
    assert AuditEntry.objects.count() == count
    Message.objects.create(**facts, state="planned", text="Dear Alice", by=rita)
    assert said(newest("platforms_message")).endswith(f"wrote to worker {pseudonym(campaign, alice.pk)} of pilot")
    Message.objects.filter(pk=received.pk).update(state="set-aside")
    assert said(newest("platforms_message")).endswith(
        f"set aside a message of worker {pseudonym(campaign, alice.pk)} of pilot"
    )
    Message.objects.filter(by=rita).update(state="sent")
    assert AuditEntry.objects.count() == count + 2
    assert "Alice" not in json.dumps(list(AuditEntry.objects.values_list("changes", "thing", "why")))


def test_an_alarm_that_a_person_dismissed_is_recorded_and_one_that_is_settled_is_not(
    campaign: Campaign, rita: User
) -> None:
    publication, at = published(campaign), timezone.now()
    first, second = (
        alarm_raise(of=publication, kind=kind, text="Look", at=at)
        for kind in (PlatformAlarm.LEDGER, PlatformAlarm.UNSEEN)
    )
    count = AuditEntry.objects.count()
    with acting(lambda: Origin(Kind.PERSON, rita.pk)):
        assert alarm_settle(of=publication, kind=first.kind, at=at)
        assert AuditEntry.objects.count() == count
        assert alarm_dismiss(alarm=second, by=rita, at=at)
        assert not alarm_dismiss(alarm=second, by=rita, at=at)
    assert AuditEntry.objects.count() == count + 1
    assert said(newest("alarm")) == "rita dismissed an alarm of pilot: unseen"


def test_pausing_stopping_and_archiving_ask_why_and_keep_the_answer(campaign: Campaign, rita: User) -> None:
    publication = published(campaign, state="open")
    client = browser_of(rita)
    page = client.get(reverse("campaigns:campaign", args=[campaign.pk])).text
    assert page.count('name="why"') == 1
    client.post(reverse("platforms:move", args=[campaign.pk]), {"to": "paused", "why": "The wording is unclear"})
    assert newest().why == newest("platforms_publication").why == "The wording is unclear"
    client.post(reverse("platforms:resume", args=[campaign.pk]))
    assert newest("platforms_publication").why == ""
    assert 'name="why"' in client.get(reverse("platforms:publication", args=[campaign.pk])).text
    form = "application/x-www-form-urlencoded"
    client.post(reverse("platforms:stop", args=[campaign.pk]), "why=Too+dear", content_type=form)
    assert newest("platforms_publication").why == "Too dear"
    publication.refresh_from_db()
    assert publication.state == "stopped"
    Campaign.objects.update(state="closed")
    for name in ("campaigns:campaign", "campaigns:settings"):
        assert client.get(reverse(name, args=[campaign.pk])).text.count('name="why"') == 1
    client.post(reverse("campaigns:campaign_archive", args=[campaign.pk]), "why=It+is+over", content_type=form)
    assert said(newest()) == "rita put the campaign pilot into the archive"
    assert newest().why == "It is over"


def test_launching_consent_and_roles_ask_why_and_keep_the_answer(collection: Collection, rita: User) -> None:
    Membership.objects.update(role="admin")
    anna = factories.member(collection.lab, "viewer", "Anna")
    draft = factories.campaign(collection, tests=3, start=False)
    client = browser_of(rita)

    def ask(page: str, key: int, change: str, keys: list[int], **sent: str) -> AuditEntry:
        assert 'name="why"' in client.get(reverse(page, args=[key])).text, page
        form = "application/x-www-form-urlencoded"  # as browsers send it
        answer = client.post(reverse(change, args=keys), urlencode(sent), content_type=form)
        assert answer.status_code == 303, change
        return AuditEntry.objects.latest("id")

    wrote = ask(
        "tasks:wording",
        draft.pk,
        "tasks:wording",
        [draft.pk],
        why="The board wants it",
        **{"consent-text": "Stop at will."},
    )
    assert (said(wrote), wrote.why) == ("rita wrote version 1 of the consent text of pilot", "The board wants it")
    started = ask("campaigns:campaign", draft.pk, "tasks:launch", [draft.pk], why="All agree")
    assert (said(started), started.why) == ("rita started the campaign pilot", "All agree")
    membership = anna.memberships.get()
    keys = [collection.lab_id, membership.pk]
    changed = ask("core:people", keys[0], "core:role", keys, role="researcher", why="She pays now")
    assert (changed.subject, changed.why) == ("core_lab_members", "She pays now")
    removed = ask("core:people", keys[0], "core:remove", keys, role="researcher", why="She left")
    assert (said(removed), removed.why) == (f"rita removed Anna from the lab {collection.lab}", "She left")


def test_a_bulk_update_in_raw_sql_is_recorded_row_by_row_and_an_update_that_changes_nothing_is_not(
    campaign: Campaign,
) -> None:
    factories.campaign(campaign.collection, "second")
    before = AuditEntry.objects.count()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pools_campaign SET reward = 3.5")
        assert cursor.rowcount == 2
    assert AuditEntry.objects.count() == before + 2
    entry = AuditEntry.objects.get(
        pk__gt=0, subject="pools_campaign", action="update", key=campaign.pk, changes__has_key="reward"
    )
    assert entry.changes == {"reward": [2.0, 3.5]}
    assert (entry.lab_id, entry.campaign_id, entry.campaign) == (campaign.lab_id, campaign.pk, "pilot")
    Campaign.objects.update(reward="3.50")
    Campaign.objects.update(revision=77)
    assert AuditEntry.objects.count() == before + 2


def test_what_reaches_the_database_past_the_site_is_recorded_under_the_databases_user(
    campaign: Campaign, django_user_model: Any
) -> None:
    with connection.cursor() as cursor:
        cursor.cursor.execute("UPDATE pools_campaign SET name = 'taken over'")  # the driver's own, past Django
    entry = newest()
    assert entry.actor_kind == Kind.DATABASE
    assert said(entry).endswith("directly in the database renamed a campaign: name from pilot to taken over")
    assert said(entry).startswith(connection.settings_dict["USER"] or "")


def test_a_request_is_recorded_with_its_person_network_reason_and_id(campaign: Campaign, rita: User) -> None:
    client = browser_of(rita)
    answer = client.post(
        reverse("campaigns:campaign_archive", args=[campaign.pk]), {"why": "It is over."}, REMOTE_ADDR="203.0.113.77"
    )
    assert answer.status_code in (200, 303, 409)
    answer = client.post(
        reverse("campaigns:campaign_rename", args=[campaign.pk]),
        {"name": "pilot 2", "why": "A better name"},
        REMOTE_ADDR="203.0.113.77",
    )
    entry = newest()
    assert said(entry) == "rita renamed a campaign: name from pilot to pilot 2"
    assert (entry.actor_kind, entry.actor_id, entry.why) == (Kind.PERSON, rita.pk, "A better name")
    assert entry.address == "203.0.113.0/24"
    assert entry.request_id == answer["X-Request-ID"]
    pool_services.campaign_rename(campaign=campaign, name="pilot 3")
    assert newest().actor_kind == Kind.COMMAND  # nothing of the request is left over


def test_jobs_and_commands_are_recorded_by_name_and_jobs_with_who_asked_for_them(
    campaign: Campaign, rita: User
) -> None:
    with acting(lambda: Origin(Kind.JOB, rita.pk, "runs.jobs.work")):
        Campaign.objects.update(state="paused")
    assert said(newest()) == "the job that reads files and draws up campaigns, for rita paused the campaign pilot"
    for words, is_listed in (("reads files", True), ("runs.jobs", True), ("approves", False)):
        assert AuditFilter({"who": words}, queryset=AuditEntry.objects.all()).qs.exists() is is_listed
    with because("The lab has closed"):
        Campaign.objects.update(state="open")
    assert newest().why == "The lab has closed"
    assert "resumed the campaign pilot" in said(newest())
    assert said(newest()).startswith("the command ")


def test_a_job_carries_the_person_who_asked_for_it(rita: User) -> None:
    headers: dict[str, object] = {}
    with acting(lambda: Origin(Kind.PERSON, rita.pk)):
        from config.celery import _pass_request_on

        _pass_request_on(headers)
    assert headers["asked_by"] == rita.pk


def test_secrets_and_what_names_a_worker_are_never_in_the_audit(campaign: Campaign, rita: User, alice: Worker) -> None:
    rita.set_password("correct horse battery staple")
    rita.email = "rita@example.org"
    rita.save()
    assert newest("core_user").changes == {"password": None, "email": None}
    Worker.objects.filter(pk=alice.pk).update(label="Alice Liddell", external_id="A1B2C3D4E5F6G7")
    assert newest("tasks_worker").changes == {"label": None, "external_id": None}
    Campaign.objects.update(pseudonym_key=b"1" * 32, link="another")
    assert newest().changes == {"pseudonym_key": None, "link": None}
    text = json.dumps(list(AuditEntry.objects.values_list("changes", "thing", "why")))
    for secret in ("Liddell", "Alice", "A1B2C3", "example.org", "horse", rita.password, campaign.link):
        assert secret not in text


def test_a_decision_is_recorded_with_its_reason_until_the_worker_is_forgotten(
    campaign: Campaign, rita: User, alice: Worker
) -> None:
    quality.worker_bar(worker=alice, campaign=campaign, why="Alice clicks", by=rita, at=timezone.now())
    entry = newest("judgments_decision")
    assert (entry.why, entry.worker_id, entry.thing) == ("Alice clicks", alice.pk, "barred")
    assert said(newest("tasks_worker")).endswith(f"barred worker {pseudonym(campaign, alice.pk)}")
    others = list(AuditEntry.objects.exclude(worker_id=alice.pk).order_by("pk").values())
    worker_forget(worker_id=alice.pk)
    entry.refresh_from_db()
    assert (entry.why, entry.thing) == ("", "")
    assert newest("tasks_worker").changes == {"barred_at": None}
    assert list(AuditEntry.objects.exclude(worker_id=alice.pk).order_by("pk").values()) == others


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core_auditentry SET why = 'because'",
        "DELETE FROM core_auditentry",
        "SET LOCAL bestknown.audit_open = 'on'; DELETE FROM core_auditentry",
        "TRUNCATE core_auditentry",
    ],
)
def test_no_entry_can_be_changed_deleted_or_emptied_away(statement: str, campaign: Campaign) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE core_auditentry ENABLE TRIGGER audit_never_emptied")
    before = list(AuditEntry.objects.values())
    assert before
    with pytest.raises(DatabaseError, match="never changed or deleted"), transaction.atomic():
        connection.cursor().execute(statement)
    assert list(AuditEntry.objects.values()) == before


def test_no_table_that_is_audited_can_be_emptied_without_a_trace(campaign: Campaign) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE tgfoid = 'core_audit_record'::regproc"
        )
        tables = {name for (name,) in cursor.fetchall()}
        cursor.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'audit_not_emptied'")
        assert {name for (name,) in cursor.fetchall()} == tables >= {"core_lab_members", "pools_campaign"}
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE core_lab_members ENABLE TRIGGER audit_not_emptied")
    with pytest.raises(DatabaseError, match="rows of core_lab_members are audited: delete them"), transaction.atomic():
        connection.cursor().execute("TRUNCATE core_lab_members")
    assert campaign.lab.members.exists()


def test_old_entries_are_removed_after_the_period_and_young_ones_never(campaign: Campaign, settings: Any) -> None:
    young = AuditEntry.objects.count()
    old = AuditEntry.objects.latest("id")
    old.pk, old.at = None, timezone.now() - timedelta(days=400)
    old.save(force_insert=True)
    for days, count in ((0, 0), (500, 0), (365, 1), (365, 0)):
        settings.AUDIT_KEEP_DAYS = days
        assert expire_audit() == f"entries removed: {count}"
    assert AuditEntry.objects.count() == young
    with pytest.raises(DatabaseError, match="30 days"), transaction.atomic():
        connection.cursor().execute("SELECT core_audit_expire(now(), 10, NULL)")
    assert app.conf.beat_schedule["remove old entries of the audit"]["task"] == "core.jobs.expire_audit"


MONTHS = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'core_auditentry'::regclass"


def partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(MONTHS)
        return {name for (name,) in cursor.fetchall()}


def test_a_month_that_is_over_goes_with_its_partition(campaign: Campaign, settings: Any) -> None:
    settings.AUDIT_KEEP_DAYS = 365
    with connection.cursor() as cursor:
        # The month in which the migration ran holds all earlier ones: here it begins in March 2020.
        cursor.execute(
            "SELECT oid::regclass::text, substring(pg_get_expr(relpartbound, oid) FROM 'TO .*') FROM pg_class "
            "WHERE relispartition AND pg_get_expr(relpartbound, oid) LIKE '%MINVALUE%'"
        )
        first, until = cursor.fetchone()
        cursor.execute(f"ALTER TABLE core_auditentry DETACH PARTITION {first}")
        bounds = f"FROM ('2020-03-01 00:00+00') {until}"
        cursor.execute(f"ALTER TABLE core_auditentry ATTACH PARTITION {first} FOR VALUES {bounds}")
    before, young = partitions(), AuditEntry.objects.count()
    assert months_prepare(at=datetime(2019, 12, 24, tzinfo=UTC)) == 3
    old = AuditEntry.objects.latest("id")
    old.pk, old.at = None, datetime(2020, 1, 31, tzinfo=UTC)
    old.save(force_insert=True)
    assert partitions() - before == {f"core_auditentry_y{month}" for month in ("2019m12", "2020m01", "2020m02")}
    with pytest.raises(DatabaseError, match="never changed or deleted"), transaction.atomic():
        connection.cursor().execute("TRUNCATE core_auditentry_y2020m01")

    assert expire_audit() == "entries removed: 1"

    assert (partitions(), AuditEntry.objects.count()) == (before, young)


def test_a_month_whose_entries_came_too_early_stays_as_it_is(campaign: Campaign) -> None:
    entry = AuditEntry.objects.latest("id")
    entry.pk, entry.at = None, timezone.now() + timedelta(days=400)
    entry.save(force_insert=True)

    assert months_prepare(at=entry.at) == 2
    assert months_prepare(at=entry.at) == 0


def test_log_ins_and_tries_that_fail_are_noted_without_what_was_typed(rita: User) -> None:
    rita.set_password("correct horse battery")
    rita.save()
    client = Client()
    for name, password in (("my-secret-password", "rita"), ("rita", "wrong"), ("rita", "correct horse battery")):
        client.post(reverse("login"), {"username": name, "password": password}, REMOTE_ADDR="198.51.100.9")
    entries = list(AuditEntry.objects.filter(subject="session").order_by("id"))
    assert [(entry.action, entry.key) for entry in entries] == [
        ("failed", ""),
        ("failed", str(rita.pk)),
        ("logged-in", str(rita.pk)),
    ]
    assert said(entries[1]) == "a visitor failed to log in as rita"
    assert said(entries[2]) == "rita logged in"
    assert {entry.address for entry in entries} == {"198.51.100.0/24"}
    assert "my-secret" not in json.dumps([entry.changes for entry in entries])


def test_judging_asks_no_more_queries_than_it_did_and_writes_no_entry(campaign: Campaign, alice: Worker) -> None:
    assignment = factories.take(alice, campaign)
    before = AuditEntry.objects.count()
    with CaptureQueriesContext(connection) as queries:
        judgment_services.judgment_save(
            assignment_id=assignment.pk, position=1, preferred="left", shown_at=timezone.now(), at=timezone.now()
        )
    assert len(queries) == 1
    assert "set_config" not in queries[0]["sql"]
    factories.do(alice, campaign)
    assert AuditEntry.objects.count() == before


def test_a_lab_sees_its_own_entries_and_an_admin_of_the_site_sees_all(
    campaign: Campaign, rita: User, ada: User
) -> None:
    ruth = factories.user("ruth")
    factories.lab("Ruth's lab", ruth)
    entry_note(subject="session", action="failed")
    Membership.objects.update(role="admin")
    of_rita = browser_of(rita).get(reverse("audit:entries"))
    assert "created the campaign pilot" in of_rita.content.decode()
    assert "Ruth" not in of_rita.content.decode()
    assert "failed to log in" not in of_rita.content.decode()
    of_ruth = browser_of(ruth)
    for address in (reverse("audit:entries"), reverse("audit:csv"), reverse("audit:json")):
        answer = of_ruth.get(address, {"campaign": campaign.pk})
        assert "pilot" not in answer.getvalue().decode()
    of_ada = browser_of(ada).get(reverse("audit:entries")).content.decode()
    assert "created the campaign pilot" in of_ada
    assert "failed to log in" in of_ada
    assert Client().get(reverse("audit:entries")).status_code == 302


def test_entries_are_searched_filtered_and_downloaded(campaign: Campaign, rita: User, ada: User) -> None:
    with acting(lambda: Origin(Kind.PERSON, rita.pk, why="=cmd() is over")):
        Campaign.objects.update(state="paused")
    Membership.objects.update(role="admin")
    rita_sees = browser_of(rita)
    page = reverse("audit:entries")
    today = timezone.now().date()
    for is_listed, query in (
        (True, {"who": "rit"}),
        (True, {"q": "is over"}),
        (True, {"about": "campaigns", "since": today, "until": today}),
        (True, {"campaign_name": "pil"}),
        (True, {"campaign": campaign.pk}),
        (False, {"who": "ada"}),
        (False, {"until": today - timedelta(days=1)}),
        (False, {"about": "payments"} | {"about": "money"}),
        (False, {"campaign": campaign.pk + 1}),
    ):
        text = rita_sees.get(page, query).content.decode()
        assert ("paused the campaign pilot" in text) is is_listed, query
    answer = rita_sees.get(reverse("audit:csv"), {"who": "rita", "about": "campaigns"})
    [row] = csv.DictReader(io.StringIO(answer.getvalue().decode()))
    assert (row["who"], row["what"], row["why"]) == ("rita", "paused the campaign pilot", "'=cmd() is over")
    answer = rita_sees.get(reverse("audit:json"), {"campaign": campaign.pk, "who": "rita"})
    assert [entry["changes"] for entry in json.loads(answer.getvalue())] == [{"state": ["open", "paused"]}]
    assert AuditEntry.objects.filter(subject="audit", actor_id=rita.pk).count() == 2
    filters = {"q": "AWORKERSID", "who": "rita", "about": "campaigns"}
    rita_sees.get(reverse("audit:csv"), filters)
    newest = AuditEntry.objects.filter(subject="audit").latest("pk")
    assert QueryDict(newest.changes["filter"]).dict() == filters | {"q": "…", "who": "…"}  # words may be a worker's id
    empty = rita_sees.get(reverse("audit:json"), {"who": "nobody at all"})
    assert json.loads(empty.getvalue()) == []


def test_what_was_done_to_a_person_is_found_by_their_name(lab: Lab, rita: User) -> None:
    Membership.objects.update(role="admin")
    anna = factories.member(lab, "viewer", "Anna")
    with acting(lambda: Origin(Kind.PERSON, rita.pk)):
        Membership.objects.filter(user=anna).update(role="researcher")
    page = reverse("audit:entries")
    text = browser_of(rita).get(page, {"q": "anna"}).text
    assert "changed the role of Anna" in text
    assert "changed the role" not in browser_of(rita).get(page, {"q": "berta"}).text


def test_addresses_are_shortened_to_a_network() -> None:
    assert [shorten(address) for address in ("203.0.113.77", "2001:db8:1:2:3::4", "0.0.0.0")] == [
        "203.0.113.0/24",
        "2001:db8:1::/48",
        "",
    ]
