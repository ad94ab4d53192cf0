"""Campaigns of challengers: what newly surfaces on top against the best known answers, and what comes of it."""

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.forms import CampaignForm
from core.errors import NotNow, Refused
from core.models import User
from judgments import jobs as judgment_jobs
from judgments import quality
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.evidence import Evidence
from judgments.models import Acceptance
from platforms.money.bills import campaign_bill, remaining_bill
from platforms.terms import publication_unsaved
from pools import preference_imports, reuse
from pools import selectors as pool_selectors
from pools.models import Campaign, Pair, QrelsVersion
from pools.reuse import reused_pairs
from results import jobs as result_jobs
from results import refreshing, versions
from results.models import Result, VersionScore
from results.pool_detail import pool_detail
from review import adjudicating
from runs import services as run_services
from runs.models import Collection, PreferenceImport
from tasks.services import NoWork
from tests import factories
from tests.results.judging import judge, judged, new_run
from tests.words import text_of
from tests.worlds import lay_out

CHALLENGE = {"design": "challengers", "pairs_per_hit": 3, "tests_per_hit": 2}


def add(campaign: Campaign, why: str = "As judged.") -> QrelsVersion:
    return versions.version_add(campaign=campaign, why=why, by=None, at=timezone.now())


def answers(version: QrelsVersion) -> dict[str, str]:
    return {query: " ".join(pids) for query, pids in pool_selectors.version_answers(version).items()}


def challenge(collection: Collection, name: str, *runs: str, start: bool = True, **settings: Any) -> Campaign:
    return factories.campaign(collection, name, runs=runs, start=start, **(CHALLENGE | settings))


@pytest.fixture
def first(collection: Collection) -> QrelsVersion:
    """What a campaign of all pairs found: p1, p4, p7 and p9."""
    lay_out(f"a first version of collection {collection.pk}", lambda: add(judged(collection)))
    return QrelsVersion.objects.get()


def test_a_new_run_challenges_the_answers_and_the_winner_takes_the_place(
    collection: Collection, first: QrelsVersion, researcher: Client
) -> None:
    new = new_run(collection, "new", {"q1": ["p0", "p1"], "q2": ["p99"], "q3": ["p8"], "q4": ["p9"]})
    form = CampaignForm(collection=collection)
    entered = {name: form[name].value() for name in form.fields} | {
        "name": "second", "all_runs": "", "runs": [new.pk], "design": "challengers", "pairs_per_hit": 3,
        "tests_per_hit": 2, "confirmations": 1,
    }  # fmt: skip
    entered = {name: "" if value is None else value for name, value in entered.items()}
    answer = researcher.post(f"{reverse('campaigns:campaign_new')}?collection={collection.pk}", entered)
    second = Campaign.objects.get(name="second")
    assert (answer.status_code, second.base_version) == (303, first)
    # p8 was in a pool of the first campaign, and lost there.
    assert list(judgment_selectors.asked_pairs(second)) == [("q1", "p0", "p1"), ("q2", "p4", "p99")]
    assert "Version to challenge version 1" in text_of(researcher, reverse("campaigns:settings", args=[second.pk]))
    factories.write_tests(second)
    factories.begin(second)
    judge(second)
    refreshing.result_refresh(campaign=second)
    page = researcher.get(reverse("results:results", args=[second.pk])).content.decode()
    assert "Of the challengers, " in page.partition("<blockquote")[2].partition("</blockquote>")[0]
    text = text_of(researcher, reverse("results:results", args=[second.pk]))
    assert "The runs bring 2 new passages to 2 of the 4 queries of version 1" in text
    assert "1 replaced a best known answer, 0 tied with the best known answers, and 1 lost" in text
    assert "leaderboard" not in text
    table = researcher.get(reverse("results:table", args=[second.pk, "challengers"])).content.decode()
    assert "replaced an answer" in table
    assert researcher.get(reverse("results:file", args=[second.pk, "challenging-runs", "csv"])).getvalue().decode() == (
        "run,brought,won,tied,lost,open,waiting\r\nnew,2,1,0,1,0,0\r\n"
    )
    exported = factories.exported(second)
    assert exported["preference-qrels.txt"] == b"q1 0 p0 1\nq2 0 p4 1\n"
    manifest = json.loads(exported["manifest.json"])
    assert manifest["settings"]["base_version"] == {"number": 1, "sha256": first.sha256}
    report = researcher.get(reverse("results:report", args=[second.pk]))
    assert report.status_code == 200
    for pool in second.pools.all():
        assert "best known answer is passage 1" in text_of(
            researcher, reverse("results:query", args=[second.pk, pool.pk])
        )

    result_jobs.score_versions()
    done = researcher.post(reverse("results:version_new", args=[second.pk]), {"why": "A new run.", "parent": "1"})
    assert done.status_code == 303
    assert result_jobs.add_versions() == "versions made: 1"
    version = QrelsVersion.objects.get(number=2)
    assert answers(version) == {"q1": "p0", "q2": "p4", "q3": "p7", "q4": "p9"}
    assert (version.added, version.changed, version.unchanged) == (0, 1, 3)
    result_jobs.score_versions()
    scores = dict(VersionScore.objects.filter(run=new).values_list("version__number", "rr"))
    assert scores == {1: (1 / 2 + 0 + 0 + 1) / 4, 2: (1 + 0 + 0 + 1) / 4}


