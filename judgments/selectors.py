"""Reading judgments: what counts, who beat whom, and what each worker did."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    FilteredRelation,
    FloatField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.functions import Coalesce, Collate
from django.utils.translation import gettext_lazy

from core.lists import count_of
from core.models import User
from core.roles import labs_of
from core.version import VERSION
from evaluation.files.preferences import Preference
from evaluation.judging.reading import least_minutes
from evaluation.judging.tournament import Derived
from judgments.models import (
    Acceptance,
    Adjudication,
    AssignmentSummary,
    CampaignSummary,
    Decision,
    Export,
    Judgment,
    PairReport,
    Reuse,
    ReusedJudgment,
    StoredFile,
    Summarized,
    WorkerSummary,
    is_for_a,
)
from platforms.models import HandPayment, Payment, Publication, Submission, listed_reward
from platforms.registry import SANDBOXES
from pools.counting import Total, totals_of
from pools.models import Campaign, Pair, Pool
from runs.models import Collection, ImportedPreference, Query
from tasks.models import Assignment, Item, TestPair, Worker
from tasks.names import with_name
from tasks.selectors import least_seconds

# What the export files hold. A new one makes all of them again.
FORMAT = 10
SOFTWARE = f"{VERSION}/{FORMAT}"
GONE_AFTER, GONE_AFTER_LINK = timedelta(hours=1), timedelta(days=1)  # after the lease, and the last answer


def standing_reports(assignment: Assignment) -> QuerySet[PairReport]:
    """The reports of an assignment that its worker has not withdrawn by judging the item after all."""
    return PairReport.objects.filter(assignment=assignment, withdrawn_at=None)


def effective(assignment: Assignment) -> dict[int, Judgment]:
    """The newest judgment of each item of an assignment that is not reported, by item key."""
    rows = Judgment.objects.filter(assignment=assignment).order_by("item_id", "-id").distinct("item_id")
    rows = rows.exclude(item__in=standing_reports(assignment).values("item"))
    return {judgment.item_id: judgment for judgment in rows.select_related("item")}


def is_too_fast(assignment: Assignment) -> bool:
    """Whether more than half of the pairs that were judged were shown for less time than reading them takes."""
    judged = effective(assignment)
    items = Item.objects.filter(id__in=judged, pair__isnull=False)
    texts = list(items.values_list("id", "pair__pool__query__text", "pair__a__text", "pair__b__text"))
    fast = 0
    for item, *words in texts:
        seconds = (judged[item].made_at - judged[item].shown_at).total_seconds()
        fast += seconds < 60 * least_minutes(words)
    return 2 * fast > len(texts)


def answered_count(assignment: Assignment) -> int:
    """How many items of an assignment have been judged or reported: what its worker is paid for."""
    judged = Judgment.objects.filter(assignment=assignment).values("item")
    return judged.union(standing_reports(assignment).values("item")).count()


def exceeds_reports(assignment: Assignment) -> bool:
    """Whether a person should look before the work is used: more of it is reported than the campaign allows (one item
    always is), or every test pair, so that nothing shows its care.
    """
    reported = list(standing_reports(assignment).values_list("item", flat=True))
    if len(reported) > 1 and len(reported) > assignment.campaign.report_share * assignment.items.count():
        return True
    tests = assignment.items.filter(test__isnull=False).values_list("id", "test__state")
    shows_nothing = [state == TestPair.State.DROPPED or item in reported for item, state in tests]
    return bool(shows_nothing) and all(shows_nothing)


def failed_tests(assignment: Assignment, *, proven: bool = True) -> list[Judgment]:
    """The proven test pairs of an assignment (or those that are not proven yet) on which the off-topic passage was
    preferred, but for those that were dropped.
    """
    tests = assignment.items.filter(test__isnull=False).exclude(test__state=TestPair.State.DROPPED)
    ids = set(tests.filter(test__proven_at__isnull=not proven).values_list("id", flat=True))
    judgments = effective(assignment).values() if ids else ()
    return [judgment for judgment in judgments if judgment.item_id in ids and not judgment.prefers_a]


def all_tests_answered(assignment: Assignment) -> bool:
    """Whether every test pair of the assignment's HIT was judged or reported."""
    tests = assignment.items.filter(test__isnull=False)
    unjudged = tests.exclude(judgments__assignment=assignment)
    return not unjudged.exclude(id__in=standing_reports(assignment).values("item")).exists()


def verdict_without_failure(assignment: Assignment) -> Assignment.Verdict:
    """What the campaign's rule makes of work that has ended, where no proven test pair was failed. Where one was failed
    that is not proven yet, it waits.
    """
    never = assignment.campaign.partial == Campaign.Partial.NEVER
    if assignment.state == Assignment.State.LEFT and (never or not all_tests_answered(assignment)):
        return Assignment.Verdict.UNCHECKED
    waits = exceeds_reports(assignment) or failed_tests(assignment, proven=False)
    return Assignment.Verdict.HELD if waits else Assignment.Verdict.ACCEPTED


