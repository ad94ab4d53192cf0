"""A folder of files through the main job: odd but legal forms, bad ones, and going on after being cut off."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from core.errors import Refused
from core.models import Lab, User
from platforms.models import Publication
from pools.models import Campaign
from runs.models import Collection, Passage, Run
from simulation import crowd, demonstration
from tasks import services as task_services
from tasks.links import campaign_address
from tasks.models import Assignment
from tests import factories


def quiet(_step: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


@pytest.fixture
def folder(db: None, tmp_path: Path, settings: object) -> Path:
    """Four queries with a qrel each, two runs, and three test pairs."""
    settings.VAR = tmp_path / "var"  # type: ignore[attr-defined]
    settings.VAR.mkdir()  # type: ignore[attr-defined]
    folder = tmp_path / "mine"
    (folder / "runs").mkdir(parents=True)
    (folder / "queries.tsv").write_text("".join(f"q{n}\tquestion number {n}\n" for n in range(1, 5)))
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 p{n} 1\n" for n in range(1, 5)))
    (folder / "passages.tsv").write_text("".join(f"p{n}\tpassage {n} says\n" for n in range(1, 30)))
    for name, shift in (("red", 10), ("blue", 20)):
        lines = "".join(f"q{n} Q0 p{n + shift - 1} 1 1.0 {name}\n" for n in range(1, 5))
        (folder / "runs" / f"{name}.txt").write_text(lines)
    (folder / "test-pairs.tsv").write_text("".join(f"q{n}\tp{n}\tp{n + 24}\n" for n in range(1, 4)))
    demonstration.accounts()
    return folder


def load(path: Path) -> Collection:
    return demonstration.load(demonstration.folder_at(path), quiet)


def opened(path: Path, name: str = "judged", **how: bool) -> Campaign:
    return demonstration.open_campaign(load(path), demonstration.folder_at(path), name, quiet, **how)


def test_loading_twice_changes_nothing(folder: Path) -> None:
    assert load(folder) == load(folder)
    assert Run.objects.count() == 2
    assert opened(folder).state == "open"


def test_a_folder_of_the_same_name_with_other_questions_is_refused(folder: Path, tmp_path: Path) -> None:
    load(folder)
    other = tmp_path / "elsewhere" / "mine"
    (other / "runs").mkdir(parents=True)
    for name in ("queries.tsv", "passages.tsv", "runs/red.txt"):
        (other / name).write_text((folder / name).read_text())
    (other / "qrels.txt").write_text("q1 0 p9 1\n")
    with pytest.raises(Refused, match="a collection called mine already, with other queries or qrels"):
        load(other)
    assert Run.objects.count() == 2


def test_bad_runs_are_all_named_and_nothing_is_stored(folder: Path) -> None:
    (folder / "runs" / "bad.txt").write_text("q1 Q0 p1 1\n")
    (folder / "runs" / "worse.txt").write_text("q1 Q0 p1 one 1.0 w\n")
    with pytest.raises(Refused, match=r"bad\.txt, line 1.*\n.*worse\.txt, line 1"):
        load(folder)
    assert not Collection.objects.exists()


def test_two_files_of_one_name_are_told_apart_before_anything_is_stored(folder: Path) -> None:
    (folder / "runs" / "red.tsv").write_text("q1\tp1\t1\n")
    with pytest.raises(Refused, match=r"red\.tsv and red\.txt are two runs of one name"):
        demonstration.folder_at(folder)


def test_passages_that_were_missing_are_read_when_they_are_there(folder: Path) -> None:
    whole = (folder / "passages.tsv").read_text()
    (folder / "passages.tsv").write_text("".join(whole.splitlines(keepends=True)[:5]))
    with pytest.raises(Refused, match="have no text"):
        opened(folder)
    (folder / "passages.tsv").write_text(whole)
    assert opened(folder).state == "open"


def test_test_pairs_of_the_folder_may_name_passages_outside_the_pools(folder: Path) -> None:
    (folder / "test-pairs.tsv").write_text("q1\tp1\tp27\nq2\tp2\tp28\nq3\tp3\tp29\n")
    campaign = opened(folder)
    assert Passage.objects.get(pid="p27").text == "passage 27 says"
    tests = campaign.test_pairs.filter(off_topic__pid="p27", state="confirmed")
    researcher = User.objects.get(username="researcher")  # in whose name whoever wrote the file stands for it
    assert (tests.get().decided_by, tests.get().proven_by) == (researcher, researcher)
    assert campaign.test_pairs.count() == 3, "and none is suggested beside those that somebody has read"


def test_without_a_file_test_pairs_wait_for_a_person_and_are_read_once(folder: Path) -> None:
    (folder / "test-pairs.tsv").unlink()
    people = opened(folder)
    assert (people.state, {test.state for test in people.test_pairs.all()}) == ("draft", {"suggested"})
    assert opened(folder).state == "draft" and opened(folder).test_pairs.count() == people.test_pairs.count()
    tests = people.test_pairs.order_by("id")[:3]
    task_services.test_pairs_decide(test_pairs=tests, confirm=True, by=None, at=timezone.now())
    assert opened(folder).state == "open"
    assert not people.test_pairs.filter(proven_at__isnull=False).exists()
    simulated = opened(folder, "simulated", is_simulated=True)
    assert simulated.state == "open"
    assert simulated.test_pairs.filter(state="confirmed", proven_at__isnull=False).count() == 3


def test_too_few_test_pairs_say_what_to_do(folder: Path) -> None:
    (folder / "queries.tsv").write_text("q1\tquestion number 1\n")
    (folder / "qrels.txt").write_text("q1 0 p1 1\n")
    (folder / "test-pairs.tsv").unlink()
    with pytest.raises(Refused, match=r"only 1 could be suggested.*test-pairs\.tsv"):
        opened(folder)


def test_a_campaign_that_is_published_elsewhere_is_left_alone(folder: Path) -> None:
    campaign = opened(folder)
    assert demonstration.publication_of(campaign) is None
    elsewhere = Publication.objects.create(
        campaign=campaign, platform="mturk-sandbox", title="Mine", description="Mine"
    )
    assert demonstration.publication_of(campaign) is None, "a draft is nowhere yet"
    Publication.objects.filter(pk=elsewhere.pk).update(state=Publication.State.OPEN)
    with pytest.raises(Refused, match="published at another platform"):
        demonstration.publish(campaign, lambda _amount: pytest.fail("no money"))


def test_a_crowd_that_was_cut_off_leaves_its_tasks_to_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = opened(folder)
    dead = factories.worker(campaign, "somebody who was killed")
    assignment = factories.take(dead, campaign)
    campaign.hits.exclude(pk=assignment.hit_id).update(needed=0)
    campaign.hits.update(wanted=None)
    campaign.hits.filter(pk=assignment.hit_id).update(needed=1)
    monkeypatch.setattr(demonstration.crowd, "judge", lambda **_arguments: None)
    with pytest.raises(task_services.NoWork):
        factories.take(factories.worker(campaign, "somebody new"), campaign)
    preferences = folder / "preferences.txt"
    preferences.write_text("q1 p1 p10 p1\n")
    demonstration.judge(campaign, preferences, "http://nowhere", quiet)
    again = factories.take(factories.worker(campaign, "somebody new"), campaign)
    assert again.hit_id == assignment.hit_id
    assert Assignment.objects.filter(state="active").count() == 2


def test_somebody_careless_is_the_first_to_come_so_that_excluding_shows(campaign: Campaign) -> None:
    first, second = (
        crowd.Person(number, crowd.Answers([]), demonstration.HABITS, demonstration.SEED, crowd.Tally())
        for number in (1, 2)
    )
    assert first.careless and not second.careless


def test_a_campaign_that_is_done_is_closed_and_its_link_welcomes_nobody(client: Client, campaign: Campaign) -> None:
    left = factories.take(factories.worker(campaign, "Alice"), campaign)
    assert demonstration.finish(campaign).state == Campaign.State.CLOSED
    left.refresh_from_db()
    assert left.leased_until <= timezone.now()  # nobody is at work
    page = client.get(urlsplit(campaign_address(campaign)).path).text
    assert "There is nothing to judge right now." in page and "/consent/" not in page


# --- what make run did not make


@pytest.fixture
def var(db: None, tmp_path: Path, settings: object) -> Path:
    """An empty folder for what make run keeps."""
    settings.VAR = tmp_path / "var"  # type: ignore[attr-defined]
    (tmp_path / "var").mkdir()
    return tmp_path / "var"


def test_a_database_with_other_peoples_data_is_refused_and_left_as_it_is(var: Path) -> None:
    admin = factories.user("admin", is_superuser=True)
    admin.set_password("their own secret")
    admin.save()
    factories.lab("The reading lab", admin)

    with pytest.raises(Refused) as refused:
        demonstration.refuse_foreign_data(is_own_server=False)
    for words in ("1 user (admin)", "1 lab (The reading lab)", "Nothing was changed", "unset DATABASE_URL"):
        assert words in str(refused.value)
    with pytest.raises(Refused):
        demonstration.refuse_foreign_data(is_own_server=True)

    with pytest.raises(Refused, match="a user named admin whom make run did not make"):
        demonstration.accounts()
    admin.refresh_from_db()
    assert admin.check_password("their own secret")
    assert [lab.name for lab in admin.labs.all()] == ["The reading lab"]
    assert not admin.groups.exists()


def test_its_own_accounts_are_found_again_with_other_people_beside_them(var: Path) -> None:
    demonstration.refuse_foreign_data(is_own_server=False)
    logins = demonstration.accounts()
    assert set(logins) == {"researcher", "admin"} and all(logins.values())
    rita = factories.user("rita")
    factories.lab("Rita's lab", rita)

    demonstration.refuse_foreign_data(is_own_server=False)
    assert demonstration.accounts() == logins
    assert [user.username for user in User.objects.order_by("id")] == ["researcher", "admin", "rita"]
    assert not Lab.objects.get(name=demonstration.LAB).members.filter(pk=rita.pk).exists()
    assert (var / "logins.txt").stat().st_mode & 0o077 == 0


def test_a_password_that_somebody_has_changed_stays_changed(var: Path) -> None:
    logins = demonstration.accounts()
    admin = User.objects.get(username="admin")
    admin.set_password("their own secret")
    admin.save()
    assert demonstration.accounts() == logins | {"admin": ""}
    admin.refresh_from_db()
    assert admin.check_password("their own secret")


def test_a_folder_that_lost_its_logins_locks_nobody_out_and_says_so(var: Path) -> None:
    demonstration.accounts()
    (var / "logins.txt").unlink()
    demonstration.refuse_foreign_data(is_own_server=False)
    assert demonstration.accounts() == {"researcher": "", "admin": ""}


def test_what_an_earlier_version_made_is_known_by_its_logins(var: Path) -> None:
    logins = demonstration.accounts()
    Group.objects.all().delete()  # earlier versions set no mark
    demonstration.refuse_foreign_data(is_own_server=False)
    assert demonstration.accounts() == logins

    Group.objects.all().delete()
    for user in User.objects.all():
        user.set_password("their own secret")
        user.save()
    demonstration.refuse_foreign_data(is_own_server=True)
    with pytest.raises(Refused, match=r"2 users \(researcher, admin\)"):
        demonstration.refuse_foreign_data(is_own_server=False)
