"""Secrets that have to be read again, encrypted with keys that the database does not hold (Fernet: AES-128-CBC, HMAC).

What is sealed is sealed with the first of MARKETPLACE_ENCRYPTION_KEYS, and opened with any of them, so that a new key
can be put before the old one, everything sealed anew (`rotate_keys`), and the old one taken away. The last of them is
MARKETPLACE_SECRET_KEY, whatever is set.
"""

import base64
import hashlib
import hmac
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SealedOtherwise(Exception):
    """What was sealed can be opened with none of the keys. `what` names it, and whose it is."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} was encrypted with none of MARKETPLACE_ENCRYPTION_KEYS, nor with MARKETPLACE_SECRET_KEY. Add the "
            "key that was in use when it was stored to the end of the list."
        )


def seal(secret: str) -> str:
    return _keys()[0].encrypt(secret.encode()).decode()


def unseal(sealed: str, what: str) -> str:
    """The secret itself. Raises SealedOtherwise, which says what it is."""
    try:
        return MultiFernet(_keys()).decrypt(sealed).decode()
    except InvalidToken:
        raise SealedOtherwise(what) from None


def is_sealed_newly(sealed: str) -> bool:
    """Whether the first key opens it."""
    try:
        _keys()[0].decrypt(sealed)
    except InvalidToken:
        return False
    return True


def _keys() -> list[Fernet]:
    return _fernets(tuple(settings.ENCRYPTION_KEYS))


@lru_cache(maxsize=4)
def _fernets(texts: tuple[str, ...]) -> list[Fernet]:
    """Any text is a key, as long as it is long and random; Fernet takes 32 bytes."""
    return [Fernet(base64.urlsafe_b64encode(hmac.digest(text.encode(), _PURPOSE, hashlib.sha256))) for text in texts]


_PURPOSE = b"marketplace secrets at rest"
