"""Addresses of ours that platforms are told."""

from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from core.errors import Refused
from platforms.models import Publication
from tasks.models import Hit


def frame_address(publication: Publication, hit: Hit) -> str:
    """Where a HIT's frame opens. Raises Refused where that is not https, except in development."""
    return f"{_site()}/m/{publication.campaign.link}/{hit.number}/"


def study_address(publication: Publication) -> str:
    """Where participants of a study come to, with the names of what the platform fills in. Raises as above."""
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    return f"{_site()}/p/{publication.campaign.link}/?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)


def hook_address(reference: str) -> str:
    """Where a platform sends the notifications of a lab's account."""
    return f"{settings.SITE_URL}/platform/hooks/{reference}/"


def notifications_address(publication: Publication) -> str:
    """Where the marketplace sends what it notifies of on a publication."""
    return f"{settings.SITE_URL}/platform/notifications/{publication.reference}/"


def _site() -> str:
    site = str(settings.SITE_URL)
    if urlsplit(site).scheme != "https" and not (settings.DEVELOPMENT and site):
        raise Refused(
            _("Platforms only show pages over https. Set SITE_URL to the address of this site, starting with https://.")
        )
    return site
