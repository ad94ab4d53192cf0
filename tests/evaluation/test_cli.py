"""The command line, run as users and programs run it."""

import bz2
import contextlib
import gzip
import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from evaluation.cli.common import write_whole
from evaluation.cli.main import main
from evaluation.files.runs import run_name

from .command import json_of, run_cli
from .conftest import Write

RED = "q1 Q0 p1 1 9 red\nq1 Q0 p2 2 8 red\nq2 Q0 p5 1 4 red\nq9 Q0 p1 1 1 red\n"
BLUE = "q1 Q0 p2 1 2 blue\nq1 Q0 p1 2 3 blue\nq2 Q0 p4 1 4 blue\n"
QRELS = "q1 0 p3 1\nq1 0 p1 1\nq2 0 p5 1\nq3 0 p7 1\n"
PREFERENCES = "q2 p4 p5 p5\nq1 p1 p3 p1\nq1 p1 p2 p2\nq1 p2 p3 p3\n"
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def files(write: Write) -> dict[str, str]:
    return {
        "red": write("red.txt.gz", gzip.compress(RED.encode())),
        "blue": write("blue.tsv.zst", zstandard.compress(BLUE.encode())),
        "qrels": write("qrels.txt", QRELS),
        "preferences": write("preferences.txt.bz2", bz2.compress(PREFERENCES.encode())),
    }


def test_check_reports_a_good_run_and_leaves_with_0(files: dict[str, str], write: Write) -> None:
    queries = write("queries.tsv", "q1\tone\nq2\ttwo\nq3\tthree\n")
    done = run_cli("check", files["red"], "--queries", queries)
    assert "red.txt.gz: no errors." in done.out
    assert "1 (q3)" in done.out
    assert done.err == ""


def test_check_as_json_has_errors_and_census(files: dict[str, str], write: Write) -> None:
    printed = json_of("check", files["red"], "--json")
    assert printed["ok"] is True
    assert printed["errors"] == []
    assert printed["census"]["queries"] == 3
    bad = run_cli("check", write("bad.txt", RED + "q2 Q0 p6 2\n" + "q9 Q0 p1 1 1 red\n"), "--json", code=1)
    answer = json.loads(bad.out)
    assert answer["ok"] is False
    assert [error["line"] for error in answer["errors"]] == [5, 6]
    assert answer["error_count"] == 2


def test_check_names_file_line_and_expectation_of_a_bad_run(write: Write) -> None:
    path = write("bad.txt", RED + "q2 Q0 p6 2 1\n" * 3)
    done = run_cli("check", path, code=1)
    message = f"{path}, line 5: 5 columns where a TREC run has 6 (query Q0 passage rank score tag)."
    assert f"  {message}\n" in done.out
    assert "line 7" in done.out
    assert done.err == f"{message} 2 more errors.\n"


