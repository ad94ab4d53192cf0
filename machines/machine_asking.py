"""Asking a machine about a campaign's pairs: each in both orders, within a budget, and nothing twice.

Each answer is stored as it comes, under a key of all that was said to the machine, so whatever is killed, stopped or
asked again goes on where it was. Once everything is answered, or the budget is used up, the answers become a machine
judge like one that was imported.
"""

import hashlib
import io
import json
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from core.errors import NotNow, Refused
from core.locks import alone
from core.models import User
from core.retrying import Pauses
from evaluation.errors import BadInput
from machines.answers import machine_judge_import
from machines.endpoint import Endpoint, EndpointTrouble, is_set_up
from machines.models import MachineAsking, MachineJudge, MachineReply
from pools.models import Campaign, Pair
from pools.selectors import withheld_passages

PROMPT = gettext_noop(
    "Question: {query}\n\nPassage 1: {first}\n\nPassage 2: {second}\n\nWhich passage answers the question better? "
    "Answer with 1 or 2 alone, or with = if neither is better."
)
PLACES = ("{query}", "{first}", "{second}")
MOST = 10_000_000  # questions of a budget
ATTEMPTS = 8  # that fail one after another
PAUSES = Pauses(timedelta(seconds=30), timedelta(hours=1))
_READ = 500
_PLACE = re.compile("|".join(map(re.escape, PLACES)))
State = MachineAsking.State


class Question(NamedTuple):
    """Two passages in the order in which the machine is shown them. `key`: of what it is told (MachineReply)."""

    query: str
    first: str
    second: str
    prompt: str
    key: str


@transaction.atomic
def machine_asking_start(
    *, campaign: Campaign, name: str, model: str, prompt: str, budget: int, by: User | None, at: datetime
) -> MachineAsking:
    """Have a machine asked about all pairs that this campaign asks people about, in both orders.

    Pairs with a passage that may not leave, because only runs that are not for release brought it, are left out. Raises
    NotNow if no endpoint is set up, and Refused where there is nothing to ask, a text is missing, the prompt has not
    each of its places, or the collection has a judge of this name.
    """
    if not is_set_up():
        raise NotNow(_("This site has no endpoint to ask: whoever runs it can set MACHINE_API_URL."))
    missing = [place for place in PLACES if place not in prompt]
    if missing:
        raise Refused(_("The prompt lacks %(places)s.") % {"places": ", ".join(missing)})
    if budget < 1:
        raise Refused(_("The budget has to allow one question at least."))
    open_ = MachineAsking.objects.filter(campaign__collection=campaign.collection, state=State.ASKING, name=name)
    if open_.exists() or MachineJudge.objects.filter(collection=campaign.collection, name=name).exists():
        raise Refused(_("The collection already has a machine judge called %(name)s.") % {"name": name})
    pairs = Pair.objects.filter(pool__campaign=campaign)
    untold = pairs.filter(Q(a__text="") | Q(b__text="") | Q(pool__query__text="")).count()
    if untold:
        singular, plural = "%(count)s pair has no text.", "%(count)s pairs have no text."
        raise Refused(ngettext(singular, plural, untold) % {"count": f"{untold:,}"})
    asking = MachineAsking(
        campaign=campaign, name=name, model=model, prompt=prompt, budget=budget, asked_by=by, asked_at=at, questions=0
    )
    asking.questions = sum(1 for _question in questions_of(asking))
    if not asking.questions:
        raise Refused(_("This campaign has no pairs to ask about."))
    asking.save()
    return asking


def machine_asking_stop(*, asking: MachineAsking, at: datetime) -> None:
    """Ask nothing more. What was answered stays known. Raises NotNow where it has ended."""
    stopped = MachineAsking.objects.filter(pk=asking.pk, state=State.ASKING).update(state=State.STOPPED, ended_at=at)
    if not stopped:
        raise NotNow(_("This machine is not being asked (any more)."))


def askings_open(at: datetime) -> QuerySet[MachineAsking]:
    """Those that may be gone on with now."""
    return MachineAsking.objects.filter(MachineAsking.due(at), state=State.ASKING).order_by("id")


def machine_asking_advance(*, asking: MachineAsking, until: float) -> int:
    """Ask what is left, until then by `time.monotonic`, and make the judge when all is answered or paid for.

    Returns how many questions were asked. Where another process is at it, nothing is done.
    """
    if not is_set_up():
        return 0
    with alone(f"machine asking {asking.pk}") as ours:
        if not ours:
            return 0
        asking.refresh_from_db()
        return _advance(asking, until) if asking.state == State.ASKING else 0


