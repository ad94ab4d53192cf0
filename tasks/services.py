"""Writing test pairs, HITs, workers and assignments."""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _

from core import alarms
from core.comparing import compared
from core.copying import copy_rows, next_ids
from core.errors import NotNow, NotYours, Refused
from core.models import User
from core.money import owed
from core.progress import Report, silent
from evaluation.judging.recognition import Rarity, choose_off_topic, features_of, is_near_copy, shingles_of
from pools import reuse
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign
from pools.practice import PracticePair, practice_check, read_practice_pairs, write_practice_pairs
from runs.models import Passage, Qrel
from tasks import selectors as task_selectors
from tasks.consent import default_consent
from tasks.models import Assignment, CampaignAlarm, Consent, ConsentText, Hit, Invitation, Item, TestPair, Worker
from tasks.next_hit import next_hit, next_layout
from tasks.packing import MOST_LAYOUTS, PackedItem, lay_out, pack
from tasks.pair_file import read_test_pairs
from tasks.pilots import LIVE, held_back, spread
from tasks.practice import standing_of

SUGGESTED_FROM = 10_000  # passages that are looked through for off-topic ones: what bounds a request's time
# After so many, for a query and for all, texts are too alike to look further.
NEAR_COPIES_OF_A_QUERY, NEAR_COPIES = 20, 200


class NoWork(Refused):
    """There is nothing that this worker may do now. The text says why."""

    title = "Nothing to do right now"


class LeftTooMany(NoWork):
    """The worker has left as many HITs as the campaign allows."""


# --- test pairs


@transaction.atomic
def test_pairs_suggest(*, campaign: Campaign, count: int, seed: int) -> list[TestPair]:
    """Suggest `count` test pairs, drawn from a seed: a query's qrel against a passage about something else.

    Each passage is used once in a campaign. The off-topic one is of another query: qrels or runs have it there, and no
    qrels and no run of the collection, as deep as runs are kept, have it for this query; nor is it nearly a copy of one
    that they have. Among such passages it is chosen so that a program counts in the test pair what it counts in one of
    the campaign's pairs, drawn at random: words shared with the question, words in common, lengths. A query for which
    there is none, or near copies come first, has no suggestion. A person confirms each test pair before it is used.
    """
    _must_be_draft(campaign)
    random = Random(seed)
    used = {key for keys in campaign.test_pairs.values_list("relevant_id", "off_topic_id") for key in keys}
    qrels = [
        qrel
        for qrel in Qrel.objects.filter(collection=campaign.collection, grade__gte=campaign.min_grade)
        .exclude(passage__in=[key for key in used if key is not None])
        .select_related("query", "passage")
        .order_by("position")
        if qrel.passage.text and qrel.query.text
    ]
    random.shuffle(qrels)
    reserved = {qrel.passage_id for qrel in qrels[:count]}  # as relevant passages: never used up as off-topic ones
    candidates = task_selectors.candidates(campaign, random, SUGGESTED_FROM)
    rarity = Rarity(candidate.words for candidate in candidates)
    models = [features_of(pair, rarity) for pair in task_selectors.sampled_pairs(campaign)]
    suggested: list[TestPair] = []
    near_copies = 0
    for qrel, related in _with_related(campaign, qrels, at_once=max(count, 1)):
        if len(suggested) == count or not models:
            break
        if qrel.passage_id in used:
            continue
        unfit = related | used | reserved
        fit = [candidate for candidate in candidates if candidate.key not in unfit]
        texts = Passage.objects.filter(pk__in=related).exclude(text="").values_list("text", flat=True)
        about = [shingles_of(text) for text in texts]
        model = random.choice(models)
        chosen, met = None, 0
        while met < NEAR_COPIES_OF_A_QUERY:
            chosen = choose_off_topic(qrel.query.text, qrel.passage.text, fit, model, rarity)
            if chosen is None:
                break
            off_topic = Passage.objects.get(pk=chosen.key)
            shingles = shingles_of(off_topic.text)
            if not any(is_near_copy(shingles, others) for others in about):
                break
            fit.remove(chosen)
            chosen, met = None, met + 1
        near_copies += met
        if near_copies >= NEAR_COPIES:
            break
        if chosen is None:
            continue
        used |= {qrel.passage_id, chosen.key}
        suggested.append(
            TestPair(
                campaign=campaign,
                question=qrel.query.text,
                relevant_text=qrel.passage.text,
                off_topic_text=off_topic.text,
                query=qrel.query,
                relevant=qrel.passage,
                off_topic=off_topic,
            )
        )
    return TestPair.objects.bulk_create(suggested)


