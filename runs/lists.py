"""How lists of collections, runs and imports are sorted, narrowed and written as CSV."""

from typing import Any

from django import forms
from django.db.models import BigIntegerField, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils.translation import gettext_lazy
from django_filters import NumberFilter

from core.lists import Columns, ListFilter, Sort, search_filter
from runs.models import Run


class CollectionFilter(ListFilter):
    name = search_filter(gettext_lazy("Name"))


COLLECTION_SORTS: dict[str, Sort] = {
    "name": "name",
    "language": "language",
    "lab": "lab__name",
    "created": "created_at",
}


class PreferenceImportFilter(ListFilter):
    name = search_filter(gettext_lazy("Name"))


PREFERENCE_IMPORT_SORTS: dict[str, Sort] = {
    "name": "name",
    "judgments": "judgment_count",
    "pairs": "pair_count",
    "imported": "imported_at",
}


class RunFilter(ListFilter):
    """Runs by words of their name or team, and those of one campaign."""

    name = search_filter(gettext_lazy("Name or team"), method="find")
    campaign = NumberFilter(field_name="campaigns", min_value=1, widget=forms.HiddenInput)

    def find(self, runs: QuerySet[Run], _name: str, words: str) -> QuerySet[Run]:
        return runs.filter(Q(name__icontains=words) | Q(team__icontains=words))


class CollectionRunFilter(RunFilter):
    """The runs of one collection by words of their name or team."""

    campaign = None


def _counted(name: str) -> Any:
    return Cast(KT(f"census__{name}"), BigIntegerField())


RUN_SORTS: dict[str, Sort] = {
    "name": "name",
    "team": "team",
    "collection": "collection__name",
    "queries": _counted("queries"),
    "hits": _counted("hits"),
    "conflicts": _counted("rank_score_conflicts"),
    "imported": "imported_at",
}


COLLECTION_COLUMNS: Columns = {
    "collection": "collection.name",
    "queries": "queries",
    "runs": "runs",
    "campaigns": "campaigns",
    "language": "collection.language",
    "dataset": "collection.dataset",
    "lab": "collection.lab.name",
    "created": "collection.created_at",
}


RUN_COLUMNS: Columns = {
    "run": "name",
    "team": "team",
    "models": "models_used",
    "collection": "collection.name",
    "queries": lambda run: run.census.get("queries"),
    "hits": lambda run: run.census.get("hits"),
    "order_conflicts": lambda run: run.census.get("rank_score_conflicts"),
    "released": "is_released",
    "imported": "imported_at",
}


PREFERENCE_IMPORT_COLUMNS: Columns = {
    "name": "name",
    "judgments": "judgment_count",
    "pairs": "pair_count",
    "note": "note",
    "imported": "imported_at",
}


JOB_COLUMNS: Columns = {
    "job": "pk",
    "kind": "kind",
    "name": "name",
    "state": "state",
    "asked_by": "asked_by",
    "asked": "asked_at",
    "ended": "ended_at",
    "error": "error",
}


SCORE_COLUMNS: Columns = {"run": lambda row: row[0], "score": lambda row: row[1][0], "rank": lambda row: row[1][1]}
