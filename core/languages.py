"""The languages of the workers' pages: the campaign's, if locale/ has a catalogue of it, or the browser's."""

from django.conf import settings
from django.utils import translation


def language_of(tag: str) -> str:
    """The catalogue for a BCP 47 tag, as in `de` for `de-AT`; English if there is none."""
    try:
        return translation.get_supported_language_variant(tag.strip().lower().replace("_", "-"))
    except LookupError:
        return settings.LANGUAGE_CODE


def speak(tag: str) -> None:
    """Answer this request in a campaign's language. Without one, the language stays that of the browser."""
    if tag:
        translation.activate(language_of(tag))
