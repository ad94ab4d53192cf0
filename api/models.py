"""Tokens, answers that are given again, webhooks and what was sent to them."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    """What a token may do, at most: its owner's role in each lab limits it further."""

    READ = "read", _("read")
    WRITE = "write", _("write")
    DECIDE = "decide", _("decide on work and workers")
    SPEND = "spend", _("spend money")


class Token(models.Model):
    """What a program shows instead of a password. Only a digest is stored: the token itself is shown once."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    start = models.CharField(max_length=16, help_text=_("Its first characters, to recognize it by."))
    digest = models.CharField(max_length=64, unique=True, help_text=_("SHA-256 of the token."))
    scopes = models.JSONField(help_text=_("Values of Scope."))
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text=_("To the minute."))
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.start}…"


class StoredAnswer(models.Model):
    """What was answered to a request with an idempotency key. The same request again gets the same answer.

    It is stored in the transaction that does what was asked for, so neither is ever there without the other.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request = models.CharField(max_length=64, help_text=_("SHA-256 of method, address and content."))
    status = models.PositiveSmallIntegerField()
    location = models.CharField(max_length=500, blank=True)
    content = models.JSONField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="answer_once_per_key")]
        # api.answers.answers_clear()
        indexes = [models.Index(fields=["at"], name="answer_by_age")]

    def __str__(self) -> str:
        return self.key
