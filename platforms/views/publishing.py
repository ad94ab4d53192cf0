"""The pages of a campaign's terms, and of publishing it."""

import hashlib
import json
from decimal import Decimal
from itertools import islice

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import NotNow, NotYours, Refused
from core.http import Request, edit_in_turn, refusals_in, refuse_in, see_other, status_of
from core.lists import Listing, render_lists
from core.roles import Right, needs
from platforms import jobs as platform_jobs
from platforms import lists as platform_lists
from platforms import status as platform_status
from platforms import terms as terms_services
from platforms.demands import PAPER, Demands
from platforms.forms import PublishForm, ReplaceForm, TermsForm
from platforms.models import Publication, TermsVersion
from platforms.money.account import balance_kept, money_missing, platform_refusals, publication_ask_for_money
from platforms.money.bills import Bill, campaign_bill, remaining_bill, rounds_forecast
from platforms.money.ledger import totals
from platforms.money.protocol import Deposits, Money
from platforms.publishing import publications as publishing
from platforms.publishing import replacing_terms, testing
from platforms.publishing.protocol import TestRuns
from platforms.publishing.reach import reach_look
from platforms.registry import adapter_of, phrase
from platforms.status import terms_compared, terms_history
from platforms.views import State
from pools.http import campaign_of
from pools.models import Campaign
from tasks.selectors import lacking_time

VERSIONS = 10  # of the terms, on a page


DEMANDS = {"paper": PAPER, "none": Demands()}  # what one press fills into the demands on workers


@needs(Right.DESIGN)
@require_POST
def move(request: Request, pk: int) -> HttpResponse:
    """Pause, resume or close a campaign."""
    to = request.POST.get("to", "")
    campaign = publishing.campaign_move(campaign=campaign_of(request, pk), to=to, at=timezone.now())
    messages.success(request, _("The campaign is now %(state)s.") % {"state": campaign.get_state_display()})
    return see_other("campaigns:campaign", pk)


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def terms(request: Request, pk: int) -> HttpResponseBase:
    """The terms of a publication. POST saves them, which sends and spends nothing."""
    campaign, status = campaign_of(request, pk), 200
    form: TermsForm | None = None
    if request.method == "POST":
        with edit_in_turn(request):
            answer, form, status = _save_terms(request, campaign)
        if isinstance(answer, HttpResponse):
            return answer
        if answer is not None:
            return _preview_terms(request, answer, form)
    stored, publication = _terms_of(campaign)
    requirements = publication.requirements
    current = TermsForm(publication=publication, requirements=requirements)
    form, draft, adapter = form or current, publication.state == State.DRAFT, adapter_of(publication)
    saved = TermsVersion.objects.filter(publication=stored).select_related("by").order_by("-version")
    versions = Listing(request, saved, key="versions", size=VERSIONS, columns=platform_lists.TERMS_COLUMNS)
    balance = balance_kept(publication) if draft and stored is not None else None
    if balance is not None:
        platform_jobs.balance_soon(publication.pk)
    context = {
        "campaign": publication.campaign,
        "publication": publication,
        "stored": stored,
        "versions": versions,
        "history": terms_history(publication, list(versions.page)),
        "draft": draft,
        "bill": remaining_bill(publication) if draft else None,
        "form": form,
        "kept": current,
        "demands": adapter.demands_of(requirements),
        "unused": adapter.unused_terms,
        "balance": balance,
        "missing": money_missing(publication, balance.amount) if balance else None,
        "can_ask": stored is not None and isinstance(adapter, Deposits),
        "who_adds_money": adapter.who_adds_money(),
    }
    return render_lists(request, "platforms/terms.html", context, status=status)


def _terms_of(campaign: Campaign) -> tuple[Publication | None, Publication]:
    """A campaign's publication if there is one, and what its terms begin with otherwise."""
    stored = Publication.objects.filter(campaign=campaign).select_related("campaign__lab").first()
    return stored, stored or terms_services.publication_at_first(campaign)


