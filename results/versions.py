"""Versions of a collection's preference qrels: what a campaign's judgments make of the newest one."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from core.copying import copy_rows
from core.errors import NotNow, Refused
from core.models import User
from core.progress import Report, silent
from core.snapshot import one_moment
from core.version import VERSION
from evaluation.judging.equal_texts import answers_by_id
from evaluation.judging.settling import expected_wrong
from judgments import selectors as judgment_selectors
from judgments.evidence import Evidence
from pools import selectors as pool_selectors
from pools.models import Campaign, QrelsVersion, VersionQuery
from results.models import VersionRequest
from runs.models import Collection, Query

Kind = VersionQuery.Kind
Answers = Mapping[str, tuple[str, ...]]


class Settled(NamedTuple):
    """What a campaign says by now: the best known answers of the queries that it settles, sorted, by query id.

    An answer whose text has other ids in the collection is there by each that may leave. Every other query of the
    campaign is in one of the sets: in `overtaken` if another campaign replaced the answers that it challenged, in
    `unsettled` if it lacks judgments or another round, in `held_back` if only a run that is not for release brought
    its best known answer. On `adjudicated` pairs of the answered queries, what a person decided counts.
    """

    answers: Answers
    overtaken: frozenset[str]
    unsettled: frozenset[str]
    held_back: frozenset[str]
    adjudicated: int


def settled_by(evidence: Evidence, newest: QrelsVersion | None) -> Settled:
    """Called within one moment, with the newest version of the collection.

    Where its answers are not the ones that were challenged, a challenge settles nothing, unless they are the
    campaign's own: then its judgments have changed since, and correct them.
    """
    campaign = evidence.campaign
    derived = evidence.derived
    standing = pool_selectors.version_answers(newest)
    latest = pool_selectors.queries_settled_last(campaign)
    overtaken = {
        query
        for query, passages in evidence.challenged.items()
        if standing.get(query) != passages and query not in latest
    }
    answers = answers_by_id(derived.qrels, evidence.stands_for, evidence.withheld)
    answered = {query for query, _passage in derived.qrels}
    held_back = answered - answers.keys()
    settled = {query: passages for query, passages in answers.items() if query not in overtaken}
    return Settled(
        settled,
        frozenset(overtaken.intersection({*answered, *derived.incomplete})),
        frozenset({*derived.incomplete} - overtaken),
        frozenset(held_back - overtaken),
        sum(query in settled for query, _a, _b in evidence.decided),
    )


def expected_replaced_wrong(evidence: Evidence, before: Answers, after: Answers) -> float | None:
    """How many best known answers that others replaced are expected to be better than these, by all judgments; None
    where none was replaced.
    """
    replaced = set()
    for query, passages in after.items():
        named = evidence.stands_for.get(query, {})
        new, old = ({named.get(pid, pid) for pid in pids} for pids in (passages, before.get(query, ())))
        replaced |= {(query, newcomer, other) for newcomer in new - old for other in old - new}
    if not replaced:
        return None
    judged = [*evidence.counted, *evidence.before]
    pools: dict[str, set[str]] = {}
    for query, *members in [*((row.query, row.a, row.b) for row in judged), *replaced]:
        pools.setdefault(query, set()).update(members)
    return expected_wrong(sorted(replaced), pools, judged)


def version_add(
    *,
    campaign: Campaign,
    why: str,
    by: User | None,
    at: datetime,
    parent: int | None = None,
    request: VersionRequest | None = None,
    report: Report | None = None,
) -> QrelsVersion:
    """Make a version of what the campaign has settled; every other query keeps the answers of the newest version.

    `parent` is the number of the version that the researcher took for the newest one, 0 for none. The `request` for it
    ends with it.

    Raises NotNow if that is no longer the newest, if nothing is settled, or if nothing would change. Raises Refused for
    a champion check or a trial, and without a reason.
    """
    why, report = why.strip(), report or silent()
    if not why:
        raise Refused(_("Say in a sentence why this version is made. It is shown with the version."))
    if reason := why_no_version(campaign):
        raise Refused(reason)
    report(_("Deriving the best known answers"))
    with one_moment():
        newest = pool_selectors.newest_version(campaign.collection)
        _must_follow(newest, parent)
        revision = Campaign.objects.values_list("revision", flat=True).get(pk=campaign.pk)
        before = pool_selectors.version_answers(newest)
        evidence = Evidence(campaign)
        settled = settled_by(evidence, newest)
        doubtful = expected_replaced_wrong(evidence, before, settled.answers)
    if not settled.answers:
        raise NotNow(_nothing_settled(campaign, settled))
    after = {**before, **settled.answers}
    kinds = {query: _kind(before.get(query, ()), passages) for query, passages in settled.answers.items()}
    added, changed = (sum(kind == sought for kind in kinds.values()) for sought in (Kind.ADDED, Kind.CHANGED))
    if newest is not None and not added and not changed:
        raise NotNow(
            _("Nothing would change: version %(number)d has the same best known answers. No version was added.")
            % {"number": newest.number}
        )
    report(_("Storing the version"))
    with transaction.atomic():
        collection = Collection.objects.select_for_update(no_key=True).get(pk=campaign.collection_id)
        _must_follow(pool_selectors.newest_version(collection), newest.number if newest else 0)
        version = QrelsVersion.objects.create(
            collection=collection,
            number=newest.number + 1 if newest else 1,
            campaign=campaign,
            revision=revision,
            made_by=by,
            made_at=at,
            why=why,
            software=VERSION,
            added=added,
            changed=changed,
            unchanged=len(after) - added - changed,
            overtaken=len(settled.overtaken),
            unsettled=len(settled.unsettled),
            held_back=len(settled.held_back),
            adjudicated=settled.adjudicated,
            expected_wrong=doubtful,
            qrels=sum(map(len, after.values())),
            sha256=hashlib.sha256("".join(qrels_lines(after)).encode()).hexdigest(),
        )
        keys = dict(Query.objects.filter(pools__campaign=campaign).values_list("qid", "id"))
        copy_rows(
            VersionQuery,
            ["version", "query", "kind", "before", "after"],
            (
                (version.pk, keys[query], kinds[query], json.dumps(before.get(query, ())), json.dumps(passages))
                for query, passages in settled.answers.items()
            ),
        )
        if request is not None:
            VersionRequest.objects.filter(pk=request.pk).update(version=version, ended_at=at)
    return version


def why_no_version(campaign: Campaign) -> str:
    """Why no version can come of a campaign, whatever is judged; empty if one can."""
    if not campaign.pairing.finds_answers:
        return _(
            "A champion check compares one run with the original qrels. It finds no best known answers, so no version "
            "can be made from it."
        )
    if campaign.state in (Campaign.State.DRAFT, Campaign.State.PACKING):
        return _("The campaign has not started, so it has no best known answers yet.")
    if judgment_selectors.trial_campaigns().filter(pk=campaign.pk).exists():
        return _(
            "The campaign was a trial: it was published to the sandbox of Mechanical Turk. Its judgments count in it "
            "alone, so no version can be made from it."
        )
    return ""


def qrels_lines(answers: Answers, between: str = " ") -> Iterable[str]:
    """The lines of a version's qrels file, sorted by query and passage id."""
    for query in sorted(answers):
        for passage in sorted(answers[query]):
            yield between.join((query, "0", passage, "1")) + "\n"


