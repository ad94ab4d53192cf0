"""A folder is dropped on the page of a new collection, in a real browser, and becomes a collection."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser

from core.models import Lab, User
from runs.models import Collection, Job
from tests import browser
from tests.conftest import RunningSite
from tests.looking import looks_right

FOLDER = {
    "queries.tsv": "b1\twhat do owls eat\n",
    "qrels.txt": "b1 0 o1 1\n",
    "passages.tsv": "o1\tOwls eat mice.\no2\tOwls eat voles.\n",
    "runs/one.txt": "b1 Q0 o2 1 9.5 t\n",
    "runs/two.txt": "b1 Q0 o3 1 8.5 t\n",
    "runs/bad.txt": "b1 Q0 o1 1 high t\n",
}
# What a dropped folder is to a page: entries that are asked for their entries.
DROP = """async files => {
    const file = (path, text) => ({isFile: true, file: done => done(new File([text], path.split("/").pop()))});
    const parts = [Object.entries(files).map(([path, text]) => file(path, text)), []];
    const folder = {isFile: false, createReader: () => ({readEntries: done => done(parts.shift() ?? [])})};
    const drop = new Event("drop", {bubbles: true, cancelable: true});
    drop.dataTransfer = {items: [{webkitGetAsEntry: () => folder}]};
    document.querySelector("[data-drop]").dispatchEvent(drop);
}"""


@pytest.mark.django_db(transaction=True)
def test_a_dropped_folder_is_sent_looked_at_and_stored(
    lab: Lab, rita: User, live_server: Any, settings: Any, tmp_path: Path, chromium: Browser
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.RATELIMIT_ENABLE = False
    page = browser.sign_in(chromium.new_context(base_url=live_server.url), live_server.url, rita)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    page.goto("/collections/new/")
    page.get_by_label("Name").fill("birds")
    page.evaluate(DROP, FOLDER)
    page.locator("[data-chosen] li").nth(len(FOLDER) - 1).wait_for()
    box = page.locator("#id_files").bounding_box()  # it would say that no file is chosen
    assert box is not None and box["width"] <= 1 and page.get_by_text("Choose files").is_visible()
    looks_right(page)
    page.get_by_role("button", name="Send and look at the files").press("Enter")
    page.get_by_role("heading", name="Files for birds").wait_for()
    assert not Collection.objects.filter(name="birds").exists()
    kinds = {row.get_attribute("aria-label"): row.input_value() for row in page.locator("select[name^=part]").all()}
    assert kinds["What queries.tsv is"] == "queries" and kinds["What passages.tsv is"] == "passages"
    assert kinds["What two.txt is"] == "run"
    page.get_by_label("What bad.txt is").select_option("run")
    (tmp_path / "three.txt").write_text("b1 Q0 o2 1 7.5 t\n")
    page.get_by_label("Files", exact=True).last.set_input_files(tmp_path / "three.txt")
    page.get_by_role("button", name="Send", exact=True).press("Enter")
    page.get_by_label("What three.txt is").wait_for()
    page.get_by_label("What bad.txt is").select_option("run")
    looks_right(page)

    page.get_by_role("button", name="Check and store").press("Enter")
    page.get_by_text("1 file was not stored.").wait_for()
    assert page.get_by_text("score high is not a finite number").count()
    looks_right(page)
    page.get_by_role("link", name="birds", exact=True).first.press("Enter")
    page.get_by_role("link", name="See which, and what would supply them.").press("Enter")
    page.get_by_text("o3", exact=True).wait_for()
    looks_right(page)
    birds = Collection.objects.get(name="birds")
    assert sorted(birds.runs.values_list("name", flat=True)) == ["one", "three", "two"]
    page.goto(f"/collections/{birds.pk}/judgments/new/")
    looks_right(page)
    assert errors == []


@pytest.mark.django_db(transaction=True)
def test_without_script_a_browser_shows_that_a_folder_has_too_many_files(
    lab: Lab, rita: User, site: RunningSite, tmp_path: Path, chromium: Browser
) -> None:
    most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
    chosen = [tmp_path / f"run{number}.txt" for number in range(most + 50)]
    for path in chosen:
        path.write_text("b1 Q0 o2 1 9.5 t\n" * 10_000)
    context = chromium.new_context(base_url=site.url, java_script_enabled=False)
    page = browser.sign_in(context, site.url, rita)
    page.goto("/collections/new/")
    page.get_by_label("Name").fill("birds")
    page.get_by_label("Files", exact=True).set_input_files(chosen)
    page.get_by_role("button", name="Send and look at the files").click()
    alert = page.get_by_role("alert")
    assert alert.inner_text() == f"One upload takes at most {most} files. None of the files you sent was kept."
    assert not Job.objects.exists()

    page.get_by_label("Name").fill("birds")
    page.get_by_label("Files", exact=True).set_input_files(chosen[:most])
    page.get_by_role("button", name="Send and look at the files").click()
    page.get_by_role("heading", name="Files for birds").wait_for()
    assert Job.objects.get().uploads.count() == most
