"""Messages between researchers and workers at a platform: receiving, answering, writing to one or many."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from core.alarms import in_words
from core.errors import BadRequest, NotNow
from core.models import User
from platforms.finishing import unfinished
from platforms.messages.protocol import Heard, Inbox
from platforms.models import Message, MessageCursor, Operation, Publication, Submission
from platforms.registry import ADAPTERS, WITH_ACCOUNTS, adapter_for, adapter_named, adapter_of, phrase
from tasks.models import Worker

State = Message.State
MOST_WORKERS, MOST_TEXT, MOST_SUBJECT = 100, 4_096, 200
LISTENING = timedelta(days=30)  # for which a lab's account is read after its last campaign there was finished
SAME = timedelta(minutes=10)  # in which the same message again is a repeated request
_DECIDED = (Operation.Kind.APPROVE, Operation.Kind.REJECT)
ROUNDS = 20  # pages of messages that one look reads
log = logging.getLogger(__name__)


def messages_of(publication: Publication) -> QuerySet[Message]:
    """All messages of a publication, newest first."""
    return publication.messages.select_related("worker", "by", "hit").order_by("-at", "-id")


def unanswered(publication: Publication) -> int:
    return publication.messages.filter(state=State.RECEIVED).count()


def may_be_written_to(publication: Publication) -> QuerySet[Worker]:
    """The workers of a publication whom a message reaches: at most platforms, those of whose work there some was
    approved or rejected, in this campaign or another, and where the platform tells messages, those who wrote.
    """
    campaign = publication.campaign
    began = campaign.assignments.exclude(platform_assignment_id="").values("worker")
    workers = Worker.objects.filter(pk__in=began).exclude(external_id="")
    adapter = adapter_of(publication)
    if adapter.reaches_beginners:
        return workers
    works = Submission.objects.filter(publication__platform=publication.platform, assignment__worker__lab=campaign.lab)
    confirmed = Operation.objects.filter(kind__in=_DECIDED, state=Operation.State.DONE, submission__isnull=False)
    decided = works.filter(
        Q(status__in=[Submission.Status.APPROVED, Submission.Status.REJECTED])
        | Q(pk__in=confirmed.filter(publication__platform=publication.platform).values("submission"))
    )
    reached = Q(pk__in=decided.values("assignment__worker"))
    if isinstance(adapter, Inbox):
        reached |= Q(pk__in=publication.messages.filter(state__in=Message.INCOMING).values("worker"))
    return workers.filter(reached)


@transaction.atomic
def message_write(
    *, publication: Publication, worker: Worker, subject: str, text: str, by: User, at: datetime
) -> Message:
    """Write to one worker; a job sends it. Waiting messages of that worker count as answered.

    The same message again, soon after, is not written again: unless it failed, or answers another message.
    """
    adapter = adapter_of(publication)
    if not adapter.has_subjects:
        subject = publication.title
    subject, text = " ".join(subject.split()), text.strip().replace("\0", "")
    if not subject or len(subject) > MOST_SUBJECT:
        raise BadRequest(_("A message needs a subject of at most %(most)d characters.") % {"most": MOST_SUBJECT})
    if not text or len(text) > MOST_TEXT:
        raise BadRequest(_("A message needs a text of at most %(most)d characters.") % {"most": MOST_TEXT})
    worker = Worker.objects.select_for_update(of=("self",), no_key=True).get(pk=worker.pk)
    wrote = publication.messages.filter(worker=worker, state__in=Message.INCOMING)
    if not wrote.exists() and not may_be_written_to(publication).filter(pk=worker.pk).exists():
        raise NotNow(
            phrase(publication, _("The platform takes no message to this worker yet.")) + " " + adapter.about_writing()
        )
    answers = wrote.filter(state=State.RECEIVED).update(state=State.ANSWERED)
    same = publication.messages.filter(worker=worker, subject=subject, text=text, by=by, at__gt=at - SAME)
    earlier = same.exclude(state=State.FAILED).order_by("id").last()
    if earlier is not None and not answers:
        return earlier
    return Message.objects.create(
        publication=publication, worker=worker, state=State.PLANNED, subject=subject, text=text, by=by, at=at
    )


def message_set_aside(*, message: Message) -> None:
    """Decide that a message needs no answer."""
    Message.objects.filter(pk=message.pk, state=State.RECEIVED).update(state=State.SET_ASIDE)


def subject_of_answer(message: Message) -> str:
    return message.subject if message.subject.startswith("Re: ") else f"Re: {message.subject}"[:MOST_SUBJECT]


# --- sending


def publications_to_send() -> QuerySet[Publication]:
    """Those with messages that wait to be sent."""
    waiting = Message.objects.filter(state=State.PLANNED).values("publication")
    return Publication.objects.filter(pk__in=waiting).select_related("campaign").order_by("pk")


def messages_send(*, publication: Publication) -> int:
    """Send what waits, alike texts in one call. How many messages went out. Each is tried once, whatever happens."""
    sent = 0
    while batch := _take_alike(publication):
        sent += _send(publication, batch)
    return sent


@transaction.atomic
def _take_alike(publication: Publication) -> list[Message]:
    waiting = publication.messages.filter(state=State.PLANNED).order_by("id")
    waiting = waiting.select_for_update(skip_locked=True, of=("self",), no_key=True).select_related("worker")
    first = waiting.first()
    if first is None:
        return []
    batch: dict[int, Message] = {}
    for message in waiting.filter(subject=first.subject, text=first.text)[:MOST_WORKERS]:
        batch.setdefault(message.worker_id, message)
    Message.objects.filter(pk__in=[message.pk for message in batch.values()]).update(state=State.SENDING)
    return list(batch.values())


def _send(publication: Publication, batch: list[Message]) -> int:
    adapter, first = adapter_of(publication), batch[0]
    by_id = {message.worker.external_id: message for message in batch}
    try:
        client = adapter.client()
        adapter.assert_host(client)
        failed = adapter.write_to(client, publication, subject=first.subject, text=first.text, worker_ids=list(by_id))
    except Exception as error:
        log.warning("Messages of publication %s: %s", publication.pk, error)
        text = phrase(publication, _("The platform did not confirm it (%(error)s). It is not sent again by itself."))
        failed = dict.fromkeys(by_id, text % {"error": in_words(error)})
    for worker_id, message in by_id.items():
        state = State.FAILED if worker_id in failed else State.SENT
        Message.objects.filter(pk=message.pk).update(state=state, error=failed.get(worker_id, ""))
    return len(by_id.keys() - failed.keys())


# --- receiving


def accounts_to_read(*, at: datetime) -> list[tuple[str, int | None]]:
    """Platforms that tell messages, and whose account there to ask with. Where labs have accounts of their own, each
    lab's that has a campaign going on, or had one within `LISTENING`, as people ask about their pay afterwards; this
    site's (None) elsewhere.
    """
    accounts: list[tuple[str, int | None]] = []
    for platform, adapter in ADAPTERS.items():
        if not isinstance(adapter, Inbox):
            continue
        published = Publication.objects.filter(platform=platform).exclude(state=Publication.State.DRAFT)
        if platform in WITH_ACCOUNTS:
            going_on = unfinished().filter(pk__in=published.values("pk"))
            # What is finished was compared with the platform's ledger once nothing could happen any more.
            lately = Q(comparison__began_at__gt=at - LISTENING)
            listened_to = published.filter(Q(pk__in=going_on.values("pk")) | lately)
            labs = listened_to.order_by("campaign__lab").values_list("campaign__lab", flat=True).distinct()
            accounts += [(platform, lab_id) for lab_id in labs]
        elif published.exists():
            accounts.append((platform, None))
    return accounts


def messages_receive(*, platform: str, lab_id: int | None = None) -> int:
    """Read what workers of a platform wrote since the last look, to a lab's account or this site's. How many messages
    are about a publication of ours.
    """
    adapter = adapter_named(platform) if lab_id is None else adapter_for(platform, lab_id)
    assert isinstance(adapter, Inbox)
    stored = 0
    for _round in range(ROUNDS):
        cursor = MessageCursor.objects.filter(platform=platform, lab=lab_id).first()
        since = "" if cursor is None else cursor.message_id
        heard = adapter.messages_after(since)
        stored += _store(platform, lab_id, heard)
        if not heard or heard[-1].cursor == since:
            break
    return stored


@transaction.atomic
def _store(platform: str, lab_id: int | None, heard: Iterable[Heard]) -> int:
    stored = 0
    for message in heard:
        publication = _about(platform, lab_id, message)
        if publication is not None:
            stored += _store_one(publication, message)
        if not MessageCursor.objects.filter(platform=platform, lab=lab_id).update(message_id=message.cursor):
            MessageCursor.objects.create(platform=platform, lab_id=lab_id, message_id=message.cursor)
    return stored


def _about(platform: str, lab_id: int | None, message: Heard) -> Publication | None:
    """The publication whose HIT or study a message is about, or else the last that the worker wrote or submitted to."""
    ours = Publication.objects.filter(platform=platform).select_related("campaign")
    if lab_id is not None:
        ours = ours.filter(campaign__lab=lab_id)
    if message.hit_id:
        return ours.filter(published_hits__platform_hit_id=message.hit_id).first()
    if message.study:
        return ours.filter(hit_type_id=message.study).first()
    worker = {"worker__external_id": message.worker_id, "worker__platform": platform}
    written = Message.objects.filter(**worker, publication__in=ours).order_by("-id").values_list("publication")
    submitted = Submission.objects.filter(platform_worker_id=message.worker_id, publication__in=ours).order_by("-id")
    last = written.first() or submitted.values_list("publication").first()
    return None if last is None else ours.get(pk=last[0])


def _store_one(publication: Publication, message: Heard) -> bool:
    worker, _new = Worker.objects.get_or_create(
        lab_id=publication.campaign.lab_id, platform=publication.platform, external_id=message.worker_id
    )
    hit = publication.published_hits.filter(platform_hit_id=message.hit_id).first() if message.hit_id else None
    _message, new = Message.objects.get_or_create(
        publication=publication,
        platform_message_id=message.message_id,
        defaults={
            "worker": worker,
            "hit": None if hit is None else hit.hit,
            "state": State.RECEIVED,
            "subject": message.subject[:MOST_SUBJECT],
            "text": message.text,
            "at": message.sent_at,
        },
    )
    return new
