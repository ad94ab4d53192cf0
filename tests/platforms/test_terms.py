"""Terms at a platform: whom they reach, that somebody looks, and how they are replaced, against a real marketplace."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import User
from platforms.attention import attention_check
from platforms.demands import PAPER
from platforms.models import Operation, Publication
from platforms.mturk.requirements import requirements_of
from platforms.outbox import operation_retry, operations_run
from platforms.publishing.publications import (
    publication_pause,
    publication_plan,
    publication_publish,
    publication_resume,
    publication_stop,
)
from platforms.publishing.reach import Reach, reach_look
from platforms.publishing.replacing_terms import publication_replace_terms
from platforms.syncing import publication_sync
from platforms.terms import publication_write
from pools.models import Campaign
from tests.marketplace.server import Marketplace, Requester, Worker
from tests.platforms.platforms import Clock, arrive, drain, finish
from tests.platforms.test_views import at as address_of
from tests.platforms.test_views import press_publish, text_of, typed
from tests.rows import fresh

NOBODY = requirements_of(PAPER._replace(approved=999_999))


def replace(publication: Publication, clock: Clock | None = None, **terms: Any) -> bool:
    publication.refresh_from_db()
    at = (clock or Clock())()
    return publication_replace_terms(publication=publication, terms=terms, by=None, at=at)


def types_there(requester: Requester) -> dict[str, str]:
    """The HIT type of each of the requester's HITs, as the marketplace says it."""
    hits = requester.client.list_hits(MaxResults=100)["HITs"]
    return {hit["HITId"]: hit["HITTypeId"] for hit in hits}


# --- whom the terms reach


def test_at_our_own_marketplace_nothing_is_asked_of_workers_unless_somebody_wants_it(
    campaign: Campaign, settings: Any
) -> None:
    settings.MARKETPLACE_URL = "http://localhost:8100"
    assert publication_write(campaign=campaign).requirements == []
    Publication.objects.all().delete()
    assert publication_write(campaign=campaign, platform="mturk").requirements == requirements_of(PAPER)


def test_countries_that_do_not_exist_are_refused_however_they_come(campaign: Campaign, settings: Any) -> None:
    settings.MARKETPLACE_URL = "http://localhost:8100"
    for code in ("UK", "ZZ", "us"):
        with pytest.raises(Refused, match=f"“{code}” is not an ISO 3166 country code"):
            publication_write(campaign=campaign, requirements=requirements_of(PAPER._replace(countries=("US", code))))
    assert not Publication.objects.exists()
    assert publication_write(campaign=campaign, requirements=requirements_of(PAPER._replace(countries=("GB",)))).pk


def test_the_dry_run_says_how_many_workers_qualify_and_the_papers_demands_are_one_press_away(
    page: Client, publication: Publication, wanda: Worker
) -> None:
    campaign = publication.campaign
    filled = page.post(address_of("terms", campaign), typed(campaign, title="Mine") | {"demands": "paper"})
    assert filled.status_code == 200
    text = filled.content.decode()
    assert all(f'value="{value}"' in text for value in ("US", "10000", "97", "Mine"))
    assert Publication.objects.get().requirements == []
    everybody = reach_look(publication)
    assert everybody.qualified == everybody.active != 0
    publication.requirements = requirements_of(PAPER)
    publication.save()
    reach = reach_look(publication)
    assert reach.qualified is not None
    assert reach.active == everybody.active
    assert 0 < reach.qualified < everybody.active
    sentence = f"{reach.qualified} of the marketplace&#x27;s {reach.active} active workers could take this."
    assert sentence in text_of(page, address_of("publish", campaign))


def test_publishing_to_nobody_is_an_obstacle_that_only_a_person_who_knows_overrides(
    page: Client, publication: Publication
) -> None:
    publication.requirements = NOBODY
    publication.save()
    campaign = publication.campaign
    text = text_of(page, address_of("publish", campaign))
    assert "None of the marketplace" in text
    assert 'class="notice wrong"' in text
    answer = press_publish(page, publication)
    assert answer.status_code == 400
    assert "Tick this to go ahead anyway" in answer.content.decode()
    with pytest.raises(Refused, match="None of the marketplace's"):
        publication_publish(publication=publication, at=timezone.now())
    publication.refresh_from_db()
    assert (publication.state, publication.operations.count()) == ("draft", 0)
    assert press_publish(page, publication, although_nobody_qualifies="on").status_code == 303
    assert fresh(publication).state == "open"


