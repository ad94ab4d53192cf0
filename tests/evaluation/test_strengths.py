"""Strengths of passages: the Bradley–Terry model with ties, against a plain fit of the published formulas."""

import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from evaluation.files.preferences import Preference
from evaluation.statistics.strengths import fit_strengths

from .command import json_of, run_cli

JUDGMENTS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.integers(0, 2)).filter(
        lambda pair: pair[0] != pair[1]
    ),
    min_size=1,
    max_size=30,
).map(lambda rows: [Preference("q", a, b, (a, b, None)[outcome]) for a, b, outcome in rows])


def plain_fit(judgments: list[Preference], tie: float, penalty: float) -> dict[str, float]:
    """The formulas as they are printed, maximized by BFGS from ones."""
    passages = sorted({passage for row in judgments for passage in (row.a, row.b)})

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


@settings(deadline=None, max_examples=40)
@given(JUDGMENTS, st.sampled_from([0.05, 0.5, 2.0]), st.sampled_from([0.2, 1.0]))
def test_strengths_are_those_of_the_published_formulas(judgments: list[Preference], tie: float, penalty: float) -> None:
    ours = {strength.passage: strength.strength for strength in fit_strengths(judgments, tie=tie, penalty=penalty)["q"]}
    assert ours == pytest.approx(plain_fit(judgments, tie, penalty), abs=2e-3)


@settings(deadline=None, max_examples=15)
@given(JUDGMENTS, st.sampled_from([0.05, 1.0]), st.sampled_from([0.2, 1.0]))
def test_an_end_is_where_the_profile_likelihood_with_one_more_win_has_dropped(
    judgments: list[Preference], tie: float, penalty: float
) -> None:
    strengths = [
        strength for strength in fit_strengths(judgments, tie=tie, penalty=penalty)["q"] if strength.group == 1
    ]
    names = [entry.passage for entry in strengths]
    chosen = strengths[0]
    own_judgments = [row for row in judgments if row.a in names]

    def distance(merits: np.ndarray) -> float:
        return merits[0] - merits[1:].mean()

    def loss(merits: np.ndarray) -> float:
        of = dict(zip(names, merits, strict=True))
        total = math.log(1 / (1 + math.exp(-distance(merits))))
        for _, a, b, preferred in own_judgments:
            wins, loses = (1 / (1 + math.exp(tie + sign * (of[b] - of[a]))) for sign in (1, -1))
            total += math.log({a: wins, b: loses}.get(preferred or "", 1 - wins - loses))
        drawn = sum(math.log(1 / (1 + math.exp(1 - m))) + math.log(1 / (1 + math.exp(m - 1))) for m in merits)
        return -total - penalty * drawn

    start = np.array([entry.strength for entry in strengths])
    assert chosen.high is not None
    # From the average of all to that of the others.
    end = distance(start) + (chosen.high - chosen.strength) * len(strengths) / (len(strengths) - 1)
    free = minimize(loss, start, method="BFGS", options={"gtol": 1e-9})

    def held(others: np.ndarray) -> float:
        return loss(np.array([end + others.mean(), *others]))

    profile = minimize(held, start[1:], method="BFGS", options={"gtol": 1e-9})
    assert profile.fun - free.fun == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, abs=2e-3)


@settings(deadline=None, max_examples=25)
@given(JUDGMENTS, st.randoms())
def test_the_order_and_the_sides_of_judgments_do_not_matter(judgments: list[Preference], chance: random.Random) -> None:
    turned = [Preference(row.query, row.b, row.a, row.preferred) for row in judgments]
    chance.shuffle(turned)
    assert fit_strengths(turned) == fit_strengths(judgments)


def test_who_wins_everything_is_finite_and_groups_that_never_met_are_apart() -> None:
    judgments = [Preference("q", "a", "b", "a")] * 50 + [Preference("q", "c", "d", None)]
    strengths = fit_strengths(judgments)["q"]
    assert [(entry.passage, entry.group) for entry in strengths] == [("a", 1), ("b", 1), ("c", 2), ("d", 2)]
    assert strengths[2].strength == strengths[3].strength == pytest.approx(1)
    assert all(math.isfinite(value) for entry in strengths for value in entry[1:])
    assert all(entry.low <= entry.strength <= entry.high for entry in strengths)
    # What joins them makes them one.
    assert {strength.group for strength in fit_strengths([*judgments, Preference("q", "d", "a", "a")])["q"]} == {1}
    assert fit_strengths(judgments[:50])["q"] == strengths[:2]


def test_one_judgment_and_a_shrug_prove_nothing_and_where_nothing_bounds_an_end_there_is_none() -> None:
    won, lost = fit_strengths([Preference("q", "a", "b", "a")])["q"]
    assert won.low < lost.strength < won.strength < lost.high
    first, other = fit_strengths([Preference("q", "a", "b", None)])["q"]
    assert first[1:] == other[1:]
    assert first.low < 0.5 < 1.5 < first.high
    ends = [
        (strength.low is None, strength.high is None)
        for strength in fit_strengths([Preference("q", "a", "b", "a")], penalty=1e-5)["q"]
    ]
    assert ends == [(False, True), (True, False)]


