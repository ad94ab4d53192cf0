"""Tokens: made, recognized and revoked.

A token is `bkn_`, 40 random letters and digits, and six more that are a checksum of these: scanners of source code find
it by its look, and whatever is mistyped is refused without asking the database.
"""

import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from api.models import Scope, Token
from core.errors import Refused
from core.models import User
from core.roles import Right

# Which scope of a token an operation needs, by the right that its owner needs.
SCOPES = {
    Right.SEE: Scope.READ,
    Right.EXPORT: Scope.READ,
    Right.MAINTAIN: Scope.WRITE,
    Right.DESIGN: Scope.WRITE,
    Right.DECIDE: Scope.DECIDE,
    Right.SPEND: Scope.SPEND,
    Right.MANAGE: Scope.MANAGE,
    Right.SITE: Scope.MANAGE,
}
PREFIX = "bkn_"
LONGEST_DAYS = 366
MOST = 50  # tokens of one person that are valid
_LETTERS = string.ascii_letters + string.digits
_LENGTH, _CHECK = 40, 6
_FORM = re.compile(rf"{PREFIX}[A-Za-z0-9]{{{_LENGTH + _CHECK}}}")
_START = len(PREFIX) + 4


def _checksum(text: str) -> str:
    number, letters = zlib.crc32(text.encode()), ""
    for _place in range(_CHECK):
        number, rest = divmod(number, len(_LETTERS))
        letters = _LETTERS[rest] + letters
    return letters


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def tokens_of(user: User) -> QuerySet[Token]:
    """A person's tokens that have not been revoked, newest first."""
    return Token.objects.filter(user=user, revoked_at=None).order_by("-id")


@transaction.atomic
def token_create(*, user: User, name: str, scopes: Iterable[str], days: int, at: datetime) -> tuple[Token, str]:
    """A new token, and its text, which is not stored. It is valid for so many days."""
    chosen = [scope for scope in Scope.values if scope in set(scopes)]
    if not chosen:
        raise Refused(_("Choose at least one scope."))
    if not 1 <= days <= LONGEST_DAYS:
        raise Refused(_("A token is valid for 1 to %(most)d days.") % {"most": LONGEST_DAYS})
    User.objects.select_for_update().get(pk=user.pk)
    if tokens_of(user).filter(expires_at__gt=at).count() >= MOST:
        raise Refused(_("You have %(most)d valid tokens. Revoke one that you do not need any more.") % {"most": MOST})
    secret = "".join(secrets.choice(_LETTERS) for _place in range(_LENGTH))
    text = f"{PREFIX}{secret}{_checksum(secret)}"
    token = Token.objects.create(
        user=user,
        name=name,
        start=text[:_START],
        digest=_digest(text),
        scopes=chosen,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    return token, text


def token_revoke(*, token: Token, at: datetime) -> None:
    """Let a token open nothing any more. Revoking again keeps the first time."""
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=at)


def token_find(*, text: str, at: datetime) -> Token | None:
    """The valid token of this text, of an active person; None if there is none. Notes that it was used."""
    if not _FORM.fullmatch(text) or _checksum(text[len(PREFIX) : -_CHECK]) != text[-_CHECK:]:
        return None
    valid = Token.objects.filter(digest=_digest(text), revoked_at=None, expires_at__gt=at, user__is_active=True)
    token = valid.select_related("user").first()
    if token is not None:
        minute = at.replace(second=0, microsecond=0)
        unnoted = Q(last_used_at=None) | Q(last_used_at__lt=minute)
        if token.last_used_at is None or token.last_used_at < minute:
            Token.objects.filter(unnoted, pk=token.pk).update(last_used_at=minute)
    return token


def tokens_clear(*, before: datetime) -> None:
    """Delete tokens that have been useless since then."""
    Token.objects.filter(Q(revoked_at__lt=before) | Q(expires_at__lt=before)).delete()
