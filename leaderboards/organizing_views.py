"""The organizers' pages of leaderboards: creating them, their policies and seasons, and deciding."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadRequest, NotYours, Refused
from core.http import Request, edits, focus_error, refuse_in, see_other
from core.lists import Listing, render_lists
from core.roles import Right, needs, require
from evaluation.errors import BadInput
from leaderboards import boards as board_services
from leaderboards import exporting, jobs, metadata, order_checks, publishing, selectors, spot_checks, teams
from leaderboards.forms import (
    AddressForm,
    BoardEditForm,
    BoardForm,
    OldMetadataForm,
    PolicyForm,
    SeasonForm,
    policy_initial,
)
from leaderboards.models import Board, MetadataRequest, Part, Season, Submission, Team
from leaderboards.public.numbers import gap_alarms
from leaderboards.views import invitation_send, invitations_listed, start, submission_page, too_large_page
from runs.http import is_too_large, refuse_too_large

SORTS = {"run": "run_id", "arrived": "arrived_at", "state": "state", "team": "team__organization"}
COLUMNS = {"run": "run_id", "state": "state", "team": "team", "arrived": "arrived_at"}
TEAMS_SHOWN = 20  # at once: each has its quota counted


def board_of(request: Request, slug: str, right: Right = Right.MAINTAIN) -> Board:
    """A board of the user's labs. Raises NotYours and NotAllowed."""
    return selectors.board_for(request.user, slug, right)


@needs(Right.SEE)
@require_GET
def organize(request: Request, board_slug: str) -> HttpResponseBase:
    """A board, for its lab: what waits, longest first, then teams, seasons, policies and keys."""
    board, at = board_of(request, board_slug, Right.SEE), timezone.now()
    policy = board.policy_at(at)
    waiting = Listing(request, selectors.to_decide(board), key="waiting")
    rows = board.submissions.select_related("team", "season").order_by("-arrived_at", "-pk")
    in_lab = Team.objects.filter(lab=board.lab_id, merged_into=None).order_by("organization", "group")
    teams_listed = Listing(request, in_lab, key="teams", size=TEAMS_SHOWN)
    requests = MetadataRequest.objects.filter(submission__board=board, state="open")
    context = {
        "board": board,
        "policy": policy,
        "waiting": waiting,
        "late": [row for row in waiting.page if row.promised_at is not None and row.promised_at <= at],
        "requests": Listing(request, requests.select_related("submission").order_by("asked_at", "pk"), key="requests"),
        "listing": Listing(request, rows, sorts=SORTS, columns=COLUMNS),
        "checks": Listing(request, spot_checks.checks_open(board), key="checks"),
        "checked": Listing(request, spot_checks.checks_done(board), key="checked"),
        "teams": teams_listed,
        "quotas": [(row, selectors.quota_of(row, board, policy, at)) for row in teams_listed.page],
        "alike": Listing(request, selectors.teams_alike(board), key="alike", size=TEAMS_SHOWN),
        "seasons": board.seasons.order_by("-number").prefetch_related("files"),
        "policies": board.policies.order_by("-number").select_related("made_by"),
        "keys": board.keys.order_by("-pk"),
        **invitations_listed(request, teams.open_invitations(at).filter(board=board, team=None)),
        "invite": AddressForm(),
        "may_change": selectors.organizes(request.user, board),
        "gaps": gap_alarms(board, at),
        "now": at,
    }
    return render_lists(request, "leaderboards/organize.html", context)


