"""Accounts: requesters, workers, operators, invitations, blocks."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from marketplace import clock, ids
from marketplace.countries import country_name, is_subdivision
from marketplace.errors import InvalidValue, NotAllowed, WrongState
from marketplace.models import Account, AuditEvent, Invitation, Requester, Worker, WorkerBlock
from marketplace.selectors.lookups import worker_of
from marketplace.services.hits import hits_end

INVITATION_DAYS = 14
MOST_BLOCKS = 100_000


class IssuedInvitation(NamedTuple):
    """An invitation and its token, which is shown once and kept nowhere."""

    invitation: Invitation
    token: str


class PasswordLink(NamedTuple):
    """What the address of a new password is made of. The token is kept nowhere: it follows from the account."""

    uid: str
    token: str


def audit_note(
    *, actor: Account | str, action: AuditEvent.Action, subject: Account | str, **details: object
) -> AuditEvent:
    """Write down what an operator did, or a command (by its name) in an operator's name.

    The subject is the public id of what it was about, or the account of somebody who has none.
    """
    return AuditEvent.objects.create(
        at=clock.now(),
        actor=actor if isinstance(actor, Account) else None,
        command=actor if isinstance(actor, str) else "",
        action=action,
        subject=subject if isinstance(subject, str) else "",
        account=subject if isinstance(subject, Account) else None,
        details=details,
    )


def requester_create(*, name: str, email: str = "") -> Requester:
    """A new requester, with nothing in its account. Raises InvalidValue if the name is taken."""
    try:
        with transaction.atomic():
            return Requester.objects.create(account_id=ids.account_id(), name=name, email=email, created_at=clock.now())
    except IntegrityError:
        raise InvalidValue(f"There is a requester named {name}.") from None


def operator_create(*, email: str, password: str) -> Account:
    """An account that may open the operator's pages. Raises InvalidValue."""
    return _account(email=email, password=password, is_operator=True)