def test_pool_prints_sizes_and_writes_pairs(files: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "pairs.tsv"
    printed = json_of("pool", "--qrels", files["qrels"], "--pairs", str(out), files["red"], files["blue"])
    assert printed.pop("warnings")[:2] == ["red lacks 1 query of the qrels.", "blue lacks 1 query of the qrels."]
    assert printed == {"queries": 3, "pairs": 2, "sizes": {"mean": 5 / 3, "median": 2, "histogram": {"1": 1, "2": 2}}}
    assert out.read_text() == "q1\tp1\tp3\nq2\tp4\tp5\n"


@pytest.mark.parametrize(
    ("options", "pairs"),
    [
        (["--order", "rank"], "q1 p1 p2\nq1 p1 p3\nq1 p2 p3\nq2 p4 p5\n"),
        (["--depth", "2"], "q1 p1 p2\nq1 p1 p3\nq1 p2 p3\nq2 p4 p5\n"),
        (["--qrel", "none"], "q2 p4 p5\n"),
        (["--qrel", "all", "--depth", "1"], "q1 p1 p3\nq2 p4 p5\n"),
    ],
)
def test_pool_heeds_order_depth_and_qrel(files: dict[str, str], tmp_path: Path, options: list[str], pairs: str) -> None:
    out = tmp_path / "pairs.tsv"
    json_of("pool", "--qrels", files["qrels"], *options, "--pairs", str(out), files["red"], files["blue"])
    assert out.read_text().replace("\t", " ") == pairs


def test_pool_takes_qrels_from_the_least_grade_on(files: dict[str, str], write: Write, tmp_path: Path) -> None:
    graded, members = write("graded.txt", "q1 0 related 1\nq1 0 perfect 3\n"), tmp_path / "members.tsv"
    for least, judged in (("1", "related"), ("2", "perfect"), ("4", None)):
        words = ["pool", "--qrels", graded, "--min-grade", least, "--members", str(members), files["red"]]
        run_cli(*words)
        assert {line.split()[1] for line in members.read_text().splitlines()} == {"p1", judged} - {None}


def test_pool_tells_on_standard_error_what_it_left_out(files: dict[str, str]) -> None:
    done = run_cli("pool", "--qrels", files["qrels"], "--qrel", "none", files["red"], files["blue"])
    assert "1 query of the runs left out: not in the qrels." in done.err
    assert "1 query of the qrels left out: no run has them, and no qrel was taken." in done.err


def test_pool_writes_nothing_where_a_run_is_bad(files: dict[str, str], tmp_path: Path, write: Write) -> None:
    old = write("old.tsv", "kept\n")
    bad = write("bad.txt", RED + "q2 Q0 p5 2 1 red\n")
    for out in (str(tmp_path / "pairs.tsv"), old):
        done = run_cli("pool", "--qrels", files["qrels"], "--pairs", out, files["red"], bad, code=1)
        assert done.out == ""
        assert "bad.txt, line 5: passage p5 a second time for query q2 (first on line 3)." in done.err
    assert sorted(path.name for path in tmp_path.iterdir() if "pairs" in path.name) == []
    assert Path(old).read_text() == "kept\n"


def test_pairs_that_cannot_be_written_are_told_in_one_line(files: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "absent" / "pairs.tsv")
    done = run_cli("pool", "--qrels", files["qrels"], "--pairs", out, files["blue"], code=1)
    assert done.out == ""
    assert done.err.splitlines()[-1] == f"{out}: cannot be written: No such file or directory."


def test_a_file_whose_writing_breaks_off_is_as_it_was_before(tmp_path: Path) -> None:
    (tmp_path / "old.tsv").write_text("kept\n")
    for name in ("old.tsv", "new.tsv"):
        with pytest.raises(RuntimeError), write_whole(str(tmp_path / name)) as out:
            out.write("half")
            raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["old.tsv"]
    assert (tmp_path / "old.tsv").read_text() == "kept\n"


def test_qrels_prints_sorted_qrels_and_a_summary(files: dict[str, str]) -> None:
    done = run_cli("qrels", files["preferences"])
    assert done.out == "q1 0 p1 1\nq1 0 p2 1\nq1 0 p3 1\nq2 0 p5 1\n"
    assert done.err == (
        "1 query with a single winner.\n"
        "1 deadlock of 3.\n"
        "Pools refused as incomplete, with pairs that nobody judged: 0.\n"
        "Intransitive triples of passages: 1 of 1.\n"
    )


def test_qrels_refuses_incomplete_pools_unless_told_otherwise(files: dict[str, str], write: Write) -> None:
    pairs = write("pairs.tsv", "q1\tp1\tp2\nq1\tp1\tp3\nq1\tp2\tp3\nq2\tp4\tp5\nq2\tp4\tp6\nq2\tp5\tp6\n")
    done = run_cli("qrels", "--pools", pairs, files["preferences"], "--json")
    assert done.out == "q1 0 p1 1\nq1 0 p2 1\nq1 0 p3 1\n"
    assert json.loads(done.err) == {
        "method": "tournament",
        "single": 0,
        "deadlocks": {"3": 1},
        "incomplete": 1,
        "incomplete_queries": ["q2"],
        "triples": 1,
        "intransitive": 1,
    }
    done = run_cli("qrels", "--pools", pairs, "--allow-incomplete", files["preferences"])
    assert "q2 0 p5 1\n" in done.out


@pytest.mark.parametrize("method", ["tournament", "most-wins", "bradley-terry"])
def test_qrels_counts_every_repeated_judgment(method: str, write: Write) -> None:
    path = write("preferences.txt", "q a b a\nq a b b\nq b a b\n")
    done = run_cli("qrels", "--method", method, path)
    assert done.out == "q 0 b 1\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 p1 p8 p1", "line 5: passage p8 is not in the pool that {pairs} has for query q1."),
        ("q8 p1 p2 p1", "line 5: query q8 is not in {pairs}."),
        ("q1 p1 p2 p3", "line 5: p3 is preferred, which is neither p1 nor p2."),
        ("q1 p1 p2", "line 5: 3 columns where preferences have 4 (query a b preferred)."),
    ],
)
def test_qrels_writes_nothing_where_a_preference_is_bad(line: str, message: str, write: Write) -> None:
    pairs = write("pairs.tsv", "q1\tp1\tp2\nq1\tp1\tp3\nq1\tp2\tp3\nq2\tp4\tp5\n")
    path = write("preferences.txt", PREFERENCES + line + "\n")
    done = run_cli("qrels", "--pools", pairs, path, code=1)
    assert done.out == ""
    assert done.err == f"{path}, {message.format(pairs=pairs)}\n"


