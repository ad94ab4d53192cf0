"""Test pairs that a program cannot find: how they are suggested, what their page says, and the demo's own."""

import gzip
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import Refused
from core.models import Lab, User
from evaluation.files.qrels import read_qrels
from evaluation.judging.recognition import Candidate, choose_off_topic
from pools.models import Campaign
from pools.services import campaign_create
from runs.models import Collection
from runs.services import collection_import, run_import
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.models import Item, TestPair
from tests import factories

DEMO = Path(settings.BASE_DIR) / "demo"
MOST_AUC = 0.8  # that a program reaches with suggestions: truth comes before disguise


@pytest.fixture
def everyday(lab: Lab) -> Collection:
    """The demo's collection, with all passages and three of its runs."""
    named = {"queries": DEMO / "queries.tsv", "qrels": DEMO / "qrels.txt", "passages": DEMO / "passages.tsv"}
    collection = collection_import(lab=lab, name="everyday", language="en", keep="all", **named).collection
    for name in ("bm25", "lsa", "minilm"):
        with (DEMO / "runs" / f"{name}.txt").open("rb") as source:
            run_import(collection=collection, name=name, source=source, filename=f"{name}.txt")
    return collection


@pytest.fixture
def draft(everyday: Collection) -> Campaign:
    """A campaign over the demo that has not started, without test pairs."""
    return campaign_create(lab=everyday.lab, collection=everyday, runs=everyday.runs.all(), name="draft")


@pytest.fixture
def page(client: Client, rita: User) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


def told_apart(campaign: Campaign) -> dict[str, float]:
    return {feature.feature: feature.auc for feature in task_selectors.measure_tests(campaign).features}


# --- suggesting


def test_suggestions_use_each_passage_once_also_when_asked_again(draft: Campaign) -> None:
    first = task_services.test_pairs_suggest(campaign=draft, count=8, seed=1)
    second = task_services.test_pairs_suggest(campaign=draft, count=8, seed=2)
    used = [key for test in (*first, *second) for key in (test.relevant_id, test.off_topic_id)]
    assert (len(first), len(second)) == (8, 8)
    assert len(set(used)) == len(used)


def test_off_topic_passages_are_about_something_else(draft: Campaign) -> None:
    suggested = task_services.test_pairs_suggest(campaign=draft, count=12, seed=1)
    related: dict[int, set[int]] = {}
    for query, passage in task_selectors.related_passages(
        draft, [test.query_id for test in suggested if test.query_id]
    ):
        related.setdefault(query, set()).add(passage)
    for test in suggested:
        assert test.query_id is not None
        assert test.off_topic_id not in related[test.query_id]
        assert test.relevant_id in related[test.query_id]


def test_lengths_do_not_tell_suggestions_from_pairs(draft: Campaign) -> None:
    task_services.test_pairs_suggest(campaign=draft, count=12, seed=1)
    assert max(told_apart(draft)[name] for name in ("length_shorter", "length_longer")) < 0.7


def test_asking_for_more_than_the_qrels_give_suggests_what_there_is(draft: Campaign) -> None:
    assert 20 < len(task_services.test_pairs_suggest(campaign=draft, count=200, seed=1)) <= 29
    assert task_services.test_pairs_suggest(campaign=draft, count=5, seed=2) == []


@pytest.mark.parametrize(("runs", "depth"), [(1, 10), (16, 100)])
def test_an_off_topic_passage_is_one_that_nobody_found_about_its_question(
    data: Path, lab: Lab, runs: int, depth: int, tmp_path: Path
) -> None:
    """Of what people graded, which the suggestions do not see, nothing is related to its question, and no passage is
    of a list or of qrels of its query.
    """
    collection = collection_import(
        lab=lab, name="graded", language="en", queries=data / "queries.tsv", qrels=data / "sparse-qrels.txt",
        passages=data / "passages.tsv.gz", keep="all",
    ).collection  # fmt: skip
    lists: dict[str, set[str]] = {}
    for path in sorted((data / "runs").glob("*.gz"))[:runs]:
        lines, ranks = [], Counter[str]()
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            qid, _q0, pid, *_rest = line.split()
            ranks[qid] += 1
            if ranks[qid] <= depth:
                lines.append(line)
                lists.setdefault(qid, set()).add(pid)
        run_import(
            collection=collection, name=path.name, source=io.BytesIO("\n".join(lines).encode()), filename="run.txt"
        )
    campaign = campaign_create(lab=lab, collection=collection, runs=collection.runs.all(), name="draft")
    grades = read_qrels(data / "qrels.txt.gz").grades
    suggested = 0
    for seed in (1, 2):
        for test in task_services.test_pairs_suggest(campaign=campaign, count=40, seed=seed):
            assert test.query is not None and test.off_topic is not None
            qid, pid = test.query.qid, test.off_topic.pid
            assert grades[qid].get(pid, 0) == 0, (test.question, test.off_topic_text)
            assert pid not in lists[qid]
            suggested += 1
        if runs > 1:  # pools of qrels and a single run hold two versions of one text: nothing else is as alike
            assert max(auc for name, auc in told_apart(campaign).items() if name != "hits") <= MOST_AUC
        campaign.test_pairs.all().delete()
    assert suggested >= 2 * 34