def _advance(asking: MachineAsking, until: float) -> int:
    sent = 0
    with Endpoint() as endpoint:
        for batch in _batches(questions_of(asking)):
            stored = set(MachineReply.objects.filter(key__in=[row.key for row in batch]).values_list("key", flat=True))
            for question in batch:
                if question.key in stored:
                    continue
                if time.monotonic() > until or not _count_one(asking):
                    asking.refresh_from_db()
                    if asking.state == State.ASKING and asking.sent >= asking.budget:
                        _end(asking, State.SPENT)
                    return sent
                try:
                    reply = endpoint.ask(asking.model, question.prompt)
                except EndpointTrouble as trouble:
                    _rest(asking, trouble)
                    return sent
                sent += 1
                with transaction.atomic():
                    MachineReply.objects.get_or_create(
                        key=question.key, defaults={"sign": reply.sign, "reply": reply.words, "at": timezone.now()}
                    )
                    MachineAsking.objects.filter(pk=asking.pk).update(
                        tokens=F("tokens") + reply.tokens, tries=0, retry_at=None, error=""
                    )
    _end(asking, State.DONE)
    return sent


def _count_one(asking: MachineAsking) -> bool:
    """Count a question before it is sent; False where none may be sent any more."""
    going_on = MachineAsking.objects.filter(pk=asking.pk, state=State.ASKING, sent__lt=F("budget"))
    return bool(going_on.update(sent=F("sent") + 1))


def _rest(asking: MachineAsking, trouble: EndpointTrouble) -> None:
    """Go on later, or end where that would not help."""
    current, at = MachineAsking.objects.filter(pk=asking.pk, state=State.ASKING), timezone.now()
    if not trouble.is_sent:
        current.update(sent=F("sent") - 1)
    asking.rest(PAUSES, at)
    is_over = not trouble.retried or asking.tries >= ATTEMPTS
    then = {"state": State.FAILED, "ended_at": at} if is_over else {"retry_at": asking.retry_at}
    current.update(tries=asking.tries, error=str(trouble), **then)


@transaction.atomic
def _end(asking: MachineAsking, state: str) -> None:
    """Make the judge of what was answered, and end."""
    at, current = timezone.now(), MachineAsking.objects.select_for_update().filter(pk=asking.pk, state=State.ASKING)
    if not current.exists():
        return
    lines = "".join(_lines(asking))
    if not lines:
        current.update(state=State.FAILED, error=_("The budget was used up before anything was answered."), ended_at=at)
        return
    try:
        with transaction.atomic():
            judge = machine_judge_import(
                collection=asking.campaign.collection,
                name=asking.name,
                source=io.BytesIO(lines.encode()),
                filename=asking.name,
                model=asking.model,
                prompt=asking.prompt,
                by=asking.asked_by,
                at=at,
            )
    except (Refused, BadInput) as error:
        current.update(state=State.FAILED, error=str(error), ended_at=at)
        return
    current.update(state=state, judge=judge, ended_at=at, error="", retry_at=None)


def _lines(asking: MachineAsking) -> Iterator[str]:
    for batch in _batches(questions_of(asking)):
        signs = dict(MachineReply.objects.filter(key__in=[row.key for row in batch]).values_list("key", "sign"))
        for row in batch:
            if row.key in signs:
                preferred = {"1": row.first, "2": row.second}.get(signs[row.key], signs[row.key])
                yield f"{row.query} {row.first} {row.second} {preferred}\n"


def questions_of(asking: MachineAsking) -> Iterator[Question]:
    """All questions: the campaign's pairs, sorted, each in both orders."""
    campaign = asking.campaign
    withheld = withheld_passages(campaign)
    rows = (
        Pair.objects.filter(pool__campaign=campaign)
        .order_by("pool__query__qid", "a__pid", "b__pid")
        .values_list("pool__query__qid", "pool__query__text", "a__pid", "a__text", "b__pid", "b__text")
    )
    for qid, query, *two in rows.iterator(chunk_size=_READ):
        a, b = (two[0], two[1]), (two[2], two[3])
        if (qid, a[0]) in withheld or (qid, b[0]) in withheld:
            continue
        for first, second in ((a, b), (b, a)):
            prompt = _filled(asking.prompt, {"{query}": query, "{first}": first[1], "{second}": second[1]})
            content = json.dumps([settings.MACHINE_API_URL, asking.model, prompt])
            yield Question(qid, first[0], second[0], prompt, hashlib.sha256(content.encode()).hexdigest())


def _filled(prompt: str, texts: dict[str, str]) -> str:
    """A prompt with these texts in their places; what looks like a place within a text stays as it is."""
    return _PLACE.sub(lambda match: texts[match[0]], prompt)


def _batches(questions: Iterable[Question]) -> Iterator[list[Question]]:
    rest = iter(questions)
    while batch := list(islice(rest, _READ)):
        yield batch
