"""Access keys. Signature Version 4 needs the secret itself on both sides, so a digest cannot be stored.

A secret is random, and stored encrypted (marketplace.sealing). So the database holds nothing that signs, and a stolen
backup is no use without the environment's keys.
"""

import base64
import hmac
import secrets
from functools import cache
from typing import NamedTuple

from django.db import transaction

from marketplace import clock, ids
from marketplace.models import AccessKey, Requester
from marketplace.sealing import SealedOtherwise, is_sealed_newly, seal, unseal

ROTATED_AT_ONCE = 500


class IssuedKey(NamedTuple):
    """An access key as its owner needs it. The secret is shown this once."""

    key_id: str
    secret: str


class Rotation(NamedTuple):
    """How many secrets are encrypted with the first key already, how many were (or would be) encrypted with it anew,
    and the ids of the access keys whose secrets none of the keys opens.
    """

    kept: int
    renewed: int
    unreadable: list[str]


def key_secret(key: AccessKey | None) -> str:
    """The 40 characters that go with a key; for none, others, which take as long. Raises SealedOtherwise."""
    if key is None:
        return unseal(_nobodys(), "The secret of no key")
    return unseal(key.sealed_secret, f"The secret of the access key {key.key_id}")


def notification_secret(key: AccessKey) -> bytes:
    """What notifications are signed with: HMAC-SHA256 of `notifications` under the key's secret, as its owner can."""
    return hmac.digest(key_secret(key).encode(), b"notifications", "sha256")


def key_issue(*, requester: Requester, label: str = "") -> IssuedKey:
    """A new key for a requester, beside those it has."""
    secret = _new_secret()
    key = AccessKey.objects.create(
        key_id=ids.access_key_id(), sealed_secret=seal(secret), requester=requester, label=label, created_at=clock.now()
    )
    return IssuedKey(key.key_id, secret)


@transaction.atomic
def key_revoke(*, key_id: str) -> bool:
    """Refuse what is signed with this key from now on. Whether it was in force."""
    return bool(AccessKey.objects.filter(key_id=key_id, revoked_at=None).update(revoked_at=clock.now()))


def secrets_rotate(*, dry_run: bool = False) -> Rotation:
    """Encrypt every secret with the first of the keys. Safe to run again, and beside everything else."""
    current, renewed, unreadable = 0, 0, list[str]()
    for key in AccessKey.objects.order_by("pk").iterator(ROTATED_AT_ONCE):
        if is_sealed_newly(key.sealed_secret):
            current += 1
            continue
        try:
            secret = key_secret(key)
        except SealedOtherwise:
            unreadable.append(key.key_id)
            continue
        renewed += 1
        if not dry_run:
            AccessKey.objects.filter(pk=key.pk, sealed_secret=key.sealed_secret).update(sealed_secret=seal(secret))
    return Rotation(current, renewed, unreadable)


def _new_secret() -> str:
    return base64.b64encode(secrets.token_bytes(30)).decode()


@cache
def _nobodys() -> str:
    return seal(_new_secret())
