"""The participants' pages of leaderboards: teams, submitting, and what became of it."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from celery import Task
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_ratelimit.decorators import ratelimit
from kombu.exceptions import OperationalError

from core import direct
from core.errors import BadRequest, NotYours, Refused
from core.http import Request, refuse_in, see_other
from core.joining import invited_page
from core.lists import Listing, render_lists
from core.login import TooManyTries
from core.models import User
from core.roles import Right, needs
from evaluation.files.metadata import flatten
from leaderboards import events, jobs, metadata, selectors, submitting, teams
from leaderboards.boards import board_terms
from leaderboards.forms import AddressForm, DevForm, MetadataForm, OldMetadataForm, OldRunsForm, SubmitForm, TeamForm
from leaderboards.models import Board, Part, Submission, Team, TeamInvitation
from leaderboards.public import sealing
from runs import sending
from runs.http import begin_to_send, first_labs, go_on_sending, is_too_large, refuse_too_large

DEV_SHOWN = INVITATIONS_SHOWN = 20
log = logging.getLogger(__name__)


def start(job: "Task[..., str]", *arguments: int) -> None:
    """Have a job done soon; if the queue is away, the clock finds what waits."""
    try:
        job.delay(*arguments)
    except OperationalError as error:
        log.warning("The job %s waits for the clock: %s", job.name, error)


@needs(Right.SIGNED_IN)
@require_GET
def boards(request: Request) -> HttpResponseBase:
    """The leaderboards that somebody organizes or can take part in."""
    visible = selectors.boards_seen(request.user).select_related("lab", "collection").order_by("name")
    keys = set(selectors.boards_of(request.user).values_list("pk", flat=True))
    listing = Listing(request, visible, sorts={"name": "name", "lab": "lab__name", "created": "created_at"})
    sent = selectors.submissions_of(request.user).select_related("board", "team")
    context = {
        "listing": listing,
        "rows": [(board, board.pk in keys) for board in listing.page],
        "sent": Listing(request, sent, key="sent"),
        "in_lab": first_labs(request),
    }
    return render_lists(request, "leaderboards/boards.html", context)


@needs(Right.SIGNED_IN)
@require_GET
def take_part(request: Request, board_slug: str) -> HttpResponseBase:
    """What a participant can do at a board now: teams, quotas, the key, and what was sent."""
    board, at = selectors.board_seen(request.user, board_slug), timezone.now()
    policy = board.policy_at(at)
    rows = [
        {"team": team, "quota": selectors.quota_of(team, board, policy, at)}
        for team in selectors.teams_of(request.user, board)
    ]
    sent = selectors.submissions_of(request.user, board).select_related("team", "season")
    context = {
        "board": board,
        "policy": policy,
        "teams": rows,
        "key": board.keys.get(retired_at=None),
        "season": selectors.open_seasons(board, at).first(),
        "listing": Listing(request, sent, sorts={"run": "run_id", "arrived": "arrived_at", "state": "state"}),
        "organizes": selectors.organizes(request.user, board),
    }
    return render_lists(request, "leaderboards/take_part.html", context)


@needs(Right.PUBLIC)
@require_GET
def terms(request: HttpRequest, board_slug: str) -> HttpResponse:
    """What `bestknown seal` needs of a board: its name, key and demands. Public boards give it to all."""
    board = _board_for_all(request, board_slug)
    response = JsonResponse(board_terms(board, board.policy_at(timezone.now())).as_dict())
    response["Content-Disposition"] = f'attachment; filename="{board.slug}.json"'
    return response


@needs(Right.PUBLIC)
@require_GET
def sample(request: HttpRequest, board_slug: str) -> HttpResponse:
    """A sample submission: every file that `bestknown seal` takes, and what it makes. Public boards give it to all."""
    board, at = _board_for_all(request, board_slug), timezone.now()
    season = selectors.open_seasons(board, at).first()
    packed = None if season is None else sealing.sample(board, season, at)
    if packed is None:
        raise NotYours(_("There is no sample yet: the leaderboard has no queries."))
    response = HttpResponse(packed, content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{board.slug}-sample.zip"'
    return response


def _board_for_all(request: HttpRequest, slug: str) -> Board:
    board = Board.objects.filter(slug=slug).first()
    if board is not None and not board.is_public:
        user = request.user
        is_visible = user.is_authenticated and selectors.boards_seen(user).filter(pk=board.pk).exists()
        board = board if is_visible else None
    if board is None:
        raise NotYours(_("There is no such leaderboard, or you are not invited to it."))
    return board


@needs(Right.SIGNED_IN)
@csrf_exempt  # what is too large is refused before it is read; the rest is checked
@require_http_methods(["GET", "POST"])
@direct.sends_files
def submit(request: Request, board_slug: str) -> HttpResponse:
    """Submit a run. What the policy does not allow now is said before anything is uploaded."""
    board = selectors.board_seen(request.user, board_slug)
    if is_too_large(request, settings.BOARD_UPLOAD_MEGABYTES):
        return _refuse_too_large(request, board)
    checked: HttpResponse = _submit_checked(request, board)
    return checked


@csrf_protect
def _submit_checked(request: Request, board: Board) -> HttpResponse:
    at = timezone.now()
    policy = board.policy_at(at)
    teams = selectors.teams_of(request.user, board)
    if not teams.exists():
        return see_other("leaderboards:team_new", board.slug)
    obstacles = {team: submitting.obstacles(board=board, team=team, policy=policy, at=at) for team in teams}
    form, status = SubmitForm(board=board, teams=teams, policy=policy), 200
    if request.method == "POST":
        files = sending.files_of(request.FILES, request.POST, request.user)
        form, status = SubmitForm(request.POST, files, board=board, teams=teams, policy=policy), 400
        if form.is_valid():
            try:
                submission = _submitted(form, board, request.user)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                start(jobs.evaluate, submission.pk)
                messages.success(request, _("The run has arrived. It is evaluated next."))
                return see_other("leaderboards:submission", submission.public_id)
    context = {
        "board": board,
        "policy": policy,
        "form": form,
        "key": board.keys.get(retired_at=None),
        "obstacles": [text for text in obstacles.values() if text],
        "can_send": not all(obstacles.values()) and selectors.open_seasons(board, at).exists(),
        "has_season": selectors.open_seasons(board, at).exists(),
        "installing": sealing.installing(),
        "seal": sealing.seal_command(f"{board.slug}.json"),
        "direct": direct.least_bytes(),
    }
    return render(request, "leaderboards/submit.html", context, status=status)


def too_large_page(request: Request, board: Board) -> dict[str, object]:
    """What a page says around the refusal of what is too large to be read."""
    back = (_("Back to the form"), request.path)
    return {"title": _("Too large"), "of": board.name, "crumbs": _crumbs(board), "back": back}


def _crumbs(board: Board) -> list[tuple[str, str]]:
    return [
        (_("Leaderboards"), reverse("leaderboards:boards")),
        (board.name, reverse("leaderboards:take_part", args=[board.slug])),
    ]


def _refuse_too_large(request: Request, board: Board) -> HttpResponse:
    page = too_large_page(request, board)
    return refuse_too_large(request, "core/form.html", None, **page, refused=submitting.too_large())


def _submitted(form: SubmitForm, board: Board, user: User) -> Submission:
    values = form.cleaned_data
    shared: dict[str, Any] = {
        "board": board, "team": values["team"], "season": values["season"], "run_id": values["run_id"],
        "policy_number": values["policy"], "by": user, "at": timezone.now(),
    }  # fmt: skip
    submitting.send_check(**shared)  # before any file is read
    if values["package"]:
        package = values["package"]
        return submitting.submission_send(
            package=package.read(), name=str(package.name), received=sending.as_received(package), **shared
        )
    return submitting.submission_seal(
        metadata=form.metadata(values), dev=values["dev"].read(), evaluated=values["eval"].read(), **shared
    )


@needs(Right.SIGNED_IN)
@csrf_exempt  # as of submit
@require_http_methods(["GET", "POST"])
@direct.sends_files
def dev(request: Request, board_slug: str) -> HttpResponse:
    """Have runs on the dev queries scored, as often as somebody likes."""
    board = selectors.board_seen(request.user, board_slug)
    if is_too_large(request, settings.BOARD_UPLOAD_MEGABYTES):
        return _refuse_too_large(request, board)
    checked: HttpResponse = _dev_checked(request, board)
    return checked


@csrf_protect
def _dev_checked(request: Request, board: Board) -> HttpResponse:
    form, old, status = DevForm(board=board, user=request.user), _old_runs_form(request, board), 200
    if request.method == "POST" and old is not None and "old" in request.POST:
        status = 400
        if old.is_valid():
            try:
                added = submitting.old_runs_add(
                    season=old.cleaned_data["season"],
                    files=old.pair(),
                    private_pem=old.cleaned_data["private"],
                    by=request.user,
                    at=timezone.now(),
                )
            except Refused as error:
                status = refuse_in(old, error)
            else:
                for row in added:
                    start(jobs.score_dev, row.pk)
                return see_other("leaderboards:dev", board.slug, fragment="scored")
    elif request.method == "POST":
        files = sending.files_of(request.FILES, request.POST, request.user)
        form, status = DevForm(request.POST, files, board=board, user=request.user), 400
        if form.is_valid():
            file = form.cleaned_data["file"]
            try:
                row = submitting.dev_scoring_ask(
                    season=form.cleaned_data["season"],
                    entry=form.cleaned_data.get("entry"),
                    name=str(file.name),
                    content=file.read(),
                    received=sending.as_received(file),
                    by=request.user,
                    at=timezone.now(),
                )
            except Refused as error:
                status = refuse_in(form, error)
            else:
                start(jobs.score_dev, row.pk)
                return see_other("leaderboards:dev", board.slug, fragment="scored")
    scorings = request.user.dev_scorings.filter(season__board=board).select_related("entry").order_by("-pk")[:DEV_SHOWN]
    rows = [
        {"scoring": row, "scores": [(name, selectors.printed(score)) for name, score in row.scores.items()]}
        for row in scorings
    ]
    context = {
        "board": board,
        "form": form,
        "old": old,
        "rows": rows,
        "has_season": selectors.open_seasons(board, timezone.now()).exists(),
        "direct": direct.least_bytes(),
    }
    return render(request, "leaderboards/dev.html", context, status=status)


def _old_runs_form(request: Request, board: Board) -> OldRunsForm | None:
    """The form that adds the runs of old packages, for organizers of a board with imported entries."""
    imported = board.submissions.filter(origin=Submission.Origin.IMPORTED, state=Submission.State.PUBLISHED)
    if not selectors.organizes(request.user, board) or not imported.exists():
        return None
    if request.method == "POST" and "old" in request.POST:
        return OldRunsForm(request.POST, request.FILES, board=board, auto_id="old_%s")
    return OldRunsForm(board=board, auto_id="old_%s")


@needs(Right.SIGNED_IN)
@require_POST
def sending_begin(request: Request) -> HttpResponse:
    """Begin to send a package or a dev run straight to the bucket."""
    return begin_to_send(request, submitting.sending_begin)


@needs(Right.SIGNED_IN)
@require_POST
def sending_continue(request: Request, token: str) -> HttpResponse:
    return go_on_sending(request, token)


# --- teams


@needs(Right.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def team_new(request: Request, board_slug: str) -> HttpResponse:
    board = selectors.board_seen(request.user, board_slug)
    form, status = TeamForm(), 200
    if request.method == "POST":
        form, status = TeamForm(request.POST), 400
        if form.is_valid():
            try:
                team = teams.team_found(board=board, by=request.user, at=timezone.now(), **form.cleaned_data)
            except Refused as error:
                status = refuse_in(form, error)
            else:
                messages.success(request, _("The team is there. You can invite others to it, and submit."))
                return see_other("leaderboards:team", board.slug, team.public_id)
    page = {
        "title": _("Found a team"),
        "of": board.name,
        "crumbs": _crumbs(board),
        "crumb": _("New team"),
        "lead": _("Teams are identifiable. The organizers confirm yours once, before its first entry is published."),
        "button": _("Found the team"),
    }
    return render(request, "core/form.html", {"form": form, **page}, status=status)


def team_of(request: Request, board: Board, team_id: str) -> Team:
    """A team that somebody is in. Raises NotYours."""
    team = selectors.teams_of(request.user, board).filter(public_id=team_id).first()
    if team is None:
        raise NotYours(_("There is no such team, or you are not in it."))
    return team


@needs(Right.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def team(request: Request, board_slug: str, team_id: str) -> HttpResponseBase:
    """A team's people. POST invites somebody by mail, or by a link."""
    board = selectors.board_seen(request.user, board_slug)
    team, at = team_of(request, board, team_id), timezone.now()
    form, status = AddressForm(), 200
    if request.method == "POST":
        form, status = AddressForm(request.POST), 400
        if form.is_valid():
            email = form.cleaned_data["email"]
            try:
                invitation = teams.invitation_add(board=board, team=team, email=email, by=request.user, at=at)
            except Refused as refused:
                status = refuse_in(form, refused)
            else:
                invitation_send(request, invitation)
                return see_other("leaderboards:team", board.slug, team_id)
    context = {
        "board": board,
        "team": team,
        "members": team.members.select_related("user").order_by("pk"),
        "form": form,
        **invitations_listed(request, teams.open_invitations(at).filter(team=team)),
    }
    return render_lists(request, "leaderboards/team.html", context, status=status)


