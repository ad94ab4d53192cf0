"""Near-duplicates, and fusions of entries."""

import io
import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards.alike import Alike, explaining_fusion, fuse, near_duplicates, overlap, similarity
from evaluation.boards.checking import read_candidates
from evaluation.files.artifact import RunArtifact

Lists = dict[str, list[str]]


def artifact(lists: Lists) -> RunArtifact:
    lines = [
        f"{query} {passage} {rank}\n"
        for query, passages in lists.items()
        for rank, passage in enumerate(passages, start=1)
    ]
    return read_candidates(io.BytesIO("".join(lines).encode()), name="run")


def plain_overlap(first: list[str], other: list[str], p: float = 0.9) -> float:
    """Extrapolated rank-biased overlap: equation 32 of Webber et al. 2010, word for word."""
    if not first or not other:
        return 0.0
    s, l = sorted((len(first), len(other)))  # noqa: E741
    x = [len({*first[:depth]} & {*other[:depth]}) for depth in range(l + 1)]
    total = sum(x[d] / d * p**d for d in range(1, l + 1))
    unseen = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * (total + unseen) + ((x[l] - x[s]) / l + x[s] / s) * p**l


ranking = st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=10, unique=True)


@given(st.dictionaries(st.sampled_from("xyz"), st.tuples(ranking, ranking), min_size=1))
def test_similarity_is_rank_biased_overlap_as_it_is_written(lists: dict[str, tuple[list[str], list[str]]]) -> None:
    first, other = (artifact({query: pair[side] for query, pair in lists.items()}) for side in (0, 1))
    expected = sum(plain_overlap(*pair) for pair in lists.values()) / len(lists)
    assert similarity(first, other) == pytest.approx(expected)
    assert similarity(first, other) == pytest.approx(similarity(other, first))
    assert similarity(first, first) == pytest.approx(1)


def test_a_run_that_was_cut_short_is_still_the_same() -> None:
    base = [str(n) for n in range(10)]
    assert [similarity(artifact({"q": base}), artifact({"q": base[:most]})) for most in (5, 1)] == pytest.approx([1, 1])
    uneven = artifact({"q": list("NHMACFL")}), artifact({"q": list("CGNA")})
    assert similarity(*uneven) == pytest.approx(0.490, abs=5e-4)
    assert near_duplicates(artifact({"q": base[:5]}), {"whole": artifact({"q": base})}) == [
        Alike("whole", pytest.approx(1))
    ]


def test_what_the_top_differs_in_weighs_more_and_disjoint_runs_have_nothing_in_common() -> None:
    base = [str(n) for n in range(10)]
    top, bottom = ["x", *base[1:]], [*base[:9], "x"]
    run = artifact({"q": base})
    assert similarity(run, artifact({"q": top})) < similarity(run, artifact({"q": bottom})) < 1
    assert similarity(run, artifact({"q": ["y", "z"]})) == 0
    assert similarity(run, artifact({"other": base})) == 0


def test_only_the_first_ten_count() -> None:
    base = [str(n) for n in range(30)]
    assert similarity(artifact({"q": base}), artifact({"q": base[:10]})) == pytest.approx(1)


def shuffled(lists: Lists, seed: int, swaps: int) -> Lists:
    """The lists with neighbours swapped here and there, as another seed of a model makes them."""
    draw = random.Random(seed)
    changed = {}
    for query, passages in lists.items():
        passages = list(passages)
        for _ in range(swaps):
            at = draw.randrange(len(passages) - 1)
            passages[at : at + 2] = passages[at + 1], passages[at]
        changed[query] = passages
    return changed


@pytest.fixture
def board() -> dict[str, Lists]:
    """Six runs that agree somewhat, over 40 queries of 50 passages."""
    runs: dict[str, Lists] = {}
    for number in range(6):
        draw = random.Random(number)
        runs[f"run{number}"] = {
            f"q{query}": sorted((f"p{n}" for n in range(50)), key=lambda p: int(p[1:]) / 8 + draw.expovariate(0.5))
            for query in range(40)
        }
    return runs


def test_the_same_system_with_another_seed_is_found_and_independent_ones_are_not(board: dict[str, Lists]) -> None:
    others = {key: artifact(lists) for key, lists in board.items()}
    twin = artifact(shuffled(board["run2"], 1, 5))
    (likenesses,) = near_duplicates(twin, others, threshold=0.9)
    assert (likenesses.key, 0.9 < likenesses.similarity < 1) == ("run2", True)
    everything = near_duplicates(twin, others, threshold=0)
    assert [likeness.similarity for likeness in everything] == sorted(
        (likeness.similarity for likeness in everything), reverse=True
    )
    assert near_duplicates(others["run2"], {"same": others["run2"]}) == [Alike("same", pytest.approx(1))]
    assert near_duplicates(twin, {}) == []


@pytest.mark.parametrize("method", ["reciprocal rank", "Borda"])
def test_a_fusion_of_entries_is_explained_by_them(board: dict[str, Lists], method: str) -> None:
    def points(rank: int) -> float:
        return 1 / (61 + rank) if method == "reciprocal rank" else 100 - rank

    fused: Lists = {}
    for query in board["run0"]:
        sums: dict[str, float] = {}
        for key in ("run1", "run3", "run4"):
            for rank, passage in enumerate(board[key][query]):
                sums[passage] = sums.get(passage, 0) + points(rank)
        fused[query] = sorted(sums, key=lambda passage: -sums[passage])
    others = {key: artifact(lists) for key, lists in board.items()}
    fusion = explaining_fusion(artifact(fused), others)
    assert fusion is not None
    assert sorted(fusion.keys) == ["run1", "run3", "run4"]
    assert fusion.similarity > 0.95
    assert near_duplicates(artifact(fused), others, threshold=0.9) == []


def test_a_run_of_its_own_and_a_copy_are_no_fusion(board: dict[str, Lists]) -> None:
    others = {key: artifact(lists) for key, lists in board.items()}
    run5 = others.pop("run5")
    assert explaining_fusion(run5, others) is None
    assert explaining_fusion(others["run0"], others) is None
    assert explaining_fusion(run5, {}) is None


@given(st.lists(st.lists(st.permutations(range(6)), min_size=2, max_size=2), min_size=2, max_size=3))
def test_fused_lists_are_ordered_by_their_sums(lists: list[list[list[int]]]) -> None:
    """`lists`: by run and query."""
    arrays = [np.array(passages, np.int64) for passages in lists]
    fused = fuse(arrays, "reciprocal rank")
    for query in range(2):
        sums = [sum(1 / (61 + passages[query].index(code)) for passages in lists) for code in range(6)]
        order = [int(code) for code in fused[query] if code >= 0]
        assert sorted(order) == list(range(6))
        assert all(sums[a] >= sums[b] - 1e-12 for a, b in itertools.pairwise(order))


def test_empty_lists_overlap_in_nothing() -> None:
    empty, full = np.full((1, 3), -1), np.array([[1, 2, 3]])
    assert [float(overlap(*pair)[0]) for pair in ((empty, empty), (empty, full))] == [0, 0]
