"""Sealed packages: what opens them, and what does not."""

import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from evaluation.boards import sealing

BOARD, PARTICIPANT, STRANGER = (sealing.new_key() for _ in range(3))
FILES = {"metadata.json": b"{}", "dev.txt.bz2": b"d" * 1000, "eval.txt.bz2": b""}
PACKAGE = sealing.seal(FILES, to=BOARD.public_pem, board="lab/passages", run_id="20210301-ours")


def opened(package: bytes, private: str = BOARD.private_pem, **other: str) -> dict[str, bytes]:
    place = {"board": "lab/passages", "run_id": "20210301-ours", **other}
    return sealing.open_sealed(package, private, **place)  # type: ignore[arg-type]


def test_a_package_opens_with_the_key_of_its_board_and_hides_what_it_holds() -> None:
    assert opened(PACKAGE) == FILES
    assert b"metadata" not in PACKAGE and b"dddd" not in PACKAGE
    label = sealing.read_label(PACKAGE)
    assert label == ("lab/passages", "20210301-ours", (BOARD.fingerprint,))
    assert sealing.seal(FILES, to=BOARD.public_pem, board="lab/passages", run_id="20210301-ours") != PACKAGE


def test_a_participant_can_keep_a_key_of_their_own_and_the_board_does_not_need_it() -> None:
    package = sealing.seal(
        FILES, to=BOARD.public_pem, board="b", run_id="r", also_to=[PARTICIPANT.public_pem, BOARD.public_pem]
    )
    assert sealing.read_label(package).fingerprints == (BOARD.fingerprint, PARTICIPANT.fingerprint)
    for key in (BOARD, PARTICIPANT):
        assert opened(package, key.private_pem, board="b", run_id="r") == FILES
    with pytest.raises(sealing.NotForThisKey, match=STRANGER.fingerprint):
        opened(package, STRANGER.private_pem, board="b", run_id="r")


@pytest.mark.parametrize("other", [{"board": "lab/documents"}, {"run_id": "20210301-theirs"}])
def test_a_package_does_not_open_for_another_board_or_submission(other: dict[str, str]) -> None:
    with pytest.raises(sealing.NotForThis, match="was sealed for '20210301-ours' on board 'lab/passages'"):
        opened(PACKAGE, **other)
    # Renaming it in the header does not help: the header is authenticated, and the key derived from both names.
    name = other.get("board", "lab/passages"), other.get("run_id", "20210301-ours")
    header = json.loads(PACKAGE[11 : 11 + int.from_bytes(PACKAGE[7:11], "big")])
    size = int.from_bytes(PACKAGE[7:11], "big")
    renamed = json.dumps({**header, "board": name[0], "id": name[1]}, sort_keys=True).encode()
    package = PACKAGE[:7] + len(renamed).to_bytes(4, "big") + renamed + PACKAGE[11 + size :]
    with pytest.raises(sealing.Changed):
        opened(package, **other)


@given(st.integers(0, len(PACKAGE) - 1), st.integers(1, 255))
def test_a_changed_byte_anywhere_keeps_a_package_shut(at: int, by: int) -> None:
    package = bytearray(PACKAGE)
    package[at] ^= by
    with pytest.raises(sealing.NotOpened):
        opened(bytes(package))


@given(st.integers(0, len(PACKAGE) - 1))
def test_a_package_that_was_cut_stays_shut(length: int) -> None:
    with pytest.raises(sealing.NotOpened):
        opened(PACKAGE[:length])


def test_whoever_cannot_open_a_package_notices_that_it_was_cut() -> None:
    assert sealing.read_label(PACKAGE).run_id == "20210301-ours"
    with pytest.raises(
        sealing.NotAPackage, match=r"cut or damaged on its way: \d+ bytes follow its header, which says"
    ):
        sealing.read_label(PACKAGE[:-1])


@given(st.dictionaries(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True), st.binary(), min_size=1))
def test_what_is_sealed_comes_out(files: dict[str, bytes]) -> None:
    if len(files) > sealing.FILES_MOST:
        with pytest.raises(ValueError, match="1 to 16"):
            sealing.seal(files, to=BOARD.public_pem, board="b", run_id="r")
    else:
        package = sealing.seal(files, to=BOARD.public_pem, board="b", run_id="r")
        assert opened(package, board="b", run_id="r") == files


def test_what_is_longer_than_allowed_is_refused() -> None:
    place = {"board": "lab/passages", "run_id": "20210301-ours"}
    with pytest.raises(sealing.TooLarge, match="1,002 bytes, where at most 1,001"):
        sealing.open_sealed(PACKAGE, BOARD.private_pem, **place, size_most=1001)
    with pytest.raises(sealing.TooLarge, match="3 files, where at most 2"):
        sealing.open_sealed(PACKAGE, BOARD.private_pem, **place, files_most=2)
    assert sealing.open_sealed(PACKAGE, BOARD.private_pem, **place, size_most=1002, files_most=3) == FILES


@pytest.mark.parametrize("name", ["", "../dev", "a/b", ".hidden", "dev\n", "ü"])
def test_names_of_files_are_plain(name: str) -> None:
    with pytest.raises(ValueError, match="not a plain file name"):
        sealing.seal({name: b""}, to=BOARD.public_pem, board="b", run_id="r")


def test_a_fingerprint_is_that_of_the_public_key_in_groups_for_people() -> None:
    assert sealing.fingerprint(BOARD.public_pem) == BOARD.fingerprint != STRANGER.fingerprint
    assert sealing.spaced(BOARD.fingerprint).replace(" ", "") == BOARD.fingerprint
    assert len(sealing.spaced(BOARD.fingerprint).split()) == 16


def test_keys_of_other_kinds_are_refused() -> None:
    other = rsa.generate_private_key(65537, 2048)
    public = other.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    private = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(sealing.BadKey, match="another kind than X25519"):
        sealing.fingerprint(public.decode())
    with pytest.raises(sealing.BadKey, match="not a public key"):
        sealing.seal(FILES, to=BOARD.private_pem, board="b", run_id="r")
    with pytest.raises(sealing.BadKey, match="another kind than X25519"):
        opened(PACKAGE, private.decode())
    with pytest.raises(sealing.BadKey, match="not a private key"):
        opened(PACKAGE, BOARD.public_pem)
