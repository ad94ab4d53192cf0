"""Measures by their names in ir_measures, such as nDCG@10, and what runs score by query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.files.artifact import Order, RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import quote_value

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The arguments that each measure takes, and whether it needs a cutoff.
_ARGUMENTS: dict[str, tuple[tuple[str, ...], bool]] = {
    "RR": (("rel",), False),
    "nDCG": (("dcg",), False),
    "Judged": ((), False),
    "Success": (("rel",), True),
    "P": (("rel",), True),
    "R": (("rel",), True),
    "AP": (("rel",), False),
    "Compat": (("p",), False),
}
KINDS = tuple(_ARGUMENTS)
_ALIASES = {"MRR": "RR", "MAP": "AP", "Precision": "P", "Recall": "R"}
_KINDS = {name.casefold(): _ALIASES.get(name, name) for name in (*KINDS, *_ALIASES)}
DCGS = ("log2", "exp-log2")
PERSISTENCE = 0.95  # of Compat, as are the next two
PERSISTENCES = (0.01, 0.99)
COMPAT_DEPTH = 1000
CUTOFF_MOST = 999_999_999
_NAME = re.compile(r"([A-Za-z]+)(?:\(([^()]*)\))?(?:@([0-9]+))?", re.ASCII)
_ARGUMENT = re.compile(r"\s*([a-z]+)\s*=\s*(?:([0-9.]{1,20})|(['\"])([a-z0-9-]*)\3)\s*", re.ASCII)
_REL = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_PERSISTENCE = re.compile(r"0?\.[0-9]+", re.ASCII)
EXPECTED = f"{', '.join(KINDS[:-1])} and {KINDS[-1]}, as ir_measures writes them: nDCG@10, RR(rel=2)@10"


class Measure(NamedTuple):
    """A measure of the top `cutoff` passages of each query, or of all that the run has where it is None.

    `rel`: the least grade that is relevant. `dcg`: what a passage of grade g gains in nDCG, g (`log2`) or 2**g - 1
    (`exp-log2`); its discount is log2(rank + 1) with both. `p`: the persistence of Compat.
    """

    kind: str
    cutoff: int | None = None
    rel: int = 1
    dcg: str = "log2"
    p: float = PERSISTENCE

    def __str__(self) -> str:
        """As ir_measures writes it: arguments that are as they are without being named are left out."""
        arguments = [f"rel={self.rel}"] if self.rel != 1 else []
        arguments += [f"dcg='{self.dcg}'"] if self.dcg != "log2" else []
        arguments += [f"p={self.p}"] if self.p != PERSISTENCE else []
        brackets = f"({', '.join(arguments)})" if arguments else ""
        return f"{self.kind}{brackets}" + ("" if self.cutoff is None else f"@{self.cutoff}")

    @property
    def depth(self) -> int | None:
        """How many passages of a query it looks at; None: at all."""
        return COMPAT_DEPTH if self.kind == "Compat" and self.cutoff is None else self.cutoff

    @property
    def is_reciprocal(self) -> bool:
        """Whether it is RR@k: what depends on the rank of the first relevant passage alone."""
        return self.kind == "RR" and self.cutoff is not None

    def with_grade(self, least: int) -> Measure:
        """The same with this grade as the least that is relevant, unless it names one."""
        return self._replace(rel=least) if self.rel == 1 else self


def read_measure(name: str) -> Measure:
    """A measure from its name, in upper or lower case. Raises ValueError, with what is wrong and what there is."""
    quoted = quote_value(name)
    match = _NAME.fullmatch(name.strip())
    kind = _KINDS.get(match[1].casefold()) if match else None
    if not match or not kind:
        raise ValueError(f"measure {quoted!r} where there are {EXPECTED}")
    arguments, needs_cutoff = _ARGUMENTS[kind]
    measure = Measure(kind)
    for part in (match[2] or "").split(",") if match[2] is not None else ():
        argument = _ARGUMENT.fullmatch(part)
        if not argument or argument[1] not in arguments:
            takes = f"takes {arguments[0]}=" if arguments else "takes no argument"
            raise ValueError(f"measure {quoted!r} where {kind} {takes}")
        number = argument[2] or ""
        if argument[1] == "rel" and _REL.fullmatch(number):
            measure = measure._replace(rel=int(number))
        elif argument[1] == "dcg" and argument[4] in DCGS:
            measure = measure._replace(dcg=argument[4])
        elif argument[1] == "p" and _PERSISTENCE.fullmatch(number) and _is_persistence(float(number)):
            measure = measure._replace(p=float(number))
        else:
            raise ValueError(f"measure {quoted!r} where {argument[1]} is {_WANTED[argument[1]]}")
    if match[3] is None:
        if needs_cutoff:
            raise ValueError(f"measure {quoted!r} where {kind} needs a cutoff, as in {kind}@10")
        return measure
    if match[3].startswith("0") or int(match[3]) > CUTOFF_MOST:
        raise ValueError(f"measure {quoted!r} where the cutoff is a whole number from 1 to {CUTOFF_MOST:,}")
    return measure._replace(cutoff=int(match[3]))


_WANTED = {
    "rel": "a whole number from 1 on",
    "dcg": " or ".join(map(repr, DCGS)),
    "p": f"a number from {PERSISTENCES[0]} to {PERSISTENCES[1]}",
}


def _is_persistence(value: float) -> bool:
    return PERSISTENCES[0] <= value <= PERSISTENCES[1]


def read_measures(names: str) -> list[Measure]:
    """Measures from their names, with commas or spaces between, each once. Raises ValueError as `read_measure` does."""
    parts = re.split(r"[\s,]+(?![^()]*\))", names)
    return list(dict.fromkeys(read_measure(part) for part in parts if part))


def per_query(run: RunArtifact, qrels: Qrels, measure: Measure, order: Order) -> Floats:
    """A float64 for each query of the qrels, in their order; 0 where the run lacks the query.

    Raises ValueError if the artifact keeps less than the measure looks at.
    """
    values: Floats = Scorer(qrels).score(run, [measure], order)[0]
    return values


class _Hits(NamedTuple):
    """The judged hits of a run, query by query and best first: `column` of the query, `rank` from 1, `grade`.

    `lengths`: by column, how many passages the run has for the query.
    """

    column: Integers
    rank: Integers
    grade: Integers
    lengths: Integers


class Scorer:
    """Qrels laid out to score many runs, all but Compat by trec_eval's definitions.

    A query without a relevant passage scores 0, as does one that a run lacks; queries that only the run has are
    ignored. Grades below 0 gain nothing, and count as judged. Judged@k is the judged share of the passages that the run
    has within k.

    Compat is the rank-biased overlap with the best ranking that the qrels allow, of that ranking's own: passages of
    grades above 0, higher grades first, those of one grade as the run has them (Clarke, Vtyurina and Smucker, TOIS
    2021). Where scores tie, it takes the lower passage id first, as its authors do, and trec_eval the higher one.
    """

    def __init__(self, qrels: Qrels) -> None:
        self.queries = qrels.queries
        entries = qrels.entries()
        at = {query: column for column, query in enumerate(self.queries)}
        numbers: dict[str, int] = {}
        self._columns = np.array([at[entry.query] for entry in entries], np.int64)
        numbers_of_entries = np.array([numbers.setdefault(entry.passage, len(numbers)) for entry in entries], np.int64)
        self._grades = np.array([entry.grade for entry in entries], np.int64)
        self._ids = pa.array(list(numbers), pa.string())
        keys = self._columns * len(numbers) + numbers_of_entries
        arranged = np.argsort(keys)
        self._keys, self._key_grades = keys[arranged], self._grades[arranged]
        self._rows: dict[tuple[str, ...], Integers] = {}

    @cached_property
    def _query_ids(self) -> Any:
        return pa.array(list(self.queries), pa.string())

    def score(self, run: RunArtifact, measures: Sequence[Measure], order: Order) -> Floats:
        """[measures x queries], queries in the order of the qrels.

        Raises ValueError if the artifact keeps less than a measure looks at.
        """
        values = np.zeros((len(measures), len(self.queries)))
        columns = self._columns_of(run.queries)
        numbers = np.append(_found(run.passages, self._ids), -1)
        for ties_up in (False, True):
            places_of_measures = [
                place for place, measure in enumerate(measures) if (measure.kind == "Compat") is ties_up
            ]
            if not places_of_measures:
                continue
            depths = [measures[place].depth or run.longest for place in places_of_measures]
            top = run.matrix(order, max(1, min(max(depths), run.longest)), ties_up=ties_up)
            number_at = numbers[top]
            rows, at = np.nonzero((number_at >= 0) & (columns >= 0)[:, None])
            lengths = np.zeros(len(self.queries), np.int64)
            lengths[columns[columns >= 0]] = np.minimum(run.hits, top.shape[1])[columns >= 0]
            chosen = [measures[place] for place in places_of_measures]
            values[places_of_measures] = self._score(columns[rows], at + 1, number_at[rows, at], lengths, chosen)
        return values

    def shared(self, run: RunArtifact) -> NDArray[np.bool_]:
        """For each query, in the order of the qrels, whether it has a relevant passage, and the run has it."""
        columns = self._columns_of(run.queries)
        has = np.zeros(len(self.queries), np.bool_)
        has[columns[(columns >= 0) & (run.hits > 0)]] = True
        return has & (self._relevant(1) > 0)

    def score_lists(self, lists: Mapping[str, Sequence[str]], measures: Sequence[Measure]) -> Floats:
        """The same of passages by query, best first."""
        numbers = {passage: number for number, passage in enumerate(self._ids.to_pylist())}
        hits = [
            (column, rank, numbers[passage])
            for column, query in enumerate(self.queries)
            for rank, passage in enumerate(lists.get(query, ()), 1)
            if passage in numbers
        ]
        column, rank, number = np.array(hits, np.int64).reshape(-1, 3).T
        lengths = np.array([len(lists.get(query, ())) for query in self.queries], np.int64)
        return self._score(column, rank, number, lengths, measures)

    def _score(
        self, column: Integers, rank: Integers, number: Integers, lengths: Integers, measures: Sequence[Measure]
    ) -> Floats:
        keys = column * len(self._ids) + number
        at = np.minimum(np.searchsorted(self._keys, keys), max(0, len(self._keys) - 1))
        judged = self._keys[at] == keys if len(self._keys) else np.zeros(len(keys), bool)
        # Query by query in the order of the qrels; a run may have them in another.
        arranged = np.flatnonzero(judged)[np.argsort(column[judged], kind="stable")]
        hits = _Hits(column[arranged], rank[arranged], self._key_grades[at[arranged]], lengths)
        values = [self._values(hits, measure) for measure in measures]
        return np.array(values, np.float64).reshape(len(measures), len(self.queries))

    def _values(self, hits: _Hits, measure: Measure) -> Floats:
        within = hits.rank <= measure.cutoff if measure.cutoff else np.ones(len(hits.rank), bool)
        if measure.kind == "nDCG":
            gained = self._sum(hits.column[within], _gains(hits.grade[within], measure) / _discounts(hits.rank[within]))
            return _share(gained, self._ideal(measure))
        if measure.kind == "Compat":
            return self._compat(hits, measure)
        if measure.kind == "Judged":
            lengths = hits.lengths if measure.cutoff is None else np.minimum(hits.lengths, measure.cutoff)
            return _share(self._sum(hits.column[within]), lengths)
        relevant = within & (hits.grade >= measure.rel)
        column, rank = hits.column[relevant], hits.rank[relevant]
        sums = self._sum(column)
        if measure.kind == "P":
            assert measure.cutoff is not None
            return sums / measure.cutoff
        if measure.kind == "Success":
            return (sums > 0).astype(np.float64)
        if measure.kind == "R":
            return _share(sums, self._relevant(measure.rel))
        # How many relevant passages of its query there are down to each, itself included.
        begins = np.cumsum(sums) - sums
        nth = np.arange(len(column)) - begins[column] + 1
        if measure.kind == "RR":
            first = nth == 1
            values = np.zeros(len(self.queries))
            values[column[first]] = 1 / rank[first]
            return values
        return _share(self._sum(column, nth / rank), self._relevant(measure.rel))

    def _compat(self, hits: _Hits, measure: Measure) -> Floats:
        relevant = hits.grade > 0
        column, rank = hits.column[relevant], hits.rank[relevant]
        # Passages of one query and one grade share a key; keys grow from query to query, and from grade to lower grade.
        grades = np.unique(self._grades)
        width = len(grades)

        def keys_of(columns: Integers, levels: Integers) -> Integers:
            keys: Integers = columns * width + (width - 1 - np.searchsorted(grades, levels))
            return keys

        good = self._grades > 0
        keys = np.sort(keys_of(self._columns[good], self._grades[good]))
        run_keys = keys_of(column, hits.grade[relevant])
        arranged = np.lexsort((rank, run_keys))
        run_keys, column, rank = run_keys[arranged], column[arranged], rank[arranged]
        higher = np.searchsorted(keys, run_keys) - np.searchsorted(keys, column * width)
        nth = np.arange(len(run_keys)) - np.searchsorted(run_keys, run_keys) + 1
        # A passage that both rankings have down to some depth adds p**(depth - 1) / depth there, and at each one below.
        depth = measure.depth or 1
        weights = measure.p ** np.arange(depth) / np.arange(1, depth + 1)
        worth = np.append(np.append(0, np.cumsum(weights[::-1])[::-1]), 0)
        gained = self._sum(column, worth[np.minimum(np.maximum(rank, higher + nth), depth + 1)])
        most = np.cumsum(worth)[np.minimum(self._relevant(1), depth).astype(np.int64)]
        return np.minimum(1, _share(gained, most))

    def _relevant(self, rel: int) -> Floats:
        return self._sum(self._columns[self._grades >= rel])

    def _ideal(self, measure: Measure) -> Floats:
        """By query, the DCG of its judged passages in the order of their grades."""
        arranged = np.lexsort((-self._grades, self._columns))
        columns, grades = self._columns[arranged], self._grades[arranged]
        counts = np.bincount(columns, minlength=len(self.queries))
        ranks = np.arange(len(columns)) - (np.cumsum(counts) - counts)[columns] + 1
        within = ranks <= (measure.cutoff or len(ranks))
        return self._sum(columns[within], _gains(grades[within], measure) / _discounts(ranks[within]))

    def _sum(self, columns: Integers, weights: Floats | None = None) -> Floats:
        return np.bincount(columns, weights, len(self.queries)).astype(np.float64)

    def _columns_of(self, queries: tuple[str, ...]) -> Integers:
        """For each query of a run, its column; -1 if it has none. Runs mostly have the same queries."""
        columns = self._rows.get(queries)
        if columns is None:
            columns = self._rows[queries] = _found(pa.array(list(queries), pa.string()), self._query_ids)
        return columns


def _gains(grades: Integers, measure: Measure) -> Floats:
    grades = np.maximum(grades, 0)
    return grades.astype(np.float64) if measure.dcg == "log2" else np.exp2(grades.astype(np.float64)) - 1


def _discounts(ranks: Integers) -> Floats:
    discounts: Floats = np.log2(ranks + 1.0)
    return discounts


def _share(part: Floats, whole: Floats | Integers) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _found(ids: Any, among: Any) -> Integers:
    """For each id, where it stands in `among`; -1 if it does not."""
    numbers = arrow_compute.index_in(ids, value_set=among)
    return np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
