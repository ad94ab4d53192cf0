"""Closing accounts, and erasing whole campaigns: what goes, what stays, and what stands in the way."""

from itertools import chain
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import DatabaseError, connection, models, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from api.tokens import token_create
from core import people
from core.audit.selectors import lines
from core.errors import NotNow
from core.models import AlarmChoice, AuditEntry, Lab, MemberInvitation, User
from judgments import quality, refreshing
from judgments.models import Decision, Judgment, Reuse, StoredFile
from platforms.models import Payment, Publication
from pools.models import Campaign, Pair
from protection import jobs as protection_jobs
from protection.campaign_erasing import whole_erase, whole_plan
from protection.closing import account_close, closing_plan
from protection.erasing import campaign_erase, erasure_plan
from review.models import BulkDecision
from runs.models import Run
from tasks.models import Assignment, ConsentText, Hit, Item, TestPair, Worker
from tests import factories
from tests.protection.test_erasing import everything

pytestmark = pytest.mark.django_db
PASSWORD = "four quiet cellos"
SECRETS = (
    "lidia.kowalska",
    "Lidia",
    "Kowalska",
    "lidia@example.org",
    "203.0.113",
    "Lidias-browser",
    "Lidias laptop",
    "Lidias phone",
)


@pytest.fixture
def lidia(campaign: Campaign, alice: Worker) -> User:
    """A researcher who has been here for years: invited, with factors, tokens and decisions."""
    invited = people.invitation_add(
        lab=campaign.lab, role="researcher", email="lidia@example.org", by=factories.user("ann"), at=timezone.now()
    )
    user = User(username="lidia.kowalska", first_name="Lidia", last_name="Kowalska", email="lidia@example.org")
    user.set_password(PASSWORD)
    people.invitation_accept(invitation=invited, user=user, at=timezone.now())
    token_create(user=user, name="Lidias laptop", scopes=["read"], days=30, at=timezone.now())
    AlarmChoice.objects.create(user=user, reach="own", topics=["money"])
    Campaign.objects.filter(pk=campaign.pk).update(created_by=user)
    log_in(user).post(
        reverse("campaigns:campaign_rename", args=[campaign.pk]), {"name": "renamed"}, REMOTE_ADDR="203.0.113.7"
    )
    quality.worker_bar(worker=alice, campaign=campaign, why="Clicks", by=user, at=timezone.now())
    user.refresh_from_db()
    return user


def log_in(user: User) -> Client:
    """A browser in which somebody has typed their password."""
    client = Client(headers={"user-agent": "Lidias-browser"}, REMOTE_ADDR="203.0.113.7")
    sent = client.post(reverse("login"), {"username": user.username, "password": PASSWORD})
    assert sent.status_code == 302
    return client


def test_after_closing_no_table_says_who_it_was_and_what_was_done_is_known(lidia: User, campaign: Campaign) -> None:
    Authenticator.objects.create(user=lidia, type="totp", data={"secret": "Lidias phone"})
    before = everything()
    assert [secret for secret in SECRETS if secret not in before] == []
    acted = AuditEntry.objects.filter(actor_id=lidia.pk).count()
    token = lidia.tokens.get()
    people.invitation_add(
        lab=factories.lab("other"),
        role="viewer",
        email="LIDIA@Example.org",
        by=factories.user("zoe"),
        at=timezone.now(),
    )

    plan = account_close(user=lidia, at=timezone.now(), why="The contract has ended")

    after = everything()
    leaks = [line for line in after.split("\n") if any(word in line for word in (*SECRETS, token.digest, token.start))]
    assert leaks == []
    assert plan.goes_on == ["renamed"]
    lidia.refresh_from_db()
    assert (lidia.username, lidia.is_active, lidia.has_usable_password()) == (f"closed-{lidia.pk}", False, False)
    assert not (lidia.labs.exists() or UserSession.objects.filter(user=lidia).exists())
    assert not EmailAddress.objects.filter(user=lidia).exists()
    assert not MemberInvitation.objects.filter(email__iexact="lidia@example.org").exists()
    assert Decision.objects.get(by=lidia).kind == "barred"
    entries = AuditEntry.objects.filter(actor_id=lidia.pk)
    assert entries.count() == acted
    [line] = lines(entries.filter(subject="pools_campaign").order_by("-id")[:1])
    assert f"{line.who} {line.what}".startswith(f"closed-{lidia.pk} renamed a campaign")
    [line] = lines(AuditEntry.objects.filter(subject="erasure"))
    assert (line.what, line.entry.why) == (
        f"closed and erased the account closed-{lidia.pk}", "The contract has ended",
    )  # fmt: skip

    rows = everything()
    assert account_close(user=lidia, at=timezone.now()).is_done
    assert everything() == rows


