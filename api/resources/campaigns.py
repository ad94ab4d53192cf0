"""Campaigns from a draft to the end: settings, bill, test pairs, wording, trials, practice."""

from copy import copy
from typing import Any, TypeVar

from django.db import transaction
from django.forms import BaseForm
from django.forms.utils import ErrorDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django_filters import BooleanFilter, CharFilter, ChoiceFilter
from django_filters.filterset import filterset_factory
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from api import draft_shapes, review_shapes, shapes
from api.asking import soon
from api.filters import KeyFilter, filterset
from api.frame import Resource, get, operation, patch, post, put
from api.resources.collections import accepted
from campaigns import draft_jobs
from campaigns.consequences import consequences_of
from campaigns.forms import CampaignForm
from campaigns.templating import template_settings
from core.errors import NotNow, NotYours
from core.models import User
from core.percent import ShareField
from core.roles import Right
from judgments import selectors as judgment_selectors
from platforms.money.bills import campaign_bill
from platforms.publishing import publications as publishing
from platforms.publishing.reach import reach_look
from platforms.terms import publication_likely, publication_to_reach
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign, CampaignTemplate
from pools.practice import PracticePair, lacking_practice, read_practice_pairs, right_needed
from pools.settings import settings_of
from runs.models import Collection, Job
from tasks import jobs as task_jobs
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks import trials
from tasks.consent import default_consent
from tasks.models import TestPair
from tasks.opening import test_open, unread_reason
from tasks.practice import practice_counts, practice_minutes

Form = TypeVar("Form", bound=BaseForm)
QueryFilter = filterset(
    qid=CharFilter(field_name="query__qid"), text=CharFilter(field_name="query__text", lookup_expr="icontains")
)


def by_field(errors: ErrorDict) -> dict[str, list[str]]:
    """A form's errors as the API says them."""
    return {
        "non_field_errors" if name == "__all__" else str(name): list(map(str, texts)) for name, texts in errors.items()
    }


def valid(form: Form) -> Form:
    """The form, if it is. Raises ValidationError."""
    if not form.is_valid():
        raise ValidationError(by_field(form.errors))
    return form


def as_percent(data: dict[str, Any]) -> None:
    """Make the shares among settings what the form asks for."""
    for field in settings_of(Campaign):
        if isinstance(field, ShareField) and data[field.name] is not None:
            data[field.name] = f"{(data[field.name] * 100).normalize():f}"


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

    `base_version` is the number of a version, `runs` are keys or `all`. Raises ValidationError where it is not valid.
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
    all_runs = collection.runs.order_by("name").values_list("pk", flat=True)
    data["runs"] = list(all_runs) if runs == "all" else runs
    if runs != "all" and (unknown := set(runs) - set(all_runs.filter(pk__in=runs))):
        text = _("The collection has no run with this key: %(keys)s.")
        raise ValidationError({"runs": [text % {"keys": ", ".join(map(str, sorted(unknown)[:10]))}]})
    return valid(CampaignForm(data, collection=collection, instance=copy(draft)))


def campaign_ask(
    user: User,
    collection: Collection,
    settings: dict[str, Any],
    draft: Campaign | None = None,
    template: CampaignTemplate | None = None,
) -> Job:
    """Ask for a draft with these settings, or for these settings of one, as the page does. Raises ValidationError."""
    form = campaign_form(collection, settings, draft, template)
    return draft_jobs.campaign_ask(
        collection=collection,
        runs=form.cleaned_data["runs"],
        name=form.cleaned_data["name"],
        settings=form.settings(),
        by=user,
        at=timezone.now(),
        draft=draft,
        template=template,
    )


def _content(trial: trials.Trial) -> dict[str, Any]:
    return {"address": trial.address, "until": trial.until, "obstacle": trials.trial_obstacle(trial.campaign)}


