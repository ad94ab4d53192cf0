"""The researcher's pages about one query and about results."""

from django.urls import path

from results import views

app_name = "results"
urlpatterns = [
    path("campaigns/<int:pk>/queries/<int:pool_pk>/", views.query, name="query"),
    path("campaigns/<int:pk>/results/", views.results, name="results"),
    path("campaigns/<int:pk>/results/compute/", views.compute, name="compute"),
    path("campaigns/<int:pk>/results/settings/", views.settings, name="settings"),
    path("campaigns/<int:pk>/results/status/", views.status, name="status"),
    path("campaigns/<int:pk>/results/plan/", views.plan, name="plan"),
    path("campaigns/<int:pk>/results/report.zip", views.report, name="report"),
    path("campaigns/<int:pk>/results/tables/<slug:name>/", views.table, name="table"),
    path("campaigns/<int:pk>/results/tables/<slug:name>.<slug:form>", views.table_file, name="file"),
    path("campaigns/<int:pk>/results/figures/<slug:name>.<slug:form>", views.figure, name="figure"),
]
