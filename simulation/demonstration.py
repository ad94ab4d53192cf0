"""The main job on a folder of files, from run files to preference qrels, each step done once.

Every step checks what is there already, so that an interrupted demonstration continues where it stopped.
"""

import os
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.utils import timezone

from core.errors import Refused
from core.models import Lab, User
from evaluation.files.artifact import Order
from evaluation.files.preferences import read_preferences
from evaluation.files.qrels import Entry, Qrels, read_qrels
from evaluation.files.runs import check_run, run_name
from evaluation.files.textfiles import counted
from evaluation.files.texts import read_queries
from evaluation.measures.reciprocal_rank import reciprocal_rank
from judgments import exports
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from platforms.ledger_comparison import Comparison, comparison_make
from platforms.models import LabAccount, Operation, Payment, Publication
from platforms.money.bills import remaining_bill
from platforms.money.lab_accounts import lab_account_store
from platforms.publishing.publications import (
    balance_of,
    campaign_move,
    publication_publish,
    publication_resume,
    publishing_progress,
)
from platforms.terms import publication_write
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign
from runs import selectors as run_selectors
from runs import services as run_services
from runs.models import Collection, Run
from simulation import at_platform, at_prolific, crowd
from simulation.attending import SECONDS_A_TURN, Progress
from simulation.browser import GIVE_UP_SECONDS, WrongPage
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Platform, TestPair
from tasks.pair_file import read_test_pairs

LAB = "Demonstration lab"
MARK = "Made by make run"  # a group without permissions: its members are accounts that were made here
TESTS = 12
SEED = 31  # by which the first to come is careless, and the second leaves early
HABITS = crowd.Habits(errors=0.03, careless=0.2, leavers=0.1, late=0.1)
PLATFORM_HABITS = at_platform.PlatformHabits(previews=0.3, returners=0.2)
PARTICIPANT_HABITS = at_prolific.ParticipantHabits(returners=0.2, codeless=0.1)
CALLS_PER_SECOND = 50.0
ENDINGS = ("", ".gz", ".bz2", ".zst")

# Called with how far a step is: its name, what is done, and of how much.
Step = Callable[[str, int, int], None]


class Folder(NamedTuple):
    """The files of a demonstration: `queries`, `passages`, `qrels`, `runs/`, and what a simulated crowd thinks.

    `language` is that of the texts; empty where nobody says it.
    """

    name: str
    language: str
    queries: Path
    passages: Path
    qrels: Path
    runs: tuple[Path, ...]
    preferences: Path | None
    test_pairs: Path | None


def folder_at(path: Path) -> Folder:
    """Find the files in a folder. Raises Refused saying what is missing."""
    if not path.is_dir():
        raise Refused(f"{path} is not a folder.")
    runs = tuple(sorted(file for file in (path / "runs").glob("*") if file.is_file() and _looks_like_a_run(file)))
    if not runs:
        raise Refused(f"{path / 'runs'} holds no run files.")
    named: dict[str, Path] = {}
    for file in runs:
        other = named.setdefault(run_name(str(file)), file)
        if other != file:
            raise Refused(f"{other.name} and {file.name} are two runs of one name, {run_name(str(file))}: rename one.")
    return Folder(
        name=path.resolve().name,
        language="en" if path.resolve() == Path(settings.BASE_DIR, "demo").resolve() else "",
        queries=_require(path, "queries.tsv", "queries.jsonl"),
        passages=_require(path, "passages.tsv", "passages.jsonl"),
        qrels=_require(path, "sparse-qrels.txt", "sparse-qrels.tsv", "qrels.txt", "qrels.tsv"),
        runs=runs,
        preferences=_found(path, "oracle-preferences.txt", "preferences.txt"),
        test_pairs=_found(path, "test-pairs.tsv"),
    )