def _with_related(campaign: Campaign, qrels: Sequence[Qrel], at_once: int) -> Iterator[tuple[Qrel, set[int]]]:
    """Qrels, each with the keys of all passages that may be about its query, which are looked up for `at_once`."""
    for start in range(0, len(qrels), at_once):
        batch = qrels[start : start + at_once]
        related: dict[int, set[int]] = {qrel.query_id: set() for qrel in batch}
        for query_id, passage_id in task_selectors.related_passages(campaign, list(related)):
            if query_id in related:
                related[query_id].add(passage_id)
        for qrel in batch:
            yield qrel, related[qrel.query_id]


@transaction.atomic
def test_pair_write(
    *, campaign: Campaign, question: str, relevant_text: str, off_topic_text: str, by: User | None, at: datetime
) -> TestPair:
    """Add a test pair in the researcher's own words. What a researcher writes is confirmed by that."""
    _must_be_draft(campaign)
    texts = [text.strip() for text in (question, relevant_text, off_topic_text)]
    if not all(texts):
        raise Refused(_("A test pair needs a question, a relevant passage and an off-topic passage."))
    if texts[1] == texts[2]:
        raise Refused(_("The two passages of a test pair must differ."))
    return TestPair.objects.create(
        campaign=campaign,
        question=texts[0],
        relevant_text=texts[1],
        off_topic_text=texts[2],
        state=TestPair.State.CONFIRMED,
        decided_by=by,
        decided_at=at,
    )


@transaction.atomic
def test_pairs_import(*, campaign: Campaign, path: Path) -> list[TestPair]:
    """Suggest the test pairs of a file, `query relevant off_topic` by id, and return those that were new.

    Raises Refused naming the ids that the collection does not hold, or holds without a text.
    """
    _must_be_draft(campaign)
    rows = list(read_test_pairs(path))
    queries = {query.qid: query for query in campaign.collection.queries.filter(qid__in=[row[0] for row in rows])}
    pids = [pid for row in rows for pid in row[1:]]
    passages = {p.pid: p for p in Passage.objects.filter(collection=campaign.collection, pid__in=pids).exclude(text="")}
    unknown = [qid for qid, *_pids in rows if qid not in queries] + [pid for pid in pids if pid not in passages]
    if unknown:
        raise Refused(
            _(
                "The collection has no text for: %(ids)s. To keep passages outside the pools, run manage.py "
                "import_collection with --keep all."
            )
            % {"ids": ", ".join(unknown[:10])}
        )
    before = list(campaign.test_pairs.values_list("id", flat=True))
    TestPair.objects.bulk_create(
        [
            TestPair(
                campaign=campaign,
                question=queries[qid].text,
                relevant_text=passages[relevant].text,
                off_topic_text=passages[off_topic].text,
                query=queries[qid],
                relevant=passages[relevant],
                off_topic=passages[off_topic],
            )
            for qid, relevant, off_topic in rows
        ],
        ignore_conflicts=True,
    )
    return list(campaign.test_pairs.exclude(id__in=before).order_by("id"))


@transaction.atomic
def test_pairs_copy(*, campaign: Campaign, source: Campaign, by: User | None, at: datetime) -> list[TestPair]:
    """Copy another campaign's confirmed test pairs to a draft, where they count as confirmed, and those that are proven
    as proven, too. Returns those that it did not have; one that it had as a suggestion is confirmed instead.

    Raises Refused if the other campaign belongs to another lab, or asks in another language.
    """
    _must_be_draft(campaign)
    if source.lab_id != campaign.lab_id:
        raise Refused(_("Test pairs can be copied within a lab only."))
    if source.language != campaign.language:
        raise Refused(
            _("“%(source)s” is in another language (%(theirs)s, and not %(ours)s), so its test pairs do not fit here.")
            % {"source": source.name, "theirs": source.language, "ours": campaign.language}
        )
    same_collection = source.collection_id == campaign.collection_id
    by_words = {_words_of(test): test for test in campaign.test_pairs.all()}
    copied = []
    for test in source.test_pairs.filter(state=TestPair.State.CONFIRMED).order_by("id"):
        here = by_words.get(_words_of(test))
        if here is None:
            here = TestPair(
                campaign=campaign,
                question=test.question,
                relevant_text=test.relevant_text,
                off_topic_text=test.off_topic_text,
                query_id=test.query_id if same_collection else None,
                relevant_id=test.relevant_id if same_collection else None,
                off_topic_id=test.off_topic_id if same_collection else None,
            )
        elif here.state != TestPair.State.SUGGESTED:
            continue
        here.state, here.decided_by, here.decided_at = TestPair.State.CONFIRMED, by, at
        here.proven_at, here.proven_by = test.proven_at or here.proven_at, test.proven_by or here.proven_by
        here.save()
        copied.append(here)
    return copied


