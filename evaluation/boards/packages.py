"""What is in a package, of a board here and of the MS MARCO leaderboards' scripts; and what a board tells participants.

The scripts' packages are three files: `ID.key.bin.enc` (a base64 line, encrypted for the organizers by RSA, PKCS #1
v1.5), and `ID.tar.enc` and `ID-metadata.json.enc`, both by `openssl enc -aes-256-cbc -pbkdf2` with that line as the
passphrase. They are not authenticated: whoever holds the files can change them unseen.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import padding, serialization
from cryptography.hazmat.primitives.asymmetric import padding as rsa_padding
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from evaluation.boards import sealing
from evaluation.boards.checking import EMBARGO_MONTHS, HITS, TYPES, Fewer
from evaluation.errors import BadInput
from evaluation.files.artifact import ORDERS, Order
from evaluation.files.textfiles import quote_value

METADATA, DEV, EVAL = "metadata.json", "dev.txt.bz2", "eval.txt.bz2"
FILES = (METADATA, DEV, EVAL)
TERMS_BYTES = 1 << 20
HITS_MOST = 10_000
_ENDINGS = {".key.bin.enc": "key", ".tar.enc": "tar", "-metadata.json.enc": "metadata", ".key.bin": "burnt"}
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_SALTED = b"Salted__"
_ROUNDS = 10_000
_PASSPHRASE = re.compile(rb"[A-Za-z0-9+/]{43}=")


class WrongContents(sealing.NotOpened):
    """A package that opens, but does not hold what a submission has."""


class Burnt(sealing.NotOpened):
    """The key of a package came with it, in the clear."""


class Contents(NamedTuple):
    """A submission as it was packed: its metadata, and its two runs, compressed by bzip2."""

    metadata: bytes
    dev: bytes
    eval: bytes


def contents_of(files: Mapping[str, bytes]) -> Contents:
    """The files of a package. Raises WrongContents where one lacks, is empty, or is not asked for."""
    for name in FILES:
        if not files.get(name):
            raise WrongContents(f"the package has no {name}, or an empty one")
    more = sorted(set(files).difference(FILES))
    if more:
        raise WrongContents(f"the package has {quote_value(more[0])}, where {', '.join(FILES)} are asked for")
    return Contents(*(files[name] for name in FILES))


@dataclass(frozen=True)
class BoardTerms:
    """What a board tells participants, so that they can check and seal: `board` is its name in packages, `public_key`
    its key (PEM); the others are those of `checking.check_submission` and `checking.check_metadata`.
    """

    board: str
    public_key: str
    hits: int = HITS
    order: Order = "rank"
    fewer: Fewer = "warn"
    types: tuple[str, ...] = TYPES
    embargo_months: int = EMBARGO_MONTHS

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, with the key's fingerprint; `read_terms` reads it to the same."""
        return {**asdict(self), "types": list(self.types), "fingerprint": sealing.fingerprint(self.public_key)}


def read_terms(content: bytes, *, name: str) -> BoardTerms:
    """What a board told, from its JSON. Further fields are ignored. Raises BadInput."""
    try:
        if len(content) > TERMS_BYTES:
            raise ValueError(f"more than {TERMS_BYTES:,} bytes")
        terms = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadInput(name, getattr(error, "lineno", None), f"not the JSON of a board ({error}).") from None
    if not isinstance(terms, dict):
        raise BadInput(name, 1, 'not the JSON of a board: {"board": "…", "public_key": "…", …}.')
    defaults = BoardTerms("", "")
    values = {key: terms.get(key, getattr(defaults, key)) for key in defaults.__dataclass_fields__}
    types = values["types"]
    good = {
        "board": isinstance(values["board"], str) and 0 < len(values["board"]) <= 200,
        "public_key": isinstance(values["public_key"], str),
        "hits": _is_number(values["hits"], HITS_MOST),
        "order": values["order"] in ORDERS,
        "fewer": values["fewer"] in ("warn", "refuse"),
        "types": isinstance(types, list | tuple) and bool(types) and all(isinstance(kind, str) for kind in types),
        "embargo_months": _is_number(values["embargo_months"], 1200, least=0),
    }
    for key, is_good in good.items():
        if not is_good:
            raise BadInput(name, None, f"{key} is {quote_value(json.dumps(values[key]))}: get the board's file again.")
    try:
        fingerprint = sealing.fingerprint(values["public_key"])
    except sealing.BadKey as error:
        raise BadInput(name, None, f"public_key is {error}.") from None
    if terms.get("fingerprint", fingerprint) != fingerprint:
        raise BadInput(name, None, f"the fingerprint of public_key is {fingerprint}, and not what fingerprint says.")
    return BoardTerms(**{**values, "types": tuple(types)})


