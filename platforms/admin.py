"""The admin site's view of publications, submissions, calls and payments."""

from django.contrib import admin

from core.admin import Shown
from platforms.models import Alarm, Operation, Payment, Publication, PublishedHit, Submission, TermsVersion


@admin.register(Publication)
class PublicationAdmin(Shown):
    """Campaigns at platforms. They are published, paused and stopped on their own pages."""

    list_display = ["campaign", "platform", "state", "pay", "published_at"]
    list_filter = ["platform", "state"]
    list_select_related = ["campaign"]


@admin.register(TermsVersion)
class TermsVersionAdmin(Shown):
    """The terms of publications as they were from one time on. They are replaced on the publication's own page."""

    list_display = ["publication", "version", "hit_type_id", "by", "at"]
    list_select_related = ["publication", "by"]


@admin.register(PublishedHit)
class PublishedHitAdmin(Shown):
    """HITs at platforms."""

    list_display = [
        "id",
        "publication",
        "hit",
        "round",
        "max_assignments",
        "platform_hit_id",
        "posted_at",
        "expires_at",
    ]
    list_select_related = ["publication", "hit"]
    search_fields = ["platform_hit_id"]


@admin.register(Submission)
class SubmissionAdmin(Shown):
    """Work submitted at platforms. Decisions are made with a reason, on the submission's own page."""

    list_display = ["platform_assignment_id", "publication", "assignment", "status", "decision", "submitted_at"]
    list_filter = ["status", "decision"]
    list_select_related = ["publication", "assignment"]
    search_fields = ["platform_assignment_id", "receipt"]


@admin.register(Payment)
class PaymentAdmin(Shown):
    """Every paid effect."""

    list_display = ["id", "publication", "assignment", "purpose", "state", "amount", "fee", "owed_at", "paid_at"]
    list_filter = ["purpose", "state"]
    list_select_related = ["publication", "assignment"]
    search_fields = ["token"]


@admin.register(Operation)
class OperationAdmin(Shown):
    """Every call to a platform, with its token."""

    list_display = ["id", "publication", "kind", "about", "state", "attempts", "next_try", "ended_at", "error"]
    list_filter = ["kind", "state"]
    list_select_related = ["publication", "published_hit__hit", "submission", "terms"]
    search_fields = ["token"]


@admin.register(Alarm)
class AlarmAdmin(Shown):
    """What a person must look at, or had to."""

    list_display = ["kind", "publication", "text", "raised_at", "settled_at"]
    list_filter = ["kind"]
    list_select_related = ["publication"]
