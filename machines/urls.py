"""The researcher's pages about machine judges."""

from django.urls import path

from machines import views

app_name = "machines"
urlpatterns = [
    path("collections/<int:pk>/machines/", views.machines, name="machines"),
    path("collections/<int:pk>/machines/new/", views.machine_import, name="machine_import"),
    path("collections/<int:pk>/machines/ask/", views.machine_ask, name="machine_ask"),
    path("collections/<int:pk>/machines/asked/<int:asking_pk>/stop/", views.machine_stop, name="machine_stop"),
    path("collections/<int:pk>/machines/<int:judge_pk>/delete/", views.machine_delete, name="machine_delete"),
]
