"""Users, labs, and who may do what in a lab."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy


class User(AbstractUser):
    """Somebody who logs in: a member of labs, or (is_staff) an admin of the site. Workers are not users."""

    # As SessionsEnd renews log-ins: some minutes behind.
    last_seen_at = models.DateTimeField(null=True, blank=True, editable=False)


class Lab(models.Model):
    """The group that owns collections, runs and campaigns. What each member may do in it is their role's."""

    name = models.CharField(max_length=100, unique=True)
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, related_name="labs", blank=True, through="core.Membership"
    )

    def __str__(self) -> str:
        return self.name


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

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(revoked_at=None) | models.Q(accepted_at=None), name="invitation_revoked_or_accepted"
            )
        ]

    def __str__(self) -> str:
        return f"{self.email or self.pk}, {self.get_role_display()} of {self.lab}"
