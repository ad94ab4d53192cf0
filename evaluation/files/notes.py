"""What is no error and yet makes numbers suspicious: ids that do not meet, or that differ only in form.

The same sentences are told by the commands, on a run's page and in a board's check.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
from numpy.typing import NDArray

from evaluation.files.artifact import RunArtifact
from evaluation.files.qrels import Qrels
from evaluation.files.textfiles import counted, quote_value

NAMED = 3  # ids that a note names
COMPARED = 500_000  # hits whose ids are compared with judged ones, however many of these the run has
POOR = 0.1  # the share of judged passages in a run below which all its hits are compared
CUT_FROM = 8  # characters of the shortest id that may have been cut
SEEN = 10  # hits of a query that have to be known, for none of them to be judged to be suspicious
OWN_SHARE = 0.01  # the share of queries among their own results below which ids coincide, as numbers do

_INVISIBLE = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})  # categories of Unicode
_ZEROS = re.compile(r"^([^0-9]*)0+(?=[0-9])")

SENTENCES = {
    "no_query": "answers none of the {of} queries: is it a run for other queries?",
    "not_judged": "none of its {first}passages is judged, in {queries}: is it a run for another collection?",
    "query_form": "{ids} {differ} from those asked for only in {what} ({examples}).",
    "passage_form": "{ids} {differ} from judged ones only in {what} ({examples}).",
    "mark": "a byte order mark is left out in {lines}: files that begin with one were joined.",
    "not_relevant": "no passage has a grade of 1 or more: are the columns query, 0, passage, grade?",
    "invisible": "{ids} with invisible characters ({examples}).",
    "own_query": "the results of {number} of {queries} hold the query itself ({examples}), which BEIR leaves out.",
    "own_left_out": "{hits} left out whose passage has the id of the query, as BEIR does.",
    "one_score": "all hits have the same score in {number} of {queries}: ids decide their order by score.",
}


class Note(NamedTuple):
    """Something suspicious: which of the sentences, how many ids, queries or hits of how many, and up to three of
    them. `what` is the form that ids differ in, or their kind; `depth` how many hits a query were looked at, 0 for all.
    """

    code: str
    number: int
    of: int = 0
    examples: tuple[str, ...] = ()
    what: str = ""
    depth: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON: all of it, and the sentence."""
        return {**self._asdict(), "examples": list(self.examples), "sentence": self.sentence()}

    def sentence(self) -> str:
        """What people are told, to stand after the name of a file."""
        more = ", …" if self.number > len(self.examples) else ""
        kind = self.what if self.code == "invisible" else self.code.partition("_")[0]
        return SENTENCES[self.code].format(
            number=f"{self.number:,}",
            of=f"{self.of:,}",
            ids=counted(self.number, f"{kind} id"),
            lines=counted(self.number, "line"),
            hits=counted(self.number, "hit"),
            queries=counted(self.of, "query", "queries"),
            what=self.what,
            differ="differs" if self.number == 1 else "differ",
            first=f"first {self.depth:,} " if self.depth else "",
            examples="; ".join(self.examples) + more,
        )


def run_notes(run: RunArtifact, *, one_score: int = 0, own_left_out: int = 0, marks: int = 0) -> list[Note]:
    """About a run alone. `one_score`: queries whose hits all have the same score; `own_left_out`: hits that were;
    `marks`: lines that began with a byte order mark, beside the first.
    """
    notes = [*_mark_notes(marks), *id_notes(run.queries, "query"), *id_notes(run.passages, "passage")]
    ranks = _own_results(run)
    if ranks:
        top = {query for order in (run.by_score, run.by_rank) for query in _first_is(run, order, ranks)}
        if top or len(ranks) >= OWN_SHARE * len(run.queries):
            notes.append(_note("own_query", list(ranks), of=len(run.queries)))
    if own_left_out:
        notes.append(Note("own_left_out", own_left_out))
    if one_score:
        notes.append(Note("one_score", one_score, len(run.queries)))
    return notes


