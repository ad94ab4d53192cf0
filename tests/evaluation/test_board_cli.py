"""A leaderboard's CSV file: reading both forms, and the command `board`."""

import contextlib
import csv
import io
import re
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards.csvfiles import read_board
from evaluation.boards.entries import Entry
from evaluation.boards.gaps import gap_trend
from evaluation.errors import BadInput
from tests.evaluation.conftest import Write

from .command import json_of, run_cli

DOCUMENTS = '''\
id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet
20200811a,2020/08/11,🏛,"Query likelihood","The organizers",,http://www.example.org/ql,full ranking,,0.192,12933064
20200816b,2020/08/16,,"BM25 + RM3","A. Author, B. Author, and C. Author",,,full ranking,,0.139,
20200827-first,2020/08/27,🏆,"BERT base / ""FirstP""",Ours,www.example.org/paper.pdf,,full ranking,0.413,0.368,
20200828a,2020/08/28,,"BERT base",Theirs,,,reraking,0.401,0.368,
20200831-last,2020/08/31,🏆,"Expando",Ours,,,full ranking,0.426,0.370
'''
PASSAGES = """\
id,,description,team,paper,code,type,date,eval,dev,tweet
,🏆,RocketQA,A Team — NLP,,,full ranking,2020/09/18,0.426,0.439,
,🏆,"BERT (Softmax Loss, List size 6, 200k steps)",anonymous,https://arxiv.org/abs/2004.08476,,reranking,2020/03/16,0.366,0.378,12397515
20220929-doc2query--,,"Anonymous","Anonymous",,,full ranking,2022/09/29,0.306,0.308,
20220929-doc2query--electra,,"Anonymous","Anonymous",,,full ranking,2022/09/29,0.416,0.422,
,🏛️,"Duet V2",Organizers,,,reranking,2019/02/19,0.253,0.252,
,🏆,"Conv-KNRM",Others,,,reranking,2018/11/28,0.271,,
"""


def test_the_documents_file_is_read_and_what_was_mended_is_told(write: Write) -> None:
    file = read_board(write("documents.csv", DOCUMENTS))
    assert file.measure == "MRR@100"
    assert [entry.key for entry in file.entries] == [
        "20200811a", "20200816b", "20200827-first", "20200828a", "20200831-last",
    ]  # fmt: skip
    assert file.entries[2] == Entry(
        "20200827-first", date(2020, 8, 27), "trophy", 'BERT base / "FirstP"', "Ours",
        "https://www.example.org/paper.pdf", "", "full ranking", Decimal("0.413"), Decimal("0.368"),
    )  # fmt: skip
    assert file.entries[0].link == "https://twitter.com/i/status/12933064"
    assert (file.entries[0].mark, file.entries[0].dev) == ("baseline", None)
    assert file.entries[3].type == "reranking"
    assert [(line, message.split(" is ")[0]) for line, message in file.notes] == [
        (4, "paper www.example.org/paper.pdf"),
        (5, "type reraking"),
        (6, "1 field at the end lack: taken as empty."),
    ]


def test_the_passages_file_has_other_columns_and_ids_are_made_from_rows(write: Write) -> None:
    file = read_board(write("passages.csv", PASSAGES))
    first, second, *_, last = file.entries
    assert (first.key, first.mark, first.eval, first.dev) == ("import-1", "trophy", Decimal("0.426"), Decimal("0.439"))
    assert second.description == "BERT (Softmax Loss, List size 6, 200k steps)"
    assert [entry.key for entry in file.entries[2:4]] == ["20220929-doc2query--", "20220929-doc2query--electra"]
    assert (file.entries[4].mark, last.dev) == ("baseline", None)
    assert file.lines["import-6"] == 7