def refuse_foreign_data(*, is_own_server: bool) -> None:
    """Raise Refused if the database holds anything and was not filled by `make run`. Asked before tables are changed.

    Filled by `make run` is what has its mark, or fits the log-ins in var/logins.txt: an earlier version left no mark.
    `is_own_server` says that the database lies in the same folder as those.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('core_user') IS NULL OR to_regclass('pools_campaign') IS NULL")
        if cursor.fetchone()[0]:
            return
        cursor.execute(
            "SELECT EXISTS (SELECT FROM core_user_groups JOIN auth_group ON auth_group.id = group_id WHERE name = %s)",
            [MARK],
        )
        is_marked = cursor.fetchone()[0]
        logins = _kept_logins()
        if is_marked or (is_own_server and logins):
            return
        cursor.execute("SELECT username, password FROM core_user WHERE username = ANY(%s)", [list(logins)])
        if any(check_password(logins[name], password) for name, password in cursor.fetchall()):
            return
        others = []
        for what, column, table in (
            ("user", "username", "core_user"),
            ("lab", "name", "core_lab"),
            ("collection", "name", "runs_collection"),
            ("campaign", "name", "pools_campaign"),
        ):
            cursor.execute(f"SELECT {column} FROM {table} ORDER BY id")  # noqa: S608 - names from the lines above
            names = [name for (name,) in cursor.fetchall()]
            if names:
                others.append(f"{counted(len(names), what)} ({', '.join(names[:3])}{', …' if names[3:] else ''})")
    if others:
        raise Refused(
            f"The database holds what make run did not make: {', '.join(others)}. Nothing was changed. "
            "Give make run a database of its own: unset DATABASE_URL, or name another folder in BESTKNOWN_VAR. "
            "To serve the site on this database without the demonstration, use python -m local.supervisor."
        )


def accounts() -> dict[str, str]:
    """The demonstration's log-ins, by user name. The password is empty if it has been changed.

    Passwords are drawn on the first start and kept in var/logins.txt. Users who were created otherwise are left as
    they are: raises Refused if one has a name that is needed here.
    """
    passwords = _kept_logins()
    has_mark = Group.objects.filter(name=MARK).exists()
    mark, _new = Group.objects.get_or_create(name=MARK)
    lab, _new = Lab.objects.get_or_create(name=LAB)
    logins = {}
    for name, is_admin in (("researcher", False), ("admin", True)):
        user = User.objects.filter(username=name).first()
        if user is None:
            passwords[name] = secrets.token_urlsafe(9)
            _keep_logins(passwords)  # before the account is made: the log-in of an account that is there is known
            with transaction.atomic():
                user = User(username=name, is_staff=is_admin, is_superuser=is_admin)
                user.set_password(passwords[name])
                user.save()
                user.groups.add(mark)
                lab.members.add(user)
        elif not has_mark and name in passwords:
            user.groups.add(mark)  # an earlier version made it
        elif not user.groups.filter(pk=mark.pk).exists():
            raise Refused(
                f"There is a user named {name} whom make run did not make. The account was left as it is. Rename it, "
                "or give make run a database of its own: unset DATABASE_URL, or name another folder in BESTKNOWN_VAR."
            )
        password = passwords.get(name, "")
        logins[name] = password if password and check_password(password, user.password) else ""
    return logins


def _kept_logins() -> dict[str, str]:
    path = Path(settings.VAR) / "logins.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split() for line in lines if len(line.split()) == 2)


def _keep_logins(logins: Mapping[str, str]) -> None:
    """Replace the file, wholly or not at all, readable by the owner only."""
    path = Path(settings.VAR) / "logins.txt"
    draft = path.with_name(f".logins.txt.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.writelines(f"{name} {password}\n" for name, password in logins.items())
    draft.replace(path)


def load(folder: Folder, step: Step) -> Collection:
    """Import what is not there yet: queries and qrels, then the runs, then the passages that their pools need.

    Raises Refused, before anything is stored, where a run has errors (all of them are named), or where there is a
    collection of the folder's name with other queries or qrels.
    """
    lab = Lab.objects.get(name=LAB)
    collection = Collection.objects.filter(lab=lab, name=folder.name).first()
    _check_runs(folder, set() if collection is None else set(collection.runs.values_list("name", flat=True)), step)
    if collection is None:
        step("Reading queries and qrels", 0, 1)
        collection = run_services.collection_import(
            lab=lab, name=folder.name, language=folder.language, queries=folder.queries, qrels=folder.qrels
        ).collection
        step("Reading queries and qrels", 1, 1)
    else:
        _must_be_the_same(collection, folder)
    names = set(collection.runs.values_list("name", flat=True))
    fresh = [path for path in folder.runs if run_name(str(path)) not in names]
    for number, path in enumerate(fresh):
        step("Storing the runs", number, len(fresh))
        with path.open("rb") as source:
            run_services.run_import(collection=collection, name=run_name(str(path)), source=source, filename=path.name)
        step("Storing the runs", number + 1, len(fresh))
    if fresh or collection.passages.filter(text="").exists():
        step("Reading passages", 0, 1)
        tests = read_test_pairs(folder.test_pairs) if folder.test_pairs else ()
        named = {pid for _query, *pids in tests for pid in pids}
        run_services.collection_import(lab=lab, name=folder.name, passages=folder.passages, also=named)
        step("Reading passages", 1, 1)
    return collection


def open_campaign(
    collection: Collection, folder: Folder, name: str, step: Step, *, is_simulated: bool = False, **settings: Any
) -> Campaign:
    """The collection's campaign of that name: pooled, with test pairs that a person has read, packed and open. Without
    any, it stays a draft with suggestions. `is_simulated`: no person judges, and what was confirmed counts as proven.
    `settings` are those of a new campaign.
    """
    campaign = Campaign.objects.filter(lab=collection.lab, name=name).first()
    if campaign is None:
        step("Pooling", 0, 1)
        campaign = pool_services.campaign_create(
            lab=collection.lab, collection=collection, runs=collection.runs.order_by("name"), name=name, **settings
        )
        step("Pooling", 1, 1)
    if campaign.state == Campaign.State.DRAFT:
        if not _has_test_pairs(campaign, folder, is_simulated):
            return campaign
        step("Packing HITs", 0, 1)
        campaign = task_services.campaign_launch(campaign=campaign)
    task_services.campaign_pack(campaign_id=campaign.pk)
    step("Packing HITs", 1, 1)
    campaign.refresh_from_db()
    return campaign


def judge(campaign: Campaign, preferences: Path, url: str, step: Step, workers: int = 6) -> crowd.Tally:
    """Let a simulated crowd, careful and careless, judge what waits, through the site that runs at `url`.

    Simulated workers of an interrupted earlier run will not come back: their HITs go to others now.
    """
    for abandoned in campaign.assignments.filter(state=Assignment.State.ACTIVE):
        task_services.assignment_lapse(assignment=abandoned, at=timezone.now())
    return crowd.judge(
        campaign=campaign,
        preferences=read_preferences(preferences),
        url=url,
        workers=workers,
        habits=HABITS,
        seed=SEED + campaign.assignments.count(),
        progress=lambda done, total: step("Judging", done, total),
    )


def finish(campaign: Campaign) -> Campaign:
    """Close a campaign whose work is done: nobody who began a HIT and left it will come back."""
    for abandoned in campaign.assignments.filter(state=Assignment.State.ACTIVE):
        task_services.assignment_lapse(assignment=abandoned, at=timezone.now())
    return campaign_move(campaign=campaign, to=Campaign.State.CLOSED, at=timezone.now())


def publication_of(campaign: Campaign, platform: str = Platform.MARKETPLACE) -> Publication | None:
    """The campaign's publication, if there is one. Raises Refused if it is at another platform than this."""
    publication = Publication.objects.filter(campaign=campaign).exclude(state=Publication.State.DRAFT).first()
    if publication is not None and publication.platform != platform:
        raise Refused(
            f"The campaign {campaign.name} is published at another platform, and this works at its own marketplace, "
            "or its double of Prolific, alone. Rename the folder."
        )
    return publication


