"""Kinds of operations: each is one class that says everything, and the database keeps one row for each thing."""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.alarms import alarm_raise, alarm_settle
from core.errors import Refused
from core.labs import lab_rename
from core.models import Alarm
from platforms import checks, outbox
from platforms.calls import SPENDING, Handler, may_run
from platforms.messages.protocol import Inbox
from platforms.models import PUBLISHED_TO, Operation, Payment, Publication
from platforms.money.protocol import Deposits, LabAccounts
from platforms.mturk.operations import Bonus
from platforms.planning import operation_plan
from platforms.publishing.protocol import Filters, HitLists, HitNotifications, Studies, TestRuns
from platforms.publishing.publications import terms_keep
from platforms.registry import ADAPTERS, handler_of
from platforms.terms import publication_unsaved
from pools.models import Campaign
from tests import factories

Kind = Operation.Kind
# Of each kind: whether it spends, whether it runs while paused, whether the kill switch lets it through.
RULES = {
    Kind.EXCLUSION_TYPE: (False, True, False),
    Kind.HIT_TYPE: (False, True, False),
    Kind.CREATE: (True, False, False),
    Kind.RETYPE: (False, True, False),
    Kind.EXTEND: (True, False, False),
    Kind.EXPIRE: (False, True, True),
    Kind.REOPEN: (False, False, False),
    Kind.APPROVE: (True, True, False),
    Kind.REJECT: (False, True, False),
    Kind.ASK_RETURN: (False, True, False),
    Kind.BONUS: (True, True, False),
    Kind.EXTRA_BONUS: (True, True, False),
    Kind.ADJUST: (True, True, False),
    Kind.COMPENSATE: (True, True, False),
    Kind.EXCLUDE: (False, True, True),
    Kind.READMIT: (False, True, False),
}
AT_PROLIFIC = {Kind.ASK_RETURN}  # what no other platform has
HERE = set(Kind) - AT_PROLIFIC
BASE = Path(django_settings.BASE_DIR)


@pytest.fixture
def publication(campaign: Campaign, settings: Any) -> Publication:
    """A published campaign, as far as its rows say."""
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = "http://localhost:8100"
    settings.DEVELOPMENT, settings.SITE_URL = True, "http://localhost:8000"
    unsaved = publication_unsaved(campaign)
    unsaved.state, unsaved.exclusion_id, unsaved.hit_type_id = "open", "3EXCLUSION", "3TYPE"
    unsaved.save()
    return unsaved


@pytest.fixture
def abouts(publication: Publication) -> dict[str, dict[str, Any]]:
    """What an operation of each kind is about."""
    at = timezone.now()
    worker = factories.worker(publication.campaign, "Alice")
    work = factories.do(worker, publication.campaign)
    published_hit = publication.published_hits.create(hit=work.hit, max_assignments=1, platform_hit_id="3HIT")
    submission = publication.submissions.create(
        published_hit=published_hit,
        assignment=work,
        platform_assignment_id="3A",
        platform_worker_id="A1",
        status="Submitted",
        submitted_at=at,
    )
    owed = {"publication": publication, "amount": Decimal("1.00"), "fee": Decimal("0.20"), "owed_at": at}
    bonus = Payment.objects.create(submission=submission, purpose="bonus", **owed)
    extra = Payment.objects.create(submission=submission, purpose="extra", why="Careful work.", **owed)
    adjustment = Payment.objects.create(submission=submission, purpose="adjustment", why="A fair hour.", **owed)
    compensation = Payment.objects.create(assignment=work, purpose="compensation", **owed)
    terms = terms_keep(publication=publication, by=None, at=at, hit_type_id="3TYPE")
    offered = publication.published_hits.create(max_assignments=1)
    here, barring = {"published_hit": published_hit}, {"worker": worker, "barred_at": at}
    return {
        Kind.EXCLUSION_TYPE: {},
        Kind.HIT_TYPE: {"terms": terms},
        Kind.CREATE: here,
        Kind.RETYPE: here | {"terms": terms, "turn": 1},
        Kind.EXTEND: here | {"turn": 3},
        Kind.EXPIRE: here | {"turn": 1},
        Kind.REOPEN: here | {"turn": 2, "until": at + timedelta(days=1)},
        Kind.APPROVE: {"submission": submission},
        Kind.REJECT: {"submission": submission},
        Kind.BONUS: {"submission": submission, "payment": bonus},
        Kind.EXTRA_BONUS: {"submission": submission, "payment": extra},
        Kind.ADJUST: {"submission": submission, "payment": adjustment},
        Kind.COMPENSATE: {"payment": compensation, "published_hit": offered, "turn": 1},
        Kind.EXCLUDE: barring,
        Kind.READMIT: barring,
    }


@pytest.fixture
def operations(publication: Publication, abouts: dict[str, dict[str, Any]]) -> dict[str, Operation]:
    """One planned operation of each kind."""
    at = timezone.now()
    return {
        kind: operation_plan(publication=publication, kind=kind, at=at, **about)  # type: ignore[typeddict-item]
        for kind, about in abouts.items()
    }