def invitation_make(
    *,
    email: str = "",
    note: str = "",
    vouched_approved: int = 0,
    vouched_rejected: int = 0,
    days: int = INVITATION_DAYS,
) -> IssuedInvitation:
    """A permission to register, for whoever holds the token (and, with `email`, only for that address)."""
    if email:
        _check_email(email)
    token = secrets.token_urlsafe(24)
    at = clock.now()
    invitation = Invitation.objects.create(
        email=email,
        token_digest=_digest(token),
        note=note,
        vouched_approved=vouched_approved,
        vouched_rejected=vouched_rejected,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    return IssuedInvitation(invitation, token)


def invitation_find(token: str) -> Invitation | None:
    """The invitation of a token, if it can be used now."""
    return Invitation.objects.filter(token_digest=_digest(token), used_by=None, expires_at__gt=clock.now()).first()


@transaction.atomic
def worker_register(
    *,
    email: str,
    password: str,
    country: str,
    subdivision: str = "",
    adult_content: bool = False,
    invitation_token: str = "",
) -> Worker:
    """A new worker. Needs an invitation, unless registration is open to all.

    Raises NotAllowed (no invitation, a used one, another's) or InvalidValue (address, password, country).
    """
    invitation = None
    if invitation_token:
        candidate = (
            Invitation.objects.select_for_update(no_key=True).filter(token_digest=_digest(invitation_token)).first()
        )
        if candidate is None or candidate.used_by_id or candidate.expires_at <= clock.now():
            raise NotAllowed("This invitation has already been used or has expired.")
        if candidate.email and candidate.email.casefold() != email.strip().casefold():
            raise NotAllowed("This invitation is for another email address.")
        invitation = candidate
    elif not settings.OPEN_REGISTRATION:
        raise NotAllowed("Registration is by invitation. Ask the marketplace's operator for one.")
    country, subdivision = _place(country, subdivision)
    worker = Worker.objects.create(
        account=_account(email=email, password=password),
        worker_id=ids.worker_id(),
        country=country,
        subdivision=subdivision,
        adult_content=adult_content,
        vouched_approved=invitation.vouched_approved if invitation else 0,
        vouched_rejected=invitation.vouched_rejected if invitation else 0,
        registered_at=clock.now(),
    )
    if invitation is not None:
        invitation.used_by = worker
        invitation.save(update_fields=["used_by"])
    return worker


def worker_move(*, worker: Worker, country: str, subdivision: str = "") -> Worker:
    """Say where a worker lives now. What was accepted stays accepted. Raises InvalidValue."""
    worker.country, worker.subdivision = _place(country, subdivision)
    worker.save(update_fields=["country", "subdivision"])
    return worker


class _PasswordTokens(PasswordResetTokenGenerator):
    """By the marketplace's clock."""

    def _now(self) -> datetime:
        return clock.now().replace(tzinfo=None)


# They work until the password is changed or the account logs in, for settings.PASSWORD_RESET_TIMEOUT at most.
password_tokens = _PasswordTokens()


def password_link_make(*, account: Account) -> PasswordLink:
    """A link to set a new password with, once. Raises NotAllowed if the account is closed."""
    if not account.is_active:
        raise NotAllowed("This account is closed. Open it again first.")
    uid = urlsafe_base64_encode(force_bytes(account.pk))
    return PasswordLink(uid=uid, token=password_tokens.make_token(account))


def requester_deactivate(*, requester: Requester, actor: Account, reason: str) -> int:
    """Refuse all that a requester's keys sign from now on, and end its HITs. How many are ended.

    What was accepted may still be submitted, and is paid out of what is held for it: by the operator's approval, or by
    the clock. What is held for free places is returned as the clock acts on the ended HITs. With its note in the audit.
    Raises WrongState if it is inactive.
    """
    with transaction.atomic():
        _switch(requester, active=False)
        audit_note(
            actor=actor, action=AuditEvent.Action.DEACTIVATE_REQUESTER, subject=requester.account_id, reason=reason
        )
    # Afterwards: whoever locks the requester locked its HITs before. What is published meanwhile is refused.
    return hits_end(requester_pk=requester.pk)


@transaction.atomic
def requester_reactivate(*, requester: Requester, actor: Account, reason: str) -> None:
    """Take what a requester's keys sign again. Its HITs stay ended, until it moves their end. With its note.

    Raises WrongState if it is active.
    """
    _switch(requester, active=True)
    audit_note(actor=actor, action=AuditEvent.Action.REACTIVATE_REQUESTER, subject=requester.account_id, reason=reason)


def _switch(requester: Requester, *, active: bool) -> None:
    if not Requester.objects.filter(pk=requester.pk, is_active=not active).update(is_active=active):
        raise WrongState("Requester", "inactive" if active else "active")
    requester.is_active = active


def worker_set_status(*, worker: Worker, status: Worker.Status) -> Worker:
    """Suspend a worker, close the account, or open it again. What was accepted may still be submitted."""
    with transaction.atomic():
        worker.status = status
        worker.save(update_fields=["status"])
        Account.objects.filter(pk=worker.account_id).update(is_active=status != Worker.Status.CLOSED)
    return worker


def block_create(*, requester: Requester, worker_id: str, reason: str) -> WorkerBlock:
    """Keep a worker from a requester's HITs. A second block replaces the reason. Raises DoesNotExist, InvalidValue."""
    worker = worker_of(worker_id)
    if WorkerBlock.objects.filter(requester=requester).exclude(worker=worker).count() >= MOST_BLOCKS:
        raise InvalidValue(f"At most {MOST_BLOCKS:,} workers can be blocked.")
    block, _ = WorkerBlock.objects.update_or_create(
        requester=requester, worker=worker, defaults={"reason": reason, "blocked_at": clock.now()}
    )
    return block


def block_delete(*, requester: Requester, worker_id: str) -> bool:
    """Take a block back. Whether there was one; there need not be. Raises DoesNotExist for an unknown worker."""
    deleted, _ = WorkerBlock.objects.filter(requester=requester, worker=worker_of(worker_id)).delete()
    return bool(deleted)


def _account(*, email: str, password: str, is_operator: bool = False) -> Account:
    email = email.strip()
    _check_email(email)
    try:
        validate_password(password, Account(email=email))
    except ValidationError as error:
        raise InvalidValue(" ".join(error.messages)) from error
    try:
        with transaction.atomic():
            return Account.objects.create_user(email, password, is_operator=is_operator, created_at=clock.now())
    except IntegrityError:
        raise InvalidValue("An account with this email address already exists. Log in instead.") from None


def _place(country: str, subdivision: str) -> tuple[str, str]:
    """ISO 3166 codes in capitals. Raises InvalidValue."""
    country, subdivision = country.strip().upper(), subdivision.strip().upper()
    name = country_name(country)
    if name is None:
        raise InvalidValue(f"'{country}' is not an ISO 3166 country code, such as US. Great Britain is GB.")
    if subdivision and not is_subdivision(country, subdivision):
        raise InvalidValue(
            f"'{subdivision}' is not the ISO 3166 code of a state or province of {name}. WA is one of the US."
        )
    return country, subdivision


def _check_email(email: str) -> None:
    try:
        validate_email(email)
    except ValidationError:
        raise InvalidValue(f"'{email}' is not an email address.") from None


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
