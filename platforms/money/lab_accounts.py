"""The account of a lab at a platform where each lab has its own."""

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import BadRequest, NotNow
from core.models import Lab, User
from core.sealing import seal
from platforms.models import LabAccount, Publication
from platforms.registry import accounts_at
from platforms.terms import currency_set

LONGEST_TOKEN = 500


def lab_account_store(
    *, lab: Lab, platform: str, token: str, workspace_id: str, by: User, at: datetime
) -> tuple[LabAccount, Decimal]:
    """Ask the platform about a token, and keep it, sealed, in place of the one before; with what it can spend now.

    Raises Refused where the platform does not accept it or the account cannot be used, and NotNow where a campaign of
    the lab is published in another workspace or currency. Drafts there get the account's currency.
    """
    token = token.strip()
    if not token or len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable():
        raise BadRequest(_("That is no token. Copy it from the platform as it is there."))
    account, balance = accounts_at(platform).account_of(token, workspace_id.strip())
    with transaction.atomic():
        before = LabAccount.objects.select_for_update().filter(lab=lab, platform=platform).first()
        if before is not None and _is_used(lab, platform):
            if before.workspace_id != account.workspace_id:
                raise NotNow(_("Campaigns of this lab are published in the workspace “%s”.") % before.workspace)
            if before.currency != account.currency:
                text = _("Campaigns of this lab are published there, and their pay is in %(before)s, not %(now)s.")
                raise NotNow(text % {"before": before.currency, "now": account.currency})
            account.project_id = before.project_id
        account.pk = None if before is None else before.pk
        account.lab, account.sealed, account.by, account.at = lab, seal(token), by, at
        account.save()
        for publication in Publication.objects.filter(
            campaign__lab=lab, platform=platform, state=Publication.State.DRAFT
        ):
            currency_set(campaign=publication.campaign, currency=account.currency)
    return account, balance


@transaction.atomic
def lab_account_remove(*, lab: Lab, platform: str) -> bool:
    """Forget a lab's token. Returns whether there was one. Raises NotNow while a campaign of the lab needs it."""
    if _is_used(lab, platform):
        raise NotNow(_("Campaigns of this lab are published there, and need the token until they are erased."))
    return bool(LabAccount.objects.filter(lab=lab, platform=platform).delete()[0])


def _is_used(lab: Lab, platform: str) -> bool:
    published = Publication.objects.filter(campaign__lab=lab, platform=platform)
    return published.exclude(state=Publication.State.DRAFT).exists()
