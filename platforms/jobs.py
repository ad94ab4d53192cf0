"""What runs in the background at platforms. The rows are the queue: a job may find nothing to do."""

import logging
import time
from collections.abc import Callable

from celery.app.task import Task
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from kombu.exceptions import OperationalError

from core import alarms
from core.alarms import alarm_raise, alarm_settle, resting
from core.background import job
from core.errors import Refused
from platforms import finishing, hooks, ledger_comparison, low_balance
from platforms.attention import attention_check, returns_check
from platforms.messages import conversations
from platforms.models import PlatformAlarm, Publication, StudySync
from platforms.money.account import balance_store
from platforms.outbox import operations_run
from platforms.publishing.publications import publication_plan
from platforms.registry import CALL_ERRORS, phrase
from platforms.reviewing.fairness import pay_rate_check, pay_rate_compute
from platforms.reviewing.requeuing import publication_requeue
from platforms.reviewing.settling import publication_settle
from platforms.syncing import assignment_sync, finished_end, publication_sync

log = logging.getLogger(__name__)
# For which one job makes the calls of one publication, before the others, and other jobs, get their turn.
SECONDS = 20.0
EXPECTED: tuple[type[Exception], ...] = (Refused, *CALL_ERRORS)  # the platform is away, or refuses us
BALANCE_LASTS = 20  # seconds in which a page that is opened again does not ask for the balance again
HEARD_TOGETHER = 20  # seconds in which notifications of a study make us ask once


@job(gettext_lazy("the job that publishes HITs"))
def publish() -> str:
    """Plan HITs and make planned calls, at each publication's rate. Safe to run many at once, and to be killed."""

    def one(publication: Publication) -> int:
        calls_made, ends = 0, time.monotonic() + SECONDS
        at_once = max(1, min(100, int(publication.rate * 5)))
        while time.monotonic() < ends:
            publication_plan(publication_id=publication.pk, at=timezone.now())
            calls = operations_run(publication=publication, limit=at_once)
            if not calls:
                break
            calls_made += calls
        return calls_made

    return _each("publish", "calls made", one)


@job(gettext_lazy("the job that collects submitted work"))
def sync() -> str:
    """Ask the platforms what was submitted. Safe to run many at once."""

    def one(publication: Publication) -> int:
        going_on = StudySync.objects.filter(publication=publication, is_quiet=False)
        if not publication.published_hits.filter(next_poll_at__isnull=False).exists() and not going_on.exists():
            return 0  # nothing more can come
        return publication_sync(publication=publication, at=timezone.now()).new

    return _each("sync", "new submissions", one)


@job(gettext_lazy("the job that collects all submitted work of a campaign"))
def sync_whole(publication_id: int) -> str:
    """Ask about every HIT of one publication now, because a person asked. `sync` goes on with it. Safe to run twice."""

    def ask(publication: Publication) -> int:
        return publication_sync(publication=publication, at=timezone.now(), everything=True).new

    return _each("sync", "new submissions", ask, Publication.objects.filter(pk=publication_id))


@job(gettext_lazy("the job that asks about what a platform notified this site of"))
def hear(publication_id: int, assignment_id: str) -> str:
    """Ask about what a notification named: one assignment, or what was submitted on a whole publication, which many
    notifications in a row do once. Safe to run twice. If it fails, `sync` finds out.
    """
    publication = Publication.objects.select_related("campaign__lab").filter(pk=publication_id).first()
    if publication is None:
        return "gone"
    at = timezone.now()
    try:
        if assignment_id:
            assignment_sync(publication=publication, assignment_id=assignment_id, at=at)
        elif cache.add(f"heard of publication {publication_id}", 1, HEARD_TOGETHER):
            publication_sync(publication=publication, at=at)
    except EXPECTED as error:
        log.warning("Publication %s, after a notification: %s", publication_id, error)
        return "not asked"
    return "asked"


