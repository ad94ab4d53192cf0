"""The researcher's pages about publications; where platforms send notifications."""

from django.urls import include, path

from platforms.views import filters, messages, money, notifications, publishing, reviewing, state

app_name = "platforms"
of_publication = [
    path("", state.state, name="publication"),
    path("terms/", publishing.terms, name="terms"),
    path("filters/", filters.filters, name="filters"),
    path("ask-for-money/", publishing.ask_for_money, name="ask_for_money"),
    path("publish/", publishing.publish, name="publish"),
    path("test-run/", publishing.test_run, name="test_run"),
    *[path(f"{what}/", state.act, {"what": what}, name=what) for what in state.ACTS],
    path("pay/", reviewing.adjustment, name="adjustment"),
    path("extend/", state.extend, name="extend"),
    path("listen/", state.listen, name="listen"),
    path("calls/<int:operation_pk>/", state.retry, name="retry"),
    path("alarms/<int:alarm_pk>/", state.set_aside, name="set_aside"),
    path("submissions/", reviewing.submissions, name="submissions"),
    path("submissions/<int:submission_pk>/", reviewing.submission, name="submission"),
    path("compensations/", reviewing.compensations, name="compensations"),
    path("compensations/<int:payment_pk>/", reviewing.compensate, name="compensate"),
    path("compensations/<int:payment_pk>/decline/", reviewing.decline, name="decline"),
    path("messages/", messages.message_list, name="messages"),
    path("messages/<int:worker_pk>/", messages.conversation, name="conversation"),
    path("messages/<int:message_pk>/set-aside/", messages.message_set_aside, name="message_set_aside"),
    path("ledger/", money.ledger, name="ledger"),
    path("ledger/payments.csv", money.ledger_csv, name="ledger_csv"),
    path("ledger/compare/", money.compare, name="compare"),
]
urlpatterns = [
    path("labs/<int:pk>/accounts/<slug:platform>/", money.lab_account, name="lab_account"),
    path("costs/", money.costs, name="costs"),
    path("costs/campaigns.csv", money.costs_csv, name="costs_csv"),
    path("campaigns/<int:pk>/state/", publishing.move, name="move"),
    path("campaigns/<int:pk>/pay/", money.pay, name="pay"),
    path("platform/hooks/<str:reference>/", notifications.account_heard, name="account_notifications"),
    path("platform/notifications/<str:reference>/", notifications.heard, name="notifications"),
    path("campaigns/<int:pk>/platform/", include(of_publication)),
]
