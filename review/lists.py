"""How lists of work, workers, reports and disagreements are sorted, narrowed and written as CSV."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import Case, Exists, Expression, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Abs
from django.utils.translation import gettext_lazy

from core.lists import Columns, ListFilter, Sort, choice_filter, search_filter
from judgments.models import WorkerNote
from judgments.selectors import FLAGS, PAY_STATES, flagged
from platforms.models import Payment, Submission
from platforms.money.pay_desk import BY_HAND, OWED_BY_HAND, paid_by_hand
from review.models import BulkRow
from tasks.models import Assignment, Platform, TestPair, Worker
from tasks.names import name_of, pseudonym


class AssignmentFilter(ListFilter):
    """Assignments by their state, by what became of their data and their pay, and by what is worth a look."""

    state = choice_filter(gettext_lazy("State"), Assignment.State.choices)
    verdict = choice_filter(gettext_lazy("Data"), Assignment.Verdict.choices)
    flag = choice_filter(gettext_lazy("Worth a look"), list(FLAGS.items()), method="by_flag")
    pay = choice_filter(gettext_lazy("Pay"), list(PAY_STATES.items()), method="by_pay")

    def by_flag(self, assignments: QuerySet[Assignment], _name: str, flag: str) -> QuerySet[Assignment]:
        return assignments.filter(flagged(flag, "summary__"))

    def by_pay(self, assignments: QuerySet[Assignment], _name: str, value: str) -> QuerySet[Assignment]:
        return assignments.filter(PAY[value])


_PAYMENTS = Payment.objects.filter(assignment=OuterRef("pk")).exclude(state=Payment.State.REFUSED)
_UNPAID, _NO_PAYMENT = Q(Exists(_PAYMENTS.exclude(state=Payment.State.PAID))), ~Q(Exists(_PAYMENTS))
# What became of the pay, in the order of PAY_STATES.
PAY = {
    "decide": _NO_PAYMENT & Q(submission__decision=Submission.Decision.NONE),
    "way": _UNPAID,
    "lab": OWED_BY_HAND & Q(owed__gt=paid_by_hand()),
    "paid": ~_NO_PAYMENT & ~_UNPAID | OWED_BY_HAND & Q(owed__lte=paid_by_hand()),
    "rejected": _NO_PAYMENT & Q(submission__decision=Submission.Decision.REJECT),
    "none": _NO_PAYMENT & Q(submission=None) & ~BY_HAND,
}


def flag_count(prefix: str) -> Expression:
    """How many things about a row are worth a look; as `judgments.selectors.flagged` asks."""
    count: Expression = Value(0)
    for flag in FLAGS:
        count = count + Case(When(flagged(flag, prefix), then=1), default=0)
    return count


ASSIGNMENT_SORTS: dict[str, Sort] = {
    "assignment": "pk",
    "hit": "hit__number",
    "state": "state",
    "verdict": "verdict",
    "time": "summary__median_seconds",
    "side": "summary__left_share",
    "tests": "summary__pass_share",
    "agreement": "summary__agreement",
    "flags": flag_count("summary__"),
    "owed": "owed",
    "pay": Case(*(When(state, then=number) for number, state in enumerate(PAY.values())), default=len(PAY)),
    "worker": "worker",
    "taken": "taken_at",
    "ended": "finished_at",
}


class BarredFilter(ListFilter):
    """Workers by whether they are barred."""

    barred = choice_filter(
        gettext_lazy("Status"), [("yes", gettext_lazy("barred")), ("no", gettext_lazy("not barred"))], method="by_bar"
    )

    def by_bar(self, workers: QuerySet[Worker], _name: str, value: str) -> QuerySet[Worker]:
        return workers.filter(barred_at__isnull=value == "no")


class WorkerFilter(BarredFilter):
    """A campaign's workers by whether they are barred, and by what is worth a look."""

    flag = choice_filter(gettext_lazy("Worth a look"), list(FLAGS.items()), method="by_flag")

    def by_flag(self, workers: QuerySet[Worker], _name: str, flag: str) -> QuerySet[Worker]:
        return workers.filter(flagged(flag, "seen_"))


WORKER_SORTS: dict[str, Sort] = {
    "worker": "pk",
    "assignments": F("assignment_count"),
    "accepted": F("accepted_count"),
    "excluded": F("excluded_count"),
    "pairs": F("seen_pairs"),
    "time": F("seen_median_seconds"),
    "side": F("seen_left_share"),
    "tests": F("seen_pass_share"),
    "agreement": F("seen_agreement"),
    "correct": F("seen_correct_share"),
    "unguessed": F("seen_unguessed_share"),
    "flags": flag_count("seen_"),
    "status": "barred_at",
}


class PersonFilter(BarredFilter):
    """Workers across campaigns: by a panel member's name too, and by where they come from."""

    label = search_filter(gettext_lazy("Name on a panel"))
    platform = choice_filter(gettext_lazy("From"), Platform.choices)


# What is counted for a row is not sorted by: it would be counted for all of them.
PERSON_SORTS: dict[str, Sort] = {"worker": "pk", "platform": "platform", "status": "barred_at"}


class BulkRowFilter(ListFilter):
    """Rows of a decision on many by what became of them."""

    state = choice_filter(gettext_lazy("State"), BulkRow.State.choices)


BULK_ROW_SORTS: dict[str, Sort] = {"assignment": "assignment", "state": "state"}


