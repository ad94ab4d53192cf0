"""The organizers' page about the upkeep of a board: settings, what waits, rounds, and what each entry cost."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import NotYours, Refused
from core.http import Request, edits, refuse_in, see_other
from core.lists import Listing, render_lists
from core.roles import Right, labs_of, needs, require, right_of
from leaderboards.models import Board, Challenger, Upkeep, VersionEntry
from leaderboards.upkeep import rounds
from leaderboards.upkeep.forms import FIELDS, DecisionForm, UpkeepForm
from pools import selectors as pool_selectors


def _board_of(request: Request, slug: str) -> Board:
    """A board of the user's labs. Raises NotYours and NotAllowed."""
    boards = Board.objects.filter(lab__in=labs_of(request.user)).select_related("lab", "collection")
    board = boards.filter(slug=slug).first()
    if board is None:
        raise NotYours(_("There is no such leaderboard, or it belongs to another lab."))
    require(request.user, board.lab, right_of(request))
    return board


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
@edits
def upkeep(request: Request, slug: str) -> HttpResponseBase:
    """What waits, what was done and what it cost; a POST changes the settings."""
    board = _board_of(request, slug)
    stored = rounds.upkeep_of(board)
    form = UpkeepForm(request.POST or None, instance=stored or Upkeep(board=board), board=board)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            chosen = {name: form.cleaned_data[name] for name in FIELDS}
            try:
                rounds.upkeep_set(board=board, by=request.user, at=timezone.now(), **chosen)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The settings of the upkeep are stored."))
                return see_other("upkeep:upkeep", slug)
    return render_lists(request, "leaderboards/upkeep/upkeep.html", _context(request, board, form), status=status)


def _context(request: Request, board: Board, form: UpkeepForm) -> dict[str, Any]:
    now, stored = timezone.now(), rounds.upkeep_of(board)
    waiting = rounds.waiting_challengers(board)
    settled = board.challengers.exclude(outcome=Challenger.Outcome.OPEN)
    won = settled.filter(outcome__in=[Challenger.Outcome.WON, Challenger.Outcome.TIED])
    done = board.upkeep_rounds.select_related("campaign", "version", "decided_by")
    failed = VersionEntry.objects.filter(submission__board=board).exclude(error="")
    return {
        "board": board,
        "form": form,
        "upkeep": stored,
        "idle": rounds.idle_reason(stored, now) if stored else _("Upkeep is off."),
        "budget": rounds.budget_of(stored, now) if stored else None,
        "newest": pool_selectors.newest_version(board.collection),
        "waiting_dev": waiting.filter(part="dev").count(),
        "waiting_eval": waiting.filter(part="eval").count(),
        "settled": settled.count(),
        "won": won.count(),
        "open": board.upkeep_rounds.filter(ended_at=None).select_related("campaign").first(),
        "decision": DecisionForm(),
        "rounds": Listing(request, done.order_by("-number"), key="rounds"),
        "costs": Listing(request, rounds.entry_costs(board), key="costs"),
        "failed": Listing(request, failed.select_related("submission", "version").order_by("-at", "pk"), key="failed"),
    }


@needs(Right.SPEND)
@require_POST
def decide(request: Request, slug: str, number: int) -> HttpResponse:
    """Approve a proposed round (`decision=approve`), publish its campaign although nobody qualifies (`go_on`), or end
    a round (`end`).
    """
    board = _board_of(request, slug)
    round = board.upkeep_rounds.filter(number=number).first()
    if round is None:
        raise NotYours(_("The leaderboard has no such round of upkeep."))
    form, decision = DecisionForm(request.POST), request.POST.get("decision")
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    now = timezone.now()
    try:
        if not form.is_valid() or decision not in ("approve", "go_on", "end"):
            raise Refused(
                _("Choose whether to approve the round or to end it, with a reason of at most 1,000 letters.")
            )
        if decision == "approve":
            rounds.round_approve(round=round, by=request.user, reason=reason, at=now)
            messages.success(request, _("Round %(number)d is approved.") % {"number": number})
        elif decision == "go_on":
            rounds.round_go_on(round=round, by=request.user, reason=reason, at=now)
            messages.success(request, _("The campaign of round %(number)d is published soon.") % {"number": number})
        else:
            rounds.round_decline(round=round, by=request.user, reason=reason, at=now)
            messages.success(request, _("Round %(number)d has ended.") % {"number": number})
    except Refused as error:
        messages.error(request, str(error))
    return see_other("upkeep:upkeep", slug)
