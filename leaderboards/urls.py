"""Addresses of leaderboards."""

from django.urls import path

from leaderboards import import_views

app_name = "leaderboards"
urlpatterns = [path("leaderboards/<slug:slug>/import", import_views.import_board, name="import")]
