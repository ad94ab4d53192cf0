"""certainty, run as users and programs run it."""

import json

import pytest

from evaluation.cli.main import main

from .conftest import Write

ONCE = "q a b a\nq a c a\nq b c b\nr x y x\n"
TWICE = "p a b a\np a b a\n"


def test_one_judgment_a_pair_needs_an_error_rate(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("preferences.txt", ONCE)
    assert main(["certainty", "--preferences", path]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err
        == f"{path}: every pair was judged once, and such judgments vary only by an error rate: give --error-rate.\n"
    )
    assert main(["certainty", "--preferences", path, "--error-rate", "repeated"]) == 1
    assert "no pair was judged twice, so --error-rate needs a number." in capsys.readouterr().err


def test_certainty_is_told_by_query_the_least_certain_first(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("preferences.txt", TWICE + ONCE)
    run = write("run.txt", "q Q0 a 1 9 t\nr Q0 y 1 9 t\nr Q0 x 2 8 t\n")
    arguments = ["certainty", "--preferences", path, run, "--error-rate", "0.1", "--draws", "4000", "--seed", "3"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["draws"], found["seed"], found["error_rate"]) == (4000, 3, 0.1)
    assert [(one["query"], one["best"]) for one in found["queries"]] == [("p", ["a"]), ("q", ["a"]), ("r", ["x"])]
    # Of two judgments, one may be wrong: then both passages win. Both may be wrong: then the other one does.
    assert found["queries"][0]["share"] == pytest.approx(0.99, abs=0.01)
    assert found["queries"][2]["share"] == pytest.approx(0.9, abs=0.02)
    assert (found["runs"][0]["mean"], found["runs"][0]["first"]) == (0.5, 1.0)
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == "4,000 resamples of the judgments, each wrong in 10.0% of the cases. The least certain come first."
    )
    assert lines[5].split()[:2] == ["p", "a"]
    assert lines[-1].startswith("run  0.5000")


def test_repeated_judgments_are_drawn_from_their_own_or_give_the_rate(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("preferences.txt", ONCE + "r x y x\nr x y x\nr x y y\n")
    assert main(["certainty", "--preferences", path, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["error_rate"] is None
    assert err == "3 of 4 pairs were judged once, and do not vary without --error-rate.\n"
    assert main(["certainty", "--preferences", path, "--json", "--error-rate", "repeated"]) == 0
    # Of the six ways to take two of four judgments, three agree: half, which is what chance alone would give.
    assert json.loads(capsys.readouterr().out)["error_rate"] == 0.5


@pytest.mark.parametrize("value", ["0.6", "-1", "often", "nan"])
def test_an_impossible_error_rate_is_a_usage_error(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["certainty", "--preferences", "preferences.txt", f"--error-rate={value}"])
    assert exit_.value.code == 2
    assert f"{value!r} where a number from 0 to 0.5 is needed, or repeated" in capsys.readouterr().err
