"""The operator's addresses."""

from django.urls import path, register_converter

from marketplace.operator import requester_views, views, worker_views
from marketplace.site.edge import IdConverter

register_converter(IdConverter, "id")

app_name = "operator"

urlpatterns = [
    path("", views.home, name="home"),
    path("requesters", requester_views.requesters, name="requesters"),
    path("requesters/<id:account_id>", requester_views.requester, name="requester"),
    path("requesters/<id:account_id>/keys", requester_views.issue_key, name="issue_key"),
    path("requesters/<id:account_id>/keys/<id:key_id>/revoke", requester_views.revoke_key, name="revoke_key"),
    path("requesters/<id:account_id>/deposit", requester_views.deposit, name="deposit"),
    path("requesters/<id:account_id>/standing", requester_views.requester_standing, name="requester_standing"),
    path("requesters/<id:account_id>/undecided", requester_views.requester_undecided, name="requester_undecided"),
    path("requesters/<id:account_id>/calls", requester_views.requester_calls, name="requester_calls"),
    path("requesters/<id:account_id>/messages/<int:message_pk>", requester_views.letter, name="letter"),
    path("workers", worker_views.workers, name="workers"),
    path("workers/invite", worker_views.invite, name="invite"),
    path("workers/<id:worker_id>", worker_views.worker, name="worker"),
    path("workers/<id:worker_id>/country", worker_views.worker_country, name="worker_country"),
    path("workers/<id:worker_id>/password", worker_views.worker_password, name="worker_password"),
    path("disputes", views.disputes, name="disputes"),
    path("disputes/<int:dispute_pk>", views.dispute, name="dispute"),
    path("payouts", views.payouts, name="payouts"),
    path("payouts/list", views.payout, name="payout"),
    path("payouts/list.csv", views.payout_csv, name="payout_csv"),
    path("payouts/<int:payout_pk>/bounce", views.payout_bounced, name="payout_bounced"),
    path("books", views.books, name="books"),
    path("audit", views.audit, name="audit"),
]