def prefer(campaign: Campaign, name: str, better: str) -> None:
    """Have somebody do one HIT, and prefer this passage where it is shown, else the first."""
    assignment = factories.take(factories.worker(campaign, name), campaign)
    for item in assignment.items.select_related("pair__a", "pair__b").order_by("position"):
        wants_a = item.pair is None or item.pair.b.pid != better
        judgment_services.judgment_save(
            assignment_id=assignment.pk, position=item.position, at=timezone.now(), shown_at=timezone.now(),
            preferred="left" if wants_a == item.a_left else "right",
        )  # fmt: skip
    judgment_services.assignment_finish(assignment=assignment, at=timezone.now())


@pytest.mark.parametrize(
    ("level", "opinions", "answer"),
    [
        pytest.param(None, ["p99", "p99"], "p99", id="two say that it is better"),
        pytest.param(None, ["p99", "p4", "p99"], "p99", id="two of three do"),
        pytest.param(None, ["p99", "p4", "p4"], "p4", id="the first was alone"),
        pytest.param(None, ["p4"], "p4", id="it loses at once"),
        pytest.param(Decimal("0.999"), ["p99", "p99"], "p99", id="two, and it is probable"),
        pytest.param(Decimal("0.999"), ["p99", "p4"], "p4", id="it does not lead, and is not probable"),
    ],
)
def test_a_challenger_that_wins_is_compared_again_by_others_before_it_replaces_an_answer(
    collection: Collection, first: QrelsVersion, opinions: list[str], answer: str, level: Decimal | None
) -> None:
    new_run(collection, "new", {"q2": ["p99"]})
    second = challenge(collection, "second", "new", confirmations=3, confirm_level=level)
    assert campaign_bill(publication_unsaved(second)).assignments == 1
    for number, opinion in enumerate(opinions, start=1):
        assert dict(Evidence(second).derived.qrels).get("q2") is None
        prefer(second, f"worker {number}", opinion)
        with pytest.raises(NoWork):  # the same person is not asked again, nor is anybody before the job
            factories.take(factories.worker(second, f"worker {number}"), second)
        has_more = number < len(opinions)
        assert judgment_jobs.advance_rounds() == f"rounds planned: {int(has_more)}"
        assert not Campaign.objects.get(pk=second.pk).is_finished
        if has_more:
            with pytest.raises(NoWork):
                factories.take(factories.worker(second, f"worker {number}"), second)
            second.refresh_from_db()
            assert second.further_judgments == number and remaining_bill(publication_unsaved(second)).assignments == 1
    assert dict(Evidence(second).derived.qrels) == {"q2": answer}
    assert first.expected_wrong is None
    if answer == "p99":
        wrong = add(second).expected_wrong
        assert wrong is not None and 0 < wrong < 0.5
    assert Acceptance.objects.filter(pair__pool__campaign=second).count() == len(opinions)
    for job in (judgment_jobs.make_exports, result_jobs.compute_results, result_jobs.finish_campaigns):
        job()
    assert Campaign.objects.get(pk=second.pk).is_finished


