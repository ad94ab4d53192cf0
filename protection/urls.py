"""The researcher's pages about people's data: erasing, keeping, releasing."""

from django.urls import path

from protection import erasing_views, ethics_views, views

app_name = "protection"
urlpatterns = [
    path("protection/", views.protection, name="protection"),
    path("workers/<int:pk>/protection/", views.protection_worker, name="protection_worker"),
    path("workers/<int:pk>/data.json", views.protection_worker_data, name="protection_data"),
    path("labs/<int:pk>/protection/", views.protection_lab, name="protection_lab"),
    path("campaigns/<int:pk>/protection/", views.protection_campaign, name="protection_campaign"),
    path("campaigns/<int:pk>/protection/erase/", views.protection_campaign_erase, name="protection_erase"),
    path("campaigns/<int:pk>/protection/whole/", erasing_views.campaign_erase, name="campaign_erase"),
    path("account/close/", erasing_views.account_close, name="account_close"),
    path("labs/<int:pk>/people/<int:membership_pk>/close/", erasing_views.member_close, name="member_close"),
    path("campaigns/<int:pk>/protection/bundle/", views.bundle_make, name="bundle_make"),
    path("campaigns/<int:pk>/protection/release.zip", views.bundle, name="bundle"),
    path("campaigns/<int:pk>/ethics/", ethics_views.ethics, name="ethics"),
    path("campaigns/<int:pk>/ethics/summary.pdf", ethics_views.ethics_file, name="ethics_file"),
]
