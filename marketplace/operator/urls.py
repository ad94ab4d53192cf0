"""The operator's addresses."""

from django.urls import path, register_converter

from marketplace.operator import views
from marketplace.site.edge import IdConverter

register_converter(IdConverter, "id")

app_name = "operator"

urlpatterns = [
    path("", views.home, name="home"),
    path("requesters", views.requesters, name="requesters"),
    path("requesters/<id:account_id>", views.requester, name="requester"),
    path("requesters/<id:account_id>/keys", views.issue_key, name="issue_key"),
    path("requesters/<id:account_id>/keys/<id:key_id>/revoke", views.revoke_key, name="revoke_key"),
    path("requesters/<id:account_id>/deposit", views.deposit, name="deposit"),
    path("requesters/<id:account_id>/messages/<int:message_pk>", views.letter, name="letter"),
    path("workers", views.workers, name="workers"),
    path("workers/invite", views.invite, name="invite"),
    path("workers/<id:worker_id>", views.worker, name="worker"),
    path("disputes", views.disputes, name="disputes"),
    path("disputes/<int:dispute_pk>", views.dispute, name="dispute"),
    path("payouts", views.payouts, name="payouts"),
    path("payouts/list", views.payout, name="payout"),
    path("payouts/list.csv", views.payout_csv, name="payout_csv"),
    path("audit", views.audit, name="audit"),
]
