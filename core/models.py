"""Users, labs, who may do what in a lab, mails to send, alarms, and the audit."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.comparing import ComparedField, ComparedManager, ComparedModel, compared
from core.recorded import Audit, Group
from core.retrying import Pauses


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


class Retried(models.Model):
    """What is tried again, not before `retry_at` where that is set. `tries` are in a row."""

    tries = models.PositiveSmallIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @staticmethod
    def due(at: datetime) -> models.Q:
        """The condition of rows that may be tried now."""
        return models.Q(retry_at=None) | models.Q(retry_at__lte=at)

    def rest(self, pauses: Pauses, at: datetime) -> None:
        """Count a try that failed, and wait before the next. Saves nothing."""
        self.tries = min(self.tries + 1, 1000)
        self.retry_at = at + pauses.after(self.tries)


class Mail(Retried):
    """A mail that is to be sent. The row is the queue (core/mail.py)."""

    to = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=200)
    text = models.TextField()
    made_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["id"], condition=models.Q(sent_at=None), name="mail_to_send")]

    def __str__(self) -> str:
        return self.subject


class AlarmTopic(models.TextChoices):
    """What alarms are about, as people choose the mails that they get."""

    MONEY = "money", gettext_lazy("money: the account cannot pay, or the ledgers differ")
    QUALITY = "quality", gettext_lazy("quality: many fail test pairs, or leave")
    STALLED = "stalled", gettext_lazy("standstill: no work is accepted, or HITs have expired")
    NOBODY = "nobody", gettext_lazy("nobody comes")
    ERRORS = "errors", gettext_lazy("errors: at the platform, or in background jobs")


class AlarmKind(models.TextChoices):
    """Apps declare the kinds of alarms in subclasses: a name, a topic unless that is errors, and words."""

    topic: AlarmTopic

    def __new__(cls, name: str, topic: AlarmTopic = AlarmTopic.ERRORS) -> "AlarmKind":
        kind = str.__new__(cls, name)
        kind._value_, kind.topic = name, topic
        return kind


class Alarm(Retried):
    """Something that a person must look at, once for each kind and for what it is about (core/alarms.py).

    `of` has the page that shows it, and is deleted with it. `about` names the model of something within that, whose key
    is `about_id`, or a background job; an alarm about the whole has neither.
    """

    of_type = models.ForeignKey(ContentType, on_delete=models.PROTECT, related_name="+", db_index=False)
    of_id = models.BigIntegerField()
    of = GenericForeignKey("of_type", "of_id")
    kind = models.CharField(max_length=14)
    about = models.CharField(max_length=16, blank=True)
    about_id = models.BigIntegerField(null=True, blank=True)
    text = models.TextField()
    raised_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["about_id"], name="alarm_about")]
        constraints = [
            models.UniqueConstraint(
                fields=["of_type", "of_id", "kind", "about", "about_id"], nulls_distinct=False, name="alarm_once"
            )
        ]

    def __str__(self) -> str:
        return self.text


class AlarmChoice(models.Model):
    """Which mails about alarms somebody wants. Who chose nothing gets all about the campaigns that they created."""

    class Reach(models.TextChoices):
        OWN = "own", gettext_lazy("campaigns that I created")
        ALL = "all", gettext_lazy("all campaigns of my labs")
        NONE = "none", gettext_lazy("no mails")

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="alarm_choice")
    reach = models.CharField(max_length=4, choices=Reach, default=Reach.OWN)
    topics = models.JSONField(default=list)

    audit = Audit(
        Group.PEOPLE,
        insert=gettext_lazy("chose which alarms %(person)s gets by mail: %(changes)s"),
        update=gettext_lazy("chose which alarms %(person)s gets by mail: %(changes)s"),
        delete=gettext_lazy("deleted which alarms %(person)s gets by mail"),
        names_person=True,
    )

    def __str__(self) -> str:
        return f"{self.reach} of {self.user_id}"


class Lease(models.Model):
    """Who does what only one process is to do at a time, and until when, by the database's clock (core/locks.py)."""

    what = models.CharField(max_length=40, primary_key=True)
    holder = models.CharField(max_length=32)
    ends_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.what


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
