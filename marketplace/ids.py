"""Identifiers as Mechanical Turk's look: capitals and digits, impossible to guess."""

import secrets
import string

_ALPHABET = string.ascii_uppercase + string.digits
ENTITY_LENGTH = 30


def entity_id() -> str:
    """Of a HIT, HIT type, assignment, qualification type …: 30 characters, the first of them a 3."""
    return "3" + _draw(ENTITY_LENGTH - 1)


def worker_id() -> str:
    """Of a worker: A and 13 characters."""
    return "A" + _draw(13)


def account_id() -> str:
    """Of a requester: R and 13 characters."""
    return "R" + _draw(13)


def access_key_id() -> str:
    """The public half of an access key: MKP and 17 characters, as long as Amazon's and never one of theirs."""
    return "MKP" + _draw(17)


def _draw(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
