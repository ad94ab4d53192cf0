"""The pages of results: what they say, to whom, before and after there is anything, and their files."""

import csv
import io
import json
import re
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from core.models import Lab, User
from judgments import quality
from pools.models import Campaign
from pools.settings import ReadingSettings, names_in
from results import apart, asking, figures, planning, refreshing, story
from results import jobs as result_jobs
from results import selectors as result_selectors
from results.findings import findings
from results.models import Result
from results.sections import whole
from results.sections.stored import to_json
from results.sections.subjects import Subject
from results.sections.whole import read
from results.tables import Column, Table
from results.writing import as_csv, as_tex
from tasks.models import Assignment, Worker
from tests import factories
from tests.judgments.judged import judge_all
from tests.results.sample_results import sample, verdicts
from tests.rows import fresh
from tests.words import text_of


@pytest.fixture
def researcher(client: Client, demo: Campaign) -> Client:
    """The browser of the demo's researcher."""
    client.force_login(User.objects.get(username="researcher"))
    return client


def address(name: str, campaign: Campaign, *more: object) -> str:
    return reverse(f"results:{name}", args=[campaign.pk, *more])


USUAL = {
    "error_rate": "", "compare_depth": "10", "comparisons": "all", "rank_by": "esl-wsr", "correction": "bonferroni",
    "margin": "0",
}  # fmt: skip


def every_page(campaign: Campaign) -> list[str]:
    """All addresses under a campaign's results."""
    data = Result.objects.get(campaign=campaign).data
    return [
        address("results", campaign),
        *(address("subject", campaign, name) for name in ("certainty", "runs", "passages", "people")),
        address("plan", campaign),
        address("report", campaign),
        *(address("table", campaign, name) for name in whole.tables(read(data))),
        *(address("file", campaign, name, form) for name in whole.tables(read(data)) for form in ("csv", "tex")),
        *(address("figure", campaign, "scatter", form) for form in ("svg", "pdf", "png")),
    ]


# --- who sees what


def test_members_see_every_page_and_file(member: Client, judged: Campaign) -> None:
    for where in every_page(judged):
        answer = member.get(where)
        assert answer.status_code == 200, where
        assert answer.getvalue()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("subject", ["nonsense"]),
        ("subject", ["findings"]),
        ("table", ["nonsense"]),
        ("table", ["champion"]),
        ("file", ["nonsense", "csv"]),
        ("file", ["leaderboard", "exe"]),
        ("figure", ["nonsense", "svg"]),
        ("figure", ["champion", "svg"]),
        ("figure", ["scatter", "gif"]),
    ],
)
def test_what_is_not_there_is_not_found(member: Client, judged: Campaign, name: str, arguments: list[str]) -> None:
    assert member.get(address(name, judged, *arguments)).status_code == 404


# --- before there is anything


def test_a_campaign_that_is_a_draft_or_that_nobody_judged_says_how_to_get_there(
    campaign: Campaign, page: Client, collection: Any
) -> None:
    draft = factories.campaign(collection, "draft", start=False)
    text = text_of(page, address("results", draft))
    assert "Start the campaign first" in text
    assert "Compute now" not in text
    assert page.get(address("table", draft, "leaderboard")).status_code == 404
    assert "No judgments count yet: invite workers" in text_of(page, address("results", campaign))


def test_computing_can_be_asked_for_and_is_done_in_the_background(
    page: Client, campaign: Campaign, alice: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(result_jobs.compute_results, "delay", calls.append)
    factories.do(alice, campaign)
    text = text_of(page, address("results", campaign))
    assert "3 judgments count. The results have not been computed yet;" in text
    assert "Compute now" in text
    answer = page.post(address("compute", campaign))
    assert (answer.status_code, calls) == (303, [campaign.pk])
    assert not Result.objects.exists()
    assert page.get(address("compute", campaign)).status_code == 405


def test_the_page_says_when_judgments_are_not_in_it_yet(
    page: Client, campaign: Campaign, alice: Worker, bob: Worker, rita: User
) -> None:
    factories.do(alice, campaign)
    refreshing.result_refresh(campaign=campaign)
    text = text_of(page, address("results", campaign))
    assert "Nothing has changed since." in text
    assert "Compute now" not in text
    factories.do(bob, campaign)
    newer = campaign.hits.get(assignments__worker=bob).items.filter(pair__isnull=False).count()
    assert f"{newer} newer judgments are not included yet. Compute now" in text_of(page, address("results", campaign))
    refreshing.result_refresh(campaign=campaign)
    quality.assignment_exclude(assignment=Assignment.objects.get(worker=bob), why="no", by=rita, at=timezone.now())
    assert "Judgments or settings have changed since. Compute now" in text_of(page, address("results", campaign))


def test_results_in_another_format_are_as_good_as_none(member: Client, judged: Campaign) -> None:
    Result.objects.update(data={"version": 0}, software="old", rests_until=timezone.now())
    assert "The results have not been computed yet" in text_of(member, address("results", judged))
    assert member.get(address("table", judged, "leaderboard")).status_code == 404
    assert result_jobs.compute_results() == "results computed: 1"
    assert "Leaderboard" in text_of(member, address("results", judged))


def test_without_a_complete_pool_there_are_no_scores(page: Client, collection: Any) -> None:
    campaign = factories.campaign(collection, "pairs of one", pairs_per_hit=1, tests_per_hit=1)
    campaign.pools.filter(query__qid="q4").delete()  # the pool of one, which needs no judgment
    judge_all(campaign, [], hits=1)
    refreshing.result_refresh(campaign=campaign)
    text = text_of(page, address("results", campaign))
    assert "No query has all its judgments yet" in text
    assert "Along a HIT" in text_of(page, address("subject", campaign, "people"))
    assert page.get(address("subject", campaign, "runs")).status_code == 404


def test_one_run_has_no_leaderboard_to_compare(page: Client, lab: Lab, tmp_path: Path) -> None:
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops={"only": {"q1": ["p2"]}})
    campaign = factories.campaign(collection)
    judge_all(campaign, [])
    refreshing.result_refresh(campaign=campaign)
    text = text_of(page, address("results", campaign))
    assert "There is only one run, so there is no leaderboard to compare" in text
    assert "Neighbours" not in text_of(page, address("subject", campaign, "runs"))