class TestPairs(Resource):
    """The test pairs of a campaign."""

    __test__ = False
    tags = ["Test pairs"]
    lookup_url_kwarg = "test_pk"
    filterset_class = filterset_factory(TestPair, fields=["state"])

    @operation(shapes.TestPairShape(many=True), name="test_pairs")
    def list(self, request: Request, pk: int) -> Any:
        """A campaign's test pairs."""
        return self.campaign.test_pairs.all()

    @operation(shapes.TestPairShape, Right.DESIGN, name="test_pair_create", takes=shapes.NewTestPair)
    def create(self, request: Request, pk: int) -> Any:
        """Add a test pair in your own words. It counts as confirmed."""
        return task_services.test_pair_write(campaign=self.campaign, **self.signed, **self.sent)

    @post("suggest", shapes.TestPairShape(many=True), Right.DESIGN, takes=shapes.SuggestTests, detail=False)
    def test_pairs_suggest(self, request: Request, pk: int) -> Any:
        """Suggest test pairs from the qrels, to be read and confirmed one by one. There may be fewer than asked for."""
        seed = task_services.next_test_seed(self.campaign)
        return task_services.test_pairs_suggest(campaign=self.campaign, seed=seed, **self.sent)

    @post("copy", shapes.TestPairShape(many=True), Right.DESIGN, takes=draft_shapes.TestPairSource, detail=False)
    def test_pairs_copy(self, request: Request, pk: int) -> Any:
        """Copy the confirmed test pairs of another campaign of the lab, in the same language, to a draft. Those that
        the draft did not have are in the answer, and count as confirmed."""
        campaign, sent = self.campaign, self.sent
        source = Campaign.objects.filter(lab=campaign.lab_id, pk=sent["source"]).exclude(pk=campaign.pk).first()
        if source is None:
            raise ValidationError({"source": [_("The lab has no other campaign with this key.")]})
        return task_services.test_pairs_copy(campaign=campaign, source=source, **self.signed)

    @post("open", shapes.TestPairShape, Right.DESIGN)
    def test_pair_open(self, request: Request, pk: int, test_pk: int) -> Any:
        """Open one test pair, to read both its passages. Who has opened a suggestion, here or on the page, may confirm
        it."""
        test = get_object_or_404(self.campaign.test_pairs, pk=test_pk)
        test_open(key=test.pk, by=self.user)
        return test

    @post("decide", shapes.TestPairShape(many=True), Right.DESIGN, takes=shapes.DecideTests, detail=False)
    def test_pairs_decide(self, request: Request, pk: int) -> Any:
        """Confirm or decline test pairs: all that you name, or none. Refused (409) where you confirm some that you have
        not opened."""
        campaign, sent = self.campaign, self.sent
        keys = set(sent["test_pairs"])
        tests = list(campaign.test_pairs.filter(pk__in=keys).order_by("pk"))
        if len(tests) != len(keys):
            raise NotYours(_("This campaign has no such test pair."))
        confirm = sent["decision"] == "confirm"
        if confirm and (why := unread_reason(tests, self.user)):
            raise NotNow(why)
        task_services.test_pairs_decide(test_pairs=tests, confirm=confirm, **self.signed)
        return campaign.test_pairs.filter(pk__in=keys).order_by("pk")


