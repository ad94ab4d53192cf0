"""What a campaign's export files hold: qrels, pairs, judgments and the manifest. The same rows give the same bytes.

Nothing in it names a worker: pseudonyms are keyed with a secret of the campaign, so they hold within its exports and
lead nowhere else.
"""

import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from core.snapshot import one_moment
from core.version import VERSION
from evaluation.files.preferences import TIE, Preference
from evaluation.judging.equal_texts import answers_by_id
from evaluation.judging.tournament import graded_levels
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence, PairKey
from judgments.models import Reuse
from pools import selectors as pool_selectors
from pools.models import Campaign, QrelsVersion
from pools.settings import settings_of
from runs import selectors as run_selectors
from tasks import selectors as task_selectors
from tasks.names import pseudonym

JUDGMENT_COLUMNS = (
    "judgment", "worker", "hit", "assignment", "position", "kind", "query", "a", "b", "left", "preferred", "shown_at",
    "made_at", "seconds", "verdict", "accepted", "superseded", "translated",
)  # fmt: skip
REPORT_COLUMNS = (
    "report", "worker", "hit", "assignment", "position", "kind", "query", "a", "b", "reason", "made_at", "withdrawn_at",
    "verdict", "set_aside",
)  # fmt: skip
PAIR_COLUMNS = ("query", "a", "b", "a_preferred", "b_preferred", "needed")
# One more column of pairs in a campaign that has ties, one in a campaign with adjudications, and one in a campaign
# whose judgments have weights.
TIES, ADJUDICATED, WEIGHED = "ties", "adjudicated", "weighed"
ADJUDICATION_COLUMNS = (
    "query", "a", "b", "choice", "a_preferred", "b_preferred", "by", "at", "note", "undone_by", "undone_at",
)  # fmt: skip
TWIN_COLUMNS = ("query", "passage", "also")
REUSED_COLUMNS = (
    "query", "a", "b", "preferred", "slot", "source", "name", "judgment", "line", "made_at", "counts",
)  # fmt: skip
# With texts, as the paper's authors released theirs: `category` is A or B for a champion check, `qrel` says which of
# the two is an original qrel (a, b, both or nothing), `preferred` which the majority preferred (a, b, or nothing), or
# what was decided on the pair if `adjudicated` says so (a, b or tie), or what `weighed` says. `a_also` and `b_also` are
# other ids of the same text.
JUDGED_COLUMNS = (
    "query", "query_text", "category", "qrel", "preferred", "a_preferred", "b_preferred", "a", "a_text", "b", "b_text",
    "a_also", "b_also",
)  # fmt: skip
# File names, in the order in which they are shown, with what they hold.
NAMES = {
    "preference-qrels.txt": "preference qrels (TREC)",
    "preference-qrels.tsv": "preference qrels (MS MARCO)",
    "preference-qrels.csv": "preference qrels (PyTerrier: qid, docno, label)",
    "original-and-preference-qrels.txt": "original and preference qrels together (TREC)",
    "graded-preference-qrels.txt": "every passage of the pools with a grade: the winners' is the highest (TREC)",
    "preferences.txt": "every judgment that counts: query, a, b, preferred",
    "counted-preferences.txt": "the same as the tournament counts them: with what people decided on adjudicated pairs",
    "pairs.tsv": "every pair with its outcome",
    "pairs.jsonl": "every pair with its outcome",
    "judged-pairs.tsv": "every judged pair with its texts, and which passage is the qrel",
    "judged-pairs.jsonl": "every judged pair with its texts, and which passage is the qrel",
    "equal-texts.tsv": "every other id under which the collection has the text of a pooled passage",
    "judgments.tsv": "every judgment, with pseudonym, side shown and times",
    "judgments.jsonl": "every judgment, with pseudonym, side shown and times",
    "pair-reports.tsv": "every report that something is wrong with a pair",
    "pair-reports.jsonl": "every report that something is wrong with a pair",
    "adjudications.tsv": "what people decided on pairs whose judgments disagree",
    "adjudications.jsonl": "what people decided on pairs whose judgments disagree",
    "reused-judgments.tsv": "every reused judgment, with its source",
    "reused-judgments.jsonl": "every reused judgment, with its source",
    "manifest.json": "settings, counts, hashes of the files, software version",
}
MANIFEST = "manifest.json"
ARCHIVE = "all.zip"
LINES = 5_000  # at once in memory
CHUNK = 1 << 20


