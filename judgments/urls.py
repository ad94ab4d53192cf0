"""The researcher's pages about judgments."""

from django.urls import path

from judgments import importing_views, pilot_views, round_views, views

app_name = "judgments"
urlpatterns = [
    path("collections/<int:pk>/judgments/new/", importing_views.judgments_import, name="judgments_import"),
    path("campaigns/<int:pk>/rounds/<int:number>/ask/", round_views.round_ask, name="round_ask"),
    path("campaigns/<int:pk>/pilot/", pilot_views.pilot, name="pilot"),
    path("campaigns/<int:pk>/pilot/launch/", pilot_views.rest_launch, name="rest_launch"),
    path("campaigns/<int:pk>/pilot/pay/", pilot_views.rest_repay, name="rest_repay"),
    path("campaigns/<int:pk>/queries/", views.queries, name="queries"),
    path("campaigns/<int:pk>/files/", views.files, name="files"),
    path("campaigns/<int:pk>/exports/", views.make_exports, name="make_exports"),
    path("campaigns/<int:pk>/exports/<str:name>", views.export, name="export"),
]
