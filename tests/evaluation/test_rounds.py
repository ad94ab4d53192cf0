"""Rounds: pools too deep for a tournament, judged a few partners at a time."""

import gzip
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.errors import UnknownPassage
from evaluation.files.preferences import Preference, read_pairs
from evaluation.judging.rounds import (
    PRESETS,
    Request,
    Settings,
    Status,
    count_full_pairs,
    draw,
    estimate_pairs,
    replay,
    replay_all,
)
from evaluation.judging.tournament import Judged, Tied, most_wins

from .command import json_of, run_cli

SIZES = st.integers(0, 40)
SETTINGS = st.builds(Settings, st.integers(1, 8), st.integers(1, 10), st.integers(0, 3))
Judge = Callable[[str, str], Preference]


def members(size: int) -> list[str]:
    return [f"p{number}" for number in range(size)]


def beats(better: str, worse: str) -> Preference:
    return Preference("q", better, worse, better)


def tied(a: str, b: str) -> Preference:
    return Preference("q", a, b, None)


def judge_by(order: Iterable[str], error: float = 0, ties: float = 0, seed: int = 0) -> Judge:
    """Prefers what comes earlier in the order, and is wrong, or undecided, now and then."""
    place = {passage: at for at, passage in enumerate(order)}
    chance = random.Random(seed)

    def judge(a: str, b: str) -> Preference:
        if chance.random() < ties:
            return tied(a, b)
        better, worse = (a, b) if place[a] < place[b] else (b, a)
        return beats(worse, better) if chance.random() < error else beats(better, worse)

    return judge


def play(
    pool: list[str], judge: Judge, settings: Settings, query: str = "q"
) -> tuple[list[list[Preference]], list[Status]]:
    """All rounds: the judgments of each, and where they stood before it, and at the end."""
    rounds: list[list[Preference]] = []
    stood = []
    while True:
        stood.append(replay(query, pool, [status for played in rounds for status in played], settings))
        if stood[-1].is_done:
            return rounds, stood
        rounds.append([judge(a, b) for a, b in stood[-1].requests])
        assert len(rounds) <= 60


def pairs_of(requests: Iterable[Request]) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in requests}


# --- drawing


@given(st.integers(2, 40), st.integers(1, 9), st.integers(0, 5))
def test_all_have_equally_many_partners_and_stand_on_both_sides(size: int, partners: int, seed: int) -> None:
    drawn = draw("q", 1, members(size), partners, seed)
    assert len(pairs_of(drawn)) == len(drawn)
    met = Counter(passage for pair in drawn for passage in pair)
    expected = min(partners, size - 1)
    assert len(met) == size and min(met.values()) == expected
    assert sum(met.values()) - size * expected == size * expected % 2
    left = Counter(a for a, _ in drawn)
    assert all(abs(2 * left[passage] - met[passage]) <= 2 for passage in met)


def test_partners_follow_from_seed_query_round_and_passages_alone() -> None:
    pool = members(20)
    first = draw("q", 1, pool, 5, 0)
    assert first == draw("q", 1, pool[::-1], 5, 0)
    others = (
        draw("q", 1, pool, 5, 1),
        draw("r", 1, pool, 5, 0),
        draw("q", 2, pool, 5, 0),
        draw("q", 1, pool[1:], 5, 0),
    )
    assert all(pairs_of(first) != pairs_of(other) for other in others)


# --- rounds


@given(SIZES, SETTINGS, st.integers(0, 9))
def test_who_is_best_for_all_wins_for_much_fewer_pairs(size: int, settings: Settings, seed: int) -> None:
    pool = members(size)
    order = random.Random(seed).sample(pool, size)
    rounds, stood = play(pool, judge_by(order), settings)
    last = stood[-1]
    assert last.winners == frozenset(order[:1])
    requests = [pair for before in stood for pair in before.requests]
    assert (
        len(pairs_of(requests)) == len(requests) == last.pairs_asked <= count_full_pairs(size)
    )  # nothing is asked twice
    assert all(earlier >= later for earlier, later in zip(last.sizes, last.sizes[1:], strict=False))
    if settings.is_full(size):
        assert last.pairs_asked == count_full_pairs(size) and len(rounds) == (size > 1)


