"""The platforms by name: the one module that knows how each of them is spoken to."""

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core.errors import NotYours, Refused
from platforms.adapter import Adapter
from platforms.calls import Handler
from platforms.models import PUBLISHED_TO, LabAccount, Operation, Publication
from platforms.money.protocol import LabAccounts
from platforms.mturk.adapter import MarketplaceAdapter, MTurkAdapter
from platforms.prolific.adapter import ProlificAdapter
from platforms.vocabulary import Vocabulary
from tasks.models import Platform

ADAPTERS: dict[str, Adapter] = {
    Platform.MARKETPLACE.value: MarketplaceAdapter(Platform.MARKETPLACE),
    Platform.MTURK_SANDBOX.value: MTurkAdapter(Platform.MTURK_SANDBOX),
    Platform.MTURK.value: MTurkAdapter(Platform.MTURK),
    Platform.PROLIFIC.value: ProlificAdapter(),
}
SANDBOXES = frozenset(platform for platform, adapter in ADAPTERS.items() if adapter.is_sandbox)
# Where each lab has an account of its own.
WITH_ACCOUNTS = {name: adapter for name, adapter in ADAPTERS.items() if isinstance(adapter, LabAccounts)}
# What a failed call raises, whichever platform it was made to.
CALL_ERRORS = tuple({error: None for adapter in ADAPTERS.values() for error in adapter.errors})


def platforms_of(lab_id: int) -> dict[str, str | Promise]:
    """The platforms that a lab can publish at, by name: where labs have accounts of their own, only with one."""
    names = set(LabAccount.objects.filter(lab=lab_id).values_list("platform", flat=True))
    return {name: label for name, label in PUBLISHED_TO.items() if name in names or name not in WITH_ACCOUNTS}


def adapter_named(platform: str) -> Adapter:
    """The platform of that name. Raises Refused if there is none."""
    if platform not in ADAPTERS:
        raise Refused(
            _("There is no platform “%(name)s”: choose marketplace, mturk-sandbox, mturk or prolific.")
            % {"name": platform}
        )
    return ADAPTERS[platform]


def accounts_at(platform: str) -> LabAccounts:
    """The platform of that name, where each lab has an account of its own. Raises NotYours if there is none."""
    if platform not in WITH_ACCOUNTS:
        raise NotYours(_("Labs have no accounts of their own at a platform of that name."))
    return WITH_ACCOUNTS[platform]


def adapter_of(publication: Publication) -> Adapter:
    """The platform that a campaign is published at, as its lab reaches it."""
    if publication.platform in WITH_ACCOUNTS:  # else the campaign need not be read
        return adapter_for(publication.platform, publication.campaign.lab_id)
    return adapter_named(publication.platform)


def adapter_for(platform: str, lab_id: int) -> Adapter:
    """The platform of that name, as a lab reaches it. Raises Refused if there is none."""
    adapter = adapter_named(platform)
    return adapter.for_lab(lab_id) if isinstance(adapter, LabAccounts) else adapter


def handler_of(publication: Publication, kind: str) -> Handler:
    """How operations of a kind are made for a publication. Raises Refused where its platform has none of the kind."""
    handler = adapter_of(publication).operations.get(Operation.Kind(kind))
    if handler is None:
        raise Refused(_("%(platform)s has no such call.") % {"platform": publication.get_platform_display()})
    return handler


def vocabulary_of(publication: Publication | None) -> Vocabulary:
    """The words of the platform that a campaign is published at, or is to be; general ones without a publication."""
    return Vocabulary() if publication is None else adapter_named(publication.platform).vocabulary


def phrase(publication: Publication, text: str) -> str:
    """A general text in the words of a publication's platform. To be asked before values are put into the text."""
    return vocabulary_of(publication).phrase(text)