def test_score_prints_the_mean_over_the_queries_of_the_qrels(files: dict[str, str]) -> None:
    printed = json_of("score", "--qrels", files["qrels"], files["red"], files["blue"])
    assert any(warning.startswith("red has at most 2 hits a query: with k = 10") for warning in printed.pop("warnings"))
    assert printed == {
        "measure": "RR@10",
        "queries": 3,
        "runs": {"red": {"mean": 2 / 3, "answered": 2}, "blue": {"mean": 1 / 3, "answered": 1}},
    }


def test_score_heeds_measure_order_and_least_grade(files: dict[str, str], write: Write) -> None:
    printed = json_of("score", "--qrels", files["qrels"], "--measure", "RR@1", "--order", "rank", files["blue"])
    assert printed["measure"] == "RR@1"
    assert printed["runs"] == {"blue": {"mean": 0.0, "answered": 0}}
    graded = write("graded.txt", "q1 0 p1 1\nq1 0 p2 2\n")
    printed = json_of("score", "--qrels", graded, "--min-grade", "2", "--measure", "RR@100000", files["red"])
    assert printed["runs"] == {"red": {"mean": 0.5, "answered": 1}}


def test_score_takes_several_measures_by_their_names(files: dict[str, str], write: Write) -> None:
    graded = write("graded.txt", "q1 0 p1 1\nq1 0 p2 2\nq7 0 p1 1\n")
    names = ["--measure", "nDCG@2", "--measure", "judged@2", "--measure", "AP(rel=2)", "--measure", "nDCG@2"]
    printed = json_of("score", "--qrels", graded, *names, "--per-query", files["red"])
    assert printed["measures"] == ["nDCG@2", "Judged@2", "AP(rel=2)"] and printed["queries"] == 2
    assert list(printed["runs"]["red"]) == printed["measures"]
    for score in printed["runs"]["red"].values():
        values = score.pop("queries")
        assert score == {"mean": pytest.approx(sum(values.values()) / 2), "answered": 1}
        assert list(values) == ["q1", "q7"] and values["q1"] > 0 == values["q7"]
    assert printed["runs"]["red"]["Judged@2"]["mean"] == 0.5