class Campaigns(Resource):
    """The campaigns of your labs."""

    tags = ["Campaigns"]
    filterset_class = filterset(
        lab=KeyFilter(field_name="lab_id"),
        collection=KeyFilter(field_name="collection_id"),
        state=ChoiceFilter(choices=Campaign.State.choices),
        name=CharFilter(lookup_expr="icontains"),
        is_archived=BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True),
    )

    def move(self, to: str) -> Campaign:
        publishing.campaign_move(campaign=self.campaign, to=to, at=timezone.now())
        return self.fresh()

    def fresh(self) -> Campaign:
        self.campaign.refresh_from_db()
        return self.campaign

    @operation(shapes.CampaignShape(many=True), name="campaigns")
    def list(self, request: Request) -> Any:
        """The campaigns of your labs, newest first."""
        return pool_selectors.campaigns_of(self.user)

    @operation(shapes.JobShape, Right.DESIGN, name="campaign_create", takes=shapes.NewCampaign, status=202)
    def create(self, request: Request) -> Any:
        """Create a draft. A job makes its pools and pairs; its `campaign` is then the draft. Nothing is spent."""
        sent = self.sent
        collection = self.get_collection(sent.pop("collection"))
        template = template_taken(collection, sent)
        return accepted(campaign_ask(self.user, collection, sent, template=template))

    @operation(shapes.CampaignDetail, name="campaign")
    def retrieve(self, request: Request, pk: int) -> Any:
        """One campaign, with its runs and every setting."""
        return self.campaign

    @operation(shapes.CampaignDetail, Right.DESIGN, name="campaign_change", takes=shapes.CampaignChange)
    def partial_update(self, request: Request, pk: int) -> Any:
        """Rename or archive a campaign, or change what the workers of a draft will read. All of it, or nothing."""
        campaign, sent = self.campaign, self.sent
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
        return self.fresh()

    @operation(right=Right.DESIGN, name="campaign_delete")
    def destroy(self, request: Request, pk: int) -> Any:
        """Delete a draft. A campaign that has started is closed instead."""
        pool_services.campaign_delete(campaign=self.campaign)

    @patch("settings", shapes.JobShape, Right.DESIGN, takes=shapes.DraftChange, status=202)
    def campaign_settings(self, request: Request, pk: int) -> Any:
        """Change settings or runs of a draft. A job makes its pools and pairs again where they follow from it."""
        draft, sent = self.campaign, self.sent
        if draft.state != Campaign.State.DRAFT:
            raise NotNow(_("The campaign has started, so its settings can no longer be changed."))
        settings: dict[str, Any] = {name: getattr(draft, name) for name in shapes.SETTINGS}
        settings |= {"name": draft.name, "runs": list(draft.runs.values_list("pk", flat=True))}
        if draft.base_version is not None:
            settings["base_version"] = {"number": draft.base_version.number}
        return accepted(campaign_ask(self.user, draft.collection, settings | sent, draft))

    @post("preview", review_shapes.PreviewShape, Right.DESIGN, takes=shapes.NewCampaign, detail=False)
    def campaign_preview(self, request: Request) -> Any:
        """Count the pools, pairs, cost and hours that settings would lead to. Nothing is stored."""
        sent = self.sent
        collection = self.get_collection(sent.pop("collection"))
        form = campaign_form(collection, sent, template=template_taken(collection, sent))
        campaign = Campaign(lab=collection.lab, collection=collection, name=sent["name"], **form.settings())
        led_to = consequences_of(campaign, list(form.cleaned_data["runs"]))
        return led_to.preview._asdict() | {"total": led_to.bill.total, "hours": led_to.hours}

    @patch("results/settings", shapes.CampaignDetail, Right.DESIGN, takes=shapes.ReadingChange)
    def result_settings(self, request: Request, pk: int) -> Any:
        """Change how the results are read, at any time. They are computed again, within a minute or two."""
        if sent := self.sent:
            pool_services.campaign_read_results(campaign=self.campaign, **sent)
        return self.fresh()

    @post("copy", shapes.JobShape, Right.DESIGN, takes=shapes.CampaignCopy, status=202)
    def campaign_copy(self, request: Request, pk: int) -> Any:
        """Create a draft with the settings of a campaign, but for those that you send. Challengers challenge the newest
        version."""
        campaign, sent = self.campaign, self.sent
        collection = self.get_collection(sent.pop("collection", campaign.collection_id))
        settings: dict[str, Any] = {name: getattr(campaign, name) for name in shapes.SETTINGS}
        same = campaign.collection_id == collection.pk
        settings["runs"] = list(campaign.runs.values_list("pk", flat=True)) if same else "all"
        if sent.get("base_version", {}).get("number") is None:
            sent.pop("base_version", None)
        return accepted(campaign_ask(self.user, collection, settings | sent))

    @get("bill", shapes.BillShape)
    def campaign_bill(self, request: Request, pk: int) -> Any:
        """What judging all of a campaign costs, line by line, and what its reward is an hour."""
        campaign = self.campaign
        bill, pace = campaign_bill(publication_likely(campaign)), task_selectors.expected_pace(campaign)
        return bill._asdict() | {"total": bill.total, "lines": bill.lines, "pace": pace}

    @get("obstacles", shapes.Obstacles)
    def campaign_obstacles(self, request: Request, pk: int) -> Any:
        """What keeps a draft from being started, a sentence each."""
        is_draft = self.campaign.state == Campaign.State.DRAFT
        return {"obstacles": task_selectors.launch_obstacles(self.campaign) if is_draft else []}

    @post("start", shapes.CampaignDetail, Right.DESIGN)
    def campaign_start(self, request: Request, pk: int) -> Any:
        """Fix the design, and have the HITs packed; the campaign then opens. Nothing is published or spent."""
        task_services.campaign_launch(campaign=self.campaign)
        soon(task_jobs.pack_waiting_campaigns)
        return self.fresh()

    @post("pause", shapes.CampaignDetail, Right.DESIGN)
    def campaign_pause(self, request: Request, pk: int) -> Any:
        """Give out no more work until the campaign is resumed."""
        return self.move(Campaign.State.PAUSED)

    @post("resume", shapes.CampaignDetail, Right.DESIGN)
    def campaign_resume(self, request: Request, pk: int) -> Any:
        """Give out work again."""
        return self.move(Campaign.State.OPEN)

    @post("close", shapes.CampaignDetail, Right.DESIGN)
    def campaign_close(self, request: Request, pk: int) -> Any:
        """End a campaign: no more work is given out. What was done is paid, and counts."""
        return self.move(Campaign.State.CLOSED)

    @get("progress", shapes.ProgressShape)
    def campaign_progress(self, request: Request, pk: int) -> Any:
        """How far a campaign is, in HITs, pairs and judgments."""
        campaign = self.campaign
        judging = judgment_selectors.judging_progress(campaign)
        return {"state": campaign.state, "hits": task_selectors.progress(campaign), "pairs": judging}

    @get("queries", shapes.QueryRow(many=True), filterset_class=QueryFilter)
    def campaign_queries(self, request: Request, pk: int) -> Any:
        """A campaign's queries, each with the size of its pool and what is left to judge."""
        rows = judgment_selectors.pools_by_query(self.campaign)
        return self.page_of(rows, lambda page: judgment_selectors.pool_rows(page, self.campaign.overlap))

    @get("consent", shapes.ConsentShape)
    def consent(self, request: Request, pk: int) -> Any:
        """What workers agree to before they begin."""
        current = task_selectors.current_consent(self.campaign)
        return current or {"version": None, "text": default_consent(self.campaign)}

    @put(consent, shapes.ConsentShape, Right.DESIGN, takes=shapes.NewConsent)
    def consent_set(self, request: Request, pk: int) -> Any:
        """Put a consent text in force, as a new version unless it is the current one."""
        return task_services.consent_write(campaign=self.campaign, text=self.sent["text"])

    @get("example", shapes.WorkedExample)
    def worked_example(self, request: Request, pk: int) -> Any:
        """The worked example of a campaign in your own words, which is empty if workers see the general one."""
        return self.campaign

    @put(worked_example, shapes.WorkedExample, Right.DESIGN, takes=shapes.WorkedExample)
    def worked_example_set(self, request: Request, pk: int) -> Any:
        """Give a draft a worked example of its own, or the general one again."""
        return pool_services.campaign_set_example(campaign=self.campaign, **self.sent)

    @get("trial", draft_shapes.TrialShape)
    def trial(self, request: Request, pk: int) -> Any:
        """A link at which anybody can try a campaign's tasks on the workers' pages. Nothing that they do is stored."""
        return _content(trials.trial_link(self.campaign))

    @post(trial, draft_shapes.TrialShape, Right.DESIGN, takes=draft_shapes.TrialWords)
    def trial_of_wording(self, request: Request, pk: int) -> Any:
        """A link at which a campaign's tasks are tried with other words, which are not saved. What is left out is as in
        the campaign."""
        words = task_selectors.words_to_try(self.campaign) | self.sent
        return _content(trials.trial_link(self.campaign, words))

    @post("trial/revoke", right=Right.DESIGN)
    def trials_revoke(self, request: Request, pk: int) -> Any:
        """Let all links to trials of a campaign lead nowhere. Links made later work."""
        trials.trials_revoke(campaign=self.campaign)

    @get("reach", draft_shapes.ReachShape, tags=["Publication"])
    def reach(self, request: Request, pk: int) -> Any:
        """How many workers of its platform could take a campaign's HITs, by its terms, or by those that it begins with.
        The platform is asked now; where it cannot be, the counts are null, and the sentence says why."""
        return reach_look(publication_to_reach(self.campaign))


