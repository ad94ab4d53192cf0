"""A pilot: a few HITs first, the rest held back until somebody launches it."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.labs import pay_floor_set
from core.models import AuditEntry, User
from judgments import services as judgment_services
from judgments import watching
from judgments.models import Acceptance
from judgments.piloting import pilot_lessons
from platforms.money.bills import campaign_bill, remaining_bill
from platforms.publishing.publications import unposted
from platforms.publishing.repaying import BelowFloor, rest_copy
from platforms.terms import publication_unsaved, publication_write
from pools import selectors as pool_selectors
from pools.models import Campaign
from results.finishing import campaigns_finish
from runs.models import Collection
from tasks import pilots
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Assignment, Hit
from tasks.services import NoWork
from tests import factories
from tests.api.conftest import Program
from tests.api.test_frame import assert_problem
from tests.rows import fresh


@pytest.fixture
def piloted(collection: Collection) -> Campaign:
    """Seven pairs in seven HITs, of which three are the pilot's; each pair is judged by two."""
    draft = factories.campaign(collection, start=False, pairs_per_hit=1, tests_per_hit=1, overlap=2)
    task_services.campaign_launch(campaign=draft, pilot_hits=3)
    task_services.campaign_pack(campaign_id=draft.pk)
    draft.refresh_from_db()
    return draft


def do_hits(campaign: Campaign, count: int = 3) -> None:
    """Ann and Ben each do so many HITs, by default those of the pilot."""
    for worker in (factories.worker(campaign, name) for name in ("ann", "ben")):
        for _turn in range(count):
            factories.do(worker, campaign)


def test_a_pilots_hits_are_spread_over_the_campaign() -> None:
    assert pilots.spread(range(1, 11), 3) == {1, 4, 7}
    assert (
        pilots.spread(range(1, 8), 7)
        == pilots.spread(range(1, 8), None)
        == pilots.spread(range(1, 8), 9)
        == set(range(1, 8))
    )
    assert all(len(pilots.spread(range(1, 98), count)) == count for count in range(1, 98))


def test_nobody_gets_a_hit_that_is_held_back_and_its_pilot_is_no_finished_campaign(piloted: Campaign) -> None:
    assert Hit.objects.filter(is_held=True, needed=0).count() == 4
    do_hits(piloted)
    with pytest.raises(NoWork, match="There are no more tasks for now"):
        factories.take(factories.worker(piloted, "cat"), piloted)
    assert not Hit.objects.filter(needed__gt=0).exists()
    assert Hit.objects.filter(is_held=True).count() == 4
    assert task_selectors.progress(piloted)[:2] == (7, 3)
    assert pool_selectors.campaign_rows([piloted])[0].hits_done == 3
    campaigns_finish(at=timezone.now())
    piloted.refresh_from_db()
    assert not piloted.is_finished

    assert pilots.rest_launch(campaign=piloted) == 4
    first = pilots.spread(range(1, 8), 3)
    assert set(Hit.objects.exclude(number__in=first).values_list("needed", flat=True)) == {2}
    assert set(Hit.objects.filter(number__in=first).values_list("needed", flat=True)) == {0}
    do_hits(piloted, 4)
    assert not Hit.objects.filter(needed__gt=0).exists()
    assert Acceptance.objects.count() == 14


def test_the_bills_of_the_pilot_and_of_the_rest_make_the_whole(piloted: Campaign) -> None:
    publication = publication_unsaved(piloted)
    whole, first = campaign_bill(publication), remaining_bill(publication)
    assert (whole.hits, first.hits) == (7, 3)
    pilots.rest_launch(campaign=piloted)
    assert remaining_bill(publication).total == whole.total


def test_a_platform_is_sent_the_pilot_and_later_the_rest(piloted: Campaign) -> None:
    publication = publication_write(campaign=piloted, platform="marketplace")
    pilot = set(unposted(publication).values_list("number", flat=True))
    assert pilot == pilots.spread(range(1, 8), 3)
    pilots.rest_launch(campaign=piloted)
    assert set(unposted(publication).values_list("number", flat=True)) == set(range(1, 8))


def test_a_pilot_that_is_done_needs_a_person_until_the_rest_is_launched(piloted: Campaign) -> None:
    address = reverse("judgments:pilot", args=[piloted.pk])
    assert watching.needs_of(piloted) == []
    do_hits(piloted)

    assert [need.address for need in watching.needs_of(piloted)] == [address]
    assert watching.forecast(piloted, timezone.now()).why == "The pilot's work is done."
    pilots.rest_launch(campaign=piloted)

    assert watching.needs_of(piloted) == []


