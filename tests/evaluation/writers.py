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
        return [(query, passage, grade) for query, grades in self.qrels.items() for passage, grade in grades.items()]

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
    lines_of_json = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(line + "\n" for line in lines_of_json).encode()


def columns(names: Sequence[str], rows: Iterable[Sequence[object]], types: Sequence[Any] = ()) -> bytes:
    """A table of Parquet; `types` where they should not be guessed."""
    parts = list(zip(*rows, strict=True)) or [()] * len(names)
    kinds = types or [None] * len(names)
    arrays = {name: pa.array(part, kind) for name, part, kind in zip(names, parts, kinds, strict=True)}
    out = io.BytesIO()
    parquet.write_table(pa.table(arrays), out)
    return out.getvalue()


Writer = Callable[[Made], bytes]
_PYTERRIER = ("qid", "docno", "score", "rank")

RUNS: Mapping[str, Writer] = {
    "TREC": lambda material: lines(((q, "Q0", p, r, repr(s), "t") for q, p, r, s in material.ranked()), " "),
    "TREC, ranks from 0, tabs": lambda material: lines(
        (q, "Q0", p, r - 1, repr(s), "t") for q, p, r, s in material.ranked()
    ),
    "MS MARCO": lambda material: lines((q, p, r) for q, p, r, _ in material.ranked()),
    "MIRACL": lambda material: lines(
        ((q, "Q0", p, r, f"{s:.6f}", "Anserini") for q, p, r, s in material.ranked()), " "
    ),
    "PyTerrier, CSV": lambda material: table(_PYTERRIER, ((q, p, s, r - 1) for q, p, r, s in material.ranked())),
    "PyTerrier, TSV": lambda material: table(_PYTERRIER, ((q, p, s, r - 1) for q, p, r, s in material.ranked()), "\t"),
    "PyTerrier, with queries": lambda material: table(
        ("qid", "query", "docid", "docno", "rank", "score"),
        ((q, material.queries.get(q, "?"), n, p, r - 1, s) for n, (q, p, r, s) in enumerate(material.ranked())),
    ),
    "PyTerrier, Parquet": lambda material: columns(_PYTERRIER, ((q, p, s, r - 1) for q, p, r, s in material.ranked())),
    "ranx, Parquet": lambda material: columns(
        ("q_id", "doc_id", "score"), ((q, p, s) for q, p, _, s in material.ranked())
    ),
    "ranx, JSON": lambda material: json.dumps({query: dict(hits) for query, hits in material.run.items()}).encode(),
    "ir_datasets, JSON lines": lambda material: records(
        ("query_id", "doc_id", "score"), ((q, p, s) for q, p, _, s in material.ranked())
    ),
    "ir_datasets, TSV with names": lambda material: table(
        ("query_id", "doc_id", "score"), ((q, p, s) for q, p, _, s in material.ranked()), "\t"
    ),
}

QRELS: Mapping[str, Writer] = {
    "TREC": lambda material: lines(((q, 0, p, g) for q, p, g in material.graded()), " "),
    "MS MARCO": lambda material: lines((q, 0, p, g) for q, p, g in material.graded()),
    "MIRACL": lambda material: lines((q, "Q0", p, g) for q, p, g in material.graded()),
    "prefj": lambda material: lines(((q, 0, p, f"{g}.0") for q, p, g in material.graded()), " "),
    "BEIR": lambda material: table(("query-id", "corpus-id", "score"), material.graded(), "\t"),
    "MTEB, Parquet": lambda material: columns(("query-id", "corpus-id", "score"), material.graded()),
    "MTEB, Parquet with fractions": lambda material: columns(
        ("query-id", "corpus-id", "score"), material.graded(), (pa.string(), pa.large_string(), pa.float64())
    ),
    "MTEB, JSON lines": lambda material: records(("query-id", "corpus-id", "score"), material.graded()),
    "ir_datasets, JSON lines": lambda material: records(
        ("query_id", "doc_id", "relevance", "iteration"), ((*row, "0") for row in material.graded())
    ),
    "PyTerrier, CSV": lambda material: table(("qid", "docno", "label"), material.graded()),
    "PyTerrier, TSV in another order": lambda material: table(
        ("label", "iteration", "docno", "qid"), ((g, "Q0", p, q) for q, p, g in material.graded()), "\t"
    ),
    "PyTerrier, Parquet": lambda material: columns(("qid", "docno", "label"), material.graded()),
    "ranx, Parquet": lambda material: columns(("q_id", "doc_id", "score"), material.graded()),
    "ranx, JSON": lambda material: json.dumps(material.qrels).encode(),
}