class ReportFilter(ListFilter):
    """Reported pairs by whether they wait for a person; those that do, unless somebody asks for others."""

    defaults = {"state": "open"}
    state = choice_filter(
        gettext_lazy("State"),
        [("open", gettext_lazy("waiting for a decision")), ("settled", gettext_lazy("settled"))],
        method="by_state",
    )

    def by_state(self, pairs: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """Those that wait, or that do not."""
        return pairs.filter(is_open=value == "open")


class DisagreementFilter(ListFilter):
    """Pairs whose judgments disagree by the words of their query, and by whether somebody has settled them; those that
    nobody has, unless somebody asks for others.
    """

    defaults = {"state": "waiting"}
    q = search_filter(gettext_lazy("Words of a query, or its id"), method="find")
    state = choice_filter(
        gettext_lazy("State"),
        [("waiting", gettext_lazy("waiting for a decision")), ("settled", gettext_lazy("settled"))],
        method="by_state",
    )

    def find(self, rows: QuerySet[Any], _name: str, words: str) -> QuerySet[Any]:
        """Those whose query has the words, or whose id they are."""
        return rows.filter(Q(pair__pool__query__text__icontains=words) | Q(pair__pool__query__qid=words))

    def by_state(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """Those that somebody has settled, or that nobody has."""
        return rows.filter(decided__isnull=value == "waiting")


# `split` is how far the majority is from one half.
DISAGREEMENT_SORTS: dict[str, Sort] = {
    "query": "pair__pool__query__qid",
    "judgments": F("for_a") + F("for_b"),
    "split": Abs(F("for_a") - F("for_b")) * 1.0 / (F("for_a") + F("for_b")),
    "decided": "decided__at",
}


class TestReportFilter(ListFilter):
    """Reported test pairs by whether somebody has dropped them."""

    __test__ = False  # not a class of tests, whatever pytest thinks of its name
    state = choice_filter(
        gettext_lazy("State"),
        [(TestPair.State.CONFIRMED, gettext_lazy("used")), (TestPair.State.DROPPED, gettext_lazy("dropped"))],
    )


class NoteFilter(ListFilter):
    """Workers' notes by whether somebody has read them; those that nobody has, unless somebody asks for others."""

    defaults = {"state": "unread"}
    state = choice_filter(
        gettext_lazy("State"),
        [("unread", gettext_lazy("not read yet")), ("read", gettext_lazy("read"))],
        method="by_state",
    )
    about = choice_filter(gettext_lazy("About"), [("pay", gettext_lazy("pay"))], method="by_matter")

    def by_matter(self, notes: QuerySet[WorkerNote], _name: str, _wanted: str) -> QuerySet[WorkerNote]:
        """Those about pay."""
        return notes.filter(about_pay=True)

    def by_state(self, notes: QuerySet[WorkerNote], _name: str, value: str) -> QuerySet[WorkerNote]:
        """Those that somebody has read, or that nobody has."""
        return notes.filter(read_at__isnull=value == "unread")


# Of what `adjudicating.disagreement_rows` makes.
DISAGREEMENT_COLUMNS: Columns = {
    "pair": lambda row: row[0].pair_id,
    "query": lambda row: row[0].pair.pool.query.qid,
    "a": lambda row: row[0].pair.a.pid,
    "b": lambda row: row[0].pair.b.pid,
    "for_a": lambda row: row[0].for_a,
    "for_b": lambda row: row[0].for_b,
    "decision": lambda row: row[1] and row[1].choice,
    "note": lambda row: row[1] and row[1].note,
    "decided_by": lambda row: row[1] and row[1].by,
    "decided_at": lambda row: row[1] and row[1].at,
}


def _reasons(counts: Mapping[str, int]) -> str:
    return " ".join(f"{reason}:{count}" for reason, count in sorted(counts.items()))


# Of `reported.ReportedPair`. What workers wrote in their own words leaves in no file, as it may name somebody.
REPORT_COLUMNS: Columns = {
    "pair": "pair.pk",
    "query": "pair.pool.query.qid",
    "a": "pair.a.pid",
    "b": "pair.b.pid",
    "workers": "workers",
    "reasons": lambda row: _reasons(Counter(report.reason for report in row.reports)),
    "waiting": "pair.is_open",
    "set_aside": "pair.is_set_aside",
    "decision": lambda row: row.decisions[0].kind if row.decisions else None,
    "decided_by": lambda row: row.decisions[0].by if row.decisions else None,
    "decided_at": lambda row: row.decisions[0].at if row.decisions else None,
}


# Of `reported.ReportedTest`.
TEST_REPORT_COLUMNS: Columns = {
    "test_pair": "test.pk",
    "question": "test.question",
    "state": "test.state",
    "workers": "workers",
    "reasons": lambda row: _reasons(row.reasons),
    "decided_by": "test.decided_by",
    "decided_at": "test.decided_at",
    "why_dropped": "test.why_dropped",
}


# Of notes, without their words.
NOTE_COLUMNS: Columns = {
    "note": "pk",
    "worker": lambda note: pseudonym(note.assignment.campaign, note.assignment.worker_id),
    "assignment": "assignment_id",
    "written": "made_at",
    "read_by": "read_by",
    "read": "read_at",
}


# Without names: those on a panel leave in no file.
PERSON_COLUMNS: Columns = {
    "worker": name_of,
    "platform": "platform",
    "assignments": "assignment_count",
    "excluded": "excluded_count",
    "campaigns": "campaign_count",
    "latest_campaign": "latest_name",
    "latest_work": "latest_at",
    "barred": "barred_at",
}


BULK_ROW_COLUMNS: Columns = {
    "assignment": "assignment_id",
    "worker": lambda row: pseudonym(row.bulk.campaign, row.worker_id),
    "state": "state",
    "before": "before",
    "error": "error",
}