def test_launching_the_rest_again_changes_nothing(page: Client, piloted: Campaign) -> None:
    address = reverse("judgments:rest_launch", args=[piloted.pk])
    assert page.get(address).status_code == 405
    html = page.post(address, follow=True).content.decode()
    assert "4 more HITs have been launched." in html
    by = factories.worker(piloted, "ann")
    factories.do(by, piloted)
    needed = list(Hit.objects.order_by("number").values_list("needed", "is_held"))
    assert "No HITs are held back" in page.post(address, follow=True).content.decode()
    assert list(Hit.objects.order_by("number").values_list("needed", "is_held")) == needed


def test_a_launch_of_the_rest_that_dies_half_way_leaves_the_pilot(
    piloted: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(**_about: object) -> None:
        raise SystemExit(9)

    monkeypatch.setattr(pilots.pool_services, "campaign_reopen", die)
    with pytest.raises(SystemExit), transaction.atomic():
        pilots.rest_launch(campaign=piloted)
    assert Hit.objects.filter(is_held=True).count() == 4
    monkeypatch.undo()
    assert pilots.rest_launch(campaign=piloted) == 4


def test_a_closed_campaign_stays_at_its_pilot(piloted: Campaign) -> None:
    task_services.campaign_move(campaign=piloted, to="closed")
    with pytest.raises(NotNow):
        pilots.rest_launch(campaign=piloted)
    assert Hit.objects.filter(is_held=True).count() == 4


def test_the_database_refuses_work_on_a_hit_that_is_held_back(piloted: Campaign) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Hit.objects.filter(is_held=True).update(needed=1)


def test_a_copy_of_a_stopped_pilot_asks_only_for_the_rest_at_its_own_pay(piloted: Campaign) -> None:
    do_hits(piloted)
    task_services.campaign_move(campaign=piloted, to="closed")
    copy = factories.campaign(
        piloted.collection, "the rest", pairs_per_hit=1, tests_per_hit=1, overlap=2, reward="3.00"
    )
    assert copy.reused_pair_count == 3
    assert copy.hits.count() == 4


def test_the_page_says_what_the_pilot_taught(client: Client, rita: User, piloted: Campaign) -> None:
    client.force_login(rita)
    address = reverse("judgments:pilot", args=[piloted.pk])
    assert "Once the first assignments have ended" in client.get(address).content.decode()
    ann, ben, eve = (factories.worker(piloted, name) for name in ("ann", "ben", "eve"))
    for _turn in range(2):
        factories.do(ann, piloted)
        factories.do(ben, piloted)
    factories.do(eve, piloted, fail_tests=True)
    lessons = pilot_lessons(piloted)
    assert (lessons.hits, lessons.held, lessons.assignments, lessons.failed, lessons.left) == (3, 4, 5, 1, 0)
    assert lessons.agreement.pairs == 2
    assert len(lessons.seconds) == 3
    page = client.get(address).content.decode()
    assert "1 of 5 finished assignments (20%)" in page
    assert "Launch the remaining 4 HITs" in page


def test_a_pilot_is_asked_for_at_the_start(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.jobs.pack_waiting_campaigns.delay", lambda: None)
    draft = factories.campaign(collection, start=False, pairs_per_hit=1, tests_per_hit=1)
    address = reverse("tasks:launch", args=[draft.pk])
    for wrong in ("0", "-3", "many"):
        assert page.post(address, {"pilot": wrong}).status_code in (400, 409), wrong
    assert fresh(draft).state == "draft"
    page.post(address, {"pilot": "2"})
    draft.refresh_from_db()
    assert (draft.state, draft.pilot_hits) == ("packing", 2)
    other = factories.campaign(collection, "other", start=False, pairs_per_hit=1, tests_per_hit=1)
    task_services.campaign_launch(campaign=other, pilot_hits=3)
    task_services.campaign_pack(campaign_id=other.pk)
    assert pilots.held_back(other) == 4
    with pytest.raises(Refused):
        task_services.campaign_launch(campaign=factories.campaign(collection, "no", start=False), pilot_hits=0)


def test_the_rest_goes_on_at_another_pay_with_one_click(page: Client, piloted: Campaign) -> None:
    publication_write(
        campaign=piloted, platform="marketplace", pay="base-and-bonus", base=Decimal("1.50"), title="Compare"
    )
    do_hits(piloted)
    address = reverse("judgments:rest_repay", args=[piloted.pk])
    assert f'action="{address}"' in page.get(reverse("judgments:pilot", args=[piloted.pk])).text
    assert page.post(address, {"reward": "much"}).status_code == 400
    answer = page.post(address, {"reward": "1.20"}, follow=True)
    assert "asks about the rest at the new pay" in answer.text
    draft = Campaign.objects.get(name="pilot, the rest")
    assert (draft.state, draft.reward, draft.question) == ("draft", Decimal("1.20"), piloted.question)
    assert (draft.publication.title, draft.publication.base) == ("Compare", Decimal("1.20"))
    assert task_selectors.confirmed_tests(draft).count() == task_selectors.confirmed_tests(piloted).count()
    piloted.refresh_from_db()
    assert (piloted.state, piloted.reward) == ("closed", Decimal("2.00"))
    assert set(piloted.assignments.values_list("owed", flat=True)) == {Decimal("2.00")}
    assert page.post(address, {"reward": "1.20"}).status_code == 409
    factories.begin(draft)
    assert (draft.reused_pair_count, draft.hits.count()) == (3, 4)
    done = factories.do(factories.worker(draft, "cat"), draft)
    assert done.owed == Decimal("1.20")


def test_the_rest_of_a_pilot_that_reuses_nothing_takes_nothing_from_other_campaigns(
    page: Client, rita: User, piloted: Campaign
) -> None:
    draft = factories.campaign(piloted.collection, "a draft", start=False)
    Campaign.objects.filter(pk=piloted.pk).update(reuse="nothing")
    other = factories.campaign(piloted.collection, "replicated", pairs_per_hit=1, tests_per_hit=1)
    address, count = reverse("judgments:rest_repay", args=[piloted.pk]), Campaign.objects.count()
    refused = page.post(address, {"reward": "1.20"})
    assert refused.status_code == 409
    assert "would also reuse those of “replicated”, which ask the same question" in refused.text
    piloted.refresh_from_db()
    assert (piloted.state, Campaign.objects.count()) == ("open", count)
    Campaign.objects.filter(pk=other.pk).update(question="Which one is kinder?")
    rest = rest_copy(campaign=piloted, reward=Decimal("1.20"), by=rita, at=timezone.now())
    assert rest.reuse == "campaigns" and draft.state == "draft"


def test_the_rest_of_a_pilot_in_the_sandbox_is_refused_since_nothing_of_it_is_reused(
    rita: User, piloted: Campaign
) -> None:
    publication_write(
        campaign=piloted, platform="marketplace", pay="base-and-bonus", base=Decimal("1.50"), title="Compare"
    )
    piloted.publication.__class__.objects.update(platform="mturk-sandbox", state="open")
    with pytest.raises(Refused, match="a copy would reuse nothing of this pilot"):
        rest_copy(campaign=piloted, reward=Decimal("1.20"), by=rita, at=timezone.now())
    assert Campaign.objects.count() == 1


def test_a_pilot_with_the_longest_name_goes_on_at_another_pay(rita: User, piloted: Campaign) -> None:
    Campaign.objects.filter(pk=piloted.pk).update(name="n" * 100)
    piloted.refresh_from_db()
    rest = rest_copy(campaign=piloted, reward=Decimal("2.00"), by=rita, at=timezone.now())
    assert rest.name == "n" * 90 + ", the rest"
    Campaign.objects.filter(pk=piloted.pk).update(state="open")
    again = rest_copy(campaign=piloted, reward=Decimal("2.00"), by=rita, at=timezone.now())
    assert again.name == "n" * 88 + ", the rest 2"


def test_the_rest_is_not_launched_below_the_labs_pay_floor(page: Client, rita: User, piloted: Campaign) -> None:
    do_hits(piloted)
    pay_floor_set(lab=piloted.lab, pay_floor=Decimal(6))
    address = reverse("judgments:rest_repay", args=[piloted.pk])
    refused = page.post(address, {"reward": "0.05"})
    assert refused.status_code == 409
    assert "The lab&#x27;s floor is $6.00 an hour" in refused.text
    with pytest.raises(BelowFloor, match="The pilot goes on as it is"):
        rest_copy(campaign=piloted, reward=Decimal("0.05"), by=rita, at=timezone.now())
    piloted.refresh_from_db()
    assert (piloted.state, pilots.held_back(piloted), Campaign.objects.count()) == ("open", 4, 1)
    assert rest_copy(campaign=piloted, reward=Decimal("2.00"), by=rita, at=timezone.now()).reward == Decimal("2.00")


def test_the_page_offers_no_pay_below_the_floor_and_says_what_the_least_is(
    client: Client, rita: User, piloted: Campaign
) -> None:
    client.force_login(rita)
    page = reverse("judgments:pilot", args=[piloted.pk])
    assert 'name="reward" value="2.00"' in client.get(page).text
    pace = task_selectors.expected_pace(piloted)
    assert pace is not None
    pay_floor_set(lab=piloted.lab, pay_floor=Decimal(600))
    piloted.lab.refresh_from_db()
    least = Decimal(10) * pace.minutes
    answer = client.get(page)
    assert f"pay at least ${least:.2f} a HIT" in answer.text
    assert f'name="reward" value="{least:.2f}"' in answer.text
    assert client.post(reverse("judgments:rest_repay", args=[piloted.pk]), {"reward": str(least)}).status_code == 303


def test_the_page_says_why_the_rest_cannot_go_on_in_place_of_a_button_that_is_refused(
    client: Client, rita: User, piloted: Campaign
) -> None:
    client.force_login(rita)
    page, launch, repay = (
        reverse(f"judgments:{name}", args=[piloted.pk]) for name in ("pilot", "rest_launch", "rest_repay")
    )
    html = client.get(page).text
    assert f'action="{launch}"' in html and f'action="{repay}"' in html
    Campaign.objects.filter(pk=piloted.pk).update(reuse="nothing")
    other = factories.campaign(piloted.collection, "replicated", pairs_per_hit=1, tests_per_hit=1)
    html = client.get(page).text
    assert f'action="{launch}"' in html and f'action="{repay}"' not in html
    assert "would also reuse those of “replicated”" in html
    Campaign.objects.filter(pk=other.pk).update(question="Which one is kinder?")
    assert f'action="{repay}"' in client.get(page).text

    Campaign.objects.filter(pk=piloted.pk).update(state="closed")
    html = client.get(page).text
    assert "The campaign is closed, so the remaining 4 HITs cannot be launched." in html
    assert f'action="{launch}"' not in html and f'action="{repay}"' not in html
    assert client.post(launch).status_code == 409


def test_the_time_that_a_pilot_took_decides_whether_the_rest_pays_enough(
    rita: User, piloted: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ann", "ben"):
        for _turn in range(3):
            done = factories.do(factories.worker(piloted, name), piloted)
            Assignment.objects.filter(pk=done.pk).update(taken_at=done.finished_at - timedelta(minutes=30))
    pay_floor_set(lab=piloted.lab, pay_floor=Decimal(6))
    monkeypatch.setattr(task_selectors, "PACE_ENOUGH", 6)
    with pytest.raises(BelowFloor, match="A HIT takes about 30 min and pays"):
        rest_copy(campaign=piloted, reward=Decimal("2.00"), by=rita, at=timezone.now())
    assert rest_copy(campaign=piloted, reward=Decimal("3.00"), by=rita, at=timezone.now()).reward == Decimal("3.00")


def test_the_rest_goes_on_at_another_pay_through_the_api(rita: User, piloted: Campaign) -> None:
    program, address = Program(rita), f"campaigns/{piloted.pk}/pilot/repay-rest/"
    do_hits(piloted)
    pay_floor_set(lab=piloted.lab, pay_floor=Decimal(6))
    viewer = Program(factories.member(piloted.lab, "viewer"))
    assert_problem(viewer.post(address, {"reward": "2.40"}), 403)
    assert_problem(Program(rita, "read", "spend").post(address, {"reward": "2.40"}), 403, says="write")
    assert_problem(program.post(address, {}), 400, field="reward")
    assert_problem(program.post(address, {"reward": "-1"}), 400, field="reward")
    assert_problem(program.post(address, {"reward": "0.05"}), 400, field="reward", says="floor is $6.00 an hour")
    assert Campaign.objects.count() == 1

    sent = {"reward": "2.40", "why": "It took longer than expected."}
    shape = program.post(address, sent, Idempotency_Key="once").json()
    assert program.post(address, sent, Idempotency_Key="once").json() == shape
    assert (shape["name"], shape["state"], shape["settings"]["reward"]) == ("pilot, the rest", "draft", "2.40")
    piloted.refresh_from_db()
    assert (piloted.state, Campaign.objects.count()) == ("closed", 2)
    entries = AuditEntry.objects.filter(subject="pools_campaign", key=str(piloted.pk), changes__has_key="state")
    assert entries.latest("id").why == "It took longer than expected."
    assert_problem(program.post(address, sent), 409, says="No HITs are held back")


def test_who_is_late_is_accepted_beside_whoever_took_the_hit_over(collection: Collection) -> None:
    draft = factories.campaign(collection, start=False, pairs_per_hit=1, tests_per_hit=1)
    task_services.campaign_launch(campaign=draft, pilot_hits=1)
    task_services.campaign_pack(campaign_id=draft.pk)
    draft.refresh_from_db()
    slow, quick = factories.worker(draft, "ann"), factories.worker(draft, "ben")
    late = factories.take(slow, draft, at=timezone.now() - timedelta(minutes=draft.minutes_per_hit + 1))
    factories.do(quick, draft)
    factories.judge(late)
    judgment_services.assignment_finish(assignment=late, at=timezone.now())
    lessons = pilot_lessons(draft)
    assert (lessons.hits, lessons.hits_done, lessons.finished, lessons.failed) == (1, 1, 2, 0)
    assert Assignment.objects.filter(verdict="accepted").count() == 2
    assert Acceptance.objects.count() == 1  # the pair counts once