def test_another_version_of_a_passage_about_the_question_is_never_off_topic(lab: Lab, tmp_path: Path) -> None:
    texts = {
        "right": "The kanima is about the size of an average human and covered in scales.",
        "copy": "The kanima is roughly the size of an average human, covered in scales.",
        "other": "A kanima has no place in the size of an orchestra of average rank.",
        "score": "The orchestra has about a hundred players of average age.",
        "oboe": "The oboe is about the length of an average arm and covered in keys.",
        "horn": "The oboe is roughly the length of an average arm, covered with keys.",
    }
    (tmp_path / "queries.tsv").write_text("1\twhat is a kanima\n2\thow large is an orchestra\n3\twhat is an oboe\n")
    (tmp_path / "qrels.txt").write_text("1 0 right 1\n2 0 copy 1\n2 0 other 1\n2 0 score 1\n3 0 oboe 1\n")
    (tmp_path / "passages.tsv").write_text("".join(f"{pid}\t{text}\n" for pid, text in texts.items()))
    files = {name: tmp_path / f"{name}.{kind}" for name, kind in [("queries", "tsv"), ("qrels", "txt")]}
    collection = collection_import(
        lab=lab, name="few", language="en", passages=tmp_path / "passages.tsv", keep="all", **files
    ).collection
    run = b"1 Q0 right 1 2 run\n2 Q0 score 1 1 run\n3 Q0 horn 1 1 run\n"
    run_import(collection=collection, name="run", source=io.BytesIO(run), filename="run.txt")
    campaign = campaign_create(lab=lab, collection=collection, runs=collection.runs.all(), name="draft")
    chosen = set()
    for seed in range(10):
        for test in task_services.test_pairs_suggest(campaign=campaign, count=3, seed=seed):
            if test.question == "what is a kanima":
                assert test.off_topic is not None
                chosen.add(test.off_topic.pid)
        campaign.test_pairs.all().delete()
    assert chosen and "copy" not in chosen