def pair_shown(campaign: Campaign, number: int) -> dict[str, Any]:
    """One practice pair. Raises NotYours where there is none of this number."""
    pairs = read_practice_pairs(campaign.practice_pairs)
    if not 1 <= number <= len(pairs):
        raise NotYours(_("This campaign has no such practice pair."))
    return {"number": number, **pairs[number - 1]._asdict()}


class PracticePairs(Resource):
    """The practice pairs of a campaign."""

    tags = ["Practice"]
    lookup_url_kwarg = "number"
    pagination_class = None

    @operation(draft_shapes.PracticePairShape(many=True), name="practice_pairs")
    def list(self, request: Request, pk: int) -> Any:
        """A campaign's practice pairs, in the order in which workers see them: 20 at most."""
        pairs = read_practice_pairs(self.campaign.practice_pairs)
        return [{"number": number, **pair._asdict()} for number, pair in enumerate(pairs, 1)]

    @operation(
        draft_shapes.PracticePairShape, Right.DESIGN, name="practice_pair_create", takes=draft_shapes.NewPracticePair
    )
    def create(self, request: Request, pk: int) -> Any:
        """Add a practice pair in your own words to a draft, as its last."""
        number = task_services.practice_add(campaign=self.campaign, pair=PracticePair(**self.sent))
        return pair_shown(self.campaign, number)

    @operation(draft_shapes.PracticePairShape, name="practice_pair")
    def retrieve(self, request: Request, pk: int, number: int) -> Any:
        """One practice pair, by its number."""
        return pair_shown(self.campaign, number)

    @operation(
        draft_shapes.PracticePairShape, Right.DESIGN, name="practice_pair_change", takes=draft_shapes.NewPracticePair
    )
    def update(self, request: Request, pk: int, number: int) -> Any:
        """Replace a practice pair of a draft."""
        task_services.practice_change(campaign=self.campaign, number=number, pair=PracticePair(**self.sent))
        return pair_shown(self.campaign, number)

    @operation(right=Right.DESIGN, name="practice_pair_delete")
    def destroy(self, request: Request, pk: int, number: int) -> Any:
        """Remove a practice pair from a draft. Those after it are then numbered anew: send If-Match."""
        task_services.practice_change(campaign=self.campaign, number=number, pair=None)


