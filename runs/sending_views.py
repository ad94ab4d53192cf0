"""What pages ask while they send a large file straight to the bucket: where its parts go, and whether it is whole."""

from collections.abc import Callable

from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from core.errors import Refused
from core.http import Request
from core.roles import Right, needs, require, right_of
from runs import sending


@needs(Right.MAINTAIN)
@require_POST
def begin(request: Request) -> HttpResponse:
    """Begin to send a file, of which `name` and `size` are posted."""
    name, size = request.POST.get("name", ""), request.POST.get("size", "")
    bytes_of_it = int(size) if size.isdecimal() and len(size) < 19 else 0
    return _answer(
        lambda: sending.sending_begin(user=request.user, name=name, size=bytes_of_it, at=timezone.now()), 201
    )


@needs(Right.MAINTAIN)
@require_POST
def proceed(request: Request, token: str) -> HttpResponse:
    """Where what is missing of a file goes; nowhere, once it is whole."""
    require(request.user, None, right_of(request))
    return _answer(lambda: sending.sending_continue(token=token, user=request.user))


def _answer(do: Callable[[], sending.Sending], status: int = 200) -> HttpResponse:
    try:
        state = do()
    except Refused as error:
        return JsonResponse({"error": str(error)}, status=error.status)
    parts = [part._asdict() for part in state.parts]
    return JsonResponse({**state._asdict(), "parts": parts}, status=status)
