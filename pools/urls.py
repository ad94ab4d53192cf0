"""The pages of a collection and a run, with the campaigns that use them."""

from django.urls import path

from pools import views

app_name = "pools"
urlpatterns = [
    path("collections/<int:pk>/", views.collection, name="collection"),
    path("collections/<int:pk>/preferences/new/", views.preferences_import, name="preferences_import"),
    path(
        "collections/<int:pk>/preferences/<int:import_pk>/delete/", views.preferences_delete, name="preferences_delete"
    ),
    path("runs/<int:pk>/", views.run, name="run"),
]
