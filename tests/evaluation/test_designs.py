"""Pairing designs: what each asks, what it asks next, and which answers follow."""

import re
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest

import evaluation.judging.designs
from evaluation.files.preferences import Pair, Preference
from evaluation.files.qrels import Entry, Qrels
from evaluation.judging.designs import DESIGNS, designs_that
from evaluation.judging.designs.base import Design, Material
from evaluation.judging.posterior import Judging

REPOSITORY = Path(evaluation.judging.designs.__file__).parents[3]
SETTINGS = SimpleNamespace(
    depth=1, min_grade=1, qrel_policy="first", method="tournament", champion_qrel="first", overlap=1, confirmations=3,
    confirm_level=None, partners=2, finalists=2, seed=-1,
)  # fmt: skip
POOLS = dict.fromkeys(("q1", "q2"), ("p1", "p2", "p3"))
FIRST_WINS = [Preference(query, a, b, a) for query in POOLS for a, b in combinations(POOLS[query], 2)]


@dataclass
class Judged:
    """The evidence of a campaign, as a design reads it."""

    pools: Mapping[str, tuple[str, ...]]
    counted: Sequence[Preference]
    waiting: Collection[str] = frozenset()
    decided: Mapping[tuple[str, str, str], str | None] = field(default_factory=dict)
    allow_incomplete: bool = False
    begun: Mapping[str, Sequence[Collection[str]]] = field(default_factory=dict)
    challenged: Mapping[str, Collection[str]] = field(default_factory=dict)
    before: Sequence[Preference] = ()
    judging: Judging | None = None


def design_of(name: str, **settings: object) -> Design:
    return DESIGNS[name].of(SimpleNamespace(**{**vars(SETTINGS), **settings}))


def test_a_module_of_the_folder_is_a_design() -> None:
    files = {path.stem for path in Path(evaluation.judging.designs.__file__).parent.glob("*.py")}
    assert files - {"__init__", "base"} == set(DESIGNS)
    assert [design.explain().split(":")[0] for design in DESIGNS.values()] == [
        "All pairs", "Champion check", "Challengers", "Rounds",
    ]  # fmt: skip
    assert (designs_that("challenges"), designs_that("is_staged")) == (["challengers"], ["rounds"])


@pytest.mark.parametrize("name", DESIGNS)
def test_a_query_that_waits_has_no_answer_and_is_incomplete_whatever_was_judged(name: str) -> None:
    evidence = Judged(POOLS, FIRST_WINS, waiting={"q2"}, challenged=dict.fromkeys(POOLS, ("p2",)))
    derived = design_of(name, confirmations=1).derive(evidence).derived
    assert (derived.qrels, derived.incomplete) == ((("q1", "p1"),), ("q2",))


def test_what_is_not_judged_is_incomplete_too() -> None:
    judged = [row for row in FIRST_WINS if row.query == "q1"]
    for name in DESIGNS:
        evidence = Judged(POOLS, judged, challenged=dict.fromkeys(POOLS, ("p2",)))
        assert design_of(name, confirmations=1).derive(evidence).derived.incomplete == ("q2",), name


def test_a_challenger_that_won_is_asked_again_and_others_are_not() -> None:
    rows = [Preference("q1", "p1", "p2", "p1"), Preference("q1", "p2", "p3", "p2")]
    design = design_of("challengers")
    outcome = design.derive(Judged({"q1": POOLS["q1"]}, rows, challenged={"q1": ("p2",)}))
    assert (outcome.derived.incomplete, design.next(outcome)) == (("q1",), [Pair("q1", "p1", "p2")])
    assert design.estimate({3: 1}, 100, 20) == (100, 1, 36)
    assert design_of("challengers", confirmations=1).estimate({3: 1}, 100).again == 0


def test_rounds_ask_the_next_round_once_the_last_is_judged_and_the_others_nothing() -> None:
    pool = tuple(f"p{number}" for number in range(8))
    design = design_of("rounds")
    first = design.first_pairs("q1", pool)
    assert len(first) == 8 and design_of("all_pairs").first_pairs("q1", pool)[0] == Pair("q1", "p0", "p1")
    judged = [Preference(query, a, b, a) for query, a, b in first]
    evidence = Judged({"q1": pool}, judged)
    outcome = design.derive(evidence)
    assert outcome.derived.incomplete == ("q1",) and not {*design.next(outcome)}.intersection(first)
    assert design_of("all_pairs").next(design_of("all_pairs").derive(evidence)) == []
    assert list(design.alternatives({8: 1})) == ["all pairs", "rounds, as set"]
    assert design_of("all_pairs").alternatives({8: 1}) == {}
    assert list(design_of("all_pairs").alternatives({30: 1})) == ["all pairs", "K7F9", "K5F9"]


def test_equal_texts_are_one_candidate_in_every_plan() -> None:
    qrels = Qrels.of([Entry("q1", "p1", 1)])
    same = {"p1": "text", "p9": "text"}
    for name, pairs in (("all_pairs", 1), ("champion_check", 1), ("rounds", 1), ("challengers", 1)):
        material = Material(
            [{"q1": ("p9", "p3")}, {"q1": ("p3", "p9")}][: 1 if DESIGNS[name].takes_one_run else 2],
            qrels, lambda _lists: same, {"q1": ("p1",)}, {}, (),
        )  # fmt: skip
        plan = design_of(name).plan(material)
        assert len(plan.pairs["q1"]) == pairs, name
        assert not {"p1", "p9"} <= {*plan.pools["q1"]}, name


def test_nobody_tests_which_design_a_campaign_has() -> None:
    """Whoever wants to know what it does asks its class; what a stored report says of its own rounds is left."""
    listing = ["git", "ls-files", "*.py", "*.html", ":!tests", ":!*/migrations/*", ":!benchmarks", ":!evaluation"]
    files = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
    comparison = re.compile(r"""\bdesign["']?\]? *((==|!=) |(in|__in=) ?[\["'(])""")
    tests = [name for name in files for line in (REPOSITORY / name).read_text().splitlines() if comparison.search(line)]
    assert tests == ["results/findings.py"]