def test_a_challenger_is_confirmed_once_it_is_probable_enough_that_it_is_better(
    collection: Collection, first: QrelsVersion
) -> None:
    new_run(collection, "new", {"q1": ["p0"], "q2": ["p99"]})
    second = challenge(collection, "second", "new", confirmations=3, confirm_level=Decimal("0.6"))
    assert second.error_model is not None and sum(row[-1] for row in second.error_model) == pytest.approx(1)
    judge(second)
    assert dict(Evidence(second).derived.qrels) == {"q1": "p0", "q2": "p4"}
    assert judgment_jobs.advance_rounds() == "rounds planned: 0", "one judgment is enough"
    manifest = json.loads(factories.exported(second)["manifest.json"])
    assert (manifest["settings"]["confirm_level"], manifest["error_model"]) == ("0.600", second.error_model)
    for level in (Decimal("0.999"), None):
        Campaign.objects.filter(pk=second.pk).update(confirm_level=level)
        second.refresh_from_db()
        assert dict(Evidence(second).derived.qrels) == {"q2": "p4"}
    # A campaign of before: what it exports has nothing new.
    Campaign.objects.filter(pk=second.pk).update(error_model=None)
    second.refresh_from_db()
    manifest = json.loads(factories.exported(second)["manifest.json"])
    assert "confirm_level" not in manifest["settings"] and "error_model" not in manifest


def test_what_a_person_decides_of_a_challenger_comes_before_what_is_probable(
    collection: Collection, first: QrelsVersion, rita: User
) -> None:
    new_run(collection, "new", {"q2": ["p99"]})
    second = challenge(collection, "second", "new", confirmations=3, confirm_level=Decimal("0.999"))
    for number, opinion in enumerate(["p99", "p4"]):
        prefer(second, f"worker {number}", opinion)
        judgment_jobs.advance_rounds()
    pair = Pair.objects.get(pool__campaign=second)
    Campaign.objects.filter(pk=second.pk).update(confirm_level=Decimal("0.5"))
    second.refresh_from_db()
    assert not Evidence(second).outcome.challenges[0].missing
    adjudicating.pair_adjudicate(campaign=second, pair=pair, choice="tie", expected=0, by=rita, at=timezone.now())
    assert Evidence(second).outcome.challenges[0].missing


def test_two_that_win_meet_in_a_second_round_that_asks_only_what_is_missing(
    collection: Collection, first: QrelsVersion
) -> None:
    new_run(collection, "one", {"q1": ["p0"], "q2": ["p3"]})
    new_run(collection, "two", {"q1": ["p00"]})
    second = challenge(collection, "second", "one", "two")
    judge(second)
    refreshing.result_refresh(campaign=second)
    data = Result.objects.get(campaign=second).data["challengers"]
    assert data["outcomes"] == {"won": 1, "tied": 0, "lost": 0, "open": 2, "waiting": 0}
    assert data["missing"] == 1
    detail = pool_detail(second.pools.get(query__qid="q1"))
    assert (detail.complete, detail.filled, detail.slots) == (False, 2, 2)
    version = add(second, "One of two is settled.")
    assert answers(version) == {"q1": "p1", "q2": "p3", "q3": "p7", "q4": "p9"}
    assert (version.changed, version.unsettled) == (1, 1)

    third = challenge(collection, "third", "one", "two")
    assert list(judgment_selectors.asked_pairs(third)) == [("q1", "p0", "p00"), ("q1", "p0", "p1"), ("q1", "p00", "p1")]
    assert (third.pair_count, third.reused_pair_count) == (3, 2)
    judge(third)
    assert answers(add(third, "The second round."))["q1"] == "p0"
    with pytest.raises(Refused, match="No run brings anything new: for every query of version 3"):
        challenge(collection, "fourth", "one", "two")


def test_what_was_judged_elsewhere_before_counts_and_what_is_judged_later_does_not(
    collection: Collection, first: QrelsVersion
) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    new_run(collection, "two", {"q1": ["p00"]})
    judged(collection, "all pairs", runs=["one", "two"], selection="list", query_list="q1")
    second = challenge(collection, "second", "one", "two")
    # All three pairs are known, so nobody is asked; both challengers beat p1, and p0 beats p00.
    assert (second.pair_count, reused_pairs(second)) == (2, 2)
    assert answers(add(second))["q1"] == "p0"


