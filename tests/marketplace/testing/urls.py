"""The marketplace's addresses, and those of its tests before them."""

from django.urls import include, path

from marketplace.urls import handler400, handler403, handler404, handler500  # noqa: F401 - for Django
from tests.marketplace.testing.views import order

urlpatterns = [path("test/<slug:name>", order), path("", include("marketplace.urls"))]
