"""The worker's pages: tasks to find, to try and to do; what was done and earned; letters."""

import secrets
from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView, PasswordResetConfirmView
from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace.errors import NotAllowed, NothingLeft, Refused
from marketplace.models import Account, Assignment, Hit, Message, QualificationRequest, Worker
from marketplace.qualifying import SYSTEM
from marketplace.selectors import qualifying, work
from marketplace.selectors import site as selectors
from marketplace.services.accounts import invitation_find, password_tokens, worker_register
from marketplace.services.assignments import assignment_accept, assignment_accept_next, assignment_return
from marketplace.services.limits import LETTER, LOGIN_FROM_ADDRESS, LOGIN_TO_ACCOUNT, REGISTRATION, limit_exceeded
from marketplace.services.messages import SUBJECT, dispute_open, letter_answer, message_read, requester_contact
from marketplace.services.qualifications import qualification_request
from marketplace.site.edge import address_of, asked_for, message_page, page_of, see_other, show, worker_page
from marketplace.site.forms import DisputeForm, LetterForm, RegisterForm
from marketplace.site.frames import frame_of
from marketplace.site.words import record_name, refusal_said, requirement_said, value_said


def limited_page(request: HttpRequest) -> HttpResponse:
    """Too many tries from one address."""
    return message_page(
        request,
        _("One moment, please"),
        _("There were too many tries. Please wait a minute and try again."),
        status=429,
        link=(request.path, _("Try again")),
    )


# --- coming and going


def home(request: HttpRequest) -> HttpResponse:
    """The front door: the tasks for those who are logged in, a welcome for the others."""
    if request.user.is_authenticated:
        return see_other("operator:home" if request.user.is_operator else "site:tasks")
    return show(request, "site/welcome.html")


_KNOWN = "marketplace_known"
KNOWN_SECONDS = 365 * 86_400
OPERATOR_SECONDS = 8 * 3600


