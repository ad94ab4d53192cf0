"""The workers' pages as a trial: the same templates and scripts on a campaign's own pairs, and nothing is stored.

Their addresses are those of real work, with a token that says that it is a trial (`tasks.trials`).
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from core.errors import BadRequest, NotNow, NotYours, Refused
from core.http import see_other
from core.languages import speak
from core.lists import Listing
from core.money import owed
from core.roles import Right, may_change, needs
from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from judgments.models import Judgment, PairReport
from judgments.pages import api, reporting
from judgments.pages import practice as practice_pages
from judgments.pages import worker as worker_pages
from judgments.pages.example import worked_example
from judgments.pages.framing import allow_frame
from platforms.models import Publication
from platforms.registry import adapter_of
from platforms.reviewing.protocol import Ending
from tasks import links, trials
from tasks import services as task_services
from tasks.models import Assignment
from tasks.trials import Done, Trial

RECEIPT = "TRIAL-ONLY"
REPORTED = "reported"  # in place of a side: the visitor said that something is wrong
_KEYS = links.Keys(0, 0, 0)  # of an assignment, a worker and a HIT: a trial has none


class TrialConverter:
    """A trial's token in an address."""

    regex = r"try\.[A-Za-z0-9:._-]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        """The token as it is. Raises ValueError for any other."""
        if not value.startswith(trials.PREFIX):
            raise ValueError(value)
        return value


View = Callable[..., HttpResponse]


def on_trial(view: View) -> View:
    """For pages of a trial, which get it and its token. The site itself may show them in a frame."""

    @csrf_exempt
    @never_cache
    @wraps(view)
    def tried(request: HttpRequest, token: str, *arguments: Any, **named: Any) -> HttpResponse:
        origin = request.build_absolute_uri("/")
        try:
            trial = trials.trial_of(token)
            speak(request, trial.campaign.language)
            return allow_frame(view(request, trial, token, *arguments, **named), origin)
        except Refused as refused:
            refused.framed_by = origin
            raise

    return tried


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, f"judgments/pages/{template}.html", context | {"trial": True})


# --- coming in


@needs(Right.PUBLIC)
@require_safe
@on_trial
def preview(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    context = {
        "task": worker_pages.offer_context(trial.campaign),
        "example": worked_example(trial.campaign),
        "open": True,
        "start_url": reverse("judging:join", args=[token]),
    }
    return _page(request, "preview", context)


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def join(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """Consent. Agreeing begins a visit."""
    if request.method == "POST":
        return _begin(trial)
    consent = worker_pages.consent_context(trial.campaign)
    context = {
        "task": worker_pages.offer_context(trial.campaign),
        "consent": consent | {"text": trial.consent or consent["text"]},
        "post_url": reverse("judging:join", args=[token]),
        "decline_url": reverse("judging:declined", args=[token]),
    }
    return _page(request, "consent", context)


def _begin(trial: Trial) -> HttpResponse:
    visit = trials.visit_begin(trial, timezone.now())
    return see_other("judging:instructions", visit.token)


@needs(Right.PUBLIC)
@require_safe
@on_trial
def declined(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """The page for a visitor who did not agree."""
    context = {"task": worker_pages.task_context(trial.campaign)}
    return _page(request, "declined", context | _way_back(trial, Assignment.State.ACTIVE))


@needs(Right.PUBLIC)
@require_safe
@on_trial
def home(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """The worker's own page, of this visit alone."""
    done, total = trials.done_of(trial), len(trial.items)
    receipts = [worker_pages.receipt_context(_assignment(trial, done), total)] if done.ended else []
    progress = {"answered": len(done.choices), "total": total, "url": reverse("judging:instructions", args=[token])}
    context = {
        "task": worker_pages.offer_context(trial.campaign),
        "bookmark_url": request.build_absolute_uri(),
        "current": None if done.ended else progress,
        "take_url": reverse("judging:take", args=[token]),
        "available": True,
        "listing": Listing(request, receipts),
        "receipts": receipts,
        "total_owed": trial.campaign.local_money(_owed(trial, done)),
    }
    return _page(request, "home", context)


