"""Filters that several lists have."""

from typing import Any

from django import forms
from django_filters import Filter, FilterSet


class KeyFilter(Filter):  # type: ignore[misc]  # django-filter has no types
    """By the key of something."""

    field_class = forms.IntegerField

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, min_value=1, max_value=2**63 - 1, **named)


def filterset(**filters: Filter) -> type[FilterSet]:
    """What a list is narrowed by: filters by the names of their parameters."""
    return type("Filters", (FilterSet,), filters)