# --- one class says everything


@pytest.mark.parametrize(
    ("platform", "kind"), [(platform, kind) for platform in PUBLISHED_TO for kind in ADAPTERS[platform].operations]
)
def test_every_kind_has_one_class_that_asks_for_it_makes_it_and_finds_it_again(platform: str, kind: Kind) -> None:
    handler = ADAPTERS[platform].operations[kind]
    names = {name for cls in type(handler).__mro__ if cls not in Handler.__mro__ for name in vars(cls)}

    assert {"request", "make", "find", "recall"} <= names
    assert vars(type(handler))["__doc__"]


def test_what_spends_and_what_a_pause_and_the_kill_switch_let_through_are_these() -> None:
    assert set(RULES) == set(Kind)
    for name, adapter in ADAPTERS.items():
        assert set(adapter.operations) == (set(Kind) if name == "prolific" else HERE)
    rules = {kind: (kind in SPENDING, may_run(kind, "paused"), may_run(kind, "stopped")) for kind in Kind}
    assert rules == RULES
    assert all(may_run(kind, "open") and not may_run(kind, "draft") for kind in Kind)


def test_what_only_some_platforms_have_is_a_class_that_these_are() -> None:
    optional = {Studies, HitLists, Filters, TestRuns, HitNotifications, Deposits, LabAccounts, Inbox}
    api, marketplace = {HitLists}, {HitLists, HitNotifications, Deposits, Inbox}
    assert {name: {part for part in optional if isinstance(row, part)} for name, row in ADAPTERS.items()} == {
        "marketplace": marketplace,
        "mturk-sandbox": api,
        "mturk": api,
        "prolific": {Studies, Filters, TestRuns, LabAccounts, Inbox},
    }


def test_nothing_asks_which_platform_it_is_but_for_what_the_platform_can_do() -> None:
    """Beside the platforms themselves, only what says which there are, and which is the default, names them."""
    named = re.compile(r"Platform\.(MARKETPLACE|MTURK|PROLIFIC)|platform [!=]= \"(marketplace|mturk|prolific)")
    packages = "core tasks pools platforms judgments review protection machines results campaigns api templates".split()
    files = [path for package in packages for path in (BASE / package).rglob("*.*") if path.suffix in (".py", ".html")]
    inside = ("platforms/mturk/", "platforms/prolific/")
    paths = {path.relative_to(BASE).as_posix(): path for path in files}
    naming = {name for name, path in paths.items() if not name.startswith(inside) and named.search(path.read_text())}
    assert naming == {"platforms/models.py", "platforms/registry.py"}


@pytest.mark.parametrize(
    ("state", "allowed"),
    [
        ("open", HERE),
        ("paused", {kind for kind in HERE if RULES[kind][1]}),
        ("stopped", {Kind.EXPIRE, Kind.EXCLUDE}),
        ("draft", set()),
    ],
)
def test_only_what_its_class_allows_is_sent_while_a_publication_is_halted(
    publication: Publication, operations: dict[str, Operation], state: str, allowed: set[str]
) -> None:
    assert set(operations) == HERE
    publication.state = state
    sendable = outbox._sendable(publication, timezone.now())
    assert set(sendable.values_list("kind", flat=True)) == allowed


def test_what_a_platform_does_not_have_is_refused_and_not_planned(
    publication: Publication, abouts: dict[str, dict[str, Any]]
) -> None:
    about = abouts[Kind.APPROVE]
    with pytest.raises(Refused, match="no such call"):
        operation_plan(publication=publication, kind=Kind.ASK_RETURN, at=timezone.now(), **about)
    assert not Operation.objects.exists()


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_of_what_is_held_back_and_in_doubt_only_the_publishing_of_a_hit_is_looked_for(
    publication: Publication, operations: dict[str, Operation], state: str
) -> None:
    publication.state = state
    planned = set(outbox._sendable(publication, timezone.now()).values_list("kind", flat=True))
    Operation.objects.update(state="unknown")
    in_doubt = set(outbox._sendable(publication, timezone.now()).values_list("kind", flat=True))
    assert in_doubt - planned == {Kind.CREATE}


def test_a_request_is_made_from_the_rows_that_the_operation_is_about(operations: dict[str, Operation]) -> None:
    assert operations[Kind.EXTEND].request == {"HITId": "3HIT", "NumberOfAdditionalAssignments": 2}
    assert operations[Kind.BONUS].request["BonusAmount"] == "1.00"
    assert operations[Kind.EXTRA_BONUS].request["Reason"] == "Careful work."
    assert operations[Kind.RETYPE].request == {"HITId": "3HIT", "HITTypeId": "3TYPE"}
    compensation = operations[Kind.COMPENSATE]
    assert compensation.payment is not None
    assert compensation.request["hit"]["RequesterAnnotation"].endswith(f"compensation {compensation.payment.token}/1")
    for operation in operations.values():
        stored = Operation.objects.get(pk=operation.pk)
        again = Operation.objects.select_related("publication__campaign__lab").get(pk=operation.pk)
        assert handler_of(again.publication, again.kind).request(again) == stored.request