def test_by_compat_a_query_that_a_run_lacks_counts_0_and_the_mean_of_its_authors_stands_beside(
    files: dict[str, str], write: Write
) -> None:
    graded = write("graded.txt", "q1 0 p1 1\nq1 0 p2 2\nq2 0 p5 0\nq7 0 p1 1\n")
    printed = json_of("score", "--qrels", graded, "--measure", "Compat(p=0.9)", "--per-query", files["red"])
    assert printed["measure"] == "Compat(p=0.9)" and printed["queries"] == 3
    (score,) = printed["runs"].values()
    assert list(score["queries"]) == ["q1", "q2", "q7"] and score["shared"] == score["answered"] == 1
    assert score["shared_mean"] == score["queries"]["q1"] > 0
    assert score["mean"] == pytest.approx(score["shared_mean"] / 3)
    refused = run_cli("score", "--qrels", graded, "--measure", "Compat(p=1)", files["red"], code=2)
    assert "p is a number from 0.01 to 0.99" in refused.err


def test_compare_tests_runs_by_any_measure(files: dict[str, str], write: Write) -> None:
    graded = write("graded.txt", "q1 0 p1 1\nq1 0 p2 2\nq2 0 p5 3\nq7 0 p1 1\n")
    both = (files["red"], files["blue"])
    comparison = json_of("compare", "--qrels", graded, "--measure", "nDCG@2", *both, "--json")
    scores = json_of("score", "--qrels", graded, "--measure", "nDCG@2", *both)
    assert comparison["means"] == {name: score["mean"] for name, score in scores["runs"].items()}
    (pair,) = comparison["pairs"]
    assert pair["delta"] == pytest.approx(comparison["means"]["blue"] - comparison["means"]["red"])
    assert pair["higher"] + pair["lower"] + pair["equal"] == comparison["queries"] == 3 and 0 < pair["wsr"] <= 1
    printed = run_cli("compare", "--qrels", graded, "--measure", "nDCG@2", *both).out
    assert printed.startswith("nDCG@2 over 3 queries: 2 runs, 1 pair.\n") and "mean nDCG@2" in printed
    lines = run_cli("compare", "--qrels", graded, "--measure", "AP", *both, "--csv").out.splitlines()
    columns = "a,b,delta,delta_interval_low,delta_interval_high,higher,lower,equal,sign,wsr,t,direction"
    assert lines[0] == f"{columns},warnings" and len(lines) == 2
    by_k = [
        json_of("compare", "--qrels", graded, *both, "--json", *option)
        for option in (["--k", "2"], ["--measure", "RR@2"])
    ]
    assert by_k[0] == by_k[1]
    for wrong in (["nDCG@2", "--latex"], ["P@2", "--rank-by", "rr-t"], ["RR@1001"], ["ERR@2"]):
        done = run_cli("compare", "--qrels", graded, *both, "--measure", *wrong, code=2)
        assert done.out == "", wrong


def test_score_names_an_unknown_measure_and_those_that_there_are(files: dict[str, str]) -> None:
    done = run_cli("score", "--qrels", files["qrels"], "--measure", "ERR@10", files["red"], code=2)
    assert done.out == ""
    assert (
        "argument --measure: measure 'ERR@10' where there are RR, nDCG, Judged, Success, P, R, AP and Compat"
        in done.err
    )


def test_score_writes_nothing_where_any_file_is_bad(files: dict[str, str], write: Write) -> None:
    bad = write("bad.txt", b"q1 Q0 p\xff 1 2 t\n")
    cut = write("cut.gz", gzip.compress(RED.encode() * 100)[:-9])
    done = run_cli("score", "--qrels", files["qrels"], files["red"], bad, cut, code=1)
    assert done.out == ""
    assert "bad.txt, line 1: invalid UTF-8" in done.err
    assert "cut.gz, line" in done.err
    for qrels in ("/nowhere/qrels.txt", files["red"]):
        done = run_cli("score", "--qrels", qrels, files["red"], code=1)
        assert done.out == ""
        assert len(done.err.splitlines()) == 1