def test_where_all_agree_there_was_nothing_to_prefer(page: Client, lab: Lab, tmp_path: Path) -> None:
    tops = {name: {"q1": ["p1"]} for name in ("one", "two")}
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops=tops)
    campaign = factories.campaign(collection, start=False)
    Campaign.objects.update(state=Campaign.State.OPEN)
    campaign.refresh_from_db()
    assert result_jobs.compute_results() == "results computed: 1"
    assert "there was nothing to compare" in text_of(page, address("results", campaign))


def test_a_champion_check_says_whether_the_qrels_are_beaten(page: Client, lab: Lab, tmp_path: Path) -> None:
    tops = {"only": {"q1": ["p1", "p2"], "q2": ["p3"], "q3": ["p5"]}}
    qrels = {"q1": ["p1"], "q2": ["p4"], "q3": ["p6"]}
    collection = factories.collection(tmp_path, in_lab=lab, qrels=qrels, tops=tops)
    campaign = factories.campaign(collection, design="champion_check")
    factories.do(factories.worker(campaign, "Wim"), campaign, prefer="a")
    refreshing.result_refresh(campaign=campaign)
    champion = Result.objects.get().data["champion"]
    assert (champion["a"]["for_qrel"], champion["a"]["against"]) == (1, 0)
    assert (champion["b"]["for_qrel"], champion["b"]["against"]) == (0, 2)
    text = text_of(page, address("results", campaign))
    assert "only returns the qrel first in 1 of the 3 judged queries (category A), and another passage in 2" in text
    assert (
        "Where only returns another passage than the qrel first (category B), people preferred that passage to the "
        "qrel in 100% of 2 decided comparisons "
        "(95% interval 16% to 100%, p = 0.5000); that is not significantly different from one half."
    ) in text
    assert "Champion check" in text
    data = Result.objects.get().data
    names = ["champion-split", "champion", "champion-slices", "positions", "pool-sizes"]
    assert list(whole.tables(read(data))) == names
    assert "leaderboard" not in text
    assert "best known answers stay" not in text
    table = whole.table(read(data), "champion")
    assert table is not None
    assert [table.foot[0][at] for at in (1, 2, 4, 6)] == [3, 1, 2, 0]
    assert page.get(address("report", campaign)).status_code == 200


# --- what it says


def test_the_finding_comes_first_then_table_and_picture_and_the_way_to_what_is_behind(
    researcher: Client, demo: Campaign
) -> None:
    html = researcher.get(address("results", demo)).content.decode()
    page = LexborHTMLParser(html)
    (quoted,) = page.css("blockquote")
    assert (
        quoted.text()
        .strip()
        .startswith("minilm is now first (all 27 queries; the probability that it really is first is ")
    )
    assert quoted.text().strip().endswith("minilm-sentences was first and is now at rank 2.")
    caption = quoted.parent.css_first("figcaption").text()  # type: ignore[union-attr]
    assert caption == f"demo, {Result.objects.get(campaign=demo).computed_at:%-d %B %Y}"
    assert (len(page.css("main table")), html.count("<svg")) == (1, 1)
    assert len(page.css("main .button")) <= 3
    text = text_of(researcher, address("results", demo))
    sentences = [
        "was first and is now at rank 2.",
        "From 128 judgments: 27 of 27 queries have best known answers.",
        "The leaderboard, before and after",
        "How sure The run that is most likely to be first is minilm",
        "Run against run",
        "Passage against passage There are 31 preference qrels for 27 queries",
        "People 39 of 39 test pairs were passed (100%).",
        "There are only 27 queries.",
        "How certain the answers are cannot be known from these judgments",
    ]
    places = [text.index(sentence) for sentence in sentences]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("subject", "sentences"),
    [
        ("certainty", ["The run that is most likely to be first is minilm", "If some judgments were reversed"]),
        (
            "runs",
            [
                "The rank correlation of the two orders is 0.56 by Kendall's tau",
                "Of 55 pairs of runs, one run is strictly better in",
                "top passages, no run significantly beats the perfect ranking.",
                "Neighbours",
                "Pairwise comparison of runs",
            ],
        ),
        (
            "passages",
            [
                "one for 25 queries, three for 2, where a deadlock left several equally good.",
                "In 12 of 27 queries, no original qrel is among the best known answers.",
                "The preference qrels won 92% of their judgments",
                "Who orders passages as people do",
            ],
        ),
        ("people", ["39 of 39 test pairs were passed (100%).", "Along a HIT"]),
    ],
)
def test_each_subject_has_its_sentences_figures_and_tables_on_one_page(
    researcher: Client, demo: Campaign, subject: str, sentences: list[str]
) -> None:
    text = text_of(researcher, address("subject", demo, subject))
    places = [text.index(sentence) for sentence in sentences]
    assert places == sorted(places)


