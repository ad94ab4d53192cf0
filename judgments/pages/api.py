"""The endpoint that saves choices."""

import io
from collections.abc import Mapping
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.errors import Refused
from judgments import services as judgment_services
from judgments.pages import worker as worker_pages
from tasks import links

LONGEST_BODY = 4096  # bytes; a choice takes some 150


class ShortJSONParser(JSONParser):
    """JSON that is no longer than a choice can be. Longer bodies are not read."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The parsed body. Raises ParseError where it is too long, nested too deeply, or no JSON."""
        body = stream.read(LONGEST_BODY + 1)
        if len(body) > LONGEST_BODY:
            raise ParseError(_("The request is too long."))
        try:
            return super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise ParseError(_("The request is not valid JSON.")) from None


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
    parser_classes = (ShortJSONParser,)

    def post(self, request: Request, token: str, position: int) -> Response:
        """Store the choice and say how far the worker is."""
        choice = ChoiceSerializer(data=request.data)
        if not choice.is_valid():
            raise ParseError(_("“preferred” and “shown” are required."))
        keys = links.assignment_keys(token)
        preferred = choice.validated_data["preferred"]
        saved = judgment_services.judgment_save(
            assignment_id=keys.assignment_id,
            position=position,
            preferred=preferred,
            shown_at=worker_pages.shown_from(choice.validated_data["shown"], keys.assignment_id, position),
            at=timezone.now(),
        )
        return Response(worker_pages.saved_context(preferred, saved))

    def handle_exception(self, exc: Exception) -> Response:
        """Answer every refusal with a sentence as `error`."""
        if isinstance(exc, RequestDataTooBig):
            return Response({"error": _("The request is too long.")}, status=413)
        if isinstance(exc, Refused):
            return Response({"error": str(exc)}, status=exc.status)
        response = super().handle_exception(exc)
        response.data = {"error": str(response.data["detail"])}
        return response
