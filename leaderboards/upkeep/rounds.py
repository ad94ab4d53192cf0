"""Rounds of upkeep: challengers collect, a small campaign judges them, and new preference qrels follow.

Every step is one transaction on the round's row, and whatever a killed process left is found by the next one.
"""

import io
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from campaigns.template_terms import campaign_create_from, publication_of
from core.alarms import PAUSES
from core.errors import NotNow, Refused
from core.models import User
from core.money import DOLLARS
from evaluation.judging.designs.challengers import Challengers
from judgments.evidence import Evidence
from leaderboards.models import Board, Challenger, Submission, Upkeep, UpkeepRound
from leaderboards.upkeep.rescoring import considered
from platforms.models import Publication
from platforms.money.bills import campaign_bill
from platforms.publishing.costs import campaign_costs
from platforms.publishing.publications import NobodyQualifies, publication_publish
from platforms.terms import publication_likely
from pools import selectors as pool_selectors
from pools import services as pool_services
from pools.models import Campaign, QrelsVersion
from results.versions import version_add
from runs import services as run_services
from runs.models import Run
from tasks import services as task_services
from tasks.models import Assignment, Hit

State, Outcome = UpkeepRound.State, Challenger.Outcome
ZERO = Decimal("0.00")
MOST_ROUNDS = 3  # in which a challenger is judged before it is left undecided
YEAR = timedelta(days=365)


class Budget(NamedTuple):
    """Dollars that campaigns of the last 365 days took, or may take, and what is left of the year's."""

    used: Decimal
    left: Decimal


def upkeep_of(board: Board) -> Upkeep | None:
    """How a board's answers are kept current, if anybody has said."""
    return Upkeep.objects.filter(board=board).select_related("template", "tests_from", "changed_by").first()


@transaction.atomic
def upkeep_set(*, board: Board, by: User | None, at: datetime, **fields: Any) -> Upkeep:
    """Say how a board's answers are kept current. Rounds that have begun go on as they are.

    Raises Refused where it is to be on and lacks what its campaigns need.
    """
    Board.objects.select_for_update(no_key=True).get(pk=board.pk)
    upkeep = Upkeep.objects.filter(board=board).first() or Upkeep(board=board)
    for name, value in fields.items():
        setattr(upkeep, name, value)
    upkeep.changed_by, upkeep.changed_at = by, at
    if upkeep.is_on and (lacking := _lacking(upkeep)):
        raise Refused(lacking)
    upkeep.save()
    return upkeep


def _lacking(upkeep: Upkeep) -> str:
    """What campaigns of upkeep cannot do without; empty if nothing is missing."""
    lab = upkeep.board.lab_id
    if upkeep.template is None:
        return _("Choose a template: its settings, wording and platform are those of the campaigns.")
    if upkeep.tests_from is None:
        return _("Choose a campaign whose confirmed test pairs the campaigns use.")
    if upkeep.template.lab_id != lab or upkeep.tests_from.lab_id != lab:
        return _("The template and the campaign with the test pairs must belong to the board's lab.")
    return ""


def boards_in_upkeep(*, at: datetime) -> QuerySet[Board]:
    """Boards on whose rounds something may be done now: one that goes on, or challengers that wait."""
    waiting = Exists(Challenger.objects.filter(board=OuterRef("pk"), outcome=Outcome.OPEN))
    going_on = UpkeepRound.objects.filter(board=OuterRef("pk"), ended_at=None)
    ready = Exists(going_on.filter(UpkeepRound.due(at)).exclude(state=State.PROPOSED))
    proposing = Q(upkeep__is_on=True) & waiting & ~Exists(going_on)
    return Board.objects.filter(Q(ready) | proposing).order_by("id")


def waiting_challengers(board: Board) -> QuerySet[Challenger]:
    """Those that no round is at, the longest known first."""
    free = Q(round=None) | Q(round__ended_at__isnull=False)
    return board.challengers.filter(free, outcome=Outcome.OPEN).order_by("found_at", "id")


