"""What the results call first: ties as ties, over how many queries, how surely, and nothing from too few of them."""

from typing import Any

from results import findings
from results.sections.leaderboard import scatter
from results.sections.whole import read
from tests.results.sample_results import sample

NAMES = ["ada", "ben", "cleo"]


def results(answered: int = 40, queries: int = 53, **places: tuple[int, int]) -> dict[str, Any]:
    """Results of three runs, each with its ranks on the original and on the preference qrels."""
    data = sample(3, names=NAMES)
    data |= {"answered": answered, "queries": queries}
    for row in data["leaderboard"]:
        row["place_original"], row["place_preference"] = places[row["run"]]
    data["leaderboard"].sort(key=lambda row: (row["place_preference"], row["run"]))
    for row, share in zip(data["ranks"], (0.51, 0.3, 0.19), strict=True):
        row["first"] = share
    return data


def headline(data: dict[str, Any]) -> str:
    return findings.headline(read(data))


def said(data: dict[str, Any]) -> str:
    return " ".join(sentence for finding in findings.findings(read(data)) for sentence in finding.sentences)


def test_a_winner_comes_with_its_coverage_and_how_often_it_is_first() -> None:
    same = results(ada=(1, 1), ben=(2, 2), cleo=(3, 3))
    assert headline(same).replace("\N{NO-BREAK SPACE}", " ") == (
        "ada is first on both qrels (40 of 53 queries so far; the probability that it really is first is 51%)."
    )
    other = results(answered=53, ada=(3, 1), ben=(1, 2), cleo=(2, 3))
    assert headline(other).replace("\N{NO-BREAK SPACE}", " ") == (
        "ada is now first (all 53 queries; the probability that it really is first is 51%); it was at rank 3 before. "
        "ben was first and is now at rank 2."
    )
    other["ranks"] = None  # as in designs whose ranks are not resampled
    assert headline(other).startswith("ada is now first (all 53 queries); it was at rank 3 before.")


def test_runs_that_tie_are_named_as_a_tie() -> None:
    everywhere = results(ada=(1, 1), ben=(1, 1), cleo=(1, 1))
    assert headline(everywhere) == (
        "3 runs tie for first (40 of 53 queries so far): ada, ben, cleo. They tie for first on the original qrels, too."
    )
    assert "still be first" not in said(everywhere)
    assert "3 runs tie for first on the original qrels." in scatter.describe(read(everywhere))
    now = results(ada=(1, 1), ben=(2, 1), cleo=(3, 3))
    assert headline(now) == (
        "2 runs tie for first (40 of 53 queries so far): ada, ben. On the original qrels, ada is first."
    )
    before = results(ada=(3, 1), ben=(1, 2), cleo=(1, 3))
    assert headline(before).endswith("On the original qrels, 2 runs tie for first: ben, cleo.")


def test_no_run_is_called_first_while_less_than_half_of_the_queries_have_answers() -> None:
    few = results(answered=2, ada=(1, 1), ben=(1, 1), cleo=(1, 1))
    assert headline(few).replace("\N{NO-BREAK SPACE}", " ") == (
        "There are best known answers for 2 of 53 queries so far. No run is called first until 50% of the queries "
        "have them."
    )
    for words in ("is first", "be first", "now first", "for first", "keep their ranks"):
        assert words not in said(few)
    assert "ada is first" in headline(results(answered=27, ada=(1, 1), ben=(2, 2), cleo=(3, 3)))
    assert "No run is called first" in headline(results(answered=26, ada=(1, 1), ben=(2, 2), cleo=(3, 3)))


def test_one_answer_for_each_query_is_said_once() -> None:
    alike = results(ada=(1, 1), ben=(2, 2), cleo=(3, 3)) | {"preference_qrels": 2, "answered": 2, "best": {"1": 2}}
    assert "There are 2 preference qrels for 2 queries, one each." in said(alike)
    assert "There is 1 preference qrel for 1 query." in said(
        alike | {"preference_qrels": 1, "answered": 1, "best": {"1": 1}}
    )
    deadlock = alike | {"preference_qrels": 3, "best": {"1": 1, "2": 1}}
    assert "There are 3 preference qrels for 2 queries: one for 1 query, two for 1, where a deadlock" in said(deadlock)
