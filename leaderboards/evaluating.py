"""Evaluating submissions: in a process of its own, with limits, from the sealed package to scores.

What is opened is written down first. A submission is claimed by its state; whoever dies while evaluating leaves one
that is claimed again once its time is over, three times at most. A canceled one is left alone.
"""

import io
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from core.retrying import Pauses
from core.sealing import SealedOtherwise, unseal
from core.version import VERSION
from evaluation.boards.alike import FUSION_THRESHOLD
from evaluation.boards.entries import rounded
from evaluation.boards.evaluating import Message
from evaluation.files.artifact import RunArtifact
from leaderboards import artifacts, events
from leaderboards.models import Artifact, DevScoring, Opening, Part, Score, Season, SeasonFile, Submission
from leaderboards.publishing import best_of, submission_publish
from leaderboards.selectors import looks_of, root

State = Submission.State
SECONDS = 20 * 60  # of a processor, for one submission
MEGABYTES = 6 * 1024  # of memory
TRIES, PAUSES = 3, Pauses(timedelta(minutes=2), timedelta(hours=1))
# After which whoever claimed it is taken for dead: answer_of waits no longer, and near-duplicates take a few minutes.
GONE = timedelta(seconds=SECONDS * 1.5 + 10, minutes=15)
OPEN = (State.RECEIVED, State.EVALUATING)
JOB = "leaderboards.jobs.evaluate"
ALIKE_AT_ONCE = 16  # runs that a process compares with a new one: some 100 MB
ALIKE_SECONDS = 10 * 60  # for all of them together
NEAREST = 20  # entries among which a fusion is looked for
log = logging.getLogger(__name__)


class ProcessFailed(Exception):
    """The process ended without an answer; the text says how."""


class Limits(NamedTuple):
    """What a process may take."""

    seconds: int = SECONDS
    megabytes: int = MEGABYTES


ALIKE = Limits(seconds=120)


def _clock(at: datetime) -> Callable[[], datetime]:
    """What time it is by now, where it is `at` at the moment: an evaluation takes a while."""
    begun = time.monotonic()
    return lambda: at + timedelta(seconds=time.monotonic() - begun)


def answer_of(request: Message, limits: Limits) -> Message:
    """Have a process of its own answer a request. Raises ProcessFailed."""
    written = io.BytesIO()
    request.write(written)
    command = [sys.executable, "-m", "evaluation.boards.evaluating", str(limits.seconds), str(limits.megabytes)]
    # It gets nothing of our environment, such as keys. One thread, so that its limits hold whatever the machine.
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    try:
        done = subprocess.run(  # noqa: S603 (our own module, and numbers)
            command,
            input=written.getvalue(),
            capture_output=True,
            check=False,
            cwd=settings.BASE_DIR,
            env=environment,
            timeout=limits.seconds * 1.5 + 10,
        )
    except subprocess.TimeoutExpired as error:
        raise ProcessFailed(_("it took longer than %(seconds)s seconds") % {"seconds": limits.seconds}) from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [""]
        log.warning("The evaluating process ended with %s: %s", done.returncode, last[0][:500])
        if "MemoryError" in last[0] or "bad_alloc" in last[0] or "ArrowMemory" in last[0]:
            raise ProcessFailed(_("it needed more than %(size)s MB of memory") % {"size": limits.megabytes})
        raise ProcessFailed(_("its process ended early (status %(status)s)") % {"status": done.returncode})
    try:
        return Message.read(io.BytesIO(done.stdout))
    except (EOFError, ValueError) as error:
        raise ProcessFailed(_("its process ended early")) from error


def submissions_waiting(*, at: datetime) -> list[int]:
    """The keys of those that are to be evaluated, in order of arrival."""
    fresh = Q(state=State.RECEIVED) & Submission.due(at)
    left = Q(state=State.EVALUATING, begun_at__lt=at - GONE)
    return list(Submission.objects.filter(fresh | left).order_by("arrived_at", "pk").values_list("pk", flat=True))


def submission_evaluate(*, submission_id: int, at: datetime, limits: Limits | None = None) -> bool:
    """Evaluate one submission, unless another does. Whether it was claimed."""
    limits, ended = limits or Limits(), _clock(at)
    submission = _claim(submission_id, at)
    if submission is None:
        return False
    try:
        answer = answer_of(_request_of(submission), limits)
        _store(submission, answer, _alike(submission, answer, at), ended())
    except (ProcessFailed, SealedOtherwise, OSError) as error:
        _fail(submission, error, ended())
        return True
    except Exception:  # what nobody thought of ends as well, and holds up nobody else
        log.exception("Submission %s could not be evaluated", submission.pk)
        _fail(submission, ProcessFailed(_("something went wrong at this site, which its log has")), ended())
        return True
    _publish_by_policy(submission, ended())
    return True