class Practice(Resource):
    """The practice of a campaign."""

    tags = ["Practice"]

    @get("practice", draft_shapes.PracticeShape)
    def practice(self, request: Request, pk: int) -> Any:
        """What the workers of a campaign do before their first HIT, and how many are at which point of it."""
        campaign = self.campaign
        has_practice = campaign.practice != Campaign.Practice.NOTHING
        return {
            "practice": campaign.practice,
            "practice_right": campaign.practice_right,
            "needed": right_needed(campaign),
            "pairs": len(read_practice_pairs(campaign.practice_pairs)),
            "minutes": practice_minutes(campaign),
            "obstacles": lacking_practice(campaign),
            "workers": practice_counts(campaign)._asdict() if has_practice else None,
        }

    @patch(practice, draft_shapes.PracticeShape, Right.DESIGN, takes=draft_shapes.PracticeChange)
    def practice_set(self, request: Request, pk: int) -> Any:
        """Choose the practice of a draft, and how many right answers pass a comprehension check. Add its pairs
        first."""
        now = {"practice": self.campaign.practice, "practice_right": self.campaign.practice_right} | self.sent
        task_services.practice_set(campaign=self.campaign, practice=now["practice"], right=now["practice_right"])
        return self.practice(request, pk)

    @post(
        "practice/take-test-pair",
        draft_shapes.PracticePairShape,
        Right.DESIGN,
        takes=draft_shapes.TakenTestPair,
        status=201,
    )
    def practice_pair_take(self, request: Request, pk: int) -> Any:
        """Use a confirmed test pair of a draft for practice. It is then a test pair no longer."""
        campaign, sent = self.campaign, self.sent
        test = get_object_or_404(campaign.test_pairs, pk=sent["test_pair"])
        draft = task_services.practice_take_test(test_pair=test, why=sent["why"], **self.signed)
        return pair_shown(draft, len(read_practice_pairs(draft.practice_pairs)))