def confirmed_unchecked() -> QuerySet[Assignment]:
    """Work that has ended and waits for its check, and that a platform has confirmed: it was submitted there by that
    worker with our receipt, or the worker took the compensation for it.
    """
    compensated = Payment.objects.filter(purpose=Payment.Purpose.COMPENSATION, state=Payment.State.PAID)
    confirmed = Q(submission__isnull=False) | Q(pk__in=compensated.values("assignment"))
    waiting = Assignment.objects.filter(verdict=Assignment.Verdict.PENDING).exclude(state=Assignment.State.ACTIVE)
    return waiting.filter(confirmed)


def abandoned(at: datetime) -> QuerySet[Assignment]:
    """Work whose time is over, and of whose worker nothing more has come for an hour; for a day where they came by a
    link or from a panel, and may come back whenever they like.
    """
    active = Assignment.objects.filter(state=Assignment.State.ACTIVE)
    by_link = Q(platform_assignment_id="")
    over = Q(leased_until__lte=at - GONE_AFTER) & ~by_link | Q(leased_until__lte=at - GONE_AFTER_LINK) & by_link
    answers = Judgment.objects.filter(assignment=OuterRef("pk"))
    recent = answers.filter(made_at__gt=at - GONE_AFTER)
    recent_by_link = answers.filter(made_at__gt=at - GONE_AFTER_LINK)
    return active.filter(over).exclude(Exists(recent)).exclude(by_link, Exists(recent_by_link))


def failed_meanwhile(assignment: Assignment, since: datetime | None = None) -> Decision | None:
    """The first exclusion of other work of this worker in the campaign for its own failed test pairs, after they had
    taken this (or after another moment); None if there was none.
    """
    decisions = Decision.objects.filter(
        campaign_id=assignment.campaign_id,
        worker_id=assignment.worker_id,
        kind=Decision.Kind.EXCLUDED,
        by=None,
        at__gt=since or assignment.taken_at,
        assignment__verdict=Assignment.Verdict.EXCLUDED,  # a person may have taken it back
    )
    others = decisions.exclude(assignment=assignment).select_related("assignment").order_by("id")
    return next((other for other in others if other.assignment is not None and failed_tests(other.assignment)), None)


class Waiting(NamedTuple):
    """A judgment that may fill a slot of its pair."""

    pair_id: int
    judgment_id: int
    worker_id: int
    assignment_id: int


def waiting_for(pair_ids: Iterable[int]) -> list[Waiting]:
    """Effective judgments of accepted assignments that fill no slot yet, in the order in which work was finished; none
    of items that are reported.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT item.pair_id, newest.id, assignment.worker_id, assignment.id
            FROM tasks_item item
            JOIN tasks_assignment assignment ON assignment.hit_id = item.hit_id
              AND assignment.layout = item.layout AND assignment.verdict = 'accepted'
            CROSS JOIN LATERAL (
              SELECT judgment.id FROM judgments_judgment judgment
              WHERE judgment.assignment_id = assignment.id AND judgment.item_id = item.id
              ORDER BY judgment.id DESC LIMIT 1) newest
            WHERE item.pair_id = ANY(%s)
              AND NOT EXISTS (SELECT 1 FROM judgments_acceptance a WHERE a.judgment_id = newest.id)
              AND NOT EXISTS (
                SELECT 1 FROM judgments_pairreport report
                WHERE report.assignment_id = assignment.id AND report.item_id = item.id AND report.withdrawn_at IS NULL)
            ORDER BY assignment.finished_at, assignment.id, item.position
            """,
            [list(pair_ids)],
        )
        return [Waiting(*row) for row in cursor.fetchall()]


def adjudications_of(campaign: Campaign, pool: Pool | None = None) -> QuerySet[Adjudication]:
    """What people decided on pairs of a campaign (or of one pool) whose judgments disagree, and did not take back."""
    standing = Adjudication.objects.filter(campaign=campaign, undone_at=None)
    if pool is not None:
        standing = standing.filter(pair__pool=pool)
    return standing.select_related("pair__pool__query", "pair__a", "pair__b", "by").order_by("pair")


def preferred_of(a: str, b: str, prefers_a: bool | None) -> str | None:
    """The passage that a stored judgment prefers, None for a tie."""
    return None if prefers_a is None else a if prefers_a else b


class ReusedRow(NamedTuple):
    """A judgment made before that fills a slot of a pair. `judgment` is its key, or `line` that in the imported file.

    `prefers_a` is None for a tie. `made_at`: when it was made, or imported. `counts`: whether it still counts in the
    campaign that it was made in.
    """

    query: str
    a: str
    b: str
    slot: int
    prefers_a: bool | None
    reuse_id: int
    judgment: int | None
    line: int | None
    worker_id: int | None
    made_at: datetime
    counts: bool

    @property
    def preference(self) -> Preference:
        """The judgment alone."""
        return Preference(self.query, self.a, self.b, preferred_of(self.a, self.b, self.prefers_a))


