"""Campaigns in rounds: planned, asked and judged one after the other, to the same end as by command."""

import json
from datetime import timedelta
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow, Refused
from core.models import Alarm, Lab, User
from judgments import jobs, quality, rounds, watching, worker_reports
from judgments import services as judgment_services
from judgments.evidence import Evidence
from platforms.money.bills import remaining_bill, rounds_forecast
from platforms.publishing.publications import unposted
from platforms.terms import publication_write
from pools.models import Campaign, Pair, Round, RoundPool
from results import refreshing
from results.asking import further_ask, offer_for
from results.finishing import campaigns_finish
from results.models import Result
from review import reports
from runs.models import Collection
from tasks import services as task_services
from tasks.models import Hit, Worker
from tests import factories
from tests.api.conftest import Program
from tests.evaluation.command import run_cli
from tests.killing import killed_at

SIZES = {"q1": 16, "q2": 9, "q3": 5, "q4": 1}
RANK = {f"{qid}-{number:02}": place for qid, size in SIZES.items()
        for place, number in enumerate(Random(qid).sample(range(size), size))}  # fmt: skip


@pytest.fixture
def deep(lab: Lab, tmp_path: Path) -> Collection:
    """Pools of 16, 9, 5 and 1 passages, of which people know an order."""
    tops: dict[str, dict[str, list[str]]] = {
        "red": {qid: [f"{qid}-{number:02}" for number in range(size)] for qid, size in SIZES.items()},
        "green": {qid: [f"{qid}-{number:02}" for number in reversed(range(size))] for qid, size in SIZES.items()},
    }
    return factories.collection(
        tmp_path, in_lab=lab, qrels={qid: [f"{qid}-00"] for qid in SIZES}, tops=tops, name="deep"
    )


def make(collection: Collection, name: str = "rounds", **settings: Any) -> Campaign:
    design = {"depth": 16, "partners": 3, "finalists": 4, "pairs_per_hit": 10, "tests_per_hit": 2}
    return factories.campaign(collection, name, design="rounds", **design | settings)


@pytest.mark.parametrize("budget", [None, Decimal("7.50")])
def test_the_dry_run_says_that_it_is_for_the_rounds_until_now_and_what_all_are_expected_to_cost(
    deep: Collection, rita: User, client: Client, budget: Decimal | None
) -> None:
    campaign = make(deep, rounds_budget=budget)
    publication = publication_write(campaign=campaign, platform="marketplace")
    forecast = rounds_forecast(publication)
    assert forecast and forecast.rounds > 1
    assert forecast.bill.total > remaining_bill(publication).total
    client.force_login(rita)

    page = " ".join(client.get(reverse("platforms:publish", args=[campaign.pk])).content.decode().split())

    assert "for the HITs that are packed so far, not for the whole campaign" in page
    assert f"about {forecast.pairs} pairs in {forecast.rounds} rounds" in page
    assert f"cost about {campaign.money(forecast.bill.total)}" in page
    assert ("their budget of $7.50" in page) == (budget is not None) != ("have no budget" in page)
    answer = Program(rita).get(f"/api/v1/campaigns/{campaign.pk}/publication/").json()
    assert (answer["amount"], answer["expected_amount"]) == (
        f"{remaining_bill(publication).total}", f"{forecast.bill.total}",
    )  # fmt: skip


def judge(campaign: Campaign, worker: str = "Ann", *, wrong: bool = False) -> None:
    """Judge all HITs that wait for somebody, by the order that people know, or against it."""
    while campaign.hits.filter(needed__gt=0).exists():
        judge_hits(campaign, worker, 1, wrong=wrong)


