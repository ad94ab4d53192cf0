"""Requests for other metadata of a submission: what it says and what it is to say, side by side, with history."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import NotNow, NotYours, Refused
from core.models import User
from evaluation.boards.checking import (
    COST_LIMIT,
    COSTS,
    HARDWARE,
    HARDWARE_LENGTH,
    LINKS,
    check_metadata,
    is_anonymous,
    plain_cost,
)
from evaluation.boards.packages import open_old_metadata
from evaluation.boards.sealing import BadKey, NotOpened
from evaluation.errors import BadInput
from leaderboards import events
from leaderboards.models import Decision, MetadataRequest, Submission
from leaderboards.publishing import decide
from leaderboards.selectors import organizes

Kind, State = MetadataRequest.Kind, MetadataRequest.State
# Which fields of a submission each kind of request may change.
FIELDS: dict[str, tuple[str, ...]] = {
    Kind.LINKS: ("paper", "code"),
    Kind.TYPO: ("description", "team_words"),
    Kind.DESCRIPTION: ("description",),
    Kind.TEAM: ("team_words",),
    Kind.COSTS: (*COSTS, *HARDWARE),
}
WORDS = ("team_words", "description", "paper", "code")  # fields of the row; what a run costs is in its metadata
TYPO_LETTERS = 5  # that a typo's correction may add, leave out or replace, in each field


@transaction.atomic
def request_add(
    *, submission: Submission, kind: str, after: Mapping[str, str], why: str, by: User, at: datetime
) -> MetadataRequest:
    """Ask for other metadata: `after` has fields of FIELDS for the kind. Raises Refused and NotNow.

    Raises NotYours for whoever is not of the team.
    """
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if by.pk not in {user.pk for user in events.members_of(submission)}:
        raise NotYours(_("Only the team that sent a submission can ask for other metadata."))
    fields = {name: _tidy(name, text) for name, text in after.items() if name in FIELDS[kind]}
    return _add(submission, kind, fields, why, by, at)


@transaction.atomic
def request_add_old(
    *, submission: Submission, files: Mapping[str, bytes], private_pem: str, why: str, by: User, at: datetime
) -> MetadataRequest:
    """Take an `ID-metadata.json.enc` of the old scripts as a request: whoever encrypted it had the key of the package.

    `files`: it, and the package's own `ID.key.bin.enc`, by name. `private_pem`: the organizers' RSA key, which is used
    here alone. Type and embargo stay as they are. Raises NotYours for whoever does not organize the board, Refused
    where the files do not open or name another entry, and as `request_add` does.
    """
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if not organizes(by, submission.board):
        raise NotYours(_("Only the organizers can open a file of the old scripts."))
    try:
        opened = open_old_metadata(files, private_pem)
    except (NotOpened, BadKey) as error:
        raise Refused(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    if opened.run_id != submission.run_id:
        text = _("These are files of “%(other)s”, and this is “%(run)s”.")
        raise Refused(text % {"other": opened.run_id, "run": submission.run_id})
    check = check_metadata(opened.content, types=submission.board.types)
    if check.metadata is None:
        name = f"{opened.run_id}-metadata.json"
        raise Refused(" ".join(str(BadInput(name, line, message)) for line, message in check.errors))
    meta = check.metadata
    fields = {"team_words": meta.team, "description": meta.description, "paper": meta.paper, "code": meta.code}
    fields |= {name: plain_cost(meta.costs.get(name)) for name in FIELDS[Kind.COSTS]}
    return _add(submission, Kind.OLD_KEY, fields, why, by, at)


def _add(
    submission: Submission, kind: str, fields: Mapping[str, str], why: str, by: User, at: datetime
) -> MetadataRequest:
    """The caller holds the submission's lock."""
    if submission.state not in (Submission.State.WAITING, Submission.State.PUBLISHED):
        raise NotNow(_("Metadata can be changed of what waits for the organizers or is published."))
    if submission.metadata_requests.filter(state=State.OPEN).exists():
        raise NotNow(_("The last request for this submission is open still. Take it back first."))
    before = {name: _now(submission, name) for name in fields}
    changed = {name: text for name, text in fields.items() if text != before[name]}
    if not changed:
        raise Refused(_("Nothing would change."))
    if kind == Kind.TYPO:
        for name, text in changed.items():
            if _distance(before[name], text, TYPO_LETTERS) > TYPO_LETTERS:
                raise Refused(_("That is more than a typo: ask for a clearer description, or another team name."))
    row = MetadataRequest.objects.create(
        submission=submission,
        kind=kind,
        before={name: before[name] for name in changed},
        after=changed,
        why=why.strip(),
        asked_by=by,
        asked_at=at,
    )
    to = events.organizers_of(submission.board)
    events.mails_add(submission=submission, to=to, what=_("a request for other metadata"), text=why, at=at)
    return row


