"""Addresses of the upkeep of leaderboards, for organizers."""

from django.urls import path

from leaderboards.upkeep import views

app_name = "upkeep"
urlpatterns = [
    path("leaderboards/<slug:slug>/upkeep/", views.upkeep, name="upkeep"),
    path("leaderboards/<slug:slug>/upkeep/<int:number>", views.decide, name="decide"),
]