def _save_terms(request: Request, campaign: Campaign) -> tuple[HttpResponse | Publication | None, TermsForm, int]:
    """Save a draft's terms, or replace those of a publication. What they would be, if they are to be seen first."""
    _stored, publication = _terms_of(campaign)
    form = TermsForm(request.POST, publication=publication, requirements=publication.requirements)
    if request.POST.get("demands") in DEMANDS:
        return None, form.demanding(DEMANDS[request.POST["demands"]]), 200
    if not form.is_valid():
        return None, form, 400
    if publication.state != State.DRAFT:
        return _replace(request, publication, form), form, 400
    try:
        written = terms_services.publication_write(campaign=campaign, **form.terms())
    except Refused as error:
        return None, form, refuse_in(form, error)
    platform_jobs.balance_soon(written.pk)
    messages.success(request, _("The terms have been saved. Nothing has been sent. Check what would be sent."))
    return see_other("platforms:publish", campaign.pk), form, 303


def _replace(request: Request, publication: Publication, form: TermsForm) -> HttpResponse | Publication | None:
    """Replace terms once that was seen, else what the publication would be. None if the form has errors."""
    campaign = publication.campaign
    terms, last_step = form.terms(), ReplaceForm(request.POST, publication=publication)
    last_step.is_valid()
    try:
        changed = replacing_terms.terms_replaced(publication, terms)
        names = replacing_terms.changed_terms(publication, changed)
        if not names:
            messages.info(request, _("These are already the terms. Nothing was changed."))
            return see_other("platforms:terms", campaign.pk)
        digest = _digest(changed, remaining_bill(publication))
        if last_step.cleaned_data.get("seen") == digest:
            replacing_terms.publication_replace_terms(
                publication=publication,
                terms=terms,
                by=request.user,
                at=timezone.now(),
                although_nobody_qualifies=last_step.cleaned_data["although_nobody_qualifies"],
            )
            messages.success(
                request,
                phrase(
                    publication,
                    _("The terms have been replaced. HITs move to them in the background, at the set rate."),
                ),
            )
            return see_other("platforms:publication", campaign.pk)
    except Refused as error:
        refuse_in(form, error)
        return None
    return changed


def _preview_terms(request: Request, changed: Publication, form: TermsForm) -> HttpResponse:
    """What other terms change, before they are replaced."""
    publication = Publication.objects.select_related("campaign__lab").get(pk=changed.pk)
    last_step = ReplaceForm(request.POST, publication=publication)
    reach = reach_look(changed)
    platform_jobs.balance_soon(publication.pk)
    context = {
        "campaign": publication.campaign,
        "publication": publication,
        "form": form,
        "last_step": last_step,
        "changes": terms_compared(
            publication, terms_services.terms_as_json(publication), terms_services.terms_as_json(changed)
        ),
        "status": platform_status.count_status(publication, timezone.now()),
        "moving": publishing.open_or_needed(publication, timezone.now()).count(),
        "bill": remaining_bill(publication),
        "sums": totals(publication),
        "balance": balance_kept(publication),
        "reach": reach,
        "seen": _digest(changed, remaining_bill(publication)),
    }
    return render(request, "platforms/replace.html", context)


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def publish(request: Request, pk: int) -> HttpResponse:
    """The dry run: what would be sent, and the bill. POST publishes; again is not an error."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None:
        return see_other("platforms:terms", pk)
    if publication.state != State.DRAFT:
        return see_other("platforms:publication", pk)
    publication.campaign, adapter = campaign, adapter_of(publication)
    balance = balance_kept(publication)
    bill = remaining_bill(publication)
    digest = _digest(publication, bill)
    reach = reach_look(publication)
    form = PublishForm(publication=publication, nobody=reach.is_nobody)
    if request.method == "POST":
        form = PublishForm(request.POST, publication=publication, nobody=reach.is_nobody)
        if form.is_valid():
            with refusals_in(form):
                _publish(request, publication, form, digest)
                text = _("Publishing has begun. HITs go out in the background, at the set rate.")
                messages.success(request, phrase(publication, text))
                return see_other("platforms:publication", pk)
    platform_jobs.balance_soon(publication.pk)
    requests, obstacles = _requests(publication)
    if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        text = _("The campaign is a draft. Start it; you can publish it once its HITs are packed.")
        obstacles.append(phrase(publication, text))
    elif campaign.state != Campaign.State.OPEN:
        obstacles.append(_("The campaign is not open. Open it before you publish it."))
    obstacles += lacking_time(campaign, publication.assignment_duration)
    if balance.trouble:
        obstacles.append(balance.trouble)
    elif balance.amount is not None and balance.amount < bill.total:
        obstacles.append(_too_little(publication, adapter, balance.amount, bill.total))
    context = {
        "campaign": campaign,
        "publication": publication,
        "bill": bill,
        "balance": balance,
        "whole": campaign_bill(publication),
        "forecast": rounds_forecast(publication),
        "own_rate": campaign.fee_rate,
        "has_test_runs": isinstance(adapter, TestRuns),
        "reach": reach,
        "requests": requests,
        "obstacles": obstacles,
        "missing": money_missing(publication, balance.amount),
        "can_ask": isinstance(adapter, Deposits),
        "seen": digest,
        "form": form,
    }
    return render(request, "platforms/publish.html", context, status=status_of(form))


@needs(Right.SPEND)
@require_POST
def ask_for_money(request: Request, pk: int) -> HttpResponse:
    """Ask whoever adds money to the account at the platform for what a draft's bill lacks."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign, state=State.DRAFT).first()
    if publication is None:
        return see_other("platforms:terms", pk)
    publication.campaign = campaign
    amount = publication_ask_for_money(publication=publication, at=timezone.now())
    text = _("The marketplace's operator has been asked for %(amount)s. Come back once it has been granted.")
    messages.success(request, text % {"amount": campaign.money(amount)})
    return see_other("platforms:publish", pk)


