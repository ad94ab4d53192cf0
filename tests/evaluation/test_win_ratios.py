"""Win ratios by top passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.files.preferences import Preference
from evaluation.files.qrels import Qrels
from evaluation.statistics.win_ratios import PERFECT, perfect_top, win_ratios


def tops(**runs: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Runs by name: one letter a query, - where the run has no passage."""
    return {
        name: {f"q{at}": (passage,) for at, passage in enumerate(row) if passage != "-"} for name, row in runs.items()
    }


QUERIES = [f"q{at}" for at in range(6)]


def test_wins_are_counted_where_tops_differ_and_were_judged() -> None:
    preferences = [
        Preference("q0", "a", "b", "b"),
        Preference("q1", "b", "a", "b"),
        Preference("q2", "a", "b", "a"),
        Preference("q9", "a", "b", "a"),
    ]
    wins = win_ratios(tops(one="aaaaa-", two="bbbbab"), QUERIES, preferences)
    (meeting,) = wins.meetings
    assert meeting[:7] == ("one", "two", 4, 3, 1, 2, 0)
    assert meeting.ratio == 2 / 3
    assert meeting.p == pytest.approx(stats.binomtest(1, 3).pvalue)
    assert wins.ratios() == [[None, 2 / 3], [1 / 3, None]]
    assert wins.wins() == {"one": 0, "two": 1}
    assert wins.significant_wins() == {"one": 0, "two": 0}


def test_several_judgments_of_a_pair_are_one_win_of_the_majority_or_each_a_win() -> None:
    judged = [Preference("q0", "a", "b", won) for won in "aab"] + [Preference("q1", "b", "a", won) for won in "ab"]
    judged.append(Preference("q2", "a", "b", None))
    majority = win_ratios(tops(one="aaa", two="bbb"), QUERIES, judged).meetings[0]
    assert (majority.judged, majority.a_wins, majority.b_wins, majority.undecided) == (3, 1, 0, 2)
    each = win_ratios(tops(one="aaa", two="bbb"), QUERIES, judged, counting="each").meetings[0]
    assert (each.judged, each.a_wins, each.b_wins, each.undecided) == (3, 3, 2, 1)


def test_runs_that_never_met_have_no_ratio() -> None:
    wins = win_ratios(tops(one="aa", two="aa", three="--"), QUERIES, [Preference("q0", "a", "b", "a")])
    assert {(meeting.ratio, meeting.p, meeting.significant) for meeting in wins.meetings} == {(None, 1.0, False)}
    assert wins.wins() == {"one": 0, "two": 0, "three": 0}


def test_significance_takes_alpha_over_all_unordered_pairs() -> None:
    queries = [str(number) for number in range(7)]
    both = {"one": dict.fromkeys(queries, ("a",)), "two": dict.fromkeys(queries, ("b",))}
    judged = [Preference(query, "a", "b", "b") for query in queries]
    assert win_ratios(both, queries, judged).meetings[0].significant
    many = both | {f"more{number}": {} for number in range(10)}
    wins = win_ratios(many, queries, judged)
    assert (len(wins.meetings), wins.threshold) == (66, 0.05 / 66)
    assert not any(meeting.significant for meeting in wins.meetings)


def test_the_perfect_ranking_returns_the_first_relevant_passage_of_the_file() -> None:
    qrels = Qrels({"q1": {"z": 0, "b": 1, "a": 2}, "q2": {"c": 0}})
    assert perfect_top(qrels) == {"q1": ("b",)}
    assert perfect_top(qrels, min_grade=2) == {"q1": ("a",)}
    assert PERFECT == "perfect ranking"


@given(
    st.lists(st.text("abc-", min_size=6, max_size=6), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["ab", "ac", "bc", "ba"]), st.integers(0, 1)), max_size=30),
)
def test_wins_are_what_counting_query_by_query_gives(runs: list[str], votes: list[tuple[int, str, int]]) -> None:
    preferences = [Preference(f"q{at}", pair[0], pair[1], pair[won]) for at, pair, won in votes]
    named = tops(**{f"run{number}": row for number, row in enumerate(runs)})
    for meeting in win_ratios(named, QUERIES, preferences).meetings:
        won = {"a": 0, "b": 0}
        for query in QUERIES:
            a, b = (named[name].get(query, ("",))[0] for name in meeting[:2])
            cast = [vote.preferred for vote in preferences if vote.query == query and {vote.a, vote.b} == {a, b}]
            if a != b and cast.count(a) != cast.count(b):
                won["a" if cast.count(a) > cast.count(b) else "b"] += 1
        assert (meeting.a_wins, meeting.b_wins) == (won["a"], won["b"])


def test_an_unknown_way_of_counting_is_refused() -> None:
    with pytest.raises(ValueError, match="majority and each"):
        win_ratios({}, [], [], counting="most")  # type: ignore[arg-type]


def test_runs_that_were_not_pooled_stand_apart_with_bounds_for_what_nobody_judged() -> None:
    """`late` puts a first where others do too, which was judged, and z, which nobody was asked about."""
    judged = [Preference(f"q{at}", "a", "b", "a" if at < 2 else "b") for at in range(3)]
    named = tops(one="bbbbbb", two="aaabbb", late="aaazzb")
    wins = win_ratios(named, QUERIES, judged, pooled=["one", "two"])
    assert wins.runs == ("one", "two") and wins.wins() == {"one": 0, "two": 1}
    assert [(meeting.a, meeting.b) for meeting in wins.meetings] == [("one", "two")]
    (apart,) = wins.apart
    # It differs from one in q0 to q4, from two in q3 and q4; judged are q0 to q2.
    assert apart[:6] == ("late", 7, 3, 2, 1, 0)
    assert (apart.share, apart.low, apart.high) == (2 / 3, 2 / 7, 6 / 7)
    assert wins.as_dict()["apart"] == [apart._asdict()]
    assert win_ratios(named, QUERIES, judged).apart == ()


def test_a_share_of_wins_has_its_exact_interval() -> None:
    judged = [Preference(f"q{at}", "a", "b", "b" if at else "a") for at in range(5)]
    (meeting,) = win_ratios(tops(one="aaaaa", two="bbbbb"), QUERIES, judged).meetings
    low, high = stats.binomtest(4, 5).proportion_ci(0.95, "exact")
    assert meeting.interval == (pytest.approx(low), pytest.approx(high))