def _words_of(test: TestPair) -> tuple[str, str, str]:
    return test.question, test.relevant_text, test.off_topic_text


@transaction.atomic
def test_pair_decide(*, test_pair: TestPair, confirm: bool, by: User | None, at: datetime) -> TestPair:
    """Confirm or decline a test pair; a decision can be changed until the campaign starts."""
    _must_be_draft(test_pair.campaign)
    test_pair.state = TestPair.State.CONFIRMED if confirm else TestPair.State.DECLINED
    test_pair.decided_by = by
    test_pair.decided_at = at
    test_pair.save(update_fields=["state", "decided_by", "decided_at"])
    return test_pair


@transaction.atomic
def test_pairs_decide(*, test_pairs: Iterable[TestPair], confirm: bool, by: User | None, at: datetime) -> None:
    """Confirm, or decline, several test pairs: all of them or none."""
    for test_pair in test_pairs:
        test_pair_decide(test_pair=test_pair, confirm=confirm, by=by, at=at)


@transaction.atomic
def test_pair_drop(*, test_pair: TestPair, why: str, by: User | None, at: datetime) -> bool:
    """Have a confirmed test pair say nothing about workers any more. It stays where it was packed. Returns whether it
    was confirmed before.
    """
    confirmed = TestPair.objects.filter(pk=test_pair.pk, state=TestPair.State.CONFIRMED)
    dropped = confirmed.update(state=TestPair.State.DROPPED, why_dropped=why, decided_by=by, decided_at=at)
    return bool(dropped)


@transaction.atomic
def test_pairs_prove(*, campaign: Campaign, test_pairs: Iterable[int], by: User | None, at: datetime) -> int:
    """Have test pairs, by key, decide about work from now on: `by` has passed them in a trial, or workers did. Returns
    how many were not proven before.
    """
    open_ = campaign.test_pairs.filter(state__in=[TestPair.State.SUGGESTED, TestPair.State.CONFIRMED], proven_at=None)
    proven = open_.filter(pk__in=list(test_pairs)).update(proven_at=at, proven_by=by)
    if proven:
        pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    return proven


# --- a campaign's start, pause and end


@transaction.atomic
def consent_write(*, campaign: Campaign, text: str) -> ConsentText:
    """Put a consent text in force, as a new version unless it is the current one already.

    Two people (or tabs) that write at once take turns: the same words are one version.
    """
    Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    current = task_selectors.current_consent(campaign)
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise Refused(_("The consent text is empty. Say what workers agree to."))
    if current is not None and current.text == text:
        return current
    written = ConsentText.objects.create(campaign=campaign, version=current.version + 1 if current else 1, text=text)
    pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    return written


@transaction.atomic
def campaign_launch(*, campaign: Campaign, pilot_hits: int | None = None) -> Campaign:
    """Fix the design and hand the campaign to packing. Launching again is not an error. With `pilot_hits`, it begins
    with so many HITs, and the rest is held back (`tasks.pilots`).

    Raises Refused, saying what is missing: pairs, texts of pooled passages or queries, or confirmed test pairs.
    """
    campaign = Campaign.objects.select_for_update().get(pk=campaign.pk)
    if campaign.state != Campaign.State.DRAFT:
        return campaign
    if pilot_hits is not None and pilot_hits < 1:
        raise Refused(_("A pilot has at least one HIT."))
    obstacles = task_selectors.launch_obstacles(campaign, afresh=True)
    if obstacles:
        raise Refused(" ".join(obstacles))
    if task_selectors.current_consent(campaign) is None:
        consent_write(campaign=campaign, text=default_consent(campaign))
    campaign.state, campaign.pilot_hits = Campaign.State.PACKING, pilot_hits
    campaign.archived_at = None  # nothing that goes on is left out of lists
    campaign.save(update_fields=["state", "pilot_hits", "archived_at"])
    alarms.alarm_settle(of=campaign, kind=CampaignAlarm.PACKING, at=timezone.now())
    return campaign