ODD = (
    (
        "id,date,,description,team,paper,code,type,MRR@100 (Dev),MRR@100 (Eval),tweet",
        '20200811b,2020/08/11,🏛,"Conformer-Kernel with QTI (NDRM3)","Bhaskar Mitra (Microsoft), Sebastian Hofstätter '
        '(TU Wien)",https://arxiv.org/pdf/2007.10434.pdf,https://github.com/x/y,reranking,,0.293,1293306436399685632',
        ("20200811b", "baseline", None, "0.293", "reranking"),
    ),
    (
        "id,,description,team,paper,code,type,date,eval,dev,tweet",
        ',,"Unnamed","Hongyin Zhu",,,reranking,2019/06/26,0.174,,',
        ("import-1", "", None, "0.174", "reranking"),
    ),
    (
        ",description,team,paper,code,type,date,eval,dev,tweet",
        ',"TF-Ranking + BERT (Softmax Loss, List size 6, 200k steps)","TF-Ranking team (…) - Google Research",'
        "https://arxiv.org/abs/2004.08476,https://github.com/tensorflow/ranking,reraking,2020/03/16,0.366,0.378,1239751545",
        ("import-1", "", "0.378", "0.366", "reranking"),
    ),
    (
        ",description,team,paper,code,type,date,eval,dev",
        ',"TF-Ranking","A team",,,reraking,2020/03/16,0.366',
        ("import-1", "", None, "0.366", "reranking"),
    ),
    *(
        (
            "id,,description,team,paper,code,type,date,eval,dev,tweet",
            f'{key},,"Anonymous","anonymous",,,full ranking,2022/09/29,0.306,0.308,',
            (key, "", "0.308", "0.306", "full ranking"),
        )
        for key in (
            *("20220929-doc2query--", "20200811a", "20201009", "20201125-elastic-optimized_best_fields"),
            *("20210608-djin_THU", "20210423-Unbreakable-Alliance"),
        )
    ),
)


@pytest.mark.parametrize(("header", "row", "read"), ODD)
def test_the_odd_rows_of_both_files_are_read(write: Write, header: str, row: str, read: tuple[str | None, ...]) -> None:
    (entry,) = read_board(write("board.csv", f"{header}\n{row}\n")).entries
    scores = [None if score is None else str(score) for score in (entry.dev, entry.eval)]
    assert (entry.key, entry.mark, *scores, entry.type) == read


@pytest.mark.parametrize("cut", [1, 2])
def test_the_two_older_headers_of_the_passages_file_are_read_alike(write: Write, cut: int) -> None:
    """Without ids, and then without the tweet as well."""
    rows = [line.split(",", 1)[1] for line in PASSAGES.splitlines() if not line.startswith("2022")]
    old = rows if cut == 1 else [row.rsplit(",", 1)[0] for row in rows]
    entries = read_board(write("old.csv", "\n".join(old))).entries
    new = [entry for entry in read_board(write("new.csv", PASSAGES)).entries if entry.key.startswith("import")]
    for before, now in zip(entries, new, strict=True):
        assert (before.date, before.mark, before.eval, before.dev) == (now.date, now.mark, now.eval, now.dev)


