"""A machine's answers beside people's judgments."""

import json
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation.errors import BadInput
from evaluation.files.answers import Answer, read_answers
from evaluation.files.artifact import RunArtifact
from evaluation.files.preferences import Preference, read_preferences
from evaluation.statistics.machines import (
    Beside,
    compare_orders,
    count_beside,
    first_preferred,
    longer_preferred,
    settle,
    wilson_interval,
    winners_of,
)
from evaluation.statistics.ranks import Board
from tests.evaluation.conftest import Write

from .command import json_of, run_cli


def answered(*lines: str) -> list[Answer]:
    return [Answer(*line.split()) for line in lines]


def test_a_machine_has_one_answer_for_a_pair_in_whichever_order_it_was_asked() -> None:
    answers = answered(
        *("q a b a", "q b a a"),  # the same in both orders
        *("q a c a", "q c a c"),  # whatever is first
        *("q a d !", "q d a d"),  # one answer
        *("q b c !", "q c b !"),  # none
        *("q b d =", "q d b d"),  # a tie that differs from an answer
        "q c d =",
    )
    assert settle(answers) == {
        ("q", "a", "b"): "a",
        ("q", "a", "c"): None,
        ("q", "a", "d"): "d",
        ("q", "b", "d"): None,
        ("q", "c", "d"): None,
    }


def test_agreement_is_counted_over_peoples_judgments_and_theirs_may_be_ties(write: Write) -> None:
    people = write("people.txt", "q a b a\nq b a b\nq a b =\nq a c c\nq a d a\nq b c b\nr a b a\n")
    machine = write("machine.txt", "q b a a\nq a c =\nq a d !\nq b c b\nr a b b\nr x y x\n")
    out, err = run_cli("agreement", "--human", people, "--machine", machine, "--json")
    assert json.loads(out) == {"pairs": 7, "decisive": 4, "agree": 2, "ties": 1, "missing": 1}
    assert err == "The machine was also asked about 1 pair that people did not judge.\n"
    text = run_cli("agreement", "--human", people, "--machine", machine).out
    assert "agrees with people in 50.0% of the judgments (95% interval by Wilson: 15.0% to 85.0%)." in text
    assert "The machine preferred the passage that it was shown first in 50.0% of 4 answers (p = 1 in" in text


def test_lengths_and_the_order_of_runs_are_told_where_they_are_asked_for(write: Write) -> None:
    people = write("people.txt", "q a b a\nq a c c\nq b c c\nr a b a\n")
    machine = write("machine.txt", "q a b b\nq a c a\nq b c b\nr a b a\n")
    passages = write("passages.tsv", "a\tshort\nb\tmuch longer\nc\tas long as b\n")
    path = write("one.txt", "q Q0 c 1 2 t\nr Q0 a 1 2 t\n")
    two = write("two.txt", "q Q0 b 1 2 t\nq Q0 c 2 1 t\nr Q0 b 1 2 t\n")
    arguments = ["agreement", "--human", people, "--machine", machine, "--passages", passages, path, two]
    printed = json_of(*arguments, "--json")
    # a against b twice and a against c: the machine took the longer once, people once. b and c differ by a character.
    assert printed["longer"] == {
        "judgments": 4, "machine": 1, "people": 2, "machine_share": 0.25, "people_share": 0.5
    }  # fmt: skip
    # People have c and a. The machine has b and a: two's first passages are worse for people, better for it in q.
    assert printed["orders"]["runs"] == {
        "one": {"people": 1.0, "machine": 0.5},
        "two": {"people": 0.25, "machine": 0.5},
    }
    assert (printed["orders"]["queries"], printed["orders"]["tau"], printed["orders"]["first"]) == (
        2,
        None,
        ["one", "two"],
    )
    assert "by the machine in 25.0% and by people in 50.0% of 4 judgments" in run_cli(*arguments).out
    nobody = write("nobody.txt", "q a b !\n")
    out = run_cli("agreement", "--human", people, "--machine", nobody, path).out
    assert "No query has a winner by people and by the machine" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q a b c", "'c' where a, b, = (a tie) or ! (no answer) is needed."),
        ("q a a =", "passage a against itself."),
        ("q = b b", "a passage called =, which would be taken for an outcome."),
        ("q a !  a", "a passage called !, which would be taken for an outcome."),
        ("q a b", "3 columns where answers have 4 (query a b preferred)."),
    ],
)
def test_bad_answers_are_refused_by_line(write: Write, line: str, message: str) -> None:
    path = write("machine.txt", f"q a b =\n{line}\n")
    with pytest.raises(BadInput) as refused:
        list(read_answers(path, name="machine.txt"))
    assert str(refused.value) == f"machine.txt, line 2: {message}"


def test_people_have_ties_only_where_they_are_asked_for(write: Write) -> None:
    path = write("people.txt", "q a b =\n")
    assert list(read_preferences(path, ties=True)) == [Preference("q", "a", "b", None)]
    with pytest.raises(BadInput, match="= is preferred, which is neither a nor b"):
        list(read_preferences(path))


def test_the_machines_winners_need_no_whole_pool_and_nothing_from_outside_of_it() -> None:
    machine = settle(answered("q a b b", "q b x x", "r a b a", "s a b !"))
    assert winners_of({"q": "abc", "s": "ab"}, machine) == (("q", "b"),)