def test_two_runs_of_one_name_are_refused(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "red.trec"
    other.write_text(RED)
    done = run_cli("score", "--qrels", files["qrels"], files["red"], str(other), code=1)
    assert done.out == ""
    assert "a second run of the name red" in done.err


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bm25.txt.gz", "bm25"),
        ("bm25", "bm25"),
        ("a/b.tsv", "b"),
        ("x.trec.zst", "x"),
        ("x.bz2", "x"),
        ("bm25.v2.txt", "bm25.v2"),
        ("p_bm25+rm3.run.gz", "p_bm25+rm3.run"),
        (".txt", ".txt"),
    ],
)
def test_a_run_is_named_after_its_file(path: str, name: str) -> None:
    assert run_name(path) == name


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["score", "run.txt"],
        ["score", "--qrels", "q", "--measure", "ERR@10", "r"],
        ["score", "--qrels", "q", "--measure", "P", "r"],
        ["score", "--qrels", "q", "--measure", "RR@0", "r"],
        ["pool", "--qrels", "q", "--depth", "0", "r"],
        ["pool", "--qrels", "q"],
    ],
)
def test_a_wrong_command_leaves_with_2(arguments: list[str]) -> None:
    assert run_cli(*arguments, code=2).out == ""


@pytest.mark.parametrize("command", [[], ["check"], ["pool"], ["qrels"], ["score"]])
def test_help_teaches_with_an_example(command: list[str]) -> None:
    assert (
        f"python -m evaluation {command[0] if command else 'check'} "
        in run_cli(*command, "--help").out.split("Example", 1)[-1]
    )


