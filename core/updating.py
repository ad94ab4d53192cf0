"""Updates of many rows whose values differ."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Func, JSONField, TextField, Value
from django.db.models.functions import Cast


def json_by_key(values: Mapping[int, Any]) -> Func:
    """For one `update()` of many rows: of each row the JSON value that is given for its primary key.

    Django's `bulk_update` builds a branch of a CASE for every row, which takes most of the time of storing them.
    """
    mapping = Cast(Value({str(key): value for key, value in values.items()}, output_field=JSONField()), JSONField())
    return Func(
        mapping, Cast("pk", TextField()), template="(%(expressions)s)", arg_joiner=" -> ", output_field=JSONField()
    )
