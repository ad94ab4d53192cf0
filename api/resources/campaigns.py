"""Campaigns: their settings, bill, test pairs and wording, from a draft to the end."""

import logging
from collections.abc import Callable
from copy import copy
from typing import Any

from django.db import transaction
from django.forms.utils import ErrorDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, CharFilter, ChoiceFilter, FilterSet
from kombu.exceptions import OperationalError
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import review_shapes, shapes
from api.answers import answer_forget
from api.filters import KeyFilter
from api.frame import Endpoint, Pages, checked, operation, user_of
from api.problems import NotAskedFor
from api.resources.collections import accepted
from core.errors import NotNow, NotYours
from core.roles import Right
from judgments import selectors as judgment_selectors
from platforms import publishing
from platforms.bills import campaign_bill
from platforms.consequences import consequences_of
from platforms.publishing import publication_likely
from pools import background
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.forms import CampaignForm
from pools.models import Campaign, CampaignTemplate, Collection, Job
from pools.templating import template_settings
from tasks import jobs as task_jobs
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks.default_texts import default_consent
from tasks.models import TestPair
from tasks.opening import test_open, unread_reason

RATES = ("fee_rate", "error_rate", "redo_rate")  # which the form asks for in percent
TAGS = ["Campaigns"]
log = logging.getLogger(__name__)


def soon(job: Any, *arguments: Any) -> Callable[[], None]:
    """Ask a worker to do a job now. Where nobody can be asked, the clock has it done."""

    def ask() -> None:
        try:
            job.delay(*arguments)
        except OperationalError as error:
            log.warning("%s waits for the next tick: %s", job.name, error)

    return ask


def ask_now(request: Request, job: Any, *arguments: Any) -> Response:
    """202, and have a worker do a job that the clock would not have done. Raises NotAskedFor where none can be asked.

    It is asked for when the request's transaction, if it has one, is stored.
    """

    def ask() -> None:
        try:
            job.delay(*arguments)
        except OperationalError as error:
            log.warning("%s could not be asked for: %s", job.name, error)
            answer_forget(request)
            text = _("This cannot be asked for now. Nothing was changed; try again in a minute.")
            raise NotAskedFor(text) from error

    transaction.on_commit(ask)
    return Response({"asked_for": True}, status=202)


def by_field(errors: ErrorDict) -> dict[str, list[str]]:
    """A form's errors as the API says them."""
    return {
        "non_field_errors" if name == "__all__" else str(name): list(map(str, said)) for name, said in errors.items()
    }


def as_percent(data: dict[str, Any]) -> None:
    """Make the shares among settings what the form asks for."""
    for name in RATES:
        if data[name] is not None:
            data[name] = f"{(data[name] * 100).normalize():f}"


def template_taken(collection: Collection, sent: dict[str, Any]) -> CampaignTemplate | None:
    """The template that a new campaign begins with, taken out of what was sent. Raises ValidationError."""
    key = sent.pop("template", None)
    if key is None:
        return None
    template: CampaignTemplate | None = collection.lab.templates.filter(pk=key).first()
    if template is None:
        raise ValidationError({"template": [_("The collection's lab has no such template.")]})
    return template


def campaign_form(
    collection: Collection,
    settings: dict[str, Any],
    draft: Campaign | None = None,
    template: CampaignTemplate | None = None,
) -> CampaignForm:
    """The form of the page for a new campaign, filled in with settings, and with what it has at first for the others:
    those of a template, or the usual ones.

    `base_version` is the number of a version, `runs` are keys or `all`.
    """
    begun = Campaign(**template_settings(template)) if template else Campaign(language=collection.language)
    data: dict[str, Any] = {name: getattr(begun, name) for name in shapes.SETTINGS}
    data |= {"language": begun.language or collection.language} | settings
    as_percent(data)
    number = (data.pop("base_version", None) or {}).get("number")
    if number is not None:
        version = collection.versions.filter(number=number).first()
        if version is None:
            raise ValidationError({"base_version": [_("The collection has no version with this number.")]})
        data["base_version"] = version.pk
    runs = data["runs"]
    known = collection.runs.order_by("name").values_list("pk", flat=True)
    data["runs"] = list(known) if runs == "all" else runs
    if runs != "all" and (unknown := set(runs) - set(known.filter(pk__in=runs))):
        text = _("The collection has no run with this key: %(keys)s.")
        raise ValidationError({"runs": [text % {"keys": ", ".join(map(str, sorted(unknown)[:10]))}]})
    return CampaignForm(data, collection=collection, instance=copy(draft))


