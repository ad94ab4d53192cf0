"""The platforms by name: the one module that knows how each of them is spoken to."""

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.adapter import Adapter
from platforms.calls import Handler
from platforms.models import PUBLISHED_TO, LabAccount, Operation, Publication
from platforms.mturk.adapter import MTurkAdapter
from platforms.prolific.adapter import ProlificAdapter
from platforms.vocabulary import Vocabulary
from tasks.models import Platform

ADAPTERS: dict[str, Adapter] = {
    platform.value: MTurkAdapter(platform.value)
    for platform in (Platform.MARKETPLACE, Platform.MTURK_SANDBOX, Platform.MTURK)
} | {Platform.PROLIFIC.value: ProlificAdapter()}
# What a failed call raises, whichever platform it was made to.
CALL_ERRORS = tuple({error: None for adapter in ADAPTERS.values() for error in adapter.errors})


def platforms_of(lab_id: int) -> dict[str, str | Promise]:
    """The platforms that a lab can publish at, by name: where labs have accounts of their own, only with one."""
    names = set(LabAccount.objects.filter(lab=lab_id).values_list("platform", flat=True))
    return {name: label for name, label in PUBLISHED_TO.items() if name in names or not ADAPTERS[name].has_lab_accounts}


def adapter_named(platform: str) -> Adapter:
    """The platform of that name. Raises Refused if there is none."""
    if platform not in ADAPTERS:
        raise Refused(
            _("There is no platform “%(name)s”: choose marketplace, mturk-sandbox, mturk or prolific.")
            % {"name": platform}
        )
    return ADAPTERS[platform]


def adapter_of(publication: Publication) -> Adapter:
    """The platform that a campaign is published at, as its lab reaches it."""
    adapter = adapter_named(publication.platform)
    return adapter.for_lab(publication.campaign.lab_id) if adapter.has_lab_accounts else adapter  # the campaign is read


def adapter_for(platform: str, lab_id: int) -> Adapter:
    """The platform of that name, as a lab reaches it. Raises Refused if there is none."""
    return adapter_named(platform).for_lab(lab_id)


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