def test_challenges_are_derived_again_when_what_they_know_from_before_changes(
    collection: Collection, first: QrelsVersion, rita: User
) -> None:
    base = first.campaign
    assert base is not None
    new_run(collection, "one", {"q1": ["p0"]})
    source = factories.campaign(collection, "source", overlap=2, reuse="nothing")
    early = factories.take(factories.worker(source, "early"), source)
    second, draft = challenge(collection, "second", "one"), challenge(collection, "draft", "one", start=False)
    assert not second.reused_pair_count

    def revisions() -> list[int]:
        return [Campaign.objects.get(pk=campaign.pk).revision for campaign in (second, draft)]

    before = revisions()
    factories.do(factories.worker(source, "late"), source)
    assert revisions() == before, "what is judged later is not known"
    factories.judge(early)
    judgment_services.assignment_finish(assignment=early, at=timezone.now())
    assert revisions() == [before[0] + 1, before[1]]
    work = base.assignments.order_by("id").first()
    assert work is not None
    quality.assignment_exclude(assignment=work, why="careless", by=rita, at=timezone.now())
    assert revisions() == [before[0] + 2, before[1]]
    quality.assignment_restore(assignment=work, why="fine", by=rita, at=timezone.now())
    assert revisions() == [before[0] + 3, before[1]]


def test_an_import_that_challenges_are_decided_by_is_not_deleted(collection: Collection, first: QrelsVersion) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    new_run(collection, "two", {"q1": ["p00"]})
    files = {"before": "q1 p0 p00 p0", "elsewhere": "q3 p7 p8 p7", "after": "q1 p0 p00 p00"}

    def store(name: str) -> PreferenceImport:
        return preference_imports.preferences_import(
            collection=collection, name=name, source=io.BytesIO(files[name].encode()), filename=name, note="", by=None,
            at=timezone.now(),
        )  # fmt: skip

    before, elsewhere = store("before"), store("elsewhere")
    challenge(collection, "without", "one", "two")
    second = challenge(collection, "second", "one", "two", reuse="all")
    after = store("after")
    assert second.reused_pair_count == 0
    for unused in (elsewhere, after):
        preference_imports.preference_import_delete(preference_import=unused)
    with pytest.raises(NotNow, match=r"challengers were decided with .*: second\."):
        preference_imports.preference_import_delete(preference_import=before)
    assert list(PreferenceImport.objects.all()) == [before]
    assert before.preferences.count() == 1


def test_one_worker_who_judged_a_text_pair_under_two_ids_counts_once_in_a_challenge(
    collection: Collection, first: QrelsVersion
) -> None:
    new_run(collection, "one", {"q1": ["p0", "p00"]})
    once = {"depth": 2, "qrel_policy": "none", "selection": "list", "query_list": "q1", "reuse": "nothing"}
    again = factories.campaign(collection, "again", runs=["one"], **once)
    factories.do(factories.worker(again, "Ann"), again, prefer="a")
    file = io.BytesIO(f"z0\t{factories.passage_text('p0')}\n".encode())
    run_services.collection_import(lab=collection.lab, name=collection.name, passages=file, keep="all")
    factories.run(collection, "twin", {"q1": ["z0", "p00"]})
    third = factories.campaign(collection, "under another id", runs=["twin"], overlap=2, **once)
    preference_imports.preferences_import(
        collection=collection, name="old", source=io.BytesIO(b"q1 p0 p00 p0\nq1 p0 p00 p0\n"), filename="old", note="",
        by=None, at=timezone.now(),
    )  # fmt: skip
    for name in ("Ann", "Bob"):
        factories.do(factories.worker(third, name), third, prefer="a")
    new_run(collection, "two", {"q1": ["p000"]})
    second = challenge(collection, "second", "two", start=False, reuse="all")

    rows = reuse.known_preferences(second, collection.queries.get(qid="q1"))

    between = [tuple(row) for row in rows if not {row.a, row.b} & {"p1", "p2", "p3"}]
    assert between == [
        ("q1", "p0", "p00", "p0"),  # Ann's, which she gave first
        ("q1", "p0", "p00", "p0"),
        ("q1", "p0", "p00", "p0"),  # nobody knows who made imported ones
        ("q1", "p00", "z0", "p00"),  # Bob's
    ]


