"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config.health import healthz, healthz_all
from core.roles import Right, needs
from core.urls import allauth_patterns

urlpatterns = [
    path("", needs(Right.PUBLIC)(RedirectView.as_view(pattern_name="campaigns:campaigns")), name="home"),
    path("healthz", healthz, name="healthz"),
    path("healthz/all", healthz_all, name="healthz_all"),
    path("", include("judgments.pages.urls")),  # tried first, since nothing is asked for as often
    path("", include(allauth_patterns)),
    path("", include("core.urls")),
    path("admin/", admin.site.urls),
    path("audit/", include("core.audit.urls")),
    path("", include("runs.urls")),
    path("", include("pools.urls")),
    path("", include("campaigns.urls")),
    path("", include("tasks.urls")),
    path("", include("platforms.urls")),
    path("", include("judgments.urls")),
    path("", include("review.urls")),
    path("", include("protection.urls")),
    path("", include("machines.urls")),
    path("", include("results.urls")),
    path("", include("leaderboards.urls")),
    path("", include("leaderboards.upkeep.urls")),
    path("boards/", include("leaderboards.public.urls")),
    path("", include("api.urls")),
]
handler400 = "core.error_pages.bad_request"
handler403 = "core.error_pages.forbidden"
handler404 = "core.error_pages.not_found"
handler429 = "core.error_pages.too_many"  # allauth's
handler500 = "core.outage.answer_error"
