"""Reading test pairs, HITs, workers and assignments."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from itertools import compress
from math import ceil
from random import Random
from statistics import median
from typing import NamedTuple

from django.conf import settings
from django.core.cache import caches
from django.db.models import Count, DurationField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet
from django.db.models.functions import Length, Now
from django.db.models.lookups import GreaterThan
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.comparing import compared
from core.money import CENT, DOLLARS
from evaluation.judging.reading import MOST_WORDS_PER_MINUTE, least_minutes, reading_minutes
from evaluation.judging.recognition import Candidate, Recognition, ShownItem, recognition, words_of
from pools import reuse
from pools import selectors as pool_selectors
from pools.counting import count_of, counts_of
from pools.models import Campaign, Pair
from pools.practice import PracticePair, lacking_practice, practice_pairs_of
from runs import selectors as run_selectors
from runs.models import Passage, Qrel, Query
from tasks.consent import default_consent
from tasks.models import Assignment, Consent, ConsentText, Hit, Invitation, Item, TestPair, Worker
from tasks.names import pseudonym
from tasks.packing import hit_count, pick_apart
from tasks.practice import practice_minutes, seconds_in, without_failed

AUC_GOAL = 0.7  # a feature that tells more often than this gives the test pairs away
SAMPLED = 1_000
PACE_ENOUGH = 10  # accepted assignments that an expected time may be the median of
PACE_FROM = 200
PACE_HITS = 10
SOURCES = 50  # campaigns whose test pairs can be copied
FEATURES = {  # that evaluation.judging.recognition counts
    "question_words_worse": gettext_lazy("Question words in the passage that has fewer of them"),
    "question_words_better": gettext_lazy("Question words in the passage that has more of them"),
    "words_in_common": gettext_lazy("Words that the passages share"),
    "length_shorter": gettext_lazy("Length of the shorter passage"),
    "length_longer": gettext_lazy("Length of the longer passage"),
    "hits": gettext_lazy("HITs that show the same comparison"),
}
LONGEST = 20  # passages, by their signs, among which the one that takes longest to read is found


def confirmed_tests(campaign: Campaign) -> QuerySet[TestPair]:
    """The test pairs that may be packed, oldest first."""
    return campaign.test_pairs.filter(state=TestPair.State.CONFIRMED).order_by("id")


def passages_of_tests(campaign: Campaign) -> dict[int, tuple[str, str]]:
    """The texts of the test pairs that may be packed, by key, oldest first."""
    rows = confirmed_tests(campaign).values_list("id", "relevant_text", "off_topic_text")
    return {pk: (relevant, off_topic) for pk, relevant, off_topic in rows}


def launch_obstacles(
    campaign: Campaign, *, missing: pool_selectors.Missing | None = None, afresh: bool = False
) -> list[str]:
    """What keeps a draft from being started, a sentence each: pairs, texts, or confirmed test pairs that it lacks, or
    pay below its lab's floor.

    `missing` are the texts that it lacks, for who has looked for them already. Whether it needs test pairs follows from
    how many pairs have been judged before: counted now if `afresh`.
    """
    obstacles = lacking_pairs(campaign)
    missing = missing or pool_selectors.missing_texts(campaign)
    if missing.passages or missing.queries:
        obstacles.append(missing.sentence())
    lacking = lacking_tests(campaign) + lacking_pay(campaign)
    if (
        lacking and reuse.reused_pairs(campaign, afresh=afresh) == campaign.pair_count > 0
    ):  # no HIT, no test pairs, no pay
        lacking = []
    return obstacles + lacking + lacking_time(campaign) + lacking_practice(campaign) + _given_away(campaign)


def _given_away(campaign: Campaign) -> list[str]:
    """A sentence if practice shows the answer of a test pair, here or in another campaign of the lab, or the answer to
    a query that workers are asked about.
    """
    practised = {pair[:2] for pair in practice_pairs_of(campaign)}
    if practised:
        about = asked_about(campaign, {question for question, _better in practised})
        if about:
            text = _(
                "“%(question)s” is a practice pair, and the campaign asks about the same query: workers would have "
                "read which passage is better. Remove it."
            )
            return [text % {"question": min(about)}]
    live = Campaign.objects.filter(lab=campaign.lab_id).exclude(state=Campaign.State.CLOSED).exclude(pk=campaign.pk)
    elsewhere = {pair[:2] for other in live.exclude(practice_pairs="") for pair in practice_pairs_of(other)}
    of_lab = TestPair.objects.filter(state=TestPair.State.CONFIRMED, campaign__in=live)
    for tests, exposed in ((confirmed_tests(campaign), practised | elsewhere), (of_lab, practised)):
        for test in tests if exposed else ():
            if practice_of_test(test, "")[:2] in exposed:
                text = _("“%(question)s” is a practice pair and a test pair. Remove it from one of them.")
                return [text % {"question": test.question}]
    return []


def asked_about(campaign: Campaign, questions: Collection[str]) -> set[str]:
    """Which of these questions (with runs of white space as one space) are queries whose pairs workers judge."""
    pools = campaign.pools.filter(Exists(Pair.objects.filter(pool=OuterRef("pk"), is_reused=False)))
    texts = pools.order_by().values_list("query__text", flat=True)
    return {" ".join(text.split()) for text in texts.iterator(chunk_size=2_000)} & set(questions)


def practice_of_test(test: TestPair, why: str) -> PracticePair:
    texts = (test.question, test.relevant_text, test.off_topic_text, why)
    return PracticePair(*(" ".join(text.split()) for text in texts))


def lacking_pairs(campaign: Campaign) -> list[str]:
    """A sentence if there is no pair to judge."""
    return [] if campaign.pair_count else [_(campaign.pairing.empty)]


def lacking_tests(campaign: Campaign) -> list[str]:
    """A sentence if the confirmed test pairs are too few, or too alike, for one HIT."""
    passages = passages_of_tests(campaign)
    counts = {"needed": campaign.tests_per_hit, "confirmed": len(passages)}
    if len(passages) < campaign.tests_per_hit:
        return [_("The campaign needs at least %(needed)d confirmed test pairs but has %(confirmed)d.") % counts]
    if len(pick_apart(list(passages), passages)) < campaign.tests_per_hit:
        return [
            _(
                "A HIT needs %(needed)d test pairs that share no passage, but too many of the %(confirmed)d "
                "confirmed ones share one. Confirm some with other passages."
            )
            % counts
        ]
    return []


def lacking_pay(campaign: Campaign) -> list[str]:
    """A sentence if the lab has a pay floor, and the campaign pays less an hour, as far as can be known."""
    floor = lab_floor_of(campaign)
    if floor is None:
        return []
    pace = expected_pace(campaign)
    if pace is None or not pace.is_refused:
        return []
    text = _(
        "A HIT takes about %(minutes)d min and pays %(reward)s, which is %(hourly)s an hour. The lab's floor is "
        "%(floor)s an hour: pay at least %(least)s a HIT, or make HITs shorter."
    )
    if pace.practice:
        text = _(
            "With practice, a worker's first HIT takes about %(minutes)d min and pays %(reward)s, which is %(hourly)s "
            "an hour. The lab's floor is %(floor)s an hour: pay at least %(least)s a HIT, or make practice or HITs "
            "shorter."
        )
    figures = {"reward": pace.reward, "hourly": pace.first_hourly, "floor": floor, "least": pace.least}
    amounts = {name: campaign.money(figure) for name, figure in figures.items()}
    return [text % {"minutes": pace.minutes + pace.practice, **amounts}]


def lacking_time(campaign: Campaign, limit: timedelta | None = None) -> list[str]:
    """A sentence if nobody can read the longest passage in the time for a HIT: the campaign's, or a platform's."""
    minutes = limit.total_seconds() / 60 if limit else campaign.minutes_per_hit
    # A word has a sign at least, so anything shorter can be read.
    too_long = GreaterThan(Length("text"), int(minutes * MOST_WORDS_PER_MINUTE))  # passage_with_long_text has few
    pooled = Passage.objects.filter(too_long, collection=campaign.collection_id, candidacies__pool__campaign=campaign)
    long = pooled.order_by(Length("text").desc()).values_list("pid", "text")
    texts = [(pid, least_minutes([text])) for pid, text in long[:LONGEST]]
    for test in confirmed_tests(campaign):
        texts += [(test.question, least_minutes([text])) for text in (test.relevant_text, test.off_topic_text)]
    name, least = max(texts, key=lambda row: row[1], default=("", 0.0))
    if least <= minutes:
        return []
    text = _(
        "A passage of “%(name)s” cannot be read in the %(minutes)d min that a HIT allows: even skimming it takes "
        "%(least)d min. Allow more time, or shorten the passage."
    )
    return [text % {"name": name[:100], "minutes": int(minutes), "least": ceil(least)}]


def packing_key(campaign_id: int) -> str:
    """What the progress of a campaign's packing is kept under."""
    return f"packing campaign {campaign_id}"


