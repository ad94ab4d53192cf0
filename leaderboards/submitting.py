"""Sending a run: what the policy asks is checked before anything is stored."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import NotNow, Refused
from core.models import User
from core.roles import NotAllowed
from evaluation.boards.checking import check_metadata, id_problem
from evaluation.boards.packages import Burnt, open_old_runs, refuse_burnt
from evaluation.boards.sealing import BadKey, NotAPackage, NotOpened, read_label, seal
from leaderboards import events
from leaderboards.models import Board, BoardKey, DevScoring, Opening, Part, PolicyVersion, Season, Submission, Team
from leaderboards.selectors import boards_seen, family, open_seasons, organizes, quota_of
from runs import sending
from runs.sending import MEGABYTE, Received, Sending

State = Submission.State
DEV_SCORINGS_OPEN = 5  # of one person, that wait
DAY = timedelta(days=1)
ARRIVALS_A_DAY = 10  # of a team: what is refused, failed or canceled uses no quota, but time and room


class QuotaUsed(NotNow):
    """The team has sent as many runs as the policy allows for now."""


def obstacles(*, board: Board, team: Team, policy: PolicyVersion, at: datetime) -> str:
    """Why a team can send nothing now, or an empty text. Pages say so before anything is uploaded."""
    quota = quota_of(team, board, policy, at)
    if quota.next_at is not None and not quota.free:
        text = _("%(team)s has sent %(used)s of %(runs)s in %(days)s. The next can be sent from %(at)s UTC on.")
        runs = ngettext("%(n)d run", "%(n)d runs", quota.runs) % {"n": quota.runs}
        days = ngettext("%(n)d day", "%(n)d days", quota.days) % {"n": quota.days}
        names = {"team": team, "used": quota.used, "runs": runs, "days": days}
        return text % {**names, "at": f"{quota.next_at:%d %b %Y, %H:%M}"}
    of_team = Submission.objects.filter(board=board, team__in=family(team), arrived_at__gt=at - DAY)
    arrivals = of_team.order_by("-arrived_at").values_list("arrived_at", flat=True)[:ARRIVALS_A_DAY]
    if len(arrivals) == ARRIVALS_A_DAY:
        text = _(
            "%(team)s has sent %(most)s runs in 24 hours, with those that were refused, failed or were canceled. The "
            "next can be sent from %(at)s UTC on."
        )
        return text % {"team": team, "most": ARRIVALS_A_DAY, "at": f"{min(arrivals) + DAY:%d %b %Y, %H:%M}"}
    return ""


def season_for(board: Board, season: Season | None, at: datetime) -> Season:
    """The season that a run is for: the newest that has begun, unless another was chosen. Raises NotNow."""
    begun = open_seasons(board, at)
    chosen = begun.first() if season is None else begun.filter(pk=season.pk).first()
    if chosen is None:
        raise NotNow(_("No season of this leaderboard has begun yet."))
    return chosen


def send_check(
    *, board: Board, team: Team, run_id: str, policy_number: int, by: User, at: datetime, season: Season | None = None
) -> tuple[PolicyVersion, Season]:
    """The policy and season of a run that may be sent: looked at before its files are read.

    Raises NotNow (QuotaUsed for the quota) and Refused.
    """
    policy = board.policy_at(at)
    if policy.number != policy_number:
        text = _("The policy is version %(number)s now. Read it, and send the run again if you accept it.")
        raise NotNow(text % {"number": policy.number})
    if problem := id_problem(run_id, arrived=at.astimezone(UTC).date()):
        raise Refused(problem[0].upper() + problem[1:] + ".")
    if team.merged_into_id is not None or not team.members.filter(user=by).exists():
        raise NotNow(_("You cannot submit for this team."))
    if text := obstacles(board=board, team=team, policy=policy, at=at):
        raise QuotaUsed(text)
    if board.submissions.filter(run_id__iexact=run_id).exists():
        text = _("The id “%(run)s” is taken: ids are given once, for ever. Choose another name.")
        raise Refused(text % {"run": run_id})
    return policy, season_for(board, season, at)


def too_large() -> str:
    """Why what somebody sends is not taken, and what to do instead."""
    text = _("What you sent is larger than %(most)s MB. Compress the runs with bz2, or send fewer passages a query.")
    return text % {"most": settings.BOARD_UPLOAD_MEGABYTES}


def sending_begin(*, user: User, name: str, size: int, at: datetime) -> Sending:
    """Begin to send a package or a dev run straight to the bucket. Raises as `runs.sending.sending_begin` does, and
    NotAllowed for whoever has no leaderboard.
    """
    if not boards_seen(user).exists():
        raise NotAllowed(_("There is no lab or leaderboard that you can send files to."))
    if size > settings.BOARD_UPLOAD_MEGABYTES * MEGABYTE:
        raise Refused(too_large())
    return sending.sending_begin(user=user, name=name, size=size, at=at, most=ARRIVALS_A_DAY)


def submission_send(
    *,
    board: Board,
    team: Team,
    run_id: str,
    package: bytes,
    policy_number: int,
    by: User,
    at: datetime,
    season: Season | None = None,
    name: str = "",
    received: Received | None = None,
) -> Submission:
    """Take a sealed package in, to be evaluated. `policy_number` is that of the policy that the sender accepted, and
    `name` the file's; it stays where it is if it was received in the bucket.

    Raises Refused, and NotNow where the policy does not allow a run now. Nothing is stored then.
    """
    refuse_key([name], package)
    key = _key_of(board, run_id, package)
    return _store(board, team, season, run_id, package, key, policy_number, by, at, received)


def submission_seal(
    *,
    board: Board,
    team: Team,
    run_id: str,
    metadata: Mapping[str, object],
    dev: bytes,
    evaluated: bytes,
    policy_number: int,
    by: User,
    at: datetime,
    season: Season | None = None,
) -> Submission:
    """Seal plain files for the board's key at once, and take the package in: nothing else of them is stored.

    `metadata` are the fields of metadata.json. Raises as `submission_send` does, and Refused for metadata with errors.
    """
    policy, season = send_check(
        board=board, team=team, run_id=run_id, policy_number=policy_number, by=by, at=at, season=season
    )
    refuse_key([], dev, evaluated)
    today = at.astimezone(UTC).date()
    content = json.dumps(metadata, ensure_ascii=False, indent=1).encode()
    check = check_metadata(content, types=board.types, arrived=today, embargo_months=policy.embargo_months)
    if check.metadata is None:
        raise Refused(" ".join(error.message for error in check.errors))
    key = board.keys.get(retired_at=None)
    files = {"metadata.json": content, "dev.txt": dev, "eval.txt": evaluated}
    package = seal(files, to=key.public_pem, board=board.slug, run_id=run_id)
    return _store(board, team, season, run_id, package, key, policy_number, by, at)


def refuse_key(names: Iterable[str], *contents: bytes) -> None:
    """Raise Refused where one of the files is the key of a package in the clear: by now others may have seen it."""
    try:
        refuse_burnt(names, *contents)
    except Burnt as error:
        text = str(error)
        raise Refused(text[0].upper() + text[1:] + ".") from error


def _key_of(board: Board, run_id: str, package: bytes) -> BoardKey:
    """The board's key that a package was sealed for. Raises Refused."""
    try:
        label = read_label(package)
    except NotAPackage as error:
        text = str(error)
        raise Refused(text[0].upper() + text[1:] + ".") from error
    if label.board != board.slug or label.run_id != run_id:
        text = _(
            "This package was sealed for “%(run)s” on the leaderboard “%(board)s”, not for “%(asked)s” on this one."
        )
        raise Refused(text % {"run": label.run_id, "board": label.board, "asked": run_id})
    key = board.keys.filter(fingerprint__in=label.fingerprints).order_by("-pk").first()
    if key is None:
        text = _("This package was sealed for another key. Seal it for the leaderboard's key: %(fingerprint)s.")
        raise Refused(text % {"fingerprint": board.keys.get(retired_at=None)})
    return key


