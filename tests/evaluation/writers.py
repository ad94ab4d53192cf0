"""One small collection, written as every tool would: so that tests can ask whether all are read as the same."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet
import zstandard
from hypothesis import strategies as st

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


class Form(NamedTuple):
    """How a file of lines is written: its line ends, a mark, its compression, and whether it is two parts joined."""

    crlf: bool = False
    bom: bool = False
    pack: str = ""
    joined: bool = False
    last_newline: bool = True

    def dress(self, data: bytes) -> bytes:
        """The file in this form. What is no text is left as it is."""
        if data.startswith(b"PAR1"):
            return data
        if self.crlf:
            data = data.replace(b"\n", b"\r\n")
        if self.bom:
            data = b"\xef\xbb\xbf" + data
        if not self.last_newline:
            data = data.rstrip(b"\r\n")
        pack, middle = PACKERS[self.pack], len(data) // 2
        return pack(data[:middle]) + pack(data[middle:]) if self.joined else pack(data)


class Judged(NamedTuple):
    """One judgment; `preferred` is empty for a tie."""

    query: str
    a: str
    b: str
    preferred: str
    worker: str


class Made(NamedTuple):
    """A collection. `run[query]`: passages with their scores, best first; `passages[id]`: title and text."""

    queries: dict[str, str]
    passages: dict[str, tuple[str, str]]
    qrels: dict[str, dict[str, int]]
    run: dict[str, list[tuple[str, float]]]
    judgments: list[Judged]

    def text(self, passage: str) -> str:
        """Title and text in one, as files without titles have them."""
        return " ".join(part for part in self.passages[passage] if part)

    def graded(self) -> list[tuple[str, str, int]]:
        return [(query, passage, grade) for query, own in self.qrels.items() for passage, grade in own.items()]

    def ranked(self) -> list[tuple[str, str, int, float]]:
        return [
            (query, passage, rank, score)
            for query, hits in self.run.items()
            for rank, (passage, score) in enumerate(hits, 1)
        ]


def lines(rows: Iterable[Iterable[object]], between: str = "\t") -> bytes:
    return "".join(between.join(map(str, row)) + "\n" for row in rows).encode()


def table(names: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> bytes:
    """CSV, as pandas and spreadsheets write it."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return out.getvalue().encode()