QUERIES: Mapping[str, Writer] = {
    "TREC, MS MARCO, MIRACL": lambda material: lines(material.queries.items()),
    "BEIR": lambda material: records(
        ("_id", "text", "metadata"),
        ((q, text, {} if n % 2 else {"n": n}) for n, (q, text) in enumerate(material.queries.items())),
    ),
    "MTEB, Parquet": lambda material: columns(("_id", "text"), material.queries.items()),
    "ir_datasets": lambda material: records(("query_id", "text"), material.queries.items()),
    "PyTerrier, CSV": lambda material: table(("qid", "query"), material.queries.items()),
}  # fmt: skip


def _beir(material: Made) -> bytes:
    """Where there is no title, it is empty, missing or null in turn, and metadata come and go."""
    outputs = []
    for number, (passage, (title, text)) in enumerate(material.passages.items()):
        record: dict[str, Any] = {"_id": passage, "title": title, "text": text}
        if not title and number % 3:
            record["title"] = None
            if number % 3 == 1:
                del record["title"]
        if number % 2:
            record["metadata"] = {} if number % 4 == 1 else {"url": "x"}
        outputs.append(json.dumps(record))
    return "".join(line + "\n" for line in outputs).encode()


def _titled(material: Made) -> list[tuple[str, str, str]]:
    return [(passage, *parts) for passage, parts in material.passages.items()]


PASSAGES: Mapping[str, Writer] = {
    "MS MARCO": lambda material: lines((p, material.text(p)) for p in material.passages),
    "MS MARCO v2": lambda material: records(("pid", "passage"), ((p, material.text(p)) for p in material.passages)),
    "MS MARCO v2, documents": lambda material: records(
        ("url", "title", "headings", "body", "docid"), (("x", t, "", text, p) for p, t, text in _titled(material))
    ),
    "MS MARCO v2.1": lambda material: records(
        ("docid", "title", "headings", "segment", "start_char"),
        ((p, t, "", text, 0) for p, t, text in _titled(material)),
    ),
    "BEIR": _beir,
    "MTEB, Parquet": lambda material: columns(("_id", "title", "text"), _titled(material)),
    "MTEB, CSV": lambda material: table(("_id", "title", "text"), _titled(material)),
    "MIRACL": lambda material: records(("docid", "title", "text"), _titled(material)),
    "ir_datasets": lambda material: records(("doc_id", "title", "text"), _titled(material)),
    "Pyserini": lambda material: records(("id", "contents"), ((p, material.text(p)) for p in material.passages)),
    "PyTerrier, CSV": lambda material: table(("docno", "text"), ((p, material.text(p)) for p in material.passages)),
}


def _said(judgment: Judged) -> str:
    return {judgment.a: "left", judgment.b: "right"}.get(judgment.preferred, "tie")


def _exported(material: Made) -> bytes:
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
        for n, j in enumerate(material.judgments)
    ]
    return table(names, rows, "\t")


def _mturk(material: Made, *, lower: bool = False, turkle: bool = False, several: int = 1) -> bytes:
    """Results of a batch, with rejected work between. `several`: comparisons that a HIT shows."""
    numbers = ["" if several == 1 else str(n) for n in range(1, several + 1)]
    names = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "SubmitTime"]
    names += [f"Input.{name}{n}" for n in numbers for name in ("query", "a", "b")]
    names += [f"Answer.preferred{n}" for n in numbers]
    if turkle:
        names += ["Turkle.Username"]
    rows = []
    groups: list[list[Judged]] = []
    for judgment in material.judgments:  # a HIT's are one worker's
        if groups and len(groups[-1]) < several and groups[-1][-1].worker == judgment.worker:
            groups[-1].append(judgment)
        else:
            groups.append([judgment])
    for number, group in enumerate(groups):
        filled = [*group, *[Judged("", "", "", "", "")] * (several - len(group))]
        values = [value for judgment in filled for value in (judgment.query, judgment.a, judgment.b)]
        answers = ["" if not judgment.query else _said(judgment) for judgment in filled]
        ends = [group[0].worker] if turkle else []
        time = f"Sat Nov 28 10:{number:02}:00 PST 2026"
        rows.append([f"H{number}", f"A{number}", group[0].worker, "Approved", time, *values, *answers, *ends])
        wrong = ["" if not word else "right" if word == "left" else "left" for word in answers]
        if number % 2 and not turkle:
            rows.append([f"H{number}", f"R{number}", group[0].worker, "Rejected", time, *values, *wrong, *ends])
    return table([name.lower() for name in names] if lower else names, rows)