def reused_judgments(campaign: Campaign, pool: Pool | None = None) -> list[ReusedRow]:
    """The judgments that a campaign reuses (or those on one pool), sorted."""
    if not campaign.reused_pair_count:
        return []
    rows = ReusedJudgment.objects.filter(reuse__campaign=campaign)
    if pool is not None:
        rows = rows.filter(pair__pool=pool)
    counts = Q(imported__isnull=False) | Q(judgment__acceptance__isnull=False)
    columns = rows.values_list(
        "pair__pool__query__qid", "pair__a__pid", "pair__b__pid", "slot", "prefers_a", "reuse_id", "judgment_id",
        "imported__line", "worker_id", Coalesce("judgment__made_at", "imported__source__imported_at"),
        ExpressionWrapper(counts, output_field=BooleanField()),
    )  # fmt: skip
    return sorted(ReusedRow(*row) for row in columns.iterator(chunk_size=20_000))


def reuses_of(campaign: Campaign) -> QuerySet[Reuse]:
    """What a campaign reuses, by source: campaigns before imports, the oldest first."""
    return Reuse.objects.filter(campaign=campaign).select_related("source", "imported").order_by("source", "imported")


class CollectionPreference(NamedTuple):
    """One judgment that counts in a collection: of a campaign by a worker, or of an import's line. `a` and `b` are in
    canonical order, and `preferred` is None for a tie. `key` is that of the judgment, or of the imported
    line; `at`, when it was made, or imported.
    """

    query: str
    a: str
    b: str
    preferred: str | None
    at: datetime
    key: int
    campaign_id: int | None
    import_id: int | None
    worker_id: int | None

    @property
    def preference(self) -> Preference:
        """The judgment alone."""
        return Preference(self.query, self.a, self.b, self.preferred)


def trial_campaigns() -> QuerySet[Campaign]:
    """The campaigns that were published to the sandbox of Mechanical Turk: nobody judges there in earnest, so what is
    judged there counts in that campaign alone.
    """
    published = Publication.objects.exclude(state=Publication.State.DRAFT)
    return Campaign.objects.filter(pk__in=published.filter(platform__in=SANDBOXES).values("campaign"))


def collection_preferences(
    collection: Collection, *, before: datetime | None = None, query: Query | None = None
) -> list[CollectionPreference]:
    """Every judgment that counts in a collection (or on one query), of its campaigns and its imports, oldest first.

    What a campaign reuses is there once, as of the campaign that paid for it. `before` leaves out what was made, or
    imported, at that time or later. Which of the judgments count is a matter of now. Those of trials never do.
    """
    accepted = Acceptance.objects.filter(
        pair__pool__campaign__collection=collection, pair__pool__campaign__lab=collection.lab_id
    ).exclude(pair__pool__campaign__in=trial_campaigns().values("pk"))
    imported = ImportedPreference.objects.filter(source__collection=collection)
    if before is not None:
        accepted = accepted.filter(judgment__made_at__lt=before)
        imported = imported.filter(source__imported_at__lt=before)
    if query is not None:
        accepted, imported = accepted.filter(pair__pool__query=query), imported.filter(query=query)
    judged = accepted.values_list(
        "pair__pool__query__qid", "pair__a__pid", "pair__b__pid", "judgment__preferred", "judgment__item__a_left",
        "judgment__made_at", "judgment_id", "assignment__campaign_id", "worker_id",
    )  # fmt: skip
    lines = imported.values_list(
        "query__qid", "a__pid", "b__pid", "prefers_a", "source__imported_at", "id", "source_id"
    )
    rows = [
        CollectionPreference(qid, a, b, preferred_of(a, b, is_for_a(side, left)), at, key, campaign, None, worker)
        for qid, a, b, side, left, at, key, campaign, worker in judged.iterator(chunk_size=20_000)
    ]
    rows += [
        CollectionPreference(qid, a, b, preferred_of(a, b, prefers_a), at, key, None, source, None)
        for qid, a, b, prefers_a, at, key, source in lines.iterator(chunk_size=20_000)
    ]
    return sorted(rows, key=lambda row: (row.at, row.import_id is not None, row.key))


def asked_pairs(campaign: Campaign) -> Iterator[tuple[str, str, str]]:
    """The pairs that the design asks about, as `(query, a, b)` by id, sorted, a few at a time in memory."""
    ids = ("pool__query__qid", "a__pid", "b__pid")
    pairs = Pair.objects.filter(pool__campaign=campaign).order_by(*(Collate(name, "C") for name in ids))
    return pairs.values_list(*ids).iterator(chunk_size=20_000)


class JudgingProgress(NamedTuple):
    """How many pairs of a campaign have all the accepted judgments that they need.

    `reused` of them were judged before. `accepted` counts judgments of the campaign's own workers; `unused`, good ones
    that found no free slot: late work, and what was judged again beside a pair that needed it.
    """

    pairs: int
    done: int
    accepted: int
    unused: int
    reused: int


def waiting_pairs(assignment: Assignment) -> int:
    """How many pairs of an assignment's HIT need a judgment more."""
    pairs = Pair.objects.filter(items__hit=assignment.hit_id, is_set_aside=False)
    filled = pairs.annotate(slots=Count("acceptances", distinct=True))
    return filled.filter(slots__lt=assignment.campaign.slots_needed).count()


