"""Asking a round that waits for a person."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from core.http import Request, see_other
from core.roles import Right, needs
from judgments import rounds
from pools.http import campaign_of


@needs(Right.SPEND)
@require_POST
def round_ask(request: Request, pk: int, number: int) -> HttpResponse:
    """Ask a round that was planned: its pairs are packed, and published as other HITs are."""
    campaign = campaign_of(request, pk)
    current = rounds.round_ask(campaign=campaign, number=number, by=request.user, at=timezone.now())
    singular, plural = "Round %(number)d is asked, in %(hits)d HIT.", "Round %(number)d is asked, in %(hits)d HITs."
    messages.success(request, ngettext(singular, plural, current.hits) % {"number": number, "hits": current.hits})
    return see_other("campaigns:campaign", pk, fragment="rounds")