@transaction.atomic
def campaign_pack(*, campaign_id: int, report: Report | None = None) -> bool:
    """Pack a launched campaign's pairs into HITs, all or none, and open it.

    Which earlier judgments it reuses is fixed with that: their pairs are in no HIT.

    Returns False, having done nothing, if there is nothing to pack or another process is packing it. A campaign that
    lacks something is a draft again, with an alarm.
    """
    campaign = (
        Campaign.objects.select_for_update(skip_locked=True)
        .filter(pk=campaign_id, state=Campaign.State.PACKING)
        .first()
    )
    if campaign is None:
        return False
    report = report or silent()
    if campaign.untexted_count:
        pool_services.campaign_compare_texts(campaign=campaign, report=report)
    pool_services.twins_store(campaign=campaign)
    obstacles = task_selectors.lacking_pairs(campaign)
    lacking = task_selectors.lacking_tests(campaign)
    if lacking and reuse.reused_pairs(campaign, afresh=True) < campaign.pair_count:
        obstacles += lacking
    if obstacles:
        campaign.state = Campaign.State.DRAFT
        campaign.save(update_fields=["state"])
        text = _("The campaign could not be packed and is a draft again. %(why)s Then start it again.")
        alarms.alarm_raise(
            of=campaign, kind=CampaignAlarm.PACKING, text=text % {"why": " ".join(obstacles)}, at=timezone.now()
        )
        return False
    report(_("Looking for pairs that have been judged before"))
    reuse.reuse_fix(campaign=campaign)
    report(_("Dealing the pairs into HITs"))
    passages, pairs = task_selectors.passages_of_tests(campaign), pool_selectors.pairs_by_query(campaign)
    hits = (
        []
        if not pairs
        else pack(
            pairs,
            list(passages),
            passages=passages,
            seed=campaign.seed,
            pairs_per_hit=campaign.pairs_per_hit,
            tests_per_hit=campaign.tests_per_hit,
            fill_last=campaign.fill_last_hit,
        )
    )
    ids, first = next_ids(Hit, len(hits)), spread(range(1, len(hits) + 1), campaign.pilot_hits)
    most, numbers = campaign.repeated_hits(len(hits)), range(1, len(hits) + 1)
    repeated = spread(sorted(first), most)  # the pilot's first: it is to teach
    repeated |= spread(sorted({*numbers} - first), most - len(repeated))
    needed = {number: campaign.overlap + (number in repeated) for number in numbers}
    copy_rows(
        Hit,
        ["id", "campaign", "number", "needed", "wanted", "is_held"],
        (
            (
                *(pk, campaign.pk, number, needed[number] if number in first else 0),
                *(needed[number] if number in repeated else None, number not in first),
            )
            for number, pk in enumerate(ids, start=1)
        ),
    )
    step, layouts = _("Storing the items of the HITs"), {at: min(each, MOST_LAYOUTS) for at, each in needed.items()}
    items = sum(layouts[number] * len(hit) for number, hit in enumerate(hits, start=1))
    packed = enumerate(zip(ids, hits, strict=True), start=1)
    _items_copy(campaign, packed, layouts, lambda copied: report(step, copied, items, "rows"))
    campaign.further_judgments = sum(item.pair is not None for number in repeated for item in hits[number - 1])
    campaign.state = Campaign.State.OPEN
    campaign.save(update_fields=["state", "further_judgments"])
    return True


def campaign_move(*, campaign: Campaign, to: str) -> Campaign:
    """Pause, resume or close a campaign. Asking for the state that it has already is not an error."""
    states = Campaign.State
    allowed = {
        states.PAUSED: [states.OPEN],
        states.OPEN: [states.PAUSED, states.CLOSED],
        states.CLOSED: [states.OPEN, states.PAUSED],
    }
    if campaign.is_imported:
        raise NotNow(_("The judgments of this campaign were made elsewhere. Nobody can judge in it."))
    if to not in allowed:
        raise NotNow(_("A campaign cannot be set to “%(state)s”.") % {"state": to})
    changed: dict[str, Any] = {"state": to}
    if to == states.OPEN:
        changed |= {"resumed_at": timezone.now(), "archived_at": None}
    moved = Campaign.objects.filter(pk=campaign.pk, state__in=allowed[states(to)]).update(**changed)
    if moved:
        pool_services.campaign_reopen(campaign_id=campaign.pk)
    campaign.refresh_from_db()
    if not moved and campaign.state != to:
        raise NotNow(_("This cannot be done now, because the campaign is “%(state)s”.") % {"state": campaign.state})
    return campaign