@given(SIZES, SETTINGS, st.floats(0, 0.5), st.floats(0, 1), st.integers(0, 9))
def test_rounds_end_whatever_is_judged(size: int, settings: Settings, error: float, ties: float, seed: int) -> None:
    pool = members(size)
    rounds, stood = play(pool, judge_by(pool, error, ties, seed), settings)
    last = stood[-1]
    assert last.winners <= frozenset(last.playing) and bool(last.winners) == bool(pool)
    judgments = [status for played in rounds for status in played]
    if last.is_final:
        left = frozenset(last.playing)
        outcomes = [
            Tied(row.a, row.b)
            if row.preferred is None
            else Judged(row.preferred, ({row.a, row.b} - {row.preferred}).pop())
            for row in judgments
            if left.issuperset((row.a, row.b))
        ]
        assert last.winners == most_wins(left, outcomes)


@given(st.integers(10, 30), st.floats(0, 0.5), st.floats(0, 0.5), st.integers(0, 9))
def test_the_order_of_judgments_does_not_matter_while_no_pair_repeats(
    size: int, error: float, ties: float, seed: int
) -> None:
    settings, pool = Settings(3, 4, seed), members(size)
    rounds, stood = play(pool, judge_by(pool, error, ties, seed), settings)
    judgments = [status for played in rounds for status in played]
    random.Random(seed).shuffle(judgments)
    assert replay("q", pool[::-1], judgments, settings) == stood[-1]


@given(st.integers(10, 30), st.integers(0, 9), st.integers(1, 99))
def test_late_and_doubled_work_opens_no_closed_round(size: int, seed: int, more: int) -> None:
    settings, pool = Settings(3, 4, seed), members(size)
    rounds, stood = play(pool, judge_by(pool, 0.2, 0.2, seed), settings)
    chance = random.Random(more)
    for at, before in enumerate(stood):
        judgments = [status for played in rounds[:at] for status in played]
        closed = pairs_of(pair for earlier in stood[:at] for pair in earlier.requests)
        late: list[Preference] = []
        for pair in sorted(sorted(pair) for pair in closed):
            late += [beats(*chance.sample(pair, 2)) for _ in range(chance.randrange(3))]
        after = replay("q", pool, judgments + late, settings)
        assert (after.playing, after.requests, after.sizes) == (before.playing, before.requests, before.sizes)


@given(st.integers(10, 30), st.integers(0, 9))
def test_rounds_that_have_begun_stay_whatever_is_taken_back_or_judged_otherwise(size: int, seed: int) -> None:
    settings, pool = Settings(3, 4, seed), members(size)
    rounds, stood = play(pool, judge_by(pool, 0.2, 0.2, seed), settings)
    for at, before in enumerate(stood):
        judgments = [status for played in rounds[:at] for status in played]
        assert before.begun[0] == tuple(sorted(pool))
        assert before.is_done or before.begun[-1] == before.playing
        assert replay("q", pool, judgments, settings, before.begun) == before
        otherwise = judge_by(pool[::-1])
        changed = [otherwise(status.a, status.b) for played in rounds[: max(at - 1, 0)] for status in played]
        current = [status for played in rounds[max(at - 1, 0) : at] for status in played]
        after = replay("q", pool, changed + current, settings, before.begun)
        assert after.begun[: len(before.begun)] == before.begun
        assert before.is_done or (after.begun, after.requests) == (before.begun, before.requests)
    taken_back = replay("q", pool, [], settings, stood[-1].begun)
    assert taken_back.begun == stood[-1].begun and not taken_back.is_done


def test_a_round_of_strangers_is_refused() -> None:
    with pytest.raises(UnknownPassage):
        replay("q", members(9), [], Settings(), [["p1", "stranger"]])


