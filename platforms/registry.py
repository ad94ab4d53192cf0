"""The platforms by name: the one module that knows how each of them is spoken to."""

from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.adapter import Adapter, Handler
from platforms.models import Operation, Publication
from platforms.mturk.adapter import MTurkAdapter
from tasks.models import Platform

ADAPTERS: dict[str, Adapter] = {
    platform.value: MTurkAdapter(platform.value)
    for platform in (Platform.MARKETPLACE, Platform.MTURK_SANDBOX, Platform.MTURK)
}
# What a failed call raises, whichever platform it was made to.
CALL_ERRORS = tuple({error: None for adapter in ADAPTERS.values() for error in adapter.errors})


def adapter_named(platform: str) -> Adapter:
    """The platform of that name. Raises Refused if there is none."""
    if platform not in ADAPTERS:
        raise Refused(
            _("There is no platform “%(name)s”: choose marketplace, mturk-sandbox or mturk.") % {"name": platform}
        )
    return ADAPTERS[platform]


def adapter_of(publication: Publication) -> Adapter:
    """The platform that a campaign is published at."""
    return adapter_named(publication.platform)


def handler_of(publication: Publication, kind: str) -> Handler:
    """How operations of a kind are made for a publication."""
    return adapter_of(publication).operations[Operation.Kind(kind)]
