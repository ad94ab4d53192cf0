"""A machine's answers come in as files, beside a collection, and are in nothing that people's judgments make."""

import gzip
import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import Refused
from core.models import AuditEntry, Membership, User
from evaluation.errors import BadInput
from machines.answers import answers_of, machine_judge_import
from machines.models import MachineAnswer, MachineJudge
from runs import background
from runs.models import Collection, Job, Passage
from tests import factories

GOOD = b"q1 p2 p1 p2\nq1 p1 p2 p1\nq2\tp5\tp6\t=\nq2 p6 p4 !\n"


def store(collection: Collection, content: bytes = GOOD, name: str = "gpt") -> MachineJudge:
    return machine_judge_import(
        collection=collection,
        name=name,
        source=io.BytesIO(content),
        filename=f"{name}.txt",
        model="gpt-4o-2024-05-13",
        prompt="Which passage is better?",
        by=None,
        at=timezone.now(),
    )


def test_answers_are_kept_line_by_line_as_they_were_asked(collection: Collection) -> None:
    judge = store(collection, gzip.compress(GOOD))
    assert (judge.answer_count, judge.pair_count, len(judge.sha256)) == (4, 3, 64)
    assert [" ".join(answer) for answer in answers_of(judge)] == GOOD.decode().replace("\t", " ").splitlines()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (GOOD + b"q1 p1 p2\n", "gpt.txt, line 5: 3 columns where answers have 4 (query a b preferred)."),
        (GOOD + b"q1 p1 p2 p3\n", "gpt.txt, line 5: 'p3' where p1, p2, = (a tie) or ! (no answer) is needed."),
        (
            b"q7 p1 p2 p1\n" + GOOD + b"q8 p1 x p1\nq8 p1 y =\nq1 p1 x p1\n",
            "gpt.txt, line 1: 2 queries are not in the collection: q7, q8. 2 passages are neither in the collection "
            "nor among the first 100 of its runs: x, y.",
        ),
    ],
)
def test_a_bad_file_is_named_by_line_and_nothing_of_it_is_stored(
    collection: Collection, content: bytes, complaint: str
) -> None:
    with pytest.raises(BadInput) as refused:
        store(collection, content)
    assert str(refused.value) == complaint
    assert not MachineJudge.objects.exists()
    assert not MachineAnswer.objects.exists()


def test_the_same_answers_are_refused_under_any_name_and_so_is_a_second_file_of_a_name(collection: Collection) -> None:
    store(collection)
    with pytest.raises(Refused, match="already been imported, as gpt"):
        store(collection, gzip.compress(GOOD), name="new")
    with pytest.raises(Refused, match="already has a machine judge called gpt"):
        store(collection, b"q1 p1 p2 p1\n")
    assert MachineJudge.objects.count() == 1


def test_a_passage_that_only_a_run_has_may_be_answered_about_and_is_not_added(collection: Collection) -> None:
    Passage.objects.get(collection=collection, pid="p3").delete()
    count = Passage.objects.count()
    store(collection, b"q1 p3 p1 p3\n")
    assert Passage.objects.count() == count


def test_no_campaign_reuses_a_machines_answers(collection: Collection) -> None:
    store(collection)
    campaign = factories.campaign(collection, pairs_per_hit=3, tests_per_hit=2, reuse="all")
    assert (campaign.pair_count, campaign.reused_pair_count) == (7, 0)


def test_a_file_is_uploaded_listed_and_deleted_without_touching_another(
    client: Client, collection: Collection, rita: User
) -> None:
    other = store(collection, b"q1 p1 p2 p1\n", name="other")
    client.force_login(rita)
    page = reverse("machines:machine_import", args=[collection.pk])
    data = {"model": "gpt-4o", "prompt": "Which is better?"}
    assert "This field is required." in client.post(page, data).content.decode()
    answer = client.post(page, data | {"file": SimpleUploadedFile("gpt.txt", GOOD)}, follow=True)
    judge = MachineJudge.objects.get(name="gpt")
    assert (judge.model, judge.prompt, judge.imported_by) == ("gpt-4o", "Which is better?", rita)
    html = answer.content.decode()
    assert "The answers of “gpt” have been imported." in html
    assert "Which is better?" in html and "by rita" in html
    answer = client.post(reverse("machines:machine_delete", args=[collection.pk, judge.pk]), follow=True)
    assert "The machine judge “gpt” has been deleted." in answer.content.decode()
    assert list(MachineAnswer.objects.values_list("judge", "sign")) == [(other.pk, "p1")]
    entries = AuditEntry.objects.filter(subject="machines_machinejudge").order_by("id")
    assert list(entries.values_list("action", "thing", "lab_id")) == [
        ("insert", "other", collection.lab_id),
        ("insert", "gpt", collection.lab_id),
        ("delete", "gpt", collection.lab_id),
    ]
    assert "Which is better?" not in str(list(entries.values_list("changes", flat=True)))


def test_a_large_file_is_read_by_a_job_that_says_what_is_wrong_and_keeps_what_was_typed(
    client: Client, collection: Collection, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "is_small", lambda _job: False)
    client.force_login(rita)
    file = SimpleUploadedFile("gpt.txt", GOOD + b"q9 p1 p2 p1\n")
    data = {"file": file, "model": "gpt-4o", "prompt": "Which is better?"}
    answer = client.post(reverse("machines:machine_import", args=[collection.pk]), data, follow=True)
    assert "Import of the machine judge “gpt”" in answer.content.decode()
    job = Job.objects.get()
    assert background.job_do(job_id=job.pk)
    html = client.get(reverse("runs:job", args=[job.pk])).content.decode()
    assert "gpt.txt, line 5: 1 query is not in the collection: q9." in html and "Nothing was stored." in html
    again = reverse("machines:machine_import", args=[collection.pk]) + f"?again={job.pk}"
    assert again in html
    assert "Which is better?" in client.get(again).content.decode()
    assert not MachineJudge.objects.exists()


def test_a_viewer_sees_machine_judges_and_changes_none_and_a_stranger_sees_nothing(
    client: Client, collection: Collection
) -> None:
    judge = store(collection)
    viewer = factories.user("vera")
    Membership.objects.create(user=viewer, lab=collection.lab, role="viewer")
    pages = [reverse(f"machines:{name}", args=[collection.pk]) for name in ("machines", "machine_import")]
    delete = reverse("machines:machine_delete", args=[collection.pk, judge.pk])
    for user, expected in ((viewer, [200, 403, 403]), (factories.user("stranger"), [404, 404, 404])):
        client.force_login(user)
        statuses = [client.get(page).status_code for page in pages] + [client.post(delete).status_code]
        assert statuses == expected
    assert MachineJudge.objects.exists()