def test_everybody_equal_goes_to_the_final_and_says_so() -> None:
    pool = members(20)
    _, stood = play(pool, tied, Settings(3, 4))
    last = stood[-1]
    assert last.winners == frozenset(pool) and last.sizes == (20, 20)
    assert last.is_final and last.unsettled and last.pairs_asked == count_full_pairs(20)


def test_several_judgments_of_a_pair_share_its_weight() -> None:
    pool, settings = members(6), Settings(2, 2)
    requests = replay("q", pool, [], settings).requests
    passage = requests[0][0]
    first, second = (pair[0] if pair[1] == passage else pair[1] for pair in requests if passage in pair)
    others = [tied(*pair) for pair in requests if passage not in pair]
    # It beats one partner, and loses to the other in two judgments of three: it stays, and so does the other.
    lost = [beats(passage, second), beats(second, passage), beats(second, passage)]
    for order in ([beats(passage, first), *lost, *others], [*lost, *others, beats(passage, first)]):
        after = replay("q", pool, order, settings)
        assert after.playing == tuple(sorted((passage, second))) and after.sizes == (6, 2)
        assert after.winners == {second}  # their final has the three judgments
    # Having lost to both it is out, however often the rest is judged.
    after = replay("q", pool, [beats(first, passage), *lost, *others, *others], settings)
    assert passage not in after.playing


def test_what_was_judged_without_being_asked_for_is_not_asked_for_again() -> None:
    pool, settings = members(30), Settings()
    requests = replay("q", pool, [], settings).requests
    preferences = [beats(*pair) for pair in requests[:40]]
    assert replay("q", pool, preferences, settings).requests == requests[40:]
    everything = [beats(a, b) for at, a in enumerate(pool) for b in pool[at + 1 :]]
    done = replay("q", pool, everything, settings)
    assert done.is_done and done.winners == {"p0"} and done.pairs_asked < len(everything) / 2


def test_judgments_of_strangers_are_refused() -> None:
    for pool in ([], ["a"], ["a", "b"]):
        with pytest.raises(UnknownPassage, match="x"):
            replay("q", pool, [beats("a" if pool else "x", "x")], Settings())
    with pytest.raises(UnknownPassage):
        replay_all({"q": ["a", "b"]}, [Preference("r", "a", "b", "a")], Settings())
    for wrong in ({"partners": 0}, {"finalists": 0}, {"seed": -1}):
        with pytest.raises(ValueError, match="from 1 on"):
            Settings(**wrong)


@pytest.mark.parametrize("design", PRESETS)
def test_the_expected_pairs_are_about_those_that_are_asked(design: str) -> None:
    settings = PRESETS[design]
    for size in (2, 9, 15, 16, 30, 100):
        pool = members(size)
        requested = []
        for seed in range(30):
            order = random.Random(seed).sample(pool, size)
            requested.append(play(pool, judge_by(order, 0.1), settings, f"q{seed}")[1][-1].pairs_asked)
        expected, rounds = estimate_pairs(size, settings)
        assert expected == pytest.approx(sum(requested) / 30, rel=0.07)
        assert (expected == count_full_pairs(size)) == settings.is_full(size) and rounds <= 5


# --- the command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool of 24, one of three, one of two and one of one."""
    monkeypatch.chdir(tmp_path)
    pools = {"q1": members(24), "q2": ["a", "b", "c"], "q3": ["x", "y"], "q4": ["z"]}
    Path("members.txt").write_text("".join(f"{query} {passage}\n" for query, pool in pools.items() for passage in pool))
    Path("judgments.txt").write_text("")
    return tmp_path


def step(name: str, *options: str) -> tuple[str, dict[str, int]]:
    """What it prints, and what it tells."""
    words = ("--pools", "members.txt", "--judgments", "judgments.txt", "--json", *options)
    output = run_cli("rounds", name, *words)
    return output.out, json.loads(output.err)


