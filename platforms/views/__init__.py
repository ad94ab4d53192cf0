"""The pages about a campaign at a platform."""

from django.urls import reverse
from django.utils.translation import gettext as _

from core.errors import NotNow
from core.http import Request
from platforms.models import Publication
from pools.http import campaign_of

REFRESH = 20  # seconds between two looks of a page
State = Publication.State


class NotPublished(NotNow):
    """There is nothing to follow yet."""

    title = "Not published yet"


def publication_of(request: Request, pk: int) -> Publication:
    """A campaign's publication, once it has left the draft. Raises NotPublished, and as `campaign_of`."""
    campaign = campaign_of(request, pk)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None or publication.state == State.DRAFT:
        refused = NotPublished(_("The campaign is not published at a platform yet."))
        refused.way_out = (reverse("platforms:terms", args=[campaign.pk]), _("Go to the terms"))
        raise refused
    publication.campaign = campaign
    return publication
