"""How far workers can be relied on: against crowd-kit's numbers, and what must hold whatever they judged."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from evaluation.statistics.reliability import MODELS, UNKNOWN, Cast, Model, Weight, reliabilities, weigh, weights

from .command import json_of, run_cli

# How often each of them is right, in truth; one always takes the left side.
TRUTH = {f"w{at:02}": share for at, share in enumerate([0.95, 0.9, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.5])}
LEFT = "left"
# By crowd-kit 1.4.2 on `crowd()`, each item once more with its labels exchanged: OneCoinDawidSkene(tol=1e-12).
CROWD_KITS_SKILLS = {
    "left": 0.5288887, "w00": 0.9999991, "w01": 0.9141557, "w02": 0.8968162, "w03": 0.8352769, "w04": 0.8040237,
    "w05": 0.6593801, "w06": 0.7482031, "w07": 0.5533558, "w08": 0.4750813, "w09": 0.5536224,
}  # fmt: skip
# The same crowd without the sides, workers in order: MACE(n_restarts=30, n_iter=1000), P(no guess).
CROWD_KITS_MACE = {
    "left": 0.064247, "w00": 0.988601, "w01": 0.835982, "w02": 0.811565, "w03": 0.666825, "w04": 0.598146,
    "w05": 0.335595, "w06": 0.502328, "w07": 0.13331, "w08": 0.009723, "w09": 0.121529,
}  # fmt: skip


@cache
def crowd() -> tuple[Cast, ...]:
    """400 pairs, three judgments each."""
    chance = random.Random(5)
    names = sorted([*TRUTH, LEFT])
    cast = []
    for number in range(400):
        better, worse = ("p1", "p2") if chance.random() < 0.5 else ("p2", "p1")
        for worker in chance.sample(names, 3):
            left, right = ("p1", "p2") if chance.random() < 0.5 else ("p2", "p1")
            preferred = left
            if worker != LEFT:
                preferred = better if chance.random() < TRUTH[worker] else worse
            cast.append(Cast(f"q{number}", left, right, worker, preferred))
    return tuple(cast)


def test_without_a_belief_it_is_crowd_kits_dawid_skene() -> None:
    correct = {worker: worker_row.correct for worker, worker_row in reliabilities(crowd(), believed=(0, 0)).items()}
    assert correct == pytest.approx(CROWD_KITS_SKILLS, abs=1e-3)


def test_mace_is_crowd_kits_but_for_how_it_is_told() -> None:
    sideless = [cast._replace(a="p1", b="p2") for cast in crowd()]
    for worker, worker_row in reliabilities(sideless).items():
        # What is told is a mean with MACE's own prior in it; crowd-kit tells the share of exponentials of digamma.
        share = (worker_row.unguessed * (worker_row.pairs + 1) - 0.5) / worker_row.pairs  # type: ignore[operator]
        assert share == pytest.approx(CROWD_KITS_MACE[worker], abs=1e-3), worker


def test_who_always_takes_one_side_guesses_and_sides_are_needed_to_see_it() -> None:
    reliable = reliabilities(crowd())
    assert reliable[LEFT].unguessed == min(worker_row.unguessed for worker_row in reliable.values())  # type: ignore[type-var]
    assert reliable[LEFT].unguessed < 0.01  # type: ignore[operator]
    assert reliable["w00"].unguessed > 0.95  # type: ignore[operator]


def test_careful_workers_come_out_near_what_they_are() -> None:
    reliable = reliabilities(crowd())
    for worker, truth in TRUTH.items():
        assert reliable[worker].correct == pytest.approx(truth, abs=0.12), worker


def test_neither_order_nor_which_passage_is_called_a_matters() -> None:
    shuffled = list(crowd())
    random.Random(1).shuffle(shuffled)
    assert reliabilities(shuffled) == reliabilities(crowd())
    turned = {"p1": "x", "p2": "b"}  # so the second passage becomes the first in canonical order
    renamed = [
        Cast(cast.query, turned[cast.a], turned[cast.b], cast.worker, turned[cast.preferred]) for cast in crowd()
    ]
    for worker, worker_row in reliabilities(renamed).items():
        assert worker_row == pytest.approx(reliabilities(crowd())[worker], abs=1e-5)


def test_agreement_is_counted_by_hand_and_the_last_judgment_counts() -> None:
    cast = [
        *(Cast("q", "a", "b", worker, preferred) for worker, preferred in zip("xyzx", "bbaa", strict=True)),
        Cast("r", "b", "a", "x", "b"), Cast("r", "a", "b", "y", "a"), Cast("alone", "a", "b", "w", "a"),
    ]  # fmt: skip
    reliable = reliabilities(cast)
    # On q: x a, y b, z a; on r: x b, y a.
    assert [reliable[worker][:2] for worker in "xyz"] == [(2, pytest.approx(1 / 3)), (2, 0), (1, 0.5)]
    assert reliable["w"] == (0, None, None, None)


def test_without_pairs_that_several_judged_nothing_is_known() -> None:
    assert reliabilities([]) == {}
    assert reliabilities([Cast("q", "a", "b", "x", "a")]) == {"x": (0, None, None, None)}


# --- the command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Lines of judgments; the last without a worker."""
    path = tmp_path / "judgments.txt"
    path.write_text("q a b a ann\nq a b b bob\nr c d c ann\nr c d c bob\ns x y x\n")
    return path


