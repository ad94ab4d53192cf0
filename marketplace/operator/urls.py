"""The URLs of the operator's pages."""

from django.urls import path, register_converter

from marketplace.operator import deposit_views, dispute_views, home_views, payout_views, requester_views, worker_views
from marketplace.pages import IdConverter

register_converter(IdConverter, "id")

app_name = "operator"

urlpatterns = [
    path("", home_views.home, name="home"),
    path("requesters", requester_views.requesters, name="requesters"),
    path("requesters/<id:account_id>", requester_views.requester, name="requester"),
    path("requesters/<id:account_id>/keys", requester_views.issue_key, name="issue_key"),
    path("requesters/<id:account_id>/keys/<id:key_id>/revoke", requester_views.revoke_key, name="revoke_key"),
    path("requesters/<id:account_id>/deposit", requester_views.deposit, name="deposit"),
    path("requesters/<id:account_id>/status", requester_views.requester_status, name="requester_status"),
    path("requesters/<id:account_id>/undecided", requester_views.requester_undecided, name="requester_undecided"),
    path("requesters/<id:account_id>/calls", requester_views.requester_calls, name="requester_calls"),
    path("requesters/<id:account_id>/messages/<int:message_pk>", requester_views.message, name="message"),
    path("workers", worker_views.workers, name="workers"),
    path("workers/invite", worker_views.invite, name="invite"),
    path("workers/<id:worker_id>", worker_views.worker, name="worker"),
    path("workers/<id:worker_id>/erase", worker_views.worker_erase_page, name="worker_erase"),
    path("workers/<id:worker_id>/country", worker_views.worker_country, name="worker_country"),
    path("workers/<id:worker_id>/password", worker_views.worker_password, name="worker_password"),
    path("disputes", dispute_views.disputes, name="disputes"),
    path("disputes/<int:dispute_pk>", dispute_views.dispute, name="dispute"),
    path("payouts", payout_views.payouts, name="payouts"),
    path("payouts/list", payout_views.payout, name="payout"),
    path("payouts/list.csv", payout_views.payout_csv, name="payout_csv"),
    path("payouts/<int:payout_pk>/bounce", payout_views.payout_bounced, name="payout_bounced"),
    path("deposit-requests/<int:request_pk>", deposit_views.decide, name="deposit_request"),
    path("books", home_views.books, name="books"),
    path("audit", home_views.audit, name="audit"),
]
