"""Public collections by their ids in ir_datasets, an optional package: what would be fetched, and fetching it.

ir_datasets keeps what it fetches in a folder of its own (IR_DATASETS_HOME), and fetches nothing twice. Looking asks
nobody: it knows its catalogue by heart.
"""

import json
import shutil
import signal
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from core.errors import FileAway, Refused
from core.progress import Cancelled, Report

HUGE = 1_000_000_000  # bytes to fetch that somebody must have seen before
UNPACKED = 3  # times the size of a download: itself, unpacked, and its index
RESERVE, RESERVED_PART = 10_000_000_000, 10  # bytes of the disk that stay free, or this part of it if that is less
EVERY = 1.0  # seconds between two looks at how much of a download is there
AGAIN = 10.0  # seconds that a download has to end in before it is told once more
AT_ONCE = 1_000  # passages
NAMED = 10  # ids that a message suggests


class NotInstalled(Refused):
    """The optional package is not installed."""

    title = "Not installed"


class _Stopped(BaseException):
    """A download has to end. ir_datasets takes an Exception for a mirror that fails, and tries the next."""


class Offer(NamedTuple):
    """What a dataset has, and what fetching it takes: bytes that are not here yet (of files whose size is known), bytes
    of the disk that this may need, and those that are free beside what is kept free. `agreement`: what its publisher
    asks of its users. `is_licensed`: whether its publisher gives some of its files to nobody without a licence.
    """

    id: str
    has_qrels: bool
    has_passages: bool
    language: str
    size: int
    is_size_known: bool
    needed: int
    free: int
    agreement: str
    is_licensed: bool

    @property
    def is_huge(self) -> bool:
        """Whether fetching it takes long, and much of the disk."""
        return self.size >= HUGE or not self.is_size_known


class Listed(NamedTuple):
    """A dataset that can be asked for."""

    id: str
    has_qrels: bool
    has_passages: bool


class Fetched(NamedTuple):
    """The files that a dataset was written to; None where it was not asked for, or has none."""

    queries: Path | None
    qrels: Path | None
    passages: Path | None


def _library() -> Any:
    try:
        import ir_datasets  # type: ignore[import-untyped]
    except ImportError:
        raise NotInstalled(
            _(
                "Public collections need the package ir_datasets, which is not installed on this site. The person who "
                "runs it can install it: pip install -r requirements-ir-datasets.txt. Files can be added without it."
            )
        ) from None
    return ir_datasets


def _dataset(dataset_id: str) -> Any:
    """Raises Refused, with ids that are like it, if there is no such dataset."""
    library = _library()
    try:
        return library.load(dataset_id)
    except KeyError:
        ids = list(library.registry)
    close = get_close_matches(dataset_id, ids, n=3, cutoff=0.5)
    if close:
        text = _("ir_datasets has no dataset “%(id)s”. Did you mean %(close)s?")
        raise Refused(text % {"id": dataset_id, "close": _(" or ").join(close)}) from None
    text = _("ir_datasets has no dataset “%(id)s”. Its ids are listed at https://ir-datasets.com.")
    raise Refused(text % {"id": dataset_id}) from None


def datasets_called(words: str) -> list[Listed]:
    """The datasets with queries whose id contains some words, in whatever case, by id. Raises NotInstalled."""
    library = _library()
    called = sorted(name for name in library.registry if words.casefold() in name.casefold())
    loaded = [(name, library.load(name)) for name in called]
    return [Listed(name, each.has_qrels(), each.has_docs()) for name, each in loaded if each.has_queries()]