def publish(campaign: Campaign, deposit: Callable[[Decimal], None]) -> Publication:
    """The campaign at the marketplace, published on terms that anyone who registers there can meet.

    `deposit` puts dollars into our account there: as much as is missing for twice the bill, as excluded work is paid
    for and done again.
    """
    publication = publication_of(campaign) or publication_write(
        campaign=campaign,
        platform=Platform.MARKETPLACE,
        pay=Publication.Pay.BASE_AND_BONUS,  # so that there are bonuses to be seen
        requirements=[],
        rate=CALLS_PER_SECOND,
    )
    missing = 2 * remaining_bill(publication).total - balance_of(publication)
    if missing > 0:
        deposit(missing)
    at = timezone.now()
    if publication.state == Publication.State.DRAFT:
        return publication_publish(publication=publication, at=at, although_nobody_qualifies=True)
    return publication_resume(publication=publication, at=at)


def publish_at_prolific(campaign: Campaign, token: str, deposit: Callable[[Decimal], None]) -> Publication:
    """The campaign as a study at the double of Prolific, which the lab reaches with this token.

    `deposit` puts dollars into the account there, as `publish` says.
    """
    researcher, at = User.objects.get(username="researcher"), timezone.now()
    if not LabAccount.objects.filter(lab=campaign.lab, platform=Platform.PROLIFIC).exists():
        lab_account_store(
            lab=campaign.lab, platform=Platform.PROLIFIC, token=token, workspace_id="", by=researcher, at=at
        )
    publication = publication_of(campaign, Platform.PROLIFIC) or publication_write(
        campaign=campaign, platform=Platform.PROLIFIC, rate=CALLS_PER_SECOND
    )
    missing = 2 * remaining_bill(publication).total - balance_of(publication)
    if missing > 0:
        deposit(missing)
    if publication.state == Publication.State.DRAFT:
        return publication_publish(publication=publication, at=at, typed_name=campaign.name, by=researcher)
    return publication_resume(publication=publication, at=at)