@pytest.mark.parametrize("case", ["another platform", "an older marketplace", "no answer"])
def test_where_it_is_not_known_how_many_qualify_that_is_said_and_stops_nobody(
    campaign: Campaign, requester: Requester, settings: Any, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    publication = publication_write(campaign=campaign, requirements=NOBODY)
    if case == "another platform":
        publication.platform = "mturk"
    elif case == "an older marketplace":
        monkeypatch.setattr("platforms.mturk.adapter.COUNT_PATH", "/extensions/none")
    else:
        settings.MARKETPLACE_URL = "http://127.0.0.1:9"
    reach = reach_look(publication)
    assert (reach.qualified, reach.is_nobody) == (None, False)
    assert reach.sentence.startswith("How many workers could take this is not known")


def test_the_sentence_has_one_nobody_and_many() -> None:
    assert Reach(1_041, 1_063).sentence == "1,041 of the marketplace's 1,063 active workers could take this."
    assert Reach(1, 1).sentence == "1 of the marketplace's 1 active worker could take this."
    assert Reach(0, 63).sentence == "None of the marketplace's 63 active workers could take this."
    assert "no active workers" in Reach(0, 0).sentence


# --- whether anybody looks


@pytest.fixture
def unseen(published: Publication) -> Publication:
    """A publication that nobody has looked at."""
    cache.clear()
    return published


def ringing(publication: Publication) -> list[str]:
    """The kinds of its alarms."""
    return list(publication.alarms.filter(settled_at=None).values_list("kind", flat=True))


def test_an_hour_without_anybody_looking_raises_an_alarm_and_a_look_settles_it(
    unseen: Publication, client: Client
) -> None:
    soon, later = timezone.now() + timedelta(minutes=59), timezone.now() + timedelta(minutes=61)
    assert not attention_check(publication=unseen, at=soon)
    assert attention_check(publication=unseen, at=later)
    assert ringing(unseen) == ["unseen"]
    assert "no worker has opened a task since" in unseen.alarms.get().text
    frame = reverse("judging:arrive", args=[unseen.campaign.link, 1])
    assert client.head(frame, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}).status_code == 200
    assert attention_check(publication=unseen, at=later)
    assert client.get(frame, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}).status_code == 200
    assert not attention_check(publication=unseen, at=later)
    assert ringing(unseen) == []


def test_a_preview_writes_nothing_to_the_database(unseen: Publication, client: Client) -> None:

    with CaptureQueriesContext(connection) as queries:
        client.get(reverse("judging:arrive", args=[unseen.campaign.link, 1]))
    assert all(query["sql"].startswith("SELECT") for query in queries.captured_queries)


def test_work_that_was_taken_is_a_look_even_if_the_cache_has_forgotten(unseen: Publication, wanda: Worker) -> None:
    arrive(unseen, wanda)
    cache.clear()
    assert not attention_check(publication=unseen, at=timezone.now() + timedelta(hours=2))


def test_nobody_is_awaited_where_nothing_is_offered(unseen: Publication) -> None:
    later = timezone.now() + timedelta(hours=2)
    publication_pause(publication=unseen, at=timezone.now())
    unseen.refresh_from_db()
    assert not attention_check(publication=unseen, at=later)
    Publication.objects.update(state="open")
    unseen.refresh_from_db()
    assert attention_check(publication=unseen, at=later)
    unseen.campaign.hits.update(needed=0)
    assert not attention_check(publication=unseen, at=later)
    assert ringing(unseen) == []


# --- replacing


def test_replaced_terms_move_the_same_hits_to_another_type_and_let_others_in(
    published: Publication, requester: Requester, marketplace: Marketplace
) -> None:
    newcomer, veteran = marketplace.worker(), marketplace.worker(vouched_approved=20_000)
    replace(published, requirements=requirements_of(PAPER))
    drain(published)
    before = types_there(requester)
    first, second = list(before)[:2]
    assert "qualification" in newcomer.cannot_accept(first).lower()
    veteran.accept(second)

    assert replace(published, requirements=[], title="Easier")
    drain(published)

    after = types_there(requester)
    assert set(after) == set(before)
    assert set(after.values()).isdisjoint(before.values())
    assert set(after.values()) == {published.hit_type_id}
    newcomer.accept(first)
    assert requester.client.get_hit(HITId=next(iter(after)))["HIT"]["Title"] == "Easier"
    versions = list(published.terms.order_by("version"))
    assert [version.version for version in versions] == [1, 2, 3]
    assert [version.hit_type_id for version in versions][1:] == [*set(before.values()), published.hit_type_id]
    assert versions[1].values["requirements"] == requirements_of(PAPER)
    assert versions[2].values["title"] == "Easier"
    assert Operation.objects.filter(kind="create").count() == 3


def test_replacing_holds_and_spends_no_more_money(published: Publication, requester: Requester) -> None:
    before = requester.money()
    replace(published, title="Another")
    drain(published)
    assert requester.money() == before


