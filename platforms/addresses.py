"""Addresses of ours that platforms are told."""

from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.models import Publication
from tasks.models import Hit


def frame_address(publication: Publication, hit: Hit) -> str:
    """Where a HIT's frame opens. Raises Refused where that is not https, except in development."""
    site = str(settings.SITE_URL)
    if urlsplit(site).scheme != "https" and not (settings.DEVELOPMENT and site):
        raise Refused(
            _("Platforms only show pages over https. Set SITE_URL to the address of this site, starting with https://.")
        )
    return f"{site}/m/{publication.campaign.link}/{hit.number}/"
