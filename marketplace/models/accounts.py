"""People and programs: who logs in, who works, who asks for work, and with which keys."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _


class Accounts(BaseUserManager["Account"]):
    """Finds and makes accounts."""

    def create_user(self, email: str, password: str | None, **facts: Any) -> "Account":
        """An account with this password, or one that cannot log in."""
        account = self.model(email=email.lower(), **facts)
        account.set_password(password)
        account.save(using=self._db)
        return account

    def get_by_natural_key(self, username: str | None) -> "Account":
        """The account of an address, whatever its capitals."""
        return self.get(email__iexact=username)


class Account(AbstractBaseUser):
    """Somebody who logs in: a worker, an operator, or both. Addresses are kept in lower case."""

    email = models.EmailField(_("email address"), unique=True)
    is_operator = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    objects: ClassVar[Accounts] = Accounts()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["created_at"]

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(email=Lower("email")), name="account_email_small")]

    def __str__(self) -> str:
        return self.email


class Worker(models.Model):
    """Somebody who works on HITs, known to requesters by a worker id alone."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("active")
        SUSPENDED = "suspended", _("suspended")
        CLOSED = "closed", _("closed")

    account = models.OneToOneField(Account, on_delete=models.PROTECT, related_name="worker")
    worker_id = models.CharField(max_length=64, unique=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    country = models.CharField(max_length=2, help_text=_("ISO 3166 code, such as US"))
    subdivision = models.CharField(max_length=3, blank=True, help_text=_("ISO 3166-2 code, such as WA"))
    adult_content = models.BooleanField(default=False, help_text=_("agreed to see adult content"))
    is_master = models.BooleanField(default=False, help_text=_("granted Masters by the operator"))
    # A record on other marketplaces that the operator vouches for. It counts in the system qualifications.
    vouched_approved = models.PositiveIntegerField(default=0)
    vouched_rejected = models.PositiveIntegerField(default=0)
    registered_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True, blank=True, help_text=_("since then nothing here says who it is"))

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(country__regex=r"^[A-Z]{2}$"), name="worker_country_code"),
            models.CheckConstraint(condition=Q(worker_id__regex=r"^A[A-Z0-9]+$"), name="worker_id_form"),
        ]

    def __str__(self) -> str:
        return self.worker_id


class Invitation(models.Model):
    """A permission to register as a worker, once. Only a digest of the token is kept."""

    email = models.EmailField(blank=True, help_text=_("if set, only this address may register with it"))
    token_digest = models.CharField(max_length=64, unique=True)
    note = models.CharField(max_length=200, blank=True)
    vouched_approved = models.PositiveIntegerField(default=0)
    vouched_rejected = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_by = models.OneToOneField(Worker, null=True, blank=True, on_delete=models.PROTECT, related_name="invitation")

    def __str__(self) -> str:
        return self.email or f"invitation {self.pk}"


class Requester(models.Model):
    """Somebody who publishes HITs through the API and pays for them. Money movements lock this row."""

    account_id = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=100, unique=True)
    email = models.EmailField(blank=True, help_text=_("where workers' messages can be forwarded to"))
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class AccessKey(models.Model):
    """What a requester signs requests with. Its secret is stored encrypted: see services.keys."""

    key_id = models.CharField(max_length=64, unique=True)
    sealed_secret = models.TextField(editable=False)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="keys")
    label = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.key_id


