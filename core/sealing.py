"""Secrets that have to be read again, encrypted with a key that the database does not hold (Fernet: AES-128-CBC, HMAC).

The key is derived from SECRET_KEY. Where that is replaced, what was sealed cannot be opened any more, and its owner
makes a new secret.
"""

import base64
import hashlib
import hmac
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

_PURPOSE = b"secrets at rest"


class SealedOtherwise(Exception):
    """What was sealed cannot be opened with this site's key."""


def seal(secret: str) -> str:
    """The secret as it is stored."""
    return _fernet(settings.SECRET_KEY).encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """The secret itself. Raises SealedOtherwise."""
    try:
        return _fernet(settings.SECRET_KEY).decrypt(sealed).decode()
    except InvalidToken:
        raise SealedOtherwise from None


def seal_bytes(content: bytes) -> bytes:
    """A file's content as it is stored."""
    return _fernet(settings.SECRET_KEY).encrypt(content)


def unseal_bytes(sealed: bytes) -> bytes:
    """The content itself. Raises SealedOtherwise."""
    try:
        return _fernet(settings.SECRET_KEY).decrypt(sealed)
    except InvalidToken:
        raise SealedOtherwise from None


@lru_cache(maxsize=4)
def _fernet(text: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hmac.digest(text.encode(), _PURPOSE, hashlib.sha256)))