def query_notes(run: RunArtifact, queries: Collection[str]) -> list[Note]:
    """About a run beside the queries that it should answer: none in common, or ids that differ only in form."""
    sought = set(queries)
    missing, unknown = sought.difference(run.queries), set(run.queries) - sought
    notes = []
    if sought and len(missing) == len(sought):
        notes.append(Note("no_query", 0, len(sought)))
    if missing and unknown:
        forms = _forms(((0, query) for query in unknown), ((0, query) for query in missing))
        notes += _form_notes("query_form", forms)
    return notes


def judged_notes(run: RunArtifact, qrels: Qrels) -> list[Note]:
    """About a run beside qrels: no passage judged, or ids that differ only in form from judged ones that it lacks."""
    rows = {query: row for row, query in enumerate(run.queries)}
    judged = [(rows[query], passage) for query, graded in qrels.grades.items() if query in rows for passage in graded]
    if not judged:
        return []
    row = np.array([row for row, _ in judged], np.int64)
    codes = _positions(pa.array([passage for _, passage in judged], pa.string()), run.passages)
    width = len(run.passages) + 1
    query_of = np.repeat(np.arange(len(run.queries)), np.diff(run.starts))
    hits = np.unique(np.concatenate([query_of * width + run.by_score, query_of * width + run.by_rank]))
    keys = row * width + codes
    is_judged = (codes >= 0) & np.isin(keys, hits)
    notes = []
    depth = run.depth if run.longest > run.depth else 0
    if not is_judged.any() and not 0 < depth < SEEN:
        notes.append(Note("not_judged", 0, len(np.unique(row)), depth=depth))
    if is_judged.all() or (len(hits) > COMPARED and is_judged.mean() >= POOR):
        return notes
    missed = [pair for pair, has in zip(judged, is_judged.tolist(), strict=True) if not has]
    unjudged = hits[~np.isin(hits, keys[is_judged]) & np.isin(hits // width, np.unique(row[~is_judged]))]
    ids = run.passages.take(pa.array(unjudged % width)).to_pylist()
    forms = _forms(zip((unjudged // width).tolist(), ids, strict=True), missed)
    return notes + _form_notes("passage_form", forms)


def qrels_notes(qrels: Qrels) -> list[Note]:
    """About qrels alone: nothing is relevant, or what is odd about ids."""
    passages = list({passage: None for graded in qrels.grades.values() for passage in graded})
    notes = [*_mark_notes(qrels.marks), *id_notes(qrels.queries, "query"), *id_notes(passages, "passage")]
    if not any(grade > 0 for graded in qrels.grades.values() for grade in graded.values()):
        notes.insert(0, Note("not_relevant", 0))
    return notes


def _mark_notes(marks: int) -> list[Note]:
    return [Note("mark", marks)] if marks else []


def id_notes(ids: Any, what: str) -> list[Note]:
    """About ids (strings, or an Arrow array of them), of the kind `what`: those with invisible characters."""
    array = ids if isinstance(ids, pa.Array) else pa.array(ids, pa.string())
    # ASCII has as many characters as bytes; what is invisible in it cannot be in an id.
    wide = arrow_compute.not_equal(arrow_compute.utf8_length(array), arrow_compute.binary_length(array))
    suspects = array.filter(wide).to_pylist()
    odd = [id_ for id_ in suspects if any(unicodedata.category(character) in _INVISIBLE for character in id_)]
    return [_note("invisible", odd, what=what, show=ascii_of)] if odd else []


def ascii_of(value: str) -> str:
    """An id with everything but ASCII written as an escape, for ids that look alike."""
    return quote_value(ascii(value)[1:-1])


def _note(code: str, ids: list[str], *, of: int = 0, what: str = "", show: Any = quote_value) -> Note:
    return Note(code, len(ids), of, tuple(show(id_) for id_ in ids[:NAMED]), what)


def _positions(ids: Any, among: Any) -> NDArray[np.int64]:
    places = arrow_compute.fill_null(arrow_compute.index_in(ids, value_set=among), -1)
    positions: NDArray[np.int64] = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return positions


def _own_results(run: RunArtifact) -> dict[str, int]:
    """The queries whose own id is among the passages kept of them, and the place of that id in `run.passages`."""
    places = _positions(pa.array(run.queries, pa.string()), run.passages)
    ranks = {}
    for row in np.flatnonzero(places >= 0).tolist():
        span = slice(int(run.starts[row]), int(run.starts[row + 1]))
        if (run.by_score[span] == places[row]).any() or (run.by_rank[span] == places[row]).any():
            ranks[run.queries[row]] = int(places[row])
    return ranks


def _first_is(run: RunArtifact, order: NDArray[np.int32], ranks: Mapping[str, int]) -> Iterator[str]:
    starts = zip(run.queries, run.starts[:-1].tolist(), run.starts[1:].tolist(), strict=True)
    return (query for query, start, end in starts if query in ranks and end > start and order[start] == ranks[query])


# --- ids that differ only in form


def _normalized(id_: str) -> str:
    return id_ if id_.isascii() else unicodedata.normalize("NFC", id_)


def _visible(id_: str) -> str:
    if id_.isascii():
        return id_
    return "".join(character for character in id_ if unicodedata.category(character) not in _INVISIBLE)


def _without_zeros(id_: str) -> str:
    return _ZEROS.sub(r"\1", id_)


_FORMS = {
    "Unicode normalization": _normalized,
    "invisible characters": _visible,
    "upper and lower case": str.casefold,
    "leading zeros": _without_zeros,
}


def _folded(id_: str) -> str:
    return _without_zeros(_normalized(_normalized(_visible(id_)).casefold()))


class _Form(NamedTuple):
    """An id here, one elsewhere, and what they differ in."""

    here: str
    elsewhere: str
    what: str


def _forms(here: Iterable[tuple[Hashable, str]], elsewhere: Iterable[tuple[Hashable, str]]) -> list[_Form]:
    """The ids elsewhere that have one here of the same group but for form. No id is here and elsewhere in a group."""
    folded: dict[tuple[Hashable, str], str] = {}
    longest = 0
    whole: dict[tuple[Hashable, str], None] = {}
    for group, id_ in here:
        folded.setdefault((group, _folded(id_)), id_)
        whole[group, id_] = None
        longest = max(longest, len(id_))
    forms, rest = [], []
    for group, id_ in elsewhere:
        if (twin := folded.get((group, _folded(id_)))) is not None:
            whats = [what for what, form in _FORMS.items() if form(twin) == form(id_)]
            forms.append(_Form(twin, id_, whats[0] if whats else "more than one of " + ", ".join(_FORMS)))
        else:
            rest.append((group, id_))
    cut = f"length: they are cut at {longest:,} characters"
    if longest >= CUT_FROM:
        pairs = [(id_, (group, id_[:longest])) for group, id_ in rest if len(id_) > longest]
        forms += [_Form(short[1], id_, cut) for id_, short in pairs if short in whole]
    return forms


def _form_notes(code: str, forms: Iterable[_Form]) -> list[Note]:
    """A note for each form, the most frequent first; each id here counts once."""
    distinct: dict[tuple[str, str], str] = {}
    for form in forms:
        distinct.setdefault((form.what, form.here), form.elsewhere)
    counts = Counter(what for what, _ in distinct)
    notes = []
    for what, count in counts.most_common():
        pairs = sorted((here, other) for (which, here), other in distinct.items() if which == what)[:NAMED]
        examples = tuple(f"{ascii_of(here)} for {ascii_of(other)}" for here, other in pairs)
        notes.append(Note(code, count, examples=examples, what=what))
    return notes