def _store(
    board: Board,
    team: Team,
    season: Season | None,
    run_id: str,
    package: bytes,
    key: BoardKey,
    policy_number: int,
    by: User,
    at: datetime,
    received: Received | None = None,
) -> Submission:
    submission = Submission(
        board=board,
        run_id=run_id,
        arrived_at=at,
        submitted_by=by,
        team_words=str(team),
        key=key,
        package_size=len(package),
        package_sha256=hashlib.sha256(package).hexdigest(),
    )
    with transaction.atomic():
        # One submission of a team at a time, so that two at once cannot both be the last that the quota allows.
        submission.team = Team.objects.select_for_update(of=("self",)).get(pk=team.pk)
        submission.policy, submission.season = send_check(
            board=board, team=submission.team, run_id=run_id, policy_number=policy_number, by=by, at=at, season=season
        )
        try:
            with transaction.atomic():
                _store_file(submission, "package", package, received)
        except IntegrityError as error:
            if received is None:
                default_storage.delete(str(submission.package.name))
            text = _("This id or this very package was submitted before. Choose another id, and seal the run again.")
            raise Refused(text) from error
        events.event_add(submission=submission, state=State.RECEIVED, by=by, at=at)
    return submission


def _store_file(row: Submission | DevScoring, field: str, content: bytes, received: Received | None) -> None:
    """Store a row with its file; one that is in the bucket already stays where it is."""
    if received is not None:
        sending.file_take(file=received, row=row, field=field)
    else:
        getattr(row, field).save("run", ContentFile(content))