def test_the_command_tells_the_same(file: Path) -> None:
    printed = run_cli("workers", "--judgments", file, "--json")
    assert printed.err == "1 judgment without a worker left out.\n"
    content = json.loads(printed.out)
    assert (content["judgments"], content["left_out"]) == (4, {"without a worker": 1})
    cast = [
        Cast("q", "a", "b", "ann", "a"), Cast("q", "a", "b", "bob", "b"), Cast("r", "c", "d", "ann", "c"),
        Cast("r", "c", "d", "bob", "c"),
    ]  # fmt: skip
    assert content["workers"] == {worker: worker_row._asdict() for worker, worker_row in reliabilities(cast).items()}
    rows = [line.split() for line in run_cli("workers", "--judgments", file).out.splitlines()]
    assert rows[0] == ["worker", "pairs", "agreement", "correct", "unguessed"]
    assert [row[:3] for row in rows[1:]] == [["ann", "2", "0.500"], ["bob", "2", "0.500"]]


def test_ties_are_left_out_and_counted(file: Path) -> None:
    with file.open("a") as lines:
        lines.write("q a b = cy\n")
    printed = run_cli("workers", "--judgments", file, "--json")
    assert json.loads(printed.out)["left_out"] == {"without a preference": 1, "without a worker": 1}
    assert "cy" not in json.loads(printed.out)["workers"]
    file.write_text("q a a = cy\n")
    assert "line 1: passage a against itself" in run_cli("workers", "--judgments", file, code=1).err