def test_challenges_of_an_answer_that_another_version_replaced_settle_nothing(
    collection: Collection, first: QrelsVersion, researcher: Client
) -> None:
    new_run(collection, "one", {"q1": ["p0"], "q2": ["p3"]})
    new_run(collection, "two", {"q1": ["p00"]})
    slow, fast = challenge(collection, "slow", "one"), challenge(collection, "fast", "two")
    judge(fast)
    judge(slow)
    assert answers(add(fast))["q1"] == "p00"
    version = add(slow)
    assert (answers(version)["q1"], answers(version)["q2"]) == ("p00", "p3")
    assert (version.changed, version.overtaken, version.unsettled) == (1, 1, 0)
    text = text_of(researcher, reverse("results:version", args=[collection.pk, version.number]))
    assert "1 query of the campaign was left as it was, because a version from another campaign" in text
    assert "lacked judgments" not in text
    third = challenge(collection, "third", "one")
    assert list(judgment_selectors.asked_pairs(third)) == [("q1", "p0", "p00")]


def test_a_version_of_challengers_is_corrected_once_the_pair_has_been_judged_again(
    collection: Collection, first: QrelsVersion, rita: User
) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    second = challenge(collection, "second", "one")
    factories.do(factories.worker(second, "Alice"), second, prefer="a")
    assert answers(add(second))["q1"] == "p0"
    alices = second.assignments.get()
    quality.assignment_exclude(assignment=alices, why="A bot.", by=rita, at=timezone.now())
    with pytest.raises(NotNow, match="has not settled any query yet"):
        add(second)
    factories.do(factories.worker(second, "Bob"), second, prefer="b")
    version = add(second, "Judged again, by a person.")
    assert answers(version)["q1"] == "p1"
    assert (version.changed, version.overtaken, version.unsettled) == (1, 0, 0)


def test_a_campaign_whose_every_challenge_was_overtaken_says_so(collection: Collection, first: QrelsVersion) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    new_run(collection, "two", {"q1": ["p00"]})
    slow, fast = challenge(collection, "slow", "one"), challenge(collection, "fast", "two")
    judge(fast)
    judge(slow)
    add(fast)
    with pytest.raises(NotNow, match="versions from other campaigns have replaced the best known answers that it"):
        add(slow)


def test_a_campaign_that_settles_nothing_says_why_for_each_of_its_queries(
    collection: Collection, first: QrelsVersion
) -> None:
    new_run(collection, "one", {"q1": ["p0"], "q2": ["p00"]})
    new_run(collection, "two", {"q1": ["p00"]})
    slow, fast = challenge(collection, "slow", "one"), challenge(collection, "fast", "two")
    judge(fast)
    add(fast)
    with pytest.raises(NotNow) as refused:
        add(slow)
    assert str(refused.value) == (
        "“slow” settles no query. 1 query lacks judgments or needs another round. Since it was created, versions from "
        "other campaigns have replaced the best known answers that it challenged on 1 query. No version was added."
    )


def test_a_text_that_was_considered_under_another_id_is_nothing_new(
    collection: Collection, first: QrelsVersion
) -> None:
    texts = {"p1b": "p1", "p3": "p3", "p3b": "p3"}
    file = io.BytesIO("".join(f"{pid}\t{factories.passage_text(of)}\n" for pid, of in texts.items()).encode())
    run_services.collection_import(lab=collection.lab, name=collection.name, passages=file, keep="all")
    factories.run(collection, "one", {"q1": ["p1b"], "q2": ["p3"]})
    factories.run(collection, "two", {"q2": ["p3b"]})
    second = challenge(collection, "second", "one", "two")
    assert list(judgment_selectors.asked_pairs(second)) == [("q2", "p3", "p4")]
    judge(second)
    refreshing.result_refresh(campaign=second)
    brought = {row["run"]: row["won"] for row in Result.objects.get(campaign=second).data["challengers"]["runs"]}
    assert brought == {"one": 1, "two": 1}
    version = add(second)
    assert answers(version)["q2"] == "p3 p3b"
    with pytest.raises(Refused, match="No run brings anything new"):
        challenge(collection, "again", "one", "two")
    new_run(collection, "three", {"q2": ["p00"]})
    third = challenge(collection, "third", "three")
    assert list(judgment_selectors.asked_pairs(third)) == [("q2", "p00", "p3")]
    judge(third)
    assert answers(add(third))["q2"] == "p00"