def campaign_ask(
    request: Request,
    collection: Collection,
    settings: dict[str, Any],
    draft: Campaign | None = None,
    template: CampaignTemplate | None = None,
) -> Job:
    """Ask for a draft with these settings, or for these settings of one, as the page does. Raises ValidationError."""
    form = campaign_form(collection, settings, draft, template)
    if not form.is_valid():
        raise ValidationError(by_field(form.errors))
    return background.campaign_ask(
        collection=collection,
        runs=form.cleaned_data["runs"],
        name=form.cleaned_data["name"],
        settings=form.settings(),
        by=user_of(request),
        at=timezone.now(),
        draft=draft,
        template=template,
    )


def shown(campaign: Campaign) -> Response:
    """The whole campaign."""
    campaign.refresh_from_db()
    return Response(shapes.CampaignDetail(campaign).data)


class CampaignFilter(FilterSet):  # type: ignore[misc]  # django-filter has no types
    """By lab, collection, state and name; archived campaigns are left out unless they are asked for."""

    lab = KeyFilter(field_name="lab_id")
    collection = KeyFilter(field_name="collection_id")
    state = ChoiceFilter(choices=Campaign.State.choices)
    name = CharFilter(lookup_expr="icontains")
    is_archived = BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)


class Campaigns(Endpoint):
    """All campaigns of your labs."""

    pagination_class = Pages
    filterset_class = CampaignFilter

    @operation("campaigns", answer=shapes.CampaignShape(many=True), tags=TAGS)
    def get(self, request: Request) -> Response:
        """The campaigns of your labs, newest first."""
        return self.page_of(pool_selectors.campaigns_of(user_of(request)), shapes.CampaignShape)

    @operation(
        "campaign_create",
        takes=shapes.NewCampaign,
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        """Create a draft. A job makes its pools and pairs; its `campaign` is then the draft. Nothing is spent."""
        sent = dict(checked(shapes.NewCampaign, request))
        collection = self.collection(sent.pop("collection"))
        template = template_taken(collection, sent)
        return accepted(request, campaign_ask(request, collection, sent, template=template))


class CampaignOne(Endpoint):
    """One campaign."""

    @operation("campaign", answer=shapes.CampaignDetail, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """One campaign, with its runs and every setting."""
        return Response(shapes.CampaignDetail(self.campaign(pk)).data)

    @operation(
        "campaign_change", takes=shapes.CampaignChange, answer=shapes.CampaignDetail, right=Right.DESIGN, tags=TAGS
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Rename or archive a campaign, or change what the workers of a draft will read. All of it, or nothing."""
        campaign, sent = self.campaign(pk), dict(checked(shapes.CampaignChange, request))
        words = {name: sent[name] for name in shapes.WORDS if name in sent}
        with transaction.atomic():
            if "name" in sent:
                pool_services.campaign_rename(campaign=campaign, name=sent["name"])
            if words:
                now = {name: getattr(campaign, name) for name in shapes.WORDS}
                pool_services.campaign_reword(campaign=campaign, **(now | words))
            if sent.get("is_archived"):
                pool_services.campaign_archive(campaign=campaign, at=timezone.now())
            elif "is_archived" in sent:
                pool_services.campaign_unarchive(campaign=campaign)
        return shown(campaign)

    @operation("campaign_delete", status=204, right=Right.DESIGN, tags=TAGS)
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a draft. A campaign that has started is closed instead."""
        pool_services.campaign_delete(campaign=self.campaign(pk))
        return Response(status=204)


class CampaignSettings(Endpoint):
    """The settings of a draft."""

    @operation(
        "campaign_settings",
        takes=shapes.DraftChange,
        answer=shapes.JobShape,
        status=202,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Change settings or runs of a draft. A job makes its pools and pairs again where they follow from it."""
        draft, sent = self.campaign(pk), dict(checked(shapes.DraftChange, request))
        if draft.state != Campaign.State.DRAFT:
            raise NotNow(_("The campaign has started, so its settings can no longer be changed."))
        kept: dict[str, Any] = {name: getattr(draft, name) for name in shapes.SETTINGS}
        kept |= {"name": draft.name, "runs": list(draft.runs.values_list("pk", flat=True))}
        if draft.base_version is not None:
            kept["base_version"] = {"number": draft.base_version.number}
        return accepted(request, campaign_ask(request, draft.collection, kept | sent, draft))


class CampaignPreview(Endpoint):
    """What settings lead to."""

    @operation(
        "campaign_preview", takes=shapes.NewCampaign, answer=review_shapes.PreviewShape, right=Right.DESIGN, tags=TAGS
    )
    def post(self, request: Request) -> Response:
        """Count the pools, pairs, cost and hours that settings would lead to. Nothing is stored."""
        sent = dict(checked(shapes.NewCampaign, request))
        collection = self.collection(sent.pop("collection"))
        form = campaign_form(collection, sent, template=template_taken(collection, sent))
        if not form.is_valid():
            raise ValidationError(by_field(form.errors))
        campaign = Campaign(lab=collection.lab, collection=collection, name=sent["name"], **form.settings())
        found = consequences_of(campaign, list(form.cleaned_data["runs"]))
        content = found.preview._asdict() | {"total": found.bill.total, "hours": found.hours}
        return Response(review_shapes.PreviewShape(content).data)


class ResultSettings(Endpoint):
    """How results are read."""

    @operation(
        "result_settings", takes=shapes.ReadingChange, answer=shapes.CampaignDetail, right=Right.DESIGN, tags=TAGS
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Change how the results are read, at any time. They are computed again, within a minute or two."""
        campaign, sent = self.campaign(pk), checked(shapes.ReadingChange, request)
        if sent:
            pool_services.campaign_read_results(campaign=campaign, **sent)
        return shown(campaign)


class CampaignCopy(Endpoint):
    """Copies of a campaign."""

    @operation(
        "campaign_copy", takes=shapes.CampaignCopy, answer=shapes.JobShape, status=202, right=Right.DESIGN, tags=TAGS
    )
    def post(self, request: Request, pk: int) -> Response:
        """Create a draft with the settings of a campaign, but for those that you send. Challengers challenge the newest
        version."""
        campaign, sent = self.campaign(pk), dict(checked(shapes.CampaignCopy, request))
        collection = self.collection(sent.pop("collection", campaign.collection_id))
        kept: dict[str, Any] = {name: getattr(campaign, name) for name in shapes.SETTINGS}
        same = campaign.collection_id == collection.pk
        kept["runs"] = list(campaign.runs.values_list("pk", flat=True)) if same else "all"
        if sent.get("base_version", {}).get("number") is None:
            sent.pop("base_version", None)
        return accepted(request, campaign_ask(request, collection, kept | sent))


class Bill(Endpoint):
    """What a campaign costs."""

    @operation("campaign_bill", answer=shapes.BillShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What judging all of a campaign costs, line by line, and what its reward is an hour."""
        campaign = self.campaign(pk)
        bill, pace = campaign_bill(publication_likely(campaign)), task_selectors.expected_pace(campaign)
        content = bill._asdict() | {
            "total": bill.total,
            "lines": bill.lines,
            "minutes_per_assignment": pace.minutes if pace else None,
            "per_hour": pace.hourly if pace else None,
        }
        return Response(shapes.BillShape(content).data)


class Obstacles(Endpoint):
    """What keeps a campaign from starting."""

    @operation("campaign_obstacles", answer=shapes.Obstacles, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What keeps a draft from being started, a sentence each."""
        campaign = self.campaign(pk)
        is_draft = campaign.state == Campaign.State.DRAFT
        return Response({"obstacles": task_selectors.launch_obstacles(campaign) if is_draft else []})


class Start(Endpoint):
    """The start of a campaign."""

    @operation("campaign_start", answer=shapes.CampaignDetail, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Fix the design, and have the HITs packed; the campaign then opens. Nothing is published or spent."""
        campaign = self.campaign(pk)
        task_services.campaign_launch(campaign=campaign)
        transaction.on_commit(soon(task_jobs.pack_waiting_campaigns))
        return shown(campaign)


class _Move(Endpoint):
    to = ""

    def _move(self, pk: int) -> Response:
        campaign = self.campaign(pk)
        return shown(publishing.campaign_move(campaign=campaign, to=self.to, at=timezone.now()))


class Pause(_Move):
    """Pausing a campaign."""

    to = Campaign.State.PAUSED

    @operation("campaign_pause", answer=shapes.CampaignDetail, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Give out no more work until the campaign is resumed."""
        return self._move(pk)


class Resume(_Move):
    """Resuming a campaign."""

    to = Campaign.State.OPEN

    @operation("campaign_resume", answer=shapes.CampaignDetail, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Give out work again."""
        return self._move(pk)


class Close(_Move):
    """Closing a campaign."""

    to = Campaign.State.CLOSED

    @operation("campaign_close", answer=shapes.CampaignDetail, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """End a campaign: no more work is given out. What was done is paid, and counts."""
        return self._move(pk)


class Progress(Endpoint):
    """How far a campaign is."""

    @operation("campaign_progress", answer=shapes.ProgressShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """How far a campaign is, in HITs, pairs and judgments."""
        campaign = self.campaign(pk)
        hits, pairs = task_selectors.progress(campaign), judgment_selectors.judging_progress(campaign)
        return Response(
            {
                "state": campaign.state,
                "hits": hits.hits,
                "done": hits.hits_done,
                "active": hits.active,
                "pairs": pairs.pairs,
                "pairs_done": pairs.done,
                "judgments": pairs.accepted,
            }
        )


class QueryFilter(FilterSet):  # type: ignore[misc]
    """By id and text."""

    qid = CharFilter(field_name="query__qid")
    text = CharFilter(field_name="query__text", lookup_expr="icontains")


class Queries(Endpoint):
    """The queries of a campaign."""

    pagination_class = Pages
    filterset_class = QueryFilter

    @operation("campaign_queries", answer=shapes.QueryRow(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """A campaign's queries, each with the size of its pool and what is left to judge."""
        campaign = self.campaign(pk)
        rows = judgment_selectors.pools_by_query(campaign)
        return self.page_of(rows, shapes.QueryRow, lambda page: judgment_selectors.pool_rows(page, campaign.overlap))


# --- test pairs


class TestPairFilter(FilterSet):  # type: ignore[misc]
    """By state."""

    __test__ = False
    state = ChoiceFilter(choices=TestPair.State.choices)


class TestPairs(Endpoint):
    """The test pairs of a campaign."""

    __test__ = False
    pagination_class = Pages
    filterset_class = TestPairFilter

    @operation("test_pairs", answer=shapes.TestPairShape(many=True), tags=["Test pairs"])
    def get(self, request: Request, pk: int) -> Response:
        """A campaign's test pairs."""
        return self.page_of(self.campaign(pk).test_pairs.all(), shapes.TestPairShape)

    @operation(
        "test_pair_create",
        takes=shapes.NewTestPair,
        answer=shapes.TestPairShape,
        status=201,
        right=Right.DESIGN,
        tags=["Test pairs"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Add a test pair in your own words. It counts as confirmed."""
        campaign, sent = self.campaign(pk), checked(shapes.NewTestPair, request)
        test = task_services.test_pair_write(campaign=campaign, by=user_of(request), at=timezone.now(), **sent)
        return Response(shapes.TestPairShape(test).data, status=201)


class TestPairsSuggest(Endpoint):
    """Suggestions."""

    __test__ = False

    @operation(
        "test_pairs_suggest",
        takes=shapes.SuggestTests,
        answer=shapes.TestPairShape(many=True),
        right=Right.DESIGN,
        tags=["Test pairs"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Suggest test pairs from the qrels, to be read and confirmed one by one. There may be fewer than asked for."""
        campaign, sent = self.campaign(pk), checked(shapes.SuggestTests, request)
        suggested = task_services.test_pairs_suggest(
            campaign=campaign, count=sent["count"], seed=task_services.next_test_seed(campaign)
        )
        return Response(shapes.TestPairShape(suggested, many=True).data)


class TestPairOpen(Endpoint):
    """Reading a test pair."""

    __test__ = False

    @operation("test_pair_open", answer=shapes.TestPairShape, right=Right.DESIGN, tags=["Test pairs"])
    def post(self, request: Request, pk: int, test_pk: int) -> Response:
        """Open one test pair, to read both its passages. Who has opened a suggestion, here or on the page, may confirm
        it."""
        test = self.campaign(pk).test_pairs.filter(pk=test_pk).first()
        if test is None:
            raise NotYours(_("This campaign has no such test pair."))
        test_open(key=test.pk, by=user_of(request))
        return Response(shapes.TestPairShape(test).data)


class TestPairsDecide(Endpoint):
    """Decisions on test pairs."""

    __test__ = False

    @operation(
        "test_pairs_decide",
        takes=shapes.DecideTests,
        answer=shapes.TestPairShape(many=True),
        right=Right.DESIGN,
        tags=["Test pairs"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Confirm or decline test pairs: all that you name, or none. Refused (409) where you confirm some that you have
        not opened."""
        campaign, sent = self.campaign(pk), checked(shapes.DecideTests, request)
        keys = set(sent["test_pairs"])
        tests = list(campaign.test_pairs.filter(pk__in=keys).order_by("pk"))
        if len(tests) != len(keys):
            raise NotYours(_("This campaign has no such test pair."))
        confirm = sent["decision"] == "confirm"
        if confirm and (why := unread_reason(tests, user_of(request))):
            raise NotNow(why)
        task_services.test_pairs_decide(test_pairs=tests, confirm=confirm, by=user_of(request), at=timezone.now())
        return Response(shapes.TestPairShape(campaign.test_pairs.filter(pk__in=keys).order_by("pk"), many=True).data)


# --- what workers agree to


class ConsentOne(Endpoint):
    """The consent text of a campaign."""

    @operation("consent", answer=shapes.ConsentShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What workers agree to before they begin."""
        campaign = self.campaign(pk)
        current = task_selectors.current_consent(campaign)
        if current is None:
            return Response({"version": None, "text": default_consent(campaign)})
        return Response(shapes.ConsentShape(current).data)

    @operation("consent_set", takes=shapes.NewConsent, answer=shapes.ConsentShape, right=Right.DESIGN, tags=TAGS)
    def put(self, request: Request, pk: int) -> Response:
        """Put a consent text in force, as a new version unless it is the current one."""
        campaign, sent = self.campaign(pk), checked(shapes.NewConsent, request)
        return Response(shapes.ConsentShape(task_services.consent_write(campaign=campaign, text=sent["text"])).data)


class WorkedExample(Endpoint):
    """The worked example of a campaign."""

    @operation("worked_example", answer=shapes.WorkedExample, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """The worked example of a campaign in your own words, which is empty if workers see the general one."""
        return Response(shapes.WorkedExample(self.campaign(pk)).data)

    @operation(
        "worked_example_set",
        takes=shapes.WorkedExample,
        answer=shapes.WorkedExample,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def put(self, request: Request, pk: int) -> Response:
        """Give a draft a worked example of its own, or the general one again."""
        campaign, sent = self.campaign(pk), checked(shapes.WorkedExample, request)
        return Response(shapes.WorkedExample(pool_services.campaign_set_example(campaign=campaign, **sent)).data)
