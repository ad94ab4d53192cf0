"""The workers' pages, their saving endpoint, and the researcher's pages about judgments."""

from django.urls import include, path

from judgments import api, arrival, judging, results_views, views

judging_patterns = (
    [
        path("c/<str:link>/", judging.preview, name="preview"),
        path("c/<str:link>/consent/", judging.join, name="join"),
        path("c/<str:link>/declined/", judging.declined, name="declined"),
        path("m/<str:link>/declined/", arrival.declined_in_frame, name="declined_in_frame"),
        path("m/<str:link>/<int:number>/", arrival.arrive, name="arrive"),
        path("w/<str:token>/", judging.home, name="home"),
        path("w/<str:token>/consent/", judging.consent, name="consent"),
        path("w/<str:token>/next/", judging.take, name="take"),
        path("j/<str:token>/", judging.instructions, name="instructions"),
        path("j/<str:token>/<int:position>/", judging.item, name="item"),
        path("j/<str:token>/<int:position>/save/", api.SaveJudgment.as_view(), name="save"),
        path("j/<str:token>/finish/", judging.finish, name="finish"),
        path("j/<str:token>/leave/", judging.leave, name="leave"),
        path("j/<str:token>/done/", judging.done, name="done"),
    ],
    "judging",
)
judgment_patterns = (
    [
        path("campaigns/<int:pk>/", views.campaign, name="campaign"),
        path("campaigns/<int:pk>/queries/", views.queries, name="queries"),
        path("campaigns/<int:pk>/queries/<int:pool_pk>/", views.query, name="query"),
        path("campaigns/<int:pk>/work/", views.work, name="work"),
        path("campaigns/<int:pk>/work/<int:assignment_pk>/", views.assignment, name="assignment"),
        path("campaigns/<int:pk>/workers/<int:worker_pk>/", views.worker, name="worker"),
        path("campaigns/<int:pk>/exports/<str:name>", views.export, name="export"),
        path("campaigns/<int:pk>/results/", results_views.results, name="results"),
        path("campaigns/<int:pk>/results/compute/", results_views.compute, name="results_compute"),
        path("campaigns/<int:pk>/results/plan/", results_views.plan, name="results_plan"),
        path("campaigns/<int:pk>/results/report.zip", results_views.report, name="results_report"),
        path("campaigns/<int:pk>/results/tables/<slug:name>/", results_views.table, name="results_table"),
        path(
            "campaigns/<int:pk>/results/tables/<slug:name>.<slug:form>", results_views.table_file, name="results_file"
        ),
        path("campaigns/<int:pk>/results/figures/<slug:name>.<slug:form>", results_views.figure, name="results_figure"),
    ],
    "judgments",
)
urlpatterns = [path("", include(judging_patterns)), path("", include(judgment_patterns))]