def _now(submission: Submission, name: str) -> str:
    """What a submission says now, as a request has it."""
    return str(getattr(submission, name)) if name in WORDS else plain_cost(submission.metadata.get(name))


def _tidy(name: str, text: str) -> str:
    text = " ".join(text.split())
    if name in COSTS:
        return _tidy_cost(name, text)
    if name in HARDWARE:
        if len(text) > HARDWARE_LENGTH:
            message = _("%(name)s has %(count)d characters, where at most %(most)d are allowed.")
            raise Refused(message % {"name": name, "count": len(text), "most": HARDWARE_LENGTH})
        return text
    if name in LINKS:
        try:
            return LINKS[name](text)
        except ValueError as error:
            raise Refused(f"{error}.") from error
    if is_anonymous(text):
        raise Refused(_("Name it: “%(text)s” says nothing.") % {"text": text})
    return text


def _tidy_cost(name: str, text: str) -> str:
    if not text:
        return ""
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        number = -1.0
    if not 0 <= number < COST_LIMIT:  # nor NaN
        message = _("%(name)s is “%(seen)s”, where a number from 0 on is needed.")
        raise Refused(message % {"name": name, "seen": text[:50]})
    return plain_cost(number)


def _distance(first: str, second: str, most: int) -> int:
    """Letters to add, leave out or replace (Levenshtein); `most + 1` for anything above."""
    if abs(len(first) - len(second)) > most:
        return most + 1
    row = list(range(len(second) + 1))
    for number, letter in enumerate(first, start=1):
        above, row = row, [number]
        for at, other in enumerate(second):
            row.append(min(above[at] + (letter != other), above[at + 1] + 1, row[at] + 1))
        if min(row) > most:
            return most + 1
    return row[-1]


def is_more_specific(before: str, after: str) -> bool:
    """Whether another name of a team tells more than before: one that adds words to it, or shares none with it."""
    words, others = _words(before), _words(after)
    return bool(others - words)


def _words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def request_take_back(*, submission: Submission, at: datetime) -> None:
    """Take the open request of a submission back. Raises NotNow where there is none (any more)."""
    open_one = submission.metadata_requests.filter(state=State.OPEN)
    if not open_one.update(state=State.TAKEN_BACK, decided_at=at):
        raise NotNow(_("No request is open: it was decided on, or taken back."))


@transaction.atomic
def request_decide(
    *, request: MetadataRequest, accept: bool, override: bool, reason: str, by: User, at: datetime
) -> MetadataRequest:
    """Accept a request, which changes the submission, or refuse it.

    Once a score is known, a team's name cannot become more specific, unless the organizer overrides that, with a
    reason like every decision. Raises Refused and NotNow.
    """
    row = MetadataRequest.objects.select_for_update(of=("self",)).get(pk=request.pk)
    if row.state != State.OPEN:
        raise NotNow(_("This request was decided on already."))
    submission = Submission.objects.select_for_update(of=("self",)).get(pk=row.submission_id)
    if accept:
        new = row.after.get("team_words")
        is_published = submission.published_at is not None
        if new and is_published and not override and is_more_specific(submission.team_words, new):
            why = _("The score is known, and the team's name would tell more than before. Override that, or refuse.")
            raise Refused(why)
        stale = [name for name, text in row.before.items() if _now(submission, name) != text]
        if stale:
            raise NotNow(_("The submission has changed since. Refuse this request, and have a new one made."))
        for name, text in row.after.items():
            if name in WORDS:
                setattr(submission, name, text)
            elif text:
                submission.metadata[name] = float(text) if name in COSTS else text
            else:
                submission.metadata.pop(name, None)
        submission.save(update_fields=["metadata", *WORDS])
    kind, details = Decision.Kind.METADATA, {"before": row.before, "after": row.after}
    decide(submission, kind, reason, by, at, accepted=accept, override=override, **details)
    row.state = State.ACCEPTED if accept else State.REFUSED
    row.decided_by, row.decided_at, row.reason = by, at, reason.strip()
    row.save(update_fields=["state", "decided_by", "decided_at", "reason"])
    what = _("other metadata accepted") if accept else _("other metadata refused")
    to = events.members_of(submission)
    events.mails_add(submission=submission, to=to, what=what, text=reason, at=at)
    return row