def wait_until_posted(publication: Publication, turn: Callable[[], None], step: Step) -> None:
    """Have the background jobs run until the marketplace has every HIT."""
    total, started = publication.campaign.hits.filter(needed__gt=0).count(), time.monotonic()
    while time.monotonic() - started < GIVE_UP_SECONDS:
        progress = publishing_progress(publication)
        left = progress.unplanned + progress.on_their_way
        step("Publishing", max(0, total - left), total)
        if not left and progress.posted:
            return
        turn()
        time.sleep(SECONDS_A_TURN)
    raise WrongPage("The platform does not take the HITs. The log of the jobs says why.")


def judge_at_platform(
    publication: Publication,
    preferences: Path,
    url: str,
    step: Step,
    *,
    turn: Callable[[], None],
    lapse: Callable[[str], None],
    workers: int = 6,
) -> list[str]:
    """Let a simulated crowd at the marketplace judge what waits, until all of it is approved and paid: what they did.

    `url` is where our pages are. `turn` has the background jobs run, `lapse` ends a worker's time at the marketplace.
    """
    calls_take_over(publication)
    campaign = publication.campaign
    tally = at_platform.judge(
        publication=publication,
        preferences=read_preferences(preferences),
        url=url,
        workers=workers,
        habits=HABITS,
        platform_habits=PLATFORM_HABITS,
        turn=turn,
        lapse=lapse,
        seed=SEED + campaign.assignments.count(),
        progress=_stepping("Judging at the marketplace", step),
    )
    return crowd.describe_crowd(tally, preferences)