# --- how long a task takes, and what that pays


class Pace(NamedTuple):
    """What workers see before they begin: minutes expected, minutes allowed, the pay for the whole task.

    `measured`: finished assignments that the expected time is the median of; 0 if it follows from the words to read.
    `site_floor`, `lab_floor`: the pay an hour below which the researcher is warned, and the lab starts nothing. All
    amounts are in the campaign's currency.
    `practice`: minutes that practice takes before the first task, 0 without any; the others do not count them.
    """

    minutes: int
    measured: int
    limit: int
    reward: Decimal
    site_floor: Decimal
    lab_floor: Decimal | None = None
    practice: int = 0

    @property
    def hourly(self) -> Decimal:
        """The pay an hour at that pace."""
        return (self.reward * 60 / self.minutes).quantize(CENT)

    @property
    def first_hourly(self) -> Decimal:
        """The pay an hour in the first task, which practice is a part of."""
        return (self.reward * 60 / (self.minutes + self.practice)).quantize(CENT)

    @property
    def floor(self) -> Decimal:
        """The pay an hour below which the researcher is warned: the site's floor, or the lab's if that is higher."""
        return max(self.site_floor, self.lab_floor or Decimal(0))

    @property
    def is_low(self) -> bool:
        """Whether the pay an hour is below the floor, in the first task at least."""
        return self.first_hourly < self.floor

    @property
    def least(self) -> Decimal:
        """The pay for the whole task, rounded up to cents, that is not below the lab's floor."""
        hourly = self.lab_floor or Decimal(0)
        return (hourly * (self.minutes + self.practice) / 60).quantize(CENT, ROUND_CEILING)

    @property
    def is_refused(self) -> bool:
        """Whether the campaign cannot be started, as the pay an hour is below the lab's floor."""
        return self.lab_floor is not None and self.reward * 60 < self.lab_floor * (self.minutes + self.practice)


