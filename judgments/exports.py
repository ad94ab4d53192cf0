"""What a campaign gives away: qrels, pairs, judgments and the manifest. The same rows give the same bytes.

Nothing in it names a worker: pseudonyms are keyed with a secret of the campaign, so they hold within its exports and
lead nowhere else.
"""

import csv
import hashlib
import hmac
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from core.snapshot import one_moment
from core.version import VERSION
from judgments import selectors as judgment_selectors
from judgments.models import Judgment
from pools import selectors as pool_selectors
from pools.models import Campaign
from tasks import selectors as task_selectors

SETTINGS = (
    "order", "depth", "min_grade", "qrel_policy", "design", "selection", "query_list", "sample_size", "seed", "overlap",
    "pairs_per_hit", "tests_per_hit", "fill_last_hit", "hits_per_worker", "leaves_per_worker",
    "minutes_per_hit", "exclusion", "partial", "method", "reward", "fee_rate", "redo_rate", "language", "title",
    "question", "instructions",
)  # fmt: skip
JUDGMENT_COLUMNS = (
    "judgment", "worker", "hit", "assignment", "position", "kind", "query", "a", "b", "left", "preferred", "shown_at",
    "made_at", "seconds", "verdict", "accepted", "superseded",
)  # fmt: skip
PAIR_COLUMNS = ("query", "a", "b", "a_preferred", "b_preferred", "needed")
NAMES = {
    "preference-qrels.txt": "preference qrels (TREC)",
    "preference-qrels.tsv": "preference qrels (MS MARCO)",
    "original-and-preference-qrels.txt": "original and preference qrels together (TREC)",
    "preferences.txt": "every judgment that counts: query, a, b, preferred",
    "pairs.tsv": "every pair with its outcome",
    "pairs.jsonl": "every pair with its outcome",
    "judgments.tsv": "every judgment, with pseudonym, side shown and times",
    "judgments.jsonl": "every judgment, with pseudonym, side shown and times",
    "manifest.json": "settings, counts, hashes of the files, software version",
}
"""File names, in the order in which they are shown, with what they hold."""
MANIFEST = "manifest.json"
LINES = 5_000  # at once in memory


def export_files(campaign: Campaign) -> dict[str, bytes]:
    """All export files of a campaign by name, as of one moment. The manifest comes last and describes the others."""
    with one_moment():
        return {name: b"".join(chunks) for name, chunks in _files(campaign)}


def export_write(campaign: Campaign, name: str, file: IO[bytes]) -> None:
    """Write one export file, a part at a time: of the others, nothing is made but what the manifest says of them."""
    with one_moment():
        if name == MANIFEST:
            for each, chunks in _files(campaign):
                for chunk in chunks:
                    if each == MANIFEST:
                        file.write(chunk)
        else:
            file.writelines(_MAKE[name](campaign))


