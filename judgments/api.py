"""What the pages' scripts talk to."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from judgments import judging, services
from pools.errors import Refused
from tasks.crowd import link as crowd


class ChoiceSerializer(serializers.Serializer[None]):
    """A worker's choice on one comparison, with the signed time at which it was shown."""

    preferred = serializers.CharField(max_length=20)
    shown = serializers.CharField(max_length=300)


class SaveJudgment(APIView):
    """Save one choice. The token in the address is the authority: no account, no cookie.

    200 says that the choice is stored, and nothing else does. 4xx answers carry a sentence as `error`.
    """

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request, token: str, position: int) -> Response:
        """Store the choice and say how far the worker is."""
        choice = ChoiceSerializer(data=request.data)
        if not choice.is_valid():
            return Response({"error": "preferred and shown are needed"}, status=400)
        try:
            assignment = crowd.assignment_of(token)
            judgment = services.judgment_save(
                assignment=assignment,
                position=position,
                preferred=choice.validated_data["preferred"],
                shown_at=judging.shown_from(choice.validated_data["shown"], assignment, position),
                at=timezone.now(),
            )
        except Refused as refused:
            return Response({"error": str(refused)}, status=refused.status)
        return Response(judging.saved_context(assignment, judgment))
