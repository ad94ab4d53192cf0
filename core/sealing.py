"""Secrets that have to be read again, encrypted with a key that the database does not hold.

Short ones are Fernet tokens (AES-128-CBC, HMAC), which are text. Files are AES-256-GCM: some fifteen times as fast,
and no longer than what they hold. The keys are derived from SECRET_KEY. Where that is replaced, what was sealed cannot
be opened any more, and its owner makes a new secret.
"""

import base64
import hashlib
import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

_PURPOSE = b"secrets at rest"
_FILES = b"files at rest"
_FORMAT = b"\x01"  # the first byte of a sealed file; those that were sealed as a Fernet token begin with a letter
_NONCE = 12


class SealedOtherwise(Exception):
    """What was sealed cannot be opened with this site's key."""


def seal(secret: str) -> str:
    return _fernet(settings.SECRET_KEY).encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """The secret itself. Raises SealedOtherwise."""
    try:
        return _fernet(settings.SECRET_KEY).decrypt(sealed).decode()
    except InvalidToken:
        raise SealedOtherwise from None


def seal_bytes(content: bytes) -> bytes:
    """A file's content as it is stored."""
    nonce = os.urandom(_NONCE)
    return _FORMAT + nonce + _aes(settings.SECRET_KEY).encrypt(nonce, content, _FORMAT)


def unseal_bytes(sealed: bytes) -> bytes:
    """The content itself. Raises SealedOtherwise."""
    try:
        if not sealed.startswith(_FORMAT):
            return _fernet(settings.SECRET_KEY).decrypt(sealed)
        nonce, content = sealed[len(_FORMAT) : len(_FORMAT) + _NONCE], sealed[len(_FORMAT) + _NONCE :]
        return _aes(settings.SECRET_KEY).decrypt(nonce, content, _FORMAT)
    except (InvalidToken, InvalidTag, ValueError):  # ValueError: cut off within the nonce
        raise SealedOtherwise from None


@lru_cache(maxsize=4)
def _aes(text: str) -> AESGCM:
    return AESGCM(hmac.digest(text.encode(), _FILES, hashlib.sha256))


@lru_cache(maxsize=4)
def _fernet(text: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hmac.digest(text.encode(), _PURPOSE, hashlib.sha256)))