def test_every_table_and_figure_is_on_one_page_which_reads_the_results_once(
    django_assert_max_num_queries: Any, researcher: Client, demo: Campaign
) -> None:
    pages = [address("results", demo), *(address("subject", demo, name) for name in list(Subject)[1:])]
    html = "".join(researcher.get(where).content.decode() for where in pages)
    result = Result.objects.get(campaign=demo)
    assert sorted(re.findall(r'<h2 id="([\w-]+)"', html)) == sorted(whole.tables(read(result.data)))
    assert html.count('class="drawing"') == html.count("<svg") == len(result.figures)
    with django_assert_max_num_queries(14):
        researcher.get(address("results", demo))
    with django_assert_max_num_queries(14):
        researcher.get(address("subject", demo, "certainty"))


def test_long_lists_are_stored_apart_and_read_only_where_they_are_shown(researcher: Client, demo: Campaign) -> None:
    result = Result.objects.get(campaign=demo)
    assert {stored.name: len(stored.rows) for stored in result.lists.all()} == {"pairs": 55, "pairs-original": 55}
    assert len(result.data["compare"]["pairs"]) == 10
    with CaptureQueriesContext(connection) as capture:
        page = researcher.get(address("subject", demo, "runs"))
    assert not any("results_resultlist" in query["sql"] for query in capture)
    text = page.content.decode()
    part = text.partition('aria-label="Table: Pairwise comparison of runs"')[2]
    assert part.partition("</table>")[0].count("<tr>") == 1 + 5
    assert "<a " not in part.partition("</thead>")[0]  # its own page sorts all of its rows
    assert f'<a href="{address("table", demo, "pairs")}">All 55 rows, with sorting and filters</a>' in text
    stored = result_selectors.whole_data(demo)
    assert stored is not None
    report = zipfile.ZipFile(io.BytesIO(researcher.get(address("report", demo)).getvalue()))
    assert json.loads(report.read(next(name for name in report.namelist() if name.endswith("results.json")))) == stored


