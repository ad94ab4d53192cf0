"""The admin site's view of test pairs, HITs, workers and assignments. Only a worker's label can be changed here."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from core.admin import Annotated, Shown
from tasks.models import Assignment, Consent, ConsentText, Hit, Invitation, Item, TestPair, Worker


@admin.register(Worker)
class WorkerAdmin(Annotated):
    """Workers. A label names a person, so it can be corrected, or emptied; bars are made with a reason, elsewhere."""

    changeable = ("label",)
    list_display = ["id", "label", "lab", "platform", "came_at", "barred_at"]
    list_filter = ["platform"]
    search_fields = ["label", "lab__name"]
    list_select_related = ["lab"]


@admin.register(TestPair)
class TestPairAdmin(Shown):
    """Test pairs are confirmed one by one, on the campaign's own page."""

    list_display = ["question", "state", "campaign", "decided_by", "decided_at"]
    list_filter = ["state"]
    list_select_related = ["campaign", "decided_by"]
    search_fields = ["question"]


@admin.register(ConsentText)
class ConsentTextAdmin(Shown):
    """Every version stays as it was agreed to."""

    list_display = ["campaign", "version", "created_at"]
    list_select_related = ["campaign"]


@admin.register(Consent)
class ConsentAdmin(Shown):
    list_display = ["worker", "text", "given_at"]
    list_select_related = ["worker", "text"]


@admin.register(Invitation)
class InvitationAdmin(Shown):
    """Panel members of campaigns."""

    list_display = ["worker", "campaign", "created_at"]
    list_select_related = ["worker", "campaign"]


if TYPE_CHECKING:  # the classes take parameters in their stubs alone
    _Inline = admin.TabularInline[Item, Hit]
else:
    _Inline = admin.TabularInline


class ItemInline(_Inline):
    """A HIT's items in their order, layout by layout."""

    model = Item
    extra = 0
    ordering = ["layout", "position"]
    raw_id_fields = ["pair", "test"]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Hit)
class HitAdmin(Shown):
    """Packed HITs."""

    list_display = ["campaign", "number", "needed"]
    list_select_related = ["campaign"]
    inlines = [ItemInline]


@admin.register(Assignment)
class AssignmentAdmin(Shown):
    """Assignments. Decisions about them are made with a reason, on the assignment's own page."""

    list_display = ["id", "campaign", "hit", "worker", "state", "verdict", "taken_at", "finished_at", "owed"]
    list_filter = ["state", "verdict"]
    list_select_related = ["campaign", "hit", "worker"]
    search_fields = ["receipt"]