def judge_hits(campaign: Campaign, worker: str, hits: int | None = None, *, wrong: bool = False) -> None:
    """Judge so many HITs, or all that wait for somebody, once each."""
    by = Worker.objects.filter(label=worker, assignments__campaign=campaign).first() or factories.worker(
        campaign, worker
    )
    for _hit in range(campaign.hits.filter(needed__gt=0).count() if hits is None else hits):
        assignment = factories.take(by, campaign)
        for item in assignment.items.select_related("pair__a", "pair__b").order_by("position"):
            is_a = item.pair is None or (RANK[item.pair.a.pid] < RANK[item.pair.b.pid]) != wrong
            factories.judge(assignment, only=[item.position], prefer="a" if is_a else "b")
        judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


def to_the_end(campaign: Campaign, worker: str = "Ann") -> Campaign:
    """Let the job and the crowd work until all rounds are over."""
    for _time in range(20):
        jobs.advance_rounds()
        campaign.refresh_from_db()
        if campaign.rounds_revision == campaign.revision:
            return campaign
        judge(campaign, worker)
    raise AssertionError("still going on")


def best(sizes: dict[str, int]) -> tuple[tuple[str, str], ...]:
    """The best passage of each query, as people know it."""
    return tuple(
        (qid, next(pid for pid, place in RANK.items() if pid.startswith(f"{qid}-") and not place)) for qid in sizes
    )