def test_what_few_read_of_many_answers_is_stored_apart_again(
    researcher: Client, demo: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = result_selectors.whole_data(demo)
    circle = demo.pools.get(query__qid="218836")
    text = text_of(researcher, address("query", demo, circle.pk))
    offer = asking.offer_for(demo, judgments=3)
    Campaign.objects.filter(pk=demo.pk).update(revision=F("revision") + 1)
    monkeypatch.setattr(apart, "LONGEST", 5)
    refreshing.result_refresh(campaign=Campaign.objects.get(pk=demo.pk))
    stored = {row.name: row.rows for row in Result.objects.get(campaign=demo).lists.all()}
    assert len(stored["stability"]) == len(stored["stability-passages"]) == len(stored["stability-further"]) == 27
    assert not {"passages", "further"} & stored["stability"][0].keys()
    assert stored["stability-further"][0].keys() == {"qid", "further"}
    assert result_selectors.whole_data(demo) == before
    assert text_of(researcher, address("query", demo, circle.pk)).count("P(best)") == text.count("P(best)") == 4
    assert asking.offer_for(demo, judgments=3) == offer
    with CaptureQueriesContext(connection) as capture:
        page = text_of(researcher, address("table", demo, "stability"))
    assert "Confidence set" in page and not any("stability-" in query["sql"] for query in capture)
    content = researcher.get(address("file", demo, "stability", "csv")).getvalue().decode()
    (row,) = [row for row in csv.DictReader(io.StringIO(content)) if row["query"] == "218836"]
    assert len(row["chances"].split(", ")) == 4


def test_a_table_with_a_row_for_each_run_is_shown_whole_and_sorts_where_it_stands(
    researcher: Client, demo: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story, "GROWING_LONGEST", 5)
    text = researcher.get(address("subject", demo, "certainty")).content.decode()
    text += researcher.get(address("subject", demo, "runs")).content.decode()
    for name, rows in (("How certain the ranks are", 11), ("Preferred top passages, pair by pair", 5)):
        part = text.partition(f'aria-label="Table: {name}"')[2].partition("</table>")[0]
        assert part.partition("<tbody>")[2].count("<tr>") == rows, name
        assert ("<a " in part.partition("</thead>")[0]) is (rows == 11), name


def test_every_page_is_small_with_sixty_runs_and_thousands_of_queries(
    member: Client, judged: Campaign, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # these figures are of these data
    data = sample(60)
    data["stability"] = [data["stability"][0] | {"qid": f"q{number}"} for number in range(6980)]
    parts = apart.take_apart(data)
    Result.objects.update(data=parts.data, **figures.drawings(read(data))._asdict())
    for where in (address("results", judged), *(address("subject", judged, name) for name in list(Subject)[1:])):
        with django_assert_max_num_queries(14):
            answer = member.get(where)
        assert (answer.status_code, len(answer.content) < 100_000) == (200, True), where


def test_what_is_too_large_for_a_page_is_only_linked(
    researcher: Client, demo: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story, "WIDEST", 11)
    monkeypatch.setattr(story, "LARGEST", 10)
    html = researcher.get(address("subject", demo, "runs")).content.decode()
    assert 'aria-label="Table: Who was preferred to whom"' not in html
    assert address("table", demo, "win-matrix") in html
    assert "<svg" not in html and address("figure", demo, "win-ratios", "svg") in html


def test_intervals_are_shown_when_asked_for_and_always_in_the_files(researcher: Client, demo: Campaign) -> None:
    where = address("results", demo)
    assert "0.8169 to 0.9855" not in text_of(researcher, where)
    assert "?intervals=all#leaderboard" in researcher.get(where).content.decode()
    assert "0.8169 to 0.9855" in text_of(researcher, f"{where}?intervals=all")
    assert "0.8169" in researcher.get(address("file", demo, "leaderboard", "csv")).getvalue().decode()


def test_tables_behind_the_finding_are_folded_until_they_are_sorted(researcher: Client, demo: Campaign) -> None:
    def unfolded(subject: str) -> list[str]:
        html = researcher.get(address("results", demo) + subject).content.decode()
        return re.findall(r'<details class="folded" open>\s*<summary><h2 id="([\w-]+)"', html)

    assert unfolded("") == ["leaderboard"]
    assert unfolded("certainty/") == []
    assert unfolded("certainty/?table=ranks&sort=-first") == ["ranks"]


# --- tables


def heads_of(html: str, table: str) -> list[tuple[str, str]]:
    """`(aria-sort, address)` of every head of a table on the page."""
    part = html[html.index(f"Table: {table}") :]
    heads = re.findall(r"<th([^>]*)><a href=\"([^\"]*)\"", part[: part.index("</thead>")])
    return [("".join(re.findall(r'aria-sort="(\w+)"', attributes)), link) for attributes, link in heads]


def test_tables_sort_by_links(researcher: Client, demo: Campaign) -> None:
    where = address("results", demo)
    first = heads_of(researcher.get(where).content.decode(), "The leaderboard")
    assert first[1] == ("", "?table=leaderboard&amp;sort=run#leaderboard")
    assert [link for _aria, link in first[:3]][2] == "?table=leaderboard&amp;sort=change#leaderboard"
    up = researcher.get(f"{where}?table=leaderboard&sort=run").content.decode()
    assert heads_of(up, "The leaderboard")[1] == ("ascending", "?table=leaderboard&amp;sort=-run#leaderboard")
    runs = re.findall(r'<th scope="row">([^<]+)</th>', up)[:11]
    assert runs == sorted(runs)
    down = researcher.get(f"{where}?table=leaderboard&sort=-run").content.decode()
    assert re.findall(r'<th scope="row">([^<]+)</th>', down)[:11] == runs[::-1]


def test_pairs_are_paged_and_narrowed_to_a_run(researcher: Client, demo: Campaign) -> None:
    where = address("table", demo, "pairs")
    everything = researcher.get(where).context
    assert (len(everything["shown"].rows), everything["shown"].total) == (50, 55)
    assert len(researcher.get(f"{where}?page=2").context["shown"].rows) == 5
    narrow = researcher.get(f"{where}?words=minilm&sort=-wsr")
    page = narrow.context["shown"]
    assert page.total == 10
    assert all("minilm" in (row[0].text, row[1].text) for row in page.rows)
    assert 'href="?words=minilm&amp;sort=wsr"' in narrow.content.decode()
    p = [float(row[page.table.at("wsr")].text) for row in page.rows]
    assert p == sorted(p, reverse=True)
    verdicts = {row[page.table.at("verdict")].text for row in page.rows}
    assert verdicts == {"minilm, by doing no harm", "minilm, not significantly", "neither"}
    assert researcher.get(f"{where}?sort=nothing").context["shown"].total == 55
    assert researcher.get(f"{where}?words=MINI").context["shown"].total == 19  # minilm and minilm-sentences
    assert "No row of this table has these words" in researcher.get(f"{where}?words=nobody").content.decode()


def test_the_least_certain_queries_come_first_and_lead_to_their_pages(researcher: Client, demo: Campaign) -> None:
    table = researcher.get(address("table", demo, "stability")).context["shown"]
    stability = Result.objects.get(campaign=demo).data["stability"]
    assert table.rows[0][2].text == f"{100 * min(row['share'] for row in stability):.1f}%"
    assert table.rows[-1][2].text == f"{100 * max(row['share'] for row in stability):.1f}%"
    pool = demo.pools.get(query__qid=table.rows[0][0].text)
    assert table.rows[0][0].address == reverse("results:query", args=[demo.pk, pool.pk])


def test_confidence_sets_are_on_the_page_in_the_file_and_as_qrels(researcher: Client, demo: Campaign) -> None:
    stability = {row["qid"]: row for row in Result.objects.get(campaign=demo).data["stability"]}
    files = researcher.get(address("file", demo, "stability", "csv")).getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(files)))
    assert {row["query"]: row["set"].split(", ") for row in rows} == {qid: row["set"] for qid, row in stability.items()}
    for row in rows:
        data = stability[row["query"]]
        assert (row["fragility"], row["exact"], row["size"]) == (str(data["fragility"]), "true", str(len(data["set"])))
        assert row["chances"].split(", ")[0] == "{passage} {p:.3f}".format(**data["passages"][0])
    qrels = researcher.get(reverse("results:confidence_sets", args=[demo.pk])).getvalue().decode().splitlines()
    assert qrels == sorted(qrels)
    for qid, query in stability.items():
        assert {line.split()[2] for line in qrels if line.split()[0] == qid} == {*query["set"], *query["also"]}
    assert researcher.get(reverse("results:confidence_sets", args=[demo.pk]))["Content-Disposition"].startswith(
        "attach"
    )
    assert "Confidence sets as qrels" in text_of(researcher, address("subject", demo, "certainty"))
    archive = zipfile.ZipFile(io.BytesIO(researcher.get(reverse("results:report", args=[demo.pk])).getvalue()))
    assert archive.read("data/confidence-sets.txt").decode().splitlines() == qrels


