"""Where the demonstration's campaign is published, and who judges it: a marketplace, or Prolific's double.

Read after the site's settings: it needs the site's models.
"""

from abc import ABC, abstractmethod
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


class Place(ABC):
    """One such place. `name` is what it is called in the middle of a sentence."""

    name: str
    platform: str
    url: str
    campaigns = "{folder}"

    def publication_of(self, campaign: Campaign) -> Publication | None:
        """The campaign's publication there, if there is one. Raises Refused where it is elsewhere."""
        return demo.publication_of(campaign, self.platform)

    @abstractmethod
    def lapse_all(self) -> None:
        """End the time of all who work on our HITs."""

    @abstractmethod
    def publish(self, campaign: Campaign) -> Publication:
        """Publish the campaign, or go on with it, with money for twice its bill."""

    @abstractmethod
    def judge(
        self, publication: Publication, preferences: Path, url: str, step: demo.Step, turn: Callable[[], None]
    ) -> list[str]:
        """Let a simulated crowd judge it until all is paid. What they did."""

    @abstractmethod
    def count(self, did: demo.AtPlatform) -> str:
        """What came of it, up to the ledgers."""

    @abstractmethod
    def ways(self) -> list[tuple[str, str]]:
        """Who gets in there how."""

    def report(self, did: demo.AtPlatform) -> str:
        """What came of it, with both ledgers."""
        ledgers = did.ledgers
        ours, theirs = ledgers.ours_rewards + ledgers.ours_bonuses, ledgers.platform_rewards + ledgers.platform_bonuses
        return (
            f"{self.count(did)} Our ledger has {dollars(ours)} paid to workers and {dollars(ledgers.fees)} in fees; "
            f"{self.name}'s "
            + (f"says the same to the cent, {dollars(theirs)}." if ledgers.agree else f"has {dollars(theirs)}.")
        )


class AtMarketplace(Place):
    """The marketplace that runs beside the site."""

    name, platform = "the marketplace", Platform.MARKETPLACE.value

    def __init__(self, marketplace: LocalMarketplace) -> None:
        self.marketplace, self.url = marketplace, marketplace.url

    def lapse_all(self) -> None:
        self.marketplace.lapse_all()

    def publish(self, campaign: Campaign) -> Publication:
        """With money that its operator adds."""
        return demo.publish(campaign, self.marketplace.deposit)

    def judge(
        self, publication: Publication, preferences: Path, url: str, step: demo.Step, turn: Callable[[], None]
    ) -> list[str]:
        """Workers who register there."""
        return demo.judge_at_platform(publication, preferences, url, step, turn=turn, lapse=self.marketplace.lapse)

    def count(self, did: demo.AtPlatform) -> str:
        """HITs, assignments and bonuses."""
        return (
            f"At the marketplace: {counted(did.hits, 'HIT')} published, {counted(did.submitted, 'assignment')} handed "
            f"in, {did.approved:,} approved, {counted(did.bonuses, 'bonus', 'bonuses')} paid."
        )

    def ways(self) -> list[tuple[str, str]]:
        """The operator, and anybody."""
        kept = self.marketplace.kept()
        login = f"{self.url}/login  user {kept['operator']}, password {kept['operator_password']}"
        return [("operator", login), ("worker", f"{self.url}/register")]


class AtProlific(Place):
    """The double of Prolific that runs beside the site."""

    name, platform = "the double of Prolific", Platform.PROLIFIC.value
    campaigns = "{folder} at Prolific"

    def __init__(self, prolific: LocalProlific) -> None:
        self.prolific, self.url = prolific, prolific.url

    def lapse_all(self) -> None:
        """By the double's own command."""
        self.prolific.lapse_all()

    def publish(self, campaign: Campaign) -> Publication:
        """With the double's token as the lab's."""
        return demo.publish_at_prolific(campaign, self.prolific.token, self.prolific.deposit)

    def judge(
        self, publication: Publication, preferences: Path, url: str, step: demo.Step, turn: Callable[[], None]
    ) -> list[str]:
        """Participants who sign up there."""
        lapse = self.prolific.lapse
        return demo.judge_at_prolific(publication, preferences, url, self.url, step, turn=turn, lapse=lapse)

    def count(self, did: demo.AtPlatform) -> str:
        """Tasks, submissions and bonuses."""
        return (
            f"At the double of Prolific: 1 study with places for {counted(did.hits, 'task')}, "
            f"{counted(did.submitted, 'submission')} completed, {did.approved:,} approved, "
            f"{counted(did.bonuses, 'bonus', 'bonuses')} paid."
        )

    def ways(self) -> list[tuple[str, str]]:
        return [("participant", f"{self.url}/login")]
