"""Scores from a machine's answers that people's correct, and whether a machine may stand in for a person."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.statistics.agreement import Vote
from evaluation.statistics.alternative_annotator import LeftOut, StandIn, leave_each_out
from evaluation.statistics.machine_scores import Floats, Scored, correct, favour
from tests.evaluation.conftest import Write

from .command import json_of, run_cli

DRAWS = 1000
SCORES = np.array([0, *(1 / rank for rank in range(1, 11))])
CHANCES = [0.25, 0.3, 0.15, 0.09, 0.06, 0.05, 0.03, 0.02, 0.02, 0.02, 0.01]


def draw(random: np.random.Generator, n: int, alike: float) -> tuple[Floats, Floats]:
    """Reciprocal ranks of a run by people and by a machine, which are mostly too high where they differ."""
    people = random.choice(SCORES, p=CHANCES, size=n)
    machine = np.where(random.random(n) < alike, people, SCORES[random.integers(1, 4, size=n)])
    return people, machine


@pytest.mark.parametrize(
    ("n", "alike", "apart", "narrowest", "widest"),
    [
        (30, 0.9, False, 0.45, 0.6), (30, 0.6, False, 0.75, 0.9), (30, 0, False, 0.98, 1), (100, 0.9, False, 0.45, 0.6),
        (60, 0.9, True, 0.45, 0.6), (60, 0.5, True, 0.8, 0.95), (60, 0, True, 0.99, 1),
    ],
)  # fmt: skip
def test_intervals_cover_while_the_machine_alone_is_wrong_and_are_never_wider_than_those_of_people(
    n: int, alike: float, apart: bool, narrowest: float, widest: float
) -> None:
    """People judge n queries, and the machine eleven times as many. Of one run; or of two that agree on 60%."""
    random, truth = np.random.default_rng(n), 0 if apart else float(SCORES @ CHANCES)
    values = []
    for _ in range(DRAWS):
        people, machine = draw(random, 11 * n, alike)
        if apart:
            other_people, other_machine = draw(random, 11 * n, alike)
            differ = random.random(11 * n) < 0.4
            people, machine = (people - other_people) * differ, (machine - other_machine) * differ
        values.append(correct(people[:n], machine[:n], machine[n:]))
    both, alone = (np.array([getattr(entry, name) for entry in values]) for name in ("interval", "people_interval"))
    assert 0.93 <= ((both[:, 0] <= truth) & (truth <= both[:, 1])).mean() <= 0.97
    assert (np.ptp(both, axis=1) <= np.ptp(alone, axis=1) + 1e-9).all()
    assert narrowest <= np.ptp(both, axis=1).mean() / np.ptp(alone, axis=1).mean() <= widest
    assert np.mean([entry.mean for entry in values]) == pytest.approx(truth, abs=0.006)
    assert apart or np.mean([entry.machine for entry in values]) > truth + 0.015


def test_a_machine_that_is_always_right_counts_as_much_as_people() -> None:
    people = np.random.default_rng(1).choice(SCORES, size=400)
    score = correct(people[:40], people[:40], people[40:])
    assert score.weight == pytest.approx(1 / (1 + 40 / 360), abs=0.2)
    assert score.mean == pytest.approx(people.mean(), abs=0.02)
    assert score.machine == people.mean()


@pytest.mark.parametrize("further", [[], [1.0], [0.5, 0.5, 0.5]])
def test_without_more_to_say_than_people_the_machine_counts_for_nothing(further: list[float]) -> None:
    people, machine = np.array([0.0, 1.0, 0.5, 0.25]), np.full(4, 0.5)
    score = correct(people, machine, np.array(further))
    assert (score.weight, score.mean, score.interval) == (0, people.mean(), score.people_interval)
    expected = stats.t.interval(0.95, 3, people.mean(), stats.sem(people))
    assert score.interval == pytest.approx(np.clip(expected, -1, 1))  # of scores, or of differences of scores


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(3, 12), st.integers(0, 12), st.integers(2, 4))
def test_the_difference_of_two_runs_is_turned_round_with_them_and_never_undefined(
    seed: int, n: int, further: int, levels: int
) -> None:
    random = np.random.default_rng(seed)
    drawn = [random.choice(SCORES[:levels], size=(2, count)) for count in (n, n, further)]
    scored = Scored(10, ("a", "b"), *drawn)
    forth, back = scored.apart("a", "b"), scored.apart("b", "a")
    assert forth.interval is not None and back.interval is not None
    assert np.isfinite([forth.mean, *forth.interval]).all() and forth.interval.low <= forth.mean <= forth.interval.high
    assert forth.mean == pytest.approx(-back.mean)
    assert forth.interval == pytest.approx((-back.interval.high, -back.interval.low))
    assert forth.people == pytest.approx(scored.of("a").people - scored.of("b").people)


def crowd(random: np.random.Generator, right: list[float], pairs: int = 60) -> tuple[list[str], list[Vote]]:
    """The better passage of each pair, and the votes of people who are right so often."""
    truth = random.choice(["a", "b"], size=pairs).tolist()
    votes = [
        Vote(str(pair), "a", "b", str(worker), best if random.random() < share else "ab".replace(best, ""))
        for worker, share in enumerate(right)
        for pair, best in enumerate(truth)
    ]
    return truth, votes


def stand_in(votes: list[Vote], answers: list[str | None]) -> StandIn:
    return leave_each_out(votes, {(str(pair), "a", "b"): answer for pair, answer in enumerate(answers)})


def test_a_copy_of_a_good_person_may_stand_in_and_a_coin_may_not() -> None:
    passed, rejected = 0, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        _truth, votes = crowd(random, [0.9, 0.85, 0.85, 0.8])
        passed += bool(stand_in(votes, [vote.preferred for vote in votes if vote.worker == "0"]).passes)
        rejected += stand_in(votes, random.choice(["a", "b"], size=60).tolist()).passes is False
    assert (passed, rejected) == (20, 20)


def test_the_test_is_that_of_its_authors() -> None:
    """Against their definition, taken literally."""
    random = np.random.default_rng(3)
    _truth, votes = crowd(random, [0.9, 0.8, 0.7, 0.6], 80)
    votes = [vote for vote in votes if random.random() < 0.8] + [Vote("x", "b", "a", "0", None)]
    machine: dict[tuple[str, str, str], str | None] = {
        (str(pair), "a", "b"): random.choice(["a", "b", None]) for pair in range(70)
    }
    test = leave_each_out(votes, machine, epsilon=0.2)
    ps = []
    for person in test.people:
        gaps, machine_wins = [], []
        for pair, answer in machine.items():
            by_worker = {vote.worker: vote.preferred for vote in votes if vote.query == pair[0]}
            if person.worker not in by_worker or len(by_worker) < 2:
                continue
            others = [said_ for worker, said_ in by_worker.items() if worker != person.worker]
            theirs, its = ([mine == other for other in others] for mine in (by_worker[person.worker], answer))
            better, worse = np.mean(its) >= np.mean(theirs), np.mean(theirs) >= np.mean(its)
            machine_wins.append(better)
            gaps.append(float(worse) - float(better))
        assert person.pairs == len(gaps) and person.machine == pytest.approx(np.mean(machine_wins))
        ps.append(stats.ttest_1samp(gaps, 0.2, alternative="less").pvalue)
        assert person.p == pytest.approx(ps[-1])
    order, corrected = np.argsort(ps), sum(1 / rank for rank in range(1, 5))
    rejected = [rank for rank, at in enumerate(order, 1) if ps[at] <= rank * 0.05 / (4 * corrected)]
    stands = {int(at) for at in order[: max(rejected, default=0)]}
    assert {at for at, person in enumerate(test.people) if person.stands} == stands
    assert test.winning == len(stands) / 4
    assert test.advantage == pytest.approx(np.mean([person.machine for person in test.people]))


def test_with_two_people_or_few_pairs_nothing_is_said() -> None:
    random = np.random.default_rng(1)
    truth, votes = crowd(random, [1, 1])
    two = stand_in(votes, list(truth))
    assert (len(two.people), two.few, two.passes) == (2, 0, None)
    assert two.people[0] == LeftOut("0", 60, 1.0, 1.0, 0.0, stands=True)
    truth, votes = crowd(random, [1, 1, 1], 29)
    few = stand_in(votes, list(truth))
    assert (few.people, few.few, few.passes, few.winning) == ((), 3, None, None)


def test_favour_is_found_where_it_is_and_not_where_the_machine_is_too_kind_to_all() -> None:
    random, favours = np.random.default_rng(5), []
    people = random.choice(SCORES, size=(6, 60))
    kind = np.clip(people + random.normal(0.1, 0.1, size=people.shape), 0, 1)
    for gift in (0, 0.2):
        machine = kind + np.array([gift, gift, 0, 0, 0, 0])[:, None]
        favours.append(favour(Scored(10, tuple("abcdef"), people, machine, np.zeros((6, 0))), {"a", "b"}))
    none, much = favours
    assert none is not None and much is not None
    assert (much.own, much.others, much.queries) == (2, 4, 60)
    assert none.interval.low < 0 < none.interval.high and none.p > 0.05
    assert much.mean == pytest.approx(none.mean + 0.2) and much.interval.low > 0.1 and much.p < 1e-6
    assert favour(Scored(10, ("a",), people[:1], people[:1], people[:1]), {"a"}) is None


def test_the_command_tells_all_of_it(write: Write) -> None:
    """People judged q0 to q39 all alike, and q40 not wholly; the machine answered all, and of q0 the other way."""
    pairs = [f"q{query} {a} {b}" for query in range(60) for a, b in combinations("abc", 2)]
    judged = [f"{pair} {pair.split()[1]} w{worker}" for pair in pairs[:120] for worker in range(3)]
    human = write("judgments.tsv", "\n".join([*judged, f"{pairs[120]} a w1", ""]))
    answers = [f"{pair} {pair.split()[2 if pair.startswith('q0 ') else 1]}" for pair in pairs]
    machine = write("answers.txt", "\n".join([*answers, ""]))
    pools = write("pairs.tsv", "\n".join([*pairs, ""]))
    good = write("good.txt", "".join(f"q{query} Q0 {'ab'[query % 2]} 1 2 t\n" for query in range(60)))
    bad = write("bad.txt", "".join(f"q{query} Q0 {'bca'[query % 3]} 1 2 t\n" for query in range(60)))
    arguments = ["machines", "--human", human, "--machine", machine, "--pools", pools, "--own", bad, good]
    printed = json_of(*arguments, "--json")
    assert (printed["scores"]["queries"], printed["scores"]["further"]) == (40, 20)
    assert printed["scores"]["runs"]["good"]["people"] == 0.5 and set(printed["scores"]["runs"]) == {"good", "bad"}
    assert [(row["a"], row["b"]) for row in printed["scores"]["differences"]] == [("good", "bad")]
    assert (
        printed["stand_in"]["passes"] is True
        and [person["pairs"] for person in printed["stand_in"]["people"]] == [120] * 3
    )
    assert (printed["favour"]["own"], printed["favour"]["others"], printed["favour"]["queries"]) == (1, 1, 40)
    text = run_cli(*arguments).out
    assert "40 queries that people and the machine answered, and 20 that only the machine did." in text
    assert "passed. The machine may stand in for 100% of 3 people" in text
    assert "more to 1 run of its own model than to 1 other " in text
    nobody = write("nobody.txt", "q0 a b a\n")
    text = run_cli("machines", "--human", nobody, "--machine", machine, good).out
    assert "1 query that people and the machine answered, and 59" in text and "test: not possible." in text
    run_cli(*arguments, "--epsilon", "1", code=2)