def test_csv_has_every_row_with_full_precision(researcher: Client, demo: Campaign) -> None:
    data = Result.objects.get(campaign=demo).data
    answer = researcher.get(address("file", demo, "leaderboard", "csv"))
    assert answer["Content-Disposition"] == 'attachment; filename="demo-leaderboard.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    assert [row["run"] for row in rows] == [*(row["run"] for row in data["leaderboard"]), "perfect ranking"]
    assert float(rows[-1]["preference"]) == data["perfect"]["preference"]["mean"]
    for row, stored in zip(rows, data["leaderboard"], strict=False):
        assert float(row["preference"]) == stored["preference"]["mean"]
        assert [float(row["original_t_low"]), float(row["original_t_high"])] == stored["original"]["t"]
    pairs = researcher.get(address("file", demo, "pairs", "csv"))
    assert len(list(csv.DictReader(io.StringIO(pairs.getvalue().decode())))) == 55


NASTY = Table(
    "nasty",
    "A title with 5%",
    "About it.",
    [Column("run", "Run_1 & more", "name"), Column("p", "p", "p"), Column("ok", "ok", "yes")],
    [["=cmd|' /C calc'!A0", 0.00012, True], ["a_b & 50% $x$ #1 {z} ~^\\ <b>", None, False]],
)


def test_csv_holds_no_formula_and_latex_is_escaped() -> None:
    rows = list(csv.reader(io.StringIO(as_csv(NASTY))))
    assert rows == [
        ["run", "p", "ok"],
        ["'=cmd|' /C calc'!A0", "0.00012", "true"],
        ["a_b & 50% $x$ #1 {z} ~^\\ <b>", "", "false"],
    ]
    assert as_tex(NASTY).splitlines() == [
        "% A title with 5%. About it.",
        r"\begin{tabular}{lrl}",
        r"\hline",
        r"Run\_1 \& more & p & ok \\",
        r"\hline",
        r"=cmd|' /C calc'!A0 & 0.00012 & yes \\",
        r"a\_b \& 50\% \$x\$ \#1 \{z\} \textasciitilde{}\textasciicircum{}\textbackslash{} \textless{}b\textgreater{} "
        r"& -- & no \\",
        r"\hline",
        r"\end{tabular}",
    ]


def test_latex_has_the_columns_that_the_page_shows_first_and_all_on_request(researcher: Client, demo: Campaign) -> None:
    def columns(name: str) -> list[str]:
        answer = researcher.get(address("file", demo, name, "tex"))
        assert answer.status_code == 200
        head = answer.getvalue().decode().splitlines()[3]
        return head.removesuffix(r" \\").split(" & ")

    first, whole_ = columns("leaderboard"), columns("leaderboard-all")
    page = LexborHTMLParser(researcher.get(address("results", demo)).text)
    assert first == [cell.text().strip() for cell in page.css(".values thead th")][:7] == whole_[:7]
    assert len(whole_) > 12
    assert len(columns("win-matrix")) > 7  # a matrix is read as a whole
    links = {link.text(): link.attributes["href"] for link in page.css(".files a")}
    assert links["LaTeX, all columns"] == address("file", demo, "leaderboard-all", "tex")


def test_what_is_said_of_further_columns_is_shown_with_them(researcher: Client, demo: Campaign) -> None:
    page = LexborHTMLParser(researcher.get(address("results", demo)).text)
    (about,), (more,) = page.css("details p.about"), page.css(".more-columns span")
    assert "Corrected means" not in about.text() and "Corrected means" in more.text()
    heads = [cell.text().strip() for cell in page.css(".values thead th")]
    assert "RR@10 before" in heads and "RR@10 before, all queries" not in heads  # all have answers: the same number
    assert "original_all" in researcher.get(address("file", demo, "leaderboard", "csv")).getvalue().decode()


TESTED = Table(
    "win-matrix",
    "Who",
    "About.",
    [Column("run", "Run", "name"), Column("preferred_1", "x", "tested"), Column("share", "Share", "shares")],
    [["x", None, None], ["y", [0.75, True, 8], [0.5, 0.9]], ["z", [0.5, False, 1200], None]],
    foot=[["Runs beaten", 1, None]],
)


