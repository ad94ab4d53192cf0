"""The researcher's pages about test pairs, what workers read, the panel, and a campaign's start and end."""

import logging
from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import get_text_list, slugify
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from kombu.exceptions import OperationalError

from core.comparing import people_in
from core.errors import BadRequest, NotNow, NotYours, Refused
from core.http import Request, edits, refuse_in, see_other
from core.lists import Listing, render_lists
from core.roles import Right, may_change, needs
from pools import services as pool_services
from pools.http import campaign_of
from pools.models import Campaign
from tasks import jobs as task_jobs
from tasks import links, outside_panels
from tasks import lists as task_lists
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.consent import default_consent
from tasks.forms import (
    ConsentForm,
    CopyTestsForm,
    ExampleForm,
    InviteForm,
    OutsidePanelForm,
    PayWordsForm,
    SuggestForm,
    TestPairForm,
    WordsForm,
)
from tasks.models import OutsidePanel, TestPair
from tasks.opening import test_open, tests_opened, unread_reason
from tasks.paying import pay_words_of, pay_words_write

SUGGESTIONS = 20  # test pairs with their texts on a page
VERSIONS = 10
SHOWN = 20  # names in a message
log = logging.getLogger(__name__)


# --- test pairs


@needs(Right.SEE, changing=Right.DESIGN)
@require_http_methods(["GET", "POST"])
def tests(request: Request, pk: int) -> HttpResponseBase:
    """A campaign's test pairs; POST adds one in the researcher's own words."""
    campaign = campaign_of(request, pk)
    if request.method == "GET":
        context = _tests_context(request, campaign, TestPairForm(), SuggestForm())
        return render_lists(request, "tasks/tests.html", context)
    form = TestPairForm(request.POST)
    status = 400
    if form.is_valid():
        try:
            task_services.test_pair_write(campaign=campaign, by=request.user, at=timezone.now(), **form.cleaned_data)
        except Refused as error:
            status = refuse_in(form, error)
        else:
            messages.success(request, _("The test pair has been added and counts as confirmed."))
            return see_other("tasks:tests", pk)
    return render(request, "tasks/tests.html", _tests_context(request, campaign, form, SuggestForm()), status=status)


@needs(Right.DESIGN)
@require_POST
def tests_suggest(request: Request, pk: int) -> HttpResponse:
    """Suggest more test pairs, to be confirmed one by one."""
    campaign = campaign_of(request, pk)
    form = SuggestForm(request.POST)
    if not form.is_valid():
        return render(request, "tasks/tests.html", _tests_context(request, campaign, TestPairForm(), form), status=400)
    count = form.cleaned_data["count"]
    suggested = task_services.test_pairs_suggest(
        campaign=campaign, count=count, seed=task_services.next_test_seed(campaign)
    )
    _open_next(request, campaign)
    if suggested:
        text = ngettext(
            "%(count)d test pair has been suggested.", "%(count)d test pairs have been suggested.", len(suggested)
        )
        messages.success(request, text % {"count": len(suggested)} + " " + _("Read each one, then confirm or decline."))
    else:
        messages.warning(request, _("No more test pairs can be suggested from the qrels. Write one yourself."))
    return see_other("tasks:tests", pk, fragment="suggested")


@needs(Right.DESIGN)
@require_POST
def tests_copy(request: Request, pk: int) -> HttpResponse:
    """Copy the confirmed test pairs of another campaign of the lab."""
    campaign = campaign_of(request, pk)
    form = CopyTestsForm(request.POST, sources=task_selectors.test_sources(campaign))
    status = 400
    if form.is_valid():
        source = campaign_of(request, int(form.cleaned_data["source"]), Right.SEE)
        try:
            copied = task_services.test_pairs_copy(campaign=campaign, source=source, by=request.user, at=timezone.now())
        except Refused as error:
            status = refuse_in(form, error)
        else:
            text = ngettext(
                "%(count)d test pair has been copied, and counts as confirmed.",
                "%(count)d test pairs have been copied, and count as confirmed.",
                len(copied),
            )
            messages.success(request, text % {"count": len(copied)})
            return see_other("tasks:tests", pk, fragment="reviewed")
    context = _tests_context(request, campaign, TestPairForm(), SuggestForm()) | {"copy": form}
    return render(request, "tasks/tests.html", context, status=status)


