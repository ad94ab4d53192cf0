"""What files hold, and what tools and people call it: data, by which one reader reads all of them.

A *kind* is what the rows of a file are: `query, passage, rank | score` is a run. A *role* is what a column is in such
a row, with its type (evaluation.files.kinds) and the names that it goes by, most telling first. A *dialect* is a tool's
way to write a kind: the names in its header or records, by which it is known. To read a further tool, add its names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


class Role(NamedTuple):
    """What a column is, its type, and what it is called, in lower case. `needed`: no row is without it."""

    name: str
    type: str
    names: tuple[str, ...]
    needed: bool = True


class Kind(NamedTuple):
    """What rows are. `orders`: roles by column where a file has no names; an empty one is skipped. `have` begins the
    sentence that says how many columns there should be, `needs` names them where a file has names. `one_of`: roles of
    which one has to be there. `is_text`: without names, columns are parted by tabs alone, and the last one is the rest
    of the line, tabs and all. `with_address`: their order where the second is an address on the web. `may_end`: what
    a row may lack at its end.
    """

    name: str
    have: str
    needs: str
    roles: tuple[Role, ...]
    orders: tuple[tuple[str, ...], ...] = ()
    one_of: tuple[str, ...] = ()
    is_text: bool = False
    with_address: tuple[str, ...] = ()
    may_end: tuple[str, ...] = ()


class Dialect(NamedTuple):
    """A tool's names for what it writes, in lower case, by all of which together it is known. `by_roles`: its rows are
    read by the roles of its kind; else its reader takes them by its own names.
    """

    name: str
    kind: str
    names: frozenset[str]
    by_roles: bool = True


_QUERY = ("qid", "query_id", "query-id", "q_id", "queryid", "topic_id", "topic", "query")
_PASSAGE = (
    *("docno", "doc_id", "corpus-id", "corpus_id", "pid", "passage_id", "passage-id", "docid", "doc-id"),
    *("document_id", "did", "passage", "document", "doc"),
)
_LEFT = ("a", "passage_a", "doc_a", "docid_a", "docno_a", "pid_a", "id_a", "left", "left_id", "doc1", "passage1", "id1")
_RIGHT = (
    *("b", "passage_b", "doc_b", "docid_b", "docno_b", "pid_b", "id_b", "right", "right_id", "doc2", "passage2", "id2"),
)
_ID = ("id", "_id", "qid", "pid", "query_id", "query-id", "q_id", "passage_id", "corpus-id", "doc_id", "docid", "docno")
_BODY = ("text", "contents", "passage", "segment", "body", "document", "abstract")

_PAIR = (Role("query", "id", _QUERY), Role("a", "id", _LEFT), Role("b", "id", _RIGHT))
_PREFERRED = Role(
    "preferred",
    "word",
    ("preferred", "preference", "choice", "answer", "best", "winner", "selection", "label", "category"),
    needed=False,
)
_WORKER = Role(
    "worker", "word", ("worker", "worker_id", "workerid", "annotator", "user", "user_id", "assessor"), needed=False
)
_TIME = Role("time", "word", ("time", "made_at", "timestamp", "at", "created_at"), needed=False)

_KINDS = (
    Kind(
        "run",
        "a run has",
        "qid, docno, and score or rank",
        (
            Role("query", "id", _QUERY),
            Role("passage", "id", _PASSAGE),
            Role("rank", "rank", ("rank",), needed=False),
            Role("score", "score", ("score", "sim", "similarity"), needed=False),
        ),
        (("query", "", "passage", "rank", "score", ""), ("query", "passage", "rank")),
        one_of=("rank", "score"),
    ),
    Kind(
        "qrels",
        "qrels have",
        "qid, docno, label; query-id, corpus-id, score; or the like",
        (
            Role("query", "id", _QUERY),
            Role("passage", "id", _PASSAGE),
            Role("grade", "grade", ("label", "relevance", "grade", "rel", "score")),
        ),
        (("query", "", "passage", "grade"),),
    ),
    Kind(
        "queries",
        "queries have",
        "an id (id, _id, qid, query_id) and a text (text, query)",
        (Role("id", "id", _ID), Role("text", "text", ("text", "query", "question", "contents", "title", "topic"))),
        (("id", "text"),),
        is_text=True,
    ),
    Kind(
        "passages",
        "passages have",
        "an id (id, _id, docno, docid, pid) and a text (title, text, contents, passage, body)",
        (
            Role("id", "id", _ID),
            Role("text", "text", _BODY, needed=False),
            Role("title", "text", ("title",), needed=False),
            Role("headings", "text", ("headings", "section", "section_title", "abstract"), needed=False),
        ),
        (("id", "text"),),
        one_of=("text", "title", "headings"),
        is_text=True,
        with_address=("id", "", "title", "text"),  # MS MARCO's documents
    ),
    Kind(
        "preferences",
        "preferences have",
        "query, a, b, preferred",
        (*_PAIR, _PREFERRED),
        (("query", "a", "b", "preferred"), ("query", "a", "b")),
    ),
    Kind(
        "judgments",
        "judgments have",
        "query, a, b, preferred, and if known worker and time",
        (*_PAIR, _PREFERRED, _WORKER, _TIME),
        (("query", "a", "b", "preferred", "worker", "time"), ("query", "a", "b")),
        may_end=("worker", "time"),
    ),
    Kind(
        "answers",
        "answers have",
        "query, a, b, preferred",
        (*_PAIR, _PREFERRED._replace(needed=True)),
        (("query", "a", "b", "preferred"),),
    ),
    Kind("pairs", "pairs have", "query, a, b", _PAIR, (("query", "a", "b"),)),
    Kind(
        "pools",
        "pools have",
        "query, passage",
        (Role("query", "id", _QUERY), Role("passage", "id", _PASSAGE)),
        (("query", "passage"),),
    ),
    Kind(
        "test pairs",
        "a test pair has",
        "query, relevant, off_topic",
        (
            Role("query", "id", _QUERY),
            Role("relevant", "id", ("relevant", "relevant_id", "relevant-id")),
            Role("off_topic", "id", ("off_topic", "off-topic", "off_topic_id", "off-topic-id")),
        ),
        (("query", "relevant", "off_topic"),),
    ),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}


def _dialect(name: str, kind: str, names: str, by_roles: bool = True) -> Dialect:
    return Dialect(name, kind, frozenset(names.split()), by_roles)


# Where one holds all names of another, it comes first.
DIALECTS = (
    _dialect("PyTerrier", "run", "qid docno score"),
    _dialect("PyTerrier", "run", "qid docno rank"),
    _dialect("PyTerrier", "qrels", "qid docno label"),
    _dialect("ranx", "run", "q_id doc_id score"),
    _dialect("ranx", "qrels", "q_id doc_id score"),
    _dialect("ir_datasets", "run", "query_id doc_id score"),
    _dialect("ir_datasets", "qrels", "query_id doc_id relevance"),
    _dialect("BEIR", "qrels", "query-id corpus-id score"),
    _dialect("BEIR", "passages", "_id text"),
    _dialect("MTEB", "passages", "id title text"),
    _dialect("MIRACL", "passages", "docid title text"),
    _dialect("MS MARCO v2", "passages", "pid passage"),
    _dialect("MS MARCO v2", "passages", "docid title headings body"),
    _dialect("MS MARCO v2.1", "passages", "docid title headings segment"),
    _dialect("ir_datasets", "passages", "doc_id text"),
    _dialect("PyTerrier", "passages", "docno text"),
    _dialect("Pyserini", "passages", "id contents"),
    _dialect("BEIR", "queries", "_id text"),
    _dialect("ir_datasets", "queries", "query_id text"),
    _dialect("PyTerrier", "queries", "qid query"),
    _dialect(
        "a campaign's judgments.tsv",
        "judgments",
        "worker kind query a b left preferred made_at accepted superseded",
        False,
    ),
    _dialect("Turkle's results", "judgments", "hitid assignmentid workerid turkle.username", False),
    _dialect("Mechanical Turk's results", "judgments", "hitid assignmentid workerid", False),
    _dialect("Label Studio's pairwise export", "judgments", "annotation_id annotator lead_time", False),
    _dialect("Label Studio's pairwise export", "judgments", "annotation_id annotator", False),
    _dialect("Label Studio's pairwise export", "judgments", "data annotations", False),
    _dialect("Potato's output", "judgments", "instance_id user", False),
    _dialect("Potato's output", "judgments", "instance_id user_id", False),
    _dialect("Potato's output", "judgments", "label_annotations", False),
    _dialect("Potato's output", "judgments", "user_id instance_id_to_label_to_value", False),
    _dialect("Potato's output", "judgments", "labels instance_id", False),
    _dialect("Potato's output", "judgments", "labels id", False),
)  # fmt: skip
TABLE = "table"  # the dialect of whatever has names that are known, and is no tool's


class Columns(NamedTuple):
    """Where a row has each role of its kind: by name, in the order of `Kind.roles`; None where it has none."""

    kind: Kind
    names: tuple[str | None, ...]


def columns_of(kind: Kind, names: Iterable[str]) -> Columns | None:
    """Which of a file's names are the roles of a kind, in whatever case; None where one that is needed is missing.

    A name is one role at most, the first that it fits.
    """
    by_name = {name.strip().casefold(): name for name in reversed(list(names))}
    columns: list[str | None] = []
    for role in kind.roles:
        called = next((alias for alias in role.names if alias in by_name), None)
        if called is None and role.needed:
            return None
        columns.append(None if called is None else by_name.pop(called))
    roles = dict(zip((role.name for role in kind.roles), columns, strict=True))
    if kind.one_of and all(roles[role] is None for role in kind.one_of):
        return None
    return Columns(kind, tuple(columns))


def dialect_of(names: Collection[str], kinds: Iterable[str]) -> Dialect | None:
    """The dialect that names belong to, of those that write one of these kinds; `TABLE` of the first kind whose roles
    they hold; None where they hold none.
    """
    called = {name.strip().casefold() for name in names}
    kinds = tuple(kinds)
    for dialect in DIALECTS:
        if dialect.kind in kinds and dialect.names <= called:
            return dialect
    for kind in kinds:
        if columns_of(KINDS[kind], names):
            # What is BEIR's qrels to the letter is a run to nobody.
            others = [other for other in DIALECTS if other.names == called and other.by_roles]
            if others and all(other.kind not in kinds for other in others):
                continue
            return Dialect(TABLE, kind, frozenset(called))
    return None


def is_named(kind: Kind, role: str, value: str) -> bool:
    """Whether a value is a name that the role goes by, rather than something of that role."""
    return any(value.strip().casefold() in of.names for of in kind.roles if of.name == role)