class Source(Evidence):
    """The evidence with what several files are made of besides."""

    @cached_property
    def original_qrels(self) -> list[tuple[str, str, int]]:
        """The original qrels, in the order of their file."""
        return list(run_selectors.collection_qrels(self.campaign.collection))

    @cached_property
    def categories(self) -> dict[tuple[str, str, str], str]:
        """For a champion check, by pair: A where the run's top passage is the qrel, B where it is not."""
        if not self.campaign.champion_split:
            return {}
        return {row.pair: row.category.upper() for row in pool_selectors.champion_asked(self.campaign)}

    @cached_property
    def twins(self) -> dict[tuple[str, str], list[str]]:
        """By `(query id, passage id)` of a candidate, the other ids of its text that may leave, sorted."""
        by_candidate: dict[tuple[str, str], list[str]] = {}
        for query, of_query in self.stands_for.items():
            for twin, candidate in sorted(of_query.items()):
                if self.may_leave(query, twin):
                    by_candidate.setdefault((query, candidate), []).append(twin)
        return by_candidate

    @cached_property
    def tests(self) -> dict[int, tuple[str, str, str]]:
        """Query, relevant and off-topic passage of the test pairs, by their ids or, where they have none, by names."""
        tests = self.campaign.test_pairs.select_related("query", "relevant", "off_topic")
        return {
            test.pk: (
                test.query.qid if test.query else "",
                test.relevant.pid if test.relevant else f"test-{test.pk}-relevant",
                test.off_topic.pid if test.off_topic else f"test-{test.pk}-off-topic",
            )
            for test in tests
        }

    @cached_property
    def qrels(self) -> list[tuple[str, str]]:
        """`(query id, passage id)` of the preference qrels that may leave, by every id of their texts, sorted."""
        answers = answers_by_id(self.derived.qrels, self.stands_for, self.withheld)
        return sorted((query, pid) for query, pids in answers.items() for pid in pids)

    @cached_property
    def held_back(self) -> set[str]:
        """The queries with a best known answer that may not leave. What is left of their answers would be wrong."""
        return {query for query, passage in self.derived.qrels if not self.may_leave(query, passage)}

    def may_leave(self, query: str, *pids: str) -> bool:
        """Whether all of these passages of a query may leave."""
        return not self.withheld or not any((query, pid) in self.withheld for pid in pids)


def export_to(campaign: Campaign, folder: Path) -> list[Path]:
    """Write all export files into a folder, as of one moment, each whole or not at all, and return their paths.

    The manifest comes last and describes the others.
    """
    with one_moment():
        return write_files(Source(campaign), folder)


def write_files(source: Source, folder: Path) -> list[Path]:
    """The same within the caller's moment."""
    summaries = {name: _Summary() for name in NAMES if name != MANIFEST}
    for name, make in _MAKE.items():
        write_whole(folder / name, summaries[name].of(make(source)))
    for name, (columns, records) in _TABLES.items():
        _write_table(folder, name, columns(source), records(source), summaries)
    return [*(folder / name for name in summaries), write_whole(folder / MANIFEST, [_manifest(source, summaries)])]


class _Summary:
    """Length, hash and lines of a file, counted while it is made."""

    def __init__(self) -> None:
        self.bytes = self.lines = 0
        self.sha256 = hashlib.sha256()

    def of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.bytes += len(chunk)
            self.lines += chunk.count(b"\n")
            self.sha256.update(chunk)
            yield chunk