def judge_at_prolific(
    publication: Publication,
    preferences: Path,
    url: str,
    app_url: str,
    step: Step,
    *,
    turn: Callable[[], None],
    lapse: Callable[[str], None],
    workers: int = 6,
) -> list[str]:
    """The same with participants of the double of Prolific, who are at home at `app_url`. `lapse` ends the time of a
    submission.
    """
    calls_take_over(publication)
    campaign = publication.campaign
    tally = at_prolific.judge(
        publication=publication,
        preferences=read_preferences(preferences),
        url=url,
        app_url=app_url,
        workers=workers,
        habits=HABITS,
        participant_habits=PARTICIPANT_HABITS,
        turn=turn,
        lapse=lapse,
        seed=SEED + campaign.assignments.count(),
        progress=_stepping("Judging at Prolific's double", step),
    )
    return crowd.describe_crowd(tally, preferences)


def _stepping(name: str, step: Step) -> Callable[[Progress], None]:
    """Progress of a crowd as a step of this name, and then of paying."""

    def progress(now: Progress) -> None:
        step(name, now.done, now.hits)
        if now.done == now.hits:
            step("Approving and paying", now.settled, now.handed_in)

    return progress


def calls_take_over(publication: Publication) -> int:
    """Let calls that a killed process was making be made again at once, not after their lease. How many there are.

    They bear the same tokens, so none is done twice.
    """
    dead = Operation.objects.filter(publication=publication, state=Operation.State.SENT)
    return dead.update(sent_at=timezone.now() - timedelta(days=1))


class AtPlatform(NamedTuple):
    """What came of a publication: HITs that the platform has, assignments submitted and approved, bonuses paid."""

    hits: int
    submitted: int
    approved: int
    bonuses: int
    ledgers: Comparison


def count_at_platform(publication: Publication) -> AtPlatform:
    """Count, and compare our ledger with the platform's."""
    submissions = publication.submissions.all()
    paid = publication.payments.filter(state=Payment.State.PAID)
    return AtPlatform(
        hits=publishing_progress(publication).posted,
        submitted=submissions.count(),
        approved=submissions.filter(status="Approved").count(),
        bonuses=paid.filter(purpose=Payment.Purpose.BONUS).count(),
        ledgers=comparison_make(publication=publication, at=timezone.now()),
    )


class Outcome(NamedTuple):
    """RR@10 of a run on the original and on the preference qrels."""

    run: str
    original: float
    preference: float


def summary(campaign: Campaign, progress: judgment_selectors.JudgingProgress) -> str:
    """How large it is, and how far, in a sentence."""
    sizes, work = pool_selectors.stored_sizes(campaign), task_selectors.progress(campaign)
    return (
        f"{campaign.name}: {sizes.queries:,} pools of {sizes.mean:.2f} passages on average, "
        f"{progress.pairs:,} pairs in {campaign.hits.count():,} HITs; {progress.done:,} pairs judged, "
        f"{work.workers:,} workers, {counted(work.excluded, 'assignment')} excluded and done again."
    )


def outcome(campaign: Campaign) -> list[Outcome]:
    """Every run's two scores, best on the preference qrels first. Both count the queries that have preference qrels."""
    derived = Qrels.of(Entry(query, pid, 1) for query, pid in Evidence(campaign).derived.qrels)
    judged = set(derived.queries)
    original = Qrels.of(Entry(*row) for row in run_selectors.collection_qrels(campaign.collection) if row[0] in judged)
    rows = [
        Outcome(run.name, _score(run, original, campaign), _score(run, derived, campaign))
        for run in campaign.runs.all()
    ]
    return sorted(rows, key=lambda row: (-row.preference, row.run))