def test_a_closing_that_fails_at_its_end_leaves_everything_as_it_was(
    lidia: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything()

    def fail(**_named: object) -> None:
        raise OSError

    monkeypatch.setattr("protection.closing.person_forget", fail)
    with pytest.raises(OSError), transaction.atomic():
        account_close(user=lidia, at=timezone.now())
    assert everything() == before


def test_the_last_admin_of_a_lab_or_of_the_site_cannot_close_the_account(lab: Lab, ada: User) -> None:
    agnes = factories.member(lab, "admin", "agnes")
    for user, reason in ((agnes, "only admin of “Rita's lab”"), (ada, "only admin of the site")):
        assert reason in closing_plan(user).obstacle
        with pytest.raises(people.LastAdmin, match=reason):
            account_close(user=user, at=timezone.now())
        user.refresh_from_db()
        assert user.is_active and user.closed_at is None


def test_every_relation_to_a_person_is_thought_of() -> None:
    """Whoever adds a table about people says here whether its rows go with an account (CASCADE) or name it for ever."""
    goes = {
        *("admin.LogEntry", "account.EmailAddress", "mfa.Authenticator", "usersessions.UserSession"),
        *("socialaccount.SocialAccount", "core.User_groups", "core.User_user_permissions", "core.Membership"),
        *("core.AlarmChoice", "core.Mail", "api.Token", "api.StoredAnswer"),
        *("leaderboards.TeamMember", "leaderboards.FormerMember", "leaderboards.DevScoring"),
    }
    stays = {
        *("core.MemberInvitation", "runs.PreferenceImport", "runs.OutsideScores", "runs.DirectUpload"),
        "pools.Campaign",
        *("pools.CampaignTemplate", "platforms.LabAccount"),
        *(
            "pools.QrelsVersion",
            "pools.Round",
            "runs.Job",
            "tasks.TestPair",
            "platforms.TermsVersion",
            "platforms.Submission",
        ),
        *(
            "platforms.Payment",
            "platforms.HandPayment",
            "platforms.Message",
            "judgments.WorkerNote",
            "judgments.PairDecision",
            "machines.MachineAsking",
        ),
        *(
            "judgments.Decision",
            "review.BulkDecision",
            "judgments.Adjudication",
            "machines.MachineJudge",
            "api.Webhook",
            "results.VersionRequest",
            "results.ShownResults",
        ),
        *(
            f"leaderboards.{name}"
            for name in (
                *("Board", "PolicyVersion", "BoardKey", "Team", "TeamInvitation", "Submission", "Look", "Opening"),
                *("SubmissionEvent", "Decision", "SubmissionMessage", "MetadataRequest", "Upkeep", "UpkeepRound"),
                *("OrderCheck", "SpotCheck"),
            )
        ),
    }
    models_by_end: dict[bool, set[str]] = {True: set(), False: set()}
    for relation in User._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ForeignObjectRel) and not relation.many_to_many:
            models_by_end[relation.on_delete is models.CASCADE].add(relation.related_model._meta.label)
    assert (models_by_end[True], models_by_end[False]) == (goes, stays)


def test_somebody_closes_the_own_account_and_is_logged_out(lidia: User) -> None:
    client = log_in(lidia)
    login = client.get(reverse("protection:account_close")).headers["Location"]
    assert login.startswith("/account/reauthenticate/")
    client.post(login, {"password": PASSWORD})
    page = client.get(reverse("protection:account_close"))
    assert "Close your account?" in page.text and "renamed" in page.text
    sent = client.post(reverse("protection:account_close"), {"why": "I leave"})
    assert sent.headers["Location"] == reverse("login")
    assert client.get(reverse("core:account")).status_code == 302
    refused = Client().post(reverse("login"), {"username": "lidia.kowalska", "password": PASSWORD})
    assert refused.status_code == 200 and User.objects.get(pk=lidia.pk).closed_at is not None


