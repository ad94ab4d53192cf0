"""Every address of the marketplace: the API, the front door, and people's pages."""

from django.urls import URLPattern, URLResolver, include, path

from marketplace.api.deposits import request_deposit
from marketplace.api.messages import list_messages
from marketplace.api.reach import count_workers
from marketplace.health import healthz
from marketplace.root import root
from marketplace.workers.frames import external_submit

urlpatterns: list[URLPattern | URLResolver] = [
    path("", root),
    path("healthz", healthz),
    path("extensions/count-workers", count_workers),
    path("extensions/list-messages", list_messages),
    path("extensions/request-deposit", request_deposit),
    path("mturk/externalSubmit", external_submit, name="external_submit"),
    path("operator/", include("marketplace.operator.urls")),
    path("", include("marketplace.workers.urls")),
]
handler400 = "marketplace.error_pages.bad_request"
handler403 = "marketplace.error_pages.forbidden"
handler404 = "marketplace.error_pages.not_found"
handler500 = "marketplace.error_pages.server_error"