# --- workers


def worker_join(*, campaign: Campaign, form: str) -> Worker:
    """A new worker, from a campaign's open link. `form` names the page they came with: sent twice, it is one worker."""
    worker, _new = Worker.objects.get_or_create(joined_with=form, defaults={"lab": campaign.lab, "platform": "link"})
    return worker


@transaction.atomic
def panel_invite(*, campaign: Campaign, labels: Iterable[str]) -> list[Invitation]:
    """Personal links for panel members, by name or address; those who have one keep it, and their first spelling."""
    people: dict[str, str] = {}
    for label in (label.strip()[:100] for label in labels):
        if key := compared(label):
            people.setdefault(key, label)
    invitations = []
    for key, label in people.items():
        worker, _new = Worker.objects.get_or_create(
            lab=campaign.lab, label_key=key, defaults={"label": label, "platform": "panel"}
        )
        invitation, _new = Invitation.objects.get_or_create(campaign=campaign, worker=worker)
        invitations.append(invitation)
    return invitations


def consent_give(*, worker: Worker, text: ConsentText) -> Consent:
    """Record that the worker agreed to this version. Agreeing again keeps the first time."""
    consent, _new = Consent.objects.get_or_create(worker=worker, text=text)
    return consent


def worker_bar(*, worker: Worker, at: datetime) -> bool:
    """Keep the worker from further HITs of the lab. Returns whether they were welcome before."""
    changed = Worker.objects.filter(pk=worker.pk, barred_at__isnull=True).update(barred_at=at)
    if changed:
        worker.barred_at = at
    return bool(changed)


def worker_unbar(*, worker: Worker) -> bool:
    """Let the worker take HITs of the lab again. Returns whether they were barred before."""
    return bool(Worker.objects.filter(pk=worker.pk, barred_at__isnull=False).update(barred_at=None))


# --- assignments


def assignment_take(*, worker: Worker, campaign: Campaign, at: datetime) -> Assignment:
    """The worker's current assignment, or a fresh one on the next HIT that they may do.

    Raises NoWork where there is none, with a sentence that says why.
    """
    current = task_selectors.current_assignment(worker, campaign)
    if current is not None:
        return current
    may_take(worker, campaign)
    try:
        return _take_next(worker, campaign, at, timedelta(minutes=campaign.minutes_per_hit))
    except IntegrityError:  # the same worker's other tab was first
        current = task_selectors.current_assignment(worker, campaign)
        if current is None:
            raise
        return current


@transaction.atomic
def visit_take(
    *, worker: Worker, campaign: Campaign, visit: str, lease: timedelta, came_from: str, at: datetime
) -> Assignment:
    """The assignment of a visit that a platform has confirmed, or a fresh one on the next HIT that the worker may do.

    `visit` is the platform's id of it: each gets a HIT of its own. Raises NoWork where there is none.
    """
    Worker.objects.select_for_update(of=("self",), no_key=True).get(pk=worker.pk)
    mine = Assignment.objects.filter(campaign=campaign, worker=worker, platform_assignment_id=visit).first()
    if mine is not None:
        return mine
    campaign.refresh_from_db()
    may_take(worker, campaign, came_from)
    return _take_next(worker, campaign, at, lease, platform_assignment_id=visit, came_from=came_from)


def _take_next(worker: Worker, campaign: Campaign, at: datetime, lease: timedelta, **columns: str) -> Assignment:
    """Lease the next HIT that a worker may do. Raises NoWork."""
    # A HIT that was free when it was found may be leased when its lock is held: look again, then pass on.
    for _attempt in range(20):
        with transaction.atomic():
            hit_id = next_hit(worker, campaign, at, lock=True)
            if hit_id is None:
                break
            hit = Hit.objects.get(pk=hit_id)
            if hit.needed > task_selectors.leases_running(hit_id, at):
                return Assignment.objects.create(
                    campaign=campaign,
                    hit=hit,
                    worker=worker,
                    layout=next_layout(hit_id, at),
                    taken_at=at,
                    leased_until=at + lease,
                    **columns,
                )
    raise NoWork(nothing_left_reason(campaign))


def no_work_reason(worker: Worker, campaign: Campaign) -> str:
    """Why this worker gets nothing whatever HITs wait; empty if they may."""
    try:
        may_take(worker, campaign)
    except NoWork as refused:
        return str(refused)
    return ""