def _is_number(value: Any, most: int, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_plain(run_id: str) -> bool:
    """Whether an id can name a file or a folder. Those of the MS MARCO leaderboards can, whatever their form."""
    return _PLAIN.fullmatch(run_id) is not None


class OldName(NamedTuple):
    """What the name of a file of the scripts says: the id, and whether it is the key, tar, metadata, or a burnt key."""

    run_id: str
    kind: str


def old_name(name: str) -> OldName | None:
    """What a file of the scripts' packages is; None if it is none. Endings are cut from the end: ids may have `--`."""
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    for ending, kind in _ENDINGS.items():
        if base.endswith(ending) and len(base) > len(ending):
            return OldName(base.removesuffix(ending), kind)
    return None


@dataclass(frozen=True)
class OldPackage:
    """A package of the scripts, opened. `left_out`: names in the tar that are not asked for."""

    run_id: str
    contents: Contents
    left_out: tuple[str, ...] = field(default=())


def refuse_burnt(names: Iterable[str], *contents: bytes) -> None:
    """Raises Burnt where the key itself is among the files: it has been seen, and the package has to be made anew.

    `contents`: of files, one of which may be such a key under another name.
    """
    if any(_PASSPHRASE.fullmatch(content.strip()) for content in contents if len(content) < 100):
        raise Burnt(
            "this file is a key itself, not encrypted: whoever saw it can open what it was used for. It is burnt. Pack "
            "and seal the submission again, with another key"
        )
    for name in names:
        old = old_name(name)
        if old and old.kind == "burnt":
            raise Burnt(
                f"{quote_value(name)} is the key itself, not encrypted: whoever saw it can open the package. It is "
                "burnt. Pack the submission again, and upload only the three files that end in .enc"
            )


class OldMetadata(NamedTuple):
    """The metadata of a package of the scripts, opened by themselves."""

    run_id: str
    content: bytes


def open_old_metadata(files: Mapping[str, bytes], private_pem: str) -> OldMetadata:
    """Open an `ID-metadata.json.enc` in memory with the key of its package, `ID.key.bin.enc`.

    `files`: the two by name. Whoever wrote new metadata had the key only if the other file is the one of the package as
    it came: anybody can make a new pair. Raises as `open_old` does.
    """
    run_id, parts = _parts(files, ("key", "metadata"), sealing.SIZE_MOST)
    name = f"{run_id}-metadata.json.enc"
    return OldMetadata(run_id, _decrypt(parts["metadata"], _passphrase(parts["key"], private_pem), name))


class OldRuns(NamedTuple):
    """The runs of a package of the scripts, opened by themselves, compressed by bzip2."""

    run_id: str
    dev: bytes
    eval: bytes


def open_old_runs(files: Mapping[str, bytes], private_pem: str, *, size_most: int = sealing.SIZE_MOST) -> OldRuns:
    """Open an `ID.tar.enc` in memory with the key of its package, `ID.key.bin.enc`: the two by name.

    Raises as `open_old` does.
    """
    run_id, parts = _parts(files, ("key", "tar"), size_most)
    content = _decrypt(parts["tar"], _passphrase(parts["key"], private_pem), f"{run_id}.tar.enc")
    runs, _left_out = _unpack_tar(content, run_id, size_most)
    for name in (DEV, EVAL):
        if not runs.get(name):
            raise WrongContents(f"the package has no {name}, or an empty one")
    return OldRuns(run_id, runs[DEV], runs[EVAL])


def open_old(files: Mapping[str, bytes], private_pem: str, *, size_most: int = sealing.SIZE_MOST) -> OldPackage:
    """Open a package of the scripts, in memory, with the organizers' RSA key.

    `files`: the three files by name. Raises Burnt, WrongContents, NotForThisKey, Changed or TooLarge, all of them
    NotOpened; and BadKey where the private key is none of RSA.
    """
    run_id, parts = _parts(files, ("key", "tar", "metadata"), size_most)
    passphrase = _passphrase(parts["key"], private_pem)
    runs, left_out = _unpack_tar(_decrypt(parts["tar"], passphrase, f"{run_id}.tar.enc"), run_id, size_most)
    metadata = _decrypt(parts["metadata"], passphrase, f"{run_id}-metadata.json.enc")
    return OldPackage(run_id, contents_of({METADATA: metadata, **runs}), tuple(left_out))


def _parts(files: Mapping[str, bytes], kinds: Collection[str], size_most: int) -> tuple[str, dict[str, bytes]]:
    """The id of a package, and its files by what they are: those that are wanted, and no others."""
    refuse_burnt(files)
    parts: dict[str, bytes] = {}
    ids = set()
    endings = {ending: kind for ending, kind in _ENDINGS.items() if kind in kinds}
    for name, content in files.items():
        old = old_name(name)
        if old is None or old.kind not in kinds:
            wrong = f"{quote_value(name)} is no file of a package that is asked for"
            raise WrongContents(f"{wrong}: it ends in none of {', '.join(endings)}")
        if old.kind in parts:
            raise WrongContents(f"{quote_value(name)} is a second {old.kind} of one package")
        if len(content) > size_most:
            raise sealing.TooLarge(f"{quote_value(name)} has {len(content):,} bytes, where {size_most:,} are allowed")
        ids.add(old.run_id)
        parts[old.kind] = content
    if len(ids) > 1:
        raise WrongContents(f"files of several packages: {', '.join(quote_value(run_id) for run_id in sorted(ids))}")
    lacking = [ending for ending, kind in endings.items() if kind not in parts]
    if lacking:
        raise WrongContents(f"the package lacks its file that ends in {lacking[0]}")
    return ids.pop(), parts


def _passphrase(encrypted: bytes, private_pem: str) -> bytes:
    try:
        key = serialization.load_pem_private_key(private_pem.encode(), None)
    except (ValueError, TypeError):
        raise sealing.BadKey("not a private key in PEM without a password") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise sealing.BadKey("a private key of another kind than RSA, which the scripts' packages need")
    try:
        line = key.decrypt(encrypted, rsa_padding.PKCS1v15()).split(b"\n", 1)[0]
    except ValueError:
        line = b""
    # What does not open may come out as random bytes, by design; a key is 32 bytes in base64.
    if not _PASSPHRASE.fullmatch(line):
        raise sealing.NotForThisKey("the package was sealed for another key, or its file .key.bin.enc is damaged")
    return line


def _decrypt(content: bytes, passphrase: bytes, name: str) -> bytes:
    if not content.startswith(_SALTED) or len(content) < 32 or len(content) % 16:
        raise sealing.Changed(f"{name} was cut, or is not what openssl enc writes")
    derived = hashlib.pbkdf2_hmac("sha256", passphrase, content[8:16], _ROUNDS, 48)
    decryptor = Cipher(algorithms.AES(derived[:32]), modes.CBC(derived[32:])).decryptor()
    unpadder = padding.PKCS7(128).unpadder()
    try:
        padded = decryptor.update(content[16:]) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError:
        raise sealing.Changed(f"{name} was changed, or encrypted with another key or without -pbkdf2") from None


def _unpack_tar(content: bytes, run_id: str, size_most: int) -> tuple[dict[str, bytes], list[str]]:
    """The two runs, and the names of what else is there."""
    runs: dict[str, bytes] = {}
    left_out: list[str] = []
    members = {f"{run_id}/{name}": name for name in (DEV, EVAL)}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for member in tar:
                name = member.name.removeprefix("./").rstrip("/")
                _refuse_hostile(member, name)
                if member.isdir() or name.rsplit("/", 1)[-1].startswith("._"):
                    continue
                if name not in members:
                    left_out.append(quote_value(name))
                    continue
                if members[name] in runs:
                    raise WrongContents(f"the tar has {quote_value(name)} twice")
                if member.size > size_most:
                    raise sealing.TooLarge(
                        f"{quote_value(name)} has {member.size:,} bytes, where {size_most:,} are allowed"
                    )
                file = tar.extractfile(member)
                runs[members[name]] = file.read() if file else b""
    except (tarfile.TarError, ValueError, EOFError, OSError) as error:
        if isinstance(error, sealing.NotOpened):
            raise
        raise sealing.Changed(f"{run_id}.tar.enc does not open to a tar file ({error})") from None
    return runs, left_out


def _refuse_hostile(member: tarfile.TarInfo, name: str) -> None:
    if member.name.startswith("/") or ".." in name.split("/"):
        raise WrongContents(f"the tar has {quote_value(member.name)}, which leads out of its folder")
    if not (member.isreg() or member.isdir()) or member.issparse():
        raise WrongContents(f"the tar has {quote_value(member.name)}, which is a link, a device or a file with holes")
