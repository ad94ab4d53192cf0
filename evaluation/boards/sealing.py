"""Packages that only a board can open: encrypted on the participant's machine for the board's public key.

A package is `BKSEAL`, a version byte, the length of its header (four bytes, the highest first), the header as JSON, and
the ciphertext. The header names the board, the submission and the recipients, and is authenticated with the content:
a package cannot be changed, cut or moved to another board or id without failing to open. It also says how many bytes
follow, so that an upload that broke off is noticed by whoever cannot open it.

The content is encrypted with ChaCha20-Poly1305 under a key drawn for this package. For each recipient, that key is
encrypted under one that HKDF-SHA-256 derives from X25519 between a key pair made for this and the recipient's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAGIC = b"BKSEAL"
VERSION = 1
FILES_MOST = 16
SIZE_MOST = 1 << 30  # bytes of all files together
HEADER_MOST = 64 << 10
RECIPIENTS_MOST = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_TAG = 16  # bytes that ChaCha20-Poly1305 adds
_NONCE = bytes(12)  # each key encrypts one message only
_PURPOSE = b"bestknown sealed package, version 1"
_SPKI = serialization.PublicFormat.SubjectPublicKeyInfo


class NotOpened(ValueError):
    """A package that cannot be opened; the message says why."""


class NotAPackage(NotOpened):
    """These bytes are no sealed package, or one that was cut."""


class NotForThisKey(NotOpened):
    """The package was sealed for other keys."""


class NotForThis(NotOpened):
    """The package was sealed for another board or another submission."""


class Changed(NotOpened):
    """The package was changed after it was sealed."""


class TooLarge(NotOpened):
    """The package has more files or bytes than is allowed."""


class BadKey(ValueError):
    """Not a key of the kind that packages are sealed for."""


class KeyPair(NamedTuple):
    """A key pair: both keys as PEM, and the fingerprint of the public one."""

    private_pem: str
    public_pem: str
    fingerprint: str


def new_key() -> KeyPair:
    """A new key pair (X25519). The private key is PKCS #8, not encrypted."""
    private = X25519PrivateKey.generate()
    private_pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    public_pem = private.public_key().public_bytes(serialization.Encoding.PEM, _SPKI).decode()
    return KeyPair(private_pem, public_pem, fingerprint(public_pem))


def fingerprint(public_pem: str) -> str:
    """SHA-256 of the public key (DER), as 64 hexadecimal digits. Raises BadKey."""
    return _fingerprint(_public_key(public_pem))


