"""Trials: the workers' pages on a campaign's own pairs, for whoever has the link, with nothing stored.

A trial's token is signed, names its campaign, and expires. Revoking a campaign's trials makes all tokens from before
worthless. What is chosen on a trial's pages is remembered in the cache for a while, so that *Back* works, and nowhere
else; that somebody who may change the campaign passed test pairs is a fact about these, and is stored with them.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import NotYours, Refused
from pools.models import Campaign, Pair
from pools.practice import practice_pairs_of
from tasks.models import TestPair
from tasks.packing import PackedItem, pick_apart
from tasks.practice import Go, Standing

PREFIX = "try."  # what no other token begins with
LASTS = timedelta(days=14)
VISIT_LASTS = timedelta(days=1)
REMEMBERED = timedelta(hours=2)
WORDS = ("title", "question", "instructions", "consent")  # what can be tried before it is saved
_SALT = "bestknown.trial"


class TrialOver(NotYours):
    """The link was right, and is too old, was revoked, or its pairs are gone."""

    status = 410
    title = "This trial is over"


@dataclass(frozen=True)
class Trial:
    """What a trial's token names. The link that is sent around has no visit; each walk through the pages has its own.

    `campaign` has the words that are tried, which may not be saved; `consent` is empty for the text in force.
    """

    campaign: Campaign
    linked_at: float
    wording: str = ""
    visit: str = ""
    items: tuple[PackedItem, ...] = ()
    begun_at: datetime | None = None
    consent: str = ""
    is_sent: bool = False  # by the campaign's platform, where the visitor goes back to at the end

    @property
    def token(self) -> str:
        """The signed token of its pages."""
        begun = self.begun_at.timestamp() if self.begun_at else 0
        campaign = self.campaign
        named = [
            campaign.pk,
            campaign.trials_revoked,
            self.linked_at,
            self.wording,
            self.visit,
            begun,
            self.items,
            self.is_sent,
        ]
        return PREFIX + signing.dumps(named, salt=_SALT)

    @property
    def address(self) -> str:
        """The link for a colleague, with the site's own address before it."""
        return str(settings.SITE_URL) + reverse("judging:preview", args=[self.token])

    @property
    def until(self) -> datetime:
        """How long the link works."""
        return datetime.fromtimestamp(self.linked_at, tz=timezone.get_default_timezone()) + LASTS


@dataclass(frozen=True)
class Done:
    """What was done in a visit: the preferred sides by position, and how (`sent` or `left`) and when it ended."""

    choices: Mapping[int, str] = field(default_factory=dict)
    ended: str = ""
    ended_at: datetime | None = None


class TrialItem(NamedTuple):
    query: str
    left: str
    right: str


# --- links


def trial_link(campaign: Campaign, words: Mapping[str, str] | None = None) -> Trial:
    """A trial of a campaign as it is, or with other words, which are remembered for as long as the link lasts."""
    linked_at = time.time()
    if words is None:
        return Trial(campaign, linked_at)
    wording = secrets.token_urlsafe(12)
    cache.set(_words_key(wording), {name: words[name] for name in WORDS}, LASTS.total_seconds())
    return Trial(campaign, linked_at, wording)


def trial_sent(campaign: Campaign) -> Trial:
    """A trial for somebody whom the campaign's platform sends here to test it."""
    return Trial(campaign, time.time(), is_sent=True)


def trial_of(token: str) -> Trial:
    """The trial that a token was made for. Raises NotYours for any other text, and TrialOver for a token that is too
    old or was revoked.
    """
    text = token.removeprefix(PREFIX)
    try:
        key, turn, linked_at, wording, visit, begun, items, *sent = signing.loads(text, salt=_SALT)
        signing.loads(text, salt=_SALT, max_age=VISIT_LASTS if visit else LASTS)
        if time.time() - linked_at > LASTS.total_seconds():  # nor may visits begin visits for ever
            raise signing.SignatureExpired
    except signing.SignatureExpired:
        raise TrialOver(_("This link to a trial has expired. Ask the person who sent it for a new one.")) from None
    except (signing.BadSignature, ValueError, TypeError):
        raise NotYours(
            _("This link is incomplete or not valid. Please open the link that you were given again.")
        ) from None
    campaign = Campaign.objects.select_related("collection", "lab", "created_by").filter(pk=key).first()
    if campaign is None or campaign.trials_revoked != turn:
        raise TrialOver(_("This link to a trial no longer works: it was revoked, or the campaign was deleted."))
    words = cache.get(_words_key(wording)) if wording else {}
    if words is None:
        raise TrialOver(
            _("The wording of this trial is no longer remembered. Ask the person who sent it for a new link.")
        )
    for name in set(words) - {"consent"}:
        setattr(campaign, name, words[name])
    begun_at = datetime.fromtimestamp(begun, tz=timezone.get_default_timezone()) if visit else None
    return Trial(
        campaign,
        linked_at,
        wording,
        visit,
        tuple(PackedItem(*item) for item in items),
        begun_at,
        words.get("consent", ""),
        bool(sent and sent[0]),
    )


def trials_revoke(*, campaign: Campaign) -> None:
    """Make every link to a trial of the campaign worthless."""
    Campaign.objects.filter(pk=campaign.pk).update(trials_revoked=F("trials_revoked") + 1)
    campaign.refresh_from_db(fields=["trials_revoked"])


# --- a visit