def test_a_campaigns_own_file_is_read_without_what_does_not_count(tmp_path: Path) -> None:
    head = "judgment worker hit assignment position kind query a b left preferred shown_at made_at seconds verdict accepted superseded"  # noqa: E501
    rows = [
        "1 w-1 1 1 1 pair q a b b a T T 1.0 accepted true false",
        "2 w-2 2 2 1 pair q a b a a T T 1.0 accepted true false",
        "3 w-2 2 2 2 test t a b a a T T 1.0 accepted false false",
        "4 w-2 2 2 3 pair r c d c d T T 1.0 accepted false true",
        "5 w-3 3 3 1 pair q a b a b T T 1.0 excluded false false",
    ]
    path = tmp_path / "judgments.tsv"
    lines = (line.replace(" ", "\t").replace("T", "2026-11-01T10:00:00+00:00") for line in [head, *rows])
    path.write_text("".join(f"{line}\n" for line in lines))
    printed = json_of("workers", "--judgments", path, "--json")
    assert {worker: worker_row["agreement"] for worker, worker_row in printed["workers"].items()} == {
        "w-1": 1.0,
        "w-2": 1.0,
    }
    assert printed["left_out"] == {"of test pairs": 1, "that their worker changed later": 1, "that do not count": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q a b a\n", "no judgment of a known worker (1 without a worker left out)."),
        ("q a b c ann\n", "line 1"),
        ("q a a a ann\n", "line 1"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(content)
    assert message in run_cli("workers", "--judgments", path, code=1).err


def truth_of(cast: Iterable[Cast]) -> dict[tuple[str, str, str], str]:
    """Which passage is the better one of each pair of `sided_crowd`: its query says so."""
    return {(vote.query, "p1", "p2"): vote.query[:2] for vote in cast}


def sided_crowd() -> list[Cast]:
    """300 pairs, each judged by two careful people and by three who always take the left side."""
    chance, cast = random.Random(1), []
    for number in range(300):
        better, worse = chance.sample(["p1", "p2"], 2)
        for at in range(5):
            left, right = chance.sample(["p1", "p2"], 2)
            preferred = left if at > 1 else better if chance.random() < 0.9 else worse
            cast.append(Cast(f"{better} {number}", left, right, f"{'left' if at > 1 else 'careful'}{at}", preferred))
    return cast


@pytest.mark.parametrize("model", MODELS)
def test_weights_find_the_better_passage_more_often_than_majorities_do(model: Model) -> None:
    cast = sided_crowd()
    truth, by = truth_of(cast), weights(cast, model)
    heavier = weigh(cast, by)
    votes = Counter((vote.query, vote.preferred) for vote in cast)
    majorities = {pair: max("p1", "p2", key=lambda passage, query=pair[0]: votes[query, passage]) for pair in heavier}
    right = sum(truth[pair] == passage for pair, passage in heavier.items())
    by_majority = sum(truth[pair] == passage for pair, passage in majorities.items())
    assert len(heavier) > 200
    assert right > 1.1 * by_majority
    assert min(min(by[name]) for name in by if name.startswith("careful")) > 1
    assert max(max(by[name]) for name in by if name.startswith("left")) < 0.3


def test_by_mace_a_guess_on_the_usual_side_says_less_than_one_on_the_other() -> None:
    by = weights(sided_crowd(), "mace")
    for name in ("left2", "left3", "left4"):
        assert by[name].left < by[name].right


def test_pairs_on_which_all_agree_or_that_weigh_the_same_are_left_out() -> None:
    by = {UNKNOWN: Weight(0.5, 0.5), "a": Weight(2.0, 1.0), "b": Weight(1.0, 2.0)}
    cast = [
        Cast("agreed", "x", "y", "a", "x"), Cast("agreed", "y", "x", "b", "x"),
        Cast("even", "x", "y", "a", "y"), Cast("even", "x", "y", "b", "x"),
        Cast("side", "x", "y", "a", "x"), Cast("side", "y", "x", "b", "y"),
        Cast("unknown", "y", "x", "", "y"), Cast("unknown", "x", "y", "someone", "y"),
        Cast("unknown", "x", "y", "a", "x"),
    ]  # fmt: skip
    assert weigh(cast, by) == {("side", "x", "y"): "x", ("unknown", "x", "y"): "x"}


@pytest.mark.parametrize("model", MODELS)
def test_weights_do_not_depend_on_order_and_unknown_workers_tell_nothing(model: Model) -> None:
    cast = sided_crowd()
    by = weights(cast, model)
    shuffled = [*random.Random(3).sample(cast, len(cast)), Cast("p1 0", "p1", "p2", UNKNOWN, "p2")]
    assert weights(shuffled, model) == by
    alone = weights([Cast("q", "x", "y", "w", "x")], model)
    assert alone["w"] == alone[UNKNOWN] == by[UNKNOWN]
    assert alone[UNKNOWN].left == alone[UNKNOWN].right > 0


def test_the_command_prints_judgments_as_they_count(tmp_path: Path) -> None:
    cast = sided_crowd()
    path = tmp_path / "judged.txt"
    path.write_text(
        "".join(f"{vote.query.replace(' ', '-')} {vote.a} {vote.b} {vote.preferred} {vote.worker}\n" for vote in cast)
    )
    out, err = run_cli("workers", "--judgments", path, "--weigh", "mace")
    lines = [line.split() for line in out.splitlines()]
    heavier = weigh(cast, weights(cast, "mace"))
    assert lines == sorted(lines)
    assert len(lines) == len(cast)
    for query, a, b, preferred in lines:
        pair = (query.replace("-", " "), a, b)
        assert preferred == heavier.get(pair, preferred)
    assert {tuple(line[:3]) for line in lines} == {(vote.query.replace(" ", "-"), "p1", "p2") for vote in cast}
    assert f"{len(heavier)} pairs with judgments that disagree." in err