def _alike(submission: Submission, answer: Message, at: datetime) -> list[dict[str, Any]]:
    """Entries of the board that the eval run is nearly the same as, and those that it may be a fusion of.

    For organizers: each has `keys` of submissions, `method` (empty for one entry) and `similarity` from 0 to 1. Some
    are compared at a time, in processes with limits of their own; what takes too long is left out, and logged.
    """
    if answer.values["refused"] or submission.policy is None:
        return []
    run, ends = answer.blobs["eval"], time.monotonic() + ALIKE_SECONDS
    values = {"order": submission.board.order, "threshold": FUSION_THRESHOLD}
    rows = Artifact.objects.filter(submission__season=submission.season_id, part="eval").exclude(submission=submission)
    keys = list(rows.order_by("submission__arrived_at", "submission").values_list("pk", flat=True))
    similar: dict[str, float] = {}
    alike: list[dict[str, Any]] = []
    try:
        for start in range(0, len(keys), ALIKE_AT_ONCE):
            blobs = _opened(keys[start : start + ALIKE_AT_ONCE], submission, at)
            similar |= _compared("alike", values, run, blobs, ends).values["similar"]
        nearest = sorted(similar, key=lambda key: -similar[key])[:NEAREST]
        alike += [
            {"keys": [key], "method": "", "similarity": similar[key]}
            for key in sorted(similar, key=lambda key: -similar[key])
            if similar[key] >= float(submission.policy.alike_threshold)
        ]
        if nearest:
            opened = Artifact.objects.filter(submission__in=map(int, nearest), part="eval")
            blobs = {str(row.submission_id): artifacts.content(row) for row in opened.order_by("submission")}
            fusion = _compared("fusion", values, run, blobs, ends).values["fusion"]
            alike += [fusion] if fusion else []
    except (ProcessFailed, TimeoutError):
        log.exception("Submission %s was not compared with all others", submission.pk)
    return alike


def _compared(kind: str, values: dict[str, Any], run: bytes, blobs: dict[str, bytes], ends: float) -> Message:
    if time.monotonic() > ends:
        raise TimeoutError
    return answer_of(Message(values | {"kind": kind}, {"run": run, **blobs}), ALIKE)


def _opened(keys: Iterable[int], submission: Submission, at: datetime) -> dict[str, bytes]:
    """The tops of other runs by their submissions' keys, to compare one with: written down before they are opened."""
    blobs = {}
    for row in Artifact.objects.filter(pk__in=keys).select_related("submission"):
        why = _("To see whether %(run)s is nearly the same.") % {"run": submission.run_id}
        if row.submission.team_id != submission.team_id:
            why = _("To see whether a newer run is nearly the same.")
        events.opening_add(submission=row.submission, what=Opening.What.ARTIFACT, why=why, job=JOB, at=at)
        try:
            blobs[str(row.submission_id)] = artifacts.content(row)
        except Exception:  # one damaged file stops nobody else's evaluation
            log.exception("The run of submission %s was not compared", row.submission_id)
    return blobs


def publish_waiting(*, at: datetime) -> int:
    """Publish what waits although nobody has to look at it: whoever was to do it died, or the team was confirmed since.

    How many were published.
    """
    waiting = Submission.objects.filter(state=State.WAITING, policy__auto_publish=True).order_by("arrived_at", "pk")
    for submission in waiting:
        try:
            _publish_by_policy(submission, at)
        except Exception:  # one stops no other
            log.exception("Submission %s was not published", submission.pk)
    return Submission.objects.filter(pk__in=[row.pk for row in waiting], state=State.PUBLISHED).count()


def _publish_by_policy(submission: Submission, at: datetime) -> None:
    """Publish what nobody has to look at first."""
    submission.refresh_from_db()
    policy, team = submission.policy, submission.team
    if submission.state != State.WAITING or policy is None or not policy.auto_publish:
        return
    if team is None or (team := root(team)).confirmed_at is None:
        return
    # A first score is always shown. Where another team of the organization has seen one, somebody looks first.
    is_another_first = best_of(team, submission) is None and looks_of(team, submission.season).organization > 0
    if not is_another_first:
        submission_publish(submission=submission, reason=_("By itself, as the policy says."), by=None, at=at)