def judging_progress(campaign: Campaign) -> JudgingProgress:
    """How far a campaign's pairs are, from what is kept counted."""
    totals = totals_of([campaign.pk], "accepted", "full", "good")[campaign.pk]
    accepted, full, good = (totals.get((name, ""), Total()).rows for name in ("accepted", "full", "good"))
    reused = campaign.reused_pair_count
    return JudgingProgress(campaign.pair_count, full + reused, accepted, good - accepted, reused)


class Moment(NamedTuple):
    """What tells whether export files are still what they would be if they were made now.

    `revision` grows when work ends, or is decided on. Work that goes on changes them too: the keys of the newest
    assignment, and of the newest judgment of an assignment that has not ended; 0 without any.
    """

    revision: int
    newest_assignment: int
    newest_judgment: int


def moment_of(campaign: Campaign) -> Moment:
    """The campaign's present moment."""
    revision = Campaign.objects.values_list("revision", flat=True).get(pk=campaign.pk)
    going_on = Judgment.objects.filter(assignment__campaign=campaign, assignment__state=Assignment.State.ACTIVE)
    return Moment(
        revision,
        campaign.assignments.aggregate(newest=Max("id", default=0))["newest"],
        going_on.aggregate(newest=Max("id", default=0))["newest"],
    )


def campaigns_to_export() -> QuerySet[Campaign]:
    """Campaigns that have started and whose export files are missing, or would be others now."""
    newer = Assignment.objects.filter(campaign=OuterRef("pk"), id__gt=OuterRef("export__newest_assignment"))
    saved = Judgment.objects.filter(
        assignment__campaign=OuterRef("pk"),
        assignment__state=Assignment.State.ACTIVE,
        id__gt=OuterRef("export__newest_judgment"),
    )
    going_on = ~Q(finished_revision=F("revision"), finished_revision__isnull=False)
    outdated = (
        Q(export=None)
        | ~Q(export__revision=F("revision"), export__software=SOFTWARE)
        | going_on & (Q(Exists(newer)) | Q(Exists(saved)))
    )
    started = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.PACKING])
    return started.filter(outdated)


class Counts(NamedTuple):
    """A campaign in numbers, as they were when its export files were made.

    `judging` is its progress, as a dictionary; `deadlocks` are sizes, each with how many pools have one. `withdrawn` of
    the reused judgments do not count in the campaign that they were made in any more.
    """

    judging: dict[str, int]
    pools: int
    single: int
    deadlocks: list[tuple[int, int]]
    incomplete: int
    withdrawn: int


def counts_of(campaign: Campaign, outcome: Derived, reused: Iterable[ReusedRow]) -> Counts:
    return Counts(
        judging=judging_progress(campaign)._asdict(),
        pools=outcome.single + sum(outcome.deadlocks.values()) + len(outcome.incomplete),
        single=outcome.single,
        deadlocks=sorted(outcome.deadlocks.items()),
        incomplete=len(outcome.incomplete),
        withdrawn=sum(not row.counts for row in reused),
    )


def export_of(campaign: Campaign) -> Export | None:
    """When and from what the campaign's export files were last made; None before the first time."""
    return Export.objects.filter(campaign=campaign).first()


def stored_files(campaign: Campaign, kind: str) -> dict[str, StoredFile]:
    """The current stored files of a kind by name."""
    current = StoredFile.objects.filter(campaign=campaign, kind=kind, state=StoredFile.State.CURRENT)
    return {file.name: file for file in current}


def stored_file(campaign: Campaign, kind: str, name: str) -> StoredFile | None:
    """One current stored file; None if none of this name was made."""
    current = StoredFile.objects.filter(campaign=campaign, kind=kind, state=StoredFile.State.CURRENT)
    return current.filter(name=name).first()


def assignments_of(campaign: Campaign) -> QuerySet[Assignment]:
    """A campaign's assignments, newest first, with worker and HIT."""
    return campaign.assignments.select_related("worker", "hit").order_by("-id")


class PoolRow(NamedTuple):
    """One line of a campaign's list of queries. `waiting`: pairs without all the accepted judgments they need."""

    pk: int
    qid: str
    text: str
    passages: int
    pairs: int
    waiting: int


def pools_by_query(campaign: Campaign) -> QuerySet[Pool]:
    """A campaign's pools by query id."""
    # With the collection said too, queries are read in the order of their ids, as far as the page goes.
    pools = Pool.objects.filter(campaign=campaign, query__collection=campaign.collection_id)
    return pools.order_by("query__qid")


def pool_rows(pools: Iterable[Pool], overlap: int) -> list[PoolRow]:
    """Lines for some pools, in their order."""
    keys = [pool.pk for pool in pools]
    rows = (
        Pool.objects.filter(pk__in=keys)
        .annotate(passages=Count("candidates", distinct=True))
        .values_list("pk", "query__qid", "query__text", "passages")
    )
    pairs: Counter[int] = Counter()
    waiting: Counter[int] = Counter()
    slots = (
        Pair.objects.filter(pool__in=keys)
        .annotate(slots=Count("acceptances"))
        .values_list("pool_id", "is_reused", "slots")
    )
    for pool_id, is_reused, filled in slots:
        pairs[pool_id] += 1
        waiting[pool_id] += not is_reused and filled < overlap
    by_pk = {pk: PoolRow(pk, qid, text, passages, pairs[pk], waiting[pk]) for pk, qid, text, passages in rows}
    return [by_pk[pk] for pk in keys]