def records(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """JSON lines."""
    shown = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(line + "\n" for line in shown).encode()


def columns(names: Sequence[str], rows: Iterable[Sequence[object]], types: Sequence[Any] = ()) -> bytes:
    """A table of Parquet; `types` where they should not be guessed."""
    parts = list(zip(*rows, strict=True)) or [()] * len(names)
    kinds = types or [None] * len(names)
    made = {name: pa.array(part, kind) for name, part, kind in zip(names, parts, kinds, strict=True)}
    out = io.BytesIO()
    parquet.write_table(pa.table(made), out)
    return out.getvalue()


Writer = Callable[[Made], bytes]
_PYTERRIER = ("qid", "docno", "score", "rank")

RUNS: Mapping[str, Writer] = {
    "TREC": lambda made: lines(((q, "Q0", p, r, repr(s), "t") for q, p, r, s in made.ranked()), " "),
    "TREC, ranks from 0, tabs": lambda made: lines((q, "Q0", p, r - 1, repr(s), "t") for q, p, r, s in made.ranked()),
    "MS MARCO": lambda made: lines((q, p, r) for q, p, r, _ in made.ranked()),
    "MIRACL": lambda made: lines(((q, "Q0", p, r, f"{s:.6f}", "Anserini") for q, p, r, s in made.ranked()), " "),
    "PyTerrier, CSV": lambda made: table(_PYTERRIER, ((q, p, s, r - 1) for q, p, r, s in made.ranked())),
    "PyTerrier, TSV": lambda made: table(_PYTERRIER, ((q, p, s, r - 1) for q, p, r, s in made.ranked()), "\t"),
    "PyTerrier, with queries": lambda made: table(
        ("qid", "query", "docid", "docno", "rank", "score"),
        ((q, made.queries.get(q, "?"), n, p, r - 1, s) for n, (q, p, r, s) in enumerate(made.ranked())),
    ),
    "PyTerrier, Parquet": lambda made: columns(_PYTERRIER, ((q, p, s, r - 1) for q, p, r, s in made.ranked())),
    "ranx, Parquet": lambda made: columns(("q_id", "doc_id", "score"), ((q, p, s) for q, p, _, s in made.ranked())),
    "ranx, JSON": lambda made: json.dumps({query: dict(hits) for query, hits in made.run.items()}).encode(),
    "ir_datasets, JSON lines": lambda made: records(
        ("query_id", "doc_id", "score"), ((q, p, s) for q, p, _, s in made.ranked())
    ),
    "ir_datasets, TSV with names": lambda made: table(
        ("query_id", "doc_id", "score"), ((q, p, s) for q, p, _, s in made.ranked()), "\t"
    ),
}

QRELS: Mapping[str, Writer] = {
    "TREC": lambda made: lines(((q, 0, p, g) for q, p, g in made.graded()), " "),
    "MS MARCO": lambda made: lines((q, 0, p, g) for q, p, g in made.graded()),
    "MIRACL": lambda made: lines((q, "Q0", p, g) for q, p, g in made.graded()),
    "prefj": lambda made: lines(((q, 0, p, f"{g}.0") for q, p, g in made.graded()), " "),
    "BEIR": lambda made: table(("query-id", "corpus-id", "score"), made.graded(), "\t"),
    "MTEB, Parquet": lambda made: columns(("query-id", "corpus-id", "score"), made.graded()),
    "MTEB, Parquet with fractions": lambda made: columns(
        ("query-id", "corpus-id", "score"), made.graded(), (pa.string(), pa.large_string(), pa.float64())
    ),
    "MTEB, JSON lines": lambda made: records(("query-id", "corpus-id", "score"), made.graded()),
    "ir_datasets, JSON lines": lambda made: records(
        ("query_id", "doc_id", "relevance", "iteration"), ((*row, "0") for row in made.graded())
    ),
    "PyTerrier, CSV": lambda made: table(("qid", "docno", "label"), made.graded()),
    "PyTerrier, TSV in another order": lambda made: table(
        ("label", "iteration", "docno", "qid"), ((g, "Q0", p, q) for q, p, g in made.graded()), "\t"
    ),
    "PyTerrier, Parquet": lambda made: columns(("qid", "docno", "label"), made.graded()),
    "ranx, Parquet": lambda made: columns(("q_id", "doc_id", "score"), made.graded()),
    "ranx, JSON": lambda made: json.dumps(made.qrels).encode(),
}

QUERIES: Mapping[str, Writer] = {
    "TREC, MS MARCO, MIRACL": lambda made: lines(made.queries.items()),
    "BEIR": lambda made: records(
        ("_id", "text", "metadata"),
        ((q, text, {} if n % 2 else {"n": n}) for n, (q, text) in enumerate(made.queries.items())),
    ),
    "MTEB, Parquet": lambda made: columns(("_id", "text"), made.queries.items()),
    "ir_datasets": lambda made: records(("query_id", "text"), made.queries.items()),
    "PyTerrier, CSV": lambda made: table(("qid", "query"), made.queries.items()),
}  # fmt: skip


def _beir(made: Made) -> bytes:
    """Where there is no title, it is empty, missing or null in turn, and metadata come and go."""
    shown = []
    for number, (passage, (title, text)) in enumerate(made.passages.items()):
        record: dict[str, Any] = {"_id": passage, "title": title, "text": text}
        if not title and number % 3:
            record["title"] = None
            if number % 3 == 1:
                del record["title"]
        if number % 2:
            record["metadata"] = {} if number % 4 == 1 else {"url": "x"}
        shown.append(json.dumps(record))
    return "".join(line + "\n" for line in shown).encode()


def _titled(made: Made) -> list[tuple[str, str, str]]:
    return [(passage, *parts) for passage, parts in made.passages.items()]


PASSAGES: Mapping[str, Writer] = {
    "MS MARCO": lambda made: lines((p, made.text(p)) for p in made.passages),
    "MS MARCO v2": lambda made: records(("pid", "passage"), ((p, made.text(p)) for p in made.passages)),
    "MS MARCO v2, documents": lambda made: records(
        ("url", "title", "headings", "body", "docid"), (("x", t, "", text, p) for p, t, text in _titled(made))
    ),
    "MS MARCO v2.1": lambda made: records(
        ("docid", "title", "headings", "segment", "start_char"), ((p, t, "", text, 0) for p, t, text in _titled(made))
    ),
    "BEIR": _beir,
    "MTEB, Parquet": lambda made: columns(("_id", "title", "text"), _titled(made)),
    "MTEB, CSV": lambda made: table(("_id", "title", "text"), _titled(made)),
    "MIRACL": lambda made: records(("docid", "title", "text"), _titled(made)),
    "ir_datasets": lambda made: records(("doc_id", "title", "text"), _titled(made)),
    "Pyserini": lambda made: records(("id", "contents"), ((p, made.text(p)) for p in made.passages)),
    "PyTerrier, CSV": lambda made: table(("docno", "text"), ((p, made.text(p)) for p in made.passages)),
}


def _said(one: Judged) -> str:
    return {one.a: "left", one.b: "right"}.get(one.preferred, "tie")


def _exported(made: Made) -> bytes:
    names = ("worker", "kind", "query", "a", "b", "left", "preferred", "made_at", "accepted", "superseded")
    rows = [
        (
            j.worker,
            "pair",
            j.query,
            j.a,
            j.b,
            j.a,
            j.preferred or "=",
            f"2026-01-01T00:{n:02}:00+00:00",
            "true",
            "false",
        )
        for n, j in enumerate(made.judgments)
    ]
    return table(names, rows, "\t")


def _mturk(made: Made, *, lower: bool = False, turkle: bool = False, several: int = 1) -> bytes:
    """Results of a batch, with rejected work between. `several`: comparisons that a HIT shows."""
    numbers = ["" if several == 1 else str(n) for n in range(1, several + 1)]
    names = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "SubmitTime"]
    names += [f"Input.{name}{n}" for n in numbers for name in ("query", "a", "b")]
    names += [f"Answer.preferred{n}" for n in numbers]
    if turkle:
        names += ["Turkle.Username"]
    rows = []
    groups: list[list[Judged]] = []
    for one in made.judgments:  # a HIT's are one worker's
        if groups and len(groups[-1]) < several and groups[-1][-1].worker == one.worker:
            groups[-1].append(one)
        else:
            groups.append([one])
    for number, group in enumerate(groups):
        filled = [*group, *[Judged("", "", "", "", "")] * (several - len(group))]
        shown = [value for one in filled for value in (one.query, one.a, one.b)]
        said = ["" if not one.query else _said(one) for one in filled]
        ends = [group[0].worker] if turkle else []
        time = f"Sat Nov 28 10:{number:02}:00 PST 2026"
        rows.append([f"H{number}", f"A{number}", group[0].worker, "Approved", time, *shown, *said, *ends])
        wrong = ["" if not word else "right" if word == "left" else "left" for word in said]
        if number % 2 and not turkle:
            rows.append([f"H{number}", f"R{number}", group[0].worker, "Rejected", time, *shown, *wrong, *ends])
    return table([name.lower() for name in names] if lower else names, rows)