def test_significance_is_marked_in_every_form_and_the_foot_stays_last() -> None:
    assert list(csv.reader(io.StringIO(as_csv(TESTED)))) == [
        ["run", "x", "x_significant", "x_of", "share_low", "share_high"],
        ["x", "", "", "", "", ""],
        ["y", "0.75", "true", "8", "0.5", "0.9"],
        ["z", "0.5", "false", "1200", "", ""],
        ["Runs beaten", "1", "", "", "", ""],
    ]
    assert as_tex(TESTED).splitlines()[5:] == [
        r"x & -- & -- \\",
        r"y & \textbf{75.0\%* (8)} & 50.0 to 90.0\% \\",
        r"z & 50.0\% (1,200) & -- \\",
        r"\hline",
        r"Runs beaten & 1 & -- \\",
        r"\hline",
        r"\end{tabular}",
    ]
    (most, _least, none) = (row[0] for row in TESTED.sorted_by("-preferred_1").rows)
    assert (most, none) == ("y", "x")


def test_the_win_matrix_has_the_columns_share_against_the_row_as_in_the_paper(demo: Campaign) -> None:
    data = Result.objects.get(campaign=demo).data
    wins, table = data["wins"], whole.table(read(data), "win-matrix")
    assert table is not None
    for row in range(len(wins["names"])):
        for column in range(len(wins["names"])):
            of = wins["of"][row][column]
            share = table.rows[row][column + 1]
            assert (share and share[0]) == (wins["won"][column][row] / of if of else None)
    assert list(table.foot[0][1:]) == [total["beats"] for total in wins["row"]]


def test_names_of_runs_are_words_and_no_markup(page: Client, lab: Lab, tmp_path: Path) -> None:
    tops = {"<script>x</script>": {"q1": ["p2"]}, "perfect": {"q1": ["p1"]}, "=1+1": {"q1": ["p3"]}}
    collection = factories.collection(tmp_path, in_lab=lab, qrels={"q1": ["p1"]}, tops=tops)
    campaign = factories.campaign(collection)
    judge_all(campaign, [])
    refreshing.result_refresh(campaign=campaign)
    html = page.get(address("results", campaign)).content.decode()
    assert "<script>x" not in html
    assert "&lt;script&gt;x" in html
    wins = Result.objects.get().data["wins"]
    assert sorted(wins["names"]) == sorted([*tops, "perfect"])
    assert "perfect ranking" in html


# --- figures, planning, the query's page


def test_figures_stand_in_the_page_and_can_be_had_as_files(researcher: Client, demo: Campaign) -> None:
    html = researcher.get(address("results", demo)).content.decode()
    assert address("figure", demo, "slopes", "png") in html
    assert " style=" not in html
    starts = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}
    for form, start in starts.items():
        content = researcher.get(address("figure", demo, "scatter", form)).getvalue()
        assert start in content[:200], form
    assert researcher.get(address("marks", demo, "slopes")).content.startswith(b"<svg")
    assert researcher.get(address("marks", demo, "nonsense")).status_code == 404


def test_planning_counts_with_the_campaigns_own_prices_and_a_crowd_without_error_needs_one_judgment(
    page: Client, campaign: Campaign
) -> None:
    Campaign.objects.update(reward="1.50", redo_rate="0.1")
    answer = page.get(address("plan", campaign))
    rows = answer.context["plan"].rows
    assert [row.overlap for row in rows] == [1, 3, 5]
    # three HITs, of three, three and one pairs; one of three is expected again, one of nine, two of fifteen; no fees
    assert [str(row.bill.total) for row in rows] == ["6.00", "15.00", "25.50"]
    assert "$15.00" in text_of(page, address("plan", campaign))
    assert rows[0].same < rows[1].same < rows[2].same < 1
    again = page.get(address("plan", campaign)).context["plan"].rows
    assert [row.same for row in again] == [row.same for row in rows]
    rows = page.get(address("plan", campaign) + "?error_rate=0").context["plan"].rows
    assert {row.same for row in rows} == {1.0}


@pytest.mark.parametrize("rate", ["", "nonsense", "-1", "51", "1e400", "NaN"])
def test_an_impossible_error_rate_is_refused_in_the_form(page: Client, campaign: Campaign, rate: str) -> None:
    answer = page.get(address("plan", campaign), {"error_rate": rate})
    assert answer.status_code == 400
    assert "plan" not in answer.context
    assert "errorlist" in answer.content.decode()


def test_the_error_rate_is_taken_from_agreement(page: Client, collection: Any) -> None:
    campaign = factories.campaign(collection, "twice", overlap=2)
    factories.do(factories.worker(campaign, "One"), campaign, prefer="a")
    factories.do(factories.worker(campaign, "Two"), campaign, prefer="a")
    refreshing.result_refresh(campaign=campaign)
    data = Result.objects.get().data
    assert data["agreement"]["raw"] == 1
    assert data["agreement"]["pairs"] == 7
    observed = planning.observed_error(campaign)
    assert observed is not None
    assert (observed.rate, observed.low, observed.compared) == (0, 0, 7)
    assert 0.2 < observed.high < 0.5
    assert planning.likely_error(observed) == 0.3, "seven comparisons are too few to plan by"
    assert "from 7 comparisons), from how far workers agree" in text_of(page, address("plan", campaign))
    assert "too few to plan by" in text_of(page, address("plan", campaign))
    assert "how far workers agree" in text_of(page, address("plan", campaign))
    assert "On the 7 pairs that several workers judged, two workers agree in 100% of the cases" in text_of(
        page, address("subject", campaign, "people")
    )