class JudgmentRow(NamedTuple):
    """One judgment as it is exported and shown, changed minds included."""

    pk: int
    worker_id: int
    hit: int
    assignment_id: int
    position: int
    test_id: int | None
    qid: str | None
    a: str | None
    b: str | None
    a_left: bool
    preferred: str | None
    shown_at: datetime
    made_at: datetime
    verdict: str
    is_translated: bool
    accepted: bool
    superseded: bool

    @property
    def prefers_a(self) -> bool | None:
        """Whether a was preferred; None for a tie."""
        return is_for_a(self.preferred, self.a_left)


def judgment_rows(campaign: Campaign, pool: Pool | None = None, pair: Pair | None = None) -> Iterator[JudgmentRow]:
    """Every judgment of a campaign (or on one pool, or one pair), in the order in which they were made."""
    judgments = Judgment.objects.filter(assignment__campaign=campaign)
    if pair is not None:
        judgments = judgments.filter(item__pair=pair)
    if pool is not None:
        judgments = judgments.filter(item__pair__pool=pool)
    later = Judgment.objects.filter(assignment=OuterRef("assignment"), item=OuterRef("item"), id__gt=OuterRef("id"))
    reported = PairReport.objects.filter(
        assignment=OuterRef("assignment"),
        item=OuterRef("item"),
        withdrawn_at=None,
        assignment__finished_at__isnull=False,  # until then the worker may judge it after all
    )
    superseded = {  # few
        pk for rows in (later, reported) for pk in judgments.filter(Exists(rows)).values_list("id", flat=True)
    }
    rows = judgments.order_by("id").values_list(
        "id",
        "assignment__worker_id",
        "assignment__hit__number",
        "assignment_id",
        "item__position",
        "item__test_id",
        "item__pair__pool__query__qid",
        "item__pair__a__pid",
        "item__pair__b__pid",
        "item__a_left",
        "preferred",
        "shown_at",
        "made_at",
        "assignment__verdict",
        "is_translated",
        "acceptance__id",
    )
    for row in rows.iterator(chunk_size=10_000):
        yield JudgmentRow(*row[:-1], accepted=row[-1] is not None, superseded=row[0] in superseded)


def pair_reports(campaign: Campaign) -> QuerySet[PairReport]:
    """Every report of a campaign, newest first, with what it is about and who made it."""
    reports = PairReport.objects.filter(assignment__campaign=campaign).order_by("-id")
    return reports.select_related(
        "assignment__worker",
        "assignment__hit",
        "item__pair__pool__query",
        "item__pair__a",
        "item__pair__b",
        "item__test",
    )


class ReportRow(NamedTuple):
    """One report as it is exported: without the worker's own words, which may name somebody."""

    pk: int
    worker_id: int
    hit: int
    assignment_id: int
    position: int
    test_id: int | None
    qid: str | None
    a: str | None
    b: str | None
    reason: str
    made_at: datetime
    withdrawn_at: datetime | None
    verdict: str
    is_set_aside: bool | None


def report_rows(campaign: Campaign) -> Iterator[ReportRow]:
    """Every report in work that has ended, in the order in which they were made."""
    ended = PairReport.objects.filter(assignment__campaign=campaign, assignment__finished_at__isnull=False)
    rows = ended.order_by("id").values_list(
        "id", "assignment__worker_id", "assignment__hit__number", "assignment_id", "item__position", "item__test_id",
        "item__pair__pool__query__qid", "item__pair__a__pid", "item__pair__b__pid", "reason", "made_at",
        "withdrawn_at", "assignment__verdict", "item__pair__is_set_aside",
    )  # fmt: skip
    return (ReportRow(*row) for row in rows.iterator(chunk_size=10_000))


# The newest judgment of each item of the campaign's assignments (of some workers, or all): what was done last counts,
# unless the item was reported, or is a test pair that was dropped.
NEWEST = """
SELECT DISTINCT ON (judgment.assignment_id, judgment.item_id)
  judgment.assignment_id, assignment.worker_id, assignment.verdict, item.position, item.pair_id,
  item.test_id IS NOT NULL AS is_test, test.proven_at IS NOT NULL AS is_proven,
  judgment.preferred = 'left' AS is_left, (judgment.preferred = 'left') = item.a_left AS prefers_a,
  extract(epoch FROM judgment.made_at - judgment.shown_at) AS seconds, judgment.is_translated
FROM judgments_judgment judgment
  JOIN tasks_assignment assignment ON assignment.id = judgment.assignment_id
  JOIN tasks_item item ON item.id = judgment.item_id
  LEFT JOIN tasks_testpair test ON test.id = item.test_id
WHERE assignment.campaign_id = %(campaign)s AND test.state IS DISTINCT FROM 'dropped'
  AND (%(workers)s::bigint[] IS NULL OR assignment.worker_id = ANY(%(workers)s::bigint[]))
  AND NOT EXISTS (
    SELECT 1 FROM judgments_pairreport report
    WHERE report.assignment_id = assignment.id AND report.item_id = item.id AND report.withdrawn_at IS NULL)
ORDER BY judgment.assignment_id, judgment.item_id, judgment.id DESC
"""
# Over pairs alone: a test pair has an obvious answer, and is answered faster.
MEDIAN_SECONDS = "percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)"


