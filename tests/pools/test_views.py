"""The researcher's pages about collections, runs and campaigns: who may see them, and what they change."""

import io
import re
from decimal import Decimal
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns import forms
from core.models import Lab, User
from core.templatetags.workplace import of_hundred
from pools.models import Campaign
from pools.settings import settings_of as declared_settings
from runs.models import Collection, Job, OutsideScores, Run
from runs.selectors import load_artifact
from runs.services import collection_import
from tests import factories

RUN = b"q1 Q0 p2 1 9.5 t\nq1 Q0 p1 2 9.0 t\nq2 Q0 p5 1 3.0 t\n"


@pytest.fixture
def page(client: Client, rita: User, lab: Lab) -> Client:
    """Rita's browser."""
    client.force_login(rita)
    return client


@pytest.fixture
def stranger(db: None) -> Client:
    """The browser of somebody from another lab."""
    other = factories.user("sam")
    factories.lab("Another lab", other)
    browser = Client()
    browser.force_login(other)
    return browser


def settings_of(collection: Collection, **changed: object) -> dict[str, object]:
    """What the form of a new campaign sends when only the name and the runs are filled in, and what is changed."""
    form = forms.CampaignForm(collection=collection)
    sent = {name: form[name].value() for name in form.fields}
    sent |= {"name": "autumn", "all_runs": None, "runs": [run.pk for run in collection.runs.all()]} | changed
    return {name: value for name, value in sent.items() if value is not None and value is not False}


def every_page(collection: Collection) -> list[str]:
    """The address of every page that shows something of a lab."""
    run = collection.runs.get(name="red")
    campaign = factories.campaign(collection, start=False)
    return [
        reverse("pools:collection", args=[collection.pk]),
        reverse("pools:run", args=[run.pk]),
        reverse("campaigns:campaign_new") + f"?collection={collection.pk}",
        reverse("campaigns:campaign_delete", args=[campaign.pk]),
    ]


LISTS = ["campaigns:campaigns", "runs:collections", "runs:runs", "runs:run_upload", "campaigns:campaign_new"]


def test_nobody_sees_anything_without_logging_in(client: Client, collection: Collection) -> None:
    for address in [*map(reverse, LISTS), *every_page(collection)]:
        answer = client.get(address)
        assert answer.status_code == 302, address
        assert answer.url.startswith(reverse("login"))


def test_a_researcher_sees_their_labs_pages(page: Client, collection: Collection) -> None:
    for address in [*map(reverse, LISTS), *every_page(collection)]:
        assert page.get(address, follow=True).status_code == 200, address


def test_another_lab_sees_none_of_them(stranger: Client, collection: Collection) -> None:
    for address in every_page(collection):
        assert stranger.get(address).status_code == 404, address
    for name in LISTS:
        answer = stranger.get(reverse(name)).content.decode()
        assert "small" not in answer, name
        assert not re.search(r"(?<![a-z])red(?![a-z-])", answer), name


def test_an_admin_sees_every_lab(client: Client, ada: User, collection: Collection) -> None:
    client.force_login(ada)
    for address in every_page(collection):
        assert client.get(address).status_code == 200, address


def test_a_page_of_few_rows_has_no_filter_and_shows_nothing_that_is_empty(page: Client, collection: Collection) -> None:
    address = reverse("pools:collection", args=[collection.pk])
    text = page.get(address).text
    assert not re.search(r'role="search"[^>]*aria-labelledby="(runs|imports)"', text)
    assert page.get(address, {"runs-name": "nothing"}).text.count("Nothing matches.") == 1
    assert "manage.py" not in text
    assert re.findall(r"<h2[^>]*>([^<]*)</h2>", text) == ["Runs", "Add to the collection"]


def test_who_has_no_lab_is_told_what_to_do(client: Client, db: None) -> None:
    client.force_login(factories.user("nobody"))
    page = client.get(reverse("home"), follow=True)
    assert page.redirect_chain[-1][0] == reverse("leaderboards:boards")
    assert "An admin of a lab can invite you." in page.text