@needs(Right.PUBLIC)
@require_POST
@on_trial
def take(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """Begin another visit."""
    return _begin(trial)


# --- judging


@needs(Right.PUBLIC)
@require_safe
@on_trial
def instructions(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    done = trials.done_of(trial)
    if done.ended:
        return see_other("judging:done", token)
    begun, missing = bool(done.choices), _missing(trial, done)
    context = worker_pages.instructions_context(trial.campaign, token, missing, begun=begun)
    context |= worker_pages.practice_offer(trials.practice_of(trial), token)
    return _page(request, "instructions", context)


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def item(request: HttpRequest, trial: Trial, token: str, position: int) -> HttpResponse:
    if request.method == "POST":
        _choose(trial, position, request.POST.get("preferred", ""), request.POST.get("shown", ""))
        return HttpResponseRedirect(request.get_full_path(), status=303)
    done = trials.done_of(trial)
    if done.ended:
        return see_other("judging:done", token)
    texts = _texts(trial, position)
    if not trials.practice_of(trial).is_open:
        return see_other("judging:practice", token)
    item = judgment_selectors.ShownItem(
        question=trial.campaign.question,
        question_language=trial.campaign.language,
        language=trial.campaign.collection.language,
        query=texts.query,
        left=texts.left,
        right=texts.right,
        preferred=None if done.choices.get(position) == REPORTED else done.choices.get(position),
        reported=done.choices.get(position) == REPORTED,
        answered=len(done.choices),
        total=len(trial.items),
        campaign_id=trial.campaign.pk,
        reward=trial.campaign.reward,
        currency=trial.campaign.currency,
        leased_until=_leased_until(trial),
        terms=None,
    )
    context = worker_pages.item_context(_KEYS, token, position, item, worker_pages.LAST_LOOK in request.GET)
    context["form"]["name"] = f"{trial.visit}/{position}"
    context["home_url"] = reverse("judging:home", args=[token])
    return _page(request, "item", context)


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def practice(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """How practice stands; POST skips it, or begins once more."""
    standing = trials.practice_of(trial)
    if request.method == "POST" and not trials.done_of(trial).ended:
        if standing.may_skip:
            trials.practice_remember(trial=trial, standing=standing, go=standing.skipped())
        elif standing.is_open:
            trials.practice_remember(trial=trial, standing=standing, go=standing.again())
        return practice_pages.after_post(token, trials.practice_of(trial), _next_url(trial, token))
    if onward := practice_pages.onward(token, standing):
        return onward
    return _page(request, "practice", practice_pages.practice_context(token, standing, _next_url(trial, token)))


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def practice_pair(request: HttpRequest, trial: Trial, token: str, position: int) -> HttpResponse:
    standing = trials.practice_of(trial)
    if request.method == "POST":
        preferred = request.POST.get("preferred", "")
        worker_pages.shown_from(request.POST.get("shown", ""), _KEYS.assignment_id, -position)
        _check_side(preferred)
        go = standing.answered(position, preferred)
        trials.practice_remember(trial=trial, standing=standing, go=go)
        if trials.practice_of(trial).is_refused:
            trials.visit_end(trial=trial, ended=Assignment.State.LEFT, at=timezone.now())
        return practice_pages.see_feedback(token, position, go.number)
    context = practice_pages.pair_context(request, standing, _KEYS.assignment_id, token, position)
    return _page(request, "practice_pair", context)


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def report(request: HttpRequest, trial: Trial, token: str, position: int) -> HttpResponse:
    """What is wrong with one comparison; that something is, is all that is remembered."""
    total = len(trial.items)
    _texts(trial, position)
    if trials.done_of(trial).ended:
        return see_other("judging:done", token)
    if request.method == "POST" and request.POST.get("reason") in PairReport.Reason.values:
        trials.visit_choose(trial=trial, position=position, preferred=REPORTED)
        return reporting.go_on(token, position, total)
    return _page(request, "report", reporting.report_context(trial.campaign, token, position, total, {}))


@needs(Right.PUBLIC)
@csrf_exempt
def save(request: HttpRequest, token: str, position: int) -> JsonResponse:
    """Answer the page's script as if one choice had been saved."""
    return api.answer_choice(request, lambda choice: _save(request, token, position, choice))


def _save(request: HttpRequest, token: str, position: int, choice: api.Choice) -> dict[str, Any]:
    trial = trials.trial_of(token)
    done = _choose(trial, position, choice.preferred, choice.stamp)
    campaign = trial.campaign
    counts = len(done.choices), len(trial.items)
    saved = judgment_services.Saved(*counts, campaign.reward, campaign.currency, None, campaign.language)
    return worker_pages.saved_context(request, choice.preferred, saved)


def _choose(trial: Trial, position: int, preferred: str, stamp: str) -> Done:
    worker_pages.shown_from(stamp, _KEYS.assignment_id, position)
    _check_side(preferred)
    _texts(trial, position)
    if trials.done_of(trial).ended:
        raise NotNow(_("You have already finished this task, so its answers can no longer be changed."))
    return trials.visit_choose(trial=trial, position=position, preferred=preferred)


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def finish(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """A last look at the answers."""
    done = trials.done_of(trial)
    is_sent = request.method == "POST" and len(done.choices) == len(trial.items)
    if is_sent:
        if not done.ended:
            _prove(request, trial)
        trials.visit_end(trial=trial, ended=Assignment.State.SUBMITTED, at=timezone.now())
    if is_sent or done.ended:
        return see_other("judging:done", token)
    answers = [
        judgment_selectors.Answer(position, _texts(trial, position).query, done.choices.get(position, ""))
        for position in range(1, len(trial.items) + 1)
    ]
    context = worker_pages.finish_context(trial.campaign, token, answers)
    return _page(request, "finish", context)


def _prove(request: HttpRequest, trial: Trial) -> None:
    """Have the test pairs decide from now on that were passed here by somebody who may change them."""
    user = request.user
    if user.is_authenticated and may_change(user, trial.campaign.lab, "tasks:tests"):
        passed = trials.tests_passed(trial)
        task_services.test_pairs_prove(campaign=trial.campaign, test_pairs=passed, by=user, at=timezone.now())


def _failed(request: HttpRequest, trial: Trial) -> list[tuple[int, str]]:
    """The test pairs that were failed, by position with the question, for somebody who may change them."""
    if not (request.user.is_authenticated and may_change(request.user, trial.campaign.lab, "tasks:tests")):
        return []
    return [(position, _texts(trial, position).query) for position in trials.tests_failed(trial)]


@needs(Right.PUBLIC)
@require_http_methods(["GET", "HEAD", "POST"])
@on_trial
def leave(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """What leaving now means."""
    done = trials.done_of(trial)
    if request.method == "POST":
        trials.visit_end(trial=trial, ended=Assignment.State.LEFT, at=timezone.now())
    if request.method == "POST" or done.ended:
        return see_other("judging:done", token)
    context = worker_pages.leave_context(trial.campaign, token, len(done.choices), len(trial.items))
    return _page(request, "leave", context)


@needs(Right.PUBLIC)
@require_safe
@on_trial
def done(request: HttpRequest, trial: Trial, token: str) -> HttpResponse:
    """The receipt, which is worth nothing."""
    done = trials.done_of(trial)
    if not done.ended:
        return see_other("judging:instructions", token)
    home_url = reverse("judging:home", args=[token])
    context = worker_pages.done_context(_assignment(trial, done), len(trial.items), home_url=home_url)
    return _page(request, "done", context | {"failed_tests": _failed(request, trial)} | _way_back(trial, done.ended))


def _way_back(trial: Trial, ended: str) -> dict[str, Any]:
    """Where whoever the platform sent here to test the campaign goes back to. Still active: they did not agree."""
    publication = Publication.objects.filter(campaign=trial.campaign).first() if trial.is_sent else None
    if publication is None:
        return {}
    publication.campaign = trial.campaign
    endings = {Assignment.State.SUBMITTED: Ending.FINISHED, Assignment.State.LEFT: Ending.LEFT}
    ending = endings.get(Assignment.State(ended), Ending.DECLINED)
    return {"exit": adapter_of(publication).exit_of(publication, ending), "framed": True}


def _check_side(preferred: str) -> None:
    if preferred not in Judgment.Side.values:
        raise BadRequest(_("The answer must be “left” or “right”, not “%(value)s”.") % {"value": preferred[:20]})


def _texts(trial: Trial, position: int) -> trials.TrialItem:
    if (texts := trials.item_texts(trial, position)) is None:
        raise NotYours(worker_pages.no_question(position))
    return texts


def _missing(trial: Trial, done: Done) -> list[int]:
    return [position for position in range(1, len(trial.items) + 1) if position not in done.choices]


def _next_url(trial: Trial, token: str) -> str:
    return worker_pages.next_url(token, _missing(trial, trials.done_of(trial)))


def _leased_until(trial: Trial) -> datetime:
    return (trial.begun_at or timezone.now()) + timedelta(minutes=trial.campaign.minutes_per_hit)


def _owed(trial: Trial, done: Done) -> Decimal:
    return owed(trial.campaign.reward, len(done.choices), len(trial.items) or 1)


def _assignment(trial: Trial, done: Done) -> Assignment:
    """What the receipt would be about; not stored."""
    return Assignment(
        campaign=trial.campaign,
        state=done.ended,
        judged=len(done.choices),
        owed=_owed(trial, done),
        receipt=RECEIPT,
        finished_at=done.ended_at,
        leased_until=_leased_until(trial),
    )