def workers_who_fail(campaign: Campaign, workers: Iterable[int]) -> set[int]:
    """Those of some workers who preferred the off-topic passage of a proven test pair of the campaign that was not
    dropped.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT worker_id FROM ({NEWEST}) done WHERE is_proven AND NOT prefers_a",  # noqa: S608
            {"campaign": campaign.pk, "workers": list(workers)},
        )
        return {worker for (worker,) in cursor.fetchall()}


# What is worth a look, of work or a worker: a median time below FAST of the campaign's, or too short for reading; a
# share of the left side outside SIDES over ENOUGH pairs or more; less than AGREES of COMPARED comparisons or more with
# others; anything that was judged on a translated page.
FAST, SIDES, ENOUGH, AGREES, COMPARED = 0.4, (0.2, 0.8), 10, 0.5, 5
FLAGS = {
    "fast": gettext_lazy("fast"),
    "side": gettext_lazy("one side"),
    "tests": gettext_lazy("failed a test pair"),
    "agreement": gettext_lazy("disagrees"),
    "translated": gettext_lazy("translated page"),
}


def fast_below(campaign: Campaign) -> float:
    """The seconds for a pair below which a median time is fast. It depends on the words too: all may be too fast."""
    if campaign.is_imported:
        return 0.0  # nobody knows how long those judgments took
    summary = summary_of(campaign)
    seconds = summary.median_seconds if summary else None
    return max(FAST * (seconds or 0), least_seconds(campaign))


def with_fast_below(campaign: Campaign, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Work in a campaign, or workers, each with its `fast_below`."""
    annotated: QuerySet[Any] = rows.annotate(fast_below=Value(fast_below(campaign), output_field=FloatField()))
    return annotated


def flagged(flag: str, prefix: str) -> Q:
    """The rows, which have `fast_below`, whose summary, at `prefix`, has a flag."""
    if flag == "fast":
        return Q(**{f"{prefix}median_seconds__lt": F("fast_below")})
    if flag == "side":
        low, high = (Q(**{f"{prefix}left_share__{by}": side}) for by, side in zip(("lt", "gt"), SIDES, strict=True))
        return Q(**{f"{prefix}pairs__gte": ENOUGH}) & (low | high)
    if flag == "tests":
        return Q(**{f"{prefix}pass_share__lt": 1})
    if flag == "translated":
        return Q(**{f"{prefix}translated__gt": 0})
    return Q(**{f"{prefix}compared__gte": COMPARED, f"{prefix}agreement__lt": AGREES})


def flags_of(summary: Summarized, fast_below: float) -> list[str]:
    """The same of one summary, in words."""
    left, agreement, seconds = summary.left_share, summary.agreement, summary.median_seconds
    raised = {
        "fast": seconds is not None and seconds < fast_below,
        "side": summary.pairs >= ENOUGH and left is not None and not SIDES[0] <= left <= SIDES[1],
        "tests": summary.passed < summary.tests,
        "agreement": summary.compared >= COMPARED and agreement is not None and agreement < AGREES,
        "translated": summary.translated > 0,
    }
    return [str(FLAGS[flag]) for flag, is_raised in raised.items() if is_raised]


def summary_of(campaign: Campaign) -> CampaignSummary | None:
    """What was counted last of a campaign's work; None before the first time."""
    return CampaignSummary.objects.filter(campaign=campaign).first()


def workers_with_work(campaign: Campaign) -> QuerySet[Worker]:
    """The workers who took work in a campaign, in the order of their keys: how much, and what became of it. `seen` is
    the summary of their work.
    """
    verdicts, work = Assignment.Verdict, Assignment.objects.filter(worker=OuterRef("pk"), campaign=campaign)
    # A scalar, so that the planner looks it up worker by worker, however much there is.
    took_work = Worker.objects.annotate(work=Subquery(work.values("pk")[:1])).filter(work__isnull=False)
    workers = took_work.annotate(
        assignment_count=count_of(Assignment, "worker", campaign=campaign),
        accepted_count=count_of(Assignment, "worker", campaign=campaign, verdict=verdicts.ACCEPTED),
        excluded_count=count_of(Assignment, "worker", campaign=campaign, verdict=verdicts.EXCLUDED),
        seen=FilteredRelation("summaries", condition=Q(summaries__campaign=campaign)),
        **{f"seen_{name}": F(f"seen__{name}") for name in SEEN},
    )
    return with_fast_below(campaign, workers.order_by("pk"))


