"""A campaign's practice pairs: what a worker compares, with what is right and why, before the first HIT.

They are a setting of the campaign, as lines of text, so that a copy of a campaign has them too.
"""

from collections.abc import Iterable
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import Refused
from pools.models import Campaign

COLUMNS = 4
MOST = 20  # more would be a task of its own, and unpaid


class PracticePair(NamedTuple):
    """A comparison whose better passage is known, and why it is better."""

    question: str
    better: str
    worse: str
    why: str

    @property
    def line(self) -> str:
        """The pair as it is stored: every run of white space is a space."""
        return "\t".join(" ".join(text.split()) for text in self)


def read_practice_pairs(text: str) -> list[PracticePair]:
    """The practice pairs in lines of text. Raises Refused naming the first line that is none."""
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != COLUMNS or not all(columns):
            count = sum(map(bool, columns))
            raise Refused(
                ngettext(
                    "Practice pairs, line %(line)d: %(count)d column where there are 4, with tabs between: question, "
                    "better passage, worse passage, why it is better.",
                    "Practice pairs, line %(line)d: %(count)d columns where there are 4, with tabs between: question, "
                    "better passage, worse passage, why it is better.",
                    count,
                )
                % {"line": number, "count": count}
            )
        pair = PracticePair(*columns)
        if pair.better == pair.worse:
            raise Refused(_("Practice pairs, line %(line)d: the two passages are the same.") % {"line": number})
        pairs.append(pair)
    if len(pairs) > MOST:
        raise Refused(_("Use at most %(most)d practice pairs, not %(count)d.") % {"most": MOST, "count": len(pairs)})
    return pairs


def write_practice_pairs(pairs: Iterable[PracticePair]) -> str:
    """The lines of text for practice pairs."""
    return "\n".join(pair.line for pair in pairs)


def practice_pairs_of(campaign: Campaign) -> list[PracticePair]:
    """What the workers of a campaign practise on: nothing unless it has practice."""
    if campaign.practice == Campaign.Practice.NOTHING:
        return []
    return read_practice_pairs(campaign.practice_pairs)


def right_needed(campaign: Campaign) -> int:
    """How many answers must be right to pass a comprehension check; 0 where nothing has to be."""
    if campaign.practice != Campaign.Practice.CHECK:
        return 0
    return campaign.practice_right or len(practice_pairs_of(campaign))


def practice_check(campaign: Campaign) -> None:
    """Store practice pairs in one form, and drop what has no meaning. Raises Refused where a line is no pair."""
    campaign.practice_pairs = write_practice_pairs(read_practice_pairs(campaign.practice_pairs))
    if campaign.practice != Campaign.Practice.CHECK:
        campaign.practice_right = None


def lacking_practice(campaign: Campaign) -> list[str]:
    """A sentence if a campaign is to have practice and has no pairs for it, or too few to pass its check."""
    if campaign.practice == Campaign.Practice.NOTHING:
        return []
    count = len(practice_pairs_of(campaign))
    if not count:
        return [_("The campaign has practice, but no practice pairs. Add some, or choose no practice.")]
    if right_needed(campaign) > count:
        text = _("To pass the check, %(needed)d answers must be right, but there are only %(count)d practice pairs.")
        return [text % {"needed": right_needed(campaign), "count": count}]
    return []
