"""The researcher's pages about one query, about results, and about versions of the preference qrels."""

from django.urls import path

from results import asking_views, earlier_views, machine_views, showing_views, version_views, views

app_name = "results"
VERSION = "collections/<int:pk>/versions/<int:number>"
urlpatterns = [
    path("campaigns/<int:pk>/queries/<int:pool_pk>/", views.query, name="query"),
    path("campaigns/<int:pk>/results/", views.results, name="results"),
    path("campaigns/<int:pk>/results/compute/", views.compute, name="compute"),
    path("campaigns/<int:pk>/results/later-runs/", earlier_views.later_runs, name="later_runs"),
    path("campaigns/<int:pk>/results/earlier/<int:number>/", earlier_views.earlier, name="earlier"),
    path("campaigns/<int:pk>/results/earlier/<int:number>.json", earlier_views.earlier_json, name="earlier_json"),
    path(
        "campaigns/<int:pk>/results/earlier/<int:number>/report.zip",
        earlier_views.earlier_report,
        name="earlier_report",
    ),
    path("campaigns/<int:pk>/results/settings/", views.settings, name="settings"),
    path("campaigns/<int:pk>/results/plan/", views.plan, name="plan"),
    path("campaigns/<int:pk>/results/ask/", asking_views.ask, name="ask"),
    path("campaigns/<int:pk>/results/ask/offer/", asking_views.offer, name="offer"),
    path("campaigns/<int:pk>/results/version/", version_views.version_new, name="version_new"),
    path("campaigns/<int:pk>/results/version/<int:request_pk>/", version_views.version_asked, name="version_asked"),
    path("campaigns/<int:pk>/results/report.zip", views.report, name="report"),
    path("campaigns/<int:pk>/results/confidence-sets.txt", views.confidence_sets, name="confidence_sets"),
    path("campaigns/<int:pk>/results/show/", showing_views.show, name="show"),
    path("shown/<str:token>/", showing_views.shown, name="shown"),
    path("shown/<str:token>/marks/<slug:name>.svg", showing_views.shown_marks, name="shown_marks"),
    path("shown/<str:token>/<slug:subject>/", showing_views.shown, name="shown_subject"),
    path("campaigns/<int:pk>/results/<slug:subject>/", views.subject, name="subject"),
    path("campaigns/<int:pk>/results/tables/<slug:name>/", views.table, name="table"),
    path("campaigns/<int:pk>/results/tables/<slug:name>.<slug:form>", views.table_file, name="file"),
    path("campaigns/<int:pk>/results/figures/<slug:name>.<slug:form>", views.figure, name="figure"),
    path("campaigns/<int:pk>/results/marks/<slug:name>.svg", views.marks, name="marks"),
    path("campaigns/<int:pk>/machines/", machine_views.machines, name="machines"),
    path("campaigns/<int:pk>/machines.<slug:form>", machine_views.machines_file, name="machines_file"),
    path("campaigns/<int:pk>/machines/<int:judge_pk>/", machine_views.machine, name="machine"),
    path(
        "campaigns/<int:pk>/machines/<int:judge_pk>/tables/<slug:name>.<slug:form>",
        machine_views.machine_table_file,
        name="machine_table_file",
    ),
    path("campaigns/<int:pk>/machines/<int:judge_pk>/<slug:what>.txt", machine_views.machine_file, name="machine_file"),
    path(f"{VERSION}/", version_views.version, name="version"),
    path(f"{VERSION}/preference-qrels.<slug:form>", version_views.version_file, name="version_file"),
    path(f"{VERSION}/scores/", version_views.version_scores_page, name="version_scores"),
    path(f"{VERSION}/scores.<slug:form>", version_views.version_scores_file, name="version_scores_file"),
]