def test_a_query_says_why_it_came_out_as_it_did_and_no_certainty_of_answers_that_the_results_do_not_have(
    researcher: Client, demo: Campaign
) -> None:
    circle = demo.pools.get(query__qid="218836")  # three passages that beat each other, as demo/README.md says
    text = text_of(researcher, address("query", demo, circle.pk))
    assert "All 4 passages: 2 wins are the most, for passage 1 , passage 2 , passage 3 ." in text
    assert "Replayed with the judgments between these 3 only: 1 win is the most, for passage 1" in text
    assert "First in bm25-lead, char-ngrams, dirichlet, fusion, minilm." in text
    assert "The best passage is among the best known answers with a probability of" in text
    (row,) = [each for each in Result.objects.get(campaign=demo).data["stability"] if each["qid"] == "218836"]
    assert f"has {len(row['set'])} passages. Reversing one judgment would be enough to change the outcome." in text
    assert text.count("in the confidence set") == len(row["set"])
    assert row["fragility"] == 1 and text.count("P(best)") == 4

    result = Result.objects.get(campaign=demo)
    (row,) = [each for each in result.data["stability"] if each["qid"] == "218836"]
    row["best"] = row["best"][:1]
    result.save()
    assert "The best passage is among the best known answers" not in text_of(
        researcher, address("query", demo, circle.pk)
    )


def test_a_query_page_stands_without_results(page: Client, campaign: Campaign, alice: Worker) -> None:
    factories.do(alice, campaign)
    for pool in campaign.pools.all():
        text = text_of(page, address("query", campaign, pool.pk))
        assert "First in" not in text
        assert "the outcome stays the same in" not in text


def test_beat_computes_results() -> None:
    scheduled = {entry["task"] for entry in site_settings.CELERY_BEAT_SCHEDULE.values()}
    assert result_jobs.compute_results.name in scheduled


def test_stored_data_are_plain_json(judged: Campaign) -> None:
    data = Result.objects.get(campaign=judged).data
    assert json.loads(json.dumps(data, allow_nan=False)) == data == to_json(read(data))


# --- how results are read


def test_the_settings_of_results_can_be_changed_and_have_them_computed_again(
    member: Client, judged: Campaign, client: Client
) -> None:
    where, before = address("settings", judged), Result.objects.get(campaign=judged).data
    assert before["error_source"] == "assumed"
    assert before["compare"]["k"] == 10
    assert "pairs that were judged several times say most." in text_of(member, where)
    for wrong in ({"error_rate": "51"}, {"compare_depth": "101"}, {"comparisons": "some"}, {"rank_by": "ap"}):
        assert member.post(where, USUAL | wrong).status_code == 400
    judged.refresh_from_db()
    assert (judged.error_rate, judged.compare_depth) == (None, 10)

    revision = judged.revision
    assert member.post(where, USUAL | {"error_rate": "34.3", "compare_depth": "1"}).status_code == 303
    judged.refresh_from_db()
    assert judged.revision > revision
    refreshing.result_refresh(campaign=judged)
    after = Result.objects.get(campaign=judged).data
    assert after["error_rate"] == 0.343
    assert "Each judgment is wrong in 34.3% of the cases" in text_of(client, address("subject", judged, "certainty"))
    assert (after["compare"]["k"], after["compare_original"]["k"], after["k"]) == (1, 1, 10)
    changed: dict[str, None] = dict.fromkeys(("corrected", "with_judges"))
    for row, was in zip(after["leaderboard"], before["leaderboard"], strict=True):
        assert row | changed == was | changed
    least = [[answer["share"] for answer in data["stability"]] for data in (after, before)]
    assert least[0] != least[1]
    red, blue = (next(row for row in after["leaderboard"] if row["run"] == run) for run in ("red", "blue"))
    assert after["compare_original"]["means"]["blue"] == blue["original"]["mean"]  # it finds all at rank 1
    assert after["compare_original"]["means"]["red"] < red["original"]["mean"]


def test_other_measures_are_chosen_among_the_settings(researcher: Client, demo: Campaign) -> None:
    where = address("settings", demo)
    for wrong, words in (
        ("ERR@10", "Measure 'ERR@10' where there are RR, nDCG, Judged, Success, P, R, AP and Compat"),
        ("nDCG@10, AP", "AP looks further down than the first 100 passages of each query, which are all that is kept"),
        ("P@101", "P@101 looks further down"),
        ("Compat(p=0.9)", "Give it a cutoff of at most 100, as in Compat(p=0.9)@100."),
    ):
        answer = researcher.post(where, USUAL | {"measures": wrong})
        assert (answer.status_code, words in unescape(answer.content.decode())) == (400, True), wrong
    assert fresh(demo).measures == "nDCG@10, Judged@10"
    assert researcher.post(where, USUAL | {"measures": "P@5, Judged@5"}).status_code == 303
    demo.refresh_from_db()
    refreshing.result_refresh(campaign=demo)
    text = researcher.get(address("table", demo, "measures")).content.decode().partition("<table")[2]
    assert "P@5 before" in text and "Judged@5" in text and "nDCG@10" not in text
    lines = researcher.get(address("file", demo, "measures", "csv")).getvalue().decode().splitlines()
    assert lines[0].startswith("run,measure1,") and len(lines) == 12