def test_a_pool_of_one_is_won_by_no_machine_since_it_was_not_asked() -> None:
    assert winners_of({"q": ("a",), "r": ("b", "c")}, {}) == ()
    assert winners_of({"q": ("a",), "r": ("b", "c")}, settle(answered("r b c c"))) == (("r", "c"),)


def test_wilsons_interval_is_its_formula() -> None:
    z = stats.norm.ppf(0.975)
    middle, half = (0.7 + z * z / 20) / (1 + z * z / 10), (0.021 + z * z / 400) ** 0.5 * z / (1 + z * z / 10)
    assert wilson_interval(7, 10) == pytest.approx((middle - half, middle + half))
    assert wilson_interval(0, 0) is None


PAIRS = st.tuples(st.sampled_from("qr"), st.sampled_from(["ab", "ba", "ac", "ca", "bc"]))
PEOPLE = st.lists(st.tuples(PAIRS, st.sampled_from([0, 1, None])), min_size=1, max_size=25)
ANSWERS = st.lists(st.tuples(PAIRS, st.sampled_from([0, 1, "=", "!"])), max_size=25)


@given(PEOPLE, ANSWERS, st.booleans(), st.booleans())
def test_which_passage_is_called_a_matters_for_nothing_but_the_side(
    judged: list[tuple[tuple[str, str], int | None]],
    by_machine: list[tuple[tuple[str, str], int | str]],
    turn_people: bool,
    turn_machine: bool,
) -> None:
    people = [Preference(query, *pair, None if which is None else pair[which]) for (query, pair), which in judged]
    answers = [Answer(query, *pair, pair[s] if isinstance(s, int) else s) for (query, pair), s in by_machine]
    turned_people = [Preference(query, b, a, won) for query, a, b, won in people] if turn_people else people
    turned = [Answer(query, b, a, won) for query, a, b, won in answers] if turn_machine else answers
    lengths = {"a": 1, "b": 2, "c": 2}
    machine, beside = settle(answers), count_beside(people, settle(answers))
    assert settle(turned) == machine
    assert count_beside(turned_people, machine) == beside
    assert longer_preferred(turned_people, machine, lengths) == longer_preferred(people, machine, lengths)
    ties_of_people = beside.pairs - beside.decisive - beside.ties - beside.missing
    assert 0 <= beside.agree <= beside.decisive
    assert 0 <= ties_of_people <= sum(preference.preferred is None for preference in people)
    was, now = first_preferred(answers), first_preferred(turned)
    assert (now.left, now.right) == ((was.right, was.left) if turn_machine else (was.left, was.right))


def test_people_s_judgments_agree_with_themselves_wherever_people_did_not_differ(data: Path) -> None:
    path = str(data / "preferences.txt.gz")
    runs = sorted(map(str, (data / "runs").glob("*.gz")))[:4]
    printed = json_of("agreement", "--human", path, "--machine", path, "--json", *runs)
    sides: dict[tuple[str, frozenset[str]], set[str | None]] = {}
    people = list(read_preferences(path))
    for query, a, b, preferred in people:
        sides.setdefault((query, frozenset((a, b))), set()).add(preferred)
    ties = sum(len(sides[query, frozenset((a, b))]) > 1 for query, a, b, _ in people)
    assert ties > 1000
    decisive = len(people) - ties
    orders = printed.pop("orders")
    assert printed == Beside(len(people), decisive, decisive, ties, 0)._asdict()
    assert len(orders["runs"]) == 4
    assert orders["queries"] == len({query for query, *_ in people})
    assert -1 <= orders["tau"] <= 1


def test_without_a_common_query_there_is_no_order() -> None:
    assert compare_orders(Board({}, 10, "score"), [("q", "a")], [("r", "a")]) is None


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_tau_among_the_first_ten_is_that_of_its_definition(data: st.DataObject) -> None:
    """14 runs over 6 queries, which rank four passages; people and the machine name one best each."""
    queries, names = [f"q{number}" for number in range(6)], "abcd"
    order = st.permutations(names)
    ranked = {f"r{number:02}": [data.draw(order) for _ in queries] for number in range(14)}
    starts, hits = np.arange(0, 4 * len(queries) + 1, 4), np.full(len(queries), 4)
    runs = {}
    for run, lists in ranked.items():
        flat = np.array([names.index(passage) for passages in lists for passage in passages], dtype=np.int32)
        runs[run] = RunArtifact(4, tuple(queries), pa.array(list(names)), starts, flat, flat, hits)
    best = [[(query, data.draw(st.sampled_from(names))) for query in queries] for _ in range(2)]
    agreement = compare_orders(Board(runs, 10, "score"), *best)
    assert agreement is not None
    means = [
        {
            run: sum(
                Fraction(1, passages.index(passage) + 1) for passages, (_, passage) in zip(lists, side, strict=True)
            )
            for run, lists in ranked.items()
        }
        for side in best
    ]
    by_people, by_machine = means
    first = [run for run in ranked if sum(other > by_people[run] for other in by_people.values()) < 10]

    def tau(runs: Iterable[str]) -> float | None:
        both, first, other = 0, 0, 0
        for a, b in combinations(runs, 2):
            x, y = by_people[a] - by_people[b], by_machine[a] - by_machine[b]
            both += (x * y > 0) - (x * y < 0)
            first, other = first + (x != 0), other + (y != 0)
        return both / math.sqrt(first * other) if first and other else None

    assert list(agreement.first) == first and len(first) >= 10
    assert agreement.tau == pytest.approx(tau(ranked)) and agreement.tau_first == pytest.approx(tau(first))