def lab_floor_of(campaign: Campaign) -> Decimal | None:
    """The pay an hour below which the lab starts no campaign of this currency. The floors of labs are in dollars."""
    return campaign.lab.pay_floor if campaign.currency == DOLLARS else None


def floor_not_held(campaign: Campaign) -> Decimal | None:
    """The lab's pay floor, in dollars, where the campaign pays in another currency, so that it does not hold."""
    return campaign.lab.pay_floor if campaign.currency != DOLLARS else None


def expected_pace(
    campaign: Campaign, limit: timedelta | None = None, pairs: Sequence[ShownItem] | None = None
) -> Pace | None:
    """How long a whole task takes, in minutes, rounded up; None if there are no texts to estimate it from.

    The median of the newest accepted assignments, if there are enough of them and people can read what HITs show in
    that time; else the time for reading it. `limit` is the time that a platform allows; the campaign's, if it is None.
    `pairs` are the first that a draft would have, in place of those that it has; then the campaign need not be stored.
    """
    seconds = [] if pairs is not None else _seconds_taken(campaign)
    allowed = limit.total_seconds() / 60 if limit else campaign.minutes_per_hit
    texts, items, hits = _texts_of_hits(campaign, pairs)
    minutes, measured = median(seconds) / 60 if seconds else 0.0, len(seconds)
    if measured < PACE_ENOUGH or (items and minutes < least_minutes(texts) / hits):
        if not items:
            return None
        minutes, measured = reading_minutes(texts, choices=items) / hits, 0
    return Pace(
        max(1, ceil(minutes)),
        measured,
        int(allowed),
        campaign.reward,
        Decimal(settings.HOURLY_FLOOR if campaign.currency == DOLLARS else settings.HOURLY_FLOOR_GBP),
        lab_floor_of(campaign),
        practice_minutes(campaign),
    )


def expected_minutes(campaign_id: int) -> int:
    """The minutes of expected_pace, at most an hour old, for pages that are asked for often; 0 if there is none."""

    def minutes() -> int:
        pace = expected_pace(Campaign.objects.select_related("lab", "collection").get(pk=campaign_id))
        return pace.minutes if pace else 0

    return int(caches["process"].get_or_set(f"minutes-{campaign_id}", minutes, 3600) or 0)