@pytest.mark.parametrize(
    ("description", "read"),
    [
        ('"say ""hi"", there"', 'say "hi", there'),
        ('"say \\"hi\\" there"', 'say "hi" there'),
        ('"say \\"hi\\", there"', 'say "hi", there'),
        ('"\\"hi\\""', '"hi"'),
        ('"ends in a backslash\\"', "ends in a backslash\\"),
        ('"two\nlines"', "two\nlines"),
        ("plain \\alpha", "plain \\alpha"),
    ],
)
def test_quotes_are_doubled_or_have_a_backslash(write: Write, description: str, read: str) -> None:
    row = f"20210101-a,2021/01/01,,{description},Ours,,,full ranking,0.1,0.2,\n"
    content = DOCUMENTS.splitlines()[0] + "\n" + row + row.replace("-a,", "-b,")
    file = read_board(write("quotes.csv", content))
    assert [entry.description for entry in file.entries] == [read, read]
    assert [entry.eval for entry in file.entries] == [Decimal("0.2")] * 2


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("2020/08/16", "2020/13/16", "line 3: date 2020/13/16 where one of the form yyyy/mm/dd is needed."),
        ("0.139", "1.39", "line 3: eval score 1.39 where a number from 0 to 1 is needed."),
        ("0.413", "best", "line 4: dev score best where a number"),
        (",🏆,", ",🥇,", "line 4: mark 🥇 where 🏆, 🏛 or nothing is needed."),
        (",0.139,", ",0.139,,,", "line 3: 13 fields where there are 11 columns."),
        ('"Expando"', '"Expando', "line 6: a quote that is not closed, or is followed by text."),
        (",team,", ",group,", "line 1: column group where there are id, description,"),
        (",team,", ",paper,", "line 1: column paper a second time."),
        ("(Eval)", "(Dev)", "line 1: column MRR@100 (Dev) a second time."),
        ("id,date,", "id,tweet,", "line 1: column tweet a second time."),
        (",type,MRR@100 (Dev),MRR@100 (Eval)", ",type,MRR@100 (Dev),MRR@100", "line 1: column MRR@100 where there are"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(write: Write, old: str, new: str, why: str) -> None:
    assert old in DOCUMENTS
    with pytest.raises(BadInput, match=re.escape(why)):
        read_board(write("bad.csv", DOCUMENTS.replace(old, new, 1)))


@given(st.lists(st.text(st.sampled_from('ab",\\\n 🏆'), max_size=12), min_size=1, max_size=4))
def test_what_rfc_4180_quotes_is_read_back(descriptions: list[str]) -> None:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["date", "", "description", "team", "eval"])
    rows.writerows(["2021/01/01", "", description, "Ours", "0.5"] for description in descriptions)
    file = read_board(io.BytesIO(text.getvalue().encode()), name="board.csv")
    assert [entry.description for entry in file.entries] == [description.strip() for description in descriptions]
    assert {entry.eval for entry in file.entries} == {Decimal("0.5")}


@given(st.text(st.sampled_from('ab",\\\n 🏆0./'), max_size=60))
def test_no_text_makes_the_reader_fail_otherwise_than_by_line(text: str) -> None:
    with contextlib.suppress(BadInput):
        read_board(io.BytesIO(f"date,,description,team,eval\n{text}".encode()), name="board.csv")


def test_an_id_that_comes_again_is_told_and_made_from_the_row(write: Write) -> None:
    file = read_board(write("again.csv", DOCUMENTS.replace("20200828a", "20200816B")))
    assert file.entries[3].key == "import-4"
    assert (5, "id 20200816B a second time (first on line 3): taken as import-4.") in file.notes
    repeated = DOCUMENTS.replace("20200828a", "20200816B").replace("20200827-first", "import-4")
    with pytest.raises(
        BadInput, match=r"line 5: id 20200816B a second time \(first on line 3\), and import-4 is taken"
    ):
        read_board(write("taken.csv", repeated))


def test_a_file_of_another_kind_is_refused(write: Write) -> None:
    with pytest.raises(BadInput, match=r"no column description: is it the CSV file of an MS MARCO leaderboard\?"):
        read_board(write("other.csv", "id,date\n1,2\n"))
    with pytest.raises(BadInput, match="the file is empty"):
        read_board(write("empty.csv", ""))


def test_the_command_recounts_a_board(write: Write) -> None:
    printed = json_of("board", "--json", write("documents.csv", DOCUMENTS))
    keys = ["entries", "baselines", "trophies", "disagreements", "both", "pearson", "kendall", "warnings"]
    assert list(printed) == keys and "documents.csv, line" in printed["warnings"][0]
    assert (printed["entries"], printed["baselines"], printed["trophies"], printed["both"]) == (5, 1, 2, 3)
    assert printed["disagreements"] == []
    assert printed["pearson"] == pytest.approx(0.87734, abs=1e-5)
    assert printed["kendall"] == pytest.approx(2 / 6**0.5)


