"""Users and labs."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """Somebody who logs in: a researcher, or (is_staff) an admin. Workers are not users."""


class Lab(models.Model):
    """The group that owns collections, runs and campaigns. Its members see and do everything in it."""

    name = models.CharField(max_length=100, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="labs", blank=True)

    def __str__(self) -> str:
        return self.name