def test_the_same_terms_again_change_nothing_and_asking_twice_is_asking_once(
    published: Publication, requester: Requester
) -> None:
    assert not replace(published, title=published.title)
    read_once = Publication.objects.get()
    assert replace(published, title="Another")
    with pytest.raises(NotNow, match="changed in the meantime"):
        publication_replace_terms(publication=read_once, terms={"title": "A third"}, by=None, at=timezone.now())
    assert not replace(published, title="Another")
    for _time in range(3):
        drain(published)
    assert published.terms.count() == 2
    assert Operation.objects.filter(kind="retype").count() == 3


def test_terms_that_the_platform_is_not_told_are_kept_and_move_no_hit(published: Publication) -> None:
    before = published.hit_type_id
    assert replace(published, rate=2.0, lifetime=timedelta(days=3), approve_after=timedelta(hours=1))
    drain(published)
    assert (published.rate, published.hit_type_id, published.terms.count()) == (2.0, before, 2)
    assert not Operation.objects.filter(kind="retype").exists()


@pytest.mark.parametrize("terms", [{"pay": "full-on-exit"}, {"base": Decimal("0.50")}, {"platform": "mturk"}])
def test_platform_and_pay_stay_as_they_were_published(published: Publication, terms: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="The platform and the pay stay"):
        replace(published, title="Another", **terms)
    assert published.terms.count() == 1


def test_terms_that_cannot_be_or_reach_nobody_replace_nothing(published: Publication) -> None:
    for terms, words in (
        ({"auto_approval": timedelta(days=1)}, "from 3 to 30 days"),
        ({"requirements": requirements_of(PAPER._replace(countries=("UK",)))}, "not an ISO 3166 country code"),
        ({"requirements": NOBODY}, "None of the marketplace's"),
    ):
        with pytest.raises(Refused, match=words):
            replace(published, **terms)
    assert published.terms.count() == 1
    at = timezone.now()
    terms = {"requirements": NOBODY}
    published.refresh_from_db()
    assert publication_replace_terms(publication=published, terms=terms, by=None, at=at, although_nobody_qualifies=True)


def test_a_stopped_publication_sends_nothing_and_a_paused_one_moves_its_closed_hits(
    published: Publication, requester: Requester
) -> None:
    before = types_there(requester)
    publication_stop(publication=published, at=timezone.now())
    drain(published)
    replace(published, title="Another")
    drain(published)
    assert types_there(requester) == before
    assert not Operation.objects.filter(kind__in=["retype"]).exists()
    publication_resume(publication=published, at=timezone.now())
    publication_pause(publication=published, at=timezone.now())
    drain(published)
    after = types_there(requester)
    assert set(after.values()) == {published.hit_type_id}
    assert set(after.values()).isdisjoint(before.values())
    assert {requester.status(hit_id) for hit_id in after} == {"Reviewable"}


def test_a_hit_that_is_needed_again_later_comes_under_the_newest_terms_then(
    published: Publication, requester: Requester
) -> None:
    published_hit = published.published_hits.get(hit__number=1)
    before = types_there(requester)
    published.campaign.hits.filter(number=1).update(needed=0)
    published.published_hits.filter(pk=published_hit.pk).update(expires_at=timezone.now())
    replace(published, title="Another")
    drain(published)
    assert types_there(requester)[published_hit.platform_hit_id] == before[published_hit.platform_hit_id]
    published.campaign.hits.filter(number=1).update(needed=1)
    drain(published)
    assert set(types_there(requester).values()) == {published.hit_type_id}


@pytest.mark.parametrize("fault", ["before_commit", "after_commit", "reply_dropped", "throttled"])
def test_lost_answers_leave_every_hit_under_the_newest_terms(
    published: Publication, requester: Requester, marketplace: Marketplace, fault: str
) -> None:
    marketplace.test("faults", script=[{"kind": fault, "operation": "UpdateHITTypeOfHIT", "times": 2}])
    replace(published, title="Another")
    drain(published)
    assert set(types_there(requester).values()) == {published.hit_type_id}
    assert set(published.published_hits.values_list("hit_type_id", flat=True)) == {published.hit_type_id}


def test_going_back_while_a_change_is_in_doubt_ends_where_it_began(
    published: Publication, requester: Requester, marketplace: Marketplace
) -> None:
    clock, title, first = Clock(), published.title, published.hit_type_id
    marketplace.test("faults", script=[{"kind": "after_commit", "operation": "UpdateHITTypeOfHIT", "times": 3}])
    replace(published, clock, title="Another")
    for _call in range(2):  # the type, then the HITs: the marketplace moves them, and the answers are lost
        publication_plan(publication_id=published.pk, at=clock())
        operations_run(publication=published, clock=clock, sleep=clock.sleep)
    assert Operation.objects.filter(kind="retype", state="unknown").count() == 3
    assert first not in types_there(requester).values()
    assert set(published.published_hits.values_list("hit_type_id", flat=True)) == {first}
    replace(published, clock, title=title)
    drain(published, clock)
    assert published.hit_type_id == first
    assert set(types_there(requester).values()) == {first}


