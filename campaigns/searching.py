"""One search for what a person may see, by name, id, or a part of it, and for what is explained on the pages."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.models import User
from core.roles import Right, labs_of
from core.templatetags.workplace import TERMS
from platforms.models import PUBLISHED_TO, Publication
from platforms.registry import WITH_ACCOUNTS
from platforms.steps import STEPS
from pools.models import Campaign, Candidate, Pool
from pools.selectors import campaigns_of
from pools.settings import settings_of
from runs.models import Passage, Query
from runs.selectors import collections_of, runs_of
from tasks.models import Assignment

SHOWN = 8  # of each kind
# Words of a question that no sentence need have.
LITTLE = frozenset(
    "a an and are by can do does for how i in is it mean of the to what when where which who why".split()
)
# Where a campaign has what is explained, if not in its plan; by term or step.
PLACES = {
    "HIT": "campaigns:settings", "task": "campaigns:settings", "runs": "campaigns:settings",
    "test pair": "tasks:tests", "tests": "tasks:tests", "practice": "tasks:practice", "wording": "tasks:wording",
    "deadlock": "judgments:queries", "platform": "platforms:terms", "pay": "platforms:terms",
}  # fmt: skip


class Match(NamedTuple):
    """Something with the words in its name; `address` is empty where it has no page of its own."""

    name: str
    detail: str
    address: str


class Kind(NamedTuple):
    """What matches among things of one kind, and whether there is more."""

    title: Promise
    matches: list[Match]
    has_more: bool


def search(user: User, words: str) -> list[Kind]:
    """What a user may see with the words in its name or id, by kind. Queries match by their text too; of passages and
    of workers, ids match as a whole. Words and settings match by their sentences, too: all words that matter are in it.
    """
    kinds = (
        (gettext_lazy("Campaigns"), _campaigns(user, words)),
        (gettext_lazy("Collections"), _collections(user, words)),
        (gettext_lazy("Runs"), _runs(user, words)),
        (gettext_lazy("Queries"), _queries(user, words)),
        (gettext_lazy("Passages"), _passages(user, words)),
        (gettext_lazy("Workers"), _workers(user, words)),
        (gettext_lazy("People"), _people(user, words)),
        (gettext_lazy("Platforms"), _platforms(user, words)),
        (gettext_lazy("Words"), _explained(user, words, {term: (term, sentence) for term, sentence in TERMS.items()})),
        (gettext_lazy("Steps of a plan"), _explained(user, words, STEPS)),
        (gettext_lazy("Settings"), _settings(user, words)),
    )
    parts = ((title, list(islice(matches, SHOWN + 1))) for title, matches in kinds)
    return [Kind(title, matches[:SHOWN], len(matches) > SHOWN) for title, matches in parts if matches]


def _campaigns(user: User, words: str) -> Iterable[Match]:
    either = Q(name__icontains=words) | Q(pk=_key(words))
    for campaign in campaigns_of(user).filter(either)[: SHOWN + 1]:
        detail = f"{campaign.collection.name}, {campaign.get_state_display()}"
        yield Match(campaign.name, detail, reverse("campaigns:campaign", args=[campaign.pk]))


def _collections(user: User, words: str) -> Iterable[Match]:
    for collection in collections_of(user).filter(name__icontains=words)[: SHOWN + 1]:
        yield Match(collection.name, collection.lab.name, reverse("pools:collection", args=[collection.pk]))


def _runs(user: User, words: str) -> Iterable[Match]:
    for run in runs_of(user).filter(Q(name__icontains=words) | Q(team__icontains=words))[: SHOWN + 1]:
        yield Match(run.name, run.collection.name, reverse("pools:run", args=[run.pk]))


def _queries(user: User, words: str) -> Iterable[Match]:
    of_user = Query.objects.filter(collection__in=collections_of(user).order_by())
    rows = list(of_user.filter(Q(qid=words) | Q(text__icontains=words)).select_related("collection")[: SHOWN + 1])
    pools = Pool.objects.filter(query__in=rows).exclude(campaign__state=Campaign.State.DRAFT).order_by("pk")
    newest = {pool.query_id: pool for pool in pools.select_related("campaign")}
    for query in rows:
        pool = newest.get(query.pk)
        address = reverse("results:query", args=[pool.campaign_id, pool.pk]) if pool else ""
        where = pool.campaign.name if pool else query.collection.name
        yield Match(query.qid, f"{query.text} ({where})" if query.text else where, address)


def _passages(user: User, words: str) -> Iterable[Match]:
    collections = list(collections_of(user).order_by("-pk").values_list("pk", flat=True))
    passages = Passage.objects.filter(collection__in=collections, pid=words).select_related("collection")
    for passage in passages.order_by("-pk")[: SHOWN + 1]:
        candidates = Candidate.objects.filter(passage=passage).exclude(pool__campaign__state=Campaign.State.DRAFT)
        candidate = candidates.select_related("pool").order_by("-pk").first()
        address = ""
        if candidate is not None:
            address = reverse("results:query", args=[candidate.pool.campaign_id, candidate.pool_id])
        yield Match(passage.pid, passage.text[:200] or passage.collection.name, address)


def _workers(user: User, words: str) -> Iterable[Match]:
    named = Q(worker__external_id=words) | Q(worker__label__iexact=words)
    labs = labs_of(user, Right.DECIDE)
    work = Assignment.objects.filter(named, worker__lab__in=labs).select_related("worker", "hit__campaign")
    named_before: set[int] = set()
    for assignment in work.order_by("-pk")[:200]:
        campaign = assignment.hit.campaign
        if assignment.worker_id not in named_before:
            named_before.add(assignment.worker_id)
            name = assignment.worker.label or assignment.worker.external_id
            yield Match(name, campaign.name, reverse("review:worker", args=[campaign.pk, assignment.worker_id]))


def _people(user: User, words: str) -> Iterable[Match]:
    either = Q(username__icontains=words) | Q(email__icontains=words)
    people = User.objects.filter(either, memberships__lab__in=labs_of(user)).distinct().order_by("username")
    for person in people[: SHOWN + 1]:
        yield Match(person.username, person.get_full_name(), reverse("core:labs"))


def _platforms(user: User, words: str) -> Iterable[Match]:
    names = {name: str(label) for name, label in PUBLISHED_TO.items() if words.casefold() in str(label).casefold()}
    managed = set(labs_of(user, Right.MANAGE).values_list("pk", flat=True))
    for name in WITH_ACCOUNTS.keys() & names.keys():
        for lab in labs_of(user)[: SHOWN + 1]:
            detail, address = _("the account of %(lab)s"), reverse("platforms:lab_account", args=[lab.pk, name])
            if lab.pk not in managed:
                detail, address = _("an admin of %(lab)s adds its account"), reverse("core:people", args=[lab.pk])
            yield Match(names[name], detail % {"lab": lab.name}, address)
    publications = Publication.objects.filter(platform__in=names, campaign__in=campaigns_of(user).order_by())
    for publication in publications.select_related("campaign").order_by("-pk")[: SHOWN + 1]:
        address = reverse("platforms:publication", args=[publication.campaign_id])
        yield Match(names[publication.platform], publication.campaign.name, address)


def _explained(user: User, words: str, explained: Mapping[str, tuple[object, object]]) -> Iterable[Match]:
    """Each leads to where the newest campaign has it."""
    newest = campaigns_of(user).order_by("-pk").first()
    entries = {key: (str(name), str(sentence)) for key, (name, sentence) in explained.items()}
    for key, (name, sentence) in _ranked(entries, words):
        address = reverse(PLACES.get(key, "campaigns:plan"), args=[newest.pk]) if newest else ""
        yield Match(name, sentence, address)


def _settings(user: User, words: str) -> Iterable[Match]:
    """Each leads to where the newest campaign has it."""
    newest = campaigns_of(user).order_by("-pk").first()
    page = reverse("campaigns:settings", args=[newest.pk]) if newest else reverse("campaigns:campaign_new")
    fields = {field.name: (str(field.verbose_name), str(field.help_text)) for field in settings_of(Campaign)}
    for name, (label, sentence) in _ranked(fields, words):
        yield Match(label, sentence or _("a setting of campaigns"), f"{page}#setting-{name}")


def _ranked(entries: dict[str, tuple[str, str]], words: str) -> list[tuple[str, tuple[str, str]]]:
    """Of `(name, sentence)` by key, those that match: first by key or name, then by name and sentence together."""
    phrase, ranked = words.casefold(), []
    stems = [word.removesuffix("s") for word in re.findall(r"\w+", phrase) if word not in LITTLE]
    for key, (name, sentence) in entries.items():
        if phrase == key or phrase in name.casefold():
            ranked.append((0, key))
        elif stems and all(re.search(rf"\b{stem}s?\b", f"{name} {sentence}", re.IGNORECASE) for stem in stems):
            ranked.append((1, key))
    return [(key, entries[key]) for _rank, key in sorted(ranked, key=itemgetter(0))]


def _key(words: str) -> int:
    return int(words) if words.isdecimal() and len(words) < 10 else 0
