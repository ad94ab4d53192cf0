"""Whether this process can serve: it reaches its database and its Redis."""

from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse


def healthz(request: HttpRequest) -> HttpResponse:
    """200 and {"ok": true}, or 503 naming what cannot be reached."""
    down = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception:
        down.append("database")
    try:
        cache.get("healthz")
    except Exception:
        down.append("redis")
    return JsonResponse({"ok": not down, "down": down}, status=503 if down else 200)