def test_a_reader_that_goes_away_is_no_error(write: Write) -> None:
    lines = "".join(f"q{number} a b a\n" for number in range(50_000))
    path = write("preferences.txt", lines)
    command = f"{shlex.quote(sys.executable)} -m evaluation qrels {shlex.quote(str(path))} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert done.stdout == "q0 0 a 1\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_ids_of_any_script_pass_whatever_the_locale(write: Write) -> None:
    path = write("preferences.txt", "文 א b א\n")
    done = subprocess.run(
        [sys.executable, "-m", "evaluation", "qrels", path],
        capture_output=True,
        cwd=REPOSITORY,
        check=True,
        env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert done.stdout.decode() == "文 0 א 1\n"


def test_a_program_may_catch_what_is_printed(files: dict[str, str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["qrels", files["preferences"]]) == 0
    assert printed.getvalue().startswith("q1 0 p1 1\n")


def test_a_file_may_have_any_name(write: Write) -> None:
    path = write("red-\udcff.txt", RED)
    for options in ([], ["--json"]):
        assert run_cli("check", path, *options).err == ""


def test_the_whole_round_on_whole_runs(data: Path, tmp_path: Path) -> None:
    runs = [str(path) for path in sorted((data / "runs").iterdir())[:4]]
    sparse, pairs = str(data / "sparse-qrels.txt"), tmp_path / "pairs.tsv"
    printed = json_of("pool", "--qrels", sparse, "--pairs", str(pairs), *runs)
    pairs_to_judge = {tuple(line.split("\t")) for line in pairs.read_text().splitlines()}
    assert len(pairs_to_judge) == printed["pairs"]
    oracle = gzip.decompress((data / "oracle-preferences.txt.gz").read_bytes()).decode().splitlines()
    answers = [line for line in oracle if tuple(line.split()[:3]) in pairs_to_judge]
    assert len(answers) == len(pairs_to_judge)
    (tmp_path / "preferences.txt").write_text("\n".join(answers))
    done = run_cli("qrels", "--pools", str(pairs), str(tmp_path / "preferences.txt"))
    derived = tmp_path / "derived.txt"
    derived.write_text(done.out)
    scores = json_of("score", "--qrels", str(derived), *runs)
    assert set(scores["runs"]) == {Path(path).name.removesuffix(".txt.gz") for path in runs}
    assert all(0 < score["mean"] < 1 for score in scores["runs"].values())


def test_the_pairs_are_never_written_over_an_input_file(write: Write) -> None:
    run = write("run.txt", "q1 Q0 p1 1 1.0 r\n")
    qrels = write("qrels.txt", "q1 0 p2 1\n")
    for target in (run, qrels):
        before = Path(target).read_bytes()
        err = run_cli("pool", "--qrels", str(qrels), "--pairs", str(target), str(run), code=1).err
        assert "is one of the input files" in err
        assert Path(target).read_bytes() == before


def test_commands_that_need_no_statistics_do_not_load_scipy() -> None:
    program = "import sys, evaluation.cli.main; evaluation.cli.main._parser(); sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=False).returncode == 0


def test_qrels_with_levels_have_every_passage_and_the_winners_on_top(write: Write) -> None:
    judged = write("judged.txt", "q a b a\nq a c a\nq b c =\nq d a d\nq d b d\nq c d c\nr x y y\ns m n m\ns n o n\n")
    done = run_cli("qrels", judged, "--levels")
    # a and d have two wins each, and d was preferred over a; c has one and a half, b a half. s lacks a pair.
    assert done.out.splitlines() == ["q 0 a 3", "q 0 b 1", "q 0 c 2", "q 0 d 4", "r 0 x 1", "r 0 y 2"]
    texts = write("texts.tsv", "a\tone\nb\ttwo\nc\tthree\nd\tfour\ne\ttwo\nx\tfive\ny\tsix\nm\tm\nn\tn\no\to\n")
    done = run_cli("qrels", judged, "--levels", "--passages", texts)
    assert "q 0 e 1" in done.out.splitlines() and "1 more passage with the text of a passage above." in done.err


@pytest.mark.parametrize(
    "command",
    [
        "pool --qrels {qrels} {red} {blue}",
        "score --qrels {qrels} --measure nDCG@10 {red} {blue}",
        "compare --qrels {qrels} --k 10 {red} {blue}",
        "compare --qrels {qrels} --k 10 --json {red} {blue}",
        "compare --qrels {qrels} --k 10 --csv {red} {blue}",
        "compare --qrels {qrels} --k 10 --latex {red} {blue}",
        "compare --qrels {qrels} --measure AP@10 --csv {red} {blue}",
        "wins --qrels {qrels} --preferences {preferences} {red} {blue}",
        "wins --qrels {qrels} --preferences {preferences} --json {red} {blue}",
        "wins --qrels {qrels} --preferences {preferences} --csv {red} {blue}",
        "wins --qrels {qrels} --preferences {preferences} --latex {red} {blue}",
        "leaderboard --qrels {qrels} --preference-qrels {qrels} {red} {blue}",
        "leaderboard --qrels {qrels} --preference-qrels {qrels} --json {red} {blue}",
        "certainty --preferences {preferences} --pools {pools} --json {red} {blue}",
        "champion --qrels {qrels} --qrel each --preferences {preferences} --json {red}",
        "strengths --judgments {apart} --json",
        "upkeep --qrels {qrels} --first 1 --preferences {few} --json {red} {blue}",
        "upkeep --qrels {qrels} --first 1 --preferences {few} {red} {blue}",
    ],
)
def test_what_a_command_warns_of_is_with_its_numbers(files: dict[str, str], write: Write, command: str) -> None:
    files["pools"] = write("pools.txt", "q1 p1\nq1 p2\nq1 p3\nq1 p8\nq2 p4\nq2 p5\n")
    files["apart"] = write("apart.txt", "q1 p1 p2 p1\nq1 p3 p4 p3\n")
    files["few"] = write("few.txt", "q1 p1 p3 p1\n")
    done = run_cli(*shlex.split(command.format(**files)))
    warnings = done.err.splitlines()
    assert warnings
    for warning in warnings:
        assert warning in done.out