def budget_of(upkeep: Upkeep, at: datetime) -> Budget:
    """What is spent or promised, and what is left."""
    rounds = upkeep.board.upkeep_rounds.filter(proposed_at__gt=at - YEAR)
    ended = rounds.aggregate(sum=Sum("spent"))["sum"] or ZERO
    promised = rounds.filter(ended_at=None).aggregate(sum=Sum("dollars"))["sum"] or ZERO
    used = ended + promised
    return Budget(used, max(upkeep.year_dollars - used, ZERO))


def next_round_at(upkeep: Upkeep) -> datetime | None:
    """Before which no further round is proposed; None if there was none."""
    last = upkeep.board.upkeep_rounds.order_by("-number").first()
    return None if last is None else last.proposed_at + timedelta(days=upkeep.every_days)


# --- proposing


def challengers_drop(*, board: Board, at: datetime) -> int:
    """Ask no more about challengers that only withdrawn entries had, or that have been considered since. How many."""
    standing = Count("submissions", filter=~Q(submissions__state=Submission.State.WITHDRAWN))
    dropped = waiting_challengers(board).annotate(standing=standing).filter(standing=0).values_list("id", flat=True)
    count = Challenger.objects.filter(pk__in=list(dropped)).update(outcome=Outcome.DROPPED, settled_at=at)
    version = pool_selectors.newest_version(board.collection)
    if version is not None:
        passages = considered(board, version)
        waiting = waiting_challengers(board).values_list("id", "query__qid", "pid")
        keys = [pk for pk, qid, pid in waiting if pid in passages.get(qid, ())]
        count += Challenger.objects.filter(pk__in=keys).update(outcome=Outcome.KNOWN, settled_at=at)
    return count


def round_propose(*, board: Board, at: datetime) -> UpkeepRound | None:
    """Collect the challengers that wait into a round, as far as the budget goes; None where none is due.

    It needs no approval where the upkeep runs by itself.
    """
    challengers_drop(board=board, at=at)
    with transaction.atomic():
        board = Board.objects.select_for_update(no_key=True).get(pk=board.pk)
        upkeep = upkeep_of(board)
        if upkeep is None or not upkeep.is_on or idle_reason(upkeep, at):
            return None
        chosen, dollars = _affordable(upkeep, at)
        last = board.upkeep_rounds.order_by("-number").first()
        proposed = UpkeepRound.objects.create(
            board=board,
            number=last.number + 1 if last else 1,
            state=State.APPROVED if upkeep.runs_itself else State.PROPOSED,
            dollars=dollars,
            proposed_at=at,
            decided_by=upkeep.changed_by if upkeep.runs_itself else None,
            decided_at=at if upkeep.runs_itself else None,
            reason=_("The upkeep runs by itself.") if upkeep.runs_itself else "",
        )
        Challenger.objects.filter(pk__in=chosen).update(round=proposed, rounds=F("rounds") + 1)
    return proposed


def idle_reason(upkeep: Upkeep, at: datetime) -> str:
    """Why no round is proposed now, in a sentence; empty if one is."""
    if not upkeep.is_on:
        return _("Upkeep is off.")
    if lacking := _lacking(upkeep):
        return lacking
    board = upkeep.board
    if board.upkeep_rounds.filter(ended_at=None).exists():
        return _("A round is going on.")
    if pool_selectors.newest_version(board.collection) is None:
        return _(
            "The collection has no version of its preference qrels, so there is nothing to challenge. Make one from "
            "the results of a campaign."
        )
    due = next_round_at(upkeep)
    if due is not None and at < due:
        return _("The next round is due on %(day)s.") % {"day": f"{due:%Y-%m-%d}"}
    waiting = _asked(upkeep).count()
    if waiting < upkeep.fewest:
        return _("%(waiting)d of %(fewest)d challengers wait.") % {"waiting": waiting, "fewest": upkeep.fewest}
    chosen, _dollars = _affordable(upkeep, at)
    if not chosen:
        return _("What is left of the budget does not pay for a single challenger.")
    return ""


