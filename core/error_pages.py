"""Pages for errors that happen before, or instead of, any view.

Django's own check the CSRF token once more, so they read the form that may be what cannot be read: an odd encoding or a
body that is too long ended in an error of the site. These read nothing of the request.
"""

from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.translation import gettext as _


def bad_request(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """What was sent cannot be understood."""
    text = _("The request is incomplete. Please go back, reload the page and try again.")
    return _page(400, _("We could not understand that"), text)


def forbidden(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """Somebody who is logged in may not see this."""
    text = _("Your account does not have access to this page. If you think it should, ask an admin.")
    return _page(403, _("Not allowed"), text)


def not_found(_request: HttpRequest, exception: Exception) -> HttpResponse:
    """There is no such address."""
    text = _("There is no page at this address. Please check the link that you were given.")
    return _page(404, _("Page not found"), text)


def too_many(_request: HttpRequest) -> HttpResponse:
    """Somebody has tried too often."""
    text = _("There have been too many attempts. Please wait a few minutes and try again.")
    return _page(429, _("One moment, please"), text)


def server_error(_request: HttpRequest) -> HttpResponse:
    """Something is broken here."""
    return HttpResponse(loader.render_to_string("500.html"), status=500)


def _page(status: int, title: str, text: str) -> HttpResponse:
    return HttpResponse(loader.render_to_string("message.html", {"title": title, "text": text}), status=status)