def _form_page(
    request: Request,
    form: forms.BaseForm,
    title: str,
    button: str,
    status: int,
    board: Board | None = None,
    lead: str = "",
) -> HttpResponse:
    focus_error(form)
    crumbs = [(_("Leaderboards"), reverse("leaderboards:boards"))]
    if board is not None:
        crumbs.append((board.name, reverse("leaderboards:organize", args=[board.slug])))
    context = {"form": form, "title": title, "button": button, "crumbs": crumbs, "lead": lead}
    return render(request, "core/form.html", context, status=status)


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def board_new(request: Request) -> HttpResponse:
    """Create a leaderboard over one of the lab's collections."""
    initial = {"collection": request.GET.get("collection", "")}
    form, status = BoardForm(user=request.user, initial=initial), 200
    if request.method == "POST":
        form, status = BoardForm(request.POST, user=request.user), 400
        if form.is_valid():
            values = form.cleaned_data
            lab = values["collection"].lab
            require(request.user, lab, Right.MAINTAIN)
            try:
                board = board_services.board_create(lab=lab, by=request.user, at=timezone.now(), **values)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The leaderboard is there. Only its lab sees it. Add a season next."))
                return see_other("leaderboards:organize", board.slug)
    lead = _("It begins with the policy of the MS MARCO leaderboards, which you can change, and with a key of its own.")
    return _form_page(request, form, _("New leaderboard"), _("Create"), status, lead=lead)


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
@edits
def board_edit(request: Request, board_slug: str) -> HttpResponse:
    """Change a board's name, what is said about it, and who sees it."""
    board = board_of(request, board_slug)
    form, status = BoardEditForm(instance=board), 200
    if request.method == "POST":
        form, status = BoardEditForm(request.POST, instance=Board.objects.get(pk=board.pk)), 400
        if form.is_valid():
            try:
                board_services.board_change(board=board, **form.cleaned_data)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("Saved."))
                return see_other("leaderboards:organize", board.slug)
    lead = _("What a leaderboard measures stays as it is. For other queries, add a season.")
    return _form_page(request, form, _("Change the leaderboard"), _("Save"), status, board, lead)


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
@edits
def policy_new(request: Request, board_slug: str) -> HttpResponse:
    """The next version of a board's policy."""
    board = board_of(request, board_slug)
    newest = policy_initial(board.policies.order_by("-number").first())
    form, status = PolicyForm(initial=newest), 200
    if request.method == "POST":
        form, status = PolicyForm(request.POST, initial=newest), 400
        if form.is_valid():
            at, values = timezone.now(), form.cleaned_data
            try:
                policy = board_services.policy_add(
                    board=board,
                    text=values["text"],
                    numbers=form.numbers(),
                    begins_at=form.begins_at(at),
                    why=values["why"],
                    by=request.user,
                    at=at,
                )
            except Refused as error:
                status = refuse_in(form, error)
            else:
                text = _("Version %(number)s of the policy is there.")
                messages.success(request, text % {"number": policy.number})
                return see_other("leaderboards:organize", board.slug, fragment="policy")
    lead = _("It acts forward: runs that were sent before are judged by the version that their teams accepted.")
    return _form_page(request, form, _("New version of the policy"), _("Add"), status, board, lead)


@needs(Right.MAINTAIN)
@csrf_exempt  # what is too large is refused before it is read; the rest is checked
@require_http_methods(["GET", "POST"])
def season_new(request: Request, board_slug: str) -> HttpResponse:
    """A season, with its queries and qrels."""
    board = board_of(request, board_slug)
    if is_too_large(request):
        return refuse_too_large(request, "core/form.html", None, **too_large_page(request, board))
    checked: HttpResponse = _season_checked(request, board)
    return checked


@csrf_protect
def _season_checked(request: Request, board: Board) -> HttpResponse:
    form, status = SeasonForm(), 200
    if request.method == "POST":
        form, status = SeasonForm(request.POST, request.FILES), 400
        if form.is_valid():
            at = timezone.now()
            try:
                board_services.season_add(
                    board=board,
                    name=form.cleaned_data["name"],
                    opens_at=form.opens_at(at),
                    closes_at=form.closes_at(),
                    in_turn=form.cleaned_data["in_turn"],
                    files=form.contents(),
                    at=at,
                )
            except Refused as error:
                status = refuse_in(form, error)
            except BadInput as error:
                form.refuse_file(error)
            else:
                messages.success(request, _("The season is there."))
                return see_other("leaderboards:organize", board.slug, fragment="seasons")
    lead = _("Its files stay as they are. Dev queries and qrels, and the eval queries, are for everybody.")
    return _form_page(request, form, _("New season"), _("Check and add"), status, board, lead)


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def order(request: Request, board_slug: str) -> HttpResponseBase:
    """How sure the order of each season is, also on eval under a Ladder; `POST` has it checked now.

    Who takes part sees of eval what everybody sees.
    """
    board, at = board_of(request, board_slug), timezone.now()
    seasons = selectors.open_seasons(board, at)
    if request.method == "POST":
        season = seasons.filter(pk=_number(request, "season")).first()
        if season is None:
            raise NotYours(_("The leaderboard has no such season."))
        order_checks.require_enough(season, at)
        start(jobs.check_orders, season.pk, request.user.pk)
        messages.success(request, _("The order is being checked. Load the page again in a minute."))
        return see_other("leaderboards:order", board.slug)
    takes_part = selectors.submissions_of(request.user, board).exists()
    sections = [(season, _checks_shown(request, season, at)) for season in seasons]
    context = {"board": board, "seasons": sections, "takes_part": takes_part}
    return render(request, "leaderboards/order.html", context)