def test_empty_pages_say_what_will_stand_there(page: Client) -> None:
    assert "Your campaigns appear here" in page.get(reverse("campaigns:campaigns")).content.decode()
    assert "Collections appear here" in page.get(reverse("runs:collections")).content.decode()
    assert "Runs appear here" in page.get(reverse("runs:runs")).content.decode()


# --- runs


def upload(page: Client, collection: Collection, content: bytes = RUN, **fields: str) -> Any:
    """Send a run file."""
    file = SimpleUploadedFile(fields.pop("filename", "orange.txt"), content)
    return page.post(reverse("runs:run_upload"), {"collection": collection.pk, "file": file, **fields})


def outside_file(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("leaderboard.txt", text.encode())


def test_outside_scores_are_uploaded_replaced_and_deleted_on_the_collections_pages(
    page: Client, stranger: Client, collection: Collection, rita: User
) -> None:
    campaign = factories.campaign(collection, start=False)
    where, about = (
        reverse("runs:outside_scores", args=[collection.pk]),
        reverse("pools:collection", args=[collection.pk]),
    )
    assert "Outside scores" in page.get(about).text
    answer = page.post(
        where, {"source": "The board, MRR@10", "file": outside_file("red 0.4 2\nlater\t0.9\t1\n")}, follow=True
    )
    text = answer.content.decode()
    assert "1 run of the file is not in the collection. Its score counts once the run is imported." in text
    assert "The board, MRR@10" in page.get(about).content.decode()
    stored = OutsideScores.objects.get(collection=collection)
    assert stored.scores == {"red": [0.4, 2], "later": [0.9, 1]}
    assert (stored.uploaded_by, stored.filename) == (rita, "leaderboard.txt")
    assert [row[0] for row in answer.context["rows"]] == ["later", "red"]
    revision = campaign.revision
    campaign.refresh_from_db()
    assert campaign.revision > revision

    for text, message in (
        ("red 0.5\nblue high\n", "leaderboard.txt, line 2: score high is not a number."),
        ("red 0.5\nred 0.6\n", "leaderboard.txt, line 2: run red a second time."),
        ("strange 0.5\n", "leaderboard.txt names none of the collection&#x27;s runs."),
    ):
        answer = page.post(where, {"source": "Another", "file": outside_file(text)})
        assert (answer.status_code, message in answer.content.decode()) in ((400, True), (409, True)), message
        assert OutsideScores.objects.get().source == "The board, MRR@10"
    page.post(where, {"source": "Another", "file": outside_file("blue 0.5\n")})
    stored = OutsideScores.objects.get()
    assert (stored.source, stored.scores) == ("Another", {"blue": [0.5, None]})

    delete = reverse("runs:outside_scores_delete", args=[collection.pk])
    for path in (where, delete):
        assert stranger.post(path).status_code == 404
    assert OutsideScores.objects.count() == 1
    assert page.post(delete).status_code == 303
    assert not OutsideScores.objects.exists()


def test_the_import_command_takes_outside_scores_or_nothing(collection: Collection, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("red 0.4\nlater 0.1\n")
    (tmp_path / "bad.txt").write_text("red 0.4\nblue -\n")
    out = io.StringIO()
    named = [collection.name, "--lab", collection.lab.name]
    source = ["--outside-source", "The board"]
    with pytest.raises(CommandError, match=r"bad.txt, line 2: score - is not a number\."):
        call_command("import_collection", *named, "--outside", str(tmp_path / "bad.txt"), *source)
    with pytest.raises(CommandError, match="Give --outside and"):
        call_command("import_collection", *named, "--outside", str(tmp_path / "good.txt"))
    assert not OutsideScores.objects.exists()
    call_command("import_collection", *named, "--outside", str(tmp_path / "good.txt"), *source, stdout=out)
    assert "2 outside scores stored, 1 for runs that are not in the collection." in out.getvalue()
    assert OutsideScores.objects.get().source == "The board"


def test_an_uploaded_run_is_checked_and_stored_under_the_files_name(page: Client, collection: Collection) -> None:
    answer = upload(page, collection, team="ours")
    run = Run.objects.get(name="orange")
    assert answer.status_code == 303
    assert (run.collection, run.team, run.census["hits"]) == (collection, "ours", 3)
    text = page.get(reverse("pools:run", args=[run.pk])).content.decode()
    assert "A TREC run with 3 hits for 2 queries, in 3 lines." in text
    assert "2 queries of the collection are missing: q3, q4." in text


def test_a_bad_run_is_refused_with_its_errors_by_line_and_the_input_kept(page: Client, collection: Collection) -> None:
    text = page.get(upload(page, collection, RUN + b"q3 only three\n", team="ours & theirs").url).content.decode()
    assert "orange.txt has 1 error" in text
    assert '<td class="number">4</td><td>3 columns where a TREC run has 6' in text
    again = reverse("runs:run_upload") + f"?again={Job.objects.get().pk}"
    assert again in text
    assert 'value="ours &amp; theirs"' in page.get(again).content.decode()
    assert not Run.objects.filter(name="orange").exists()


HEADER = b"# ir_metadata.start\n# actor:\n#   team: <b>Ours</b>\n# runs: [a, b]\n# ir_metadata.end\n"


def test_an_ir_metadata_header_is_kept_and_shown_as_text(page: Client, collection: Collection) -> None:
    upload(page, collection, HEADER + RUN)
    run = Run.objects.get(name="orange")
    assert run.metadata == {"actor": {"team": "<b>Ours</b>"}, "runs": ["a", "b"]}
    assert run.census["hits"] == 3
    text = page.get(reverse("pools:run", args=[run.pk])).content.decode()
    assert "actor.team" in text
    assert "&lt;b&gt;Ours&lt;/b&gt;" in text
    assert "<b>Ours</b>" not in text


def test_a_bad_header_is_told_by_line_and_nothing_is_stored(page: Client, collection: Collection) -> None:
    files = set(default_storage.listdir("runs")[0])
    text = page.get(upload(page, collection, HEADER.replace(b"runs:", b"actor:") + RUN).url).content.decode()
    assert '<td class="number">4</td><td>“actor” is given twice' in text
    assert not Run.objects.filter(name="orange").exists()
    stored = [folder for folder in default_storage.listdir("runs")[0] if default_storage.listdir(f"runs/{folder}")[1]]
    assert set(stored) == files


def test_a_name_that_is_taken_is_refused_and_nothing_is_stored(page: Client, collection: Collection) -> None:
    text = page.get(upload(page, collection, name="red").url).content.decode()
    assert "already has a run called red" in text and "Nothing was stored." in text
    assert collection.runs.count() == 3


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(page: Client) -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise AssertionError("the body was read")

    length = settings.UPLOAD_MEGABYTES * 1_000_000 + (2 << 20)
    answer = page.generic(
        "POST",
        reverse("runs:run_upload"),
        content_type="multipart/form-data; boundary=x",
        **{"wsgi.input": Endless(), "CONTENT_LENGTH": str(length)},
    )
    assert answer.status_code == 413
    assert "larger than 500 MB" in answer.content.decode()


def test_an_upload_needs_the_csrf_token(rita: User, collection: Collection) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(rita)
    answer = upload(browser, collection)
    assert answer.status_code == 403
    assert not Run.objects.filter(name="orange").exists()


def test_a_run_cannot_be_put_into_another_labs_collection(stranger: Client, collection: Collection) -> None:
    assert upload(stranger, collection).status_code == 400
    assert collection.runs.count() == 3


def test_a_runs_page_shows_its_score_and_lets_it_be_held_back(page: Client, collection: Collection) -> None:
    run = collection.runs.get(name="red")  # finds q1's qrel second, q2's not, q3's and q4's first
    assert run.scores == {"rr": 0.625, "queries": 4}
    address = reverse("pools:run", args=[run.pk])
    assert "0.6250" in page.get(address).content.decode()
    hold = reverse("runs:run_release", args=[run.pk])
    other = Client()
    other.force_login(factories.user("other"))
    assert other.post(hold, {"is_released": "no"}).status_code == 404
    run.refresh_from_db()
    assert run.is_released
    answer = page.post(hold, {"is_released": "no"}, follow=True).content.decode()
    assert "without what only “red” brought" in answer
    assert "Not for release:" in answer
    run.refresh_from_db()
    assert not run.is_released
    page.post(hold, {"is_released": "yes"})
    run.refresh_from_db()
    assert run.is_released


def test_qrels_that_come_after_the_runs_give_these_their_scores(lab: Lab, tmp_path: Path) -> None:
    queries, qrels = tmp_path / "queries.tsv", tmp_path / "qrels.txt"
    queries.write_text("q1\tone\nq2\ttwo\n")
    qrels.write_text("q1 0 p1 1\nq2 0 p2 1\n")
    collection = collection_import(lab=lab, name="late qrels", queries=queries).collection
    run = factories.run(collection, "red", {"q1": ["p9", "p1"], "q2": ["p2"]})
    assert run.scores == {}
    collection_import(lab=lab, name="late qrels", qrels=qrels)
    run.refresh_from_db()
    assert run.scores == {"rr": 0.75, "queries": 2}


def test_a_runs_page_says_what_makes_its_numbers_suspicious(page: Client, lab: Lab, tmp_path: Path) -> None:
    queries, qrels = tmp_path / "queries.tsv", tmp_path / "qrels.txt"
    queries.write_text("q1\tone\nq2\ttwo\n")
    qrels.write_text("q1 0 P1 1\n")
    collection = collection_import(lab=lab, name="odd", queries=queries).collection
    run = factories.run(collection, "red", {"q1": ["q1", "p1"], "Q2": ["p2"]})
    collection_import(lab=lab, name="odd", qrels=qrels)  # what these make suspicious is added
    text = page.get(reverse("pools:run", args=[run.pk])).content.decode()
    for sentence in (
        "None of its passages is judged, in 1 query: is it a run for another collection?",
        "1 passage id differs from judged ones only in upper and lower case (p1 for P1).",
        "1 query id differs from those asked for only in upper and lower case (Q2 for q2).",
        "The results of 1 of 2 queries hold the query itself (q1), which BEIR leaves out.",
    ):
        assert f'<strong class="look">Please check:</strong> {sentence}' in text


def test_the_query_itself_is_left_out_of_a_runs_results_if_asked(page: Client, collection: Collection) -> None:
    with_query = b"q1 Q0 q1 1 9.5 t\n" + RUN.replace(b"9.5", b"9.4")
    upload(page, collection, with_query, filename="lime.txt", without_query="on")
    upload(page, collection, with_query + b"q2 Q0 p6 2 2.0 t\n", filename="plum.txt")
    lime, plum = (load_artifact(Run.objects.get(name=name)) for name in ("lime", "plum"))
    assert (lime.top("score", 1)["q1"], plum.top("score", 1)["q1"]) == (("p2",), ("q1",))
    text = page.get(reverse("pools:run", args=[Run.objects.get(name="lime").pk])).content.decode()
    assert "1 hit left out whose passage has the id of the query, as BEIR does." in text


def test_an_unused_run_can_be_deleted_and_a_used_one_not(page: Client, collection: Collection) -> None:
    upload(page, collection)
    unused, used = Run.objects.get(name="orange"), Run.objects.get(name="red")
    factories.campaign(collection, start=False).runs.remove(unused)
    assert page.post(reverse("runs:run_delete", args=[unused.pk])).status_code == 303
    answer = page.post(reverse("runs:run_delete", args=[used.pk]))
    assert answer.status_code == 409
    assert "pilot" in answer.content.decode()
    assert list(collection.runs.order_by("name").values_list("name", flat=True)) == ["blue", "green", "red"]
    assert page.get(reverse("runs:run_delete", args=[used.pk])).status_code == 405


# --- campaigns


def test_a_new_campaign_with_the_forms_own_settings(page: Client, rita: User, collection: Collection) -> None:
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    answer = page.post(address, settings_of(collection))
    saved = Campaign.objects.get(name="autumn")
    assert answer.status_code == 303
    assert answer.url == reverse("campaigns:campaign", args=[saved.pk])
    assert (saved.state, saved.created_by, saved.lab, saved.language) == ("draft", rita, collection.lab, "en")
    assert saved.pools.count() == 4
    fields = declared_settings(Campaign)
    odd = {
        field.name: getattr(saved, field.name) for field in fields if getattr(saved, field.name) != field.get_default()
    }
    assert odd == {"language": "en"}


def test_a_campaign_is_renamed_and_exports_that_name_it_are_made_again(page: Client, collection: Collection) -> None:
    campaign, other = factories.campaign(collection, "first", start=False), factories.campaign(collection, "other")
    address = reverse("campaigns:campaign_rename", args=[campaign.pk])
    assert 'value="first"' in page.get(address).content.decode()
    before = {row.pk: row.revision for row in Campaign.objects.all()}
    assert page.post(address, {"name": " Autumn <b> "}).status_code == 303
    campaign.refresh_from_db()
    assert campaign.name == "Autumn <b>"
    assert all(row.revision == before[row.pk] + 1 for row in Campaign.objects.all())
    for name, status, says in (
        ("other", 409, "already has a campaign with this name"),
        (" ", 400, "required"),
        ("x" * 101, 400, "at most 100"),
    ):
        answer = page.post(address, {"name": name})
        assert (answer.status_code, says in answer.content.decode()) == (status, True), name
        assert "Rename “Autumn &lt;b&gt;”" in answer.content.decode()
    campaign.refresh_from_db()
    other.refresh_from_db()
    assert (campaign.name, other.name) == ("Autumn <b>", "other")


def test_the_archive_is_left_out_of_lists_unless_somebody_asks_for_it(page: Client, collection: Collection) -> None:
    old, new = (factories.campaign(collection, name, start=False) for name in ("old one", "new one"))
    archive = reverse("campaigns:campaign_archive", args=[old.pk])
    assert page.get(archive).status_code == 405
    assert page.post(archive).status_code == 303
    lists = reverse("campaigns:campaigns"), reverse("pools:collection", args=[collection.pk])
    for address, key in zip(lists, ("", "campaigns-"), strict=True):
        for which, names in (
            (None, {"new one"}), ("without", {"new one"}), ("only", {"old one"}), ("", {"old one", "new one"}),
        ):  # fmt: skip
            text = page.get(address, {} if which is None else {f"{key}archive": which}).content.decode()
            assert {row.name for row in (old, new) if f">{row.name}</a>" in text} == names, (address, which)
    path = reverse("campaigns:campaign", args=[old.pk])
    assert "In the archive since" in page.get(path).content.decode()
    page.post(reverse("campaigns:campaign_unarchive", args=[old.pk]))
    assert "In the archive since" not in page.get(path).content.decode()
    assert ">old one</a>" in page.get(lists[0]).content.decode()


@pytest.mark.parametrize(
    ("state", "archived"), [("draft", True), ("packing", False), ("open", False), ("paused", False), ("closed", True)]
)
def test_a_campaign_that_people_can_work_on_is_not_archived(
    page: Client, collection: Collection, state: str, archived: bool
) -> None:
    campaign = factories.campaign(collection, start=False)
    Campaign.objects.filter(pk=campaign.pk).update(state=state)
    answer = page.post(reverse("campaigns:campaign_archive", args=[campaign.pk]))
    assert answer.status_code == (303 if archived else 409)
    campaign.refresh_from_db()
    assert (campaign.archived_at is not None) == archived


@pytest.mark.parametrize("state", ["draft", "closed"])
def test_what_is_started_or_opened_again_is_in_the_lists_again(
    page: Client, collection: Collection, state: str
) -> None:
    campaign = factories.campaign(collection, start=state != "draft")
    Campaign.objects.filter(pk=campaign.pk).update(state=state, archived_at=timezone.now())
    if state == "draft":
        assert page.post(reverse("tasks:launch", args=[campaign.pk])).status_code == 303
    else:
        assert page.post(reverse("platforms:move", args=[campaign.pk]), {"to": "open"}).status_code == 303
    campaign.refresh_from_db()
    assert (campaign.state != state, campaign.archived_at) == (True, None)
    assert f">{campaign.name}</a>" in page.get(reverse("campaigns:campaigns")).text


@pytest.mark.django_db(transaction=True)
def test_of_two_who_choose_one_name_at_once_the_second_is_told(page: Client, collection: Collection) -> None:
    campaign, other = factories.campaign(collection, "first", start=False), factories.campaign(collection, "other")
    faster = connection.copy()
    faster.inc_thread_sharing()
    faster.set_autocommit(False)
    with faster.cursor() as cursor:
        cursor.execute("UPDATE pools_campaign SET name = 'Autumn' WHERE id = %s", [other.pk])
    committing = Timer(0.5, faster.commit)  # while the second waits for the name
    committing.start()
    answer = page.post(reverse("campaigns:campaign_rename", args=[campaign.pk]), {"name": "Autumn"})
    committing.join()
    faster.close()
    assert answer.status_code == 409 and "already has a campaign with this name" in answer.text
    campaign.refresh_from_db()
    assert campaign.name == "first"


def test_members_of_another_lab_neither_rename_nor_archive(stranger: Client, collection: Collection) -> None:
    campaign = factories.campaign(collection, start=False)
    for name in ("campaign_rename", "campaign_archive", "campaign_unarchive"):
        assert stranger.post(reverse(f"campaigns:{name}", args=[campaign.pk]), {"name": "mine"}).status_code == 404
    campaign.refresh_from_db()
    assert (campaign.name, campaign.archived_at) == ("pilot", None)


def test_a_copy_of_a_campaign_begins_with_its_settings_and_its_runs(page: Client, collection: Collection) -> None:
    first = factories.campaign(
        collection,
        "first",
        runs=["red", "blue"],
        start=False,
        overlap=3,
        title="Kept as it was",
        error_rate=Decimal("0.2"),
    )
    text = page.get(reverse("campaigns:settings", args=[first.pk])).text
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}&copy={first.pk}"
    assert address.replace("&", "&amp;") in text
    form = page.get(address).context["form"]
    posted = {name: form[name].value() for name in form.fields}
    assert (posted["name"], posted["overlap"], posted["title"]) == ("first, copy", 3, "Kept as it was")
    assert not posted["all_runs"]
    answer = page.post(
        address, {name: value for name, value in posted.items() if value is not None and value is not False}
    )
    assert answer.status_code == 303
    second = Campaign.objects.get(name="first, copy")
    assert [run.name for run in second.runs.order_by("name")] == ["blue", "red"]
    same = [field.name for field in declared_settings(Campaign)]
    assert {name: getattr(second, name) for name in same} == {name: getattr(first, name) for name in same}
    assert page.get(address).context["form"]["name"].value() == "first, copy 2"


def test_a_campaign_of_another_lab_cannot_be_copied(page: Client, collection: Collection, tmp_path: Path) -> None:
    sam = factories.user("sam")
    (tmp_path / "sam").mkdir()
    hers = factories.campaign(factories.small(tmp_path / "sam", factories.lab("Another lab", sam)), "hers", start=False)
    for key, status in ((hers.pk, 404), ("9" * 30, 404), ("x", 200), ("²", 200)):
        assert (
            page.get(reverse("campaigns:campaign_new"), {"collection": collection.pk, "copy": key}).status_code
            == status
        )


def test_a_copy_names_the_runs_that_its_form_does_not_list(
    page: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = factories.campaign(collection, "first", start=False)
    monkeypatch.setattr(forms, "OFFERED", 2)
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}&copy={first.pk}"
    form = page.get(address).context["form"]
    assert form["more_runs"].value() == "red" and form["all_runs"].value()
    posted = {name: form[name].value() for name in form.fields} | {"all_runs": False}
    page.post(address, {name: value for name, value in posted.items() if value is not None and value is not False})
    assert Campaign.objects.get(name="first, copy").runs.count() == 3


@pytest.mark.parametrize(
    ("changed", "status", "says"),
    [
        ({"runs": []}, 400, "Choose at least one run."),
        ({"selection": "sample"}, 400, "Enter how many queries to draw."),
        ({"selection": "list"}, 400, "Enter at least one query."),
        ({"selection": "list", "query_list": "q1 q99"}, 303, "q99"),
        ({"selection": "sample", "sample_size": "4"}, 303, "between 1 and 3"),
        ({"design": "champion_check"}, 303, "choose exactly one run"),
        ({"overlap": "0"}, 400, "greater than or equal to 1"),
        ({"depth": "101"}, 400, "less than or equal to 100"),
        ({"name": ""}, 400, "This field is required."),
    ],
)
def test_settings_that_do_not_fit_are_named_and_the_form_keeps_what_was_entered(
    page: Client, collection: Collection, changed: dict[str, object], status: int, says: str
) -> None:
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    answer = page.post(address, settings_of(collection, title="Kept as it was", **changed))
    assert answer.status_code == status
    if status == 303:
        assert says in page.get(answer.url).content.decode()
        answer = page.get(f"{address}&again={Job.objects.get().pk}")
    text = answer.content.decode()
    assert says in text or status == 303
    assert 'value="Kept as it was"' in text
    assert not Campaign.objects.exists()


def test_a_name_is_used_once_in_a_lab(page: Client, collection: Collection) -> None:
    factories.campaign(collection, "autumn", start=False)
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    answer = page.post(address, settings_of(collection))
    assert answer.status_code == 400
    assert "already has a campaign with this name" in answer.content.decode()
    assert Campaign.objects.count() == 1


def test_runs_of_another_collection_cannot_be_chosen(page: Client, collection: Collection, tmp_path: Path) -> None:
    tops = {"foreign": {"q1": ["p1"]}}
    other = factories.collection(tmp_path, in_lab=collection.lab, qrels={"q1": ["p1"]}, tops=tops, name="other")
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    answer = page.post(address, settings_of(collection, runs=[other.runs.get().pk]))
    assert answer.status_code == 400
    assert not Campaign.objects.exists()


def test_a_draft_is_deleted_and_a_started_campaign_kept(
    page: Client, collection: Collection, campaign: Campaign
) -> None:
    draft = factories.campaign(collection, "a draft", start=False)
    assert page.post(reverse("campaigns:campaign_delete", args=[draft.pk])).status_code == 303
    assert page.post(reverse("campaigns:campaign_delete", args=[campaign.pk])).status_code == 409
    assert list(Campaign.objects.all()) == [campaign]


def test_the_list_shows_how_far_campaigns_are(page: Client, campaign: Campaign) -> None:
    text = page.get(reverse("campaigns:campaigns")).content.decode()
    assert "pilot" in text
    assert "of 3 (0%)" in text
    assert '<td class="number">7</td>' in text


# --- logging in


def test_the_eleventh_try_of_a_minute_is_refused_kindly(client: Client, rita: User, limits: None) -> None:
    wrong = {"username": "rita", "password": "no"}
    answers = [client.post(reverse("login"), wrong).status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]
    refused = client.post(reverse("login"), {"username": "rita", "password": "rita"})
    assert refused.status_code == 429
    assert "Please wait a minute" in refused.content.decode()
    cache.clear()
    assert client.post(reverse("login"), {"username": "rita", "password": "rita"}).status_code == 302


# --- the admin site


def test_the_admin_site_has_no_log_in_of_its_own(client: Client, rita: User) -> None:
    answer = client.get(reverse("admin:index"), follow=True)
    assert answer.redirect_chain[-1][0].startswith(reverse("login"))
    client.force_login(rita)
    assert client.get(reverse("admin:index"), follow=True).status_code == 404


def test_an_admin_cannot_change_a_campaigns_settings(client: Client, ada: User, campaign: Campaign) -> None:
    client.force_login(ada)
    address = reverse("admin:pools_campaign_change", args=[campaign.pk])
    answer = client.post(address, {"name": "renamed", "seed": "99", "state": "draft", "overlap": "3", "lab": "1"})
    assert answer.status_code == 302
    campaign.refresh_from_db()
    assert (campaign.name, campaign.seed, campaign.state, campaign.overlap) == ("renamed", 1, "open", 1)
    assert client.post(reverse("admin:pools_campaign_delete", args=[campaign.pk]), {"post": "yes"}).status_code == 403
    assert client.get(reverse("admin:pools_campaign_add")).status_code == 403


def test_every_list_of_the_admin_site_opens(client: Client, ada: User, campaign: Campaign) -> None:
    client.force_login(ada)
    names = ["core_user", "core_lab", "runs_collection", "runs_run", "pools_campaign"]
    names += ["tasks_worker", "tasks_testpair", "tasks_consenttext", "tasks_consent", "tasks_invitation"]
    names += ["tasks_hit", "tasks_assignment", "judgments_judgment", "judgments_acceptance", "judgments_decision"]
    for name in names:
        assert client.get(reverse(f"admin:{name}_changelist")).status_code == 200, name
    hit = campaign.hits.first()
    assert hit is not None
    assert client.get(reverse("admin:tasks_hit_change", args=[hit.pk])).status_code == 200
    run = campaign.runs.first()
    assert run is not None
    assert client.get(reverse("admin:runs_run_change", args=[run.pk])).status_code == 200


def test_the_last_admin_stays_one(client: Client, ada: User, rita: User) -> None:
    client.force_login(ada)
    address = reverse("admin:core_user_change", args=[ada.pk])
    fields = {"username": ada.username, "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    answer = client.post(address, fields | {"is_active": "on"})
    assert "This is the only admin" in answer.content.decode()
    ada.refresh_from_db()
    assert ada.is_superuser
    assert client.post(reverse("admin:core_user_delete", args=[ada.pk]), {"post": "yes"}).status_code == 403
    assert client.post(reverse("admin:core_user_delete", args=[rita.pk]), {"post": "yes"}).status_code == 302
    assert list(User.objects.values_list("pk", flat=True)) == [ada.pk]


def test_the_admin_site_offers_no_groups_and_no_permissions_that_do_nothing(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert "Groups" not in client.get(reverse("admin:index")).content.decode()
    page = client.get(reverse("admin:core_user_change", args=[ada.pk])).content.decode()
    assert "user_permissions" not in page
    assert "delete_selected" not in client.get(reverse("admin:core_user_changelist")).content.decode()


# --- small things


def test_opening_an_address_that_takes_forms_only_is_a_page_with_a_way_on(page: Client, collection: Collection) -> None:
    run = Run.objects.get(name="red")
    answer = page.get(reverse("runs:run_delete", args=[run.pk]))
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    text = answer.content.decode()
    assert "Nothing was changed." in text
    assert reverse("campaigns:campaigns") in text
    assert Run.objects.filter(pk=run.pk).exists()


def test_the_log_in_page_leads_on_who_is_logged_in(page: Client) -> None:
    assert page.get(reverse("login")).headers["Location"] == reverse("campaigns:campaigns")
    assert page.get(reverse("login") + "?next=/admin/").status_code == 200  # to log in as somebody else


def test_somebody_without_a_lab_is_told_whom_to_ask_instead_of_commands(client: Client, db: None) -> None:
    client.force_login(factories.user("loner"))
    text = client.get(reverse("runs:collections")).content.decode()
    assert "Ask the person who runs this site" in text
    assert "--lab" not in text


def test_shares_are_asked_for_in_percent(page: Client, collection: Collection) -> None:
    address = reverse("campaigns:campaign_new") + f"?collection={collection.pk}"
    form = page.get(address).context["form"]
    assert 'value="10"' in str(form["redo_rate"])
    fields = {field.html_name: field.value() for field in form if field.value() is not None}
    fields |= {"name": "percent", "runs": list(collection.runs.values_list("pk", flat=True)), "fee_rate": "20.5"}
    assert page.post(address, fields | {"redo_rate": "12"}).status_code == 303
    campaign = Campaign.objects.get(name="percent")
    assert (campaign.fee_rate, campaign.redo_rate) == (Decimal("0.205"), Decimal("0.120"))
    assert 'value="901"' in page.post(address, fields | {"name": "b", "redo_rate": "901"}).content.decode()


def test_shares_of_progress_are_rounded_but_never_to_nothing_or_all() -> None:
    assert [of_hundred(*counts) for counts in ((1, 13), (0, 13), (13, 13), (999, 1000), (1, 1000), (0, 0))] == [
        8, 0, 100, 99, 1, 0,
    ]  # fmt: skip
