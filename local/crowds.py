"""Where the demonstration's campaign is published, and who judges it: a marketplace, or Prolific's double.

Read after the site's settings: it needs the site's models.
"""

from collections.abc import Callable
from pathlib import Path

from core.money import dollars
from evaluation.files.textfiles import counted
from local.marketplace import LocalMarketplace
from local.prolific import LocalProlific
from platforms.models import Publication
from pools.models import Campaign
from simulation import demonstration as demo
from tasks.models import Platform


class AtMarketplace:
    """The marketplace that runs beside the site. Its workers register there."""

    name = "the marketplace"  # in the middle of a sentence
    campaigns = "{folder}"

    def __init__(self, marketplace: LocalMarketplace) -> None:
        self.marketplace, self.url = marketplace, marketplace.url

    def publication_of(self, campaign: Campaign) -> Publication | None:
        """The campaign's publication there, if there is one. Raises Refused where it is elsewhere."""
        return demo.publication_of(campaign, Platform.MARKETPLACE)

    def lapse_all(self) -> None:
        """End the time of all who work on our HITs."""
        self.marketplace.lapse_all()

    def publish(self, campaign: Campaign) -> Publication:
        """Publish the campaign, or go on with it, with money for twice its bill."""
        return demo.publish(campaign, self.marketplace.deposit)

    def judge(
        self, publication: Publication, preferences: Path, url: str, step: demo.Step, turn: Callable[[], None]
    ) -> list[str]:
        """Let a simulated crowd judge it until all is paid. What they did."""
        return demo.judge_at_platform(publication, preferences, url, step, turn=turn, lapse=self.marketplace.lapse)

    def report(self, did: demo.AtPlatform) -> str:
        """What came of it, with both ledgers."""
        return (
            f"At the marketplace: {counted(did.hits, 'HIT')} published, {counted(did.submitted, 'assignment')} handed "
            f"in, {did.approved:,} approved, {counted(did.bonuses, 'bonus', 'bonuses')} paid. "
            + _ledgers(did, self.name)
        )

    def ways(self) -> list[tuple[str, str]]:
        """Who gets in there how."""
        accounts = self.marketplace.kept()
        login = f"{self.url}/login  user {accounts['operator']}, password {accounts['operator_password']}"
        return [("operator", login), ("worker", f"{self.url}/register")]


class AtProlific:
    """The double of Prolific that runs beside the site. Its participants sign up there; see AtMarketplace."""

    name = "the double of Prolific"
    campaigns = "{folder} at Prolific"

    def __init__(self, prolific: LocalProlific) -> None:
        self.prolific, self.url = prolific, prolific.url

    def publication_of(self, campaign: Campaign) -> Publication | None:
        return demo.publication_of(campaign, Platform.PROLIFIC)

    def lapse_all(self) -> None:
        self.prolific.lapse_all()

    def publish(self, campaign: Campaign) -> Publication:
        return demo.publish_at_prolific(campaign, self.prolific.token, self.prolific.deposit)

    def judge(
        self, publication: Publication, preferences: Path, url: str, step: demo.Step, turn: Callable[[], None]
    ) -> list[str]:
        lapse = self.prolific.lapse
        return demo.judge_at_prolific(publication, preferences, url, self.url, step, turn=turn, lapse=lapse)

    def report(self, did: demo.AtPlatform) -> str:
        return (
            f"At the double of Prolific: 1 study with places for {counted(did.hits, 'task')}, "
            f"{counted(did.submitted, 'submission')} completed, {did.approved:,} approved, "
            f"{counted(did.bonuses, 'bonus', 'bonuses')} paid. " + _ledgers(did, self.name)
        )

    def ways(self) -> list[tuple[str, str]]:
        return [("participant", f"{self.url}/login")]


Place = AtMarketplace | AtProlific


def _ledgers(did: demo.AtPlatform, platform: str) -> str:
    ledgers = did.ledgers
    ours, theirs = ledgers.ours_rewards + ledgers.ours_bonuses, ledgers.platform_rewards + ledgers.platform_bonuses
    same = f"says the same to the cent, {dollars(theirs)}" if ledgers.agree else f"has {dollars(theirs)}"
    return f"Our ledger has {dollars(ours)} paid to workers and {dollars(ledgers.fees)} in fees; {platform}'s {same}."
