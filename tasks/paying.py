"""How people who come by a link or from a panel are paid: what they read about it, and what they leave for it."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext as _

from core.errors import BadRequest
from core.sealing import SealedOtherwise, seal, unseal
from pools.models import Campaign
from tasks.models import PayDetail, PayWords, Worker

LONGEST_DETAIL = 300  # characters


def pay_words_of(campaign: Campaign) -> PayWords:
    """What a campaign says; empty, and not stored, where it says nothing."""
    return PayWords.objects.filter(campaign=campaign).first() or PayWords(campaign=campaign)


def asked_at_open_link(words: PayWords) -> str:
    """What people who come by an open link are asked for, whom nobody else could tell how to pay: what the campaign
    asks, or for an address where it says nothing at all.
    """
    return words.asked or ("" if words.how else _("How the research group can pay you, such as your email address"))


def pay_words_write(*, campaign: Campaign, how: str, asked: str) -> PayWords:
    """Say how people are paid, and what they are asked for."""
    words = {"how": how.strip(), "asked": asked.strip()}
    written, _new = PayWords.objects.update_or_create(campaign=campaign, defaults=words)
    return written


def pay_detail_write(*, worker: Worker, campaign: Campaign, text: str, at: datetime) -> None:
    """Store, sealed, what somebody leaves for being paid; nothing deletes it. Raises BadRequest for a long text."""
    text = text.strip().replace("\0", "")
    if len(text) > LONGEST_DETAIL:
        raise BadRequest(_("This is too long: at most %(most)d characters fit.") % {"most": LONGEST_DETAIL})
    if text:
        values = {"sealed": seal(text), "at": at}
        PayDetail.objects.update_or_create(worker=worker, campaign=campaign, defaults=values)
    else:
        PayDetail.objects.filter(worker=worker, campaign=campaign).delete()


def pay_details(campaign: Campaign, workers: Collection[int]) -> dict[int, str]:
    """What workers left for being paid, by worker. Where it cannot be opened any more, a sentence says so."""
    rows = PayDetail.objects.filter(campaign=campaign, worker__in=workers).values_list("worker", "sealed")
    return {worker: pay_detail_opened(sealed) for worker, sealed in rows}


def pay_detail_opened(sealed: str) -> str:
    """The text itself."""
    try:
        return unseal(sealed)
    except SealedOtherwise:
        return _("It cannot be read any more: this site’s secret key was replaced.")