def _asked(upkeep: Upkeep) -> QuerySet[Challenger]:
    waiting = waiting_challengers(upkeep.board)
    return waiting if upkeep.covers_eval else waiting.filter(part="dev")


def _affordable(upkeep: Upkeep, at: datetime) -> tuple[list[int], Decimal]:
    """Keys of the challengers that wait longest, as many as the budget pays for, and what judging them may cost."""
    assert upkeep.template is not None
    answers = pool_selectors.version_answers(pool_selectors.newest_version(upkeep.board.collection))
    most = min(upkeep.campaign_dollars, budget_of(upkeep, at).left)
    publication = publication_of(upkeep.template)
    rows = list(_asked(upkeep).values_list("id", "query__qid"))
    together: dict[str, int] = defaultdict(int)
    pairs, sums = 0, [0]
    for _pk, qid in rows:
        # With its answers, and with the challengers of its query that may not lose either.
        pairs += len(answers.get(qid, ())) + together[qid]
        together[qid] += 1
        sums.append(pairs)
    low, high = 0, len(rows)
    while low < high:  # the most that can be paid
        middle = (low + high + 1) // 2
        if campaign_bill(publication, pairs=sums[middle]).total <= most:
            low = middle
        else:
            high = middle - 1
    return [pk for pk, _qid in rows[:low]], campaign_bill(publication, pairs=sums[low]).total if low else ZERO


# --- deciding


def round_approve(*, round: UpkeepRound, by: User, reason: str, at: datetime) -> UpkeepRound:
    """Let a proposed round begin. Approving it again is not an error. Raises NotNow once it has ended."""
    UpkeepRound.objects.filter(pk=round.pk, state=State.PROPOSED).update(
        state=State.APPROVED, decided_by=by, decided_at=at, reason=reason.strip()
    )
    round.refresh_from_db()
    if round.ended_at is not None:
        raise _ended(round)
    return round


@transaction.atomic
def round_go_on(*, round: UpkeepRound, by: User, reason: str, at: datetime) -> UpkeepRound:
    """Publish the campaign of an approved round although no active worker qualifies: it is tried at once.

    Saying so again is not an error. Raises NotNow where that is not what keeps the round from going on, and Refused
    without a reason.
    """
    if not reason.strip():
        raise Refused(_("Say why the campaign is published although nobody qualifies. It is kept with the round."))
    round = UpkeepRound.objects.select_for_update(of=("self",)).get(pk=round.pk)
    if round.ended_at is not None:
        raise _ended(round)
    if round.although_nobody_qualifies:
        return round
    if not round.nobody_qualifies:
        text = _("Round %(number)d does not wait for workers who qualify.")
        raise NotNow(text % {"number": round.number})
    round.although_nobody_qualifies, round.retry_at = True, None
    round.decided_by, round.decided_at = by, at
    round.reason = " ".join(part for part in (round.reason, reason.strip()) if part)
    round.save()
    return round


@transaction.atomic
def round_decline(*, round: UpkeepRound, by: User, reason: str, at: datetime) -> UpkeepRound:
    """End a round without a version: its challengers wait for the next one. A draft of its campaign is deleted.

    Declining it again is not an error. Raises NotNow once it is done, or while its campaign may still cost something:
    that would be in no budget, and its challengers would be judged and paid for twice. Refused without a reason.
    """
    if not reason.strip():
        raise Refused(_("Say why the round is ended. It is kept with the round."))
    round = UpkeepRound.objects.select_for_update(of=("self",)).select_related("campaign").get(pk=round.pk)
    if round.state == State.DECLINED:
        return round
    if round.state == State.DONE:
        raise _ended(round)
    campaign = round.campaign
    if campaign is not None and campaign.state not in (Campaign.State.DRAFT, Campaign.State.CLOSED):
        text = _("The campaign “%(campaign)s” is going on. Close it: the round then ends with what was judged by then.")
        raise NotNow(text % {"campaign": campaign.name})
    if campaign is not None and campaign.state == Campaign.State.CLOSED:
        round.spent = _spent(campaign)
    else:
        round.challengers.update(rounds=F("rounds") - 1)
    round.state, round.decided_by, round.decided_at, round.ended_at = State.DECLINED, by, at, at
    round.reason, round.obstacle, round.retry_at = reason.strip(), "", None
    round.nobody_qualifies = False
    if campaign is not None and campaign.state == Campaign.State.DRAFT:
        round.campaign = None
        round.save()
        pool_services.campaign_delete(campaign=campaign)
    round.save()
    return round