def workers_across_campaigns(user: User) -> QuerySet[Worker]:
    """Everybody who judges for a user's labs, those who came last first.

    Counted are their assignments, those that are excluded and their campaigns; `latest` is the key of the campaign that
    they last worked in, which may be none, and `latest_at` when that was.
    """
    work = Assignment.objects.filter(worker=OuterRef("pk"))
    latest = work.order_by("-taken_at", "-pk")
    campaigns = work.order_by().values("worker").annotate(count=Count("campaign", distinct=True)).values("count")
    return (
        with_name(Worker.objects.filter(lab__in=labs_of(user)))
        .annotate(
            assignment_count=count_of(Assignment, "worker"),
            excluded_count=count_of(Assignment, "worker", verdict=Assignment.Verdict.EXCLUDED),
            campaign_count=Coalesce(Subquery(campaigns), 0),
            latest=Subquery(latest.values("campaign")[:1]),
            latest_name=Subquery(latest.values("campaign__name")[:1]),
            latest_at=Subquery(latest.values("taken_at")[:1]),
        )
        .order_by("-pk")
    )


SEEN = (
    "median_seconds",
    "left_share",
    "pairs",
    "pass_share",
    "compared",
    "agreement",
    "translated",
    "correct_share",
    "unguessed_share",
)


class WorkerRow(NamedTuple):
    """One line of a campaign's list of workers. `summary` is empty until their work was counted."""

    worker: Worker
    assignments: int
    accepted: int
    excluded: int
    summary: WorkerSummary
    flags: list[str]


def worker_rows(campaign: Campaign, workers: Sequence[Any]) -> list[WorkerRow]:
    """Lines for some of `workers_with_work`, in their order."""
    nothing = WorkerSummary()
    summaries = {row.worker_id: row for row in WorkerSummary.objects.filter(campaign=campaign, worker__in=workers)}
    return [
        WorkerRow(
            worker,
            worker.assignment_count,
            worker.accepted_count,
            worker.excluded_count,
            summaries.get(worker.pk, nothing),
            flags_of(summaries.get(worker.pk, nothing), worker.fast_below),
        )
        for worker in workers
    ]


class AssignmentRow(NamedTuple):
    """One line of a campaign's list of assignments. `summary` is empty until the work was counted; `pay` is empty
    where the lab pays itself and nothing is owed.
    """

    assignment: Assignment
    summary: AssignmentSummary
    flags: list[str]
    pay: str


PAY_STATES = {
    "decide": gettext_lazy("to be decided"),
    "way": gettext_lazy("on its way"),
    "lab": gettext_lazy("to be paid"),
    "paid": gettext_lazy("paid"),
    "rejected": gettext_lazy("rejected"),
    "none": gettext_lazy("not submitted"),
}


def assignment_rows(campaign: Campaign, assignments: Sequence[Any]) -> list[AssignmentRow]:
    """Lines for some assignments, which have `fast_below`, in their order."""
    nothing = AssignmentSummary()
    keys = [assignment.pk for assignment in assignments]
    summaries = {row.assignment_id: row for row in AssignmentSummary.objects.filter(assignment__in=keys)}
    pay = _pay_states(assignments)
    return [
        AssignmentRow(
            assignment,
            summaries.get(assignment.pk, nothing),
            flags_of(summaries.get(assignment.pk, nothing), assignment.fast_below),
            str(PAY_STATES.get(pay[assignment.pk], "")),
        )
        for assignment in assignments
    ]


def _pay_states(assignments: Sequence[Assignment]) -> dict[int, str]:
    """What became of the pay, by assignment; empty where the lab pays itself and nothing is owed."""
    marks = HandPayment.objects.filter(assignment__in=assignments).order_by().values_list("assignment")
    marked = dict(marks.annotate(sum=Sum("amount")))
    decided = Submission.objects.filter(assignment__in=assignments).values_list("assignment", "decision")
    states = {
        pk: "rejected" if decision == Submission.Decision.REJECT else "way" if decision else "decide"
        for pk, decision in decided
    }
    payments = Payment.objects.filter(assignment__in=assignments).exclude(state=Payment.State.REFUSED)
    all_paid = payments.order_by().values("assignment").annotate(unpaid=Count("pk", filter=~Q(state="paid")))
    for paid in all_paid:
        states[paid["assignment"]] = "way" if paid["unpaid"] else "paid"
    for row in assignments:
        if row.platform_assignment_id:
            states.setdefault(row.pk, "none")
        elif row.finished_at is None or not row.owed:
            states[row.pk] = ""
        else:
            states[row.pk] = "paid" if marked.get(row.pk, 0) >= row.owed else "lab"
    return states


def duration_of(judgment: Judgment) -> float:
    """Seconds between showing and answering."""
    return (judgment.made_at - judgment.shown_at).total_seconds()


class Terms(NamedTuple):
    """Where work came through, and how it is paid there: of its publication, what judging pages need."""

    platform: str
    pay: str
    listed: Decimal


class ShownItem(NamedTuple):
    """All that the page of one item shows. `preferred` is the newest judgment on it, None if it is reported;
    `answered` counts items that were judged or reported. `practice_waits`: the campaign wants practice first.
    """

    question: str
    question_language: str
    language: str
    query: str
    left: str
    right: str
    preferred: str | None
    reported: bool
    answered: int
    total: int
    campaign_id: int
    reward: Decimal
    currency: str
    leased_until: datetime
    terms: Terms | None
    practice_waits: bool = False