@pytest.mark.filterwarnings("error")
def test_ties_all_round_have_intervals() -> None:
    outcomes = ("ab=", "ac=", "ac=", "ad=", "bc=", "bcc", "bcb", "bd=", "cd=")
    for strength in fit_strengths([Preference("q", a, b, None if won == "=" else won) for a, b, won in outcomes])["q"]:
        assert strength.strength == pytest.approx(1)
        assert strength.low < 0.5 < 1.5 < strength.high


@pytest.mark.parametrize("spread", [0, 1, 2])
@pytest.mark.parametrize("tie", [0.05, 0.7])
def test_the_intervals_hold_the_truth_where_each_pair_is_judged_once(spread: int, tie: float) -> None:
    chance = random.Random(7)
    for size in (2, 3, 4, 6, 9):
        true, judgments = {}, []
        for query in map(str, range(360 // size)):
            merits = {passage: chance.gauss(0, spread) for passage in "abcdefghi"[:size]}
            mean = sum(merits.values()) / size
            true |= {(query, passage): 1 + merit - mean for passage, merit in merits.items()}
            for a, b in itertools.combinations(merits, 2):
                wins, loses = (1 / (1 + math.exp(tie + sign * (merits[b] - merits[a]))) for sign in (1, -1))
                (outcome,) = chance.choices([a, b, None], [wins, loses, max(0.0, 1 - wins - loses)])
                judgments.append(Preference(query, a, b, outcome))
        fitted = fit_strengths(judgments, tie=tie)
        inside = [
            strength.low <= true[query, strength.passage] <= strength.high
            for query, strengths in fitted.items()
            for strength in strengths
        ]
        assert sum(inside) / len(inside) >= 0.93


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
        for strength in fit_strengths(judgments, tie=0, penalty=1e-3)["q"]:
            mean = sum(true.values()) / len(true)
            inside += (
                strength.low <= strength.strength <= strength.high
                and abs(strength.strength - 1 - (true[strength.passage] - mean)) <= (strength.high - strength.low) / 2
            )
            cases += 1
    assert 0.91 <= inside / cases <= 0.99


def test_more_judgments_make_narrower_intervals() -> None:
    few = [Preference("q", "a", "b", "a"), Preference("q", "b", "a", "b"), Preference("q", "a", "b", "a")] * 3
    width = {times: (first := fit_strengths(few * times)["q"][0]).high - first.low for times in (1, 4, 16)}
    assert width[16] < 0.6 * width[4] < 0.6 * width[1]


@pytest.mark.parametrize("wrong", [{"tie": -0.1}, {"tie": 11}, {"penalty": 0}, {"tie": math.nan}, {"tie": 0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="where"):
        fit_strengths([Preference("q", "a", "b", None)], **wrong)


# --- the command


def test_the_command_prints_lines_and_json(tmp_path: Path) -> None:
    file = tmp_path / "preferences.txt"
    file.write_text("q2 x y =\nq1 a b b\nq1 b c b\nq1 a c a\n")
    printed = run_cli("strengths", "--judgments", file)
    lines = [line.split() for line in printed.out.splitlines()]
    assert printed.err == ""
    assert [line[:2] for line in lines] == [["q1", "b"], ["q1", "a"], ["q1", "c"], ["q2", "x"], ["q2", "y"]]
    assert all(float(low) <= float(value) <= float(high) for *_, value, low, high in lines)
    result = json_of("strengths", "--judgments", file, "--tie", "0.5", "--penalty", "1", "--json")
    assert (result["tie"], result["penalty"]) == (0.5, 1.0)
    assert [passage["passage"] for passage in result["queries"][0]["passages"]] == ["b", "a", "c"]


def test_groups_and_ends_that_are_none_are_told(tmp_path: Path) -> None:
    file = tmp_path / "preferences.txt"
    file.write_text("q1 a b a\nq1 a b a\nq1 c d c\nq2 a b b\n")
    command = ["strengths", "--judgments", str(file), "--penalty", "0.00001"]
    printed = run_cli(*command)
    lines = [line.split() for line in printed.out.splitlines()]
    assert [(line[0], line[1], *line[5:]) for line in lines] == [
        *(("q1", "a", "1"), ("q1", "b", "1"), ("q1", "c", "2"), ("q1", "d", "2")),
        *(("q2", "b"), ("q2", "a")),
    ]
    assert (lines[0][4], lines[1][3]) == ("-", "-")
    assert printed.err.endswith("never compared, not even through others: 1 (q1).\n")
    (first, second) = json_of(*command, "--json")["queries"]
    assert (first["groups"], second["groups"]) == (2, 1)
    assert [(passage["passage"], passage["group"]) for passage in first["passages"]] == [
        ("a", 1),
        ("b", 1),
        ("c", 2),
        ("d", 2),
    ]
    assert (first["passages"][0]["high"], first["passages"][1]["low"]) == (None, None)


def test_bad_input_is_told(tmp_path: Path) -> None:
    file = tmp_path / "preferences.txt"
    file.write_text("q1 a b b\nq1 a b =\n")
    assert "--tie 0 cannot be" in run_cli("strengths", "--judgments", file, "--tie", "0", code=1).err
    file.write_text("q1 a\n")
    err = run_cli("strengths", "--judgments", file, code=1).err
    assert "line 1: 2 columns where preferences have 3 or 4" in err
    for option in (("--tie", "x"), ("--penalty", "0"), ("--penalty", "nan")):
        run_cli("strengths", "--judgments", file, *option, code=2)
