"""`python -m evaluation seal` and `unseal`: a submission's package, made for a board's key, and opened with it."""

from __future__ import annotations

import argparse
import bz2
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.boards import packages, sealing
from evaluation.boards.checking import (
    METADATA_BYTES,
    RERANKING,
    Metadata,
    check_metadata,
    check_submission,
    id_problem,
    read_candidates,
)
from evaluation.cli.common import BAD, OK, add_command, is_same_file, print_json, read_bytes, tell, write_bytes
from evaluation.errors import BadInput
from evaluation.files.artifact import RunArtifact
from evaluation.files.textfiles import LIMITS, Damaged, TextFile, columns, counted, unpack

KEY_BYTES = 64 << 10
QUERY_SIZE = 1 << 30


def add_seal(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "seal",
        _seal,
        "check a leaderboard submission, and seal it for the board",
        """Checks a submission as the board does, without its hidden qrels: the id, the metadata (by line), both runs
with their queries, hits, ties and repeated passages. If all is well, it encrypts metadata and runs for the board's
public key and prints the key's fingerprint: compare it with the one on the board's page.

--board is the board's own file, from its page: JSON with "board", "public_key", "hits", "order", "fewer", "types" and
"embargo_months". Only the board can open the package, as this submission and no other. --also-to adds a key of yours,
so that you can open it as well; --new-key makes one: FILE.pem, which you keep to yourself, and FILE.pub.pem.

The metadata are one JSON object: team, model_description, type; and, if you like, paper, code, embargo_until
(yyyy/mm/dd), parameters, training_hours, training_hardware, query_latency_ms, query_hardware, index_gigabytes,
energy_kwh. Lines may have // comments. Files of queries have the id in their first column.

--check stops before sealing. --json prints one object instead of text: {"ok", "id", "id_problem", "metadata":
{"errors", "notes"}, "runs", "package", "bytes", "fingerprint"}.""",
        [
            "python -m evaluation seal --board board.json --name ours --metadata metadata.json --dev dev.txt.gz "
            "--eval eval.txt.gz --dev-queries dev.tsv --eval-queries eval.tsv",
            "python -m evaluation seal --new-key ours",
        ],
    )
    command.add_argument("--board", metavar="FILE", help="the board's JSON")
    name = command.add_mutually_exclusive_group()
    name.add_argument("--id", metavar="ID", help="the submission's id, yyyymmdd-name, of today (UTC)")
    name.add_argument("--name", metavar="NAME", help="the name alone: the id is made from it and today's date")
    command.add_argument("--metadata", metavar="FILE", help="the metadata (JSON)")
    command.add_argument("--dev", metavar="RUN", help="the run for the dev queries")
    command.add_argument("--eval", metavar="RUN", help="the run for the eval queries")
    command.add_argument("--dev-queries", metavar="FILE", help="the dev queries")
    command.add_argument("--eval-queries", metavar="FILE", help="the eval queries")
    command.add_argument("--dev-candidates", metavar="RUN", help="candidate lists that a reranking run keeps to")
    command.add_argument("--eval-candidates", metavar="RUN", help="the same for the eval queries")
    command.add_argument("--also-to", metavar="PEM", action="append", default=[], help="a public key of your own")
    command.add_argument("--output", metavar="FILE", help="the package; default: ID.sealed")
    command.add_argument("--check", action="store_true", help="check only")
    command.add_argument("--new-key", metavar="FILE", help="make a key pair, and nothing else")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def add_unseal(commands: Any) -> None:
    """The command's options and help."""
    command = add_command(
        commands,
        "unseal",
        _unseal,
        "open a sealed submission with a private key",
        """Opens a package that `seal` made, with the board's private key, or with the participant's if it was sealed
for that as well. The files are written to --to/ID/, where only you can read them: metadata.json, dev.txt.bz2,
eval.txt.bz2. Files that are there already are not replaced.

--run-board and --run-id say what the package has to be for: one that was made for another board or submission is
refused. Without them it says itself what it is for.

The three files of the MS MARCO leaderboards' scripts (ID.key.bin.enc, ID.tar.enc, ID-metadata.json.enc) are opened too,
with an RSA key. Nothing protects these against being changed.""",
        [
            "python -m evaluation unseal --key board.pem --to opened 20210301-ours.sealed",
            "python -m evaluation unseal --key rsa.pem --to opened 20210301-ours.key.bin.enc 20210301-ours.tar.enc "
            "20210301-ours-metadata.json.enc",
        ],
    )
    command.add_argument("files", metavar="PACKAGE", nargs="+", help="the package, or the three files of one")
    command.add_argument("--key", metavar="PEM", required=True, help="the private key")
    command.add_argument("--to", metavar="FOLDER", required=True, help="where a folder named for the id is made")
    command.add_argument("--run-board", metavar="NAME", help="the board that the package has to be for")
    command.add_argument("--run-id", metavar="ID", help="the submission that it has to be")


