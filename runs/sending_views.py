"""What pages ask while they send a large file straight to the bucket: where its parts go, and whether it is whole."""

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from core.http import Request
from core.roles import Right, needs, require, right_of
from runs import sending
from runs.http import begin_to_send, go_on_sending


@needs(Right.MAINTAIN)
@require_POST
def begin(request: Request) -> HttpResponse:
    """Begin to send a file."""
    return begin_to_send(request, sending.sending_begin)


@needs(Right.MAINTAIN)
@require_POST
def proceed(request: Request, token: str) -> HttpResponse:
    require(request.user, None, right_of(request))
    return go_on_sending(request, token)
