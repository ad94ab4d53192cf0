"""Strengths of passages: the Bradley–Terry model with ties, against a plain fit of the published formulas."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from evaluation.cli.main import main
from evaluation.files.preferences import Preference
from evaluation.statistics.strengths import fit_strengths

JUDGMENTS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(0, 2)).filter(
        lambda one: one[0] != one[1]
    ),
    min_size=1,
    max_size=30,
).map(lambda rows: [Preference("q", a, b, (a, b, None)[outcome]) for a, b, outcome in rows])


def plain_fit(judgments: list[Preference], tie: float, penalty: float) -> dict[str, float]:
    """The formulas as they are printed, maximized by BFGS from ones."""
    passages = sorted({passage for one in judgments for passage in (one.a, one.b)})

    def wins(i: float, j: float, t: float) -> float:
        return math.exp(i) / (math.exp(i) + math.exp(j + t))

    def tied(i: float, j: float, t: float) -> float:
        return (
            math.exp(i + j)
            * (math.exp(2 * t) - 1)
            / ((math.exp(i) + math.exp(j + t)) * (math.exp(i + t) + math.exp(j)))
        )

    def loss(merits: np.ndarray) -> float:
        of = dict(zip(passages, merits, strict=True))
        total = 0.0
        for _, a, b, preferred in judgments:
            if preferred is None:
                total += math.log10(tied(of[a], of[b], tie))
            else:
                total += math.log10(wins(of[preferred], of[b if preferred == a else a], tie))
        return -total - penalty * sum(math.log10(wins(m, 1, 0)) + math.log10(wins(1, m, 0)) for m in merits)

    fitted = minimize(loss, np.ones(len(passages)), method="BFGS", options={"gtol": 1e-9})
    return dict(zip(passages, fitted.x.tolist(), strict=True))


@settings(deadline=None, max_examples=60)
@given(JUDGMENTS, st.sampled_from([0.05, 0.5, 2.0]), st.sampled_from([0.2, 1.0]))
def test_strengths_are_those_of_the_published_formulas(judgments: list[Preference], tie: float, penalty: float) -> None:
    ours = {one.passage: one.strength for one in fit_strengths(judgments, tie=tie, penalty=penalty)["q"]}
    assert ours == pytest.approx(plain_fit(judgments, tie, penalty), abs=2e-3)


@settings(deadline=None, max_examples=30)
@given(JUDGMENTS, st.sampled_from([0.05, 1.0]), st.sampled_from([0.2, 1.0]))
def test_the_intervals_are_those_of_a_sandwich_by_finite_differences(
    judgments: list[Preference], tie: float, penalty: float
) -> None:
    found = sorted(fit_strengths(judgments, tie=tie, penalty=penalty)["q"])
    at, names = np.array([one.strength for one in found]), [one.passage for one in found]
    number, step = {name: place for place, name in enumerate(names)}, 1e-4

    def of_one(merits: np.ndarray, one: Preference) -> float:
        a, b = merits[number[one.a]], merits[number[one.b]]
        wins, loses = 1 / (1 + math.exp(b + tie - a)), 1 / (1 + math.exp(a + tie - b))
        return math.log({one.a: wins, one.b: loses}.get(one.preferred or "", 1 - wins - loses))

    def penalized(merits: np.ndarray) -> float:
        drawn = sum(math.log(1 / (1 + math.exp(1 - m))) + math.log(1 / (1 + math.exp(m - 1))) for m in merits)
        return sum(of_one(merits, one) for one in judgments) + penalty * drawn

    moves = step * np.eye(len(at))
    scores = [[(of_one(at + move, one) - of_one(at - move, one)) / (2 * step) for move in moves] for one in judgments]
    bends = [
        [(penalized(at + i + j) - penalized(at + i - j) - penalized(at - i + j) + penalized(at - i - j)) for i in moves]
        for j in moves
    ]
    bread = np.linalg.inv(-np.array(bends) / (4 * step**2))
    variances = np.diag(bread @ np.array(scores).T @ np.array(scores) @ bread)
    halves = [(one.high - one.low) / 2 for one in found]
    assert halves == pytest.approx((stats.norm.ppf(0.975) * np.sqrt(variances)).tolist(), rel=2e-3, abs=1e-4)


@given(JUDGMENTS, st.randoms())
def test_the_order_and_the_sides_of_judgments_do_not_matter(judgments: list[Preference], chance: random.Random) -> None:
    turned = [Preference(one.query, one.b, one.a, one.preferred) for one in judgments]
    chance.shuffle(turned)
    assert fit_strengths(turned) == fit_strengths(judgments)


def test_who_wins_everything_is_finite_and_first_and_strangers_do_not_meet() -> None:
    judgments = [Preference("q", "a", "b", "a")] * 50 + [Preference("q", "c", "d", None)]
    found = fit_strengths(judgments)["q"]
    assert [one.passage for one in found] == ["a", "c", "d", "b"]
    assert found[1].strength == found[2].strength == pytest.approx(1)
    assert all(math.isfinite(value) for one in found for value in one[1:])
    assert all(one.low <= one.strength <= one.high for one in found)


def test_the_intervals_hold_the_true_difference_in_about_95_of_100_cases() -> None:
    true = {"a": 1.8, "b": 1.2, "c": 1.0, "d": 0.4}
    chance, inside, cases = random.Random(5), 0, 0
    for _ in range(120):
        judgments = []
        for _judgment in range(300):
            a, b = chance.sample(sorted(true), 2)
            better = chance.random() < 1 / (1 + math.exp(true[b] - true[a]))
            judgments.append(Preference("q", a, b, a if better else b))
        # With a heavy anchor on one middle passage the strengths themselves are estimated; the penalty hardly draws.
        for one in fit_strengths(judgments, tie=0, penalty=1e-3)["q"]:
            mean = sum(true.values()) / len(true)
            inside += (
                one.low <= one.strength <= one.high
                and abs(one.strength - 1 - (true[one.passage] - mean)) <= (one.high - one.low) / 2
            )
            cases += 1
    assert 0.91 <= inside / cases <= 0.99


def test_more_judgments_make_narrower_intervals() -> None:
    few = [Preference("q", "a", "b", "a"), Preference("q", "b", "a", "b"), Preference("q", "a", "b", "a")] * 3
    width = {times: (one := fit_strengths(few * times)["q"][0]).high - one.low for times in (1, 4, 16)}
    assert width[16] < 0.6 * width[4] < 0.6 * width[1]


@pytest.mark.parametrize("wrong", [{"tie": -0.1}, {"tie": 11}, {"penalty": 0}, {"tie": math.nan}, {"tie": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="where"):
        fit_strengths([Preference("q", "a", "b", None)], **wrong)


# --- the command


def test_the_command_prints_lines_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "preferences.txt"
    file.write_text("q2 x y =\nq1 a b b\nq1 b c b\nq1 a c a\n")
    assert main(["strengths", "--judgments", str(file)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["q1", "b"], ["q1", "a"], ["q1", "c"], ["q2", "x"], ["q2", "y"]]
    assert all(float(low) <= float(own) <= float(high) for *_, own, low, high in lines)
    assert main(["strengths", "--judgments", str(file), "--tie", "0.5", "--penalty", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["tie"], told["penalty"]) == (0.5, 1.0)
    assert [passage["passage"] for passage in told["queries"][0]["passages"]] == ["b", "a", "c"]


def test_bad_input_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "preferences.txt"
    file.write_text("q1 a b b\nq1 a b =\n")
    assert main(["strengths", "--judgments", str(file), "--tie", "0"]) == 1
    assert "--tie 0 cannot be" in capsys.readouterr().err
    file.write_text("q1 a\n")
    assert main(["strengths", "--judgments", str(file)]) == 1
    assert "line 1: 2 columns where preferences have 3 or 4" in capsys.readouterr().err
    for option in (("--tie", "x"), ("--penalty", "0"), ("--penalty", "nan")):
        with pytest.raises(SystemExit, match="2"):
            main(["strengths", "--judgments", str(file), *option])