def _label_studio(made: Made, twice: bool = False) -> bytes:
    """A task for each pair, with its annotations; those without a worker have none (`null`)."""
    tasks: dict[tuple[str, str, str], list[Any]] = {}
    for number, one in enumerate(made.judgments):
        said = [] if not one.preferred else [{"type": "pairwise", "value": {"selected": _said(one)}}]
        worker = int(one.worker) if one.worker else None
        annotation = {"id": number, "completed_by": worker, "result": said, "was_cancelled": False}
        tasks.setdefault((one.query, one.a, one.b), []).append(annotation)
    shown = [
        {"id": number, "data": {"query_id": query, "a": a, "b": b}, "annotations": annotations}
        for number, ((query, a, b), annotations) in enumerate(tasks.items())
    ]
    return json.dumps(shown * 2 if twice else shown, indent=1).encode()


def _label_studio_rows(made: Made) -> list[dict[str, Any]]:
    return [
        {
            "id": number, "query_id": one.query, "a": one.a, "b": one.b,
            "annotator": int(one.worker) if one.worker else None,
            "annotation_id": number, "created_at": f"2026-01-01T00:{number:02}:00.5Z", "lead_time": 1.5,
            "preferred": [{"selected": _said(one)}],
        }
        for number, one in enumerate(made.judgments)
    ]  # fmt: skip


def _label_studio_table(made: Made, delimiter: str) -> bytes:
    rows = _label_studio_rows(made)
    shown = [[json.dumps(value) if isinstance(value, list) else value for value in row.values()] for row in rows]
    return table(list(rows[0]), shown, delimiter)


def _potato(made: Made) -> bytes:
    shown = [
        {
            "user_id": one.worker or None, "instance_id": f"{one.query}\t{one.a}\t{one.b}",
            "label_annotations": {"preferred": {"selection": _said(one)}}, "behavioral_data": {},
        }
        for one in made.judgments
    ]  # fmt: skip
    return "".join(json.dumps(one) + "\n" for one in shown).encode()


