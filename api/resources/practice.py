"""Practice pairs, and the comprehension check that they can be."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from api import practice_shapes
from api.frame import Endpoint, checked, operation, user_of
from core.errors import NotYours
from core.roles import Right
from pools.models import Campaign
from pools.practice import PracticePair, lacking_practice, read_practice_pairs, right_needed
from tasks import services as task_services
from tasks.practice import practice_counts, practice_minutes

TAGS = ["Practice"]


def pair_shown(campaign: Campaign, number: int) -> dict[str, Any]:
    """One practice pair. Raises NotYours where there is none of this number."""
    pairs = read_practice_pairs(campaign.practice_pairs)
    if not 1 <= number <= len(pairs):
        raise NotYours(_("This campaign has no such practice pair."))
    return {"number": number, **pairs[number - 1]._asdict()}


class Practice(Endpoint):
    """The practice of a campaign."""

    @operation("practice", answer=practice_shapes.PracticeShape, tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """What the workers of a campaign do before their first HIT, and how many are at which point of it."""
        campaign = self.campaign(pk)
        has_practice = campaign.practice != Campaign.Practice.NOTHING
        content = {
            "practice": campaign.practice,
            "practice_right": campaign.practice_right,
            "needed": right_needed(campaign),
            "pairs": len(read_practice_pairs(campaign.practice_pairs)),
            "minutes": practice_minutes(campaign),
            "obstacles": lacking_practice(campaign),
            "workers": practice_counts(campaign)._asdict() if has_practice else None,
        }
        return Response(practice_shapes.PracticeShape(content).data)

    @operation(
        "practice_set",
        takes=practice_shapes.PracticeChange,
        answer=practice_shapes.PracticeShape,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def patch(self, request: Request, pk: int) -> Response:
        """Choose the practice of a draft, and how many right answers pass a comprehension check. Add its pairs
        first."""
        campaign, sent = self.campaign(pk), checked(practice_shapes.PracticeChange, request)
        task_services.practice_set(
            campaign=campaign,
            practice=sent.get("practice", campaign.practice),
            right=sent.get("practice_right", campaign.practice_right),
        )
        return Response(self.get(request, pk).data)


class PracticePairs(Endpoint):
    """The practice pairs of a campaign."""

    @operation("practice_pairs", answer=practice_shapes.PracticePairShape(many=True), tags=TAGS)
    def get(self, request: Request, pk: int) -> Response:
        """A campaign's practice pairs, in the order in which workers see them: 20 at most."""
        pairs = read_practice_pairs(self.campaign(pk).practice_pairs)
        content = [{"number": number, **pair._asdict()} for number, pair in enumerate(pairs, 1)]
        return Response(practice_shapes.PracticePairShape(content, many=True).data)

    @operation(
        "practice_pair_create",
        takes=practice_shapes.NewPracticePair,
        answer=practice_shapes.PracticePairShape,
        status=201,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Add a practice pair in your own words to a draft, as its last."""
        campaign, sent = self.campaign(pk), checked(practice_shapes.NewPracticePair, request)
        number = task_services.practice_add(campaign=campaign, pair=PracticePair(**sent))
        return Response(practice_shapes.PracticePairShape(pair_shown(campaign, number)).data, status=201)


class PracticePairOne(Endpoint):
    """One practice pair."""

    @operation("practice_pair", answer=practice_shapes.PracticePairShape, tags=TAGS)
    def get(self, request: Request, pk: int, number: int) -> Response:
        """One practice pair, by its number."""
        return Response(practice_shapes.PracticePairShape(pair_shown(self.campaign(pk), number)).data)

    @operation(
        "practice_pair_change",
        takes=practice_shapes.NewPracticePair,
        answer=practice_shapes.PracticePairShape,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def put(self, request: Request, pk: int, number: int) -> Response:
        """Replace a practice pair of a draft."""
        campaign, sent = self.campaign(pk), checked(practice_shapes.NewPracticePair, request)
        task_services.practice_change(campaign=campaign, number=number, pair=PracticePair(**sent))
        return Response(practice_shapes.PracticePairShape(pair_shown(campaign, number)).data)

    @operation("practice_pair_delete", status=204, right=Right.DESIGN, tags=TAGS)
    def delete(self, request: Request, pk: int, number: int) -> Response:
        """Remove a practice pair from a draft. Those after it are then numbered anew: send If-Match."""
        task_services.practice_change(campaign=self.campaign(pk), number=number, pair=None)
        return Response(status=204)


class PracticeTake(Endpoint):
    """Test pairs that become practice pairs."""

    @operation(
        "practice_pair_take",
        takes=practice_shapes.TakenTestPair,
        answer=practice_shapes.PracticePairShape,
        status=201,
        right=Right.DESIGN,
        tags=TAGS,
    )
    def post(self, request: Request, pk: int) -> Response:
        """Use a confirmed test pair of a draft for practice. It is then a test pair no longer."""
        campaign, sent = self.campaign(pk), checked(practice_shapes.TakenTestPair, request)
        test = campaign.test_pairs.filter(pk=sent["test_pair"]).first()
        if test is None:
            raise NotYours(_("This campaign has no such test pair."))
        taken = task_services.practice_take_test(
            test_pair=test, why=sent["why"], by=user_of(request), at=timezone.now()
        )
        number = len(read_practice_pairs(taken.practice_pairs))
        return Response(practice_shapes.PracticePairShape(pair_shown(taken, number)).data, status=201)
