"""Before a campaign starts: trying its tasks, test pairs of another campaign, and whom its platform could reach."""

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from api import draft_shapes, shapes
from api.frame import Endpoint, checked, operation, user_of
from core.roles import Right
from platforms.publishing import publication_to_reach
from platforms.reach import reach_look
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks import services as task_services
from tasks import trials

TAGS = ["Campaigns"]


class Trial(Endpoint):
    """Trying a campaign's tasks."""

    @operation("trial", answer=draft_shapes.TrialShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """A link at which anybody can try a campaign's tasks on the workers' pages. Nothing that they do is stored."""
        return self._shown(trials.trial_link(self.campaign(pk)))

    @operation(
        "trial_of_wording",
        takes=draft_shapes.TrialWords,
        answer=draft_shapes.TrialShape,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """A link at which a campaign's tasks are tried with other words, which are not saved. What is left out is as in
        the campaign."""
        campaign, sent = self.campaign(pk), checked(draft_shapes.TrialWords, request)
        return self._shown(trials.trial_link(campaign, task_selectors.words_to_try(campaign) | dict(sent)))

    def _shown(self, trial: trials.Trial) -> Response:
        content = {
            "address": trial.address,
            "until": trial.until,
            "obstacle": trials.trial_obstacle(trial.campaign),
        }
        return Response(draft_shapes.TrialShape(content).data)


class TrialsRevoke(Endpoint):
    """Ending trials."""

    @operation("trials_revoke", status=204, right=Right.DESIGN, tags=TAGS)
    def post(self, request: Request, pk: int) -> Response:
        """Let all links to trials of a campaign lead nowhere. Links made later work."""
        trials.trials_revoke(campaign=self.campaign(pk))
        return Response(status=204)


class TestPairsCopy(Endpoint):
    """Test pairs of another campaign."""

    __test__ = False  # although a name for pytest

    @operation(
        "test_pairs_copy",
        takes=draft_shapes.TestPairSource,
        answer=shapes.TestPairShape(many=True),
        right=Right.DESIGN,
        tags=["Test pairs"],
    )
    def post(self, request: Request, pk: int) -> Response:
        """Copy the confirmed test pairs of another campaign of the lab, in the same language, to a draft. Those that
        the draft did not have are in the answer, and count as confirmed."""
        campaign, sent = self.campaign(pk), checked(draft_shapes.TestPairSource, request)
        source = Campaign.objects.filter(lab=campaign.lab_id, pk=sent["source"]).exclude(pk=campaign.pk).first()
        if source is None:
            raise ValidationError({"source": [_("The lab has no other campaign with this key.")]})
        by, at = user_of(request), timezone.now()
        copied = task_services.test_pairs_copy(campaign=campaign, source=source, by=by, at=at)
        return Response(shapes.TestPairShape(copied, many=True).data)


class Reach(Endpoint):
    """Whom a campaign could reach."""

    @operation("reach", answer=draft_shapes.ReachShape, tags=["Publication"])
    def get(self, request: Request, pk: int) -> Response:
        """How many workers of its platform could take a campaign's HITs, by its terms, or by those that it begins with.
        The platform is asked now; where it cannot be, the counts are null, and the sentence says why."""
        found = reach_look(publication_to_reach(self.campaign(pk)))
        content = {"qualified": found.qualified, "active": found.active, "sentence": found.sentence}
        return Response(draft_shapes.ReachShape(content).data)
