"""The admin site's view of test pairs, HITs, workers and assignments. Only a worker's label can be changed here."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from pools.admin import Annotated, Shown
from tasks.models import (
    Alarm,
    Assignment,
    Consent,
    ConsentText,
    Hit,
    Invitation,
    Item,
    Operation,
    Payment,
    Posting,
    Publication,
    Submission,
    TermsVersion,
    TestPair,
    Worker,
)


@admin.register(Worker)
class WorkerAdmin(Annotated):
    """Workers. A label names a person, so it can be corrected, or emptied; bars are made with a reason, elsewhere."""

    changeable = ("label",)
    list_display = ["id", "label", "lab", "crowd", "came_at", "barred_at"]
    list_filter = ["lab", "crowd"]
    search_fields = ["label"]
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
    """Who agreed to what, and when."""

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
    """A HIT's items in their order."""

    model = Item
    extra = 0
    ordering = ["position"]
    raw_id_fields = ["pair", "test"]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody: the stored plan is what is shown."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


@admin.register(Hit)
class HitAdmin(Shown):
    """Packed HITs."""

    list_display = ["campaign", "number", "needed"]
    list_select_related = ["campaign"]
    inlines = [ItemInline]


@admin.register(Assignment)
class AssignmentAdmin(Shown):
    """Who did what. Decisions about it are made with a reason, on the assignment's own page."""

    list_display = ["id", "campaign", "hit", "worker", "state", "verdict", "taken_at", "finished_at", "owed"]
    list_filter = ["state", "verdict"]
    list_select_related = ["campaign", "hit", "worker"]
    search_fields = ["receipt"]


@admin.register(Publication)
class PublicationAdmin(Shown):
    """Campaigns at venues. They are published, paused and stopped on their own pages."""

    list_display = ["campaign", "environment", "state", "pay", "published_at"]
    list_filter = ["environment", "state"]
    list_select_related = ["campaign"]


@admin.register(TermsVersion)
class TermsVersionAdmin(Shown):
    """The terms of publications as they were from one time on. They are replaced on the publication's own page."""

    list_display = ["publication", "version", "hit_type_id", "by", "at"]
    list_select_related = ["publication", "by"]


@admin.register(Posting)
class PostingAdmin(Shown):
    """HITs at venues."""

    list_display = ["id", "publication", "hit", "round", "places", "venue_hit_id", "posted_at", "expires_at"]
    list_select_related = ["publication", "hit"]
    search_fields = ["venue_hit_id"]


@admin.register(Submission)
class SubmissionAdmin(Shown):
    """Work submitted at venues. Decisions are made with a reason, on the submission's own page."""

    list_display = ["venue_assignment_id", "publication", "assignment", "status", "decision", "submitted_at"]
    list_filter = ["status", "decision"]
    list_select_related = ["publication", "assignment"]
    search_fields = ["venue_assignment_id", "receipt"]


@admin.register(Payment)
class PaymentAdmin(Shown):
    """Every paid effect."""

    list_display = ["id", "publication", "assignment", "purpose", "state", "amount", "fee", "owed_at", "paid_at"]
    list_filter = ["purpose", "state"]
    list_select_related = ["publication", "assignment"]
    search_fields = ["token"]


@admin.register(Operation)
class OperationAdmin(Shown):
    """Every call to a venue, with its token."""

    list_display = ["id", "publication", "kind", "subject", "state", "attempts", "next_try", "ended_at", "error"]
    list_filter = ["kind", "state"]
    list_select_related = ["publication"]
    search_fields = ["token", "subject"]


@admin.register(Alarm)
class AlarmAdmin(Shown):
    """What a person must look at, or had to."""

    list_display = ["kind", "subject", "publication", "text", "raised_at", "settled_at"]
    list_filter = ["kind"]
    list_select_related = ["publication"]