def invitations_listed(request: Request, invitations: QuerySet[TeamInvitation]) -> dict[str, Any]:
    """Open invitations, newest first, and their links; none of what somebody asked for: the mail proves who it is."""
    listing = Listing(request, invitations.order_by("-pk"), key="invitations", size=INVITATIONS_SHOWN)
    links = [(row, teams.invitation_address(row) if row.invited_by_id else "") for row in listing.page]
    return {"invitations": listing, "addresses": links}


@needs(Right.SIGNED_IN)
@require_POST
def team_leave(request: Request, board_slug: str, team_id: str) -> HttpResponse:
    board = selectors.board_seen(request.user, board_slug)
    teams.team_leave(team=team_of(request, board, team_id), user=request.user, at=timezone.now())
    messages.success(request, _("You are no longer in the team."))
    return see_other("leaderboards:boards")


def invitation_send(request: HttpRequest, invitation: TeamInvitation) -> None:
    """Mail an invitation where that is possible, and say what is to be done."""
    if not settings.HAS_MAIL:
        messages.success(request, _("The invitation is ready. Copy its link below and send it."))
        return
    try:
        teams.invitation_mail(invitation=invitation, at=timezone.now())
    except OSError as error:
        text = _("The invitation is ready, but the mail was not accepted (%(error)s). Copy its link below and send it.")
        messages.warning(request, text % {"error": error})
    else:
        messages.success(request, _("The invitation has been sent to %(email)s.") % {"email": invitation.email})