def may_take(worker: Worker, campaign: Campaign, came_from: str = "") -> None:
    """Raise NoWork, saying why, if this worker gets nothing whatever HITs wait. `came_from` is that of a frame."""
    reason = _closed_reason(worker, campaign)
    if reason:
        raise NoWork(reason)
    if campaign.practice == Campaign.Practice.CHECK and standing_of(worker, campaign, came_from).is_refused:
        raise NoWork(
            _(
                "Thank you for trying. The practice questions were answered otherwise than this study needs, so there "
                "are no tasks for you here. If you have accepted one, please return it: it does not count against you."
            )
        )
    count = task_selectors.hit_taken_count(worker, campaign, came_from) if campaign.hits_per_worker else 0
    if campaign.hits_per_worker and count >= campaign.hits_per_worker:
        raise NoWork(_("Thank you! You have done as many tasks as one person can do here."))
    if task_selectors.left_count(worker, campaign, came_from).reaches(campaign):
        raise LeftTooMany(
            _(
                "You have left as many tasks as one person can leave here, so there are no more tasks for "
                "you. You are still paid for the answers that you gave."
            )
        )


def _closed_reason(worker: Worker, campaign: Campaign) -> str:
    if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        return _("The work has not started yet. Please come back later.")
    if campaign.state == Campaign.State.PAUSED:
        return _("The work is paused for now. Please come back later.")
    if campaign.state == Campaign.State.CLOSED:
        return _("This work is finished. Thank you for your interest.")
    if Worker.objects.filter(pk=worker.pk, barred_at__isnull=False).exists():
        return _(
            "Thank you for your work. There are no more tasks for you from this research group. What you "
            "have done stays on your receipts."
        )
    return ""


class Further(NamedTuple):
    """Pairs, by query, that each lack `needed` judgments of the `target` that they are to have; None for as many as the
    campaign asks of every pair.
    """

    needed: int
    target: int | None
    pairs_by_query: Sequence[Sequence[int]]


@transaction.atomic
def hits_add(*, campaign: Campaign, groups: Iterable[Further], after: int) -> int:
    """Ask for more judgments of pairs than the campaign's design does: pack them into new HITs. How many judgments.

    `after` is the number of the last HIT as somebody saw it: NotNow where others were added since, so that pressing a
    button twice asks once, and unless the campaign is open or paused.
    """
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    if campaign.state not in LIVE:
        raise NotNow(_("This cannot be done now, because the campaign is “%(state)s”.") % {"state": campaign.state})
    if _last_number(campaign) != after:
        raise NotNow(_("More judgments have been asked for in the meantime. Look at the new offer first."))
    judgments = 0
    for group in groups:
        _pack_more(campaign, group)
        judgments += group.needed * sum(map(len, group.pairs_by_query))
    if judgments:
        Campaign.objects.filter(pk=campaign.pk).update(further_judgments=F("further_judgments") + judgments)
        pool_services.campaign_reopen(campaign_id=campaign.pk)
    return judgments


@transaction.atomic
def hits_of_round(*, campaign: Campaign, pairs_by_query: Sequence[Sequence[int]]) -> int:
    """Pack pairs that nobody was asked about into new HITs of a campaign that goes on. How many HITs.

    The caller holds the campaign's lock.
    """
    hits = _pack_more(campaign, Further(campaign.overlap, None, pairs_by_query))
    pool_services.campaign_reopen(campaign_id=campaign.pk)
    return hits


@transaction.atomic
def pairs_ask_again(*, campaign: Campaign, judgments: int, pairs_by_query: Sequence[Sequence[int]]) -> int:
    """Pack pairs that have so many judgments into new HITs, for one more each. How many HITs.

    The caller holds the campaign's lock.
    """
    hits = _pack_more(campaign, Further(1, judgments + 1, pairs_by_query))
    count = sum(map(len, pairs_by_query))
    Campaign.objects.filter(pk=campaign.pk).update(further_judgments=F("further_judgments") + count)
    pool_services.campaign_reopen(campaign_id=campaign.pk)
    return hits


def _last_number(campaign: Campaign) -> int:
    return campaign.hits.aggregate(last=Max("number"))["last"] or 0