def _too_little(publication: Publication, adapter: Money, balance: Decimal, total: Decimal) -> str:
    """What is missing in the account, and who can add it, and how."""
    money = publication.campaign.money
    amounts = {"balance": money(balance), "total": money(total), "missing": money(total - balance)}
    text = _("The account at the platform has %(balance)s, but the bill is %(total)s: %(missing)s is missing.")
    return f"{phrase(publication, text) % amounts} {adapter.who_adds_money()}"


def _publish(request: Request, publication: Publication, form: PublishForm, digest: str) -> None:
    if form.cleaned_data["seen"] != digest:
        raise NotNow(_("The terms or the bill have changed since you opened this page. Check them, then publish."))
    with platform_refusals(publication):
        publishing.publication_publish(
            publication=publication,
            at=timezone.now(),
            typed_name=form.cleaned_data.get("typed_name", ""),
            although_nobody_qualifies=form.cleaned_data.get("although_nobody_qualifies", False),
            by=request.user,
        )


def _digest(publication: Publication, bill: Bill) -> str:
    """A digest of what the page shows, so that only what was seen is published."""
    unseen = {"next_call_at", "balance", "balance_at", "money_asked", "money_asked_at"}
    names = [field.name for field in Publication._meta.concrete_fields if field.name not in unseen]
    facts = [str(getattr(publication, name)) for name in names] + [str(bill)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _requests(publication: Publication) -> tuple[list[tuple[str, str]], list[str]]:
    """The first requests as readable JSON, the first HIT's among them; and why they cannot be made, if so."""
    try:
        first = list(islice(publishing.dry_run(publication), 3))
    except Refused as refused:
        return [], [str(refused)]
    return [(name, json.dumps(body, indent=2, ensure_ascii=False)) for name, body in first], []


class TestRunForm(forms.Form):
    """Whether a test participant is made, too."""

    email = forms.EmailField(
        label=gettext_lazy("E-mail address of a new test participant"),
        required=False,
        help_text=gettext_lazy(
            "One that has no account at the platform yet. Leave it empty if the workspace has a test participant."
        ),
    )


@needs(Right.SEE, changing=Right.SPEND)
@require_http_methods(["GET", "POST"])
def test_run(request: Request, pk: int) -> HttpResponse:
    """How the campaign can be tried through its platform. POST begins a test run, or ends the one there is."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None or not isinstance(adapter_of(publication), TestRuns):
        raise NotYours(_("This campaign's platform has no test runs."))
    publication.campaign = campaign
    form = TestRunForm()
    if request.method == "POST":
        form = TestRunForm(request.POST)
        if form.is_valid():
            with refusals_in(form):
                if request.POST.get("end") == "yes":
                    if testing.test_run_end(publication=publication):
                        messages.success(request, _("The test run has ended."))
                else:
                    testing.test_run_begin(publication=publication, email=form.cleaned_data["email"])
                    messages.success(request, _("The test run has begun."))
                return see_other("platforms:test_run", pk)
    context = {
        "campaign": campaign,
        "publication": publication,
        "form": form,
        "obstacle": testing.test_run_obstacle(publication),
    }
    return render(request, "platforms/test_run.html", context, status=status_of(form))