def _write_table(
    folder: Path,
    name: str,
    columns: Sequence[str],
    records: Iterable[dict[str, Any]],
    summaries: Mapping[str, _Summary],
) -> None:
    """Write records as TSV, and as lines of JSON where there is such a file, in one pass: making them takes long."""
    tsv, jsonl = summaries[f"{name}.tsv"], summaries.get(f"{name}.jsonl")
    with ExitStack() as stack:
        table = stack.enter_context(_whole(folder / f"{name}.tsv"))
        lines = stack.enter_context(_whole(folder / f"{name}.jsonl")) if jsonl else None
        table.writelines(tsv.of([_tsv(columns, [])]))
        while part := list(islice(records, LINES)):
            table.writelines(tsv.of([_tsv(columns, part)]))
            if lines and jsonl:
                lines.writelines(jsonl.of(_lines(map(_ENCODE, part))))


def write_zip(files: Mapping[str, Path], target: Path | IO[bytes]) -> None:
    """Files by name as one archive, without times of its own: the same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            with path.open("rb") as file, archive.open(_entry(name), "w") as member:
                shutil.copyfileobj(file, member, CHUNK)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def write_whole(target: Path, chunks: Iterable[bytes]) -> Path:
    """Write a file, whole or not at all, and return its path."""
    with _whole(target) as file:
        file.writelines(chunks)
    return target


@contextmanager
def _whole(target: Path) -> Iterator[IO[bytes]]:
    """A file to write into, which has its name once all is written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    with os.fdopen(handle, "wb") as file:
        yield file
    path = Path(draft)
    path.chmod(0o644)
    path.replace(target)


def _labelled(source: Source) -> Iterator[bytes]:
    return _lines(["qid,docno,label", *(f"{_csv(query)},{_csv(pid)},1" for query, pid in source.qrels)])


def _csv(value: str) -> str:
    """An id as a value of CSV."""
    return '"' + value.replace('"', '""') + '"' if "," in value or '"' in value else value


def _qrels(source: Source, between: str) -> Iterator[bytes]:
    return _lines(between.join((query, "0", pid, "1")) for query, pid in source.qrels)


def _merged(source: Source) -> Iterator[bytes]:
    """Original qrels in their own order, then the best known answers that were not among them, with grade 1."""
    grades = {(query, pid): grade for query, pid, grade in source.original_qrels}
    for key in source.qrels:
        grades[key] = max(grades.get(key, 1), 1)
    return _lines(f"{query} 0 {pid} {grade}" for (query, pid), grade in grades.items())


def _graded(source: Source) -> Iterator[bytes]:
    """The levels of `graded_levels`, by every id of their texts, sorted: of the queries that are not held back."""
    grades = graded_levels(source.pools, source.counted, source.derived.qrels)
    every = {
        (query, other): grade
        for (query, pid), grade in grades.items()
        for other in (pid, *source.twins.get((query, pid), ()))
        if query not in source.held_back and source.may_leave(query, other)
    }
    return _lines(f"{query} 0 {pid} {grade}" for (query, pid), grade in sorted(every.items()))


def _preferences(source: Source, preferences: Iterable[Preference]) -> Iterator[bytes]:
    rows = (row for row in preferences if row.query not in source.held_back and source.may_leave(*row[:3]))
    return _lines(f"{query} {a} {b} {TIE if preferred is None else preferred}" for query, a, b, preferred in rows)


