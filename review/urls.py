"""The pages on which work is looked over and decided about."""

from django.urls import path

from review import adjudication_views, report_views, views, work_views, worker_views

app_name = "review"
urlpatterns = [
    path("workers/", worker_views.workers, name="workers"),
    path("campaigns/<int:pk>/work/", work_views.work, name="work"),
    path("campaigns/<int:pk>/work/<int:assignment_pk>/", work_views.assignment, name="assignment"),
    path("campaigns/<int:pk>/workers/<int:worker_pk>/", work_views.worker, name="worker"),
    path("campaigns/<int:pk>/disagreements/", adjudication_views.disagreements, name="disagreements"),
    path("campaigns/<int:pk>/disagreements/<int:pair_pk>/", adjudication_views.disagreement, name="disagreement"),
    path("campaigns/<int:pk>/reports/", report_views.reports, name="reports"),
    path("campaigns/<int:pk>/review/", views.review, name="review"),
    path("campaigns/<int:pk>/review/assignments.csv", views.assignments_csv, name="assignments_csv"),
    path("campaigns/<int:pk>/review/workers.csv", views.workers_csv, name="workers_csv"),
    path("campaigns/<int:pk>/review/<int:bulk_pk>/", views.bulk, name="bulk"),
    path("campaigns/<int:pk>/review/<int:bulk_pk>/undo/", views.bulk_undo, name="bulk_undo"),
]
