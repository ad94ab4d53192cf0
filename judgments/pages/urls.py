"""The workers' pages, and their saving endpoint."""

from django.urls import path

from judgments.pages import api, frame_entry
from judgments.pages import worker as worker_pages

app_name = "judging"
urlpatterns = [
    path("c/<str:link>/", worker_pages.preview, name="preview"),
    path("c/<str:link>/consent/", worker_pages.join, name="join"),
    path("c/<str:link>/declined/", worker_pages.declined, name="declined"),
    path("m/<str:link>/declined/", frame_entry.declined_in_frame, name="declined_in_frame"),
    path("m/<str:link>/<int:number>/", frame_entry.arrive, name="arrive"),
    path("w/<str:token>/", worker_pages.home, name="home"),
    path("w/<str:token>/consent/", worker_pages.consent, name="consent"),
    path("w/<str:token>/next/", worker_pages.take, name="take"),
    path("j/<str:token>/", worker_pages.instructions, name="instructions"),
    path("j/<str:token>/<int:position>/", worker_pages.item, name="item"),
    path("j/<str:token>/<int:position>/save/", api.save, name="save"),
    path("j/<str:token>/finish/", worker_pages.finish, name="finish"),
    path("j/<str:token>/leave/", worker_pages.leave, name="leave"),
    path("j/<str:token>/done/", worker_pages.done, name="done"),
]