def _of_pairs(source: Source, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a file of pairs. Files of campaigns without ties, adjudications or weights stay as they were."""
    return (*columns, *_more_of(source, ("", "", "")))


def _pair_records(source: Source) -> Iterator[dict[str, Any]]:
    needed = source.campaign.slots_needed
    for query, pairs in groupby(judgment_selectors.asked_pairs(source.campaign), key=itemgetter(0)):
        votes = source.votes_on(query)
        for pair in pairs:
            if source.may_leave(*pair):
                row = dict(zip(PAIR_COLUMNS, (*pair, *votes.get(pair, (0, 0)), needed), strict=True))
                yield row | _more_of(source, pair)


def _more_of(source: Source, pair: tuple[str, str, str]) -> dict[str, Any]:
    """The columns of a pair that only some campaigns have: its ties, and how it counts where its judgments disagree."""
    ties = {TIES: source.ties[pair]} if source.ties else {}
    better: dict[str, Mapping[PairKey, str | None]] = {ADJUDICATED: source.decided, WEIGHED: source.weighed}
    sides = {None: "tie", pair[1]: "a", pair[2]: "b"}
    return ties | {name: sides[rows[pair]] if pair in rows else "" for name, rows in better.items() if rows}


def _judged_records(source: Source) -> Iterator[dict[str, Any]]:
    campaign = source.campaign
    qrels = {
        (query, source.stands_for.get(query, {}).get(pid, pid))
        for query, pid, grade in source.original_qrels
        if grade >= campaign.min_grade
    }
    judged = (row for row in _pair_records(source) if row["a_preferred"] or row["b_preferred"] or row.get(TIES))
    while rows := list(islice(judged, LINES)):
        queries, passages = run_selectors.texts_of(
            campaign.collection, qids={row["query"] for row in rows}, pids={row[side] for row in rows for side in "ab"}
        )
        for row in rows:
            query, a, b = row["query"], row["a"], row["b"]
            of_qrels = [side for side, pid in (("a", a), ("b", b)) if (query, pid) in qrels]
            difference = row["a_preferred"] - row["b_preferred"]
            majority = "a" if difference > 0 else "b" if difference else ""
            more = _more_of(source, (query, a, b))
            counts = more.get(ADJUDICATED) or more.get(WEIGHED) or majority
            yield {
                "query": query,
                "query_text": queries[query],
                "category": source.categories.get((query, a, b), ""),
                "qrel": "both" if len(of_qrels) > 1 else "".join(of_qrels),
                "preferred": counts.replace("tie", ""),
                "a_preferred": row["a_preferred"],
                "b_preferred": row["b_preferred"],
                "a": a,
                "a_text": passages[a],
                "b": b,
                "b_text": passages[b],
                "a_also": source.twins.get((query, a), []),
                "b_also": source.twins.get((query, b), []),
                **more,
            }


def _twin_records(source: Source) -> Iterator[dict[str, Any]]:
    for (query, pid), twins in sorted(source.twins.items()):
        if source.may_leave(query, pid):
            yield from ({"query": query, "passage": pid, "also": twin} for twin in twins)


def _judgment_records(source: Source) -> Iterator[dict[str, Any]]:
    campaign = source.campaign
    name_of = cache(lambda worker: pseudonym(campaign, worker))
    for row in judgment_selectors.judgment_rows(campaign):
        query, a, b = row.qid, row.a, row.b
        if row.test_id is not None:
            query, a, b = source.tests[row.test_id]
        elif not source.may_leave(str(query), str(a), str(b)):
            continue
        yield {
            "judgment": row.pk,
            "worker": name_of(row.worker_id),
            "hit": row.hit,
            "assignment": row.assignment_id,
            "position": row.position,
            "kind": "pair" if row.test_id is None else "test",
            "query": query,
            "a": a,
            "b": b,
            "left": a if row.a_left else b,
            "preferred": judgment_selectors.preferred_of(str(a), str(b), row.prefers_a) or TIE,
            "shown_at": row.shown_at.isoformat(),
            "made_at": row.made_at.isoformat(),
            "seconds": round((row.made_at - row.shown_at).total_seconds(), 3),
            "verdict": row.verdict,
            "accepted": row.accepted,
            "superseded": row.superseded,
            "translated": row.is_translated,
        }


def _report_records(source: Source) -> Iterator[dict[str, Any]]:
    for row in judgment_selectors.report_rows(source.campaign):
        query, a, b = row.qid, row.a, row.b
        if row.test_id is not None:
            query, a, b = source.tests[row.test_id]
        elif not source.may_leave(str(query), str(a), str(b)):
            continue
        worker, withdrawn = pseudonym(source.campaign, row.worker_id), row.withdrawn_at
        values = (
            row.pk, worker, row.hit, row.assignment_id, row.position, "pair" if row.test_id is None else "test", query,
            a, b, row.reason, row.made_at.isoformat(), withdrawn.isoformat() if withdrawn else "", row.verdict,
            bool(row.is_set_aside),
        )  # fmt: skip
        yield dict(zip(REPORT_COLUMNS, values, strict=True))


def _adjudication_records(source: Source) -> Iterator[dict[str, Any]]:
    """Every decision on a pair, those taken back too, in the order in which they were made."""
    campaign = source.campaign
    rows = campaign.adjudications.select_related("pair__pool__query", "pair__a", "pair__b").order_by("id")
    for row in rows.iterator(chunk_size=LINES):
        query, a, b = row.pair.pool.query.qid, row.pair.a.pid, row.pair.b.pid
        if not source.may_leave(query, a, b):
            continue
        undone_by = "" if row.undone_by_id is None else pseudonym(campaign, row.undone_by_id, "person")
        votes = source.votes_on(query).get((query, a, b), (0, 0))
        values = (
            query, a, b, row.choice, *votes, pseudonym(campaign, row.by_id, "person"), row.at.isoformat(),
            " ".join(row.note.split()), undone_by, row.undone_at.isoformat() if row.undone_at else "",
        )  # fmt: skip
        yield dict(zip(ADJUDICATION_COLUMNS, values, strict=True))


def _reused_records(source: Source) -> Iterator[dict[str, Any]]:
    reuses = {reuse.pk: reuse for reuse in judgment_selectors.reuses_of(source.campaign)}
    for row in source.reused:
        if source.may_leave(row.query, row.a, row.b):
            kind, name = _source_of(reuses[row.reuse_id])
            preferred, made_at = row.preference.preferred or TIE, row.made_at.isoformat()
            values = (
                row.query, row.a, row.b, preferred, row.slot, kind, name, row.judgment, row.line, made_at, row.counts,
            )  # fmt: skip
            yield dict(zip(REUSED_COLUMNS, values, strict=True))


def _source_of(reuse: Reuse) -> tuple[str, str]:
    """What kind of source it is, and its name."""
    return ("import", str(reuse.imported)) if reuse.source is None else ("campaign", reuse.source.name)


def _reuse_manifest(source: Source) -> dict[str, Any]:
    """How much is reused, and from where. Files made without reuse stay as they were."""
    withdrawn = Counter(row.reuse_id for row in source.reused if not row.counts)
    sources = []
    for reuse in judgment_selectors.reuses_of(source.campaign):
        kind, name = _source_of(reuse)
        details: dict[str, object] = {"question": reuse.source.question} if reuse.source else {}
        if reuse.imported:
            details = {"sha256": reuse.imported.sha256, "note": reuse.imported.note}
        counts = {"judgments": reuse.judgment_count, "withdrawn": withdrawn[reuse.pk]}
        sources.append({kind: name, **details, **counts})
    return {"pairs": source.campaign.reused_pair_count, "judgments": len(source.reused), "sources": sources}


def _manifest(source: Source, files: Mapping[str, _Summary]) -> bytes:
    campaign, derived = source.campaign, source.derived
    sizes = Counter(Counter(query for query, _ in derived.qrels if query not in source.held_back).values())
    progress = task_selectors.progress(campaign)
    consent = task_selectors.current_consent(campaign)
    manifest = {
        "campaign": campaign.name,
        "collection": campaign.collection.name,
        "software": f"bestknown {VERSION}",
        "currency": campaign.currency,
        "settings": {
            field.name: _plain(value)
            for field in settings_of(Campaign)
            if (value := getattr(campaign, field.name)) is not None or field.name != "confirm_level"  # older have none
        },
        **({"error_model": campaign.error_model} if campaign.error_model else {}),
        **({"example": _example(campaign)} if campaign.example_query else {}),
        "consent": None if consent is None else {"version": consent.version, "sha256": _sha256(consent.text.encode())},
        "runs": [{"name": run.name, "sha256": run.sha256} for run in campaign.runs.order_by("name")],
        "counts": {
            "pairs": files["pairs.jsonl"].lines,
            "hits": progress.hits,
            "workers": progress.workers,
            "assignments": {"accepted": progress.accepted, "excluded": progress.excluded, "left": progress.left},
            "judgments": files["judgments.jsonl"].lines,
            "judgments accepted": sum(source.may_leave(*row[:3]) for row in source.preferences),
            **({"pairs adjudicated": len(source.decided)} if source.decided else {}),
            **({"pairs weighed": len(source.weighed.keys() - source.decided.keys())} if source.weighed else {}),
            "qrels": {
                "pools": derived.single + sum(derived.deadlocks.values()) + len(derived.incomplete),
                "single": sizes[1],
                "deadlocks": {str(size): count for size, count in sorted(sizes.items()) if size > 1},
                "incomplete": len(derived.incomplete),
            },
        },
        **({"imported": campaign.origin} if campaign.is_imported else {}),
        **({"reused": _reuse_manifest(source)} if source.reused else {}),
        **({"ids of equal texts": files["equal-texts.tsv"].lines - 1} if source.twins else {}),
        **({"withheld passages": len(source.withheld)} if source.withheld else {}),
        **({"queries held back": len(source.held_back)} if source.held_back else {}),
        "files": {
            name: {"what": NAMES[name], "bytes": summary.bytes, "sha256": summary.sha256.hexdigest()}
            for name, summary in files.items()
        },
    }
    return (json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _example(campaign: Campaign) -> dict[str, str]:
    """The worked example of its own that workers saw."""
    return {name: getattr(campaign, f"example_{name}") for name in ("query", "better", "worse", "why")}


def _plain(value: object) -> object:
    if isinstance(value, QrelsVersion):
        return {"number": value.number, "sha256": value.sha256}
    return value if isinstance(value, bool | int | None) else str(value)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines, in parts of some thousand."""
    left = iter(lines)
    while part := list(islice(left, LINES)):
        yield "".join(f"{line}\n" for line in part).encode()


def _tsv(columns: Sequence[str], records: Sequence[dict[str, Any]]) -> bytes:
    """Records as rows, or their head if there are none."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, escapechar="\\")
    on_one_line = [column for column in columns if column.endswith("_text")]
    for record in records:
        row = record | {name: " ".join(record[name].split()) for name in on_one_line} if on_one_line else record
        writer.writerow([_tsv_value(row[column]) for column in columns])
    if not records:
        writer.writerow(columns)
    return buffer.getvalue().encode()


def _tsv_value(value: object) -> object:
    if type(value) is str:
        return value
    if isinstance(value, list):
        return " ".join(value)
    return str(value).lower() if isinstance(value, bool) else value


_ENCODE = json.JSONEncoder(ensure_ascii=False).encode

_MAKE: dict[str, Callable[[Source], Iterator[bytes]]] = {
    "preference-qrels.txt": lambda source: _qrels(source, " "),
    "preference-qrels.tsv": lambda source: _qrels(source, "\t"),
    "preference-qrels.csv": _labelled,
    "original-and-preference-qrels.txt": _merged,
    "graded-preference-qrels.txt": _graded,
    "preferences.txt": lambda source: _preferences(source, source.preferences),
    "counted-preferences.txt": lambda source: _preferences(source, source.counted),
}
# By name, the columns and records of what is written as TSV and as lines of JSON.
_TABLES: dict[str, tuple[Callable[[Source], Sequence[str]], Callable[[Source], Iterator[dict[str, Any]]]]] = {
    "pairs": (lambda source: _of_pairs(source, PAIR_COLUMNS), _pair_records),
    "judged-pairs": (lambda source: _of_pairs(source, JUDGED_COLUMNS), _judged_records),
    "equal-texts": (lambda _source: TWIN_COLUMNS, _twin_records),
    "judgments": (lambda _source: JUDGMENT_COLUMNS, _judgment_records),
    "pair-reports": (lambda _source: REPORT_COLUMNS, _report_records),
    "adjudications": (lambda _source: ADJUDICATION_COLUMNS, _adjudication_records),
    "reused-judgments": (lambda _source: REUSED_COLUMNS, _reused_records),
}