def _ended(round: UpkeepRound) -> NotNow:
    words = {"number": round.number, "state": round.get_state_display()}
    return NotNow(_("Round %(number)d is “%(state)s” by now.") % words)


# --- a round's steps


def round_advance(*, board: Board, at: datetime) -> bool:
    """Take the open round of a board as far as it goes now. Whether anything was done.

    What refuses a step is kept with the round, and the step is tried again later.
    """
    round = board.upkeep_rounds.filter(ended_at=None).exclude(state=State.PROPOSED).first()
    if round is None or (round.retry_at is not None and round.retry_at > at):
        return False
    try:
        done = round_settle(round=round, at=at) if round.state == State.JUDGING else round_set_up(round=round, at=at)
    except Refused as error:
        obstacle_note(round=round, why=str(error), at=at, nobody_qualifies=isinstance(error, NobodyQualifies))
        return False
    if round.obstacle:
        UpkeepRound.objects.filter(pk=round.pk).update(obstacle="", retry_at=None, tries=0, nobody_qualifies=False)
    return done


def obstacle_note(*, round: UpkeepRound, why: str, at: datetime, nobody_qualifies: bool = False) -> None:
    """Keep why a round does not go on. It is tried again, after twice as long each time, up to an hour."""
    round.rest(PAUSES, at)
    UpkeepRound.objects.filter(pk=round.pk, ended_at=None).update(
        obstacle=why, nobody_qualifies=nobody_qualifies, tries=round.tries, retry_at=round.retry_at
    )


def round_set_up(*, round: UpkeepRound, at: datetime) -> bool:
    """Make the campaign of an approved round, launch it, and publish it where its template names a platform.

    Whether anything was done. Raises Refused for what is missing.
    """
    campaign = _campaign_of(round, at)
    if campaign is None:
        return True
    upkeep = upkeep_of(round.board)
    assert upkeep is not None
    if campaign.state == Campaign.State.DRAFT:
        _check_bill(campaign, upkeep)
        if upkeep.tests_from is None:
            raise Refused(_lacking(upkeep))
        task_services.test_pairs_copy(campaign=campaign, source=upkeep.tests_from, by=round.decided_by, at=at)
        task_services.campaign_launch(campaign=campaign)
        return True
    if campaign.state == Campaign.State.PACKING:
        return False
    publication = Publication.objects.filter(campaign=campaign).first()
    is_offered = publication is None or not Hit.objects.filter(campaign=campaign).exists()
    if publication is not None and not is_offered and campaign.state == Campaign.State.OPEN:
        publication_publish(
            publication=publication,
            at=at,
            typed_name=campaign.name,
            although_nobody_qualifies=round.although_nobody_qualifies,
            by=round.decided_by,
        )
    UpkeepRound.objects.filter(pk=round.pk, state=State.APPROVED).update(state=State.JUDGING)
    return True