@transaction.atomic
def _claim(submission_id: int, at: datetime) -> Submission | None:
    rows = Submission.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=submission_id)
    fresh = Q(state=State.RECEIVED) & Submission.due(at)
    submission = rows.filter(fresh | Q(state=State.EVALUATING, begun_at__lt=at - GONE)).first()
    if submission is None:
        return None
    if submission.tries >= TRIES:  # it took its worker with it each time
        _end_failed(submission, _("its process was killed each time"), at)
        return None
    Submission.objects.filter(pk=submission.pk).update(
        state=State.EVALUATING, begun_at=at, retry_at=None, tries=F("tries") + 1
    )
    submission.refresh_from_db()
    events.opening_add(
        submission=submission,
        what=Opening.What.PACKAGE,
        why=_("To check and score it (attempt %(number)s).") % {"number": submission.tries},
        job=JOB,
        at=at,
    )
    if submission.tries == 1:
        events.event_add(submission=submission, state=State.EVALUATING, at=at)
    return submission


def _request_of(submission: Submission) -> Message:
    board, policy, key = submission.board, submission.policy, submission.key
    assert policy is not None and key is not None
    values = _values(submission.season) | {
        "kind": "submission",
        "board": board.slug,
        "run_id": submission.run_id,
        "arrived": submission.arrived_at.astimezone(UTC).date().isoformat(),
        "embargo_months": policy.embargo_months,
        "types": board.types,
    }
    with submission.package.open("rb") as file:
        package = file.read()
    blobs = {"package": package, "private_key": unseal(key.private_sealed).encode()}
    return Message(values, blobs | _season_files(submission.season, SeasonFile.Part.values))


def _values(season: Season) -> dict[str, Any]:
    board = season.board
    return {
        "hits": board.hits,
        "kept": artifacts.depth_of(board),
        "order": board.order,
        "fewer": "refuse" if board.fewer_refused else "warn",
        "measures": board.measures,
    }


def _season_files(season: Season, parts: list[str]) -> dict[str, bytes]:
    contents = {}
    for row in season.files.filter(part__in=parts):
        with row.file.open("rb") as file:
            contents[row.part] = file.read()
    return contents


def _still_ours(submission: Submission) -> Submission | None:
    """The submission, locked, if it is still the one that was claimed."""
    rows = Submission.objects.select_for_update(of=("self",)).filter(pk=submission.pk, state=State.EVALUATING)
    return rows.filter(begun_at=submission.begun_at, tries=submission.tries).first()


@transaction.atomic
def _fail(submission: Submission, error: Exception, at: datetime) -> None:
    locked = _still_ours(submission)
    if locked is None:
        return
    reason = str(error)
    if isinstance(error, SealedOtherwise):
        reason = _("the leaderboard's private key cannot be read with this site's SECRET_KEY")
    if locked.tries < TRIES:
        locked.state, locked.retry_at = State.RECEIVED, at + PAUSES.after(locked.tries)
        locked.save(update_fields=["state", "retry_at"])
        return
    _end_failed(locked, reason, at)


def _end_failed(submission: Submission, reason: str, at: datetime) -> None:
    submission.state = State.FAILED
    submission.save(update_fields=["state"])
    note = _("The evaluation failed: %(said)s. It used no quota; the organizers can have it tried again.")
    events.event_add(submission=submission, state=State.FAILED, note=note % {"said": reason}, at=at)


def _store(submission: Submission, answer: Message, alike: list[dict[str, Any]], at: datetime) -> None:
    """Keep what the process said: all of it, or nothing if the submission was canceled or claimed again."""
    with _files_or_none() as written, transaction.atomic():
        locked = _still_ours(submission)
        if locked is not None:
            locked.alike = alike
            _keep(locked, answer, at, written)


@contextmanager
def _files_or_none() -> Iterator[list[str]]:
    """The names of files to be noted as they are written: where the block fails, they are deleted."""
    written: list[str] = []
    try:
        yield written
    except BaseException:
        for name in written:
            default_storage.delete(name)
        raise


def _keep(submission: Submission, answer: Message, at: datetime, written: list[str]) -> None:
    values = answer.values
    submission.diagnostics = {"sentences": values["sentences"], "runs": values["diagnostics"]}
    submission.evaluated_at = at
    _take_metadata(submission, values["metadata"])
    if values["refused"]:
        submission.state = State.REFUSED
        submission.save()
        note = _("It cannot be evaluated, and used no quota:\n%(said)s") % {"said": values["refused"]}
        events.event_add(submission=submission, state=State.REFUSED, note=note, at=at)
        return
    for part in ("dev", "eval"):
        run = RunArtifact.load(io.BytesIO(answer.blobs[part]))
        row: Artifact = artifacts.write(submission=submission, part=part, run=run, at=at)
        written += [str(file.name) for file in (row.file, row.top) if file]
    for score in values["scores"]:
        _score_keep(submission, score, answer, at, written)
    events.event_add(submission=submission, state=State.CHECKED, at=at)
    if submission.policy is not None and submission.policy.choice_days:
        submission.state = State.CHOOSING
        submission.save()
        note = _("Its dev scores are there. Say by %(day)s whether it counts; without a word, it does.")
        day = f"{submission.choose_by:%d %b %Y, %H:%M} UTC"
        events.event_add(submission=submission, state=State.CHOOSING, note=note % {"day": day}, at=at)
        return
    submission.state, submission.waiting_since = State.WAITING, at
    submission.save()
    events.event_add(submission=submission, state=State.WAITING, at=at)