def _potato_table(made: Made, delimiter: str) -> bytes:
    rows = [(one.worker, f"{one.query}|{one.a}|{one.b}", _said(one)) for one in made.judgments]
    return table(("user", "instance_id", "preferred:::selection"), rows, delimiter)


JUDGMENTS: Mapping[str, Writer] = {
    "lines": lambda made: lines(((j.query, j.a, j.b, j.preferred or "=", j.worker) for j in made.judgments), " "),
    "lines with names": lambda made: table(
        ("query", "a", "b", "preferred", "worker"),
        ((j.query, j.a, j.b, j.preferred or "=", j.worker) for j in made.judgments), "\t",
    ),
    "a campaign's export": _exported,
    "Mechanical Turk": _mturk,
    "Mechanical Turk, lower case": lambda made: _mturk(made, lower=True),
    "Mechanical Turk, several a HIT": lambda made: _mturk(made, several=3),
    "Turkle": lambda made: _mturk(made, turkle=True),
    "Label Studio": _label_studio,
    "Label Studio, exported twice": lambda made: _label_studio(made, twice=True),
    "Label Studio, JSON-MIN": lambda made: json.dumps(_label_studio_rows(made)).encode(),
    "Label Studio, CSV": lambda made: _label_studio_table(made, ","),
    "Label Studio, TSV": lambda made: _label_studio_table(made, "\t"),
    "Potato": _potato,
    "Potato, CSV": lambda made: _potato_table(made, ","),
    "Potato, TSV": lambda made: _potato_table(made, "\t"),
}  # fmt: skip


def prefj(made: Made) -> bytes:
    """What prefj.py takes: the preferred passage first, without ties or workers."""
    decided = (one for one in made.judgments if one.preferred)
    return lines(((j.query, j.preferred, j.b if j.preferred == j.a else j.a) for j in decided), " ")


# --- collections that are made up

_ODD = (
    *("0012", "12", "1e5", "NA", "None", "null", "true", "nan", "1.5", "-1", 'a"b', "a,b", "=1+1"),
    *("docno", "query", "Q0", "msmarco_v2.1_doc_00#0_1"),
    *("#x", "caf\u00e9", "\u6f22\u5b57", "'", "d:1", "9007199254740993"),
    *("a\\b", "{x}", "[y]", "<p>"),
)  # fmt: skip
IDS = st.one_of(st.sampled_from(_ODD), st.text("ab01_-./#\u00e9\u0434", min_size=1, max_size=4))
_WORDS = ("owls", "eat mice", 'say "hoo"', "a, b", "\u00fcber", "x|y", "{}", "50 %", "#1", "'n'", "=A1")
TEXTS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join)
FORMS = st.builds(
    Form, st.booleans(), st.booleans(), st.sampled_from(list(PACKERS)), st.booleans(), st.booleans()
)  # fmt: skip


def in_score_order(hits: Mapping[str, float]) -> list[tuple[str, float]]:
    """By score, descending, ties by id, descending."""
    return sorted(hits.items(), key=lambda hit: (hit[1], hit[0].encode()), reverse=True)


@st.composite
def collections(draw: st.DrawFn) -> Made:
    """A collection of a few queries: odd ids, titles that are all that differs, ties, grades, repeated judgments."""
    # A line of text that begins with the name of a column is taken for a header.
    queries = draw(st.lists(IDS.filter(lambda id_: id_ not in ("query", "docno")), min_size=1, max_size=3, unique=True))
    passages = draw(st.lists(IDS, min_size=3, max_size=6, unique=True))
    titles = st.sampled_from(("", "Vaccines", "Recipes"))
    scores = st.sampled_from((0.5, 1.0, 2.25, -3.0, 100000.0, 1e-5))
    qrels, run, judgments = {}, {}, []
    for query in queries:
        qrels[query] = draw(st.dictionaries(st.sampled_from(passages), st.integers(-1, 3), min_size=1, max_size=4))
        run[query] = in_score_order(
            draw(st.dictionaries(st.sampled_from(passages), scores, min_size=1, max_size=len(passages)))
        )
        for _ in range(draw(st.integers(1, 4))):
            a, b = draw(st.lists(st.sampled_from(passages), min_size=2, max_size=2, unique=True).map(sorted))
            worker = draw(st.sampled_from(("17", "23", "5")))
            judgments.append(Judged(query, a, b, draw(st.sampled_from((a, b))), worker))
    return Made(
        {query: draw(TEXTS) for query in queries},
        {passage: (draw(titles), draw(st.just("See the full report.") | TEXTS)) for passage in passages},
        qrels,
        run,
        judgments,
    )
