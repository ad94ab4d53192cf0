"""The pages of the audit."""

from django.urls import path

from core.audit import views

app_name = "audit"
urlpatterns = [
    path("", views.entries, name="entries"),
    path("audit.csv", views.csv_file, name="csv"),
    path("audit.json", views.json_file, name="json"),
]
