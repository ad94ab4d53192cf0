"""The languages of workers' pages: the worker's choice, else the campaign's, if locale/ has it, or the browser's."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation


def language_of(tag: str) -> str:
    """The catalogue for a BCP 47 tag, as in `de` for `de-AT`; English if there is none."""
    try:
        return translation.get_supported_language_variant(tag.strip().lower().replace("_", "-"))
    except LookupError:
        return settings.LANGUAGE_CODE


def speak(request: HttpRequest, tag: str) -> None:
    """Answer a request in the language that the worker has chosen, or else in a campaign's.

    Without either, the language stays that of the browser.
    """
    chosen = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME)
    if chosen in dict(settings.LANGUAGES):
        translation.activate(chosen)
    elif tag:
        translation.activate(language_of(tag))