def spaced(fingerprint: str) -> str:
    """The fingerprint in groups of four, for people to compare."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, len(fingerprint), 4))


def seal(files: Mapping[str, bytes], *, to: str, board: str, run_id: str, also_to: Sequence[str] = ()) -> bytes:
    """The files as a package for one submission to one board.

    `to`: the board's public key (PEM). `also_to`: further public keys that can open it, such as the participant's own.
    Raises BadKey, or ValueError where there is no file, there are too many, or a name is not plain.
    """
    if not 1 <= len(files) <= FILES_MOST:
        raise ValueError(f"{len(files)} files where a package has 1 to {FILES_MOST}")
    for name in files:
        _check_name(name)
    if sum(map(len, files.values())) > SIZE_MOST:
        raise ValueError(f"more than {SIZE_MOST:,} bytes in one package")
    key = ChaCha20Poly1305.generate_key()
    keys = {_fingerprint(public): public for public in map(_public_key, (to, *also_to))}
    if len(keys) > RECIPIENTS_MOST:
        raise ValueError(f"{len(keys)} recipients where at most {RECIPIENTS_MOST} are allowed")
    recipients = []
    for recipient, public in keys.items():
        ephemeral = X25519PrivateKey.generate()
        wrapping = _wrapping_key(ephemeral.exchange(public), ephemeral.public_key(), public, board, run_id)
        recipients.append(
            {
                "fingerprint": recipient,
                "ephemeral": _text(ephemeral.public_key().public_bytes_raw()),
                "key": _text(ChaCha20Poly1305(wrapping).encrypt(_NONCE, key, None)),
            }
        )
    index = json.dumps([[name, len(content)] for name, content in files.items()]).encode()
    content = b"".join([len(index).to_bytes(4, "big"), index, *files.values()])
    about = {"board": board, "bytes": len(content) + _TAG, "id": run_id, "recipients": recipients}
    header = json.dumps(about, sort_keys=True).encode()
    if len(header) > HEADER_MOST:
        raise ValueError(f"a header of more than {HEADER_MOST:,} bytes: the board's name or the id is too long")
    start = MAGIC + bytes([VERSION]) + len(header).to_bytes(4, "big") + header
    return start + ChaCha20Poly1305(key).encrypt(_NONCE, content, start)


class Label(NamedTuple):
    """What a package says about itself to anybody. Not to be trusted before it has been opened."""

    board: str
    run_id: str
    fingerprints: tuple[str, ...]


def read_label(package: bytes) -> Label:
    """For which board, submission and keys the package says it is. Raises NotAPackage."""
    return _parse(package)[0]


def open_sealed(
    package: bytes,
    private_pem: str,
    *,
    board: str,
    run_id: str,
    size_most: int = SIZE_MOST,
    files_most: int = FILES_MOST,
) -> dict[str, bytes]:
    """The files of a package, by name, in memory.

    Raises NotAPackage, NotForThis (it is for another board or submission), NotForThisKey, Changed, TooLarge, all of
    them NotOpened; and BadKey where the private key is none.
    """
    if len(package) > size_most + HEADER_MOST + (1 << 20):
        raise TooLarge(f"the package has {len(package):,} bytes, where at most {size_most:,} are allowed")
    label, recipients, start = _parse(package)
    if (label.board, label.run_id) != (board, run_id):
        raise NotForThis(
            f"the package was sealed for {label.run_id!r} on board {label.board!r}, not for {run_id!r} on {board!r}"
        )
    private = _private_key(private_pem)
    fingerprint = _fingerprint(private.public_key())
    if fingerprint not in label.fingerprints:
        raise NotForThisKey(
            f"the package was sealed for the keys {', '.join(label.fingerprints)}, and this key is {fingerprint}"
        )
    recipient = recipients[label.fingerprints.index(fingerprint)]
    try:
        ephemeral = X25519PublicKey.from_public_bytes(_bytes(recipient["ephemeral"]))
        wrapping = _wrapping_key(private.exchange(ephemeral), ephemeral, private.public_key(), board, run_id)
        key = ChaCha20Poly1305(wrapping).decrypt(_NONCE, _bytes(recipient["key"]), None)
        content = ChaCha20Poly1305(key).decrypt(_NONCE, package[len(start) :], start)
    except (InvalidTag, ValueError, KeyError, TypeError):
        raise Changed("the package was changed or cut after it was sealed") from None
    return _unpack(content, size_most, files_most)


def _unpack(content: bytes, size_most: int, files_most: int) -> dict[str, bytes]:
    try:
        end = 4 + int.from_bytes(content[:4], "big")
        index = [(str(name), int(size)) for name, size in json.loads(content[4:end])]
        for name, size in index:
            _check_name(name)
            if size < 0:
                raise ValueError(f"{size} bytes")
        if len(dict(index)) != len(index) or end + sum(size for _, size in index) != len(content):
            raise ValueError("sizes that do not add up")
    except (ValueError, TypeError):
        raise NotAPackage("the package opens, but its list of files is damaged: seal it again") from None
    if len(index) > files_most:
        raise TooLarge(f"the package has {len(index):,} files, where at most {files_most:,} are allowed")
    if len(content) - end > size_most:
        raise TooLarge(f"the files have {len(content) - end:,} bytes, where at most {size_most:,} are allowed")
    files = {}
    for name, size in index:
        files[name] = content[end : end + size]
        end += size
    return files


def _parse(package: bytes) -> tuple[Label, list[Any], bytes]:
    """What the package says about itself, its recipients, and the bytes that come before the ciphertext."""
    head = len(MAGIC) + 5
    if not package.startswith(MAGIC) or len(package) < head:
        raise NotAPackage("not a sealed package: these do not begin with BKSEAL")
    if package[len(MAGIC)] != VERSION:
        raise NotAPackage(f"a package of version {package[len(MAGIC)]}, where this software reads {VERSION}")
    size = int.from_bytes(package[len(MAGIC) + 1 : head], "big")
    if size > HEADER_MOST or len(package) < head + size:
        raise NotAPackage("the package is cut within its header")
    try:
        header = json.loads(package[head : head + size])
        recipients = header["recipients"]
        label = Label(header["board"], header["id"], tuple(recipient["fingerprint"] for recipient in recipients))
        if not all(isinstance(text, str) for text in (label.board, label.run_id, *label.fingerprints)):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotAPackage("the header of the package is damaged") from None
    follow = len(package) - head - size
    if header.get("bytes", follow) != follow:  # the first packages did not say
        raise NotAPackage(
            f"the package was cut or damaged on its way: {follow} bytes follow its header, which says {header['bytes']}"
        )
    return label, recipients, package[: head + size]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a plain file name of letters, digits, dots, - and _")


def _wrapping_key(
    shared: bytes, ephemeral: X25519PublicKey, recipient: X25519PublicKey, board: str, run_id: str
) -> bytes:
    bound = [ephemeral.public_bytes_raw(), recipient.public_bytes_raw(), board.encode(), run_id.encode()]
    info = _PURPOSE + b"".join(len(part).to_bytes(4, "big") + part for part in bound)
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=info).derive(shared)


def _public_key(pem: str) -> X25519PublicKey:
    try:
        key = serialization.load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise BadKey("not a public key in PEM (-----BEGIN PUBLIC KEY-----)") from None
    if not isinstance(key, X25519PublicKey):
        raise BadKey("a public key of another kind than X25519")
    return key


def _private_key(pem: str) -> X25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadKey("not a private key in PEM without a password (-----BEGIN PRIVATE KEY-----)") from None
    if not isinstance(key, X25519PrivateKey):
        raise BadKey("a private key of another kind than X25519")
    return key


def _fingerprint(public: X25519PublicKey) -> str:
    return hashlib.sha256(public.public_bytes(serialization.Encoding.DER, _SPKI)).hexdigest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
