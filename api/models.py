"""Tokens, answers that are given again, webhooks and what was sent to them."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models import Lab
from core.recorded import Audit, Group
from pools.models import Campaign


class Scope(models.TextChoices):
    """What a token may do, at most: its owner's role in each lab limits it further."""

    READ = "read", _("read")
    WRITE = "write", _("write")
    DECIDE = "decide", _("decide on work and workers")
    SPEND = "spend", _("spend money")
    MANAGE = "manage", _("manage people, webhooks and data protection")


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

    audit = Audit(
        Group.PEOPLE,
        insert=_("made an API token for %(person)s: %(changes)s"),
        update=_("changed an API token of %(person)s: %(fields)s"),
        delete=_("deleted an API token of %(person)s: %(changes)s"),
        names_person=True,
    )

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


class Event(models.TextChoices):
    """What a webhook can tell of. Triggers write most of it down, in the transaction that makes it so."""

    CAMPAIGN_STARTED = "campaign.started", _("a campaign was started")
    CAMPAIGN_PAUSED = "campaign.paused", _("a campaign was paused")
    CAMPAIGN_RESUMED = "campaign.resumed", _("a campaign was resumed")
    CAMPAIGN_CLOSED = "campaign.closed", _("a campaign was closed")
    CAMPAIGN_FINISHED = "campaign.finished", _("nothing is left to do in a campaign")
    PUBLICATION_OPENED = "publication.opened", _("a campaign was published, or resumed at its platform")
    PUBLICATION_PAUSED = "publication.paused", _("a campaign was paused at its platform")
    PUBLICATION_STOPPED = "publication.stopped", _("a campaign was stopped at its platform")
    WORK_SUBMITTED = "work.submitted", _("work was submitted (every five minutes, how much)")
    ALARM_RAISED = "alarm.raised", _("a campaign has a problem, once while it lasts")
    RESULTS_READY = "results.ready", _("results were computed")
    VERSION_MADE = "version.made", _("a version of the preference qrels was made")
    JOB_FINISHED = "job.finished", _("a job is done")
    JOB_FAILED = "job.failed", _("a job was refused, or failed")


class Webhook(models.Model):
    """An address that is told what happens in a lab. The secret that signs it is stored encrypted, and shown once."""

    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = models.JSONField(help_text=_("Values of Event."))
    secret = models.TextField(help_text=_("Sealed (core.sealing)."))
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    failing_since = models.DateTimeField(null=True, help_text=_("Empty once it takes something."))
    disabled_at = models.DateTimeField(null=True)
    disabled_why = models.TextField(blank=True, help_text=_("Empty if a person did it."))

    audit = Audit(
        Group.WEBHOOKS,
        insert=_("added a webhook at %(thing)s"),
        update=_("changed the webhook at %(thing)s: %(fields)s"),
        delete=_("deleted the webhook at %(thing)s"),
    )

    class Meta:
        # what the triggers ask, and api.webhooks.webhooks_of()
        indexes = [models.Index(fields=["lab", "id"], name="webhook_of_lab")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(disabled_why="") | models.Q(disabled_at__isnull=False), name="webhook_disabled_why"
            )
        ]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One thing that a webhook is told, written in the transaction in which it happened. The row is the queue.

    It waits while `next_try_at` says when it is tried; otherwise it was taken, or given up.
    """

    message = models.UUIDField(default=uuid.uuid4, unique=True, help_text=_("The same however often it is sent."))
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=30)
    data = models.JSONField()
    made_at = models.DateTimeField()
    tries = models.PositiveSmallIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    problem = models.TextField(blank=True, help_text=_("Why the last try failed."))

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            # api.delivering: what is due, by webhook
            models.Index(
                fields=["webhook", "next_try_at", "id"],
                condition=models.Q(next_try_at__isnull=False),
                name="delivery_due",
            ),
            # a webhook's deliveries, newest first
            models.Index(fields=["webhook", "-id"], name="delivery_newest_first"),
            # api.webhooks.deliveries_clear()
            models.Index(fields=["made_at"], name="delivery_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.message}"


class WorkTold(models.Model):
    """How many submitted assignments of a campaign a webhook has been told of."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="+")
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="+")
    submitted = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["webhook", "campaign"], name="work_told_once")]

    def __str__(self) -> str:
        return f"{self.submitted} of {self.campaign_id}"
