"""Access keys. Signature Version 4 needs the secret itself on both sides, so a digest cannot be stored.

The secret is derived: HMAC-SHA256 of the key's id under MARKETPLACE_SECRET_KEY. So the database holds nothing that
signs, a stolen backup is no use without the environment's key, and a new MARKETPLACE_SECRET_KEY voids all keys.
"""

import base64
import hashlib
import hmac
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from marketplace import clock, ids
from marketplace.models import AccessKey, Requester


class IssuedKey(NamedTuple):
    """An access key as its owner needs it. The secret is shown once and kept nowhere."""

    key_id: str
    secret: str


def key_secret(key_id: str) -> str:
    """The 40 characters that go with an id, whether or not such a key was ever issued."""
    return base64.b64encode(_derived("access key", key_id)).decode()[:40]


def notification_secret(key_id: str) -> bytes:
    """What notifications are signed with: HMAC-SHA256 of `notifications` under the key's secret, as its owner can."""
    return hmac.digest(key_secret(key_id).encode(), b"notifications", "sha256")


def key_issue(*, requester: Requester, label: str = "") -> IssuedKey:
    """A new key for a requester, beside those it has."""
    key = AccessKey.objects.create(key_id=ids.access_key_id(), requester=requester, label=label, created_at=clock.now())
    return IssuedKey(key.key_id, key_secret(key.key_id))


@transaction.atomic
def key_revoke(*, key_id: str) -> bool:
    """Refuse what is signed with this key from now on. Whether it was in force."""
    return bool(AccessKey.objects.filter(key_id=key_id, revoked_at=None).update(revoked_at=clock.now()))


def _derived(purpose: str, text: str) -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), f"marketplace {purpose}\0{text}".encode(), hashlib.sha256)