@needs(Right.DESIGN)
@require_POST
def tests_decide(request: Request, pk: int) -> HttpResponse:
    """Open one test pair to read it, confirm or decline one by its own button, or all that are marked. Only those that
    this person has opened are confirmed.
    """
    campaign = campaign_of(request, pk)
    reading = request.POST.get("read_one", "")
    if reading.isdecimal() and campaign.test_pairs.filter(pk=int(reading[:18])).exists():
        test_open(key=int(reading), by=request.user)
        return see_other("tasks:tests", pk, fragment=f"test-{reading}")
    single = request.POST.get("confirm_one") or request.POST.get("decline_one")
    confirm = "confirm_one" in request.POST or request.POST.get("decision") == "confirm"
    chosen = [key for key in ([single] if single else request.POST.getlist("test")) if key.isdecimal()]
    test_pairs = list(campaign.test_pairs.filter(pk__in=[int(key) for key in chosen[:SUGGESTIONS]]).order_by("pk"))
    if chosen and not test_pairs:
        raise NotYours(_("This campaign has no such test pair."))
    if confirm and (why := unread_reason(test_pairs, request.user)):
        messages.warning(request, why)
        opened = tests_opened(request.user)
        test_pairs = [test for test in test_pairs if test.pk in opened]
        if not test_pairs:
            return see_other("tasks:tests", pk, fragment="suggested")
    task_services.test_pairs_decide(test_pairs=test_pairs, confirm=confirm, by=request.user, at=timezone.now())
    count = len(test_pairs)
    if not count:
        messages.warning(request, _("Select the test pairs that you have read, then confirm or decline them."))
        return see_other("tasks:tests", pk, fragment="suggested")
    decided = (
        ngettext("%(count)d test pair has been confirmed.", "%(count)d test pairs have been confirmed.", count)
        if confirm
        else ngettext("%(count)d test pair has been declined.", "%(count)d test pairs have been declined.", count)
    )
    messages.success(request, decided % {"count": count})
    following = _open_next(request, campaign, after=test_pairs[-1].pk)
    return see_other("tasks:tests", pk, fragment=f"test-{following}" if following else "suggested")


def _open_next(request: Request, campaign: Campaign, after: int = 0) -> int | None:
    """Open the next suggestion, and return its key; None if there is none."""
    waiting = campaign.test_pairs.filter(state=TestPair.State.SUGGESTED).order_by("pk")
    following = waiting.filter(pk__gt=after).first() or waiting.first()
    if following is None:
        return None
    test_open(key=following.pk, by=request.user)
    return following.pk


@needs(Right.DESIGN)
@require_POST
def test_decide(request: Request, pk: int, test_pk: int) -> HttpResponse:
    """Confirm or decline one test pair."""
    campaign = campaign_of(request, pk)
    test_pair = campaign.test_pairs.filter(pk=test_pk).first()
    if test_pair is None:
        raise NotYours(_("This campaign has no such test pair."))
    confirm = request.POST.get("decision") == "confirm"
    task_services.test_pair_decide(test_pair=test_pair, confirm=confirm, by=request.user, at=timezone.now())
    messages.success(
        request, _("The test pair has been confirmed.") if confirm else _("The test pair has been declined.")
    )
    return see_other("tasks:tests", pk, fragment="suggested")


