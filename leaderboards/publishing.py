"""Organizers' decisions on submissions, each with a reason: publishing under the release rule, rejecting, flagging."""

import hashlib
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, cast

import numpy as np
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from core.errors import NotNow, Refused
from core.models import User
from evaluation.boards.ladder import Rule, release
from leaderboards import artifacts, events
from leaderboards.models import Decision, Look, Opening, Release, Score, Season, Submission, Team
from leaderboards.selectors import family, is_member, looks_by_person, looks_of, root

State, Kind = Submission.State, Decision.Kind
Floats = NDArray[np.float64]
RULE = "the release rule"


def decide(submission: Submission, kind: str, reason: str, by: User | None, at: datetime, **details: Any) -> Decision:
    """Write a decision down. Raises Refused without a reason."""
    if not reason.strip():
        raise Refused(_("Say why: the reason is kept, and shown to the team."))
    return Decision.objects.create(
        board=submission.board, submission=submission, kind=kind, details=details, reason=reason.strip(), by=by, at=at
    )


@transaction.atomic
def submission_publish(*, submission: Submission, reason: str, by: User | None, at: datetime) -> Release:
    """Make a submission an entry: the release rule says what is shown of its eval score, and the look is counted.

    Raises NotNow where it does not wait, or its team has not been confirmed.
    """
    locked = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if locked.state != State.WAITING:
        raise NotNow(_("This submission does not wait for a decision (any more)."))
    assert locked.team is not None and locked.policy is not None
    # One release of a season at a time: each is compared with the last one of the team, or of its people elsewhere.
    Season.objects.select_for_update(of=("self",), no_key=True).get(pk=locked.season_id)
    team = Team.objects.select_for_update(of=("self",)).get(pk=root(locked.team).pk)
    while team.merged_into_id is not None:  # meanwhile
        team = Team.objects.select_for_update(of=("self",)).get(pk=root(team).pk)
    if by is not None and is_member(by, locked) and not locked.is_baseline:
        raise NotNow(_("Your own team sent this run: another organizer decides, unless it is a baseline of the board."))
    if team.confirmed_at is None:
        raise NotNow(_("Confirm the team first: teams are identifiable."))
    decide(locked, Kind.PUBLISH, reason, by, at)
    outcome = _release(locked, team, at)
    locked.state, locked.published_at = State.PUBLISHED, at
    locked.save(update_fields=["state", "published_at"])
    Look.objects.create(
        board=locked.board,
        season=locked.season,
        submission=locked,
        team=team,
        organization=team.organization_key,
        person=locked.submitted_by,
        at=at,
    )
    note = outcome.why[0].upper() + outcome.why[1:] + "."
    events.event_add(submission=locked, state=State.PUBLISHED, by=by, note=note, at=at)
    submission.refresh_from_db()
    return outcome


def best_of(team: Team, submission: Submission) -> Submission | None:
    """What the release rule compares a submission with: its team's own last published best in the season.

    Where the team has none, the best that its members, or who sent the submission, were shown with other teams, which
    they may have left since: so the first score is free once for each person, and not once for each team.
    """
    released = Release.objects.filter(submission__season=submission.season_id, is_shown=True)
    had = looks_by_person(team, submission.season, submission.submitted_by_id).values()
    theirs = {key for looks in had for key in looks.values_list("submission", flat=True)}
    for rows in (released.filter(submission__team__in=family(team)), released.filter(submission__in=theirs)):
        scored = [(Fraction(row.fraction), -row.pk, row.submission) for row in rows.select_related("submission")]
        if scored:
            return max(scored, key=lambda row: row[:2])[2]
    return None


def _release(submission: Submission, team: Team, at: datetime) -> Release:
    policy = submission.policy
    assert policy is not None
    best = best_of(team, submission)
    reference, looks = None, 0
    if best is not None:
        reference = _per_query(best, at)
        looks = looks_of(team, submission.season, since=best, by=submission.submitted_by_id).most
    seed = int.from_bytes(hashlib.sha256(submission.public_id.encode()).digest()[:4], "big")
    step = None if policy.release_step is None else float(policy.release_step)
    rule = cast(Rule, policy.release_rule)
    outcome = release(rule, reference, _per_query(submission, at), step=step, looks=looks, seed=seed)
    score = outcome.score
    return Release.objects.create(
        submission=submission,
        is_shown=outcome.shown,
        fraction="" if score is None else f"{score.numerator}/{score.denominator}",
        rule=policy.release_rule,
        why=outcome.why,
        reference=best,
        policy=policy,
        at=at,
    )


def _per_query(submission: Submission, at: datetime) -> Floats:
    why = _("To compare it as %(rule)s asks.") % {"rule": RULE}
    events.opening_add(submission=submission, what=Opening.What.PER_QUERY, why=why, job=RULE, at=at)
    score = Score.objects.get(
        submission=submission,
        part="eval",
        measure=submission.board.ranking_measure,
        version=None,
        origin=Score.Origin.COMPUTED,
    )
    values = artifacts.per_query(score)
    assert values is not None
    return values


