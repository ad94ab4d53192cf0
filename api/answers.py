"""Doing once what is asked for several times, and nothing by somebody who has not seen the latest.

A request with an `Idempotency-Key` is done in one transaction, which also stores its answer. The same request again
waits for that transaction, if it still runs, and gets the stored answer; whoever is killed in between leaves nothing
behind, and the next one does it. What was refused is not stored: it changed nothing.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from api.models import StoredAnswer
from api.problems import KeyUsedOtherwise
from core.models import User

KEPT = timedelta(days=7)
LONGEST_KEY = 255


def do_once(request: Request, do: Callable[[], Response]) -> Response:
    """Do it, unless the same request with the same key was done before."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return do()
    if not (key.isascii() and key.isprintable() and 1 <= len(key) <= LONGEST_KEY):
        text = _("An idempotency key has 1 to %(most)d printable ASCII characters.") % {"most": LONGEST_KEY}
        raise ValidationError({"Idempotency-Key": [text]})
    user: User = request.user  # type: ignore[assignment]  # only members have tokens
    digest = digest_of(request)
    with transaction.atomic():
        hold(f"answer {user.pk} {key}")
        stored = StoredAnswer.objects.filter(user=user, key=key).first()
        if stored is None:
            response = do()
            content = getattr(response, "kept", response.data)  # without what is shown once
            StoredAnswer.objects.create(
                user=user,
                key=key,
                request=digest,
                status=response.status_code,
                location=response.get("Location", ""),
                content=json.loads(JSONRenderer().render(content) or "null"),
                at=timezone.now(),
            )
            return response
    if stored.request != digest:
        raise KeyUsedOtherwise(_("This idempotency key was used for another request. Choose a new one."))
    headers = {"Idempotency-Replayed": "true"} | ({"Location": stored.location} if stored.location else {})
    return Response(stored.content, status=stored.status, headers=headers)


def answer_forget(request: Request) -> None:
    """Forget the stored answer of a request that failed after all, so that it can be sent again with the same key."""
    key = request.headers.get("Idempotency-Key")
    StoredAnswer.objects.filter(user=request.user, key=key).delete()  # type: ignore[misc]  # only members have tokens


def hold(what: str) -> None:
    """Wait until nobody else holds it, and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"api {what}"])


def digest_of(request: Request) -> str:
    """SHA-256 of what is asked for: method, address and content, with that of files."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    content: Any = request.data
    if hasattr(content, "lists"):
        content = [(name, values) for name, values in content.lists() if name not in request.FILES]
    digest.update(json.dumps(content, sort_keys=True, default=str).encode())
    for name, files in sorted(request.FILES.lists()):
        for file in files:
            digest.update(f"\n{name} {file.name} {file.size}\n".encode())
            for chunk in file.chunks():
                digest.update(chunk)
            file.seek(0)
    return digest.hexdigest()


def answers_clear(*, before: datetime) -> None:
    """Forget answers that nobody asks for again."""
    StoredAnswer.objects.filter(at__lt=before).delete()
