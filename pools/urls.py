"""The researcher's pages about collections, runs and campaigns."""

from django.urls import path

from pools import dataset_views, drafting_views, files_views, views

app_name = "pools"
urlpatterns = [
    path("campaigns/", views.campaigns, name="campaigns"),
    path("campaigns/new/", views.campaign_new, name="campaign_new"),
    path("campaigns/<int:pk>/edit/", drafting_views.campaign_edit, name="campaign_edit"),
    path("campaigns/<int:pk>/name/", views.campaign_rename, name="campaign_rename"),
    path("campaigns/<int:pk>/archive/", views.campaign_archive, name="campaign_archive"),
    path("campaigns/<int:pk>/unarchive/", views.campaign_unarchive, name="campaign_unarchive"),
    path("campaigns/<int:pk>/delete/", views.campaign_delete, name="campaign_delete"),
    path("collections/", views.collections, name="collections"),
    path("collections/new/", files_views.collection_new, name="collection_new"),
    path("collections/dataset/", dataset_views.dataset_new, name="dataset_new"),
    path("collections/<int:pk>/dataset/", dataset_views.dataset_texts, name="dataset_texts"),
    path("collections/<int:pk>/", views.collection, name="collection"),
    path("collections/<int:pk>/add/", files_views.collection_add, name="collection_add"),
    path("collections/<int:pk>/missing/", files_views.missing_texts, name="missing_texts"),
    path("collections/<int:pk>/missing.txt", files_views.missing_ids, name="missing_ids"),
    path("collections/<int:pk>/outside/", views.outside_scores, name="outside_scores"),
    path("collections/<int:pk>/outside/delete/", views.outside_scores_delete, name="outside_scores_delete"),
    path("collections/<int:pk>/preferences/new/", views.preferences_import, name="preferences_import"),
    path(
        "collections/<int:pk>/preferences/<int:import_pk>/delete/", views.preferences_delete, name="preferences_delete"
    ),
    path("jobs/<int:pk>/", views.job, name="job"),
    path("jobs/<int:pk>/cancel/", views.job_cancel, name="job_cancel"),
    path("jobs/<int:pk>/files/", files_views.files, name="files"),
    path("jobs/<int:pk>/files/read/", files_views.files_read, name="files_read"),
    path("jobs/<int:pk>/files/discard/", files_views.files_discard, name="files_discard"),
    path("runs/", views.runs, name="runs"),
    path("runs/new/", views.run_upload, name="run_upload"),
    path("runs/<int:pk>/", views.run, name="run"),
    path("runs/<int:pk>/release/", views.run_release, name="run_release"),
    path("runs/<int:pk>/models/", views.run_models, name="run_models"),
    path("runs/<int:pk>/delete/", views.run_delete, name="run_delete"),
]