def _campaign_of(round: UpkeepRound, at: datetime) -> Campaign | None:
    """The round's campaign, made if it has none; None where nothing in it is new any more, which ends the round."""
    if round.campaign is not None:
        return round.campaign
    runs = _runs_of(round)
    with transaction.atomic():
        round = UpkeepRound.objects.select_for_update(of=("self",)).select_related("board__collection").get(pk=round.pk)
        if round.campaign is not None:
            return round.campaign
        board, upkeep = round.board, upkeep_of(round.board)
        version = pool_selectors.newest_version(board.collection)
        if upkeep is None or upkeep.template is None or version is None:
            raise Refused(_lacking(upkeep) if upkeep else _("Nobody has said how the answers are kept current."))
        try:
            with transaction.atomic():
                campaign = campaign_create_from(
                    template=upkeep.template,
                    lab=board.lab,
                    collection=board.collection,
                    runs=runs,
                    name=f"{board.name[:70]}: upkeep {round.number}",
                    created_by=round.decided_by,
                    design=Challengers.name,
                    base_version=version,
                    depth=1,
                    method=Campaign.Method.TOURNAMENT,
                    selection=Campaign.Selection.ALL,
                    order=Campaign.Order.RANK,
                    reuse=Campaign.Reuse.CAMPAIGNS,
                )
        except Refused:
            passages = considered(board, version)
            if not all(row.pid in passages.get(row.query.qid, ()) for row in round.challengers.select_related("query")):
                raise
            _end(round, {}, ZERO, None, at)
            return None
        UpkeepRound.objects.filter(pk=round.pk).update(campaign=campaign)
    return campaign


def _runs_of(round: UpkeepRound) -> list[Run]:
    """The round's challengers as runs of the collection: the first of each query in one, the second in another, … so
    that nobody sees from a run which entry brought what.
    """
    by_query: dict[str, list[str]] = defaultdict(list)
    for qid, pid in round.challengers.order_by("query__qid", "pid").values_list("query__qid", "pid"):
        by_query[qid].append(pid)
    collection, runs = round.board.collection, []
    for number in range(max(map(len, by_query.values()), default=0)):
        name = f"upkeep-{round.board.slug}-{round.number}-{number + 1}"
        run = Run.objects.filter(collection=collection, name=name).first()
        if run is None:
            rows = (f"{qid} Q0 {pids[number]} 1 1 {name}\n" for qid, pids in by_query.items() if len(pids) > number)
            run = run_services.run_import(
                collection=collection,
                name=name,
                source=io.BytesIO("".join(rows).encode()),
                filename=f"{name}.txt",
                team=round.board.name[:100],
                notes=_("Challengers from entries of a leaderboard, collected by its upkeep."),
            )
        runs.append(run)
    return runs


def _check_bill(campaign: Campaign, upkeep: Upkeep) -> None:
    if campaign.currency != DOLLARS:
        text = _("The budgets of an upkeep are in dollars, and the lab's account at this platform is in %(currency)s.")
        raise Refused(text % {"currency": campaign.get_currency_display()})
    bill = campaign_bill(publication_likely(campaign)).total
    if bill > upkeep.campaign_dollars:
        raise Refused(
            _("The campaign may cost $%(bill)s, and one campaign may cost $%(most)s by the settings of the upkeep.")
            % {"bill": bill, "most": upkeep.campaign_dollars}
        )


def is_judged(campaign: Campaign, at: datetime) -> bool:
    """Whether no work can come to a campaign any more by itself."""
    if campaign.state == Campaign.State.CLOSED:
        return True
    if campaign.state != Campaign.State.OPEN:
        return False
    unfinished = Hit.objects.filter(Q(needed__gt=0) | Q(is_held=True), campaign=campaign)
    at_work = campaign.assignments.filter(state=Assignment.State.ACTIVE, leased_until__gt=at)
    return not unfinished.exists() and not at_work.exists()


def is_confirming(campaign: Campaign) -> bool:
    """Whether challengers of a campaign may have to be confirmed still, as it is now."""
    is_live = campaign.state in (Campaign.State.OPEN, Campaign.State.PAUSED)
    return is_live and campaign.confirmations > 1 and campaign.rounds_revision != campaign.revision


def round_settle(*, round: UpkeepRound, at: datetime) -> bool:
    """Make a version of what a judged round has found, and end the round. Whether it was judged.

    Challengers that need another round wait for the next one.
    """
    campaign = round.campaign
    assert campaign is not None
    if not is_judged(campaign, at) or is_confirming(campaign):
        return False
    outcomes = _outcomes(round, campaign)
    version = QrelsVersion.objects.filter(campaign=campaign).order_by("-number").first()
    if version is None and set(outcomes.values()) & {Outcome.WON, Outcome.TIED}:
        version = version_add(campaign=campaign, why=_why(round), by=round.decided_by, at=at)
    spent = _spent(campaign)
    with transaction.atomic():
        locked = UpkeepRound.objects.select_for_update().get(pk=round.pk)
        if locked.ended_at is None:
            _end(locked, outcomes, spent, version, at)
    return True