def test_rounds_go_on_by_themselves_to_the_best_answers_with_fewer_pairs_and_as_the_command_has_it(
    deep: Collection, tmp_path: Path
) -> None:
    campaign = make(deep)
    first = campaign.pair_count
    assert first == 24 + 14 + 10  # three partners each, and a small pool's whole tournament
    assert jobs.advance_rounds() == "rounds planned: 1" and jobs.advance_rounds() == "rounds planned: 0"
    assert Evidence(campaign).derived.qrels == best({"q4": 1})
    judge(campaign)
    assert Evidence(campaign).derived.qrels == best({"q3": 5, "q4": 1}), "the large pools are not done"
    assert campaigns_finish(at=timezone.now()) == 0
    to_the_end(campaign)
    assert Evidence(campaign).derived.qrels == best(SIZES)

    rows = list(campaign.rounds.order_by("number").values_list("number", "pools", "passages", "pairs"))
    assert rows[0] == (1, 3, 30, first) and len(rows) >= 3
    assert [pools for _number, pools, _passages, _pairs in rows[1:]] == sorted(
        (pools for _number, pools, _passages, _pairs in rows[1:]), reverse=True
    )
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True), "pools shrink"
    assert campaign.pair_count == sum(row[3] for row in rows) == Pair.objects.filter(pool__campaign=campaign).count()
    full = sum(size * (size - 1) // 2 for size in SIZES.values())
    assert campaign.pair_count < 0.5 * full
    expected = campaign.pairing.estimate(campaign.pool_sizes, campaign.pair_count)
    assert campaign.pair_count == pytest.approx(expected.pairs, rel=0.25) and len(rows) <= expected.rounds + 1

    files = factories.exported(campaign)
    judged, members = tmp_path / "counted.txt", tmp_path / "members.txt"
    judged.write_bytes(files["counted-preferences.txt"])
    members.write_text("".join(f"{pid.partition('-')[0]} {pid}\n" for pid in sorted(RANK)))
    words = ["--pools", str(members), "--judgments", str(judged), "--partners", "3", "--finalists", "4", "--seed", "1"]
    out, err = run_cli("rounds", "result", *words, "--json")
    assert out.encode() == files["preference-qrels.txt"]
    assert json.loads(err)["asked"] == campaign.pair_count and json.loads(err)["open"] == 0
    assert run_cli("rounds", "next", *words).out == ""


def test_the_results_of_rounds_have_scores_and_say_how_certain_they_are(
    client: Client, deep: Collection, rita: User
) -> None:
    campaign = to_the_end(make(deep))
    refreshing.result_refresh(campaign=campaign)
    data = Result.objects.get(campaign=campaign).data
    assert {row["run"] for row in data["leaderboard"]} == {"red", "green"}
    assert data["contributions"] == []
    assert {row["run"] for row in data["ranks"]} == {"red", "green"}
    certain = {row["qid"]: row for row in data["stability"]}
    assert [(qid, row["best"]) for qid, row in sorted(certain.items())] == [
        (qid, [pid]) for qid, pid in best(SIZES)[:3]
    ]
    for qid, query in certain.items():
        chances = {row["passage"]: row["p"] for row in query["passages"]}
        assert len(chances) == SIZES[qid] and sum(chances.values()) == pytest.approx(1)
        assert query["best"][0] in query["set"] and query["fragility"] >= 1
    assert certain["q3"]["exact"] and 0 < certain["q1"]["share"] < 1
    client.force_login(rita)
    page = client.get(reverse("results:results", args=[campaign.pk])).text
    assert "drawn by the strengths of their passages" in page
    pool = campaign.pools.get(query__qid="q1")
    assert client.get(reverse("results:query", args=[campaign.pk, pool.pk])).status_code == 200
    jobs.make_exports()
    assert campaigns_finish(at=timezone.now()) == 1


def test_what_is_asked_further_is_about_finals_alone_and_opens_no_round(deep: Collection) -> None:
    to_the_end(make(deep, "earlier", depth=2), "Zoe")  # whose judgments are reused
    campaign = make(deep, error_rate=Decimal("0.1"))
    jobs.advance_rounds()
    refreshing.result_refresh(campaign=campaign)
    assert "rounds are not over" in offer_for(campaign, judgments=3).obstacle
    to_the_end(campaign)
    refreshing.result_refresh(campaign=campaign)
    before = {row["qid"]: row for row in Result.objects.get(campaign=campaign).data["stability"]}
    wish: dict[str, Any] = {"budget": Decimal(900), "judgments": 5, "wanted": 1}
    planned = campaign.rounds.count()
    offer = offer_for(campaign, **wish)
    assert not offer.obstacle and len(offer.groups) > 1, "of reused pairs, fewer judgments of its own are wanted"
    less = offer_for(campaign, **wish | {"budget": offer.bill.total - Decimal("0.01")})
    assert less.bill.total < offer.bill.total and len(less.queries) < len(offer.queries)
    wish["budget"] = offer.bill.total
    further_ask(campaign=campaign, **wish, seen=offer.seen)
    hits = [hit.needed for hit in Hit.objects.filter(campaign=campaign, needed__gt=0)]
    assert (len(hits), sum(hits)) == (offer.bill.hits, offer.bill.assignments)
    pairs = set(Pair.objects.filter(items__hit__wanted__gt=1).values_list("pool__query__qid", "a__pid", "b__pid"))
    assert pairs == {
        (qid, *sorted(pair))
        for qid in offer.queries
        for pair in combinations({*before[qid]["set"]} & {*before[qid]["final"]}, 2)
    }
    for worker in ("Ben", "Cem", "Dan", "Eva"):
        judge_hits(campaign, worker)
    campaign.refresh_from_db()
    full = offer_for(campaign, **wish)
    assert "rounds are not over" in full.obstacle and not full.queries, "the job has not looked yet, and nothing lacks"
    jobs.advance_rounds()
    campaign.refresh_from_db()
    assert campaign.rounds_revision == campaign.revision and campaign.rounds.count() == planned
    assert Evidence(campaign).derived.qrels == best(SIZES) and offer_for(campaign, **wish).obstacle == ""
    refreshing.result_refresh(campaign=campaign)
    after = {row["qid"]: row for row in Result.objects.get(campaign=campaign).data["stability"]}
    for qid in offer.queries:
        assert after[qid]["best"] == before[qid]["best"] and after[qid]["share"] > before[qid]["share"]


def test_the_hits_of_a_round_are_published_where_the_first_ones_were(deep: Collection) -> None:
    campaign = make(deep)
    publication = publication_write(campaign=campaign, platform="marketplace")
    jobs.advance_rounds()
    judge(campaign)
    assert not unposted(publication).exists()
    jobs.advance_rounds()
    second = campaign.rounds.get(number=2)
    assert unposted(publication).count() == second.hits > 0
    assert {hit.needed for hit in unposted(publication)} == {campaign.overlap}


def test_what_is_excluded_or_comes_late_opens_no_closed_round(deep: Collection, rita: User) -> None:
    campaign = make(deep)
    jobs.advance_rounds()
    judge(campaign)
    jobs.advance_rounds()
    second = campaign.rounds.get(number=2)
    begun = {row.pool_id: row.begun for row in second.played.all()}
    assert begun and all(len(playing) == 2 for playing in begun.values())
    for assignment in campaign.assignments.filter(hit__number__lte=campaign.rounds.get(number=1).hits):
        quality.assignment_exclude(assignment=assignment, why="Careless", by=rita, at=timezone.now())
    assert Evidence(campaign).derived.qrels == best({"q4": 1})
    judge(campaign, "Ben", wrong=True)  # everything of the first round says the opposite now, and of the second
    jobs.advance_rounds()
    assert {row.pool_id: row.begun for row in RoundPool.objects.filter(round=second)} == begun
    statuses = Evidence(campaign).outcome.rounds
    for pool in campaign.pools.filter(pk__in=begun):
        assert [list(playing) for playing in statuses[pool.query.qid].begun[:2]] == begun[pool.pk]
    to_the_end(campaign)
    (asked_at,) = campaign.rounds.filter(number=2).values_list("asked_at", flat=True)
    assert asked_at == second.asked_at


def test_a_pair_that_is_set_aside_stops_its_own_pool_alone(deep: Collection, rita: User) -> None:
    campaign = make(deep)
    jobs.advance_rounds()
    assignment = factories.take(factories.worker(campaign, "Eve"), campaign)
    item = assignment.items.filter(pair__pool__query__qid="q2").select_related("pair").earliest("position")
    pair, at = item.pair, timezone.now()
    assert pair is not None
    worker_reports.pair_report(assignment_id=assignment.pk, position=item.position, reason="broken", note="", at=at)
    judgment_services.assignment_leave(assignment=assignment, at=at)
    reports.pair_decide(campaign=campaign, pair=pair, kind="set_aside", why="Broken text", by=rita, at=timezone.now())
    to_the_end(campaign)
    outcome = Evidence(campaign).derived
    assert outcome.qrels == best({"q1": 16, "q3": 5, "q4": 1}) and outcome.incomplete == ("q2",)
    reports.pair_decide(campaign=campaign, pair=pair, kind="asked", why="It is fine", by=rita, at=timezone.now())
    to_the_end(campaign, "Ben")
    assert Evidence(campaign).derived.qrels == best(SIZES)


def test_a_round_waits_for_a_look_and_is_asked_once(client: Client, deep: Collection, rita: User) -> None:
    campaign = make(deep, rounds_wait=True)
    jobs.advance_rounds()
    judge(campaign)
    jobs.advance_rounds()
    waiting = campaign.rounds.get(number=2)
    assert waiting.asked_at is None and not Hit.objects.filter(campaign=campaign, needed__gt=0).exists()
    alarm = Alarm.objects.get(campaign=campaign, settled_at=None)
    assert alarm.kind == "round" and "Look at it, and ask it" in alarm.text
    assert campaigns_finish(at=timezone.now()) == 0 and jobs.advance_rounds() == "rounds planned: 0"
    page, ask = reverse("campaigns:campaign", args=[campaign.pk]), reverse("judgments:round_ask", args=[campaign.pk, 2])
    assert watching.forecast(campaign, timezone.now()).why == "The work of this round is done."
    client.force_login(factories.member(deep.lab, "viewer"))
    assert "waits for you" in client.get(page).text and ask not in client.get(page).text
    assert client.post(ask).status_code == 403
    client.force_login(rita)
    assert f'action="{ask}"' in client.get(page).text
    assert "Round 2 is asked" in client.post(ask, follow=True).text
    waiting.refresh_from_db()
    assert waiting.asked_by == rita and waiting.hits == campaign.hits.filter(needed__gt=0).count() > 0
    assert client.post(ask).status_code == 409
    assert not Alarm.objects.filter(campaign=campaign, settled_at=None).exists()
    judge(campaign)
    jobs.advance_rounds()
    assert campaign.rounds.get(number=3).asked_at is None


def test_a_round_above_the_budget_waits_and_a_person_may_spend_more(deep: Collection, rita: User) -> None:
    campaign = make(deep, reward=Decimal(1), rounds_budget=Decimal(7))
    jobs.advance_rounds()
    judge(campaign)
    jobs.advance_rounds()
    waiting = campaign.rounds.get(number=2)
    assert waiting.asked_at is None and "their budget is $7.00" in waiting.obstacle
    assert rounds.round_cost(campaign, waiting) > 7
    rounds.round_ask(campaign=campaign, number=2, by=rita, at=timezone.now())
    judge(campaign)
    enough = make(deep, "enough", reward=Decimal(1), rounds_budget=Decimal(900), reuse="nothing")
    to_the_end(enough, "Ben")
    assert not enough.rounds.exclude(obstacle="").exists()


def test_a_failure_between_plan_and_hits_leaves_nothing_and_the_next_try_asks_the_same(
    deep: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make(deep)
    jobs.advance_rounds()
    judge(campaign)

    def fails(**_given: Any) -> int:
        raise OSError("the disk is full")

    before = campaign.pair_count
    with monkeypatch.context() as patch:
        patch.setattr(task_services, "hits_of_round", fails)
        jobs.advance_rounds()
    campaign.refresh_from_db()
    assert campaign.pair_count == before and campaign.rounds.count() == 1 and not RoundPool.objects.exists()
    assert "the disk is full" in Alarm.objects.get(campaign=campaign, settled_at=None).text
    Alarm.objects.update(retry_at=timezone.now() - timedelta(seconds=1))
    jobs.advance_rounds()
    assert campaign.rounds.count() == 2 and not Alarm.objects.filter(settled_at=None).exists()


def test_only_one_round_waits_and_what_is_not_planned_cannot_be_asked(deep: Collection, rita: User) -> None:
    campaign = make(deep, rounds_wait=True)
    with pytest.raises(NotNow, match="No such round"):
        rounds.round_ask(campaign=campaign, number=2, by=rita, at=timezone.now())
    fields = {"campaign": campaign, "planned_at": timezone.now(), "pools": 1, "passages": 2, "pairs": 1, "unsettled": 0}
    Round.objects.create(number=7, **fields)
    with pytest.raises(IntegrityError, match="round_one_waits"):
        Round.objects.create(number=8, **fields)


def test_several_judgments_of_each_pair_are_all_counted_and_a_closed_campaign_asks_nothing(deep: Collection) -> None:
    campaign = make(deep, overlap=3)
    jobs.advance_rounds()
    for worker, wrong in (("Ann", False), ("Ben", True)):
        judge_hits(campaign, worker, wrong=wrong)
    jobs.advance_rounds()
    assert campaign.rounds.count() == 1, "each pair has two of three judgments"
    judge(campaign, "Cem")
    task_services.campaign_move(campaign=campaign, to="closed")
    jobs.advance_rounds()
    assert campaign.rounds.count() == 1
    task_services.campaign_move(campaign=campaign, to="open")
    jobs.advance_rounds()
    statuses = Evidence(campaign).outcome.rounds
    assert campaign.rounds.count() == 2 and best({"q1": 16})[0][1] in statuses["q1"].playing


def test_a_draft_in_rounds_shows_both_bills_and_is_made_by_form_command_and_copy(
    client: Client, deep: Collection, rita: User
) -> None:
    client.force_login(rita)
    draft = make(deep, start=False)
    page = client.get(reverse("campaigns:campaign", args=[draft.pk])).text
    expected = draft.pairing.estimate(draft.pool_sizes, draft.pair_count)
    assert f"judged in rounds: 48 pairs in the first, about {expected.pairs} in all," in " ".join(page.split())
    assert "In rounds, and by all pairs" in page and "rounds, as set" in page
    full = sum(size * (size - 1) // 2 for size in SIZES.values())
    assert f'<td class="number">{full}</td>' in page and f'<td class="number">{expected.pairs}</td>' in page
    form = client.get(reverse("campaigns:campaign_new"), {"collection": deep.pk}).text
    for name in ("partners", "finalists", "rounds_wait", "rounds_budget"):
        assert f'name="{name}"' in form
    other = make(deep, "with more partners", start=False, partners=5, finalists=3, rounds_budget=Decimal(40))
    draft.refresh_from_db()
    assert other.pair_count != draft.pair_count
    assert (draft.method, other.method) == ("most-wins", "most-wins")
    with pytest.raises(Refused, match="the most wins in the final"):
        make(deep, "other", start=False, method="bradley-terry")


def test_the_api_lists_rounds_and_asks_the_one_that_waits(deep: Collection, rita: User) -> None:
    program, campaign = Program(rita), make(deep, rounds_wait=True)
    jobs.advance_rounds()
    judge(campaign)
    jobs.advance_rounds()
    rows = program.get(f"/api/v1/campaigns/{campaign.pk}/rounds/").json()["results"]
    assert [(row["number"], row["asked_at"] is None) for row in rows] == [(2, True), (1, False)]
    assert "Look at it" in rows[0]["obstacle"]
    answer = program.post(f"/api/v1/campaigns/{campaign.pk}/rounds/2/ask/", {})
    assert answer.status_code == 200 and answer.json()["asked_by"] == "rita" and answer.json()["hits"] > 0
    again = program.post(f"/api/v1/campaigns/{campaign.pk}/rounds/2/ask/", {})
    assert again.status_code == 409 and "No such round waits" in again.text
    judge(campaign)
    jobs.advance_rounds()
    assert program.post(f"/api/v1/campaigns/{campaign.pk}/rounds/3/ask/", {}).json()["hits"] > 0
    plain = factories.campaign(deep, "plain", depth=2)
    assert program.get(f"/api/v1/campaigns/{plain.pk}/rounds/").json()["results"] == []


@pytest.mark.django_db(transaction=True)
def test_jobs_that_are_killed_between_rounds_change_neither_what_is_asked_nor_the_outcome(
    transactional_db: None, deep: Collection
) -> None:
    campaign = make(deep)
    jobs.advance_rounds()
    judge(campaign)
    before = (campaign.hits.count(), Pair.objects.filter(pool__campaign=campaign).count())
    for table in ("pools_roundpool", "tasks_item"):  # while the round is planned, and while it is packed
        with killed_at(table, jobs.advance_rounds):
            assert campaign.rounds.count() == 1 and not RoundPool.objects.exists()
            assert (campaign.hits.count(), Pair.objects.filter(pool__campaign=campaign).count()) == before
    to_the_end(campaign)
    alike = to_the_end(make(deep, "never killed", reuse="nothing"), "Ben")
    assert Evidence(campaign).derived.qrels == Evidence(alike).derived.qrels == best(SIZES)
    fields = ("number", "pools", "passages", "pairs", "unsettled", "hits")
    assert list(campaign.rounds.order_by("number").values_list(*fields)) == list(
        alike.rounds.order_by("number").values_list(*fields)
    )
    pairs, others = (
        set(Pair.objects.filter(pool__campaign=each).values_list("a__pid", "b__pid")) for each in (campaign, alike)
    )
    assert pairs == others and not Alarm.objects.exists()
