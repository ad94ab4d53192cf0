"""Writing campaigns, their pools and pairs. Whatever is refused leaves everything as it was."""

import io
import logging
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, ProtectedError, QuerySet
from django.utils.translation import gettext as _

from core.copying import copy_rows
from core.errors import NotNow, Refused, validation_in_words
from core.models import Lab, User
from core.progress import Report, silent
from evaluation.errors import BadInput
from evaluation.files.about_runs import read_run_pairs
from evaluation.files.artifact import Order
from evaluation.files.preferences import Pair as IdPair
from evaluation.files.qrels import Entry, Qrels
from evaluation.judging.designs import DESIGNS
from evaluation.judging.designs.base import Material
from evaluation.judging.equal_texts import Alike, nearly_equal
from evaluation.judging.pooling import pool_sizes
from evaluation.judging.settling import learn_from
from pools import reuse
from pools import selectors as pool_selectors
from pools.models import AlikePair, Campaign, Candidate, Pair, Pool
from pools.practice import practice_check
from pools.sampling import queries_select
from pools.settings import ReadingSettings, names_in
from runs import selectors as run_selectors
from runs.models import Collection, Job, Passage, Query, Run
from runs.services import QUERIES_AT_ONCE, execute, keys_by_id

log = logging.getLogger(__name__)


@transaction.atomic
def later_runs_score(*, campaign: Campaign) -> int:
    """Have the results of a campaign whose runs are fixed score all runs of its collection. How many are new.

    The results so far are kept beside the new ones. Raises NotNow without new runs.
    """
    locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    later = list(pool_selectors.later_runs(locked).values_list("pk", flat=True))
    if locked.fixed_runs is None or not later:
        raise NotNow(_("There is no run that these results do not score."))
    locked.fixed_runs = sorted([*locked.fixed_runs, *later])
    locked.save(update_fields=["fixed_runs"])
    campaign_mark_changed(campaign_id=campaign.pk)
    return len(later)


@dataclass(frozen=True)
class Plan:
    """The pools of a campaign and the pairs that its design asks about, by id, in canonical order.

    `contested`: how many queries have a pool of two or more, before the campaign chooses among them. Equal texts are
    one candidate, as far as the texts are there: `untexted` passages of pools of several have none. `alike` are the
    pairs of passages with nearly the same text. `split`: for a champion check, how many comparisons each category has.
    """

    pools: Mapping[str, tuple[str, ...]]
    pairs: Mapping[str, tuple[IdPair, ...]]
    contested: int
    alike: Sequence[Alike] = ()
    untexted: int = 0
    split: Mapping[str, int] = field(default_factory=dict)


@transaction.atomic
def campaign_create(
    *,
    lab: Lab,
    collection: Collection,
    runs: Iterable[Run],
    name: str,
    created_by: User | None = None,
    report: Report | None = None,
    **settings: Any,
) -> Campaign:
    """A draft campaign with its pools and pairs, from runs and settings (the columns of Campaign, by name).

    Raises Refused if the settings do not fit each other, or name queries that the collection does not have.
    """
    runs = list(runs)
    campaign = Campaign(lab=lab, collection=collection, name=name, created_by=created_by, **settings)
    campaign_check(campaign, runs)
    report = report or silent()
    plan = campaign_plan(campaign, runs, report)
    campaign.sampled_from = plan.contested if campaign.selection == Campaign.Selection.SAMPLE else None
    campaign.save()
    campaign.runs.set(runs)
    _store_plan(campaign, plan, report)
    return campaign


def campaign_check(campaign: Campaign, runs: Sequence[Run]) -> None:
    """Fill in what follows from other settings. Raises Refused if settings and runs do not fit each other."""
    if not campaign.language:
        campaign.language = campaign.collection.language
    if campaign.design in DESIGNS:
        _fit_design(campaign)
    try:
        campaign.full_clean()
    except ValidationError as error:
        raise Refused(validation_in_words(error)) from error
    if not runs:
        raise Refused(_("Choose at least one run."))
    if any(run.collection_id != campaign.collection_id for run in runs):
        raise Refused(_("Every run must belong to the collection."))
    _check_comparisons_of(campaign)
    practice_check(campaign)


