"""The attack on a leaderboard, and the command `ladder`."""

from pathlib import Path

import pytest

from evaluation.boards.attacks import simulate
from evaluation.boards.ladder import DEFAULT_RULE, Rule
from tests.evaluation.conftest import Write

from .command import json_of, run_cli


@pytest.mark.parametrize(("queries", "best"), [(50, 0.97), (500, 0.72)])
def test_a_plain_board_shows_a_best_far_above_the_truth(queries: int, best: float) -> None:
    outcome = simulate("plain", "vote", queries)
    assert (outcome.submissions, outcome.repetitions, outcome.truth) == (500, 200, 0.5)
    assert outcome.best == pytest.approx(best, abs=0.005)
    assert (outcome.within, outcome.shown) == (0, 500)


@pytest.mark.parametrize("attack", ["vote", "climb"])
@pytest.mark.parametrize("queries", [50, 500])
def test_under_the_default_rule_the_best_published_is_within_a_standard_error_of_the_truth(attack, queries) -> None:  # type: ignore[no-untyped-def]
    outcome = simulate(DEFAULT_RULE, attack, queries, repetitions=50)
    assert outcome.excess <= 1
    # Little more than the first score alone makes of it: at most one standard error above in 84% of all cases.
    assert abs(outcome.excess) < 0.25
    assert outcome.within > 0.75
    assert outcome.shown < 1.1


@pytest.mark.parametrize("rule", ["ladder", "bootstrap"])
def test_the_other_rules_do_not_hold_against_five_hundred_submissions(rule: Rule) -> None:
    outcome = simulate(rule, "climb", 50, repetitions=20)
    assert 3 < outcome.excess < simulate("plain", "climb", 50, repetitions=20).excess


def test_the_default_rule_shows_what_is_better() -> None:
    """A rule that shows nothing would also pass the attack: a run that is right on 9 of 10 queries has to be seen."""
    import numpy as np

    from evaluation.boards.ladder import release

    random = np.random.default_rng(0)
    reference = (random.random(100) < 0.6).astype(float)
    better = (random.random(100) < 0.9).astype(float)
    assert release(DEFAULT_RULE, reference, better, looks=1).shown


def test_the_same_seed_gives_the_same_and_another_one_another() -> None:
    first, again, other = (
        simulate("plain", "vote", 50, submissions=20, repetitions=5, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first.best != other.best


def test_the_command_simulates() -> None:
    words = ["ladder", "--simulate", "--queries", "50,100", "--submissions", "30", "--repetitions", "4"]
    printed = json_of(*words, "--json")
    assert (printed["submissions"], printed["repetitions"], printed["seed"]) == (30, 4, 0)
    assert [(row["attack"], row["queries"], row["rule"]) for row in printed["results"]] == [
        (attack, queries, rule) for attack in ("vote", "climb") for queries in (50, 100) for rule in ("plain", "tested")
    ]
    out = run_cli(*words, "--rule", "ladder", "--attack", "climb", "--step", "0.05").out
    assert out.startswith("30 submissions that know nothing, 4 times; the truth is 0.5.")
    assert [line.split()[:3] for line in out.splitlines()[3:5]] == [
        ["climb", "ladder", "50"],
        ["climb", "ladder", "100"],
    ]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    """Qrels of 40 queries; `best` finds the passage second, `new` first for 30 of them."""
    monkeypatch.chdir(tmp_path)
    write("qrels.txt", "".join(f"q{n} 0 good 1\n" for n in range(40)))
    write("best.txt", "".join(f"q{n} bad 1\nq{n} good 2\n" for n in range(40)))
    lines = (f"q{n} good 1\nq{n} bad 2\n" if n < 30 else f"q{n} bad 1\nq{n} good 2\n" for n in range(40))
    write("new.txt", "".join(lines))


@pytest.mark.usefixtures("runs")
def test_the_command_tells_what_is_shown_of_a_run() -> None:
    words = ["ladder", "--qrels", "qrels.txt", "--k", "2"]
    sentence = "RR@2 0.875 is shown: a gain over the last published best at p < 0.0017, as look 5 needs.\n"
    assert run_cli(*words, "--reference", "best.txt", "--looks", "4", "new.txt").out == sentence
    printed = json_of(*words, "--reference", "new.txt", "--json", "best.txt")
    assert (printed["shown"], printed["score"]) == (False, None)
    assert "0.5" not in printed["why"]
    assert run_cli(*words, "best.txt").out == "RR@2 0.500 is shown: the first score of the team.\n"


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "RUN and --qrels are needed, or --simulate"),
        (["new.txt"], "RUN and --qrels are needed"),
        (["--simulate", "new.txt"], "--simulate reads no files"),
        (["--rule", "fair", "--simulate"], "rule 'fair' where there are plain, ladder, bootstrap, tested"),
        (["--rule", "plain,ladder", "--qrels", "qrels.txt", "new.txt"], "several rules only with --simulate"),
        (["--queries", "0", "--simulate"], "numbers of queries are needed"),
        (["--step", "2", "--simulate"], "a number from 0 to 1 is needed"),
        (["--looks", "-1", "--simulate"], "--looks"),
    ],
)
def test_a_wrong_command_is_told_so(words: list[str], why: str) -> None:
    assert why in run_cli("ladder", *words, code=2).err


@pytest.mark.usefixtures("runs")
def test_bad_files_are_exit_code_one() -> None:
    Path("new.txt").write_text("q1 good\n")
    assert "new.txt, line 1" in run_cli("ladder", "--qrels", "qrels.txt", "new.txt", code=1).err
    err = run_cli("ladder", "--qrels", "qrels.txt", "--reference", "best.txt", "best.txt", code=1).err
    assert "has the same name as the reference" in err