def _spent(campaign: Campaign) -> Decimal:
    """What a campaign has cost: what is owed to people, and the fees of its platform so far."""
    (cost,) = campaign_costs([campaign])
    return cost.amounts.owed + cost.amounts.fees


def _outcomes(round: UpkeepRound, campaign: Campaign) -> dict[int, str]:
    """By challenger, what became of it; those that are not settled are not there."""
    evidence = Evidence(campaign)
    challenges = {challenge.query: challenge for challenge in evidence.outcome.challenges}
    newest = pool_selectors.version_answers(pool_selectors.newest_version(campaign.collection))
    settled_here = pool_selectors.queries_settled_last(campaign)
    outcomes: dict[int, str] = {}
    for pk, qid, pid in round.challengers.values_list("id", "query__qid", "pid"):
        candidate = evidence.stands_for.get(qid, {}).get(pid, pid)
        challenge = challenges.get(qid)
        if candidate not in evidence.pools.get(qid, ()):
            outcomes[pk] = Outcome.KNOWN
        elif newest.get(qid) != evidence.challenged.get(qid) and qid not in settled_here:
            continue  # another campaign replaced the answers that were challenged
        elif challenge is not None and not challenge.missing:
            outcomes[pk] = Outcome(challenge.outcome(candidate))
    return outcomes


def _why(round: UpkeepRound) -> str:
    """Everybody may read it, so it counts nothing: a count would tell what became of challengers on eval queries."""
    values = {"board": round.board.name, "number": round.number}
    return _("Upkeep of the leaderboard %(board)s, round %(number)d.") % values


def _end(
    round: UpkeepRound, outcomes: dict[int, str], spent: Decimal, version: QrelsVersion | None, at: datetime
) -> None:
    """The caller holds the round's lock. What the round cost is shared evenly by its challengers."""
    challengers = list(round.challengers.all())
    share = spent / len(challengers) if challengers else ZERO
    for challenger in challengers:
        outcome = outcomes.get(challenger.pk, Outcome.OPEN if round.campaign_id else Outcome.KNOWN)
        if outcome == Outcome.OPEN and challenger.rounds >= MOST_ROUNDS:
            outcome = Outcome.UNDECIDED
        challenger.outcome = outcome
        challenger.settled_at = None if outcome == Outcome.OPEN else at
        challenger.dollars += share
    Challenger.objects.bulk_update(challengers, ["outcome", "settled_at", "dollars"], batch_size=1000)
    UpkeepRound.objects.filter(pk=round.pk).update(
        state=State.DONE, spent=spent, version=version, ended_at=at, obstacle="", nobody_qualifies=False, retry_at=None
    )


# --- what it costs


class EntryCost(NamedTuple):
    """What keeping up with one entry took: the challengers that it brought first, by outcome, and dollars."""

    submission: Submission
    challengers: int
    waiting: int
    won: int
    dollars: Decimal


def entry_costs(board: Board) -> list[EntryCost]:
    """The entries of a board that brought challengers first, in order of arrival."""
    rows = board.challengers.values("first").annotate(
        count=Count("id"),
        waiting=Count("id", filter=Q(outcome=Outcome.OPEN)),
        won=Count("id", filter=Q(outcome__in=[Outcome.WON, Outcome.TIED])),
        sum=Sum("dollars"),
    )
    by_key: dict[int, Any] = {row["first"]: row for row in rows}
    entries: Sequence[Submission] = list(board.submissions.filter(pk__in=by_key).order_by("arrived_at", "id"))
    return [
        EntryCost(
            entry, by_key[entry.pk]["count"], by_key[entry.pk]["waiting"], by_key[entry.pk]["won"],
            by_key[entry.pk]["sum"].quantize(Decimal("0.01")),
        )
        for entry in entries
    ]  # fmt: skip