def test_a_tie_keeps_both(collection: Collection, first: QrelsVersion) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    second = challenge(collection, "second", "one", overlap=2)
    for name, side in (("Alice", "a"), ("Bob", "b")):
        factories.do(factories.worker(second, name), second, prefer=side)
    refreshing.result_refresh(campaign=second)
    outcomes = Result.objects.get(campaign=second).data["challengers"]["outcomes"]
    assert outcomes == {"won": 0, "tied": 1, "lost": 0, "open": 0, "waiting": 0}
    assert answers(add(second))["q1"] == "p0 p1"


def test_while_judgments_are_missing_nothing_is_settled(collection: Collection, first: QrelsVersion) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    second = challenge(collection, "second", "one", overlap=2)
    factories.do(factories.worker(second, "Alice"), second)
    with pytest.raises(NotNow, match="“second” has not settled any query yet"):
        add(second)
    refreshing.result_refresh(campaign=second)
    outcomes = Result.objects.get(campaign=second).data["challengers"]["outcomes"]
    assert (outcomes["waiting"], outcomes["won"]) == (1, 0)


def test_a_challenger_that_is_not_for_release_is_in_no_version(collection: Collection, first: QrelsVersion) -> None:
    secret = new_run(collection, "secret", {"q1": ["p0"], "q2": ["p4"]})
    new_run(collection, "public", {"q2": ["p3"]})
    run_services.run_release(run=secret, is_released=False)
    second = challenge(collection, "second", "secret", "public")
    judge(second)
    version = add(second)
    assert (answers(version)["q1"], answers(version)["q2"], version.held_back) == ("p1", "p3", 1)
    assert b"p0" not in b"".join(factories.exported(second).values())


def test_settings_that_do_not_fit_are_refused(collection: Collection) -> None:
    with pytest.raises(Refused, match="no version of its preference qrels, so there is nothing to challenge"):
        challenge(collection, "early", "red", start=False)
    form = CampaignForm({"design": "challengers"}, collection=collection)
    assert "Make one from a campaign's results first" in form.errors["design"][0]
    first = add(judged(collection))
    with pytest.raises(Refused, match="No run brings anything new: for every query of version 1"):
        challenge(collection, "nothing", "red", "green", "blue", start=False)
    for settings, why in (({"depth": 2}, "the depth of this design is 1"), ({"method": "most-wins"}, "by tournament")):
        with pytest.raises(Refused, match=why):
            challenge(collection, "odd", "red", start=False, **settings)
    form = CampaignForm({"design": "challengers", "depth": 2, "method": "most-wins"}, collection=collection)
    assert {"depth", "method"} <= set(form.errors)
    assert "design" not in form.errors
    assert list(Campaign.objects.all()) == [first.campaign]


def test_another_collections_version_cannot_be_challenged(
    collection: Collection, first: QrelsVersion, tmp_path: Any
) -> None:
    theirs = factories.small(tmp_path, factories.lab("Another lab"))
    form = CampaignForm({"design": "challengers", "base_version": first.pk}, collection=theirs)
    assert "base_version" in form.errors
    with pytest.raises(Refused, match="must belong to the collection"):
        challenge(theirs, "odd", "red", start=False, base_version=first)


def test_an_earlier_version_can_be_challenged_and_the_command_takes_the_newest(
    collection: Collection, first: QrelsVersion
) -> None:
    new_run(collection, "one", {"q1": ["p0"]})
    second = challenge(collection, "second", "one")
    judge(second)
    add(second)
    new_run(collection, "two", {"q1": ["p00"]})
    for name, chosen, version in (("newest", {}, 2), ("earlier", {"base_version": first}, 1)):
        base = challenge(collection, name, "two", start=False, **chosen).base_version
        assert base is not None
        assert base.number == version