def test_where_all_texts_are_alike_little_is_looked_at_and_nothing_suggested(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "The kanima number {} is about the size of an average human and covered in scales from head to tail."
    (tmp_path / "queries.tsv").write_text("".join(f"q{n}\twhat is kanima {n}\n" for n in range(100)))
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 p{n} 1\n" for n in range(100)))
    (tmp_path / "passages.tsv").write_text("".join(f"p{n}\t{sentence.format(n)}\n" for n in range(200)))
    files = {"queries": tmp_path / "queries.tsv", "qrels": tmp_path / "qrels.txt"}
    texts = tmp_path / "passages.tsv"
    collection = collection_import(lab=lab, name="alike", language="en", passages=texts, keep="all", **files).collection
    run = "".join(f"q{n} Q0 p{n + 100} 1 2 run\n" for n in range(100)).encode()
    run_import(collection=collection, name="run", source=io.BytesIO(run), filename="run.txt")
    campaign = campaign_create(lab=lab, collection=collection, runs=collection.runs.all(), name="draft")
    looks: list[str] = []

    def choose(question: str, *about: Any) -> Candidate | None:
        looks.append(question)
        return choose_off_topic(question, *about)

    monkeypatch.setattr(task_services, "choose_off_topic", choose)
    assert task_services.test_pairs_suggest(campaign=campaign, count=10, seed=1) == []
    assert len(looks) == task_services.NEAR_COPIES
    assert set(Counter(looks).values()) == {task_services.NEAR_COPIES_OF_A_QUERY}


# --- the demo's own


def test_no_feature_tells_the_demos_test_pairs_from_its_pairs(draft: Campaign) -> None:
    task_services.test_pairs_import(campaign=draft, path=DEMO / "test-pairs.tsv")
    features = told_apart(draft)
    assert set(features) == {
        "question_words_worse",
        "question_words_better",
        "words_in_common",
        "length_shorter",
        "length_longer",
        "hits",
    }
    assert max(features.values()) <= 0.7, features


# --- packing


def test_a_hit_never_shows_a_passage_in_two_test_pairs(collection: Collection) -> None:
    campaign = factories.campaign(collection, tests=0, start=False, pairs_per_hit=2, tests_per_hit=2)
    for number in range(6):
        task_services.test_pair_write(
            campaign=campaign,
            question=f"question {number}",
            relevant_text=f"Answer {number}.",
            off_topic_text=f"Something else {number // 2}.",
            by=None,
            at=timezone.now(),
        )
    task_services.campaign_launch(campaign=campaign)
    task_services.campaign_pack(campaign_id=campaign.pk)
    for hit in campaign.hits.all():
        texts = Item.objects.filter(hit=hit, test__isnull=False).values_list("test__off_topic_text", flat=True)
        assert len(set(texts)) == 2


def test_a_campaign_whose_test_pairs_all_share_a_passage_does_not_start(collection: Collection) -> None:
    campaign = factories.campaign(collection, tests=0, start=False, tests_per_hit=2)
    for number in range(3):
        task_services.test_pair_write(
            campaign=campaign,
            question=f"question {number}",
            relevant_text=f"Answer {number}.",
            off_topic_text="Always the same.",
            by=None,
            at=timezone.now(),
        )
    with pytest.raises(Refused, match="share no passage"):
        task_services.campaign_launch(campaign=campaign)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.DRAFT


# --- what the researcher sees


def test_the_page_says_what_a_program_could_count_and_how_often_each_is_shown(page: Client, campaign: Campaign) -> None:
    text = page.get(reverse("tasks:tests", args=[campaign.pk])).content.decode()
    assert "Could a program find them?" in text
    assert "6 test pairs appear in 3 HITs." in text
    assert "Each is shown in 1 HIT." in text
    assert "A program could find these test pairs." in text  # none shares a word with its question


# --- deciding several at once


def test_marked_suggestions_are_decided_together_and_the_next_one_is_in_sight(page: Client, draft: Campaign) -> None:
    first, two, three, four = task_services.test_pairs_suggest(campaign=draft, count=4, seed=1)
    address = reverse("tasks:tests_decide", args=[draft.pk])
    for test in (first, three):
        page.post(address, {"read_one": test.pk})
    answer = page.post(address, {"test": [first.pk, three.pk], "decision": "confirm"})
    assert answer.headers["Location"].endswith(f"#test-{four.pk}")
    answer = page.post(address, {"decline_one": two.pk, "test": [four.pk]})
    assert answer.headers["Location"].endswith(f"#test-{four.pk}")
    states = dict(draft.test_pairs.values_list("pk", "state"))
    assert states == {first.pk: "confirmed", two.pk: "declined", three.pk: "confirmed", four.pk: "suggested"}
    text = page.get(reverse("tasks:tests", args=[draft.pk])).content.decode()
    assert f'id="test-{four.pk}" tabindex="-1"' in text


def test_once_enough_are_confirmed_the_next_suggestion_leads_back_to_the_plan(page: Client, draft: Campaign) -> None:
    needed = task_selectors.test_counts(draft).needed
    pairs = task_services.test_pairs_suggest(campaign=draft, count=needed + 1, seed=1)
    address, words = reverse("tasks:tests_decide", args=[draft.pk]), b"Enough to start"
    for test in pairs[:needed]:
        assert words not in page.post(address, {"read_one": test.pk}, follow=True).content
        answer = page.post(address, {"confirm_one": test.pk}, follow=True)
    assert needed and words in answer.content


def test_nothing_marked_decides_nothing(page: Client, draft: Campaign, everyday: Collection) -> None:
    task_services.test_pairs_suggest(campaign=draft, count=2, seed=1)
    other = factories.campaign(everyday, "other", tests=1, start=False)
    address = reverse("tasks:tests_decide", args=[draft.pk])
    assert page.post(address, {"decision": "confirm"}).status_code == 303
    foreign = page.post(address, {"test": [other.test_pairs.get().pk], "decision": "decline"})
    assert foreign.status_code == 404
    assert other.test_pairs.get().state == TestPair.State.CONFIRMED
    assert task_selectors.test_counts(draft).suggested == 2


def test_a_test_pair_is_counted_once_for_each_hit_however_many_layouts_that_has(collection: Collection) -> None:
    settings = {"pairs_per_hit": 3, "tests_per_hit": 2}
    once = factories.campaign(collection, "once", **settings)
    thrice = factories.campaign(collection, "thrice", overlap=3, reuse="nothing", **settings)
    one_layout, many = (task_selectors.measure_tests(campaign) for campaign in (once, thrice))
    assert (one_layout.hits, one_layout.least, one_layout.most) == (many.hits, many.least, many.most)
    assert many.most <= many.hits
