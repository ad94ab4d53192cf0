"""The admin site's view of judgments and decisions: the record, which is only ever added to."""

from django.contrib import admin

from core.admin import Shown
from judgments.models import Acceptance, Decision, Judgment


@admin.register(Judgment)
class JudgmentAdmin(Shown):
    list_display = ["id", "assignment", "item", "preferred", "shown_at", "made_at"]
    list_select_related = ["assignment", "item"]


@admin.register(Acceptance)
class AcceptanceAdmin(Shown):
    """Which judgments count."""

    list_display = ["pair", "slot", "judgment", "worker", "assignment"]
    list_select_related = ["pair", "judgment", "worker", "assignment"]


@admin.register(Decision)
class DecisionAdmin(Shown):
    """What was decided, by whom and why."""

    list_display = ["at", "kind", "campaign", "worker", "assignment", "by", "why"]
    list_filter = ["kind"]
    list_select_related = ["campaign", "worker", "assignment", "by"]
