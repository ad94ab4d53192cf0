"""Addresses of public boards."""

from django.urls import path

from leaderboards.public import version_views, views

app_name = "boards"
urlpatterns = [
    path("", views.boards, name="boards"),
    path("<str:name>.whl", views.wheel, name="wheel"),
    path("<slug:slug>/", views.board, name="board"),
    path("<slug:slug>/e/<str:key>", views.entry, name="entry"),
    path("<slug:slug>/time", views.time, name="time"),
    path("<slug:slug>/order", views.order, name="order"),
    path("<slug:slug>/costs", views.costs, name="costs"),
    path("<slug:slug>/compare", views.compare, name="compare"),
    path("<slug:slug>/terms.json", views.terms, name="terms"),
    path("<slug:slug>/policy", views.policy, name="policy"),
    path("<slug:slug>/versions/", version_views.history, name="versions"),
    path("<slug:slug>/versions/<int:number>/", version_views.version, name="version"),
    path("<slug:slug>/versions/<int:number>/dev-qrels.txt", version_views.dev_qrels, name="version_qrels"),
    path("<slug:slug>/files", views.files, name="files"),
    path("<slug:slug>/files/<int:number>/<slug:part>", views.file, name="file"),
    path("<slug:slug>/board.zip", views.everything, name="everything"),
    path("<slug:slug>/feed.atom", views.atom, name="atom"),
    path("<slug:slug>/embedding", views.embedding, name="embedding"),
    path("<slug:slug>/embed", views.embed, name="embed"),
]