def _fit_design(campaign: Campaign) -> None:
    """Take the method that the design has, and if it challenges a version, the newest, unless another was chosen.

    Raises Refused where the settings do not fit.
    """
    design = campaign.pairing
    for sentence in design.refuse(depth=campaign.depth, method=campaign.method).values():
        raise Refused(_(sentence))
    campaign.method = design.only_method or campaign.method
    if not design.challenges:
        campaign.base_version = None
        return
    if campaign.base_version is None:
        campaign.base_version = pool_selectors.newest_version(campaign.collection)
    if campaign.base_version is None:
        raise Refused(
            _(
                "The collection has no version of its preference qrels, so there is nothing to challenge. Make one "
                "from the results of a campaign first."
            )
        )
    if campaign.base_version.collection_id != campaign.collection_id:
        raise Refused(_("The version to challenge must belong to the collection."))


@transaction.atomic
def campaign_rename(*, campaign: Campaign, name: str) -> Campaign:
    """Give a campaign another name. Exports that name it, also as a source of judgments, are made anew.

    Raises Refused if the lab has a campaign of this name, and without a name.
    """
    campaign.name = name.strip()
    refusal = Refused(_("The lab already has a campaign with this name."))
    if Campaign.objects.filter(lab=campaign.lab_id, name=campaign.name).exclude(pk=campaign.pk).exists():
        raise refusal
    try:
        campaign.full_clean(exclude={field.name for field in Campaign._meta.fields} - {"name", "lab"})
    except ValidationError as error:
        raise Refused(validation_in_words(error)) from error
    try:
        with transaction.atomic():
            campaign.save(update_fields=["name"])
    except IntegrityError as error:  # somebody was faster
        raise refusal from error
    campaigns_mark_changed(campaigns=campaign.collection.campaigns.all())
    return campaign


@transaction.atomic
def campaign_archive(*, campaign: Campaign, at: datetime) -> Campaign:
    """Leave a campaign out of lists, unless somebody asks for the archive. Nothing else changes.

    Raises NotNow while people can work on it.
    """
    campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
    if campaign.state not in (Campaign.State.DRAFT, Campaign.State.CLOSED) and not campaign.is_finished:
        raise NotNow(_("People can still work on this campaign. Close it first; then it can be archived."))
    campaign.archived_at = campaign.archived_at or at
    campaign.save(update_fields=["archived_at"])
    return campaign


def campaign_unarchive(*, campaign: Campaign) -> None:
    """List a campaign again."""
    Campaign.objects.filter(pk=campaign.pk).update(archived_at=None)


@transaction.atomic
def campaign_reword(*, campaign: Campaign, title: str, question: str, instructions: str) -> Campaign:
    """Change what the workers of a draft will read. What they read once it has started is fixed."""
    campaign = draft_lock(
        campaign, _("The campaign has started, so its title, question and instructions can no longer be changed.")
    )
    campaign.title, campaign.question = title.strip(), question.strip()
    campaign.instructions = instructions.replace("\r\n", "\n").strip()
    try:
        campaign.clean_fields(exclude={field.name for field in Campaign._meta.fields} - {"title", "question"})
    except ValidationError as error:
        raise Refused(validation_in_words(error)) from error
    campaign.save(update_fields=["title", "question", "instructions"])
    return campaign


@transaction.atomic
def campaign_set_example(
    *, campaign: Campaign, example_query: str, example_better: str, example_worse: str, example_why: str
) -> Campaign:
    """Give a draft a worked example of its own, or, with nothing but empty texts, the general one again."""
    campaign = draft_lock(campaign, _("The campaign has started, so its example can no longer be changed."))
    example = {
        "example_query": example_query,
        "example_better": example_better,
        "example_worse": example_worse,
        "example_why": example_why,
    }
    example = {name: text.replace("\r\n", "\n").strip() for name, text in example.items()}
    if any(example.values()) and not all(example.values()):
        raise Refused(_("An example needs all four texts. Leave all of them empty for the general example."))
    for name, text in example.items():
        setattr(campaign, name, text)
    campaign.save(update_fields=list(example))
    return campaign