def _checks_shown(request: Request, season: Season, at: datetime) -> list[dict[str, Any]]:
    """The last check of each part, and those before it."""
    parts = []
    for part, checks in order_checks.checks_for(request.user, season, at).items():
        lines = order_checks.lines_of(checks[0], checks[1] if len(checks) > 1 else None)
        runs = {row.public_id: row for row in season.submissions.filter(public_id__in=[line.id for line in lines])}
        rows = [(runs[line.id], line) for line in lines if line.id in runs]
        past = [order_checks.summary(check) for check in checks]
        parts.append({"part": Part(part), "check": checks[0], "rows": rows, "past": past})
    return parts


@needs(Right.MAINTAIN)
@require_POST
def export(request: Request, board_slug: str) -> StreamingHttpResponse:
    """All opened runs, as a zip; each opening is written down before it begins."""
    board, at = board_of(request, board_slug), timezone.now()
    submissions = exporting.export_begin(board=board, why=request.POST.get("reason", "")[:2000], by=request.user, at=at)
    return StreamingHttpResponse(
        exporting.export_stream(submissions),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{board.slug}-runs.zip"', "Cache-Control": "no-store"},
    )


@needs(Right.MAINTAIN)
@require_POST
def board_act(request: Request, board_slug: str) -> HttpResponse:
    """Small changes of a board: its key, seasons, teams and invitations."""
    board, at, by = board_of(request, board_slug), timezone.now(), request.user
    what, reason = request.POST.get("do", ""), request.POST.get("reason", "").strip()[:2000]
    fragment = "teams"
    if what == "invite":
        form = AddressForm(request.POST)
        if not form.is_valid():
            raise BadRequest(_("This is not an e-mail address: %(text)s") % {"text": request.POST.get("email", "")})
        email = form.cleaned_data["email"]
        invitation_send(request, teams.invitation_add(board=board, team=None, email=email, by=by, at=at))
        return see_other("leaderboards:organize", board.slug, fragment="teams")
    if what == "revoke":
        invitation = board.invitations.filter(pk=_number(request, "invitation")).first()
        if invitation is not None:
            teams.invitation_revoke(invitation=invitation, at=at)
    elif what == "key":
        board_services.key_make(board=board, by=by, at=at)
        fragment = "keys"
    elif what == "check":
        check, fragment = board.drawn_checks.filter(pk=_number(request, "check")).first(), "checks"
        if check is None:
            raise NotYours(_("The leaderboard has no such spot check."))
        spot_checks.check_do(check=check, note=reason, by=by, at=at)
    elif what in ("close", "publish qrels"):
        fragment, season = "seasons", board.seasons.filter(pk=_number(request, "season")).first()
        if season is None:
            raise NotYours(_("The leaderboard has no such season."))
        if what == "close":
            board_services.season_close(season=season, closes_at=at, at=at)
        else:
            board_services.qrels_publish(season=season, at=at)
    elif what in ("confirm", "exempt", "merge"):
        if not reason:
            raise BadRequest(_("Say why: the reason is kept."))
        team = _team(request, board, "team")
        shared: dict[str, Any] = {"team": team, "board": board, "reason": reason, "by": by, "at": at}
        if what == "confirm":
            teams.team_confirm(**shared)
        elif what == "exempt":
            teams.team_exempt(runs=_number(request, "runs"), **shared)
        else:
            teams.teams_merge(into=_team(request, board, "into"), **shared)
    else:
        raise BadRequest(_("This button is not known here. Load the page again."))
    messages.success(request, _("Done."))
    return see_other("leaderboards:organize", board.slug, fragment=fragment)


