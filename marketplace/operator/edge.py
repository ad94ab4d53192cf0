"""What the operator's pages share."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from marketplace.selectors import site as selectors
from marketplace.site.edge import show


def page(request: HttpRequest, template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """A page of the operator's."""
    shared = {"open_disputes": selectors.disputes_open()}
    return show(request, f"operator/{template}", shared | dict(context), status=status)