def _score_keep(
    submission: Submission, score: dict[str, Any], answer: Message, at: datetime, written: list[str]
) -> None:
    """Store a score with its values by query, and note the name of their file."""
    stored = Score(
        submission=submission,
        part=score["part"],
        measure=score["measure"],
        fraction=score["fraction"],
        value=float(Fraction(score["fraction"])),
        query_count=score["queries"],
        groups=score["groups"],
        software=VERSION,
        scored_at=at,
    )
    array = np.load(io.BytesIO(answer.blobs[score["blob"]]), allow_pickle=False)
    file = artifacts.per_query_file(array)
    stored.per_query.save(str(file.name), file, save=False)
    written.append(str(stored.per_query.name))
    stored.save()


def _take_metadata(submission: Submission, metadata: dict[str, Any]) -> None:
    if not metadata:
        return
    submission.metadata = metadata
    submission.team_words = metadata["team"]
    submission.description = metadata["model_description"]
    submission.type = metadata["type"]
    submission.paper, submission.code = metadata.get("paper", ""), metadata.get("code", "")
    until = metadata.get("embargo_until")
    submission.embargo_until = date(*map(int, until.split("/"))) if until else None


# --- dev runs


def dev_scorings_waiting() -> list[int]:
    """The keys of dev runs that are to be scored, oldest first."""
    rows = DevScoring.objects.filter(state=DevScoring.State.WAITING).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def dev_scoring_do(*, scoring_id: int, at: datetime, limits: Limits | None = None) -> bool:
    """Score a dev run, or an imported entry's eval run, unless another does. Whether it was claimed.

    Its file goes once it is done.
    """
    ended = _clock(at)
    with transaction.atomic():
        rows = DevScoring.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=scoring_id)
        free = rows.filter(state=DevScoring.State.WAITING).filter(Q(begun_at=None) | Q(begun_at__lt=at - GONE))
        row = free.select_related("season__board").first()
        if row is None:
            return False
        row.begun_at, row.tries = at, row.tries + 1
        row.save(update_fields=["begun_at", "tries"])
    try:
        if row.tries > TRIES:
            raise ProcessFailed(_("its process was killed each time"))
        with row.file.open("rb") as file:
            run = file.read()
        values = _values(row.season) | {"kind": row.part, "name": row.name}
        parts = [f"{row.part}_queries", f"{row.part}_qrels"]
        answer = answer_of(Message(values, {"run": run, **_season_files(row.season, parts)}), limits or Limits())
    except (ProcessFailed, OSError) as error:
        row.state, row.diagnostics = DevScoring.State.FAILED, {"sentences": [str(error)]}
    else:
        done = answer.values
        row.state = DevScoring.State.REFUSED if done["refused"] else DevScoring.State.DONE
        row.diagnostics = {"sentences": done["sentences"]}
        row.scores = {score["measure"]: score["fraction"] for score in done["scores"]}
        if row.entry is not None and not done["refused"]:
            row.diagnostics["sentences"].append(_beside_published(row.entry, row))
            if row.part == Part.DEV:
                _add_scores(row.entry, answer, ended())
    row.ended_at = ended()
    row.save(update_fields=["state", "diagnostics", "scores", "ended_at"])
    row.file.delete()
    return True


def _beside_published(entry: Submission, row: DevScoring) -> str:
    measure = row.season.board.ranking_measure
    here = rounded(Fraction(row.scores[measure]))
    values = {"measure": measure, "part": row.get_part_display(), "here": here}
    score = entry.scores.filter(part=row.part, measure=measure, origin=Score.Origin.PUBLISHED).first()
    if score is None:
        return _("%(measure)s on %(part)s: %(here)s here; nothing was published.") % values
    values["there"] = rounded(Fraction(score.fraction))
    return _("%(measure)s on %(part)s: %(here)s here, %(there)s as published.") % values


def _add_scores(entry: Submission, answer: Message, at: datetime) -> None:
    """Keep the dev scores of an imported entry's run beside the published ones, unless it had a run before."""
    with _files_or_none() as written, transaction.atomic():
        Submission.objects.select_for_update(of=("self",), no_key=True).get(pk=entry.pk)
        if not entry.scores.filter(part="dev", origin=Score.Origin.COMPUTED, version=None).exists():
            for score in answer.values["scores"]:
                _score_keep(entry, score, answer, at, written)