def look(dataset_id: str, *, queries: bool = True, passages: bool) -> Offer:
    """What fetching a dataset (with its queries and qrels or without, with passages or without) would take.

    Raises Refused for an id that there is not, for a dataset without queries, for what its publisher gives to nobody
    without a licence, and where the disk is too small.
    """
    dataset = _dataset(dataset_id)
    if not dataset.has_queries():
        below = [other for other in _library().registry if other.startswith(f"{dataset_id}/")]
        named = ", ".join([other for other in below if _library().load(other).has_queries()][:NAMED])
        text = _("“%(id)s” has no queries. Choose a part of it that has some: %(named)s.")
        raise Refused(text % {"id": dataset_id, "named": named or _("there is none")})
    if passages and not dataset.has_docs():
        raise Refused(_("“%(id)s” has no passages: leave them out, and add a file of them.") % {"id": dataset_id})
    files = _files(dataset, queries, passages)
    for file in files:
        if instructions := _instructions(file):
            text = _("“%(id)s” cannot be downloaded by everybody, so it is not fetched. %(how)s")
            raise Refused(text % {"id": dataset_id, "how": instructions})
    sizes = [file._size_hint for file in files]
    size = sum(size or 0 for size in sizes)
    home = Path(_library().util.home_path())
    disk = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.exists()))
    free = max(disk.free - min(RESERVE, disk.total // RESERVED_PART), 0)
    if size * UNPACKED > free:
        text = _(
            "Fetching “%(id)s” downloads %(size)s, which can take %(needed)s of the disk once it is unpacked and "
            "indexed. Only %(free)s are free at %(home)s, beside what is kept free."
        )
        sizes_said = {"size": size, "needed": size * UNPACKED, "free": free}
        amounts = {name: filesizeformat(value) for name, value in sizes_said.items()}
        raise Refused(text % {"id": dataset_id, "home": home, **amounts})
    agreements = dict.fromkeys(file.dua for file in files if file.dua)
    return Offer(
        dataset_id,
        dataset.has_qrels(),
        dataset.has_docs(),
        str(dataset.queries_lang() or ""),
        size,
        all(sizes) and all(_walk([handler]) for handler in _handlers(dataset, queries, passages)),
        size * UNPACKED,
        free,
        "\n".join(agreements),
        any(map(_is_licensed, _walk(_handlers(dataset, queries, passages)))),
    )


def look_for_page(dataset_id: str, *, queries: bool = True, passages: bool) -> Offer:
    """As `look`, for whoever asks on a page: raises Refused, too, for what only the person who runs the site may fetch:
    more than DATASET_DOWNLOAD_BYTES, an unknown amount, or files that somebody has by a licence.
    """
    offer = look(dataset_id, queries=queries, passages=passages)
    values = {
        "id": dataset_id,
        "size": filesizeformat(offer.size),
        "limit": filesizeformat(settings.DATASET_DOWNLOAD_BYTES),
        "command": f"manage.py import_dataset {dataset_id}{' --passages' if passages else ''}",
    }
    if offer.is_licensed:
        text = _(
            "“%(id)s” has files that its publisher gives only to those who have a licence, so it is not fetched from "
            "a page. The person who runs this site can import it on the server: %(command)s"
        )
    elif not offer.is_size_known:
        text = _(
            "How much has to be downloaded for “%(id)s” is not known in full (%(size)s at least). From a page, "
            "%(limit)s can be fetched. The person who runs this site can import it on the server: %(command)s"
        )
    elif offer.size > settings.DATASET_DOWNLOAD_BYTES:
        text = _(
            "For “%(id)s”, %(size)s have to be downloaded. From a page, %(limit)s can be fetched. The person who runs "
            "this site can import it on the server: %(command)s"
        )
    else:
        return offer
    raise Refused(text % values)


# What follows reads attributes of ir_datasets that begin with an underscore: it has no other way to say what a download
# weighs. Its version is pinned for that.


def _files(dataset: Any, queries: bool, passages: bool) -> list[Any]:
    """The downloads that a dataset is made of and that are not here yet (ir_datasets.util.Download).

    Passages whose index is here need no file: some are read while they are sent, and kept as an index alone.
    """
    handlers = _handlers(dataset, queries, passages and not _is_indexed(dataset))
    return [file for file in _walk(handlers, past_caches=False) if not _is_here(file)]


def _note_of_index(dataset: Any) -> Path:
    """Where it is kept that the passages of a dataset are indexed: one file for all that have the same passages."""
    of = _library().docs_parent_id(dataset.dataset_id()).replace("/", "-")
    return Path(_library().util.home_path()) / "bestknown-indexes" / f"{of}.txt"


def _is_indexed(dataset: Any) -> bool:
    """Whether the index of a dataset's passages was kept when they were fetched, and is still here.

    The `docs_store` is not asked: making it downloads files for some datasets, and fails for others.
    """
    note = _note_of_index(dataset)
    return note.exists() and Path(note.read_text(encoding="utf-8")).exists()


def _keep_index(dataset: Any, store: Any) -> None:
    """Keep that a dataset's passages are indexed; not where the index goes with a temporary file."""
    library = _library()
    if not isinstance(store, library.indices.PickleLz4FullStore):
        return
    index, note = Path(store.path).absolute(), _note_of_index(dataset)
    if not index.is_relative_to(Path(library.util.tmp_path()).absolute()):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(str(index), encoding="utf-8")


def _handlers(dataset: Any, queries: bool, passages: bool) -> list[Any]:
    handlers = []
    if queries:
        handlers.append(dataset.queries_handler())
        if dataset.has_qrels():
            handlers.append(dataset.qrels_handler())
    if passages:
        handlers.append(dataset.docs_handler())
    return handlers


def _is_here(file: Any) -> bool:
    return file._cache_path is not None and Path(file._cache_path).exists()


def _walk(handlers: list[Any], *, past_caches: bool = True) -> list[Any]:
    """All downloads below some handlers, or those that are not needed for what is unpacked already."""
    download, cache = _library().util.Download, _library().util.Cache
    parts, visited, waiting = [], set(), [*handlers]
    while waiting:
        part = waiting.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        if isinstance(part, download):
            parts.append(part)
        elif not past_caches and isinstance(part, cache) and part.path(force=False).exists():
            continue
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
        elif type(part).__module__.startswith("ir_datasets."):
            waiting += vars(part).values() if hasattr(part, "__dict__") else ()
    return parts


def _instructions(file: Any) -> str:
    """How somebody gets a file that cannot be downloaded; empty if it can be, or is here."""
    if _is_licensed(file) and not any(mirror._path.exists() for mirror in file.mirrors):
        return " ".join(str(file.mirrors[0]._message).split())
    return ""


def _is_licensed(file: Any) -> bool:
    """Whether somebody has to put a file there. One that can also be downloaded has a mirror for that."""
    local = _library().util.LocalDownload
    return all(isinstance(mirror, local) and mirror._message for mirror in file.mirrors)


def fetch(
    dataset_id: str,
    folder: Path,
    *,
    queries: bool,
    passages: bool,
    needed: Collection[str],
    report: Report,
    seconds: float | None = None,
) -> Fetched:
    """Fetch a dataset, and write its queries and qrels, and the passages that these name or that are wanted, as files.

    Raises Refused as `look` does, Cancelled (at once, also in the midst of a download) as the report does, and FileAway
    where the network, the publisher or the disk fails, or where downloading and indexing take more than `seconds`.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    look(dataset_id, queries=queries, passages=passages)
    dataset, pids = _dataset(dataset_id), set(needed)
    written: dict[str, Path | None] = dict.fromkeys(Fetched._fields)
    try:
        if queries:
            step = _("Fetching the queries")
            with _told(_files(dataset, queries=True, passages=False), step, report, ends):
                written["queries"] = _write(folder / "queries.jsonl", _queries(dataset))
            if dataset.has_qrels():
                written["qrels"] = _write(folder / "qrels.txt", _qrels(dataset, pids))
        if passages and pids:
            step = _("Fetching the passages")
            with _told(_files(dataset, queries=False, passages=True), step, report, ends):
                store = dataset.docs_store()
                next(iter(store.get_many_iter(sorted(pids)[:1])), None)  # fetches and indexes all that there is
            _keep_index(dataset, store)
            written["passages"] = _write(folder / "passages.jsonl", _passages(store, sorted(pids), report))
    except EOFError as error:  # it asks on the terminal, where there is none
        text = _(
            "“%(id)s” asks for a user name and a password, which it reads from a file: see https://ir-datasets.com."
        )
        raise Refused(text % {"id": dataset_id}) from error
    except (OSError, RuntimeError, ValueError) as error:  # those of requests are OSError
        text = _("ir_datasets could not fetch “%(id)s”: %(error)s. What was fetched so far is kept; try again later.")
        raise FileAway(text % {"id": dataset_id, "error": _why(error)}) from error
    return Fetched(**written)


def _why(error: Exception) -> str:
    """What went wrong; where several addresses were tried, with the last of them."""
    match error.args:
        case [str(what), [*_others, [_mirror, Exception() as last]]]:
            return f"{what} ({str(last)[:200]})"
    return str(error)[:300]


def _write(path: Path, lines: Iterable[str]) -> Path | None:
    """Write lines to a file; None if there are none."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
    return path if count else None


def _queries(dataset: Any) -> Iterator[str]:
    for query in dataset.queries_iter():
        yield json.dumps({"id": query.query_id, "text": _text_of(query)}, ensure_ascii=False)


def _qrels(dataset: Any, pids: set[str]) -> Iterator[str]:
    for qrel in dataset.qrels_iter():
        pids.add(qrel.doc_id)
        yield f"{qrel.query_id}\t{getattr(qrel, 'iteration', 0) or 0}\t{qrel.doc_id}\t{qrel.relevance}"


def _passages(store: Any, pids: list[str], report: Report) -> Iterator[str]:
    for start in range(0, len(pids), AT_ONCE):
        report(_("Looking up the passages"), start, len(pids), "rows")
        for passage in store.get_many_iter(pids[start : start + AT_ONCE]):
            yield json.dumps({"id": passage.doc_id, "text": _text_of(passage)}, ensure_ascii=False)


def _text_of(thing: Any) -> str:
    """The text of a query or passage, as ir_datasets itself puts its fields together."""
    text = thing.default_text() if hasattr(thing, "default_text") else thing.text
    return str(text).strip()


@contextmanager
def _told(files: list[Any], step: str, report: Report, ends: float | None) -> Iterator[None]:
    """Tell how much of some downloads is there, while the block fetches them; end the block if the report is cancelled,
    or once its time is over. Only for the main thread, which alone can be interrupted.
    """
    total, ended = sum(file._size_hint or 0 for file in files), threading.Event()
    main, why = threading.main_thread().ident, list[Exception]()
    assert main is not None
    late = _("Fetching took longer than it may from a page. Import it on the server, with manage.py import_dataset.")
    report(step, 0, total, "bytes")

    def stop(_signal: int, _frame: object) -> None:
        if not ended.is_set():
            raise _Stopped

    def look_on() -> None:
        while not ended.wait(AGAIN if why else EVERY):
            try:
                report(step, sum(map(_size_here, files)), total, "bytes")
                if ends is not None and time.monotonic() > ends:
                    why.append(FileAway(late))
            except Cancelled as cancelled:
                why.append(cancelled)
            if why:
                signal.pthread_kill(main, signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, stop)
    onlooker = threading.Thread(target=look_on, daemon=True)
    onlooker.start()
    try:
        try:
            yield
        finally:
            ended.set()
    except _Stopped:
        raise why[0] from None
    finally:
        onlooker.join()
        signal.signal(signal.SIGALRM, before)


def _size_here(file: Any) -> int:
    """How much of a download is there, unfinished or not."""
    if file._cache_path is None:
        return 0
    path = Path(file._cache_path)
    return sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*") if part.is_file())
