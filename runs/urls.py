"""The pages of collections, runs and jobs."""

from django.urls import path

from runs import dataset_views, files_views, sending_views, views

app_name = "runs"
urlpatterns = [
    path("collections/", views.collections, name="collections"),
    path("collections/new/", files_views.collection_new, name="collection_new"),
    path("collections/dataset/", dataset_views.dataset_new, name="dataset_new"),
    path("collections/<int:pk>/dataset/", dataset_views.dataset_texts, name="dataset_texts"),
    path("collections/<int:pk>/add/", files_views.collection_add, name="collection_add"),
    path("collections/<int:pk>/missing/", files_views.missing_texts, name="missing_texts"),
    path("collections/<int:pk>/missing.txt", files_views.missing_ids, name="missing_ids"),
    path("collections/<int:pk>/outside/", views.outside_scores, name="outside_scores"),
    path("collections/<int:pk>/outside/delete/", views.outside_scores_delete, name="outside_scores_delete"),
    path("jobs/<int:pk>/", views.job, name="job"),
    path("jobs/<int:pk>/cancel/", views.job_cancel, name="job_cancel"),
    path("jobs/<int:pk>/files/", files_views.files, name="files"),
    path("jobs/<int:pk>/files/read/", files_views.files_read, name="files_read"),
    path("jobs/<int:pk>/files/discard/", files_views.files_discard, name="files_discard"),
    path("uploads/", sending_views.begin, name="sending_begin"),
    path("uploads/<str:token>/", sending_views.proceed, name="sending_continue"),
    path("runs/", views.runs, name="runs"),
    path("runs/new/", views.run_upload, name="run_upload"),
    path("runs/<int:pk>/release/", views.run_release, name="run_release"),
    path("runs/<int:pk>/models/", views.run_models, name="run_models"),
    path("runs/<int:pk>/delete/", views.run_delete, name="run_delete"),
]