def _tests_context(request: Request, campaign: Campaign, form: TestPairForm, suggest: SuggestForm) -> dict[str, Any]:
    pairs = campaign.test_pairs.select_related("query", "relevant", "off_topic", "decided_by", "proven_by").order_by(
        "id"
    )
    suggestions = Listing(
        request,
        pairs.filter(state=TestPair.State.SUGGESTED),
        key="suggested",
        size=SUGGESTIONS,
        columns=task_lists.TEST_PAIR_COLUMNS,
    )
    changes, opened = may_change(request.user, campaign.lab, "tasks:tests"), tests_opened(request.user)
    keys = [test.pk for test in suggestions.page]
    if changes and keys and not {*keys} & {*opened}:
        test_open(key=keys[0], by=request.user)
        opened = tests_opened(request.user)
    return {
        "campaign": campaign,
        "draft": campaign.state == Campaign.State.DRAFT,
        "changes": changes,
        "counts": task_selectors.test_counts(campaign),
        "suggestions": suggestions,
        "suggested": [
            (test, task_selectors.words_shared(test), not changes or test.pk in opened) for test in suggestions.page
        ],
        "recognition": task_selectors.measure_tests(campaign),
        "reviewed": Listing(
            request,
            pairs.exclude(state=TestPair.State.SUGGESTED),
            narrow=task_lists.ReviewedFilter,
            key="reviewed",
            size=SUGGESTIONS,
            columns=task_lists.TEST_PAIR_COLUMNS,
        ),
        "form": form,
        "suggest": suggest,
        "copy": CopyTestsForm(sources=task_selectors.test_sources(campaign)),
        "lang": campaign.collection.language,
    }


# --- what workers read


