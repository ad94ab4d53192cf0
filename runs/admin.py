"""Collections and runs in Django's admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from core.admin import Annotated
from runs.changes import collection_changed
from runs.models import Collection, Run


@admin.register(Collection)
class CollectionAdmin(Annotated):
    """Collections come in by import_collection."""

    changeable = ("name",)
    list_display = ["name", "lab", "language", "created_at"]
    search_fields = ["name", "lab__name"]
    list_select_related = ["lab"]

    def save_model(self, request: HttpRequest, obj: Collection, form: Any, change: bool) -> None:
        """The manifests of its campaigns name it."""
        super().save_model(request, obj, form, change)
        collection_changed.send(sender=Collection, collection=obj)


@admin.register(Run)
class RunAdmin(Annotated):
    """Runs. Their files, names and census are part of exports, so only team and notes can be edited."""

    changeable = ("team", "notes")
    hidden = ("original", "artifact")  # they are in file storage, which has no addresses
    list_display = ["name", "collection", "team", "lab", "imported_at"]
    search_fields = ["name", "team", "lab__name"]
    list_select_related = ["collection", "lab"]
