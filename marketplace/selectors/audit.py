"""What operators did."""

from django.db.models import Q, QuerySet

from marketplace.models import AuditEvent


def audit_all(words: str = "") -> QuerySet[AuditEvent]:
    """What operators did, newest first; with `words`, what names them: who did it, what, and on what."""
    rows = AuditEvent.objects.select_related("actor", "account").order_by("-at", "-pk")
    for word in words.split()[:10]:
        rows = rows.filter(
            Q(actor__email__icontains=word)
            | Q(command__icontains=word)
            | Q(action__icontains=word)
            | Q(subject__icontains=word)
            | Q(account__email__icontains=word)
        )
    return rows
