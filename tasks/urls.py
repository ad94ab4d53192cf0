"""The researcher's pages about test pairs, workers, invitations and venues; where venues send notifications."""

from django.urls import path

from tasks import publication_views as venue
from tasks import views

app_name = "tasks"
urlpatterns = [
    path("campaigns/<int:pk>/tests/", views.tests, name="tests"),
    path("campaigns/<int:pk>/tests/suggest/", views.tests_suggest, name="tests_suggest"),
    path("campaigns/<int:pk>/tests/decide/", views.tests_decide, name="tests_decide"),
    path("campaigns/<int:pk>/tests/<int:test_pk>/", views.test_decide, name="test_decide"),
    path("campaigns/<int:pk>/start/", views.launch, name="launch"),
    path("campaigns/<int:pk>/state/", views.move, name="move"),
    path("campaigns/<int:pk>/wording/", views.wording, name="wording"),
    path("campaigns/<int:pk>/panel/", views.panel, name="panel"),
    path("campaigns/<int:pk>/panel/links.tsv", views.panel_links, name="panel_links"),
    path("campaigns/<int:pk>/venue/", venue.state, name="venue"),
    path("campaigns/<int:pk>/venue/terms/", venue.terms, name="venue_terms"),
    path("campaigns/<int:pk>/venue/publish/", venue.publish, name="venue_publish"),
    *[
        path(f"campaigns/<int:pk>/venue/{what}/", venue.act, {"what": what}, name=f"venue_{what}")
        for what in venue.ACTS
    ],
    path("campaigns/<int:pk>/venue/extend/", venue.extend, name="venue_extend"),
    path("campaigns/<int:pk>/venue/listen/", venue.listen, name="venue_listen"),
    path("campaigns/<int:pk>/venue/calls/<int:operation_pk>/", venue.retry, name="venue_retry"),
    path("campaigns/<int:pk>/venue/alarms/<int:alarm_pk>/", venue.set_aside, name="venue_set_aside"),
    path("campaigns/<int:pk>/venue/submissions/", venue.submissions, name="venue_submissions"),
    path("campaigns/<int:pk>/venue/submissions/<int:submission_pk>/", venue.submission, name="venue_submission"),
    path("campaigns/<int:pk>/venue/compensations/", venue.compensations, name="venue_compensations"),
    path("campaigns/<int:pk>/venue/compensations/<int:payment_pk>/", venue.compensate, name="venue_compensate"),
    path("campaigns/<int:pk>/venue/compensations/<int:payment_pk>/decline/", venue.decline, name="venue_decline"),
    path("campaigns/<int:pk>/venue/ledger/", venue.ledger, name="venue_ledger"),
    path("campaigns/<int:pk>/venue/ledger/payments.csv", venue.ledger_csv, name="venue_ledger_csv"),
    path("campaigns/<int:pk>/venue/ledger/compare/", venue.compare, name="venue_compare"),
    path("venue/notifications/<str:reference>/", venue.heard, name="notifications"),
]