def test_which_runs_are_compared_is_chosen_among_the_settings(researcher: Client, demo: Campaign) -> None:
    where = address("settings", demo)
    assert [field.name for field in researcher.get(where).context["form"]] == names_in(ReadingSettings)
    for wrong, words in (
        ({"comparisons": "baseline", "baseline": "bm52"}, "there is none called “bm52”."),
        ({"comparisons": "pairs", "compared_pairs": "bm25 lsa\nbm25 bm52"}, "runs, line 2: bm52 is none of the runs"),
        ({"comparisons": "pairs", "compared_pairs": " "}, "Enter at least one pair of runs."),
    ):
        answer = researcher.post(where, USUAL | wrong)
        assert (answer.status_code, words in unescape(answer.content.decode())) == (400, True), wrong
    demo.refresh_from_db()
    assert (demo.comparisons, demo.baseline, demo.compared_pairs) == ("all", "", "")

    chosen = {"comparisons": "baseline", "baseline": "bm25", "teams_apart": "on", "rank_by": "rr-wsr"}
    assert researcher.post(where, USUAL | chosen).status_code == 303
    demo.refresh_from_db()
    refreshing.result_refresh(campaign=demo)
    text = text_of(researcher, address("table", demo, "pairs"))
    assert "Each run with the baseline bm25, except runs of the same team, on the preference qrels" in text
    assert "0.05 over 10 pairs of runs, those compared here (Bonferroni)" in text
    assert "by mean RR@10 and the signed-rank test" in text

    chosen |= {"correction": "holm", "margin": "2"}
    assert researcher.post(where, USUAL | chosen | {"margin": "60"}).status_code == 400
    assert researcher.post(where, USUAL | chosen).status_code == 303
    demo.refresh_from_db()
    refreshing.result_refresh(campaign=demo)
    text = text_of(researcher, address("table", demo, "pairs"))
    assert "0.05 over 10 pairs of runs, those compared here (Holm)" in text
    assert "For the test of ranking, it takes p <" in text
    assert "the run is worse in the other by less than 2% of the queries, or 0.02 of RR@10" in text
    assert "(Holm)" in text_of(researcher, address("table", demo, "win-pairs"))
    assert "10 rows." in text
    assert "Of 10 pairs of runs (each run with the baseline bm25) of different teams" in text_of(
        researcher, address("subject", demo, "runs")
    )
    csv_file = b"".join(researcher.get(address("file", demo, "pairs", "csv")).streaming_content).decode()
    assert csv_file.count("\r\n") == 11


def test_better_disagreement_and_the_order_by_verdicts_are_told() -> None:
    data = sample(4)
    first, second, third, last = data["compare"]["order_by_means"]
    pairs = {(pair["a"], pair["b"]): pair for pair in data["compare"]["pairs"]}
    pairs[second, third]["verdict"]["better"] = "b"
    pairs[second, third]["disagreement"] = "means"
    pairs[first, third]["disagreement"] = "significance"
    assert "verdict-order" not in whole.tables(read(data))
    data["compare"]["order_by_verdicts"] = [first, third, second, last]
    data["verdicts"] = verdicts(data)
    text = " ".join(sentence for finding in findings(read(data)) for sentence in finding.sentences)
    assert "In 1 more pair, one run is better, but not significantly" in text
    assert f"favour different runs in 1 pair: {second} and {third}." in text
    assert f"In 1 pair, only one of ESL and RR@10 differs significantly: {first} and {third}." in text
    assert f"differs from that by means: {third} from 3 to 2, {second} from 2 to 3." in text
    table = whole.table(read(data), "pairs")
    assert table is not None
    rows = {(row[0], row[1]): row for row in table.rows}
    assert rows[second, third][table.at("verdict")] == f"{third}, not significantly"
    assert rows[second, third][table.at("disagreement")] == "each favours the other run"
    assert rows[first, last][table.at("disagreement")] is None
    order = whole.table(read(data), "verdict-order")
    assert order is not None
    assert [row[:3] for row in order.rows] == [[1, first, 1], [2, third, 3], [3, second, 2], [4, last, 4]]


def test_the_papers_second_table_is_whole_on_both_qrels(demo: Campaign) -> None:
    data = result_selectors.whole_data(demo)
    assert data is not None
    for stored, name in (("compare", "outcomes"), ("compare_original", "outcomes-original")):
        table = whole.table(read(data), name)
        assert table is not None
        assert len(table.rows) == 55
        for pair, row in zip(data[stored]["pairs"], table.rows, strict=True):
            values = dict(zip((column.key for column in table.columns), row, strict=True))
            assert (values["a"], values["b"]) == (pair["a"], pair["b"])
            shares = [values[f"{outcome}_share"] for outcome in ("neither", "a_only", "b_only", "both")]
            assert sum(shares) == pytest.approx(1)
            assert values["both_share"] == pair["outcomes"]["both"] / 27
            for name_of_test in ("esl_wsr", "esl_t", "rr_wsr", "rr_t"):
                assert values[name_of_test] == pair["both"]["p"][name_of_test]
            assert (values["esl_a"], values["rr_b"]) == (pair["both"]["esl_a"], pair["both"]["rr_b"])