@transaction.atomic
def campaign_read_results(*, campaign: Campaign, **settings: Any) -> Campaign:
    """Change how the results are read: any of ReadingSettings, by name.

    Raises Refused where a value is none, or the comparisons cannot be made.
    """
    if unknown := set(settings).difference(names_in(ReadingSettings)):
        raise TypeError(f"not how results are read: {', '.join(sorted(unknown))}")
    for name, value in settings.items():
        setattr(campaign, name, value)
    try:
        campaign.clean_fields(exclude={field.name for field in Campaign._meta.fields}.difference(settings))
    except ValidationError as error:
        raise Refused(validation_in_words(error)) from error
    _check_comparisons_of(campaign)
    campaign.save(update_fields=[*settings])
    campaign_mark_changed(campaign_id=campaign.pk)
    return campaign


def _check_comparisons_of(campaign: Campaign) -> None:
    check_comparisons(
        collection=campaign.collection,
        comparisons=campaign.comparisons,
        baseline=campaign.baseline,
        compared_pairs=campaign.compared_pairs,
    )


def check_comparisons(*, collection: Collection, comparisons: str, baseline: str, compared_pairs: str) -> None:
    """Raise Refused if a baseline or a chosen pair, where these are asked for, is not of the collection's runs."""
    if comparisons == Campaign.Comparisons.BASELINE:
        if not collection.runs.filter(name=baseline).exists():
            text = _("Enter the name of one of the collection's runs; there is none called “%(name)s”.")
            raise Refused(text % {"name": baseline})
    elif comparisons == Campaign.Comparisons.PAIRS:
        if not compared_pairs.strip():
            raise Refused(_("Enter at least one pair of runs."))
        names = dict.fromkeys(collection.runs.order_by("name").values_list("name", flat=True))
        try:
            read_run_pairs(io.BytesIO(compared_pairs.encode()), names, name=_("Chosen pairs of runs"))
        except BadInput as error:
            raise Refused(str(error)) from error


@transaction.atomic
def campaign_delete(*, campaign: Campaign) -> None:
    """Delete a draft with its pools, pairs and test pairs. A campaign that has started is closed instead."""
    campaign = draft_lock(campaign, _("The campaign has started, so it cannot be deleted. Close it instead."))
    Job.objects.filter(outcome_id=campaign.pk).update(outcome_id=None)
    try:
        campaign.delete()
    except ProtectedError as error:
        raise NotNow(_("This campaign already has decisions or judgments, so it cannot be deleted.")) from error


def campaign_mark_changed(*, campaign_id: int) -> None:
    """Mark that what a campaign's results and exports are made of has changed, so that they are made again.

    The last thing that a transaction does: until it ends, nobody else can mark this campaign.
    """
    Campaign.objects.filter(pk=campaign_id).update(revision=F("revision") + 1)


def texts_compare(*, collection: Collection, count: int, report: Report) -> None:
    """Compare the texts of a collection's drafts once passages came with texts, `count` of them new or other. A draft
    that cannot be compared keeps its pools: packing compares its texts, and tells the draft's researcher what it lacks.
    """
    drafts = collection.campaigns.filter(state=Campaign.State.DRAFT)
    for campaign in drafts.filter(untexted_count__gt=0).select_for_update().order_by("id"):
        try:
            campaign_compare_texts(campaign=campaign, report=report)
        except Refused as error:
            log.warning("Campaign %s keeps its pools while texts are imported: %s", campaign.pk, error)
    if count:  # which pairs were judged before goes by their texts
        campaigns_mark_changed(campaigns=drafts)


def campaigns_mark_changed(*, campaigns: QuerySet[Campaign]) -> None:
    """Mark campaigns changed one by one in the order of their keys, as everybody locks them."""
    for campaign_id in campaigns.order_by("id").values_list("id", flat=True):
        campaign_mark_changed(campaign_id=campaign_id)


def campaign_reopen(*, campaign_id: int) -> None:
    """Let the jobs look after a finished campaign again, although what its results are made of is the same."""
    Campaign.objects.filter(pk=campaign_id, finished_revision__isnull=False).update(finished_revision=None)


def draft_lock(campaign: Campaign, otherwise: str) -> Campaign:
    """The campaign, locked, if it is a draft; else NotNow with this sentence."""
    draft = Campaign.objects.select_for_update().filter(pk=campaign.pk, state=Campaign.State.DRAFT).first()
    if draft is None:
        raise NotNow(otherwise)
    return draft