def known_browser(request: HttpRequest, account: str) -> str:
    """The browser's own name, if this account has logged in from it before; else empty."""
    try:
        known, browser = signing.loads(request.COOKIES.get(_KNOWN, ""), salt=_KNOWN, max_age=KNOWN_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(browser) if known == account else ""


class LogIn(LoginView):
    """Logging in, with a limit on tries from one address and for one account.

    In a browser that an account has logged in from before, tries count for that browser alone: whoever tries passwords
    does not keep the owner out.
    """

    template_name = "marketplace/site/login.html"
    next_page = "site:home"
    redirect_authenticated_user = False

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Refuse the eleventh try of a minute, whether or not it would have been right."""
        account = request.POST.get("username", "").strip().lower()
        too_many = [
            limit_exceeded(LOGIN_FROM_ADDRESS, address_of(request)),
            limit_exceeded(LOGIN_TO_ACCOUNT, known_browser(request, account) or account),
        ]
        return limited_page(request) if any(too_many) else super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, an operator for a working day, and remember in a signed cookie who has logged in from here."""
        response = super().form_valid(form)
        account = form.get_user()
        if account.is_operator:
            self.request.session.set_expiry(OPERATOR_SECONDS)
        response.set_cookie(
            _KNOWN,
            signing.dumps([account.get_username().strip().lower(), secrets.token_hex(8)], salt=_KNOWN),
            max_age=KNOWN_SECONDS,
            path=reverse("site:login"),
            secure=self.request.is_secure(),
            httponly=True,
            samesite="Lax",
        )
        return response


class LogOut(LogoutView):
    """Logging out, by POST."""

    next_page = "site:home"


class PasswordChange(PasswordChangeView):
    """A new password, for who knows the old one."""

    template_name = "marketplace/site/password.html"
    success_url = reverse_lazy("site:account")

    def form_valid(self, form: Any) -> HttpResponse:
        """Say that it is changed."""
        messages.success(self.request, _("Your password is changed."))
        return super().form_valid(form)


class PasswordNew(PasswordResetConfirmView):
    """A new password, for who was given the operator's link."""

    template_name = "marketplace/site/password_new.html"
    token_generator = password_tokens
    success_url = reverse_lazy("site:login")

    def get_user(self, uidb64: str) -> Account | None:
        """The account of the link, unless it is closed."""
        account = super().get_user(uidb64)
        return account if isinstance(account, Account) and account.is_active else None

    def form_valid(self, form: Any) -> HttpResponse:
        """Say that it is changed."""
        messages.success(self.request, _("Your password is changed. Log in with it."))
        return super().form_valid(form)


@require_http_methods(["GET", "POST"])
def register(request: HttpRequest) -> HttpResponse:
    """A new worker, by invitation, or without one where registration is open."""
    if request.method == "POST" and limit_exceeded(REGISTRATION, address_of(request)):
        return limited_page(request)
    token = request.POST.get("invitation") or request.GET.get("invitation") or ""
    invitation = invitation_find(token) if token else None
    spent = bool(token) and invitation is None
    email = invitation.email if invitation else ""
    form = RegisterForm(request.POST or None, email=email)
    status = 200
    if form.is_valid():
        try:
            worker = worker_register(invitation_token=token, **form.cleaned_data)
        except Refused as refused:
            said = refusal_said(refused)
            form.add_error(None, said.text)
            status = said.status
        else:
            login(request, worker.account)
            messages.success(request, _("Welcome. Here are the tasks that you can do."))
            return see_other("site:tasks")
    elif form.is_bound:
        status = 400
    return show(request, "site/register.html", {"form": form, "invitation": token, "spent": spent}, status=status)


@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """Who one is here."""
    if not isinstance(request.user, Account):
        return see_other("site:login")
    return show(request, "site/account.html")


# --- tasks


def requirements_said(missing: list[Any]) -> list[str]:
    """Requirements as sentences."""
    names = work.qualification_names(missing)
    return [
        requirement_said(requirement, names.get(requirement["QualificationTypeId"], _("a qualification")))
        for requirement in missing
    ]


@require_GET
@worker_page
def tasks(request: HttpRequest, worker: Worker) -> HttpResponse:
    """The tasks that the worker can find, the best paid first."""
    words, only_mine = asked_for(request), bool(request.GET.get("mine"))
    groups = work.hit_groups_findable(worker, words=words, qualified_only=only_mine)
    page = page_of(request, groups, 25)
    rows = [{"group": group, "missing": requirements_said(group.missing)} for group in page.object_list]
    context = {"page": page, "rows": rows, "words": words, "mine": only_mine, "held": work.assignments_held(worker)}
    return show(request, "site/tasks.html", context)


@require_GET
@worker_page
def preview(request: HttpRequest, worker: Worker, hit_id: str) -> HttpResponse:
    """A task to look at before it is accepted: in its frame, without a worker."""
    held = work.assignments_held(worker).filter(hit__hit_id=hit_id).first()
    if held is not None:
        return see_other("site:work", held.assignment_id)
    seen = work.hit_preview(worker, hit_id)
    frame = frame_of(seen.hit, seen.question, worker=worker)
    context = {"hit": seen.hit, "frame": frame, "missing": requirements_said(seen.missing)}
    context["open"] = work.hits_findable(worker).filter(pk=seen.hit.pk).exists()
    context["next"] = None if context["open"] else work.hit_next(worker, group_id=seen.hit.hit_type.group_id)
    return show(request, "site/preview.html", context, frames=frame.origins)


@require_GET
@worker_page
def linked(request: HttpRequest, worker: Worker, kind_id: str = "") -> HttpResponse:
    """Where the links of Mechanical Turk lead: to a task of a kind, to look at it first, or to the one at hand.

    Those that accepted a task at once do not here: what changes something is never a GET.
    """
    hit_type = work.hit_type_linked(kind_id or asked_for(request, "groupId"))
    held = work.assignments_held(worker).filter(hit__hit_type=hit_type).first()
    if held is not None:
        return see_other("site:work", held.assignment_id)
    hit = work.hit_next(worker, group_id=hit_type.group_id)
    if hit is None:
        raise NothingLeft("There is no task of this kind left for you.")
    return see_other("site:preview", hit.hit_id)


@require_POST
@worker_page
def accept(request: HttpRequest, worker: Worker, hit_id: str) -> HttpResponse:
    """Take this task; if somebody else was faster, another of its kind."""
    try:
        taken = assignment_accept(worker=worker, hit_id=hit_id)
    except NothingLeft:
        taken = assignment_accept_next(worker=worker, group_id=work.group_of(hit_id))
        messages.info(request, _("Somebody else was faster. This is another task of the same kind."))
    return see_other("site:work", taken.assignment_id)


@require_POST
@worker_page
def accept_next(_request: HttpRequest, worker: Worker, group_id: str) -> HttpResponse:
    """Take a task of this kind, whichever is free."""
    return see_other("site:work", assignment_accept_next(worker=worker, group_id=group_id).assignment_id)


@require_GET
@worker_page
def work_page(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """A task at work, in its frame; when it is over, what became of it."""
    assignment = work.assignment_of(worker, assignment_id)
    hit = assignment.hit
    if assignment.state != Assignment.State.ACCEPTED:
        context = {
            "assignment": assignment,
            "state": state_said(assignment),
            "next": work.hit_next(worker, group_id=hit.hit_type.group_id),
            "bonuses": list(assignment.bonuses.order_by("pk")),
            "dispute": selectors.dispute_of(assignment),
            "form": DisputeForm(),
        }
        return show(request, "site/outcome.html", context)
    frame = frame_of(hit, work.question_of(hit), worker=worker, assignment=assignment)
    context = {"assignment": assignment, "hit": hit, "frame": frame, "seconds": work.seconds_left(assignment)}
    return show(request, "site/work.html", context, frames=frame.origins)


@require_GET
@worker_page
def work_state(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """Where an assignment stands, for the script of its page."""
    assignment = work.assignment_of(worker, assignment_id)
    return JsonResponse({"state": assignment.state, "seconds": work.seconds_left(assignment)})


@require_GET
@worker_page
def work_check(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """The way on for those without JavaScript: to the outcome, or a word that nothing was submitted yet."""
    assignment = work.assignment_of(worker, assignment_id)
    if assignment.state != Assignment.State.ACCEPTED:
        return see_other("site:work", assignment_id)
    return show(request, "site/unsubmitted.html", {"assignment": assignment})


@require_http_methods(["GET", "POST"])
@worker_page
def work_return(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """Give a task back, after a question."""
    assignment = work.assignment_of(worker, assignment_id)
    if request.method == "POST":
        assignment_return(worker=worker, assignment_id=assignment_id)
        messages.success(request, _("You gave the task back. It does not count against you."))
        return see_other("site:tasks")
    if assignment.state != Assignment.State.ACCEPTED:
        return see_other("site:work", assignment_id)
    return show(request, "site/return.html", {"assignment": assignment})


def state_said(assignment: Assignment) -> str:
    """An assignment's state in a worker's words."""
    return {
        "Accepted": _("At work"),
        "Submitted": _("Waiting for the requester"),
        "Approved": _("Approved"),
        "Rejected": _("Rejected"),
        "Returned": _("Given back"),
        "Abandoned": _("Time ran out"),
    }[assignment.state]


# --- what was done and earned


@require_GET
@worker_page
def history(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Tasks at work, and all earlier ones."""
    page = page_of(request, work.assignments_past(worker))
    rows = [
        {"assignment": past, "state": state_said(past), "bonus": sum(bonus.amount for bonus in past.bonuses.all())}
        for past in page.object_list
    ]
    record = qualifying.record_of(worker)
    context = {"page": page, "rows": rows, "held": work.assignments_held(worker), "record": record}
    return show(request, "site/history.html", context)


@require_GET
@worker_page
def earnings(request: HttpRequest, worker: Worker) -> HttpResponse:
    """What was earned and paid."""
    context = {"earnings": work.earnings_of(worker), "page": page_of(request, work.entries_of(worker))}
    return show(request, "site/earnings.html", context)


@require_POST
@worker_page
def dispute(request: HttpRequest, worker: Worker, assignment_id: str) -> HttpResponse:
    """Ask the operator to look at a rejection."""
    form = DisputeForm(request.POST)
    if form.is_valid():
        dispute_open(worker=worker, assignment_id=assignment_id, text=form.cleaned_data["text"])
        messages.success(request, _("You asked. The answer will stand on this page."))
    else:
        messages.error(request, _("Say what is wrong with the rejection, in up to 4,096 characters."))
    return see_other("site:work", assignment_id)


# --- qualifications


@require_GET
@worker_page
def qualifications(request: HttpRequest, worker: Worker) -> HttpResponse:
    """What the worker has, waits for, and may ask for."""
    held = list(work.qualifications_of(worker))
    waiting = list(work.qualification_requests_of(worker).filter(state=QualificationRequest.State.PENDING))
    refused = list(work.qualification_requests_of(worker).filter(state=QualificationRequest.State.REJECTED)[:20])
    has = {one.qualification_type_id for one in held if one.status == one.Status.GRANTED}
    has |= {one.qualification_type_id for one in waiting}
    values = qualifying.values_of(worker, SYSTEM)
    context = {
        "record": [
            (record_name(type_id), value_said(type_id, values[type_id]))
            for type_id in SYSTEM
            if values[type_id] is not None
        ],
        "held": held,
        "waiting": waiting,
        "refused": refused,
        "page": page_of(request, work.qualification_types_requestable().exclude(pk__in=has)),
    }
    return show(request, "site/qualifications.html", context)


@require_POST
@worker_page
def qualification_ask(request: HttpRequest, worker: Worker, type_id: str) -> HttpResponse:
    """Ask for a qualification."""
    try:
        asked = qualification_request(worker=worker, type_id=type_id)
    except NotAllowed as refused:
        messages.error(request, refusal_said(refused).text)
    else:
        granted = asked.state == QualificationRequest.State.GRANTED
        messages.success(request, _("You have it now.") if granted else _("You asked. The requester will answer."))
    return see_other("site:qualifications")


# --- letters


@require_GET
@worker_page
def letters(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Messages in both directions."""
    return show(request, "site/letters.html", {"page": page_of(request, work.messages_of(worker))})


@require_GET
@worker_page
def letter(request: HttpRequest, worker: Worker, message_pk: int) -> HttpResponse:
    """One message. Opened, it is read."""
    found = selectors.message_of(worker, message_pk)
    if found.direction == Message.Direction.TO_WORKER:
        message_read(worker=worker, message_pk=message_pk)
    return show(request, "site/letter.html", {"letter": found})


@require_http_methods(["GET", "POST"])
@worker_page
def contact(request: HttpRequest, worker: Worker, hit_id: str) -> HttpResponse:
    """Write to the requester of a task."""
    if request.method == "POST" and limit_exceeded(LETTER, worker.worker_id):
        return limited_page(request)
    hit: Hit = selectors.hit_to_ask_about(worker, hit_id)
    initial = {"subject": asked_for(request, "subject") or hit.hit_type.title}
    form = LetterForm(request.POST) if request.method == "POST" else LetterForm(initial=initial)
    status = 400 if form.is_bound else 200
    if form.is_bound and form.is_valid():
        requester_contact(worker=worker, hit_id=hit_id, **form.cleaned_data)
        messages.success(request, _("Your message is sent. The answer will stand under Messages."))
        return see_other("site:letters")
    return show(request, "site/contact.html", {"form": form, "hit": hit, "requester": hit.requester}, status=status)


@require_http_methods(["GET", "POST"])
@worker_page
def letter_reply(request: HttpRequest, worker: Worker, message_pk: int) -> HttpResponse:
    """Answer a requester's letter, which may be about no task, or write once more."""
    if request.method == "POST" and limit_exceeded(LETTER, worker.worker_id):
        return limited_page(request)
    found = selectors.message_of(worker, message_pk)
    subject = found.subject if found.subject.startswith("Re: ") else f"Re: {found.subject}"[:SUBJECT]
    form = LetterForm(request.POST) if request.method == "POST" else LetterForm(initial={"subject": subject})
    if form.is_bound and form.is_valid():
        letter_answer(worker=worker, letter=found, **form.cleaned_data)
        messages.success(request, _("Your message is sent. The answer will stand under Messages."))
        return see_other("site:letters")
    context = {"form": form, "hit": found.hit, "requester": found.requester}
    return show(request, "site/contact.html", context, status=400 if form.is_bound else 200)
