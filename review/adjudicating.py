"""Settling disagreements: pairs whose judgments disagree, what is known of one, and what a person decides on it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, FilteredRelation, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow, NotYours
from core.models import User
from judgments import selectors as judgment_selectors
from judgments.models import Acceptance, Adjudication, Disagreement, PairReport, Reuse, ReusedJudgment, WorkerNote
from judgments.selectors import JudgmentRow
from pools import services as pool_services
from pools.models import Campaign, Pair
from tasks.models import Worker

LONGEST_NOTE = 2_000  # characters
Choice = Adjudication.Choice


# --- reading


def disagreements(campaign: Campaign, worker: Worker | None = None) -> QuerySet[Any]:  # with what is annotated
    """The pairs of a campaign whose judgments disagreed when they were counted last, in the order of their keys, or
    those of them that a worker judged. `decided` is what somebody decided on each, and did not take back.
    """
    rows = Disagreement.objects.filter(campaign=campaign).annotate(
        decided=FilteredRelation("pair__adjudications", condition=Q(pair__adjudications__undone_at=None))
    )
    if worker is not None:
        of_worker = Q(Exists(Acceptance.objects.filter(pair=OuterRef("pair"), worker=worker)))
        rows = rows.filter(of_worker | Q(Exists(ReusedJudgment.objects.filter(pair=OuterRef("pair"), worker=worker))))
    return rows.select_related("pair__pool__query", "pair__a", "pair__b").order_by("pair")


def disagreement_rows(rows: Sequence[Any]) -> list[tuple[Disagreement, Adjudication | None]]:
    """Some disagreements with what was decided, in their order."""
    pairs = [row.pair_id for row in rows]
    standing = Adjudication.objects.filter(pair__in=pairs, undone_at=None).select_related("by")
    decided = {adjudication.pair_id: adjudication for adjudication in standing}
    return [(row, decided.get(row.pair_id)) for row in rows]


def next_waiting(campaign: Campaign, *, after: int = 0, worker: Worker | None = None) -> int | None:
    """The pair that waits for a decision after another one; from the first again after the last, None without any."""
    waiting = disagreements(campaign, worker).filter(decided=None)
    following = waiting.filter(pair__gt=after).values_list("pair", flat=True).first()
    if following is None and after:
        return waiting.filter(pair__lt=after).values_list("pair", flat=True).first()
    return following


class PairJudgment(NamedTuple):
    """A judgment on a pair: of a worker here (`row`), or made before (`reuse`). `prefers_a` is None for a tie, which
    was imported. `counts`: whether it is accepted.
    """

    prefers_a: bool | None
    made_at: datetime
    counts: bool
    row: JudgmentRow | None
    reuse: Reuse | None

    @property
    def seconds(self) -> float | None:
        """Between showing and answering."""
        return None if self.row is None else (self.row.made_at - self.row.shown_at).total_seconds()


class PairCase(NamedTuple):
    """All that is known of one pair: how many accepted judgments are for each passage, every judgment that was not
    changed later, reports and notes of the workers, and the decisions, newest first.
    """

    pair: Pair
    for_a: int
    for_b: int
    judgments: list[PairJudgment]
    reports: list[PairReport]
    notes: list[WorkerNote]
    decisions: list[Adjudication]

    @property
    def disagrees(self) -> bool:
        """Whether accepted judgments are for either."""
        return bool(self.for_a and self.for_b)

    @property
    def standing(self) -> Adjudication | None:
        """The decision that was not taken back."""
        return next((decision for decision in self.decisions if decision.undone_at is None), None)


def pair_of(campaign: Campaign, pk: int) -> Pair:
    """One pair of a campaign. Raises NotYours without one."""
    pairs = Pair.objects.filter(pk=pk, pool__campaign=campaign).select_related("pool__query", "a", "b")
    pair = pairs.first()
    if pair is None:
        raise NotYours(_("This campaign has no such pair."))
    return pair


def pair_case(campaign: Campaign, pair: Pair) -> PairCase:
    rows = [row for row in judgment_selectors.judgment_rows(campaign, pair=pair) if not row.superseded]
    judgments = [PairJudgment(row.prefers_a, row.made_at, row.accepted, row, None) for row in rows]
    before = ReusedJudgment.objects.filter(pair=pair).order_by("slot").select_related(
        "reuse__source", "reuse__imported", "judgment", "imported__source"
    )  # fmt: skip
    for older in before:
        at = older.judgment.made_at if older.judgment else older.imported.source.imported_at  # type: ignore[union-attr]
        judgments.append(PairJudgment(older.prefers_a, at, True, None, older.reuse))
    reports = PairReport.objects.filter(item__pair=pair, withdrawn_at=None).select_related("assignment").order_by("id")
    judged_in = {row.assignment_id for row in rows}
    return PairCase(
        pair=pair,
        for_a=sum(judgment.counts and judgment.prefers_a is True for judgment in judgments),
        for_b=sum(judgment.counts and judgment.prefers_a is False for judgment in judgments),
        judgments=judgments,
        reports=list(reports),
        notes=list(WorkerNote.objects.filter(assignment__in=judged_in).select_related("assignment").order_by("id")),
        decisions=list(pair.adjudications.select_related("by", "undone_by").order_by("-id")),
    )


# --- deciding


@transaction.atomic
def pair_adjudicate(
    *, campaign: Campaign, pair: Pair, choice: str, note: str = "", expected: int, by: User, at: datetime
) -> Adjudication:
    """A person decides on a pair whose judgments disagree. The judgments stay as they are; what was decided before is
    taken back. The same again changes nothing.

    `expected` is the key of the decision that the person saw stand, 0 for none. Raises NotNow if that has changed, and
    if the judgments do not disagree.
    """
    if choice not in Choice.values:
        raise BadRequest(_("Choose which passage is better, or that neither is, or that you cannot say."))
    note = note.strip().replace("\0", "")
    if len(note) > LONGEST_NOTE:
        raise BadRequest(_("The note is too long: at most %(most)d characters fit.") % {"most": LONGEST_NOTE})
    standing = _lock(campaign, pair)
    if standing is not None and (standing.choice, standing.note) == (choice, note):
        return standing
    _must_be_as_seen(standing, expected)
    case = pair_case(campaign, pair_of(campaign, pair.pk))
    if not case.disagrees:
        raise NotNow(_("The judgments on this pair do not disagree, so there is nothing to settle."))
    if standing is not None:
        _take_back(standing, by, at)
    decided = Adjudication.objects.create(campaign=campaign, pair=pair, choice=choice, note=note, by=by, at=at)
    pool_services.campaign_mark_changed(campaign_id=campaign.pk)
    return decided


@transaction.atomic
def adjudication_undo(*, campaign: Campaign, pair: Pair, expected: int, by: User, at: datetime) -> None:
    """Take back what was decided on a pair: its judgments count again. Again is not an error.

    `expected` is the key of the decision that the person saw stand. Raises NotNow if another one stands.
    """
    standing = _lock(campaign, pair)
    if standing is not None:
        _must_be_as_seen(standing, expected)
        _take_back(standing, by, at)
        pool_services.campaign_mark_changed(campaign_id=campaign.pk)


def _lock(campaign: Campaign, pair: Pair) -> Adjudication | None:
    """The decision that stands, while no other is made."""
    pairs: QuerySet[Any] = Pair.objects.filter(pk=pair.pk, pool__campaign=campaign)
    if pairs.select_for_update(of=("self",), no_key=True).first() is None:
        raise NotYours(_("This campaign has no such pair."))
    return Adjudication.objects.filter(pair=pair, undone_at=None).first()


def _must_be_as_seen(standing: Adjudication | None, expected: int) -> None:
    if standing is None and expected:
        raise NotNow(_("The decision on this pair has been taken back in the meantime. Look at the pair again."))
    if standing is not None and standing.pk != expected:
        raise NotNow(
            _("This pair has been decided in the meantime by %(who)s: %(choice)s. Look at the pair again.")
            % {"who": standing.by, "choice": standing.get_choice_display()}
        )


def _take_back(standing: Adjudication, by: User, at: datetime) -> None:
    standing.undone_by, standing.undone_at = by, at
    standing.save(update_fields=["undone_by", "undone_at"])
