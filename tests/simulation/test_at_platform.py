"""A crowd at a marketplace: everything over HTTP and boto3, with the background jobs, to the last cent."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest

from evaluation.files.preferences import Preference
from evaluation.judging.tournament import derive
from judgments.evidence import Evidence
from judgments.jobs import check
from judgments.models import Acceptance
from platforms.jobs import publish, requeue, settle, sync
from platforms.models import Operation, Publication
from pools.models import Campaign, Pair
from runs.models import Collection
from simulation import at_platform, demonstration
from simulation.attending import Progress
from simulation.crowd import Habits, Tally
from tasks.models import Assignment, Consent, Worker
from tests import factories
from tests.conftest import RunningSite
from tests.marketplace.server import Marketplace, Requester

MIXED = Habits(careless=0.2, leavers=0.2, late=0.2, double_clicks=0.2, reloads=0.1, second_thoughts=0.1, most_hits=2)
PLATFORM = at_platform.PlatformHabits(previews=0.4, returners=0.3)
SEED = 168  # by which a careless one, a leaver, a dawdler and a returner are the first four to come


@pytest.fixture
def market(open_marketplace: Marketplace) -> Marketplace:
    """A marketplace where nobody has ever been."""
    open_marketplace.clear()
    return open_marketplace


@pytest.fixture
def requester(market: Marketplace, monkeypatch: pytest.MonkeyPatch, settings: object) -> Requester:
    """Our account there, with a cent, and its key in the environment."""
    requester = market.requester(deposit="0.01")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", requester.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", requester.secret)
    monkeypatch.setenv("MARKETPLACE_URL", market.url)
    settings.MARKETPLACE_URL = settings.MARKETPLACE_SUBMIT_HOST = market.url  # type: ignore[attr-defined]
    return requester


@pytest.fixture
def both(
    transactional_db: None,
    requester: Requester,
    site_at_marketplace: RunningSite,
    settings: object,
    monkeypatch: pytest.MonkeyPatch,
) -> RunningSite:
    """The site and the marketplace, where we have an account."""
    settings.SITE_URL = site_at_marketplace.url  # type: ignore[attr-defined]
    # What the marketplace lists as reviewable is asked about in the next turn, however lately it was asked about.
    monkeypatch.setattr("platforms.syncing.AGAIN", timedelta(0))
    return site_at_marketplace


def turn() -> None:
    """One round of the background jobs."""
    for job in (sync, check, settle, requeue, publish):
        job()


def quiet(_step: str, _done: int, _total: int) -> None:
    """Progress that nobody watches."""


def preferences(campaign: Campaign) -> list[Preference]:
    """Everybody prefers the passage of the greater id."""
    pairs = Pair.objects.filter(pool__campaign=campaign).values_list("pool__query__qid", "a__pid", "b__pid")
    return [Preference(qid, a, b, max(a, b)) for qid, a, b in pairs]


def judged(publication: Publication, market: Marketplace, url: str, **changes: object) -> Tally:
    """The campaign, judged by a crowd."""
    how: dict[str, object] = {"habits": MIXED, "platform_habits": PLATFORM, "seed": SEED, "workers": 3} | changes
    return at_platform.judge(
        publication=publication,
        preferences=preferences(publication.campaign),
        url=url,
        turn=turn,
        lapse=lambda assignment_id: market.run("lapse", assignment_id),
        **how,  # type: ignore[arg-type]
    )


def test_a_mixed_crowd_does_a_campaign_at_a_marketplace(
    both: RunningSite, market: Marketplace, requester: Requester, collection: Collection
) -> None:
    campaign = factories.campaign(collection, pairs_per_hit=2, tests_per_hit=2, reward=Decimal("1.30"))
    deposits: list[Decimal] = []

    def deposit(amount: Decimal) -> None:
        deposits.append(amount)
        market.run("deposit", requester.name, f"{amount:.2f}")

    publication = demonstration.publish(campaign, deposit)
    assert publication.requirements == []
    reports: list[Progress] = []
    tally = judged(publication, market, both.url, progress=reports.append)

    for happened in ("previews", "given back", "time ran out", "left early", "double clicks", "handed in"):
        assert tally.counts[happened], f"the crowd never showed: {happened}"
    assert tally.counts["pairs without a preference in the file"] == 0

    # every pair has its judgment, and what was excluded was done again by somebody else
    pairs = Pair.objects.filter(pool__campaign=campaign)
    per_pair = Counter(Acceptance.objects.filter(pair__in=pairs).values_list("pair", flat=True))
    assert per_pair == dict.fromkeys(pairs.values_list("pk", flat=True), 1)
    excluded = campaign.assignments.filter(verdict=Assignment.Verdict.EXCLUDED)
    assert excluded
    for worker_row in excluded:
        assert (
            campaign.assignments.filter(hit=worker_row.hit, verdict="accepted")
            .exclude(worker=worker_row.worker)
            .exists()
        )
    expected = derive(Evidence(campaign).pools, preferences(campaign))
    assert Evidence(campaign).derived.qrels == expected.qrels
    assert reports[-1].done == reports[-1].hits == campaign.hits.count()
    assert reports[-1].settled == reports[-1].handed_in == tally.counts["handed in"]

    # all took as long as people take: nobody waits for a person to look at their work
    assert not publication.alarms.filter(kind="fast").exists()

    # the careless get no more, and the platform knows it
    barred = Worker.objects.filter(barred_at__isnull=False)
    answer = requester.client.list_workers_with_qualification_type(QualificationTypeId=publication_id(publication))
    assert (
        {row["WorkerId"] for row in answer["Qualifications"]}
        == {worker_row.external_id for worker_row in barred}
        != set()
    )

    # everybody agreed, has an account at the platform, and was paid what both ledgers say
    assert Consent.objects.count() == Worker.objects.filter(assignments__isnull=False).distinct().count()
    came = demonstration.count_at_platform(publication)
    assert came.ledgers.agree, came.ledgers.differences
    assert came.hits == campaign.hits.count()
    assert came.submitted == came.approved == tally.counts["handed in"]
    assert came.bonuses == publication.payments.filter(purpose="bonus", state="paid").count() > 0
    ours, theirs = came.ledgers, requester.money()
    spent = ours.platform_rewards + ours.platform_bonuses + ours.fees
    assert Decimal(theirs[0]) + Decimal(theirs[1]) == sum(deposits, Decimal("0.01")) - spent

    # again: nobody comes, and nothing is paid
    operations = Operation.objects.count()
    assert judged(publication, market, both.url).counts["people"] == 0
    assert demonstration.count_at_platform(publication) == came
    assert Operation.objects.count() == operations


def publication_id(publication: Publication) -> str:
    """The id of the exclusion qualification."""
    publication.refresh_from_db()
    return publication.exclusion_id


def test_a_crowd_that_was_cut_off_leaves_its_tasks_to_the_next(
    both: RunningSite, market: Marketplace, requester: Requester, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = demonstration.publish(
        campaign, lambda amount: str(market.run("deposit", requester.name, str(amount)))
    )
    demonstration.wait_until_posted(publication, turn, quiet)
    gone = market.worker()
    published_hit = publication.published_hits.order_by("pk")[0]
    gone.accept(published_hit.platform_hit_id)
    # a call whose maker was killed
    turn_over = Operation.objects.filter(publication=publication, kind="create").order_by("pk")[0]
    Operation.objects.filter(pk=turn_over.pk).update(state=Operation.State.SENT, ended_at=None)
    assert demonstration.calls_take_over(publication) == 1

    assert "1 lapsed" in market.run("lapse", "--requester", requester.name)
    assert "Name either" in refused(market, "lapse")
    careful = Habits(careless=0, leavers=0, late=0, most_hits=3)
    tally = judged(publication, market, both.url, habits=careful, workers=2)
    assert tally.counts["handed in"] == campaign.hits.count()
    came = demonstration.count_at_platform(publication)
    assert came.ledgers.agree, came.ledgers.differences
    assert came.hits == campaign.hits.count(), "and none is there twice"


def refused(market: Marketplace, *command: str) -> str:
    """What a command that must fail said."""
    with pytest.raises(AssertionError) as failure:
        market.run(*command)
    return str(failure.value)