@needs(Right.PUBLIC)
@require_http_methods(["GET", "POST"])
@ratelimit(key="ip", rate="10/h", method="POST", block=False)  # type: ignore[untyped-decorator]
def ask(request: HttpRequest, board_slug: str) -> HttpResponse:
    """Ask for a link that lets somebody take part. The answer is the same for every address."""
    board = Board.objects.filter(slug=board_slug, is_public=True).first()
    if board is None:
        raise NotYours(_("There is no such leaderboard."))
    form, status, is_sent = AddressForm(), 200, False
    if request.method == "POST":
        if getattr(request, "limited", False):
            raise TooManyTries(_("There have been too many attempts. Please try again in an hour."))
        form, status = AddressForm(request.POST), 400
        if form.is_valid() and settings.HAS_MAIL:
            at = timezone.now()
            invitation = teams.invitation_add(board=board, team=None, email=form.cleaned_data["email"], by=None, at=at)
            try:
                teams.invitation_mail(invitation=invitation, at=at)
            except OSError:
                log.exception("An invitation to %s was not mailed", board.slug)
            is_sent, status = True, 200
    page: dict[str, Any] = {
        "title": f"{_('Take part')} · {board.name}",
        "heading": _("Take part in %(name)s") % {"name": board.name},
        "following": reverse("leaderboards:take_part", args=[board_slug]),
    }
    if is_sent:
        page["notice"] = _("If mail reaches this address, a link is on its way. It works once, for 14 days.")
    elif settings.HAS_MAIL:
        page["lead"] = _("You get a link by mail. With it you choose a name and a password, and found a team.")
        page |= {"form": form, "button": _("Send me the link")}
    else:
        text = _("This site sends no mail. Ask the organizers for an invitation.")
        page |= {"notice": text, "notice_kind": " look"}
    return render(request, "core/entrance.html", page, status=status)


