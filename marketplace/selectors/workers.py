"""Workers and invitations, for the operator."""

from django.db.models import Q, QuerySet

from marketplace.models import Invitation, Worker


def workers_matching(words: str = "") -> QuerySet[Worker]:
    """Workers whose id or address holds the words, newest first."""
    rows = Worker.objects.select_related("account").order_by("-pk")
    if words := words.strip():
        rows = rows.filter(Q(worker_id__icontains=words) | Q(account__email__icontains=words))
    return rows


def invitations_all() -> QuerySet[Invitation]:
    """Every invitation, newest first."""
    return Invitation.objects.select_related("used_by").order_by("-pk")