@transaction.atomic
def submission_cancel(*, submission: Submission, by: User, at: datetime) -> Submission:
    """Take a submission back before it has been evaluated: it uses no quota. Raises NotNow after that."""
    states = (State.RECEIVED, State.CHECKED)
    if not Submission.objects.filter(pk=submission.pk, state__in=states).update(state=State.CANCELED):
        raise NotNow(_("It is being evaluated, or has been: it can be withdrawn once that is done."))
    submission.refresh_from_db()
    events.event_add(submission=submission, state=State.CANCELED, by=by, at=at)
    return submission


@transaction.atomic
def submission_enter(*, submission: Submission, by: User | None, at: datetime) -> Submission:
    """Let a run count that its team is asked about: it then waits for the organizers. Without `by`, its time is over.

    Raises NotNow where the team is not asked (any more).
    """
    _choose(submission, State.WAITING, waiting_since=at)
    note = "" if by else _("Its team said nothing in time, so it counts.")
    events.event_add(submission=submission, state=State.WAITING, by=by, note=note, at=at)
    return submission


@transaction.atomic
def submission_leave_out(*, submission: Submission, by: User, at: datetime) -> Submission:
    """Leave a run out that its team is asked about: it uses no quota, and its eval score is never looked at. Raises
    NotNow as `submission_enter` does.
    """
    _choose(submission, State.CANCELED)
    note = _("Its team decided that it does not count.")
    events.event_add(submission=submission, state=State.CANCELED, by=by, note=note, at=at)
    return submission


def _choose(submission: Submission, state: str, **fields: Any) -> None:
    if not Submission.objects.filter(pk=submission.pk, state=State.CHOOSING).update(state=state, **fields):
        raise NotNow(_("Whether this run counts is not open (any more)."))
    submission.refresh_from_db()


def choices_end(*, at: datetime) -> int:
    """Let the runs count whose teams said nothing in time. How many these are."""
    ended = 0
    for row in Submission.objects.filter(state=State.CHOOSING).select_related("policy").order_by("arrived_at", "pk"):
        if row.choose_by is not None and row.choose_by <= at:
            with suppress(NotNow):  # its team has just said it
                submission_enter(submission=row, by=None, at=at)
                ended += 1
    return ended