def test_round_after_round_ends_with_qrels(folder: Path) -> None:
    count = 0
    for number in range(1, 10):
        requests, printed = step("next", "--seed", "1")
        lines = requests.splitlines()
        count += len(lines)
        assert (
            printed["requests"] == len(lines) and printed["asked"] == count and printed["open"] + printed["done"] == 4
        )
        if not lines:
            break
        assert printed["round"] == number
        assert step("next", "--seed", "1")[0] == requests
        Path("requests.txt").write_text(requests)
        with Path("judgments.txt").open("a") as judgments:
            for query, a, b in read_pairs("requests.txt"):
                best = "=" if query == "q3" else min(a, b, key=lambda passage: (len(passage), passage))
                judgments.write(f"{query} {a} {b} {best}\n")
    assert (printed["open"], printed["done"]) == (0, 4) and count < count_full_pairs(24) / 2
    qrels, printed = step("result", "--seed", "1")
    assert qrels == "q1 0 p0 1\nq2 0 a 1\nq3 0 x 1\nq3 0 y 1\nq4 0 z 1\n"
    assert printed["requests"] == 0


def test_open_pools_have_no_line_and_the_rest_is_told_in_words(folder: Path) -> None:
    Path("judgments.txt").write_text("q2 a b a\nq3 y x x\n")
    output = run_cli("rounds", "result", "--pools", "members.txt", "--judgments", "judgments.txt")
    assert output.out == "q3 0 x 1\nq4 0 z 1\n"
    assert output.err == "2 of 4 pools done, with 88 pairs asked. Round 1: 86 pairs of 2 pools to judge.\n"


def test_both_bills_are_printed(folder: Path) -> None:
    assert run_cli("rounds", "bill", "--pools", "members.txt").out.startswith(
        "A tournament of each of 4 pools: 280 pairs.\nRounds: about "
    )
    bill = json_of("rounds", "bill", "--pools", "members.txt", "--partners", "5", "--json")
    assert bill["pools"] == 4 and bill["full"] == 280 > 2 * bill["expected"] and bill["rounds"] == 3


def test_an_empty_file_of_judgments_is_before_the_first_round_packed_or_not(folder: Path) -> None:
    Path("members.txt").write_bytes(b"q1 a\r\nq1 b")  # CRLF, and no last line end
    Path("judgments.txt").write_bytes(gzip.compress(b""))
    assert step("next")[1] == {"round": 1, "open": 1, "done": 0, "requests": 1, "asked": 1}
    Path("judgments.txt").write_bytes(gzip.compress(b"q1 b a =\r\n"))
    assert step("result")[0] == "q1 0 a 1\nq1 0 b 1\n"
    Path("members.txt").write_text("q1 a")
    Path("judgments.txt").write_text("")
    assert step("next")[0] == "" and step("result")[0] == "q1 0 a 1\n"


def test_all_steps_take_the_same_options(folder: Path) -> None:
    words = ["--pools", "members.txt", "--partners", "5", "--finalists", "9", "--seed", "1"]
    assert "in about 3 rounds" in run_cli("rounds", "bill", *words).out


@pytest.mark.parametrize(
    ("members_text", "judged", "message"),
    [
        ("q1 a b\n", "", "members.txt, line 1: 3 columns where pools have 2 (query passage)."),
        ("q1 a\nq1 b\nq1 a\n", "", "members.txt, line 3: passage a is in the pool of query q1 already."),
        ("q1 a\nq1 b\n", "q1 a c c\n", "judgments.txt, line 1: passage c is not in the pool that members.txt has"),
        ("q1 a\nq1 b\n", "q2 a b a\n", "judgments.txt, line 1: query q2 is not in members.txt."),
        ("q1 a\nq1 b\n", "q1 a b d\n", "judgments.txt, line 1: d is preferred, which is neither a nor b."),
        ("", "", "members.txt, line 1: the file is empty."),
    ],
    ids=["columns", "twice", "a passage of no pool", "a query of no pool", "neither", "empty"],
)
def test_bad_files_are_told_with_their_lines(folder: Path, members_text: str, judged: str, message: str) -> None:
    Path("members.txt").write_text(members_text)
    Path("judgments.txt").write_text(judged)
    output = run_cli("rounds", "next", "--pools", "members.txt", "--judgments", "judgments.txt", code=1)
    assert output.out == "" and message in output.err