def _pack_more(campaign: Campaign, group: Further) -> int:
    """Pack pairs into HITs behind the last one. How many HITs."""
    last, tests = _last_number(campaign), task_selectors.passages_of_tests(campaign)
    hits = pack(
        group.pairs_by_query,
        list(tests),
        passages=tests,
        seed=campaign.seed + last,
        pairs_per_hit=campaign.pairs_per_hit,
        tests_per_hit=campaign.tests_per_hit,
    )
    ids, layouts = next_ids(Hit, len(hits)), min(group.needed, MOST_LAYOUTS)
    copy_rows(
        Hit,
        ["id", "campaign", "number", "needed", "wanted", "is_held"],
        ((pk, campaign.pk, number, group.needed, group.target, False) for number, pk in enumerate(ids, start=last + 1)),
    )
    packed = enumerate(zip(ids, hits, strict=True), start=last + 1)
    _items_copy(campaign, packed, dict.fromkeys(range(last + 1, last + len(hits) + 1), layouts))
    return len(hits)


def _items_copy(
    campaign: Campaign,
    hits: Iterable[tuple[int, tuple[int, Sequence[PackedItem]]]],
    layouts: Mapping[int, int],
    copied: Callable[[int], None] | None = None,
) -> None:
    """Store the items of HITs, given as (number, (key, items)), each in as many layouts as its number says."""
    copy_rows(
        Item,
        ["hit", "layout", "position", "pair", "test", "a_left"],
        (
            (pk, layout, position, item.pair, item.test, item.a_left)
            for number, (pk, hit) in hits
            for layout, items in enumerate(lay_out(hit, layouts[number], seed=f"{campaign.seed} {number}"))
            for position, item in enumerate(items, start=1)
        ),
        copied,
    )


def nothing_left_reason(campaign: Campaign) -> str:
    """Why no HIT is left for a worker who may take one."""
    if Hit.objects.filter(campaign=campaign, needed__gt=0).exists():
        return _("Other people are working on every task that you could do. Please come back later.")
    is_between = campaign.pairing.is_staged and campaign.rounds_revision is None
    if held_back(campaign) or is_between:
        return _("There are no more tasks for now. Please come back later.")
    return _("All tasks are done. Thank you!")


def assignment_lapse(*, assignment: Assignment, at: datetime) -> bool:
    """End a lease early, so that another worker can take the HIT. Late work is still accepted."""
    return bool(
        Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.ACTIVE, leased_until__gt=at).update(
            leased_until=at
        )
    )


def assignment_end(*, assignment: Assignment, judged: int, left: bool, at: datetime) -> bool:
    """Take an active assignment's work as final, with what is owed for it and a receipt.

    Returns False, changing nothing, where it was final before. The caller holds the transaction.
    """
    ended = {
        "state": Assignment.State.LEFT if left else Assignment.State.SUBMITTED,
        "finished_at": at,
        "judged": judged,
        "owed": owed(assignment.campaign.reward, judged, assignment.items.count()),
        "receipt": receipt_code(assignment),
    }
    if not Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.ACTIVE).update(**ended):
        return False
    for name, value in ended.items():
        setattr(assignment, name, value)
    return True


def assignment_set_verdict(*, assignment: Assignment, verdict: str) -> None:
    """Store whether an assignment's data are used."""
    Assignment.objects.filter(pk=assignment.pk).update(verdict=verdict)
    assignment.verdict = verdict


