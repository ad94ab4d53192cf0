"""The admin site's view of judgments and decisions: the record, which is only ever added to."""

from django.contrib import admin

from judgments.models import Acceptance, Judgment, Ruling
from pools.admin import Shown


@admin.register(Judgment)
class JudgmentAdmin(Shown):
    """What was preferred."""

    list_display = ["id", "assignment", "item", "preferred", "shown_at", "made_at"]
    list_select_related = ["assignment", "item"]


@admin.register(Acceptance)
class AcceptanceAdmin(Shown):
    """Which judgments count."""

    list_display = ["pair", "place", "judgment", "worker", "assignment"]
    list_select_related = ["pair", "judgment", "worker", "assignment"]


@admin.register(Ruling)
class RulingAdmin(Shown):
    """What was decided, by whom and why."""

    list_display = ["at", "kind", "campaign", "worker", "assignment", "by", "why"]
    list_filter = ["kind"]
    list_select_related = ["campaign", "worker", "assignment", "by"]