@transaction.atomic
def submission_reject(*, submission: Submission, reason: str, by: User, at: datetime) -> Submission:
    """Do not publish a submission; its team is told why, and no score. Raises NotNow where it does not wait."""
    decide(submission, Kind.REJECT, reason, by, at)
    if not Submission.objects.filter(pk=submission.pk, state=State.WAITING).update(state=State.REJECTED):
        raise NotNow(_("This submission does not wait for a decision (any more)."))
    submission.refresh_from_db()
    events.event_add(submission=submission, state=State.REJECTED, by=by, note=reason, at=at)
    return submission


@transaction.atomic
def submission_flag(*, submission: Submission, flag: str, reason: str, by: User, at: datetime) -> Submission:
    """Say something about a published entry, for everybody; an empty `flag` takes it away. Raises NotNow."""
    if submission.state != State.PUBLISHED:
        raise NotNow(_("Only a published entry can be flagged."))
    decide(submission, Kind.FLAG if flag.strip() else Kind.UNFLAG, reason, by, at, before=submission.flag, after=flag)
    Submission.objects.filter(pk=submission.pk).update(flag=flag.strip())
    submission.refresh_from_db()
    to = events.members_of(submission)
    events.mails_add(submission=submission, to=to, what=_("the organizers' remark changed"), text=flag.strip(), at=at)
    return submission


@transaction.atomic
def submission_mark(*, submission: Submission, is_baseline: bool, reason: str, by: User, at: datetime) -> Submission:
    """Say whether an entry is the organizers' baseline, which gets no trophy."""
    before = submission.is_baseline
    decide(submission, Kind.BASELINE, reason, by, at, before=before, after=is_baseline)
    Submission.objects.filter(pk=submission.pk).update(is_baseline=is_baseline)
    submission.refresh_from_db()
    return submission


@transaction.atomic
def submission_mark_variant(
    *, submission: Submission, variant_of: str, reason: str, by: User, at: datetime
) -> Submission:
    """Say of which entry one that waits or is published differs only in a seed or in small settings; empty: of none.

    The entry's page says it. Raises Refused where no earlier entry of the board has that id, and NotNow while that
    one is under embargo: its id would tell whose it is.
    """
    if submission.state not in (State.WAITING, State.PUBLISHED):
        raise NotNow(_("Only what waits for a decision or is published can be marked as a variant."))
    named = variant_of.strip()
    if named:
        earlier = Submission.objects.filter(
            Q(arrived_at__lt=submission.arrived_at) | Q(arrived_at=submission.arrived_at, pk__lt=submission.pk),
            board=submission.board, run_id__iexact=named, published_at__isnull=False,
        ).first()  # fmt: skip
        if earlier is None:
            raise Refused(_("No earlier entry of this leaderboard has the id %(run)s.") % {"run": named})
        if earlier.is_hidden(at):
            raise NotNow(_("%(run)s is under embargo: to name it would tell whose it is.") % {"run": named})
        named = earlier.run_id
    before = submission.metadata.get("variant_of", "")
    decide(submission, Kind.VARIANT, reason, by, at, before=before, after=named)
    locked = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    rest = {name: value for name, value in locked.metadata.items() if name != "variant_of"}
    locked.metadata = rest | ({"variant_of": named} if named else {})
    locked.save(update_fields=["metadata"])
    submission.refresh_from_db()
    what = _("marked as a variant of %(run)s") % {"run": named} if named else _("no longer marked as a variant")
    events.mails_add(submission=submission, to=events.members_of(submission), what=what, text=reason.strip(), at=at)
    return submission


@transaction.atomic
def submission_reevaluate(*, submission: Submission, reason: str, by: User, at: datetime) -> Submission:
    """Have a submission whose evaluation failed evaluated again. Raises NotNow for others."""
    decide(submission, Kind.REEVALUATE, reason, by, at)
    rows = Submission.objects.filter(pk=submission.pk, state=State.FAILED)
    if not rows.update(state=State.RECEIVED, tries=0, retry_at=None, begun_at=None):
        raise NotNow(_("Only what failed can be evaluated again."))
    submission.refresh_from_db()
    events.event_add(submission=submission, state=State.RECEIVED, by=by, note=reason, at=at)
    return submission


@transaction.atomic
def embargo_extend(*, submission: Submission, until: date, reason: str, by: User, at: datetime) -> Submission:
    """Let an embargo last longer. Raises NotNow once the entry was revealed, and Refused for an earlier date."""
    locked = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if not locked.is_hidden(at):
        raise NotNow(_("This entry is not under embargo: what was shown cannot be hidden again."))
    assert locked.embargo_until is not None
    if until <= locked.embargo_until or until <= at.astimezone(UTC).date():
        message = _("The embargo ends on %(day)s: an extension ends later.")
        raise Refused(message % {"day": f"{locked.embargo_until:%d %b %Y}"})
    decide(locked, Kind.EXTEND, reason, by, at, before=f"{locked.embargo_until}", after=f"{until}")
    locked.embargo_until = until
    locked.save(update_fields=["embargo_until"])
    submission.refresh_from_db()
    text = _("Its embargo lasts until %(day)s.") % {"day": f"{until:%d %b %Y}"}
    to = events.members_of(submission)
    events.mails_add(submission=submission, to=to, what=_("embargo extended"), text=text, at=at)
    return submission
