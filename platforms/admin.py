"""Publications, submissions, calls and payments on the admin site: what is changed there has pages of its own."""

from django.contrib import admin

from core.admin import Shown
from platforms.models import Operation, Payment, Publication, PublishedHit, Submission, TermsVersion

admin.site.register(
    Publication,
    Shown,
    list_display=["campaign", "platform", "state", "pay", "published_at"],
    list_filter=["platform", "state"],
    list_select_related=["campaign"],
)
admin.site.register(
    TermsVersion,
    Shown,
    list_display=["publication", "version", "hit_type_id", "by", "at"],
    list_select_related=["publication", "by"],
)
admin.site.register(
    PublishedHit,
    Shown,
    list_display="id publication hit round max_assignments platform_hit_id posted_at expires_at".split(),
    list_select_related=["publication", "hit"],
    search_fields=["platform_hit_id"],
)
admin.site.register(
    Submission,
    Shown,
    list_display=["platform_assignment_id", "publication", "assignment", "status", "decision", "submitted_at"],
    list_filter=["status", "decision"],
    list_select_related=["publication", "assignment"],
    search_fields=["platform_assignment_id", "receipt"],
)
admin.site.register(
    Payment,
    Shown,
    list_display=["id", "publication", "assignment", "purpose", "state", "amount", "fee", "owed_at", "paid_at"],
    list_filter=["purpose", "state"],
    list_select_related=["publication", "assignment"],
    search_fields=["token"],
)
admin.site.register(
    Operation,
    Shown,
    list_display=["id", "publication", "kind", "about", "state", "attempts", "next_try", "ended_at", "error"],
    list_filter=["kind", "state"],
    list_select_related=["publication", "published_hit__hit", "submission", "terms"],
    search_fields=["token"],
)