def least_seconds(campaign: Campaign) -> float:
    """The seconds below which nobody has read the two passages of an average pair; 0 without texts."""
    texts, items, _hits = _texts_of_hits(campaign, None)
    return 60 * least_minutes(texts) / items if items else 0.0


def _seconds_taken(campaign: Campaign) -> list[float]:
    """How long the newest accepted assignments took, without practice."""
    length = ExpressionWrapper(F("finished_at") - F("taken_at"), output_field=DurationField())
    whole = Q(state=Assignment.State.SUBMITTED, verdict=Assignment.Verdict.ACCEPTED)
    lengths = dict(campaign.assignments.filter(whole).order_by("-id").values_list("id", length)[:PACE_FROM])
    practised = seconds_in(list(lengths)) if campaign.practice != Campaign.Practice.NOTHING else {}
    return [length.total_seconds() - practised.get(key, 0) for key, length in lengths.items()]


def _texts_of_hits(campaign: Campaign, pairs: Sequence[ShownItem] | None) -> tuple[list[str], int, float]:
    """Texts of a few HITs, how many items they are, and how many whole HITs these make. Of a draft, of a few pairs."""
    tests: list[ShownItem] = []
    is_packed = False
    if pairs is not None:
        items = list(pairs[: PACE_HITS * campaign.pairs_per_hit])
    else:
        items, tests, is_packed = _stored_items(campaign)
    if campaign.pk and not is_packed:
        rows = campaign.test_pairs.exclude(state=TestPair.State.DECLINED).order_by("id")
        texts = rows.values_list("question", "relevant_text", "off_topic_text")
        tests = [ShownItem(*row) for row in texts[: len(items) * campaign.tests_per_hit // campaign.pairs_per_hit]]
    items = [item for item in items if item.first and item.second]
    if not items:
        return [], 0, 0
    items_shown = [*items, *tests]
    return (
        [text for item in items_shown for text in item[:3]],
        len(items_shown),
        len(items_shown) / campaign.items_per_hit,
    )


def _stored_items(campaign: Campaign) -> tuple[list[ShownItem], list[ShownItem], bool]:
    """The first pairs that a campaign asks about, the test pairs in their HITs, and whether these are packed."""
    hits = Hit.objects.filter(campaign=campaign).order_by("number").values("id")[:PACE_HITS]
    items = list(
        Item.objects.filter(hit__in=hits, layout=0).select_related("test", "pair__pool__query", "pair__a", "pair__b")
    )
    rows = [ShownItem(i.pair.pool.query.text, i.pair.a.text, i.pair.b.text) for i in items if i.pair]
    tests = [ShownItem(i.test.question, i.test.relevant_text, i.test.off_topic_text) for i in items if i.test]
    if not rows:
        few = PACE_HITS * campaign.pairs_per_hit
        with_pairs = campaign.pools.filter(Exists(Pair.objects.filter(pool=OuterRef("pk")))).order_by("id")[:few]
        pairs = Pair.objects.filter(pool__in=list(with_pairs.values_list("id", flat=True))).order_by("id")[:few]
        rows = [ShownItem(*row) for row in pairs.values_list("pool__query__text", "a__text", "b__text")]
    return rows, tests, bool(items)


# --- how test pairs are told from pairs


def related_passages(campaign: Campaign, query_ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    """`(query, passage)` keys of all that may be about a query: what its qrels name, what is in its pool, and what any
    run of the collection has for it, as deep as runs are kept.
    """
    yield from pool_selectors.related_passages(campaign)
    queries = dict(Query.objects.filter(id__in=query_ids).values_list("qid", "id"))
    retrieved: dict[str, set[int]] = {}
    for run in campaign.collection.runs.all():
        for qid, pids in run_selectors.load_artifact(run).kept(queries).items():
            for pid in pids:
                retrieved.setdefault(pid, set()).add(queries[qid])
    passages = Passage.objects.filter(collection=campaign.collection).exclude(text="").values_list("pid", "id")
    for pid, passage_id in passages.iterator(chunk_size=20_000):
        for query_id in retrieved.get(pid, ()):
            yield query_id, passage_id


def candidates(campaign: Campaign, random: Random, most: int) -> list[Candidate]:
    """Passages with a text that qrels name or runs of the collection have for some query: all, or `most` of them drawn
    at random. A passage that nobody has set beside a query may be about any.
    """
    passages = Passage.objects.filter(collection=campaign.collection).exclude(text="").order_by("id")
    ids = dict(passages.values_list("pid", "id").iterator(chunk_size=20_000))
    retrieved = set(Qrel.objects.filter(collection=campaign.collection).values_list("passage_id", flat=True))
    for run in campaign.collection.runs.all():
        retrieved.update(compress(ids.values(), run_selectors.load_artifact(run).holds(list(ids))))
    drawn = sorted(retrieved.intersection(ids.values()))
    if len(drawn) > most:
        drawn = random.sample(drawn, most)
    rows = passages.filter(id__in=drawn).values_list("id", "text").iterator(chunk_size=2_000)
    return [Candidate(pk, words_of(text), len(text)) for pk, text in rows]


def sampled_pairs(campaign: Campaign) -> list[ShownItem]:
    """The texts of a campaign's pairs: all, or every n-th, so that there are at most a thousand."""
    pairs = Pair.objects.filter(pool__campaign=campaign).exclude(Q(a__text="") | Q(b__text=""))
    keys = list(pairs.order_by("id").values_list("id", flat=True))
    chosen = pairs.filter(id__in=keys[:: -(-len(keys) // SAMPLED) or 1])
    rows = chosen.order_by("id").values_list("pool__query__text", "a__text", "b__text")
    return [ShownItem(*row) for row in rows]


def words_shared(test: TestPair) -> list[str]:
    """The words of the question that its off-topic passage holds, the longest first."""
    return sorted(words_of(test.question) & words_of(test.off_topic_text), key=lambda word: (-len(word), word))


class HowFound(NamedTuple):
    """How well programs could tell a campaign's test pairs from its pairs, and how often each test pair is shown.

    `features` is empty as long as there are no test pairs or no pairs. `least` and `most`: HITs that hold a test pair.
    """

    features: list[Recognition]
    tests: int
    hits: int
    least: int
    most: int

    @property
    def rows(self) -> list[tuple[str, Recognition]]:
        """The features, each with its name in words."""
        return [(str(FEATURES[feature.feature]), feature) for feature in self.features]

    @property
    def auc(self) -> float:
        """The best that a program does with one feature."""
        return max((feature.auc for feature in self.features), default=0.5)

    @property
    def is_easy(self) -> bool:
        """Whether one feature alone gives the test pairs away."""
        return self.auc > AUC_GOAL


def measure_tests(campaign: Campaign) -> HowFound:
    """Measure a campaign's test pairs: those in its HITs, or of a draft all that were not declined."""
    hits = Hit.objects.filter(campaign=campaign).count()
    tests = campaign.test_pairs.order_by("id")
    uses: dict[int, int]  # in how many HITs each test pair is, by key
    if hits:
        packed = tests.annotate(held=Count("items", filter=Q(items__layout=0)))  # a HIT's layouts hold the same items
        uses = dict(packed.filter(held__gt=0).values_list("pk", "held"))
    else:
        hits = hit_count(campaign.pair_count - reuse.reused_pairs(campaign), campaign.pairs_per_hit)
        keys = list(tests.exclude(state=TestPair.State.DECLINED).values_list("pk", flat=True))
        each, more = divmod(hits * campaign.tests_per_hit, len(keys) or 1)
        uses = {key: each + (number < more) for number, key in enumerate(keys)}
    chosen = [key for key, count in uses.items() if count][:SAMPLED]
    rows = tests.in_bulk(chosen)
    sample = [
        ShownItem(rows[key].question, rows[key].relevant_text, rows[key].off_topic_text, uses[key]) for key in chosen
    ]
    counts = list(uses.values()) or [0]
    return HowFound(recognition(sample, sampled_pairs(campaign)), len(uses), hits, min(counts), max(counts))


def test_sources(campaign: Campaign) -> list[tuple[int, str]]:
    """The lab's newest campaigns in the same language whose confirmed test pairs can be copied to this one: the key of
    each, and its name with how many there are.
    """
    confirmed = Count("test_pairs", filter=Q(test_pairs__state=TestPair.State.CONFIRMED))
    others = Campaign.objects.filter(lab=campaign.lab_id, language=campaign.language).exclude(pk=campaign.pk)
    newest = others.annotate(tests=confirmed).filter(tests__gt=0).order_by("-created_at", "-id")[:SOURCES]
    return [(other.pk, f"{other.name} ({other.tests})") for other in newest]


class Tally(NamedTuple):
    """A campaign's test pairs by state, how many confirmed ones a HIT needs, and how many of these are proven."""

    needed: int
    suggested: int
    confirmed: int
    declined: int
    proven: int


def test_counts(campaign: Campaign) -> Tally:
    """Count a campaign's test pairs."""
    states = TestPair.State
    counts = campaign.test_pairs.aggregate(
        suggested=Count("id", filter=Q(state=states.SUGGESTED)),
        confirmed=Count("id", filter=Q(state=states.CONFIRMED)),
        declined=Count("id", filter=Q(state=states.DECLINED)),
        proven=Count("id", filter=Q(state=states.CONFIRMED, proven_at__isnull=False)),
    )
    return Tally(needed=campaign.tests_per_hit, **counts)


class PanelRow(NamedTuple):
    """One panel member of a campaign, and what they have done in it."""

    worker: Worker
    pseudonym: str
    invited_at: datetime
    consented: bool
    assignments: int


def invitations_of(campaign: Campaign) -> QuerySet[Invitation]:
    """A campaign's invitations, with the panel members, by name."""
    return campaign.invitations.select_related("worker").order_by("worker__label")


def on_panel(campaign: Campaign, labels: Iterable[str]) -> list[str]:
    """Which of these people are on a campaign's panel already, or are named here twice, as they were written first."""
    spelled: dict[str, str] = {}
    twice: dict[str, str] = {}
    for label in labels:
        key = compared(label)
        if key in spelled:
            twice[key] = spelled[key]
        spelled.setdefault(key, label)
    members = invitations_of(campaign).filter(worker__label_key__in=spelled)
    return list((twice | dict(members.values_list("worker__label_key", "worker__label"))).values())


def panel_rows(campaign: Campaign, invitations: Iterable[Invitation]) -> list[PanelRow]:
    """Panel members of a campaign, in the order of their invitations."""
    invited = list(invitations)
    workers = [invitation.worker_id for invitation in invited]
    text = current_consent(campaign)
    agreed = set(Consent.objects.filter(text=text, worker__in=workers).values_list("worker_id", flat=True))
    done = dict(
        campaign.assignments.filter(worker__in=workers)
        .exclude(state=Assignment.State.ACTIVE)
        .order_by()
        .values_list("worker")
        .annotate(count=Count("id"))
    )
    return [
        PanelRow(
            row.worker,
            pseudonym(campaign, row.worker_id),
            row.created_at,
            row.worker_id in agreed,
            done.get(row.worker_id, 0),
        )
        for row in invited
    ]


def workers_of(campaign: Campaign) -> QuerySet[Worker]:
    """The workers of a campaign: all who took work in it or were invited to it."""
    took = Exists(Assignment.objects.filter(worker=OuterRef("pk"), campaign=campaign))
    return Worker.objects.filter(took | Exists(Invitation.objects.filter(worker=OuterRef("pk"), campaign=campaign)))


def current_consent(campaign: Campaign) -> ConsentText | None:
    """The newest version of what workers agree to."""
    return campaign.consent_texts.order_by("-version").first()


def words_to_try(campaign: Campaign) -> dict[str, str]:
    """The words of a campaign that can be tried before they are saved (`tasks.trials.WORDS`), as workers see them."""
    current = current_consent(campaign)
    return {
        "title": campaign.title,
        "question": campaign.question,
        "instructions": campaign.instructions,
        "consent": current.text if current else default_consent(campaign),
    }


def has_consented(worker: Worker, campaign: Campaign) -> bool:
    """Whether the worker agreed to the version that is in force now."""
    text = current_consent(campaign)
    return text is not None and Consent.objects.filter(worker=worker, text=text).exists()


def current_assignment(worker: Worker, campaign: Campaign) -> Assignment | None:
    """What the worker is at: at most one assignment of a campaign, however late."""
    return Assignment.objects.filter(worker=worker, campaign=campaign, state=Assignment.State.ACTIVE).first()


def finished_assignments(worker: Worker, campaign: Campaign) -> QuerySet[Assignment]:
    """What the worker has finished or left, newest first."""
    return (
        Assignment.objects.filter(worker=worker, campaign=campaign)
        .exclude(state=Assignment.State.ACTIVE)
        .order_by("-finished_at", "-id")
    )


def leases_running(hit_id: int, at: datetime) -> int:
    """How many assignments of a HIT are being judged, or wait for their check, within their time."""
    return Assignment.objects.filter(hit_id=hit_id, verdict=Assignment.Verdict.PENDING, leased_until__gt=at).count()


def at_work_by_link(at: datetime) -> QuerySet[Assignment]:
    """What people who came by a link or from a panel are working on, within their time."""
    return Assignment.objects.filter(state=Assignment.State.ACTIVE, platform_assignment_id="", leased_until__gt=at)


def hits_free(campaign: Campaign, at: datetime) -> int:
    """How many HITs need more work than running leases cover, so that a new worker could take one."""
    running = Q(assignments__verdict=Assignment.Verdict.PENDING, assignments__leased_until__gt=at)
    waiting = Hit.objects.filter(campaign=campaign, needed__gt=0).annotate(out=Count("assignments", filter=running))
    return waiting.filter(needed__gt=F("out")).count()


def assignments_held_against(worker: Worker, campaign: Campaign, came_from: str) -> QuerySet[Assignment]:
    """What a worker took in a campaign, as far as it is known to be theirs.

    Anyone can type ids into a frame's address, so of work that came through a platform only that counts which
    the platform has confirmed, or which came from the same address.
    """
    assignments = Assignment.objects.filter(worker=worker, campaign=campaign)
    return assignments.filter(Q(platform_assignment_id="") | Q(submission__isnull=False) | Q(came_from=came_from))


def hit_taken_count(worker: Worker, campaign: Campaign, came_from: str = "") -> int:
    """How many HITs of a campaign the worker has ever taken."""
    return assignments_held_against(worker, campaign, came_from).values("hit").distinct().count()


class Left(NamedTuple):
    """How many HITs of a campaign a worker left, and finished. At a platform, what was begun and never finished counts
    as left, and finished is what the platform has confirmed.
    """

    left: int
    finished: int

    def reaches(self, campaign: Campaign) -> bool:
        """Whether the worker gets no more HITs for it."""
        return campaign.leaves_per_worker is not None and self.left >= max(
            campaign.leaves_per_worker, self.finished + 1
        )


def left_count(worker: Worker, campaign: Campaign, came_from: str = "") -> Left:
    """Count what the worker left and finished in a campaign."""
    states = Assignment.State
    at_a_platform = ~Q(platform_assignment_id="")
    left = Q(state=states.LEFT) | Q(state=states.ACTIVE) & at_a_platform
    finished = Q(state=states.SUBMITTED) & (Q(submission__isnull=False) | ~at_a_platform)
    counts = without_failed(assignments_held_against(worker, campaign, came_from)).aggregate(
        left=Count("hit", filter=left, distinct=True), finished=Count("hit", filter=finished, distinct=True)
    )
    return Left(**counts)


class Progress(NamedTuple):
    """How far a campaign's HITs are, and what they have cost."""

    hits: int
    hits_done: int
    active: int  # within their time
    lapsed: int  # not finished in their time
    submitted: int
    left: int
    accepted: int
    excluded: int
    workers: int
    barred: int


def progress(campaign: Campaign) -> Progress:
    """How a campaign's HITs and assignments are, from what is kept counted; work that goes on is counted."""
    hits = counts_of(campaign, "hits")
    work = counts_of(campaign, "work")
    states, verdicts = Assignment.State, Assignment.Verdict
    by_state, by_verdict = Counter[str](), Counter[str]()
    for (state, verdict, _there), total in work.items():
        by_state[state] += total.rows
        by_verdict[verdict] += total.rows
    active = Assignment.objects.filter(campaign=campaign, state=states.ACTIVE, leased_until__gt=Now()).count()
    barred = Worker.objects.filter(lab=campaign.lab_id, barred_at__isnull=False)
    return Progress(
        hits=sum(total.rows for total in hits.values()),
        hits_done=sum(total.rows for kind, total in hits.items() if kind[0::2] == ("0", "0")),  # none needed, not held
        active=active,
        lapsed=by_state[states.ACTIVE] - active,
        submitted=by_state[states.SUBMITTED],
        left=by_state[states.LEFT],
        accepted=by_verdict[verdicts.ACCEPTED],
        excluded=by_verdict[verdicts.EXCLUDED],
        workers=count_of(campaign, "workers"),
        barred=barred.filter(Exists(Assignment.objects.filter(worker=OuterRef("pk"), campaign=campaign))).count(),
    )