def _number(request: Request, name: str) -> int:
    text = request.POST.get(name, "")
    if not (text.isdecimal() and len(text) < 10):
        raise BadRequest(_("A number is missing. Load the page again."))
    return int(text)


def _team(request: Request, board: Board, name: str) -> Team:
    team = Team.objects.filter(lab=board.lab_id, pk=_number(request, name)).first()
    if team is None:
        raise NotYours(_("The lab has no such team."))
    return team


@needs(Right.MAINTAIN)
@require_POST
def decide(request: Request, submission_id: str) -> HttpResponse:
    """What an organizer rules on a submission, with a reason."""
    submission = (
        Submission.objects.select_related("board__lab", "team", "policy").filter(public_id=submission_id).first()
    )
    if submission is None:
        raise NotYours(_("There is no such submission, or it is another team's."))
    require(request.user, submission.board.lab, Right.MAINTAIN)
    at, by, what = timezone.now(), request.user, request.POST.get("do", "")
    if what == "old metadata":
        return _old_metadata(request, submission)
    shared: dict[str, Any] = {"reason": request.POST.get("reason", "").strip()[:2000], "by": by, "at": at}
    about: dict[str, Any] = {"submission": submission, **shared}
    acts: dict[str, Callable[[], object]] = {
        "publish": lambda: publishing.submission_publish(**about),
        "reject": lambda: publishing.submission_reject(**about),
        "flag": lambda: publishing.submission_flag(flag=request.POST.get("flag", "")[:2000], **about),
        "baseline": lambda: publishing.submission_mark(is_baseline=not submission.is_baseline, **about),
        "variant": lambda: publishing.submission_mark_variant(
            variant_of=request.POST.get("variant_of", "")[:100], **about
        ),
        "again": lambda: publishing.submission_reevaluate(**about),
        "extend": lambda: publishing.embargo_extend(until=_day(request), **about),
        "accept": lambda: _metadata(request, submission, True, shared),
        "refuse": lambda: _metadata(request, submission, False, shared),
    }
    if what not in acts:
        raise BadRequest(_("This button is not known here. Load the page again."))
    try:
        acts[what]()
    except Refused as error:
        submission.refresh_from_db()
        tried = {name: text[:2000] for name, text in request.POST.items() if isinstance(text, str)}
        return submission_page(request, submission, True, status=error.status, tried={**tried, "said": str(error)})
    if what == "again":
        start(jobs.evaluate, submission.pk)
    messages.success(request, _("Done. The team is told."))
    return see_other("leaderboards:submission", submission.public_id)


def _metadata(request: Request, submission: Submission, accept: bool, shared: dict[str, Any]) -> None:
    row = submission.metadata_requests.filter(pk=_number(request, "request")).first()
    if row is None:
        raise NotYours(_("There is no such request."))
    metadata.request_decide(request=row, accept=accept, override="override" in request.POST, **shared)


def _old_metadata(request: Request, submission: Submission) -> HttpResponse:
    form, status = OldMetadataForm(request.POST, request.FILES, prefix="old"), 400
    if form.is_valid():
        values = form.cleaned_data
        try:
            metadata.request_add_old(
                submission=submission,
                files=form.pair(),
                private_pem=values["private"],
                why=values["why"],
                by=request.user,
                at=timezone.now(),
            )
        except Refused as error:
            status = refuse_in(form, error)
        else:
            messages.success(request, _("The file opens. Its metadata wait for a decision below."))
            return see_other("leaderboards:submission", submission.public_id, fragment="metadata")
    return submission_page(request, submission, True, status=status, old_form=form)


def _day(request: Request) -> date:
    try:
        return datetime.strptime(request.POST.get("until", ""), "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError as error:
        raise BadRequest(_("Choose a day.")) from error