def test_an_admin_of_the_site_closes_a_members_account_and_an_admin_of_the_lab_cannot(
    lidia: User, campaign: Campaign, ada: User
) -> None:
    address = reverse("protection:member_close", args=[campaign.lab_id, lidia.memberships.get().pk])
    agnes = Client()
    agnes.force_login(factories.member(campaign.lab, "admin", "agnes"))
    assert [agnes.get(address).status_code, agnes.post(address).status_code] == [403, 403]
    admin = Client()
    admin.force_login(ada)
    assert "Close the account of lidia.kowalska?" in admin.get(address).text
    assert admin.post(address).headers["Location"] == reverse("core:people", args=[campaign.lab_id])
    assert User.objects.get(pk=lidia.pk).closed_at is not None


# --- whole campaigns


@pytest.fixture
def closed(campaign: Campaign, rita: User, alice: Worker, bob: Worker) -> Campaign:
    """A closed campaign that somebody judged by a link, with decisions and files; Bob works elsewhere, too."""
    factories.do(alice, campaign)
    factories.do(bob, campaign)
    quality.worker_bar(worker=alice, campaign=campaign, why="Alice clicks", by=rita, at=timezone.now())
    refreshing.export_refresh(campaign=campaign, anew=True)
    elsewhere = factories.campaign(campaign.collection, "elsewhere", start=False)
    bob.invitations.create(campaign=elsewhere)
    Campaign.objects.filter(pk=campaign.pk).update(state="closed")
    campaign.refresh_from_db()
    return campaign


def test_a_whole_campaign_goes_with_all_that_is_its_own_and_nothing_else(
    closed: Campaign, bob: Worker, django_capture_on_commit_callbacks: Any
) -> None:
    file = StoredFile.objects.filter(campaign=closed).latest("pk").file
    assert file.storage.exists(file.name)
    counts = (Run.objects.count(), closed.collection.qrels.count(), Campaign.objects.count() - 1)
    with django_capture_on_commit_callbacks(execute=True):
        assert protection_jobs.erase_whole_campaign(closed.pk, "The consent has ended") == "erased"
    assert not Campaign.objects.filter(pk=closed.pk).exists()
    assert not (Judgment.objects.exists() or Decision.objects.exists() or Assignment.objects.exists())
    assert list(Worker.objects.filter(lab=closed.lab)) == [bob]
    assert (Run.objects.count(), closed.collection.qrels.count(), Campaign.objects.count()) == counts
    assert not file.storage.exists(file.name)
    [line] = lines(AuditEntry.objects.filter(subject="erasure"))
    assert (line.what, line.entry.why) == ("erased the whole campaign pilot", "The consent has ended")
    assert "Alice clicks" not in everything()
    assert protection_jobs.erase_whole_campaign(closed.pk) == "nothing to erase"


def test_an_erasure_that_fails_raises_an_alarm_and_deletes_nothing(closed: Campaign) -> None:
    before = Judgment.objects.count()
    with connection.cursor() as cursor:
        cursor.execute("ALTER FUNCTION judgments_erase_campaign(bigint) RENAME TO judgments_away")
    assert protection_jobs.erase_whole_campaign(closed.pk, "The consent has ended") == "not erased"
    assert Judgment.objects.count() == before
    alarm = closed.alarms.get(kind="erasing", settled_at=None)
    assert "judgments_erase_campaign" in alarm.text and "Nothing of it was deleted." in alarm.text

    with connection.cursor() as cursor:
        cursor.execute("ALTER FUNCTION judgments_away(bigint) RENAME TO judgments_erase_campaign")
    assert protection_jobs.erase_whole_campaign(closed.pk, "The consent has ended") == "erased"


def test_what_goes_has_the_same_keys_in_every_language(closed: Campaign, lidia: User, alice: Worker) -> None:
    at = timezone.now()

    def keys() -> list[list[str]]:
        plans = (whole_plan(closed, at=at), closing_plan(lidia), erasure_plan(alice, at=at))
        return [list(plan.as_json()["goes"]) for plan in plans]

    before = keys()
    with translation.override("de"):
        assert keys() == before
    assert "judgments" in before[0] and "core.membership" in before[1] and "identity" in before[2]
    assert all(key.isascii() and " " not in key for key in chain.from_iterable(before))


def test_only_pay_that_no_platform_pays_is_warned_of(closed: Campaign) -> None:
    at, work = timezone.now(), Assignment.objects.filter(campaign=closed, owed__gt=0).earliest("pk")
    before = whole_plan(closed, at=at).owed
    assert before >= work.owed
    Assignment.objects.filter(pk=work.pk).update(platform_assignment_id="AT-THE-PLATFORM")
    assert whole_plan(closed, at=at).owed == before - work.owed


