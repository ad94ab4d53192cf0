"""Whether the marketplace can serve."""

from django.db import connection
from django.http import HttpRequest, HttpResponse


def healthz(_request: HttpRequest) -> HttpResponse:
    """200 if the database answers. For load balancers and start scripts; says nothing else."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")