def _seal(options: argparse.Namespace) -> int:
    if options.new_key:
        return _new_key(options.new_key)
    needed = ("board", "metadata", "dev", "eval", "dev_queries", "eval_queries")
    missing = [f"--{name.replace('_', '-')}" for name in needed if not getattr(options, name)]
    if not options.id and not options.name:
        missing.append("--id or --name")
    if missing:
        options.command.error(f"{', '.join(missing)} needed")
    today = datetime.now(UTC).date()
    run_id = options.id or f"{today:%Y%m%d}-{options.name}"
    problem = id_problem(run_id, arrived=today)
    terms = packages.read_terms(read_bytes(options.board, packages.TERMS_BYTES), name=options.board)
    also_to = [_public_key(path) for path in options.also_to]
    content = read_bytes(options.metadata, METADATA_BYTES)
    checked = check_metadata(content, types=terms.types, arrived=today, embargo_months=terms.embargo_months)
    runs = check_submission(
        options.dev,
        options.eval,
        dev_queries=_queries(options.dev_queries),
        eval_queries=_queries(options.eval_queries),
        hits=terms.hits,
        order=terms.order,
        fewer=terms.fewer,
        dev_candidates=_candidates(options.dev_candidates, checked.metadata),
        eval_candidates=_candidates(options.eval_candidates, checked.metadata),
        dev_name=options.dev,
        eval_name=options.eval,
    )
    if problem:
        tell(f"{problem}.")
    for line, message in checked.errors:
        tell(str(BadInput(options.metadata, line, message)))
    for line, message in checked.notes:
        tell(str(BadInput(options.metadata, line, f"Note: {message}")))
    if not options.json:
        print("\n".join(runs.sentences()))
    good = not problem and checked.metadata is not None and runs.ok
    output, package = options.output or f"{run_id}.sealed", b""
    if good and not options.check:
        files = {packages.METADATA: content, packages.DEV: _packed(options.dev), packages.EVAL: _packed(options.eval)}
        package = sealing.seal(files, to=terms.public_key, board=terms.board, run_id=run_id, also_to=also_to)
        write_bytes(output, package)
    fingerprint = sealing.fingerprint(terms.public_key)
    if options.json:
        messages = {"errors": checked.errors, "notes": checked.notes}
        print_json(
            {
                "ok": good,
                "id": run_id,
                "id_problem": problem,
                "metadata": {name: [message._asdict() for message in some] for name, some in messages.items()},
                "runs": runs.as_dict(),
                "package": output if package else None,
                "bytes": len(package) or None,
                "fingerprint": fingerprint,
            }
        )
    elif package:
        print(f"Sealed as {output}, {len(package):,} bytes, for submission {run_id} to {terms.board}.")
        print(f"The board's key has the fingerprint {sealing.spaced(fingerprint)}")
    elif good:
        print("Nothing is wrong with it.")
    if not good:
        tell("Not sealed: mend what is wrong, and try again.")
    return OK if good else BAD