def test_each_naive_rule_for_trophies_would_disagree(write: Write) -> None:
    """The files have an entry below a baseline, an equal score, and rows out of the order of their dates."""
    printed = json_of("board", "--json", write("passages.csv", PASSAGES))
    assert (printed["trophies"], printed["disagreements"]) == (3, [])
    marked = DOCUMENTS.replace("2020/08/16,,", "2020/08/16,🏆,").replace("2020/08/28,,", "2020/08/28,🏆,")
    marked = marked.replace("2020/08/31,🏆,", "2020/08/31,,")
    assert json_of("board", "--json", write("marked.csv", marked))["disagreements"] == [
        {"line": 3, "key": "20200816b", "marked": True, "earned": False},
        {"line": 5, "key": "20200828a", "marked": True, "earned": False},
        {"line": 6, "key": "20200831-last", "marked": False, "earned": True},
    ]


def test_entries_after_a_date_are_left_out(write: Write) -> None:
    printed = json_of("board", "--json", write("documents.csv", DOCUMENTS), "--until", "2020-08-27")
    assert (printed["entries"], printed["trophies"], printed["both"], printed["pearson"]) == (3, 1, 1, None)
    assert "where a date such as 2022-04-30 is needed" in run_cli("board", "--until", "2020-02-30", "x.csv", code=2).err


def test_the_text_names_what_is_wrong_and_lists_the_best(write: Write) -> None:
    path = write("passages.csv", PASSAGES.replace("🏆", "", 2))
    out, err = run_cli("board", path, "--top", "2")
    assert "6 entries, 1 baseline of the organizers, 3 trophies." in out
    assert f"{path}, line 2: import-1 is not marked, and was the best when it came." in out
    assert "no trend beyond chance" in out
    assert [line.split()[:5] for line in out.splitlines()[-2:]] == [
        ["1", "2020-09-18", "0.439", "0.426", "RocketQA"],
        ["2", "2022-09-29", "0.422", "0.416", "Anonymous"],
    ]
    assert err == ""
    out, err = run_cli("board", write("documents.csv", DOCUMENTS))
    assert "All marks agree with scores and dates." in out
    assert "line 5: type reraking is taken as reranking." in err


def test_a_bad_file_is_exit_code_one(write: Write) -> None:
    assert "bad.csv, line 1: no column date" in run_cli("board", write("bad.csv", "id\n"), code=1).err


def board(gaps: list[float]) -> list[Entry]:
    return [
        Entry(str(n), date(2020, 1, 1) + timedelta(73 * n), dev=Decimal("0.4"), eval=Decimal("0.4") + Decimal(str(gap)))
        for n, gap in enumerate(gaps)
    ]


def test_a_growing_gap_raises_the_alarm_and_a_noisy_one_does_not() -> None:
    from scipy import stats

    noise = [0.01, -0.012, 0.004, -0.003, 0.011, -0.009, 0.002, -0.006]
    quiet = gap_trend(board(noise))
    assert quiet is not None
    assert quiet.alarm == ""
    years = [73 * n / 365.25 for n in range(8)]
    peer = stats.linregress(years, noise)
    assert (quiet.slope, quiet.p) == (pytest.approx(peer.slope), pytest.approx(peer.pvalue))
    half = stats.t.ppf(0.975, 6) * peer.stderr
    assert quiet.interval == (pytest.approx(peer.slope - half), pytest.approx(peer.slope + half))
    for sign, side in ((1, "eval"), (-1, "dev")):
        growing = gap_trend(board([gap + sign * 0.02 * n for n, gap in enumerate(noise)]))
        assert growing is not None
        assert growing.alarm == side


def test_a_gap_of_two_entries_or_of_one_day_has_no_trend() -> None:
    assert gap_trend(board([0.1, 0.2])) is None
    assert gap_trend([Entry(str(n), date(2020, 1, 1), dev=Decimal(0), eval=Decimal(n)) for n in range(4)]) is None
    steady = gap_trend(board([0.1] * 4))
    assert steady is not None
    assert (steady.p, steady.alarm) == (pytest.approx(1), "")