@needs(Right.PUBLIC)
@sensitive_post_parameters("password1", "password2")
@require_http_methods(["GET", "POST"])
@ratelimit(key="ip", rate="20/m", block=False)  # type: ignore[untyped-decorator]
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """Where an invitation leads: choose a name and a password, or, logged in, take part with one press."""
    if getattr(request, "limited", False):
        raise TooManyTries(_("There have been too many attempts. Please wait a minute and try again."))
    at = timezone.now()
    invitation, by_mail = teams.invitation_at(token, at)
    board = invitation.board

    def accept(user: User) -> str:
        teams.invitation_accept(invitation=invitation, user=user, at=at)
        return reverse("leaderboards:take_part", args=[board.slug])

    words = {
        "title": f"{_('Take part')} · {board.name}",
        "heading": _("Take part in %(name)s") % {"name": board.name},
        "lead": invitation.team and _("You are invited to the team %(team)s.") % {"team": invitation.team},
        "button": _("Take part as %(name)s") % {"name": request.user},
    }
    email = invitation.email if by_mail else ""
    return invited_page(request, words, email=email, accept=accept)


# --- a submission


@needs(Right.SIGNED_IN)
@require_GET
def submission(request: Request, submission_id: str) -> HttpResponse:
    """What became of a submission: for its team, and for the organizers, who decide here."""
    submission, is_organizer = selectors.submission_for(request.user, submission_id)
    return submission_page(request, submission, is_organizer)


