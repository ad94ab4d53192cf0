"""Every address of the API, and the pages about it."""

from django.urls import include, path, re_path

from api import pages, webhook_pages
from api.nowhere import Nowhere
from api.resources import campaigns, collections, outcomes, publications, webhooks, work

app_name = "api"
CAMPAIGN = "campaigns/<int:pk>"
WEBHOOKS = "labs/<int:pk>/webhooks"
WEBHOOK = f"{WEBHOOKS}/<int:webhook_pk>"
routes = [
    path("token/", collections.Myself.as_view(), name="token"),
    path("labs/", collections.Labs.as_view(), name="labs"),
    path(f"{WEBHOOKS}/", webhooks.Webhooks.as_view(), name="webhooks"),
    path(f"{WEBHOOK}/", webhooks.WebhookOne.as_view(), name="webhook"),
    path(f"{WEBHOOK}/test/", webhooks.WebhookTest.as_view(), name="webhook_test"),
    path(f"{WEBHOOK}/secret/", webhooks.WebhookSecret.as_view(), name="webhook_secret"),
    path(f"{WEBHOOK}/deliveries/", webhooks.Deliveries.as_view(), name="deliveries"),
    path(f"{WEBHOOK}/deliveries/<int:delivery_pk>/repeat/", webhooks.Repeat.as_view(), name="delivery_repeat"),
    path("collections/", collections.Collections.as_view(), name="collections"),
    path("collections/<int:pk>/", collections.CollectionOne.as_view(), name="collection"),
    path("collections/<int:pk>/files/", collections.CollectionFiles.as_view(), name="collection_files"),
    path("collections/<int:pk>/versions/", outcomes.Versions.as_view(), name="versions"),
    path("collections/<int:pk>/versions/<int:number>/", outcomes.VersionOne.as_view(), name="version"),
    path(
        "collections/<int:pk>/versions/<int:number>/preference-qrels.txt",
        outcomes.VersionQrels.as_view(),
        name="version_qrels",
    ),
    path("runs/", collections.Runs.as_view(), name="runs"),
    path("runs/<int:pk>/", collections.RunOne.as_view(), name="run"),
    path("jobs/", collections.Jobs.as_view(), name="jobs"),
    path("jobs/<int:pk>/", collections.JobOne.as_view(), name="job"),
    path("campaigns/", campaigns.Campaigns.as_view(), name="campaigns"),
    path(f"{CAMPAIGN}/", campaigns.CampaignOne.as_view(), name="campaign"),
    path(f"{CAMPAIGN}/copy/", campaigns.CampaignCopy.as_view(), name="campaign_copy"),
    path(f"{CAMPAIGN}/bill/", campaigns.Bill.as_view(), name="bill"),
    path(f"{CAMPAIGN}/obstacles/", campaigns.Obstacles.as_view(), name="obstacles"),
    path(f"{CAMPAIGN}/start/", campaigns.Start.as_view(), name="start"),
    path(f"{CAMPAIGN}/pause/", campaigns.Pause.as_view(), name="pause"),
    path(f"{CAMPAIGN}/resume/", campaigns.Resume.as_view(), name="resume"),
    path(f"{CAMPAIGN}/close/", campaigns.Close.as_view(), name="close"),
    path(f"{CAMPAIGN}/progress/", campaigns.Progress.as_view(), name="progress"),
    path(f"{CAMPAIGN}/queries/", campaigns.Queries.as_view(), name="queries"),
    path(f"{CAMPAIGN}/consent/", campaigns.ConsentOne.as_view(), name="consent"),
    path(f"{CAMPAIGN}/test-pairs/", campaigns.TestPairs.as_view(), name="test_pairs"),
    path(f"{CAMPAIGN}/test-pairs/suggest/", campaigns.TestPairsSuggest.as_view(), name="test_pairs_suggest"),
    path(f"{CAMPAIGN}/test-pairs/decide/", campaigns.TestPairsDecide.as_view(), name="test_pairs_decide"),
    path(f"{CAMPAIGN}/assignments/", work.Assignments.as_view(), name="assignments"),
    path(f"{CAMPAIGN}/assignments/<int:assignment_pk>/", work.AssignmentOne.as_view(), name="assignment"),
    path(f"{CAMPAIGN}/assignments/<int:assignment_pk>/exclude/", work.Exclude.as_view(), name="exclude"),
    path(f"{CAMPAIGN}/assignments/<int:assignment_pk>/include/", work.Include.as_view(), name="include"),
    path(f"{CAMPAIGN}/workers/", work.Workers.as_view(), name="workers"),
    path(f"{CAMPAIGN}/workers/<slug:name>/", work.WorkerOne.as_view(), name="worker"),
    path(f"{CAMPAIGN}/workers/<slug:name>/bar/", work.Bar.as_view(), name="bar"),
    path(f"{CAMPAIGN}/workers/<slug:name>/unbar/", work.Unbar.as_view(), name="unbar"),
    path(f"{CAMPAIGN}/decisions/", work.Decisions.as_view(), name="decisions"),
    path(f"{CAMPAIGN}/publication/", publications.PublicationOne.as_view(), name="publication"),
    path(f"{CAMPAIGN}/publication/publish/", publications.PublishNow.as_view(), name="publish"),
    path(f"{CAMPAIGN}/publication/pause/", publications.Pause.as_view(), name="publication_pause"),
    path(f"{CAMPAIGN}/publication/resume/", publications.Resume.as_view(), name="publication_resume"),
    path(f"{CAMPAIGN}/publication/expire/", publications.Expire.as_view(), name="publication_expire"),
    path(f"{CAMPAIGN}/publication/stop/", publications.Stop.as_view(), name="publication_stop"),
    path(f"{CAMPAIGN}/publication/payments/", publications.Payments.as_view(), name="payments"),
    path(f"{CAMPAIGN}/exports/", outcomes.Exports.as_view(), name="exports"),
    path(f"{CAMPAIGN}/exports/<str:name>", outcomes.ExportFile.as_view(), name="export"),
    path(f"{CAMPAIGN}/results/", outcomes.Results.as_view(), name="results"),
    path(f"{CAMPAIGN}/results/compute/", outcomes.Compute.as_view(), name="compute"),
    path(f"{CAMPAIGN}/results/tables/<slug:name>/", outcomes.Table.as_view(), name="table"),
    path(f"{CAMPAIGN}/versions/", outcomes.NewVersion.as_view(), name="version_new"),
    re_path(r"^(?P<rest>.*)$", Nowhere.as_view(), name="nowhere"),
]
urlpatterns = [
    path("account/tokens/", pages.tokens_page, name="tokens"),
    path("account/tokens/<int:pk>/revoke/", pages.token_revoke, name="token_revoke"),
    path(f"{WEBHOOKS}/", webhook_pages.webhooks_page, name="webhooks"),
    path(f"{WEBHOOK}/", webhook_pages.webhook_page, name="webhook"),
    path(f"{WEBHOOK}/<slug:action>/", webhook_pages.webhook_act, name="webhook_act"),
    path(f"{WEBHOOK}/deliveries/<int:delivery_pk>/repeat/", webhook_pages.delivery_repeat, name="delivery_repeat"),
    path("api/", pages.reference, name="reference"),
    path("api/v1/openapi.json", pages.description, name="description"),
    path("api/v1/", include((routes, "v1"))),
]