# --- refused at start


@pytest.fixture
def without_bonus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The marketplace's adapter, without a class for bonuses."""
    adapter = ADAPTERS["marketplace"]
    left = {kind: handler for kind, handler in adapter.operations.items() if kind != Kind.BONUS}
    monkeypatch.setattr(adapter, "operations", left)
    yield


def test_a_kind_without_a_class_is_refused_at_start(without_bonus: None) -> None:
    (error,) = checks.check_operations()
    assert (error.id, error.msg) == (
        "platforms.E002",
        "There is no class for operations of kind “bonus” at marketplace.",
    )
    with pytest.raises(SystemCheckError, match=r"platforms\.E002"):
        call_command("check")


def test_with_all_its_classes_the_site_starts() -> None:
    assert not [message for message in run_checks() if message.id and message.id.startswith("platforms.")]


def test_a_class_that_cannot_be_found_again_cannot_be_made() -> None:
    class Forgetful(Bonus):
        find = Handler.find

    Forgetful.__abstractmethods__ = frozenset({"find"})
    with pytest.raises(TypeError, match="abstract"):
        Forgetful()


def test_a_platform_without_an_adapter_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ADAPTERS, "mturk")
    (error,) = checks.check_operations()
    assert (error.id, "mturk" in str(error.msg)) == ("platforms.E001", True)


# --- one row for each thing


def refuse(make: Any) -> str:
    """The name of the constraint that refuses a row."""
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        make()
    return str(refused.value)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in AT_PROLIFIC])
def test_the_same_operation_is_stored_once(
    publication: Publication, abouts: dict[str, dict[str, Any]], operations: dict[str, Operation], kind: str
) -> None:
    about, at = abouts[kind], timezone.now()
    same = operation_plan(publication=publication, kind=kind, at=at, **about)  # type: ignore[typeddict-item]
    assert same == operations[kind]
    text = refuse(lambda: Operation.objects.create(publication=publication, kind=kind, next_try=at, **about))
    assert "operation_once_per_" in text


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.EXCLUSION_TYPE])
def test_an_operation_that_is_about_nothing_is_refused(publication: Publication, kind: str) -> None:
    text = refuse(lambda: Operation.objects.create(publication=publication, kind=kind, next_try=timezone.now()))
    assert "operation_says_what_it_is_about" in text


def test_a_barring_a_turn_and_an_offer_that_come_later_are_operations_of_their_own(
    publication: Publication, abouts: dict[str, dict[str, Any]], operations: dict[str, Operation]
) -> None:
    at = timezone.now()
    another = publication.published_hits.create(max_assignments=1)
    for kind, later in (
        (Kind.EXCLUDE, {"barred_at": at}),
        (Kind.EXPIRE, {"turn": 3}),
        (Kind.EXTEND, {"turn": 4}),
        (Kind.COMPENSATE, {"turn": 2, "published_hit": another}),
    ):
        about = abouts[kind] | later
        operation = operation_plan(publication=publication, kind=kind, at=at, **about)  # type: ignore[typeddict-item]
        assert operation != operations[kind]


def test_an_alarm_is_raised_once_for_each_thing(publication: Publication, operations: dict[str, Operation]) -> None:
    bonus, at = operations[Kind.BONUS], timezone.now()
    things = ["", "settle", bonus, bonus.submission, operations[Kind.EXCLUDE].worker, bonus.submission.assignment]
    for of in (publication, publication.campaign):
        first = [alarm_raise(of=of, kind="doubt", text="Once.", at=at, about=about) for about in things]
        assert [alarm_raise(of=of, kind="doubt", text="Twice.", at=at, about=about) for about in things] == first
    assert publication.alarms.count() == publication.campaign.alarms.count() == len(things)
    alarm = {"of": publication, "kind": "doubt", "text": "", "raised_at": at}
    assert "alarm_once" in refuse(lambda: Alarm.objects.create(**alarm))
    assert alarm_settle(of=publication, kind="doubt", at=at, about=bonus)
    settled = Alarm.objects.get(settled_at=at)
    assert (settled.of, settled.about, settled.about_id) == (publication, "operation", bonus.pk)


def test_a_renamed_lab_keeps_the_exclusion_that_the_platform_knows_by_name(publication: Publication) -> None:
    handler = handler_of(publication, Kind.EXCLUSION_TYPE)
    body = operation_plan(publication=publication, kind=Kind.EXCLUSION_TYPE, at=timezone.now()).request

    lab_rename(lab=publication.campaign.lab, name="Sounds")

    assert "Sounds" not in body["Name"]
    assert handler.request(Operation(publication=publication, kind=Kind.EXCLUSION_TYPE)) == body