def test_what_rests_on_a_campaign_keeps_it_and_is_named(closed: Campaign) -> None:
    at = timezone.now()
    assert whole_plan(closed, at=at).obstacles == []
    publication = Publication.objects.create(campaign=closed, title="t", description="d")
    assert whole_plan(closed, at=at).obstacles == []
    payment = Payment.objects.create(
        publication=publication,
        assignment=Assignment.objects.earliest("pk"),
        purpose="reward",
        amount="1",
        fee="0",
        state="paid",
        owed_at=at,
        paid_at=at,
    )
    closed.versions.create(
        collection=closed.collection, number=1, revision=1, made_at=at, why="first", software="0", added=0, changed=0,
        unchanged=0, unsettled=0, held_back=0, qrels=1, sha256="0",
    )  # fmt: skip
    other = Campaign.objects.get(name="elsewhere")
    other.reuses.create(source=closed, judgment_count=1)
    Campaign.objects.filter(pk=closed.pk).update(state="open")
    closed.refresh_from_db()
    before = everything()
    with pytest.raises(NotNow) as refused:
        whole_erase(campaign=closed, at=at)
    for reason in ("not closed", "was published", "Versions of the preference qrels", "“elsewhere”"):
        assert reason in str(refused.value)
    assert everything() == before
    assert payment.pk


def test_judgments_cannot_be_deleted_in_another_way_nor_those_of_a_campaign_that_is_not_closed(
    closed: Campaign,
) -> None:
    Campaign.objects.update(state="paused")
    for statement in (
        "DELETE FROM judgments_judgment",
        "DELETE FROM judgments_decision",
        f"SELECT judgments_erase_campaign({closed.pk})",
        "/* judgments_erase_campaign( */ DELETE FROM judgments_judgment",
    ):
        with pytest.raises(DatabaseError, match=r"append-only|not closed"), transaction.atomic():
            connection.cursor().execute(statement)
    assert Judgment.objects.exists()


def test_every_row_that_protects_a_campaigns_rows_is_thought_of() -> None:
    """Whoever adds one deletes it in protection/campaign_erasing.py, or names it there as what stands in the way."""
    protecting = {
        relation.related_model._meta.label
        for model in (Campaign, Assignment, Pair, Hit, Item, TestPair, ConsentText, Judgment, Reuse, BulkDecision)
        for relation in model._meta.get_fields(include_hidden=True)
        if isinstance(relation, models.ForeignObjectRel) and getattr(relation, "on_delete", None) is models.PROTECT
    }
    deleted = {
        *("judgments.Acceptance", "judgments.ReusedJudgment", "judgments.Reuse", "judgments.PairReport"),
        *("judgments.WorkerNote", "judgments.Judgment", "judgments.Decision", "judgments.PairDecision"),
        *("judgments.Adjudication", "review.BulkDecision", "review.BulkRow"),
        *("tasks.Practice", "tasks.PanelVisit", "tasks.Assignment", "tasks.Item", "tasks.Consent"),
    }
    obstacles = {"pools.QrelsVersion"} | {
        f"platforms.{name}" for name in ("PublishedHit", "Submission", "Payment", "HandPayment", "Message")
    }
    assert protecting == deleted | obstacles


def test_an_admin_erases_a_whole_campaign_once_its_name_is_typed(
    closed: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    client.force_login(factories.member(closed.lab, "admin", "agnes"))
    calls: list[Any] = []
    monkeypatch.setattr(protection_jobs.erase_whole_campaign, "delay", lambda *args: calls.append(args))
    address = reverse("protection:campaign_erase", args=[closed.pk])
    assert address in client.get(reverse("protection:protection_campaign", args=[closed.pk])).text
    assert "Workers earned $" in client.get(address).text
    assert client.post(address, {"name": "another"}).status_code == 400
    assert calls == []
    assert client.post(address, {"name": "pilot", "why": "Over"}).headers["Location"] == reverse("campaigns:campaigns")
    assert calls == [(closed.pk, "Over")]
    Campaign.objects.update(state="open")
    assert client.post(address, {"name": "pilot"}).status_code == 409
    assert "This campaign cannot be erased" in client.get(address).text


def test_workers_whom_the_lab_owes_are_not_erased_with_their_campaign(closed: Campaign) -> None:
    assert campaign_erase(campaign=closed, at=timezone.now()).erased == 0
    closed.assignments.update(owed=0)
    assert campaign_erase(campaign=closed, at=timezone.now()).erased == 1
