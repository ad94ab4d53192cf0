"""Test mode's addresses."""

from django.urls import path

from marketplace.testing import views

urlpatterns = [
    path("clock", views.move_clock),
    path("faults", views.order_faults),
    path("tick", views.run_tick),
    path("deliver", views.run_deliver),
    path("requester", views.make_requester),
    path("deposit", views.make_deposit),
    path("worker", views.make_worker),
    path("find", views.find),
    path("accept", views.accept),
    path("return", views.give_back),
    path("request-qualification", views.request_qualification),
    path("look", views.look),
]
