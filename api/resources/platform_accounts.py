"""A lab's accounts at platforms where each lab has its own."""

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from api import platform_shapes
from api.frame import Endpoint, checked, operation, user_of
from core.errors import NotYours
from core.models import Lab
from core.roles import Right
from platforms import lab_accounts
from platforms.models import LabAccount
from platforms.registry import ADAPTERS

TAGS = ["Labs"]


class PlatformAccount(Endpoint):
    """A lab's account at a platform."""

    def lab_at(self, pk: int, platform: str) -> Lab:
        """The lab, where labs have accounts of their own at the platform. Raises NotYours and NotAllowed."""
        lab = self.lab(pk)
        if platform not in ADAPTERS or not ADAPTERS[platform].has_lab_accounts:
            raise NotYours(_("Labs have no accounts of their own at a platform of that name."))
        return lab

    def shown(self, lab: Lab, platform: str) -> Response:
        """The account that is stored. Raises NotYours if there is none."""
        stored = LabAccount.objects.select_related("by").filter(lab=lab, platform=platform).first()
        if stored is None:
            raise NotYours(_("The lab has no account at this platform yet."))
        return Response(platform_shapes.PlatformAccountShape(stored).data)

    @operation("platform_account", answer=platform_shapes.PlatformAccountShape, right=Right.MANAGE, tags=TAGS)
    def get(self, request: Request, pk: int, platform: str) -> Response:
        """A lab's account at a platform where each lab has its own, such as `prolific`. Its token is never shown."""
        return self.shown(self.lab_at(pk, platform), platform)

    @operation(
        "platform_account_set",
        takes=platform_shapes.NewAccount,
        answer=platform_shapes.PlatformAccountShape,
        right=Right.MANAGE,
        tags=TAGS,
    )
    def put(self, request: Request, pk: int, platform: str) -> Response:
        """Ask the platform about a token, and store it encrypted, in place of the one before."""
        lab, sent = self.lab_at(pk, platform), checked(platform_shapes.NewAccount, request)
        lab_accounts.lab_account_store(lab=lab, platform=platform, by=user_of(request), at=timezone.now(), **sent)
        return self.shown(lab, platform)

    @operation("platform_account_remove", status=204, right=Right.MANAGE, tags=TAGS)
    def delete(self, request: Request, pk: int, platform: str) -> Response:
        """Delete the token. Refused (409) while a campaign of the lab is published there."""
        lab_accounts.lab_account_remove(lab=self.lab_at(pk, platform), platform=platform)
        return Response(status=204)