def _label_studio(material: Made, twice: bool = False) -> bytes:
    """A task for each pair, with its annotations; those without a worker have none (`null`)."""
    tasks: dict[tuple[str, str, str], list[Any]] = {}
    for number, judgment in enumerate(material.judgments):
        answers = [] if not judgment.preferred else [{"type": "pairwise", "value": {"selected": _said(judgment)}}]
        worker = int(judgment.worker) if judgment.worker else None
        annotation = {"id": number, "completed_by": worker, "result": answers, "was_cancelled": False}
        tasks.setdefault((judgment.query, judgment.a, judgment.b), []).append(annotation)
    exported = [
        {"id": number, "data": {"query_id": query, "a": a, "b": b}, "annotations": annotations}
        for number, ((query, a, b), annotations) in enumerate(tasks.items())
    ]
    return json.dumps(exported * 2 if twice else exported, indent=1).encode()


def _label_studio_rows(material: Made) -> list[dict[str, Any]]:
    return [
        {
            "id": number, "query_id": judgment.query, "a": judgment.a, "b": judgment.b,
            "annotator": int(judgment.worker) if judgment.worker else None,
            "annotation_id": number, "created_at": f"2026-01-01T00:{number:02}:00.5Z", "lead_time": 1.5,
            "preferred": [{"selected": _said(judgment)}],
        }
        for number, judgment in enumerate(material.judgments)
    ]  # fmt: skip


def _label_studio_table(material: Made, delimiter: str) -> bytes:
    rows = _label_studio_rows(material)
    rows_of_text = [[json.dumps(value) if isinstance(value, list) else value for value in row.values()] for row in rows]
    return table(list(rows[0]), rows_of_text, delimiter)


def _potato(material: Made) -> bytes:
    records_of_user = [
        {
            "user_id": judgment.worker or None, "instance_id": f"{judgment.query}\t{judgment.a}\t{judgment.b}",
            "label_annotations": {"preferred": {"selection": _said(judgment)}}, "behavioral_data": {},
        }
        for judgment in material.judgments
    ]  # fmt: skip
    return "".join(json.dumps(entry) + "\n" for entry in records_of_user).encode()


def _potato_table(material: Made, delimiter: str) -> bytes:
    rows = [
        (judgment.worker, f"{judgment.query}|{judgment.a}|{judgment.b}", _said(judgment))
        for judgment in material.judgments
    ]
    return table(("user", "instance_id", "preferred:::selection"), rows, delimiter)


JUDGMENTS: Mapping[str, Writer] = {
    "lines": lambda material: lines(
        ((j.query, j.a, j.b, j.preferred or "=", j.worker) for j in material.judgments), " "
    ),
    "lines with names": lambda material: table(
        ("query", "a", "b", "preferred", "worker"),
        ((j.query, j.a, j.b, j.preferred or "=", j.worker) for j in material.judgments), "\t",
    ),
    "a campaign's export": _exported,
    "Mechanical Turk": _mturk,
    "Mechanical Turk, lower case": lambda material: _mturk(material, lower=True),
    "Mechanical Turk, several a HIT": lambda material: _mturk(material, several=3),
    "Turkle": lambda material: _mturk(material, turkle=True),
    "Label Studio": _label_studio,
    "Label Studio, exported twice": lambda material: _label_studio(material, twice=True),
    "Label Studio, JSON-MIN": lambda material: json.dumps(_label_studio_rows(material)).encode(),
    "Label Studio, CSV": lambda material: _label_studio_table(material, ","),
    "Label Studio, TSV": lambda material: _label_studio_table(material, "\t"),
    "Potato": _potato,
    "Potato, CSV": lambda material: _potato_table(material, ","),
    "Potato, TSV": lambda material: _potato_table(material, "\t"),
}  # fmt: skip


def prefj(material: Made) -> bytes:
    """What prefj.py takes: the preferred passage first, without ties or workers."""
    decided = (judgment for judgment in material.judgments if judgment.preferred)
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
    ids = IDS.filter(lambda id_: id_ not in ("query", "docno"))
    queries = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    passages = draw(st.lists(ids, min_size=3, max_size=6, unique=True))
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
