"""How many workers of the platform could take a campaign's HITs, where it can be asked."""

from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import Refused
from core.money import counted
from platforms.models import Publication
from platforms.money.account import PATIENCE, platform_refusals
from platforms.registry import vocabulary_of
from platforms.vocabulary import Vocabulary


class Reach(NamedTuple):
    """Of the platform's `active` workers, those who could take the HITs; None where that is not known, and why.

    `least_told`: a platform that tells no smaller numbers says 0 for these. `vocabulary`: the platform's.
    """

    qualified: int | None
    active: int | None
    why_unknown: str = ""
    least_told: int = 1
    vocabulary: Vocabulary = Vocabulary()

    @property
    def is_nobody(self) -> bool:
        """Whether it is known that no active worker could take them."""
        return self.qualified == 0 and self.least_told == 1

    @property
    def sentence(self) -> str:
        """`41 of the marketplace's 63 active workers could take this.`"""
        if self.qualified is None or self.active is None:
            text = _("How many workers could take this is not known at this platform. %(why)s")
            return self.vocabulary.phrase(text) % {"why": self.why_unknown}
        if self.least_told > 1:
            text = _("%(qualified)s of the %(active)s people who were active in the last 90 days could take this.")
            few = _("Fewer than %(least)d") % {"least": self.least_told}
            if not self.active:
                text = _("Fewer than %(least)d people were active in the last 90 days.")
                return self.vocabulary.phrase(text) % {"least": self.least_told}
            qualified = counted(self.qualified) if self.qualified else few
            return self.vocabulary.phrase(text) % {"qualified": qualified, "active": counted(self.active)}
        if not self.active:
            return _("The marketplace has no active workers, so nobody could take this.")
        text = ngettext(
            "%(qualified)s of the marketplace's %(active)s active worker could take this.",
            "%(qualified)s of the marketplace's %(active)s active workers could take this.",
            self.active,
        )
        qualified = counted(self.qualified) if self.qualified else _("None")
        return text % {"qualified": qualified, "active": counted(self.active)}


def reach_look(publication: Publication) -> Reach:
    """Ask once how many active workers meet the publication's requirements. A failure is part of the answer."""
    try:
        with platform_refusals(publication) as adapter:
            qualified, active = adapter.count_workers(publication, seconds=PATIENCE)
            least = adapter.least_told
    except Refused as refused:
        return Reach(None, None, str(refused), vocabulary=vocabulary_of(publication))
    return Reach(qualified, active, least_told=least, vocabulary=vocabulary_of(publication))