def test_a_hit_whose_making_is_in_doubt_comes_under_the_newest_terms_once_it_is_found(
    publication: Publication, requester: Requester, marketplace: Marketplace
) -> None:
    clock = Clock()
    publication_publish(publication=publication, at=clock())
    marketplace.test("faults", script=[{"kind": "reply_dropped", "operation": "CreateHITWithHITType", "times": 1}])
    while not Operation.objects.filter(kind="create", state="unknown").exists():
        publication_plan(publication_id=publication.pk, at=clock())
        operations_run(publication=publication, clock=clock, sleep=clock.sleep, limit=1)
    replace(publication, clock, title="Another")
    drain(publication, clock)
    types = types_there(requester)
    assert len(types) == 3
    assert set(types.values()) == {publication.hit_type_id}


def test_a_refused_change_is_left_to_a_person(
    published: Publication, requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(published, title="Another")
    clock = Clock()
    publication_plan(publication_id=published.pk, at=clock())
    operations_run(publication=published, clock=clock, sleep=clock.sleep)
    publication_plan(publication_id=published.pk, at=clock())
    call = Operation.objects.filter(kind="retype").first()
    assert call is not None
    right = call.request
    Operation.objects.filter(pk=call.pk).update(request=right | {"HITId": "3NONE"})
    drain(published, clock)
    call.refresh_from_db()
    assert call.state == "refused"
    assert Operation.objects.filter(kind="retype").count() == 3
    Operation.objects.filter(pk=call.pk).update(request=right)
    assert operation_retry(operation=call, at=clock())
    drain(published, clock)
    assert set(types_there(requester).values()) == {published.hit_type_id}


def test_work_accepted_with_more_time_is_still_asked_about_after_the_time_was_cut(
    published: Publication, wanda: Worker, marketplace: Marketplace
) -> None:
    assignment = arrive(published, wanda)
    replace(published, assignment_duration=timedelta(minutes=1), title="Faster")
    clock = drain(published)
    published_hit = published.published_hits.get(hit__number=1)
    published.published_hits.filter(pk=published_hit.pk).update(expires_at=clock() - timedelta(days=1, minutes=30))
    publication_sync(publication=published, at=clock(), everything=True)
    assert fresh(published_hit).next_poll_at is not None
    finish(assignment, wanda)
    publication_sync(publication=published, at=clock(), everything=True)
    assert published.submissions.get().assignment == assignment


def test_the_page_shows_what_follows_before_it_replaces(
    page: Client, published: Publication, requester: Requester, rita: User
) -> None:
    campaign = published.campaign
    address = address_of("terms", campaign)
    html = text_of(page, address)
    assert 'name="platform"' not in html
    assert 'name="base"' not in html
    typed_in = {
        name: value
        for name, value in typed(campaign, title="Another", countries="US").items()
        if name not in ("platform", "pay", "base")
    }
    look = page.post(address, typed_in)
    text = look.content.decode()
    assert look.status_code == 200
    for words in ("Another", "in US", "3 HITs at the platform move to the new terms", "$9.60 as before", "could take"):
        assert words in text
    assert published.terms.count() == 1

    other = page.post(address, typed_in | {"title": "A third", "seen": look.context["seen"]})
    assert other.status_code == 200  # not what was looked at: it is shown first
    assert published.terms.count() == 1

    done = page.post(address, typed_in | {"seen": look.context["seen"]})
    assert (done.status_code, done["Location"]) == (303, address_of("publication", campaign))
    again = page.post(address, typed_in | {"seen": look.context["seen"]})
    assert again.status_code == 303
    assert published.terms.count() == 2
    newest = published.terms.order_by("-version").first()
    assert newest is not None
    assert newest.by == rita
    drain(published)
    history = text_of(page, address)
    assert all(words in history for words in ("Versions", "as published", "Requirements on workers", "→"))


def test_the_page_replaces_with_terms_for_nobody_only_when_told_so(page: Client, published: Publication) -> None:
    address = address_of("terms", published.campaign)
    typed_in = typed(published.campaign, approved="999999")
    look = page.post(address, typed_in)
    assert "None of the marketplace" in look.content.decode()
    fields = {"seen": look.context["seen"]}
    assert page.post(address, typed_in | fields).status_code == 400
    assert published.terms.count() == 1
    assert page.post(address, typed_in | fields | {"although_nobody_qualifies": "on"}).status_code == 303
    assert published.terms.count() == 2