def export_zip_write(campaign: Campaign, file: IO[bytes]) -> None:
    """Write all export files into one archive, a part at a time. The same files give the same bytes."""
    with one_moment(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, chunks in _files(campaign):
            with archive.open(_entry(name), "w") as member:
                for chunk in chunks:
                    member.write(chunk)


def _files(campaign: Campaign) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Every file by name, in parts that are to be read before the next file is asked for; the manifest is the last."""
    summaries = {}
    for name in NAMES:
        if name != MANIFEST:
            summary = summaries[name] = _Summary()
            yield name, summary.of(_MAKE[name](campaign))
    yield MANIFEST, iter([_manifest(campaign, summaries)])


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


def export_zip(campaign: Campaign) -> bytes:
    """All export files in one archive."""
    buffer = io.BytesIO()
    export_zip_write(campaign, buffer)
    return buffer.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Files by name as one archive, without times of its own."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(_entry(name), content)
    return buffer.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def export_to(campaign: Campaign, folder: Path) -> list[Path]:
    """Write all export files into a folder, each whole or not at all, and return their paths."""
    with one_moment():
        return [_write(folder / name, chunks) for name, chunks in _files(campaign)]


def write_to(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files by name into a folder, each whole or not at all, and return their paths."""
    return [_write(folder / name, [content]) for name, content in files.items()]


def _write(target: Path, chunks: Iterable[bytes]) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    with os.fdopen(handle, "wb") as file:
        file.writelines(chunks)
    path = Path(draft)
    path.chmod(0o644)
    return path.replace(target)


def pseudonym(campaign: Campaign, worker_id: int) -> str:
    """A worker's name in a campaign's exports: 16 hexadecimal digits, keyed, the same every time."""
    message = f"worker {worker_id}".encode()
    return hmac.new(bytes(campaign.pseudonym_key), message, hashlib.sha256).hexdigest()[:16]


def _qrels(campaign: Campaign, between: str) -> Iterator[bytes]:
    best = judgment_selectors.derived(campaign).qrels
    return _lines(between.join((query, "0", pid, "1")) for query, pid in best)


def _merged(campaign: Campaign) -> Iterator[bytes]:
    """Original qrels in their own order, then the best known answers that were not among them, with grade 1."""
    grades = {(query, pid): grade for query, pid, grade in pool_selectors.collection_qrels(campaign.collection)}
    for key in judgment_selectors.derived(campaign).qrels:
        grades[key] = max(grades.get(key, 1), 1)
    return _lines(f"{query} 0 {pid} {grade}" for (query, pid), grade in grades.items())


def _preferences(campaign: Campaign) -> Iterator[bytes]:
    rows = judgment_selectors.accepted_preferences(campaign)
    return _lines(f"{query} {a} {b} {preferred}" for query, a, b, preferred in rows)


def _pair_records(campaign: Campaign) -> Iterator[dict[str, Any]]:
    wins: dict[tuple[str, str, str], list[int]] = {}
    for query, a, b, preferred in judgment_selectors.accepted_preferences(campaign):
        wins.setdefault((query, a, b), [0, 0])[preferred == b] += 1
    for query, pairs in judgment_selectors.asked_pairs(campaign).items():
        for a, b in pairs:
            for_a, for_b = wins.get((query, a, b), (0, 0))
            yield dict(zip(PAIR_COLUMNS, (query, a, b, for_a, for_b, campaign.overlap), strict=True))


def _judgment_records(campaign: Campaign) -> Iterator[dict[str, Any]]:
    tests = {test.pk: test for test in campaign.test_pairs.select_related("query", "relevant", "off_topic")}
    for row in judgment_selectors.judgment_rows(campaign):
        query, a, b = row.qid, row.a, row.b
        if row.test_id is not None:
            test = tests[row.test_id]
            query = test.query.qid if test.query else ""
            a = test.relevant.pid if test.relevant else f"test-{test.pk}-relevant"
            b = test.off_topic.pid if test.off_topic else f"test-{test.pk}-off-topic"
        left_preferred = row.preferred == Judgment.Side.LEFT
        yield {
            "judgment": row.pk,
            "worker": pseudonym(campaign, row.worker_id),
            "hit": row.hit,
            "assignment": row.assignment_id,
            "position": row.position,
            "kind": "pair" if row.test_id is None else "test",
            "query": query,
            "a": a,
            "b": b,
            "left": a if row.a_left else b,
            "preferred": a if left_preferred == row.a_left else b,
            "shown_at": row.shown_at.isoformat(),
            "made_at": row.made_at.isoformat(),
            "seconds": round((row.made_at - row.shown_at).total_seconds(), 3),
            "verdict": row.verdict,
            "accepted": row.accepted,
            "superseded": row.superseded,
        }


def _manifest(campaign: Campaign, files: Mapping[str, _Summary]) -> bytes:
    progress = task_selectors.progress(campaign)
    consent = task_selectors.current_consent(campaign)
    derived = judgment_selectors.derived(campaign)
    manifest = {
        "campaign": campaign.name,
        "collection": campaign.collection.name,
        "software": f"bestknown {VERSION}",
        "settings": {name: _plain(getattr(campaign, name)) for name in SETTINGS},
        "consent": None if consent is None else {"version": consent.version, "sha256": _sha256(consent.text.encode())},
        "runs": [{"name": run.name, "sha256": run.sha256} for run in campaign.runs.order_by("name")],
        "counts": {
            "pairs": files["pairs.jsonl"].lines,
            "hits": progress.hits,
            "workers": progress.workers,
            "assignments": {"accepted": progress.accepted, "excluded": progress.excluded, "left": progress.left},
            "judgments": files["judgments.jsonl"].lines,
            "judgments accepted": files["preferences.txt"].lines,
            "qrels": {
                "pools": derived.single + sum(derived.deadlocks.values()) + len(derived.incomplete),
                "single": derived.single,
                "deadlocks": {str(size): count for size, count in sorted(derived.deadlocks.items())},
                "incomplete": len(derived.incomplete),
            },
        },
        "files": {
            name: {"what": NAMES[name], "bytes": summary.bytes, "sha256": summary.sha256.hexdigest()}
            for name, summary in files.items()
        },
    }
    return (json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | None) else str(value)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines, in parts of some thousand."""
    left = iter(lines)
    while part := list(islice(left, LINES)):
        yield "".join(f"{line}\n" for line in part).encode()


def _tsv(columns: Sequence[str], records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    left = iter(records)
    buffer = io.StringIO()
    writer = csv.DictWriter(
        buffer, columns, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, escapechar="\\"
    )
    writer.writeheader()
    while True:
        part = list(islice(left, LINES))
        writer.writerows({name: _tsv_value(value) for name, value in record.items()} for record in part)
        yield buffer.getvalue().encode()
        if not part:
            return
        buffer.seek(0)
        buffer.truncate()


def _tsv_value(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _jsonl(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    return _lines(json.dumps(record, ensure_ascii=False) for record in records)


_MAKE: dict[str, Callable[[Campaign], Iterator[bytes]]] = {
    "preference-qrels.txt": lambda campaign: _qrels(campaign, " "),
    "preference-qrels.tsv": lambda campaign: _qrels(campaign, "\t"),
    "original-and-preference-qrels.txt": _merged,
    "preferences.txt": _preferences,
    "pairs.tsv": lambda campaign: _tsv(PAIR_COLUMNS, _pair_records(campaign)),
    "pairs.jsonl": lambda campaign: _jsonl(_pair_records(campaign)),
    "judgments.tsv": lambda campaign: _tsv(JUDGMENT_COLUMNS, _judgment_records(campaign)),
    "judgments.jsonl": lambda campaign: _jsonl(_judgment_records(campaign)),
}