# One statement for the page that is asked for most. The texts are scalars: planning as many joins would take longer.
_SHOWN_ITEM = """SELECT campaign.question, campaign.language,
  (SELECT language FROM runs_collection WHERE id = campaign.collection_id),
  test.question, test.relevant_text, test.off_topic_text,
  (SELECT text FROM runs_query WHERE id = (SELECT query_id FROM pools_pool WHERE id = pair.pool_id)),
  (SELECT text FROM runs_passage WHERE id = pair.a_id),
  (SELECT text FROM runs_passage WHERE id = pair.b_id),
  item.a_left,
  (SELECT preferred FROM judgments_judgment
   WHERE assignment_id = assignment.id AND item_id = item.id ORDER BY id DESC LIMIT 1),
  EXISTS (SELECT 1 FROM judgments_pairreport
   WHERE assignment_id = assignment.id AND item_id = item.id AND withdrawn_at IS NULL),
  (SELECT count(*) FROM (
     SELECT item_id FROM judgments_judgment WHERE assignment_id = assignment.id
     UNION SELECT item_id FROM judgments_pairreport WHERE assignment_id = assignment.id AND withdrawn_at IS NULL) done),
  (SELECT count(*) FROM tasks_item WHERE hit_id = assignment.hit_id AND layout = assignment.layout),
  campaign.id, campaign.reward, campaign.currency, assignment.leased_until,
  campaign.practice <> 'nothing' AND NOT EXISTS (SELECT 1 FROM tasks_practice
   WHERE worker_id = assignment.worker_id AND campaign_id = campaign.id AND state IN ('done', 'skipped', 'passed')),
  publication.platform, publication.pay, publication.base
FROM tasks_assignment assignment
  JOIN tasks_item item
    ON item.hit_id = assignment.hit_id AND item.layout = assignment.layout AND item.position = %(position)s
  JOIN pools_campaign campaign ON campaign.id = assignment.campaign_id
  LEFT JOIN pools_pair pair ON pair.id = item.pair_id
  LEFT JOIN tasks_testpair test ON test.id = item.test_id
  LEFT JOIN platforms_publication publication
    ON publication.campaign_id = campaign.id AND assignment.platform_assignment_id <> ''
WHERE assignment.id = %(assignment)s AND assignment.worker_id = %(worker)s AND assignment.hit_id = %(hit)s
  AND assignment.state = 'active'
"""


def shown_item(*, assignment_id: int, worker_id: int, hit_id: int, position: int) -> ShownItem | None:
    """What the page of one item shows; None unless the assignment is active and has an item at this position."""
    keys = {"assignment": assignment_id, "worker": worker_id, "hit": hit_id, "position": position}
    with connection.cursor() as cursor:
        cursor.execute(_SHOWN_ITEM, keys)
        row = cursor.fetchone()
    if row is None:
        return None
    question, question_language, language, *texts, a_left, preferred, reported, answered, total = row[:14]
    campaign_id, reward, currency, leased_until, practice_waits, platform, pay, base = row[14:]
    query, first, second = texts[:3] if texts[0] is not None else texts[3:]
    left, right = (first, second) if a_left else (second, first)
    return ShownItem(
        question=question,
        question_language=question_language,
        language=language,
        query=query,
        left=left,
        right=right,
        preferred=None if reported else preferred,
        reported=reported,
        answered=answered,
        total=total,
        campaign_id=campaign_id,
        reward=reward,
        currency=currency,
        leased_until=leased_until,
        terms=terms_of(platform, pay, base, reward),
        practice_waits=practice_waits,
    )


def terms_of(platform: str | None, pay: str, base: Decimal, reward: Decimal) -> Terms | None:
    """The terms in a row that was joined with a publication; None where there is none."""
    return None if platform is None else Terms(platform, pay, listed_reward(pay, base, reward))


class Answer(NamedTuple):
    """What a worker answered at one position: a side, "reported", or "" for nothing yet."""

    position: int
    question: str
    choice: str


def answers_of(assignment: Assignment) -> list[Answer]:
    """What stands at each position of an assignment, in order. Nothing tells a test from a pair."""
    choices: dict[int, str] = {item: judgment.preferred or "" for item, judgment in effective(assignment).items()}
    choices |= dict.fromkeys(standing_reports(assignment).values_list("item", flat=True), "reported")
    question = Coalesce("test__question", "pair__pool__query__text")
    rows = assignment.items.order_by("position").values_list("position", question, "id")
    return [Answer(position, text or "", choices.get(item, "")) for position, text, item in rows]


def unanswered_positions(assignment: Assignment) -> list[int]:
    """Positions of the items that wait for a judgment or a report, in order."""
    return [answer.position for answer in answers_of(assignment) if not answer.choice]


def slots_of(pair_ids: Iterable[int]) -> dict[int, int]:
    """How many judgments each of these pairs takes: what the campaign asks, or more where one of its HITs does."""
    target = Coalesce("hit__wanted", "hit__campaign__overlap")
    items = Item.objects.filter(pair__in=list(pair_ids)).order_by()
    return dict(items.values("pair").annotate(most=Max(target)).values_list("pair", "most"))
