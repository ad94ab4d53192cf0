"""Machine judges, their answers to pairs beside people's, and what is being asked of one now."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from core.models import Retried
from core.recorded import Audit, Group
from pools.models import Campaign
from runs.models import Collection


class MachineJudge(models.Model):
    """A machine that was asked about pairs of a collection elsewhere, such as a language model.

    Its answers have tables of their own, which nothing reads but the comparison with people: they are no judgments.
    `sha256` is that of its lines, `query a b sign` with tabs between, however they were written or compressed.
    """

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="machine_judges")
    name = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    prompt = models.TextField(max_length=20_000)
    sha256 = models.CharField(max_length=64)
    answer_count = models.PositiveIntegerField()
    pair_count = models.PositiveIntegerField()
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    imported_at = models.DateTimeField()

    audit = Audit(
        Group.DATA, insert=_("imported the machine judge %(thing)s"), delete=_("deleted the machine judge %(thing)s")
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["collection", "name"], name="machine_judge_name_once"),
            models.UniqueConstraint(fields=["collection", "sha256"], name="machine_judge_file_once"),
        ]

    def __str__(self) -> str:
        return self.name


class MachineAsking(Retried):
    """A machine that is being asked about a campaign's pairs, in both orders, and becomes a judge once it has answered.

    `budget`: how many questions may be asked; `sent` counts each before it is sent, and none that was answered before
    (`MachineReply`). `tokens`: what the endpoint says that it counted.
    """

    class State(models.TextChoices):
        ASKING = "asking", _("being asked")
        DONE = "done", _("done")
        SPENT = "spent", _("budget used up")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="machine_askings")
    name = models.CharField(max_length=100)
    model = models.CharField(max_length=200)
    prompt = models.TextField(max_length=20_000, help_text=_("With {query}, {first} and {second}."))
    budget = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.ASKING)
    questions = models.PositiveIntegerField(help_text=_("Two for each pair."))
    sent = models.PositiveIntegerField(default=0, db_default=0)
    tokens = models.PositiveBigIntegerField(default=0, db_default=0)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="", db_default="", help_text=_("What went wrong last."))
    judge = models.ForeignKey(
        MachineJudge, null=True, blank=True, on_delete=models.SET_NULL, related_name="askings", db_index=False
    )

    audit = Audit(
        Group.DATA, insert=_("had the machine %(thing)s asked"), update=_("asking the machine %(thing)s: %(changes)s")
    )

    class Meta:
        # machines.machine_asking.askings_open()
        indexes = [models.Index(fields=["id"], condition=models.Q(state="asking"), name="machine_asking_open")]
        constraints = [
            models.CheckConstraint(condition=models.Q(sent__lte=models.F("budget")), name="machine_asking_in_budget")
        ]

    def __str__(self) -> str:
        return self.name


class MachineReply(models.Model):
    """What a model said to a question, so that the same is never asked twice.

    `key`: of the endpoint, the model and the whole prompt with its texts (machines.machine_asking). `sign`: 1 or 2 for
    the passage that it was shown first or second, = or !.
    """

    key = models.CharField(max_length=64, unique=True)
    sign = models.CharField(max_length=1)
    reply = models.CharField(max_length=200)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.sign


class MachineAnswer(models.Model):
    """One line of a machine's answers, by ids: `sign` is `a`, which it was shown first, `b`, = or !, as in the file."""

    judge = models.ForeignKey(MachineJudge, on_delete=models.CASCADE, related_name="answers", db_index=False)
    line = models.PositiveIntegerField()
    query = models.TextField()
    a = models.TextField()
    b = models.TextField()
    sign = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["judge", "line"], name="machine_answer_once_per_line")]

    def __str__(self) -> str:
        return f"line {self.line} of {self.judge_id}"
