"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path
from django.views.generic import RedirectView

from config.health import healthz, healthz_all
from pools.views import LimitedLogin

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="pools:campaigns")),
    path("healthz", healthz),
    path("healthz/all", healthz_all),
    path("login/", LimitedLogin.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
    path("", include("pools.urls")),
    path("", include("tasks.urls")),
    path("", include("judgments.urls")),
]
handler400 = "config.error_pages.bad_request"
handler403 = "config.error_pages.forbidden"
handler404 = "config.error_pages.not_found"
handler500 = "config.outage.answer_error"
