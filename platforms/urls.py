"""The researcher's pages about publications; where platforms send notifications."""

from django.urls import path

from platforms import filter_views, lab_account_views, pay_desk_views, testing_views, views
from platforms.messages import message_views

app_name = "platforms"
urlpatterns = [
    path("labs/<int:pk>/accounts/<slug:platform>/", lab_account_views.lab_account, name="lab_account"),
    path("costs/", views.costs, name="costs"),
    path("costs/campaigns.csv", views.costs_csv, name="costs_csv"),
    path("campaigns/<int:pk>/state/", views.move, name="move"),
    path("campaigns/<int:pk>/platform/", views.state, name="publication"),
    path("campaigns/<int:pk>/platform/terms/", views.terms, name="terms"),
    path("campaigns/<int:pk>/platform/filters/", filter_views.filters, name="filters"),
    path("campaigns/<int:pk>/pay/", pay_desk_views.pay, name="pay"),
    path("campaigns/<int:pk>/platform/ask-for-money/", views.ask_for_money, name="ask_for_money"),
    path("campaigns/<int:pk>/platform/publish/", views.publish, name="publish"),
    path("campaigns/<int:pk>/platform/test-run/", testing_views.test_run, name="test_run"),
    *[path(f"campaigns/<int:pk>/platform/{what}/", views.act, {"what": what}, name=what) for what in views.ACTS],
    path("campaigns/<int:pk>/platform/pay/", views.adjustment, name="adjustment"),
    path("campaigns/<int:pk>/platform/extend/", views.extend, name="extend"),
    path("campaigns/<int:pk>/platform/listen/", views.listen, name="listen"),
    path("campaigns/<int:pk>/platform/calls/<int:operation_pk>/", views.retry, name="retry"),
    path("campaigns/<int:pk>/platform/alarms/<int:alarm_pk>/", views.set_aside, name="set_aside"),
    path("campaigns/<int:pk>/platform/submissions/", views.submissions, name="submissions"),
    path("campaigns/<int:pk>/platform/submissions/<int:submission_pk>/", views.submission, name="submission"),
    path("campaigns/<int:pk>/platform/compensations/", views.compensations, name="compensations"),
    path("campaigns/<int:pk>/platform/compensations/<int:payment_pk>/", views.compensate, name="compensate"),
    path("campaigns/<int:pk>/platform/compensations/<int:payment_pk>/decline/", views.decline, name="decline"),
    path("campaigns/<int:pk>/platform/messages/", message_views.message_list, name="messages"),
    path("campaigns/<int:pk>/platform/messages/<int:worker_pk>/", message_views.conversation, name="conversation"),
    path(
        "campaigns/<int:pk>/platform/messages/<int:message_pk>/set-aside/",
        message_views.message_set_aside,
        name="message_set_aside",
    ),
    path("campaigns/<int:pk>/platform/ledger/", views.ledger, name="ledger"),
    path("campaigns/<int:pk>/platform/ledger/payments.csv", views.ledger_csv, name="ledger_csv"),
    path("campaigns/<int:pk>/platform/ledger/compare/", views.compare, name="compare"),
    path("platform/hooks/<str:reference>/", views.account_heard, name="account_notifications"),
    path("platform/notifications/<str:reference>/", views.heard, name="notifications"),
]
