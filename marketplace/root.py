"""The root address: programs POST to it, people open it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from marketplace.api.views import requests
from marketplace.workers.account_views import home


@csrf_exempt  # the API has signatures; a GET changes nothing
def root(request: HttpRequest) -> HttpResponse:
    """The API for whatever is posted, the front door for whoever looks."""
    return home(request) if request.method in ("GET", "HEAD") else requests(request)
