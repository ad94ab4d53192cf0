"""The researcher's pages about judgments."""

from django.urls import path

from judgments import (
    adjudication_views,
    alarm_views,
    importing_views,
    pilot_views,
    report_views,
    review_views,
    round_views,
    views,
    worker_views,
)

app_name = "judgments"
urlpatterns = [
    path("workers/", worker_views.workers, name="workers"),
    path("collections/<int:pk>/judgments/new/", importing_views.judgments_import, name="judgments_import"),
    path("campaigns/<int:pk>/", views.campaign, name="campaign"),
    path("campaigns/<int:pk>/rounds/<int:number>/ask/", round_views.round_ask, name="round_ask"),
    path("campaigns/<int:pk>/pilot/", pilot_views.pilot, name="pilot"),
    path("campaigns/<int:pk>/pilot/launch/", pilot_views.rest_launch, name="rest_launch"),
    path("campaigns/<int:pk>/pilot/pay/", pilot_views.rest_repay, name="rest_repay"),
    path("campaigns/<int:pk>/queries/", views.queries, name="queries"),
    path("campaigns/<int:pk>/work/", views.work, name="work"),
    path("campaigns/<int:pk>/work/<int:assignment_pk>/", views.assignment, name="assignment"),
    path("campaigns/<int:pk>/reports/", report_views.reports, name="reports"),
    path("campaigns/<int:pk>/disagreements/", adjudication_views.disagreements, name="disagreements"),
    path("campaigns/<int:pk>/disagreements/<int:pair_pk>/", adjudication_views.disagreement, name="disagreement"),
    path("alarms/", alarm_views.alarm_choice, name="alarm_choice"),
    path("campaigns/<int:pk>/review/", review_views.review, name="review"),
    path("campaigns/<int:pk>/review/assignments.csv", review_views.assignments_csv, name="assignments_csv"),
    path("campaigns/<int:pk>/review/workers.csv", review_views.workers_csv, name="workers_csv"),
    path("campaigns/<int:pk>/review/<int:bulk_pk>/", review_views.bulk, name="bulk"),
    path("campaigns/<int:pk>/review/<int:bulk_pk>/undo/", review_views.bulk_undo, name="bulk_undo"),
    path("campaigns/<int:pk>/workers/<int:worker_pk>/", views.worker, name="worker"),
    path("campaigns/<int:pk>/exports/", views.make_exports, name="make_exports"),
    path("campaigns/<int:pk>/exports/<str:name>", views.export, name="export"),
]