def submission_page(
    request: Request,
    submission: Submission,
    is_organizer: bool,
    form: MetadataForm | None = None,
    status: int = 200,
    old_form: OldMetadataForm | None = None,
    tried: dict[str, str] | None = None,
) -> HttpResponse:
    """The page of a submission, maybe with a form that has errors, or a decision that was refused, and why: `said`."""
    scores = submission.scores.filter(version=None).order_by("measure")
    release = getattr(submission, "release", None)
    States = Submission.State  # noqa: N806
    context: dict[str, Any] = {
        "submission": submission,
        "board": submission.board,
        "is_organizer": is_organizer,
        "is_member": selectors.is_member(request.user, submission),
        "events": submission.events.select_related("by").order_by("pk"),
        "openings": submission.openings.select_related("by").order_by("pk"),
        "talk": submission.messages.select_related("by").order_by("pk"),
        "decisions": submission.decisions.select_related("by").order_by("pk"),
        "requests": submission.metadata_requests.select_related("asked_by", "decided_by").order_by("-pk"),
        "dev": [(row.measure, selectors.printed(row.fraction)) for row in scores if row.part == "dev"],
        "release": release,
        "reference": _reference(request, submission, is_organizer),
        "shown": selectors.printed(release.fraction) if release is not None and release.is_shown else "",
        "sentences": submission.diagnostics.get("sentences", []),
        "headers": [
            (part, list(flatten(header)))
            for part in Part.values
            if (header := submission.diagnostics.get("runs", {}).get(part, {}).get("metadata"))
        ],
        "can_cancel": submission.state in (States.RECEIVED, States.CHECKED),
        "can_withdraw": submission.state in (States.WAITING, States.PUBLISHED),
        "form": form or MetadataForm(submission=submission),
        "old_form": old_form or OldMetadataForm(prefix="old"),
        "is_hidden": submission.is_hidden(timezone.now()),
        "tried": tried,
    }
    if is_organizer:
        by_key = submission.board.submissions.in_bulk([key for row in submission.alike for key in row["keys"]])
        context["alike"] = [row | {"runs": [by_key[int(key)] for key in row["keys"]]} for row in submission.alike]
        # Whether it counts is not decided: nobody looks before, or if it does not.
        undecided = submission.state in (States.CHOOSING, States.CANCELED)
        is_own = selectors.is_member(request.user, submission) and submission.state != States.PUBLISHED
        if not undecided and not is_own:
            context["eval"] = [(row.measure, selectors.printed(row.fraction)) for row in scores if row.part == "eval"]
            if len(context["eval"]) > bool(context["shown"]):  # before the page lists who opened what
                events.scores_seen(submission=submission, by=request.user, at=timezone.now())
        if submission.team is not None:
            context["looks"] = selectors.looks_of(selectors.root(submission.team), submission.season)
    return render(request, "leaderboards/submission.html", context, status=status)


