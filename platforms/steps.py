"""The steps from a draft to its start: what is done, what is next, and what is missing."""

from typing import NamedTuple

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import ngettext

from core.money import counted
from platforms.models import Publication
from platforms.money.account import money_missing
from pools import selectors as pool_selectors
from pools.models import Campaign
from pools.practice import lacking_practice, practice_pairs_of
from pools.reuse import reused_pairs
from tasks import selectors as task_selectors

# What each step is called, and about.
STEPS = {
    "collection": (_lazy("Collection"), _lazy("The queries, passages and qrels that the runs were made for.")),
    "runs": (_lazy("Runs"), _lazy("The ranked lists whose first passages are compared.")),
    "pools": (
        _lazy("Pools"),
        _lazy(
            "A pool has the first passages of the runs for one query, and the passage of its qrel. Workers compare its "
            "passages in pairs."
        ),
    ),
    "tests": (
        _lazy("Test pairs"),
        _lazy(
            "A test pair is a passage known to answer the query, beside one that is off topic. The work of anyone who "
            "prefers the wrong one does not count."
        ),
    ),
    "practice": (_lazy("Practice"), _lazy("Pairs that workers judge first, with an explanation. They do not count.")),
    "task": (_lazy("Task"), _lazy("A HIT is what one worker takes at a time: some pairs, with test pairs among them.")),
    "wording": (
        _lazy("Wording"),
        _lazy("What workers read and agree to: instructions, a worked example, consent and the question."),
    ),
    "pay": (
        _lazy("Pay"),
        _lazy("What workers are paid for a HIT, and what all of it costs, with fees and work that is done again."),
    ),
    "platform": (
        _lazy("Platform"),
        _lazy(
            "Where workers come from. The bill has the fees of the platform that is chosen, and until then those of "
            "our own marketplace. Once you start without one, people come by a link or from a panel, and there are no "
            "fees."
        ),
    ),
}


class Step(NamedTuple):
    """One step: which, where it is taken, what it came to, and whether anything is missing there."""

    key: str
    url: str
    detail: str
    is_done: bool

    @property
    def name(self) -> Promise:
        return STEPS[self.key][0]

    @property
    def sentence(self) -> Promise:
        return STEPS[self.key][1]


def draft_steps(campaign: Campaign, missing: pool_selectors.Missing, pace: task_selectors.Pace | None) -> list[Step]:
    """The steps of a draft, in the order in which they are usually taken; with the texts that it lacks, and how long a
    HIT takes.
    """
    edit = reverse("campaigns:campaign_edit", args=[campaign.pk])
    runs, sizes = campaign.runs.count(), pool_selectors.stored_sizes(campaign)
    tests, lacking = task_selectors.test_counts(campaign), task_selectors.lacking_tests(campaign)
    all_judged = reused_pairs(campaign) == campaign.pair_count > 0
    confirmed = _("%(confirmed)s confirmed, %(needed)s needed")
    if all_judged:
        confirmed = _("none are needed: every pair was judged before")
    elif tests.suggested:
        confirmed = _("%(confirmed)s confirmed, %(needed)s needed, %(suggested)s to review")
    publication = Publication.objects.filter(campaign=campaign).first()
    platform, missing_money = _("a link or a panel, unless you choose one"), None
    if publication is not None:
        publication.campaign = campaign
        platform = publication.get_platform_display()
        missing_money = money_missing(publication, publication.balance)
        if missing_money and publication.balance_at:
            text = _("%(platform)s; %(amount)s was missing in the account on %(time)s UTC")
            time = date_format(publication.balance_at, "j M Y, H:i")
            platform = text % {"platform": platform, "amount": campaign.money(missing_money), "time": time}
    written = task_selectors.current_consent(campaign)
    pairs = ngettext("%(n)s pair", "%(n)s pairs", campaign.pair_count) % {"n": counted(campaign.pair_count)}
    pools = ngettext("%(pairs)s in %(n)s pool", "%(pairs)s in %(n)s pools", sizes.queries)
    pools %= {"pairs": pairs, "n": counted(sizes.queries)}
    pay = campaign.money(campaign.reward)
    if pace is not None:
        pay = _("%(reward)s a HIT, %(hourly)s an hour") % {"reward": pay, "hourly": campaign.money(pace.hourly)}
        if pace.practice:
            first = _("%(hourly)s in the first, with practice") % {"hourly": campaign.money(pace.first_hourly)}
            pay = f"{pay}, {first}"
        if pace.is_low:
            pay += ", " + _("which is less than %(floor)s") % {"floor": campaign.money(pace.floor)}
    size = ngettext("%(n)d pair", "%(n)d pairs", campaign.pairs_per_hit) % {"n": campaign.pairs_per_hit}
    workers = ngettext("%(n)d worker judges", "%(n)d workers judge", campaign.overlap) % {"n": campaign.overlap}
    task = ngettext(
        "%(pairs)s and %(tests)s test pair a HIT; %(workers)s each HIT",
        "%(pairs)s and %(tests)s test pairs a HIT; %(workers)s each HIT",
        campaign.tests_per_hit,
    ) % {"pairs": size, "tests": campaign.tests_per_hit, "workers": workers}
    if repeated := campaign.repeated_hits(-(-campaign.pair_count // campaign.pairs_per_hit)):
        task += ", " + _("and a second worker judges %(n)d of them") % {"n": repeated}
    return [
        Step(
            "collection",
            reverse("pools:collection", args=[campaign.collection_id]),
            missing.sentence() if missing.passages or missing.queries else campaign.collection.name,
            not missing.passages and not missing.queries,
        ),
        Step("runs", f"{edit}#id_name", ngettext("%(n)d run", "%(n)d runs", runs) % {"n": runs}, bool(runs)),
        Step("pools", f"{edit}#id_design", pools, not task_selectors.lacking_pairs(campaign)),
        Step(
            "tests",
            reverse("tasks:tests", args=[campaign.pk]) + ("#suggested" if tests.suggested else ""),
            confirmed % tests._asdict(),
            not lacking or all_judged,
        ),
        *_practice(campaign),
        Step("task", f"{edit}#id_overlap", task, True),
        Step(
            "wording",
            reverse("tasks:wording", args=[campaign.pk]),
            _("consent is version %(version)d") % {"version": written.version}
            if written
            else _("consent is the usual text"),
            True,
        ),
        Step("pay", f"{edit}#id_reward", pay, pace is None or not pace.is_low),
        Step("platform", reverse("platforms:terms", args=[campaign.pk]), platform, not missing_money),
    ]


def _practice(campaign: Campaign) -> list[Step]:
    if campaign.practice == Campaign.Practice.NOTHING:
        return []
    lacking, count = lacking_practice(campaign), len(practice_pairs_of(campaign))
    detail = ngettext("%(count)s practice pair", "%(count)s practice pairs", count) % {"count": counted(count)}
    url = reverse("tasks:practice", args=[campaign.pk])
    return [Step("practice", url, " ".join(lacking) or detail, not lacking)]