@transaction.atomic
def submission_withdraw(*, submission: Submission, why: str, by: User, at: datetime) -> Submission:
    """Withdraw a submission: its id stays taken, it still counts for the quota, and an entry leaves a line.

    Raises NotNow for one that is not waiting or published.
    """
    states = (State.WAITING, State.PUBLISHED)
    rows = Submission.objects.filter(pk=submission.pk, state__in=states)
    if not rows.update(state=State.WITHDRAWN, withdrawn_at=at):
        raise NotNow(_("Only what waits for the organizers or is published can be withdrawn."))
    submission.refresh_from_db()
    events.event_add(submission=submission, state=State.WITHDRAWN, by=by, note=why, at=at)
    return submission


@transaction.atomic
def dev_scoring_ask(
    *,
    season: Season,
    name: str,
    content: bytes,
    by: User,
    at: datetime,
    entry: Submission | None = None,
    received: Received | None = None,
) -> DevScoring:
    """Have a run on the dev queries scored: no entry, no quota. Raises NotNow while five of a person's wait.

    With an `entry`, an imported one of the season, organizers add its run later: raises Refused for other entries and
    people, and NotNow for one that has its run.
    """
    if entry is not None:
        _check_addable(entry, season, by)
    return _ask(season, entry, Part.DEV, name, content, by, at, received)


@transaction.atomic
def old_runs_add(
    *, season: Season, files: Mapping[str, bytes], private_pem: str, by: User, at: datetime
) -> list[DevScoring]:
    """Add the runs of a package of the old scripts to the imported entry of its id: both are scored, and compared with
    what was published. The score on eval is for the organizers alone.

    `files`: its `ID.tar.enc` and `ID.key.bin.enc`, by name. `private_pem`: the organizers' RSA key, which is used here
    alone. Raises Refused where they do not open or the season has no such entry, and as `dev_scoring_ask` does.
    """
    try:
        opened = open_old_runs(files, private_pem)
    except (NotOpened, BadKey) as error:
        raise Refused(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    entry = season.submissions.filter(run_id__iexact=opened.run_id).first()
    if entry is None:
        text = _("This is the package of “%(run)s”, and the season has no entry of that id.")
        raise Refused(text % {"run": opened.run_id})
    _check_addable(entry, season, by)
    why = _("Its package of the old scripts was read, to add its runs.")
    events.opening_add(submission=entry, what=Opening.What.PACKAGE, why=why, by=by, at=at)
    return [
        _ask(season, entry, part, f"{opened.run_id}/{part}.txt.bz2", content, by, at)
        for part, content in ((Part.DEV, opened.dev), (Part.EVAL, opened.eval))
    ]


def _check_addable(entry: Submission, season: Season, by: User) -> None:
    if entry.origin != Submission.Origin.IMPORTED or entry.season_id != season.pk:
        raise Refused(_("A run can be added to an imported entry of the same season alone."))
    if not organizes(by, season.board):
        raise Refused(_("Only the organizers can add a run to an imported entry."))
    if entry.scores.filter(part="dev", origin="computed", version=None).exists():
        raise NotNow(_("%(run)s has its dev run: its scores stay.") % {"run": entry.run_id})


def _ask(
    season: Season,
    entry: Submission | None,
    part: Part,
    name: str,
    content: bytes,
    by: User,
    at: datetime,
    received: Received | None = None,
) -> DevScoring:
    User.objects.select_for_update(of=("self",), no_key=True).get(pk=by.pk)
    if by.dev_scorings.filter(state=DevScoring.State.WAITING).count() >= DEV_SCORINGS_OPEN:
        raise NotNow(_("Five of your runs wait to be scored. Send the next when one is done."))
    row = DevScoring(season=season, entry=entry, part=part, asked_by=by, asked_at=at, name=name[-255:])
    _store_file(row, "file", content, received)
    return row
