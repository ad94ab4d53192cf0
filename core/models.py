"""Users, labs, who may do what in a lab, and the audit."""

from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.comparing import ComparedField, ComparedManager, ComparedModel, compared
from core.recorded import Audit, Group


class Users(UserManager["User"], ComparedManager["User"]):
    """Users, whose names are compared: a name is taken however it is written."""

    use_in_migrations = False

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(username_key=compared(username or ""))


class User(AbstractUser, ComparedModel):
    """Somebody who logs in: a member of labs, or (is_staff) an admin of the site. Workers are not users."""

    # As SessionsEnd renews log-ins: some minutes behind.
    last_seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Since when nothing says any more who it was (protection/closing.py).
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)
    username_key = ComparedField(of="username", unique=True)
    objects: ClassVar[Users] = Users()

    audit = Audit(
        Group.PEOPLE,
        insert=gettext_lazy("created the account %(person)s"),
        update=gettext_lazy("changed the account %(person)s: %(fields)s"),
        delete=gettext_lazy("deleted account %(key)s"),
    )

    def clean(self) -> None:
        """Refuse a name that somebody else has, written in another way."""
        super().clean()
        others = User.objects.filter(username_key=compared(self.username)).exclude(username=self.username)
        if others.exclude(pk=self.pk).exists():
            raise ValidationError({"username": self.unique_error_message(User, ("username",))})


class Lab(ComparedModel):
    """The group that owns collections, runs and campaigns. What each member may do in it is their role's."""

    name = models.CharField(max_length=100, unique=True)
    name_key = ComparedField(of="name", unique=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="labs", blank=True, through="core.Membership"
    )
    pay_floor = models.DecimalField(
        max_digits=6,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(Decimal("0.01"))],
        help_text=gettext_lazy("Dollars an hour below which none of its campaigns can start. Empty: there is none."),
    )

    audit = Audit(
        Group.PEOPLE,
        insert=gettext_lazy("created the lab %(thing)s"),
        update=gettext_lazy("changed the lab %(thing)s: %(changes)s"),
        delete=gettext_lazy("deleted the lab %(thing)s"),
    )

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that another lab has, written in another way."""
        others = Lab.objects.filter(name_key=compared(self.name)).exclude(name=self.name).exclude(pk=self.pk)
        if others.exists():
            raise ValidationError({"name": _("There is already a lab called “%(name)s”.") % {"name": others[0].name}})


class Membership(models.Model):
    """Somebody's role in a lab. `lab.members.add()` makes researchers.

    A trigger keeps a lab that has an admin from losing the last one who can log in, and the site likewise.
    """

    class Role(models.TextChoices):
        VIEWER = "viewer", gettext_lazy("viewer")
        RESEARCHER = "researcher", gettext_lazy("researcher")
        ORGANIZER = "organizer", gettext_lazy("organizer")
        ADMIN = "admin", gettext_lazy("admin")

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.RESEARCHER)

    audit = Audit(
        Group.PEOPLE,
        insert=gettext_lazy("added %(person)s to the lab %(lab)s: %(changes)s"),
        update=gettext_lazy("changed the role of %(person)s in the lab %(lab)s: %(changes)s"),
        delete=gettext_lazy("removed %(person)s from the lab %(lab)s"),
        names_person=True,
    )

    class Meta:
        db_table = "core_lab_members"  # from the time when members had no roles
        unique_together = [("lab", "user")]
        verbose_name = gettext_lazy("membership")
        verbose_name_plural = gettext_lazy("memberships")
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "researcher", "organizer", "admin"]),
                name="membership_role_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.get_role_display()} of {self.lab}"


class MemberInvitation(models.Model):
    """An offer to join a lab in a role, taken once, by whoever has its link (core/people.py) before it expires."""

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="member_invitations")
    role = models.CharField(max_length=10, choices=Membership.Role.choices)
    email = models.EmailField(blank=True)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    invited_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    mailed_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    audit = Audit(
        Group.PEOPLE,
        insert=gettext_lazy("invited somebody to the lab %(lab)s: %(changes)s"),
        update=gettext_lazy("changed an invitation to the lab %(lab)s: %(fields)s"),
        delete=gettext_lazy("deleted an invitation to the lab %(lab)s"),
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(revoked_at=None) | models.Q(accepted_at=None), name="invitation_revoked_or_accepted"
            )
        ]

    def __str__(self) -> str:
        return f"{self.email or self.pk}, {self.get_role_display()} of {self.lab}"


class AuditEntry(models.Model):
    """Somebody changed a row, or did something that is to be known. Written by triggers, append-only.

    It names people by their keys, and no worker by more than that, so that what is erased elsewhere is not in here. The
    keys are no relations: an entry outlives what it is about.
    """

    class ActorKind(models.TextChoices):
        PERSON = "person", gettext_lazy("a person")
        VISITOR = "visitor", gettext_lazy("a visitor")
        JOB = "job", gettext_lazy("a background job")
        COMMAND = "command", gettext_lazy("a command")
        DATABASE = "database", gettext_lazy("a user of the database")

    at = models.DateTimeField()
    subject = models.CharField(max_length=63, help_text=gettext_lazy("The table, or what a note is about."))
    key = models.CharField(max_length=40, blank=True)
    thing = models.CharField(max_length=200, blank=True, help_text=gettext_lazy("Its name then."))
    action = models.CharField(max_length=20, help_text=gettext_lazy("insert, update, delete, or what a note says."))
    changes = models.JSONField(help_text=gettext_lazy("By field, before and after; null where only that it changed."))
    lab_id = models.BigIntegerField(null=True)
    campaign_id = models.BigIntegerField(null=True)
    campaign = models.CharField(max_length=100, blank=True, help_text=gettext_lazy("The campaign's name then."))
    worker_id = models.BigIntegerField(null=True)
    actor_kind = models.CharField(max_length=10, choices=ActorKind)
    actor_id = models.BigIntegerField(null=True, help_text=gettext_lazy("The person who did it, or asked for the job."))
    actor_name = models.CharField(max_length=200, blank=True, help_text=gettext_lazy("The job or command."))
    address = models.CharField(max_length=50, blank=True, help_text=gettext_lazy("The network that it came from."))
    request_id = models.CharField(max_length=64, blank=True)
    why = models.TextField(blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        # core.audit.selectors.entries_of(): a lab's, a campaign's and all, newest first; and those to be removed
        indexes = [
            models.Index(fields=["lab_id", "-id"], name="audit_of_lab"),
            models.Index(fields=["campaign_id", "-id"], name="audit_of_campaign"),
            models.Index(fields=["worker_id"], condition=models.Q(worker_id__isnull=False), name="audit_of_worker"),
            models.Index(fields=["at"], name="audit_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject} {self.key}"
