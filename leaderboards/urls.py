"""Addresses of leaderboards for participants and organizers; what everybody sees is in leaderboards/public."""

from django.urls import path

from leaderboards import import_views, organizing_views, views

app_name = "leaderboards"
urlpatterns = [
    path("leaderboards/", views.boards, name="boards"),
    path("leaderboards/new/", organizing_views.board_new, name="board_new"),
    path("leaderboards/invited/<str:token>/", views.invited, name="invited"),
    path("leaderboards/uploads/", views.sending_begin, name="sending_begin"),
    path("leaderboards/uploads/<str:token>/", views.sending_continue, name="sending_continue"),
    path("leaderboards/submissions/<str:submission_id>/", views.submission, name="submission"),
    path("leaderboards/submissions/<str:submission_id>/act/", views.submission_act, name="submission_act"),
    path("leaderboards/submissions/<str:submission_id>/decide/", organizing_views.decide, name="decide"),
    path("leaderboards/at/<slug:board_slug>/", views.take_part, name="take_part"),
    path("leaderboards/at/<slug:board_slug>/board.json", views.terms, name="terms"),
    path("leaderboards/at/<slug:board_slug>/sample.zip", views.sample, name="sample"),
    path("leaderboards/at/<slug:board_slug>/submit/", views.submit, name="submit"),
    path("leaderboards/at/<slug:board_slug>/dev/", views.dev, name="dev"),
    path("leaderboards/at/<slug:board_slug>/ask/", views.ask, name="ask"),
    path("leaderboards/at/<slug:board_slug>/team/", views.team_new, name="team_new"),
    path("leaderboards/at/<slug:board_slug>/team/<str:team_id>/", views.team, name="team"),
    path("leaderboards/at/<slug:board_slug>/team/<str:team_id>/leave/", views.team_leave, name="team_leave"),
    path("leaderboards/at/<slug:board_slug>/organize/", organizing_views.organize, name="organize"),
    path("leaderboards/at/<slug:board_slug>/order/", organizing_views.order, name="order"),
    path("leaderboards/at/<slug:board_slug>/change/", organizing_views.board_edit, name="board_edit"),
    path("leaderboards/at/<slug:board_slug>/policy/", organizing_views.policy_new, name="policy_new"),
    path("leaderboards/at/<slug:board_slug>/season/", organizing_views.season_new, name="season_new"),
    path("leaderboards/<slug:slug>/import", import_views.import_board, name="import"),
    path("leaderboards/at/<slug:board_slug>/export/", organizing_views.export, name="export"),
    path("leaderboards/at/<slug:board_slug>/act/", organizing_views.board_act, name="board_act"),
]
