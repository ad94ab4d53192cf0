"""Files sealed at rest: read back whole, refused changed, cut or with another key, and older ones still read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sealing import SealedOtherwise, _fernet, seal_bytes, unseal_bytes


@given(st.binary(max_size=300))
def test_a_file_is_read_back_and_never_sealed_the_same_way_twice(content: bytes) -> None:
    sealed = seal_bytes(content)
    assert unseal_bytes(sealed) == content
    assert seal_bytes(content) != sealed and len(sealed) == len(content) + 29


def test_a_file_that_is_changed_anywhere_or_cut_off_is_refused() -> None:
    sealed = seal_bytes(b"the top of a run")
    for at in range(len(sealed)):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        for damaged in (changed, sealed[:at]):
            with pytest.raises(SealedOtherwise):
                unseal_bytes(damaged)


def test_another_key_does_not_open_it(settings: object) -> None:
    sealed = seal_bytes(b"the top of a run")
    settings.SECRET_KEY = "another" * 10  # type: ignore[attr-defined]
    with pytest.raises(SealedOtherwise):
        unseal_bytes(sealed)


def test_a_file_that_was_sealed_as_a_token_is_still_read(settings: object) -> None:
    token = _fernet(settings.SECRET_KEY).encrypt(b"the top of a run")  # type: ignore[attr-defined]
    assert unseal_bytes(token) == b"the top of a run"
