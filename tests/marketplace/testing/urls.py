"""The marketplace's addresses, and those of its tests before them."""

from django.urls import include, path

from marketplace.urls import handler400, handler403, handler404, handler500  # noqa: F401 - for Django
from tests.marketplace.testing import views

ours = [
    path("clock", views.move_clock),
    path("faults", views.order_faults),
    path("tick", views.run_tick),
    path("deliver", views.run_deliver),
    path("requester", views.make_requester),
    path("deposit", views.make_deposit),
    path("worker", views.make_worker),
    path("invitation", views.make_invitation),
    path("find", views.find),
    path("accept", views.accept),
    path("accept-next", views.accept_next),
    path("return", views.give_back),
    path("request-qualification", views.request_qualification),
    path("look", views.look),
]
urlpatterns = [path("test/", include(ours)), path("", include("marketplace.urls"))]