def campaign_plan(
    campaign: Campaign, runs: Iterable[Run], report: Report | None = None, queries: Some[str] | None = None
) -> Plan:
    """The pools and pairs of a campaign that need not be stored yet: from artifacts, qrels, texts and settings alone,
    and for challengers from the version that they challenge and what was judged before.

    Pools cover the queries that have a qrel of the asked grade, as the mean reciprocal rank does; of challengers, those
    that have one. `queries` are those that were chosen before, if they were. Passages of a pool with equal texts are
    one candidate.
    """
    report = report or silent()
    planned = pools_plan(campaign, list(runs), report, queries)
    alike, untexted = _compare_texts(campaign.collection, planned.pools, report)
    return replace(planned, alike=alike, untexted=untexted)


def pools_plan(
    campaign: Campaign,
    runs: Sequence[Run],
    report: Report,
    queries: Some[str] | None = None,
    among: Some[str] | None = None,
) -> Plan:
    """The same without looking for passages of nearly equal texts, and for no other queries than those `among`."""
    design, version = campaign.pairing, campaign.base_version
    if design.takes_one_run and len(runs) != 1:
        raise Refused(_("The champion check compares one run with the qrels: choose exactly one run."))
    tops: list[dict[str, tuple[str, ...]]] = []
    for number, run in enumerate(runs):
        report(_("Reading the top of the runs"), number, len(runs))
        top = run_selectors.load_artifact(run).top(cast(Order, campaign.order), design.run_depth)
        tops.append(top if among is None else {query: top[query] for query in among if query in top})
    report(_("Building pools and pairs"))
    rows = run_selectors.collection_qrels(campaign.collection)
    material = Material(
        tops=tops,
        qrels=Qrels.of(Entry(*row) for row in rows if among is None or row[0] in among),
        text_keys=partial(run_selectors.text_keys, campaign.collection),
        answers=pool_selectors.version_answers(version),
        considered=pool_selectors.considered_passages(version) if version else {},
        judged=reuse.known_preferences(campaign) if version else (),
    )
    pools, pairs, split = design.plan(material)
    if version and not pools and queries is None:
        text = _(
            "No run brings anything new: for every query of version %(number)d, the passage that each chosen run ranks "
            "first has been considered before."
        )
        raise Refused(text % {"number": version.number})
    if queries is None:
        chosen = queries_select(campaign, pools)
    else:  # a challenger whose text came later may turn out to be nothing new
        chosen = sorted(query for query in queries if query in pools)
    contested = sum(len(pool) > 1 for pool in pools.values())
    return Plan(
        {query: pools[query] for query in chosen},
        {query: pairs[query] for query in chosen},
        contested,
        split={name: sum(split[query][name] for query in chosen if query in split) for name in "ab"} if split else {},
    )


@transaction.atomic
def pairs_add(*, campaign: Campaign, pairs: Iterable[IdPair]) -> dict[IdPair, int]:
    """Store more pairs of a campaign's pools, which have none of them. Their keys.

    The caller holds the campaign's lock.
    """
    pairs = list(pairs)
    pools = dict(Pool.objects.filter(campaign=campaign).values_list("query__qid", "id"))
    passages = keys_by_id(Passage, "pid", campaign.collection, {pid for _query, a, b in pairs for pid in (a, b)})
    copy_rows(Pair, ["pool", "a", "b"], ((pools[query], passages[a], passages[b]) for query, a, b in pairs))
    Campaign.objects.filter(pk=campaign.pk).update(pair_count=F("pair_count") + len(pairs))
    rows = Pair.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "a__pid", "b__pid", "id")
    unique = set(pairs)
    return {pair: pk for *names, pk in rows if (pair := IdPair(*names)) in unique}


def _compare_texts(
    collection: Collection, pools: Mapping[str, tuple[str, ...]], report: Report
) -> tuple[list[Alike], int]:
    """The pairs of passages with nearly the same text, the most alike first, and how many passages have none."""
    several = [query for query, pool in pools.items() if len(pool) > 1]
    alike: list[Alike] = []
    untexted: set[str] = set()
    for start in range(0, len(several), QUERIES_AT_ONCE):
        report(_("Comparing the texts"), start, len(several))
        part = {query: pools[query] for query in several[start : start + QUERIES_AT_ONCE]}
        pids = {pid for pool in part.values() for pid in pool}
        _queries, texts = run_selectors.texts_of(collection, qids=(), pids=pids)
        texts = {pid: text for pid, text in texts.items() if text}
        untexted |= pids - texts.keys()
        alike += nearly_equal(part, texts)
    return sorted(alike, key=lambda row: (-row.share, row.pair)), len(untexted)