@job(gettext_lazy("the job that turns platforms' notifications on and off"))
def keep_notifications() -> str:
    """Subscribe to the notifications of labs' accounts where campaigns are going on. Safe to run many at once."""
    return f"accounts with notifications: {hooks.hooks_keep(at=timezone.now())}"


@job(gettext_lazy("the job that approves and pays"))
def settle() -> str:
    """Decide on submitted work, and plan what it is paid. Safe to run many at once."""
    return _each(
        "settle", "decided", lambda publication: publication_settle(publication=publication, at=timezone.now())
    )


@job(gettext_lazy("the job that puts HITs back"))
def requeue() -> str:
    """Ask for more assignments where work was excluded, end HITs that need none, check whether workers open tasks, and
    what an hour pays, and finish what is settled.

    Safe to run many at once.
    """

    def one(publication: Publication) -> int:
        at = timezone.now()
        attention_check(publication=publication, at=at)
        returns_check(publication=publication, at=at)
        pay_rate_check(publication=publication, at=at)
        changed = publication_requeue(publication=publication, at=at) + finished_end(publication=publication, at=at)
        if finishing.publication_finish(publication=publication, at=at):
            pay_rate_compute(publication=publication, at=at)  # what stays
        return changed

    return _each("requeue", "HITs changed", one)


@job(gettext_lazy("the job that ends HITs that are done, or reopens them"))
def offer(campaign_id: int) -> str:
    """End the HITs of a campaign that its platform need not offer any more, and reopen those that it should, as
    `requeue` and `publish` do on their schedule. Safe to run many at once, and to be killed.
    """
    cache.delete(_offering(campaign_id))  # before anything is read: what happens from now on asks again

    def one(publication: Publication) -> int:
        at = timezone.now()
        changed = publication_requeue(publication=publication, at=at) + finished_end(publication=publication, at=at)
        operations_run(publication=publication, limit=max(1, min(100, int(publication.rate * 5))))
        return changed

    return _each("requeue", "HITs changed", one, Publication.objects.filter(campaign=campaign_id))


def offer_soon(campaign_id: int) -> None:
    """Ask for `offer` when the transaction is committed: once, however much happens before it runs. If the queue is
    away, `requeue` does the same within two minutes.
    """
    published = Publication.objects.filter(campaign=campaign_id).exclude(state=Publication.State.DRAFT)
    _soon(offer, campaign_id, _offering(campaign_id), 60, published.exists)


def _soon(
    work: "Task[[int], str]", key: int, name: str, seconds: int, applies: Callable[[], bool] = lambda: True
) -> None:
    """Ask for a job when the transaction is committed, if it applies then, and at most once in so many seconds."""

    def ask() -> None:
        if applies() and cache.add(name, 1, seconds):
            try:
                work.delay(key)
            except OperationalError as error:
                log.warning("Not done: %s: %s", name, error)

    transaction.on_commit(ask)


def _offering(campaign_id: int) -> str:
    return f"the offer of campaign {campaign_id} is asked for"


@job(gettext_lazy("the job that compares the ledgers"))
def reconcile() -> str:
    """Compare our ledger with the platforms', HIT by HIT, at each publication's rate: every six hours those HITs that
    can still change, and all of them before a publication is finished. Differences raise alarms.

    Safe to run many at once, and to be killed.
    """

    def one(publication: Publication) -> int:
        at = timezone.now()
        if ledger_comparison.is_due(publication, at):
            ledger_comparison.comparison_begin(publication=publication, at=at, full=False)
        return _compare(publication)

    return _each("reconcile", "differences", one)


@job(gettext_lazy("the job that compares a ledger"))
def compare(publication_id: int) -> str:
    """Begin to compare the whole ledger of one publication now, because a person asked. `reconcile` goes on with it."""

    def one(publication: Publication) -> int:
        ledger_comparison.comparison_begin(publication=publication, at=timezone.now(), full=True)
        return _compare(publication)

    return _each("reconcile", "differences", one, Publication.objects.filter(pk=publication_id))


