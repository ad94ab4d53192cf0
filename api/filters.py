"""Filters that several lists have."""

from typing import Any

from django import forms
from django_filters import Filter


class KeyFilter(Filter):  # type: ignore[misc]  # django-filter has no types
    """By the key of something."""

    field_class = forms.IntegerField

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, min_value=1, max_value=2**63 - 1, **named)
