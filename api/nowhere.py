"""Addresses under the API's that are none."""

from typing import Any, NoReturn

from django.utils.translation import gettext as _
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView


class Nowhere(APIView):
    """404 as a problem, with or without a token."""

    schema = None  # it is not described

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotFound(_("The API has no such address. They end with a slash, and /api/ lists them all."))