def export(campaign: Campaign) -> list[Path]:
    """Write the export files below var/exports."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in campaign.name)
    return exports.export_to(campaign, Path(settings.VAR) / "exports" / name)


def _score(run: Run, qrels: Qrels, campaign: Campaign) -> float:
    order: Order = "rank" if campaign.order == Campaign.Order.RANK else "score"
    return reciprocal_rank(run_selectors.load_artifact(run), qrels, 10, order).mean


def _has_test_pairs(campaign: Campaign, folder: Folder, is_simulated: bool) -> bool:
    """Whether a person has read enough test pairs: those of the folder's file, which whoever wrote it stands for, or
    those that were confirmed on the page of another of the collection's campaigns, or of this one. If not, some are
    suggested.
    """
    lacking = pool_selectors.missing_texts(campaign)
    if lacking.passages or lacking.queries:
        raise Refused(lacking.sentence())
    named: dict[str, Any] = {"campaign": campaign, "by": User.objects.get(username="researcher"), "at": timezone.now()}
    if folder.test_pairs is not None:
        with transaction.atomic():
            read = task_services.test_pairs_import(campaign=campaign, path=folder.test_pairs)
            task_services.test_pairs_decide(test_pairs=read, confirm=True, by=named["by"], at=named["at"])
            task_services.test_pairs_prove(test_pairs=[test.pk for test in read], **named)
    else:
        for source in Campaign.objects.filter(collection=campaign.collection_id).exclude(pk=campaign.pk).order_by("pk"):
            task_services.test_pairs_copy(source=source, **named)
    if not task_selectors.lacking_tests(campaign):
        if is_simulated:
            confirmed = task_selectors.confirmed_tests(campaign).values_list("pk", flat=True)
            task_services.test_pairs_prove(test_pairs=confirmed, **named)
        return True
    missing = TESTS - campaign.test_pairs.count()
    if missing > 0:
        task_services.test_pairs_suggest(campaign=campaign, count=missing, seed=task_services.next_test_seed(campaign))
    usable = campaign.test_pairs.exclude(state=TestPair.State.DECLINED).count()
    if usable < campaign.tests_per_hit:
        raise Refused(
            f"A HIT needs {campaign.tests_per_hit} test pairs, and only {usable} could be suggested from so few qrels. "
            "Put a file test-pairs.tsv into the folder, with a line `query relevant off_topic` of ids for each."
        )
    return False


def _looks_like_a_run(path: Path) -> bool:
    return not path.name.startswith((".", "README")) and path.suffix not in (".md", ".json")


def _check_runs(folder: Folder, names: set[str], step: Step) -> None:
    """Check every run that is not stored yet, before the first of them is. Raises Refused naming all bad ones."""
    fresh = [path for path in folder.runs if run_name(str(path)) not in names]
    complaints = []
    for number, path in enumerate(fresh, start=1):
        complaints.append(check_run(path, name=path.name, depth=1).complaint())
        step("Checking the runs", number, len(fresh))
    if any(complaints):
        raise Refused("\n".join(filter(None, complaints)))


def _must_be_the_same(collection: Collection, folder: Folder) -> None:
    """Raises Refused unless the stored queries and qrels are the folder's."""
    qrels = [tuple(entry) for entry in read_qrels(folder.qrels).entries()]
    texts = dict(collection.queries.exclude(text="").values_list("qid", "text"))
    if (
        sorted(qrels) != sorted(run_selectors.collection_qrels(collection))
        or dict(read_queries(folder.queries)) != texts
    ):
        raise Refused(
            f"There is a collection called {collection.name} already, with other queries or qrels than this folder. "
            "Rename the folder."
        )


def _require(folder: Path, *names: str) -> Path:
    path = _found(folder, *names)
    if path is None:
        raise Refused(f"{folder} has no {' or '.join(names)} (plain, .gz, .bz2 or .zst).")
    return path


def _found(folder: Path, *names: str) -> Path | None:
    return next((path for name in names for ending in ENDINGS if (path := folder / (name + ending)).is_file()), None)
