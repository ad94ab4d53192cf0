"""The researcher's pages about test pairs, wording and panels."""

from django.urls import path

from tasks import practice_views, trial_views, views

app_name = "tasks"
urlpatterns = [
    path("campaigns/<int:pk>/tests/", views.tests, name="tests"),
    path("campaigns/<int:pk>/tests/suggest/", views.tests_suggest, name="tests_suggest"),
    path("campaigns/<int:pk>/tests/copy/", views.tests_copy, name="tests_copy"),
    path("campaigns/<int:pk>/tests/decide/", views.tests_decide, name="tests_decide"),
    path("campaigns/<int:pk>/tests/<int:test_pk>/", views.test_decide, name="test_decide"),
    path("campaigns/<int:pk>/practice/", practice_views.practice, name="practice"),
    path("campaigns/<int:pk>/start/", views.launch, name="launch"),
    path("campaigns/<int:pk>/try/", trial_views.trial, name="trial"),
    path("campaigns/<int:pk>/try/wording/", trial_views.trial_of_wording, name="trial_of_wording"),
    path("campaigns/<int:pk>/try/revoke/", trial_views.trials_revoke, name="trials_revoke"),
    path("campaigns/<int:pk>/wording/", views.wording, name="wording"),
    path("campaigns/<int:pk>/panel/", views.panel, name="panel"),
    path("campaigns/<int:pk>/panel/outside/", views.outside_panel, name="outside_panel"),
    path("campaigns/<int:pk>/panel/outside/delete/", views.outside_panel_delete, name="outside_panel_delete"),
    path("campaigns/<int:pk>/panel/links.tsv", views.panel_links, name="panel_links"),
]