def _must_follow(newest: QrelsVersion | None, parent: int | None) -> None:
    if parent is None or parent == (newest.number if newest else 0):
        return
    if newest is None:
        raise NotNow(_("The collection has no version %(number)d.") % {"number": parent})
    raise NotNow(
        _(
            "Version %(number)d has been added in the meantime%(by)s, from the campaign “%(campaign)s”. No version was "
            "added. Look at that one first; then add yours, which will follow it."
        )
        % {
            "number": newest.number,
            "by": _(" by %(who)s") % {"who": newest.made_by} if newest.made_by else "",
            "campaign": newest.campaign.name,
        }
    )


def _nothing_settled(campaign: Campaign, settled: Settled) -> str:
    if settled.overtaken and not settled.unsettled and not settled.held_back:
        return _(
            "Since “%(campaign)s” was created, versions from other campaigns have replaced the best known answers that "
            "it challenged. No version was made. Create a campaign that challenges the newest version instead."
        ) % {"campaign": campaign.name}
    if settled.held_back and not settled.unsettled and not settled.overtaken:
        return _(
            "Only runs that are not for release brought the best known answers of “%(campaign)s”, and a version cannot "
            "contain such passages. No version was added."
        ) % {"campaign": campaign.name}
    if settled.overtaken or settled.held_back:
        return " ".join(_each_unsettled(campaign, settled))
    return _(
        "“%(campaign)s” has not settled any query yet: each lacks judgments or needs another round. No version was "
        "added."
    ) % {"campaign": campaign.name}


def _each_unsettled(campaign: Campaign, settled: Settled) -> Iterator[str]:
    yield _("“%(campaign)s” settles no query.") % {"campaign": campaign.name}
    reasons = [
        (
            settled.unsettled,
            ngettext_lazy(
                "%(count)d query lacks judgments or needs another round.",
                "%(count)d queries lack judgments or need another round.",
                "count",
            ),
        ),
        (
            settled.overtaken,
            ngettext_lazy(
                "Since it was created, versions from other campaigns have replaced the best known answers that it "
                "challenged on %(count)d query.",
                "Since it was created, versions from other campaigns have replaced the best known answers that it "
                "challenged on %(count)d queries.",
                "count",
            ),
        ),
        (
            settled.held_back,
            ngettext_lazy(
                "On %(count)d query only runs that are not for release brought the best known answers.",
                "On %(count)d queries only runs that are not for release brought the best known answers.",
                "count",
            ),
        ),
    ]
    for queries, words in reasons:
        if queries:
            yield words % {"count": len(queries)}
    yield _("No version was added.")


def _kind(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    if not before:
        return Kind.ADDED
    return Kind.CONFIRMED if before == after else Kind.CHANGED
