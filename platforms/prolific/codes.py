"""Completion codes: how a visit ended, as Prolific is told. They prove nothing: one leak tells everybody."""

import base64
import hashlib

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from platforms.adapter import Ending
from platforms.models import Publication

# The endings after which a submission is to be returned, and what Prolific tells the participant then.
RETURN_REASONS: dict[Ending, Promise] = {
    Ending.LEFT: _("You left before the end. Return the submission: what you answered is paid as a bonus."),
    Ending.UNANSWERED: _("You left before any answer. Return the submission: it does not count against you."),
    Ending.DECLINED: _("You did not agree to take part. Return the submission: it does not count against you."),
    Ending.NOTHING: _("There was no task left for you. Return the submission: it does not count against you."),
}


SHARE = "share"  # of the reward, for whoever left early: a code that only we give


def code_of_ending(publication: Publication, ending: Ending) -> str:
    """The code by which Prolific is told of an ending: eight letters and digits, its own in each study."""
    return _code(publication, ending)


def code_of_share(publication: Publication) -> str:
    """The code by which we ask Prolific to pay a share of the reward."""
    return _code(publication, SHARE)


def _code(publication: Publication, what: str) -> str:
    digest = hashlib.sha256(f"{publication.reference} {what}".encode()).digest()
    return base64.b32encode(digest)[:8].decode()