def _new_key(path: str) -> int:
    private, public = f"{path}.pem", f"{path}.pub.pem"
    for key_path in (private, public):
        if Path(key_path).exists():
            raise BadInput(key_path, None, "there already: another key would replace it.")
    pair = sealing.new_key()
    write_bytes(private, pair.private_pem.encode(), private=True)
    write_bytes(public, pair.public_pem.encode())
    print(f"Keep {private} to yourself. {public} has the fingerprint {sealing.spaced(pair.fingerprint)}")
    return OK


def _public_key(path: str) -> str:
    pem = _text(path)
    try:
        sealing.fingerprint(pem)
    except sealing.BadKey as error:
        raise BadInput(path, None, f"{error}.") from None
    return pem


def _text(path: str) -> str:
    try:
        return read_bytes(path, KEY_BYTES).decode("ascii")
    except UnicodeDecodeError:
        raise BadInput(path, None, "not a key in PEM.") from None


def _queries(path: str) -> set[str]:
    """The ids in the first column of a file."""
    queries = {columns(row)[0] for _, row in TextFile(path, name=path, limits=LIMITS).rows() if row.strip()}
    if not queries:
        raise BadInput(path, 1, "no query.")
    return queries


def _candidates(path: str | None, metadata: Metadata | None) -> RunArtifact | None:
    """The candidate lists of a reranking run; others need not keep to them."""
    if not path or metadata is None or metadata.type != RERANKING:
        return None
    return read_candidates(path, name=path)


def _packed(path: str) -> bytes:
    """The run, compressed by bzip2: as it is where it is so already."""
    packed = bz2.BZ2Compressor()
    parts = []
    try:
        with Path(path).open("rb") as file:
            if file.read(3) == b"BZh":
                file.seek(0)
                return file.read()
            file.seek(0)
            parts = [packed.compress(chunk) for chunk in unpack(file, LIMITS)]
    except (OSError, Damaged) as error:
        raise BadInput(path, None, f"cannot be read: {error}") from None
    return b"".join([*parts, packed.flush()])


def _unseal(options: argparse.Namespace) -> int:
    files = {path: read_bytes(path, sealing.SIZE_MOST + (2 << 20)) for path in options.files}
    private = _text(options.key)
    if any(is_same_file(path, options.key) for path in options.files):
        options.command.error("the key is among the packages")
    try:
        run_id, contents = _open(files, private, options)
    except sealing.BadKey as error:
        raise BadInput(options.key, None, f"{error}.") from None
    except sealing.NotOpened as error:
        raise BadInput(options.files[0], None, f"{error}.") from None
    folder = Path(options.to, run_id)
    named = dict(zip(packages.FILES, contents, strict=True))
    for name in named:
        if (folder / name).exists():
            raise BadInput(str(folder / name), None, "there already: it is not replaced.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(str(folder), None, f"cannot be made: {error.strerror or error}.") from None
    for name, content in named.items():
        write_bytes(str(folder / name), content, private=True)
        print(f"{folder / name}  {len(content):,} bytes")
    return OK


def _open(files: dict[str, bytes], private: str, options: argparse.Namespace) -> tuple[str, packages.Contents]:
    first = next(iter(files))
    if len(files) > 1 or packages.old_name(first):
        if options.run_board:
            options.command.error("packages of the scripts do not name a board: leave out --run-board")
        old = packages.open_old(files, private)
        if options.run_id and options.run_id != old.run_id:
            raise sealing.NotForThis(f"the package is of submission {old.run_id}, not of {options.run_id}")
        if old.left_out:
            tell(f"{counted(len(old.left_out), 'file')} in the tar left out: {', '.join(old.left_out)}")
        run_id, contents = old.run_id, old.contents
    else:
        label = sealing.read_label(files[first])
        board, run_id = options.run_board or label.board, options.run_id or label.run_id
        opened = sealing.open_sealed(files[first], private, board=board, run_id=run_id)
        contents = packages.contents_of(opened)
        tell(f"A package for submission {run_id} to {board}.")
    # It names a folder now, and whoever made the package chose it.
    if not packages.is_plain(run_id):
        raise packages.WrongContents(f"{run_id!r} is no id that a folder can be named for")
    return run_id, contents
