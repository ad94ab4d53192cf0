"""Every address of the API, and the pages about it."""

from typing import Any

from django.urls import include, path, re_path
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import ViewSetMixin

from api import pages, webhook_pages
from api.nowhere import Nowhere
from api.resources import (
    account,
    campaigns,
    collections,
    labs,
    leaderboards,
    ledgers,
    material,
    organizing,
    outcomes,
    protection,
    publications,
    review,
    webhooks,
)

app_name = "api"
WEBHOOKS = "labs/<int:pk>/webhooks"
WEBHOOK = f"{WEBHOOKS}/<int:webhook_pk>"
RESOURCES = [
    ("", account.Account),
    ("account/tokens", account.Tokens),
    ("board-submissions", leaderboards.BoardSubmissions),
    ("board-submissions", organizing.Rulings),
    ("board-submissions/<slug:key>/metadata-requests", organizing.MetadataRequests),
    ("boards", leaderboards.Boards),
    ("boards", organizing.Organizing),
    ("boards/<slug:slug>/invitations", organizing.BoardInvitations),
    ("boards/<slug:slug>/seasons", organizing.Seasons),
    ("boards/<slug:slug>/teams", organizing.Teams),
    ("boards/<slug:slug>/upkeep/rounds", organizing.UpkeepRounds),
    ("campaigns", campaigns.Campaigns),
    ("campaigns", labs.TemplateOfCampaign),
    ("campaigns", ledgers.Ledgers),
    ("campaigns", material.Panels),
    ("campaigns", outcomes.Outcomes),
    ("campaigns", campaigns.Practice),
    ("campaigns", protection.CampaignProtection),
    ("campaigns", publications.Publications),
    ("campaigns", review.Review),
    ("campaigns/<int:pk>/assignments", review.Assignments),
    ("campaigns/<int:pk>/bulk-decisions", review.BulkDecisions),
    ("campaigns/<int:pk>/disagreements", review.Disagreements),
    ("campaigns/<int:pk>/machines/asked", outcomes.MachineAskings),
    ("campaigns/<int:pk>/practice/pairs", campaigns.PracticePairs),
    ("campaigns/<int:pk>/publication/calls", publications.Calls),
    ("campaigns/<int:pk>/publication/filters", publications.Filters),
    ("campaigns/<int:pk>/publication/submissions", publications.Submissions),
    ("campaigns/<int:pk>/test-pairs", campaigns.TestPairs),
    ("campaigns/<int:pk>/workers", review.Workers),
    ("collections", collections.Collections),
    ("collections", material.FromElsewhere),
    ("collections/<int:pk>/machine-judges", material.MachineJudges),
    ("collections/<int:pk>/preferences", material.Preferences),
    ("collections/<int:pk>/versions", outcomes.Versions),
    ("costs", ledgers.Costs),
    ("datasets", collections.Datasets),
    ("jobs", collections.Jobs),
    ("labs", labs.Labs),
    ("labs", protection.Periods),
    ("labs/<int:pk>/invitations", labs.Invitations),
    ("labs/<int:pk>/people", labs.People),
    ("labs/<int:pk>/people", protection.MemberErasure),
    ("labs/<int:pk>/platforms", labs.PlatformAccounts),
    ("labs/<int:pk>/webhooks", webhooks.Webhooks),
    ("labs/<int:pk>/workers", protection.WorkerErasure),
    ("runs", collections.Runs),
    ("templates", labs.Templates),
    ("uploads", collections.Uploads),
]


class Router(SimpleRouter):
    """Addresses end with a slash, but for those of files."""

    def get_routes(self, viewset: type[ViewSetMixin]) -> list[Any]:
        routes = super().get_routes(viewset)
        for number, route in enumerate(routes):
            method = getattr(viewset, next(iter(route.mapping.values())), None)
            if method is not None and method.operation.media:
                routes[number] = route._replace(url=route.url.replace("{trailing_slash}", ""))
        return routes


router = Router(use_regex_path=False)
for prefix, resource in RESOURCES:
    router.register(prefix, resource, resource.__name__.lower())
routes = [*router.urls, re_path(r"^(?P<rest>[\s\S]*)\Z", Nowhere.as_view(), name="nowhere")]
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
