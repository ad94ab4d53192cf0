"""Pages for errors that happen before, or instead of, any view.

Django's own check the CSRF token once more, so they read the form that may be what cannot be read: an odd encoding or a
body that is too long ended in an error of the site. These read nothing of the request.
"""

from django.http import HttpRequest, HttpResponse
from django.template import loader


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """What was sent cannot be understood."""
    return HttpResponse(loader.render_to_string("400.html"), status=400)


def forbidden(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """Somebody who is logged in may not see this."""
    return HttpResponse(loader.render_to_string("403.html"), status=403)


def not_found(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """There is no such address."""
    return HttpResponse(loader.render_to_string("404.html"), status=404)


def server_error(_request: HttpRequest) -> HttpResponse:
    """Something is broken here."""
    return HttpResponse(loader.render_to_string("500.html"), status=500)