def visit_begin(trial: Trial, at: datetime) -> Trial:
    """A walk through the pages: as many items as a HIT has, chosen as a HIT's are. Stores nothing.

    Raises Refused if the campaign has nothing to show yet.
    """
    items = trial_items(trial.campaign)
    if not items:
        raise Refused(trial_obstacle(trial.campaign))
    return replace(trial, visit=secrets.token_urlsafe(9), items=tuple(items), begun_at=at)


def trial_items(campaign: Campaign) -> list[PackedItem]:
    """A HIT for trials: always the same pairs with texts, of different queries as far as there are, and test pairs,
    those that were confirmed first, and of these those that are not proven. Empty if no pair has texts.
    """
    random = Random(f"trial {campaign.seed}")
    pairs = Pair.objects.filter(pool__campaign=campaign).exclude(a__text="").exclude(b__text="")
    firsts = list(pairs.order_by("pool_id", "id").distinct("pool_id").values_list("id", flat=True))
    count = campaign.pairs_per_hit
    chosen = [firsts[number * len(firsts) // count] for number in range(count)] if len(firsts) >= count else firsts
    if len(chosen) < count:
        chosen += pairs.exclude(id__in=chosen).order_by("id").values_list("id", flat=True)[: count - len(chosen)]
    if not chosen:
        return []
    items = [PackedItem(pair, None, random.random() < 0.5) for pair in chosen]
    items += [PackedItem(None, test, random.random() < 0.5) for test in _tests(campaign)]
    random.shuffle(items)
    return items


def _tests(campaign: Campaign) -> Sequence[int]:
    usable = campaign.test_pairs.exclude(state__in=[TestPair.State.DECLINED, TestPair.State.DROPPED]).order_by(
        "state", F("proven_at").asc(nulls_first=True), "id"
    )
    rows = usable.values_list("id", "relevant_text", "off_topic_text")[: 20 * campaign.tests_per_hit]
    passages = {key: texts for key, *texts in rows}
    return pick_apart(list(passages), passages)[: campaign.tests_per_hit]


def trial_obstacle(campaign: Campaign) -> str:
    """Why there is nothing to try, or nothing."""
    pairs = Pair.objects.filter(pool__campaign=campaign)
    if not pairs.exists():
        return _("There is nothing to try: the campaign has no pairs.")
    if not pairs.exclude(a__text="").exclude(b__text="").exists():
        return _("There is nothing to try yet: no pair has the texts of both its passages. Add the passages first.")
    return ""


def item_texts(trial: Trial, position: int) -> TrialItem | None:
    """What the item at a position shows; None if there is none. Raises TrialOver if it is gone from the campaign."""
    if not 1 <= position <= len(trial.items):
        return None
    item = trial.items[position - 1]
    if item.pair is not None:
        pairs = Pair.objects.filter(pk=item.pair, pool__campaign=trial.campaign)
        row = pairs.values_list("pool__query__text", "a__text", "b__text").first()
    else:
        assert item.test is not None
        tests = trial.campaign.test_pairs.filter(pk=item.test)
        row = tests.values_list("question", "relevant_text", "off_topic_text").first()
    if row is None:
        raise TrialOver(_("The campaign has changed since this trial began. Open the link again."))
    query, first, second = row
    return TrialItem(query, *((first, second) if item.a_left else (second, first)))


def done_of(trial: Trial) -> Done:
    """What was done in the visit so far."""
    return cache.get(_visit_key(trial)) or Done()


def visit_choose(*, trial: Trial, position: int, preferred: str) -> Done:
    """Remember a choice for a while."""
    done = done_of(trial)
    return _remember(trial, replace(done, choices={**done.choices, position: preferred}))


def visit_end(*, trial: Trial, ended: str, at: datetime) -> Done:
    """Remember for a while that the visit has ended. Ending again changes nothing."""
    done = done_of(trial)
    return done if done.ended else _remember(trial, replace(done, ended=ended, ended_at=at))


def tests_passed(trial: Trial) -> list[int]:
    """The keys of the visit's test pairs whose relevant passage was preferred."""
    choices = done_of(trial).choices
    return [test for position, (test, side) in _tests_in(trial).items() if choices.get(position) == side]


def tests_failed(trial: Trial) -> list[int]:
    """The positions of the visit's test pairs whose off-topic passage was preferred."""
    choices, other = done_of(trial).choices, {"left": "right", "right": "left"}
    return [position for position, (_test, side) in _tests_in(trial).items() if choices.get(position) == other[side]]


def _tests_in(trial: Trial) -> dict[int, tuple[int, str]]:
    """The visit's test pairs by position: the key, and the side of the relevant passage."""
    items = enumerate(trial.items, 1)
    return {position: (item.test, "left" if item.a_left else "right") for position, item in items if item.test}


def practice_of(trial: Trial) -> Standing:
    """Where the visit is in the campaign's practice."""
    goes = cache.get(_practice_key(trial)) or ()
    return Standing(trial.campaign, practice_pairs_of(trial.campaign), goes)


def practice_remember(*, trial: Trial, standing: Standing, go: Go) -> None:
    """Remember for a while what has become of a go."""
    goes = (*(earlier for earlier in standing.goes if earlier.number != go.number), go)
    cache.set(_practice_key(trial), goes, REMEMBERED.total_seconds())


def _remember(trial: Trial, done: Done) -> Done:
    cache.set(_visit_key(trial), done, REMEMBERED.total_seconds())
    return done


def _visit_key(trial: Trial) -> str:
    return f"trial visit {trial.visit}"


def _practice_key(trial: Trial) -> str:
    return f"trial practice {trial.visit}"


def _words_key(wording: str) -> str:
    return f"trial words {wording}"