class WorkerBlock(models.Model):
    """A requester does not want this worker on any of its HITs. The worker does not see the reason."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="blocks")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="blocks")
    reason = models.TextField()
    blocked_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["requester", "worker"], name="worker_blocked_once")]

    def __str__(self) -> str:
        return f"{self.worker_id} by {self.requester_id}"


class Tries(models.Model):
    """How often somebody did something that has a limit, in the span of time that began last. See services.limits."""

    key = models.CharField(primary_key=True, max_length=64, help_text=_("a keyed digest of what is limited, and who"))
    began_at = models.DateTimeField(help_text=_("the machine's time"))
    number = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "tries"

    def __str__(self) -> str:
        return f"{self.number} since {self.began_at}"


class AuditEvent(models.Model):
    """Something that an operator did, or a command in an operator's name. Append-only.

    It stays for good, so people are named by their rows: an address that is erased there is not in here.
    """

    # The page shows and searches the same words, so each label is the value.
    class Action(models.TextChoices):
        CREATE_OPERATOR = "create operator", _("create operator")
        CREATE_REQUESTER = "create requester", _("create requester")
        DEACTIVATE_REQUESTER = "deactivate requester", _("deactivate requester")
        REACTIVATE_REQUESTER = "reactivate requester", _("reactivate requester")
        ISSUE_KEY = "issue key", _("issue key")
        REVOKE_KEY = "revoke key", _("revoke key")
        DEPOSIT = "deposit", _("deposit")
        DECLINE_DEPOSIT = "decline deposit", _("decline deposit")
        ANSWER_MESSAGE = "answer message", _("answer message")
        APPROVE_FOR_REQUESTER = "approve for requester", _("approve for requester")
        INVITE_WORKER = "invite worker", _("invite worker")
        ACTIVATE_WORKER = "worker active", _("worker active")
        SUSPEND_WORKER = "worker suspended", _("worker suspended")
        CLOSE_WORKER = "worker closed", _("worker closed")
        ERASE_WORKER = "erase worker", _("erase worker")
        MOVE_WORKER = "move worker", _("move worker")
        ISSUE_PASSWORD_LINK = "issue password link", _("issue password link")
        OVERTURN_REJECTION = "overturn rejection", _("overturn rejection")
        UPHOLD_REJECTION = "uphold rejection", _("uphold rejection")
        PAY_OUT = "pay out", _("pay out")
        FETCH_PAYOUTS = "fetch payouts", _("fetch payouts")
        RETURN_PAYOUT = "payout came back", _("payout came back")
        LAPSE = "lapse", _("lapse")

    at = models.DateTimeField()
    actor = models.ForeignKey(Account, null=True, blank=True, on_delete=models.PROTECT, related_name="audited_acts")
    command = models.CharField(max_length=50, blank=True, help_text=_("what was run, where nobody was logged in"))
    action = models.CharField(max_length=50, choices=Action)
    subject = models.CharField(max_length=100, blank=True, help_text=_("the public id of what it was about"))
    account = models.ForeignKey(
        Account,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("whose account it was about, where that has no public id"),
    )
    details = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["-at"], name="audit_newest_first")]  # selectors.audit
        constraints = [
            models.CheckConstraint(
                condition=Q(actor__isnull=False, command="") | (Q(actor=None) & ~Q(command="")),
                name="audit_names_who_did_it",
            )
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"


class ApiCall(models.Model):
    """One signed request to the API, and what came of it. Kept for some time: see services.daily."""

    at = models.DateTimeField()
    key = models.ForeignKey(AccessKey, on_delete=models.PROTECT, related_name="+", db_index=False)
    operation = models.CharField(max_length=64)
    request_id = models.CharField(max_length=36)
    subject = models.CharField(max_length=64, blank=True, help_text=_("the id of what it was about"))
    outcome = models.CharField(max_length=100, blank=True, help_text=_("empty: done; else the code of the error"))

    class Meta:
        indexes = [
            models.Index(fields=["key", "-id"], name="api_call_of_key"),  # selectors.requesters: what a key did
            BrinIndex(fields=["at"], name="api_call_to_forget"),
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.request_id}"


class DailyRun(models.Model):
    """When something was last done that is done once a day, and what came of it. See services.daily."""

    class Name(models.TextChoices):
        BOOKS = "books", _("check the books")
        FORGET = "forget", _("forget what is old")

    name = models.CharField(primary_key=True, max_length=20, choices=Name)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    ok = models.BooleanField(default=True)
    report = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name
