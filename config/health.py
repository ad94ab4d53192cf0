"""Whether this process can serve: it reaches its database and its Redis."""

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django_redis import get_redis_connection


def healthz(request: HttpRequest) -> HttpResponse:
    """200 and {"ok": true}, or 503 naming what cannot be reached."""
    down = []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception:
        down.append("database")
    try:
        get_redis_connection().ping()
    except Exception:
        down.append("redis")
    return JsonResponse({"ok": not down, "down": down}, status=503 if down else 200)