@needs(Right.SEE, changing=Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def wording(request: Request, pk: int) -> HttpResponseBase:
    """Consent text, title, question and instructions."""
    campaign = campaign_of(request, pk)
    current = task_selectors.current_consent(campaign)
    agreed = {"text": current.text if current else default_consent(campaign)}
    consent = ConsentForm(initial=agreed, prefix="consent")
    words = WordsForm(instance=campaign, prefix="words")
    example = ExampleForm(instance=campaign, prefix="example")
    pay = PayWordsForm(instance=pay_words_of(campaign), prefix="pay")
    status = 200
    if request.method == "POST":
        status = 400
        try:
            if "example-example_query" in request.POST:
                example = ExampleForm(request.POST, instance=campaign_of(request, pk), prefix="example")
                if example.is_valid():
                    pool_services.campaign_set_example(campaign=campaign, **example.cleaned_data)
                    messages.success(request, _("The example has been saved."))
                    return see_other("tasks:wording", pk)
            elif "pay-how" in request.POST:
                pay = PayWordsForm(request.POST, instance=pay_words_of(campaign), prefix="pay")
                if pay.is_valid():
                    pay_words_write(campaign=campaign, **pay.cleaned_data)
                    messages.success(request, _("What people read about their pay has been saved."))
                    return see_other("tasks:wording", pk)
            elif "consent-text" in request.POST:
                consent = ConsentForm(request.POST, initial=agreed, prefix="consent")
                if consent.is_valid():
                    text = task_services.consent_write(campaign=campaign, text=consent.cleaned_data["text"])
                    in_force = _("The consent text is saved as version %(version)d.")
                    messages.success(request, in_force % {"version": text.version})
                    return see_other("tasks:wording", pk)
            else:
                words = WordsForm(request.POST, instance=campaign_of(request, pk), prefix="words")
                if words.is_valid():
                    pool_services.campaign_reword(campaign=campaign, **words.cleaned_data)
                    messages.success(request, _("The wording has been saved."))
                    return see_other("tasks:wording", pk)
        except Refused as error:
            status = refuse_in(next(form for form in (example, consent, words, pay) if form.is_bound), error)
    context = {
        "campaign": campaign,
        "draft": campaign.state == Campaign.State.DRAFT,
        "changes": may_change(request.user, campaign.lab, "tasks:wording"),
        "current": current,
        "consent": consent,
        "words": words,
        "example": example,
        "pay": pay,
        "versions": Listing(
            request,
            campaign.consent_texts.order_by("-version"),
            key="versions",
            size=VERSIONS,
            columns=task_lists.CONSENT_COLUMNS,
        ),
    }
    return render_lists(request, "tasks/wording.html", context, status=status)


# --- the panel


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def panel(request: Request, pk: int) -> HttpResponseBase:
    """Personal links for an in-house panel."""
    campaign = campaign_of(request, pk)
    form = InviteForm()
    if request.method == "POST":
        form = InviteForm(request.POST)
        if form.is_valid():
            names = people_in(form.cleaned_data["names"])
            earlier = task_selectors.on_panel(campaign, names)
            invited = task_services.panel_invite(campaign=campaign, labels=names)
            have = ngettext("%(count)d person now has a link.", "%(count)d people now have a link.", len(invited))
            messages.success(request, have % {"count": len(invited)})
            if earlier:
                text = _("Already on the panel: %(names)s.")
                messages.info(request, text % {"names": get_text_list(earlier[:SHOWN], _("and"))})
            return see_other("tasks:panel", pk)
    listing = Listing(
        request,
        task_selectors.invitations_of(campaign),
        sorts=task_lists.PANEL_SORTS,
        narrow=task_lists.PanelFilter,
        columns=task_lists.PANEL_COLUMNS,
        lines=partial(task_selectors.panel_rows, campaign),
    )
    members = task_selectors.panel_rows(campaign, listing.page)
    context = {
        "campaign": campaign,
        "address": links.campaign_address(campaign),
        "form": form,
        "members": [(row, links.home_address(row.worker, campaign)) for row in members],
        "listing": listing,
    }
    return render_lists(request, "tasks/panel.html", context, status=400 if form.errors else 200)


@needs(Right.DESIGN)
@require_GET
def panel_links(request: Request, pk: int) -> StreamingHttpResponse:
    """Names and personal links of the whole panel, one per line, separated by a tab."""
    campaign = campaign_of(request, pk)
    workers = (invitation.worker for invitation in task_selectors.invitations_of(campaign).iterator(chunk_size=500))
    lines = (f"{worker.label}\t{links.home_address(worker, campaign)}\n" for worker in workers)
    response = StreamingHttpResponse(lines, content_type="text/tab-separated-values; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slugify(campaign.name) or campaign.pk}-panel.tsv"'
    return response


@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
@edits
def outside_panel(request: Request, pk: int) -> HttpResponseBase:
    """How people of somebody else's panel come and go, and who has come."""
    campaign = campaign_of(request, pk)
    panel = outside_panels.panel_of(campaign)
    form = OutsidePanelForm(request.POST or None, instance=panel or OutsidePanel(campaign=campaign))
    if request.method == "POST" and form.is_valid():
        try:
            outside_panels.outside_panel_set(campaign=campaign, **form.cleaned_data)
        except NotNow as refused:
            form.add_error("name", str(refused))
        else:
            messages.success(request, _("Saved. Give the address below to the panel."))
            return see_other("tasks:outside_panel", pk)
    rows = partial(outside_panels.visit_rows, campaign)
    listing = Listing(
        request,
        outside_panels.visits_of(campaign),
        key="sessions",
        sorts=task_lists.VISIT_SORTS,
        narrow=task_lists.VisitFilter,
        columns=task_lists.VISIT_COLUMNS,
        lines=rows,
    )
    context = {
        "campaign": campaign,
        "panel": outside_panels.panel_of(campaign),
        "address": links.campaign_address(campaign),
        "form": form,
        "listing": listing,
        "visits": rows(listing.page),
    }
    return render_lists(request, "tasks/outside_panel.html", context, status=400 if form.is_bound else 200)


@needs(Right.DESIGN)
@require_POST
def outside_panel_delete(request: Request, pk: int) -> HttpResponse:
    """Take no more people from the outside panel."""
    outside_panels.outside_panel_delete(campaign=campaign_of(request, pk))
    messages.success(request, _("The outside panel is deleted."))
    return see_other("tasks:outside_panel", pk)


# --- start and end


@needs(Right.DESIGN)
@require_POST
def launch(request: Request, pk: int) -> HttpResponse:
    """Fix the design, and have the campaign packed."""
    campaign = campaign_of(request, pk)
    pilot = request.POST.get("pilot", "").strip()
    if pilot and not (pilot.isdecimal() and len(pilot) < 10):
        raise BadRequest(_("Enter how many HITs the pilot has, or nothing for all of them."))
    task_services.campaign_launch(campaign=campaign, pilot_hits=int(pilot) if pilot else None)
    transaction.on_commit(_pack_soon)
    messages.success(request, _("The campaign has started. It opens as soon as its HITs are packed."))
    return see_other("campaigns:campaign", pk)


def _pack_soon() -> None:
    """Ask for packing now. Where nobody can be asked, the clock finds the campaign within a minute."""
    try:
        task_jobs.pack_waiting_campaigns.delay()
    except OperationalError as error:
        log.warning("Packing waits for the next tick: %s", error)