def _compare(publication: Publication) -> int:
    """Go on with the comparison of a publication, for as long as one job may."""
    comparison = ledger_comparison.comparison_continue(
        publication=publication, at=timezone.now(), seconds=SECONDS, rate=publication.rate
    )
    return 0 if comparison is None else comparison.differences


@job(gettext_lazy("the job that sends and collects messages"))
def messages() -> str:
    """Read what workers wrote, where the platform tells it, and send what was written to workers, once each.

    Safe to run many at once, and to be killed: what was being sent then is not sent again.
    """
    received = 0
    for platform, lab_id in conversations.accounts_to_read(at=timezone.now()):
        try:
            received += conversations.messages_receive(platform=platform, lab_id=lab_id)
        except Exception as error:  # the platform is away, refuses us or says nonsense: others' messages are sent
            log.warning("Messages at %s: %s", platform, error)
    sent = sum(
        conversations.messages_send(publication=publication) for publication in conversations.publications_to_send()
    )
    return f"messages received: {received}, sent: {sent}"


@job(gettext_lazy("the job that watches balances at platforms"))
def watch_balances() -> str:
    """Compare each platform's balance with what is still to be published and paid. Safe to run many at once."""
    return f"alarms of a low balance: {low_balance.balances_check(at=timezone.now())}"


@job(gettext_lazy("the job that asks for the balance of drafts"))
def look_at_balance(publication_id: int) -> str:
    """Ask what the account can spend that a campaign is published from, and keep it. Safe to run twice."""
    publication = Publication.objects.select_related("campaign__lab").filter(pk=publication_id).first()
    if publication is None:
        return "gone"
    return balance_store(publication=publication, at=timezone.now()).trouble or "asked"


def balance_soon(publication_id: int) -> None:
    """Ask for `look_at_balance` when the transaction is committed, at most once in `BALANCE_LASTS` seconds. If the
    queue is away, the balance stays as old as its time says.
    """
    _soon(look_at_balance, publication_id, f"the balance for publication {publication_id} is asked for", BALANCE_LASTS)


IN_WORDS = {
    "publish": gettext_lazy("publish HITs and send planned calls"),
    "sync": gettext_lazy("ask for submitted work"),
    "settle": gettext_lazy("decide on submitted work and pay"),
    "requeue": gettext_lazy("request more work, and end HITs that need none"),
    "reconcile": gettext_lazy("compare the ledgers"),
}


def _each(name: str, what: str, act: Callable[[Publication], int], chosen: QuerySet[Publication] | None = None) -> str:
    """Do something for every publication that is not finished, or for the chosen ones.

    What fails for one raises an alarm, and keeps no other waiting. It is tried again the next time; a failure that
    nobody expected rests, longer each time.
    """
    done = 0
    if chosen is None:
        failed = resting(kind=PlatformAlarm.JOB, at=timezone.now()).filter(about=name)
        chosen = finishing.unfinished().exclude(pk__in=failed.values("of_id"))
    published = chosen.exclude(state=Publication.State.DRAFT).order_by("id")
    for publication in published.select_related("campaign__lab"):
        try:
            done += act(publication)
        except Exception as error:
            expected = isinstance(error, EXPECTED)
            if expected:
                log.warning("Publication %s, %s: %s", publication.pk, name, error)
            else:
                log.exception("Publication %s, %s", publication.pk, name)
            text = _("The job to %(job)s failed: %(error)s. It is tried again automatically; nothing is lost.") % {
                "job": phrase(publication, str(IN_WORDS[name])),
                "error": alarms.in_words(error),
            }
            alarm_raise(
                of=publication, kind=PlatformAlarm.JOB, about=name, text=text, at=timezone.now(), retried=not expected
            )
        else:
            alarm_settle(of=publication, kind=PlatformAlarm.JOB, about=name, at=timezone.now())
    return f"{what}: {done}"