def hits_recount(*, hit_ids: Iterable[int], counted_in: str) -> None:
    """Set `needed` of HITs from their pairs' filled slots, which the table `counted_in` holds, one row a slot. Pairs
    that were set aside need nothing. Work that waits for a person is needed of nobody else before they decide.
    """
    table = connection.ops.quote_name(counted_in)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE tasks_hit hit
            SET needed = CASE WHEN hit.is_held OR campaign.origin IS NOT NULL THEN 0
              ELSE greatest(0, coalesce(hit.wanted, campaign.overlap) - filled.fewest - (
                SELECT count(*) FROM tasks_assignment held WHERE held.hit_id = hit.id AND held.verdict = 'held')) END
            FROM pools_campaign campaign, (
              SELECT hit_id, min(slots) AS fewest FROM (
                SELECT item.hit_id, item.pair_id,
                  CASE WHEN pair.is_set_aside THEN 32767 ELSE count(slot.id) END AS slots
                FROM tasks_item item
                  JOIN pools_pair pair ON pair.id = item.pair_id
                  LEFT JOIN {table} slot ON slot.pair_id = item.pair_id
                WHERE item.hit_id = ANY(%s) AND item.layout = 0
                GROUP BY item.hit_id, item.pair_id, pair.is_set_aside) counted
              GROUP BY hit_id) filled
            WHERE hit.id = filled.hit_id AND campaign.id = hit.campaign_id
            """,  # noqa: S608
            [list(hit_ids)],
        )


def receipt_code(assignment: Assignment) -> str:
    """A short code that only we can make, to be quoted when asking about payment: `7K3M-Q2ZD-91XA`."""
    digest = hmac.new(settings.SECRET_KEY.encode(), f"receipt {assignment.pk}".encode(), hashlib.sha256).digest()
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    letters = "".join(alphabet[byte % 32] for byte in digest[:12])
    return "-".join((letters[:4], letters[4:8], letters[8:]))


def next_test_seed(campaign: Campaign) -> int:
    """A seed for the next suggestion, so that asking again suggests others."""
    return campaign.seed + (campaign.test_pairs.aggregate(last=Max("id"))["last"] or 0)


@transaction.atomic
def practice_write(*, campaign: Campaign, pairs: Iterable[PracticePair]) -> Campaign:
    """Replace a draft's practice pairs. Raises Refused where one of them is none, or there are too many."""
    _practice_must_be_open(campaign)
    campaign.practice_pairs = write_practice_pairs(pairs)
    practice_check(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(practice_pairs=campaign.practice_pairs)
    return campaign


@transaction.atomic
def practice_set(*, campaign: Campaign, practice: str, right: int | None) -> Campaign:
    """Say what the workers of a draft do before their first HIT. `right`: how many right answers pass a comprehension
    check, None for all. Raises Refused where there are fewer practice pairs than that.
    """
    _practice_must_be_open(campaign)
    campaign.practice, campaign.practice_right = practice, right
    practice_check(campaign)
    count = len(read_practice_pairs(campaign.practice_pairs))
    if (campaign.practice_right or 0) > count:
        raise Refused(_("There are only %(count)d practice pairs.") % {"count": count})
    Campaign.objects.filter(pk=campaign.pk).update(practice=campaign.practice, practice_right=campaign.practice_right)
    return campaign


@transaction.atomic
def practice_add(*, campaign: Campaign, pair: PracticePair) -> int:
    """Add a practice pair to a draft, as its last, and return its number. Raises Refused as practice_write does."""
    _practice_must_be_open(campaign)
    pairs = [*read_practice_pairs(campaign.practice_pairs), pair]
    practice_write(campaign=campaign, pairs=pairs)
    return len(pairs)


@transaction.atomic
def practice_change(*, campaign: Campaign, number: int, pair: PracticePair | None) -> Campaign:
    """Replace a draft's practice pair of this number, from 1, or remove it (None). Raises NotYours where there is none,
    and Refused as practice_write does.
    """
    _practice_must_be_open(campaign)
    pairs = read_practice_pairs(campaign.practice_pairs)
    if not 1 <= number <= len(pairs):
        raise NotYours(_("This campaign has no such practice pair."))
    pairs[number - 1 : number] = [] if pair is None else [pair]
    return practice_write(campaign=campaign, pairs=pairs)


def _practice_must_be_open(campaign: Campaign) -> None:
    """Refuse what a start has fixed, and read practice as it now is: until the transaction ends, it stays so."""
    _must_be_draft(campaign, _("The campaign has started, so its practice pairs can no longer be changed."))
    campaign.refresh_from_db(fields=["practice", "practice_right", "practice_pairs"])


@transaction.atomic
def practice_take_test(*, test_pair: TestPair, why: str, by: User | None, at: datetime) -> Campaign:
    """Make a confirmed test pair of a draft a practice pair. It counts as declined then: it is in no HIT."""
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=test_pair.campaign_id)
    if test_pair.state != TestPair.State.CONFIRMED:
        raise NotNow(_("Only a confirmed test pair can be used for practice."))
    pair = task_selectors.practice_of_test(test_pair, why)
    if task_selectors.asked_about(campaign, {pair.question}):
        raise NotNow(_("The campaign asks about the same query: practice would tell workers which passage is better."))
    practice_write(campaign=campaign, pairs=[*read_practice_pairs(campaign.practice_pairs), pair])
    test_pair_decide(test_pair=test_pair, confirm=False, by=by, at=at)
    return campaign


def _must_be_draft(campaign: Campaign, refusal: str = "") -> None:
    """Refuse to change what a start has fixed. Until the transaction ends, the campaign cannot be started."""
    state = Campaign.objects.select_for_update(no_key=True).values_list("state", flat=True).get(pk=campaign.pk)
    if state != Campaign.State.DRAFT:
        raise NotNow(refusal or _("The campaign has started, so its test pairs can no longer be changed."))