# --- against an implementation of the published algorithm by its letter


def by_the_letter(pool: list[str], judge: Judge, settings: Settings, chance: random.Random) -> tuple[set[str], int]:
    """Who wins, and how many pairs were asked: partners are drawn until all have enough, nothing is carried over."""
    playing, total = list(pool), 0

    def wins_of(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
        wins = Counter(dict.fromkeys(playing, 0))
        wins.update(str(judge(a, b).preferred) for a, b in pairs)
        return wins

    while len(playing) > settings.finalists:
        met = dict.fromkeys(playing, 0)
        drawn: list[tuple[str, str]] = []
        while min(met.values()) < min(settings.partners, len(playing) - 1):
            chance.shuffle(playing)
            playing.sort(key=met.__getitem__)
            pair = next(
                pair
                for at, a in enumerate(playing)
                for b in playing[at + 1 :]
                if (pair := (min(a, b), max(a, b))) not in drawn
            )
            drawn.append(pair)
            for passage in pair:
                met[passage] += 1
        total += len(drawn)
        wins = wins_of(drawn)
        left = [passage for passage in playing if wins[passage] > settings.partners // 2]
        if len(left) in (0, len(playing)):
            break
        playing = left
    final = [(a, b) for at, a in enumerate(playing) for b in playing[at + 1 :]]
    wins = wins_of(final)
    return {passage for passage in playing if wins[passage] == max(wins.values())}, total + len(final)


def judge_by_strength(spread: float, chance: random.Random) -> Judge:
    """Near passages are told apart hardly better than by a coin: p0 is the best, and the others are as far apart."""

    def judge(a: str, b: str) -> Preference:
        ahead = (int(b[1:]) - int(a[1:])) / spread
        return beats(a, b) if chance.random() < 1 / (1 + math.exp(-ahead)) else beats(b, a)

    return judge


@pytest.mark.parametrize(("design", "published"), [("K7F9", 176), ("K5F9", 132)])
def test_rounds_find_the_best_as_often_as_the_published_ones_with_fewer_pairs(design: str, published: int) -> None:
    """Of 102 published tournaments, with 407 pairs on average, the originals asked so many."""
    settings, pool, times = PRESETS[design], members(29), 400
    theirs = [
        by_the_letter(pool, judge_by_strength(2.6, random.Random(at)), settings, random.Random(at))
        for at in range(times)
    ]
    assert sum(count for _, count in theirs) / times == pytest.approx(published, rel=0.04)
    ours = [
        play(pool, judge_by_strength(2.6, random.Random(900 + at)), settings, f"q{at}")[1][-1] for at in range(times)
    ]
    mean_asked = sum(status.pairs_asked for status in ours) / times
    assert 0.8 * published < mean_asked < published
    hits, others = (sum("p0" in winners for winners in each) / times for each in
                    ([status.winners for status in ours], [winners for winners, _ in theirs]))  # fmt: skip
    assert hits > 0.5 and hits > others - 0.1
    assert 1.2 < sum(len(status.winners) for status in ours) / times < 1.7


def test_all_with_the_most_wins_in_the_final_are_winners() -> None:
    pool = ["a", "b", "c", "d"]
    judged = [beats(*pair) for pair in (("a", "b"), ("a", "c"), ("d", "a"), ("b", "c"), ("b", "d"), ("c", "d"))]
    assert replay("q", pool, judged, Settings()).winners == {"a", "b"}  # a beat b, in a single judgment


def test_empty_pools_and_pools_of_two() -> None:
    assert replay("q", [], [], Settings()).winners == frozenset()
    assert replay("q", ["a"], [], Settings()).winners == {"a"}
    (request,) = replay("q", ["b", "a"], [], Settings()).requests
    assert sorted(request) == ["a", "b"]
    assert replay("q", ["b", "a"], [tied("a", "b")], Settings()).winners == {"a", "b"}
    twice = [beats("a", "b"), beats("b", "a"), beats("b", "a")]
    assert replay("q", ["b", "a"], twice, Settings()).winners == {"b"}