@transaction.atomic
def campaign_compare_texts(*, campaign: Campaign, report: Report | None = None) -> None:
    """Make the pools and pairs of a locked draft, or of a campaign that is being packed, again over the same queries.

    For texts that came after its pools were made: only those that were there could be compared. A query whose
    challengers turn out to be nothing new has no pool any more.
    """
    report = report or silent()
    queries = campaign.pools.values_list("query__qid", flat=True)
    plan = campaign_plan(campaign, campaign.runs.order_by("name"), report, queries=list(queries))
    pools_replace(campaign=campaign, plan=plan, report=report)


def pools_replace(*, campaign: Campaign, plan: Plan, report: Report) -> None:
    """Store other pools and pairs in place of a campaign's own. The caller holds the transaction."""
    AlikePair.objects.filter(campaign=campaign).delete()
    Pair.objects.filter(pool__campaign=campaign).delete()
    Candidate.objects.filter(pool__campaign=campaign).delete()
    Pool.objects.filter(campaign=campaign).delete()
    _store_plan(campaign, plan, report)


def twins_store(*, campaign: Campaign) -> None:
    """Store which passages of the collection have the text of a candidate. What is stored already stays.

    "+ 0" leaves one index, that of the texts. Right after an import PostgreSQL may take a collection for empty, find
    other indexes as good, and read all its passages for each candidate.
    """
    execute(
        "INSERT INTO pools_twin (candidate_id, passage_id) "
        "SELECT candidate.id, twin.id FROM pools_pool pool "
        "JOIN pools_candidate candidate ON candidate.pool_id = pool.id "
        "JOIN runs_passage passage ON passage.id = candidate.passage_id "
        "JOIN runs_passage twin ON twin.text_key = passage.text_key "
        "AND twin.collection_id + 0 = passage.collection_id AND twin.id <> passage.id "
        "WHERE pool.campaign_id = %s ON CONFLICT (candidate_id, passage_id) DO NOTHING",
        campaign.pk,
    )


def _store_plan(campaign: Campaign, plan: Plan, report: Report) -> None:
    report(_("Storing the pools"))
    query_keys = keys_by_id(Query, "qid", campaign.collection, plan.pools)
    pids = dict.fromkeys(pid for pool in plan.pools.values() for pid in pool)
    passage_keys = keys_by_id(Passage, "pid", campaign.collection, pids)
    copy_rows(Pool, ["campaign", "query"], ((campaign.pk, query_keys[query]) for query in plan.pools))
    pool_keys = dict(Pool.objects.filter(campaign=campaign).values_list("query__qid", "id"))
    copy_rows(
        Candidate,
        ["pool", "passage"],
        ((pool_keys[query], passage_keys[pid]) for query, pool in plan.pools.items() for pid in pool),
    )
    campaign.pair_count = sum(map(len, plan.pairs.values()))
    step = _("Storing the pairs")
    copy_rows(
        Pair,
        ["pool", "a", "b"],
        (
            (pool_keys[query], passage_keys[a], passage_keys[b])
            for pairs in plan.pairs.values()
            for query, a, b in pairs
        ),
        lambda copied: report(step, copied, campaign.pair_count, "rows"),
    )
    copy_rows(
        AlikePair,
        ["campaign", "pool", "a", "b", "share"],
        (
            (campaign.pk, pool_keys[pair.query], passage_keys[pair.a], passage_keys[pair.b], share)
            for pair, share in plan.alike
        ),
    )
    twins_store(campaign=campaign)
    campaign.pool_histogram = {str(size): count for size, count in pool_sizes(plan.pools).histogram.items()}
    campaign.champion_split, campaign.untexted_count = dict(plan.split), plan.untexted
    if campaign.base_version is not None:
        campaign.error_model = learn_from(reuse.known_preferences(campaign)).rows
    campaign.save(update_fields=["pair_count", "pool_histogram", "champion_split", "untexted_count", "error_model"])