def _reference(request: Request, submission: Submission, is_organizer: bool) -> str:
    """The id of the run that a submission was compared with, for whoever may know it: it may be another team's."""
    reference = submission.release.reference if hasattr(submission, "release") else None
    if reference is None:
        return ""
    is_open = is_organizer or not reference.is_hidden(timezone.now()) or selectors.is_member(request.user, reference)
    return reference.run_id if is_open else _("an earlier entry of the same people")


@needs(Right.SIGNED_IN)
@require_POST
def submission_act(request: Request, submission_id: str) -> HttpResponse:
    """What a team does with its submission: cancel, withdraw, write, ask for other metadata, take that back."""
    submission, is_organizer = selectors.submission_for(request.user, submission_id)
    at, by, what = timezone.now(), request.user, request.POST.get("do", "")
    text = request.POST.get("text", "").strip()[:5000]
    is_member = selectors.is_member(by, submission)
    if what == "write":
        if not text:
            raise BadRequest(_("Write something first."))
        events.message_add(submission=submission, text=text, by=by, is_organizers=is_organizer and not is_member, at=at)
    elif not is_member:
        raise NotYours(_("Only the team that sent a submission can do this."))
    elif what == "metadata":
        form = MetadataForm(request.POST, submission=submission)
        if not form.is_valid():
            return submission_page(request, submission, is_organizer, form, 400)
        values = form.cleaned_data
        try:
            metadata.request_add(
                submission=submission, kind=values["kind"], after=form.after(), why=values["why"], by=by, at=at
            )
        except Refused as error:
            return submission_page(request, submission, is_organizer, form, refuse_in(form, error))
    else:
        acts: dict[str, Callable[[], object]] = {
            "enter": lambda: submitting.submission_enter(submission=submission, by=by, at=at),
            "leave out": lambda: submitting.submission_leave_out(submission=submission, by=by, at=at),
            "cancel": lambda: submitting.submission_cancel(submission=submission, by=by, at=at),
            "withdraw": lambda: submitting.submission_withdraw(submission=submission, why=text, by=by, at=at),
            "take back": partial(metadata.request_take_back, submission=submission, at=at),
        }
        if what not in acts:
            raise BadRequest(_("This button is not known here. Load the page again."))
        acts[what]()
    messages.success(request, _("Done."))
    return see_other("leaderboards:submission", submission.public_id)
