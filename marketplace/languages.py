"""Which language a page is in."""

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation


class WorkersLanguage(LocaleMiddleware):
    """Workers' pages are in the language that they chose, or their browser's, if there is a catalogue of it.

    Operators' pages and the API are in English: the catalogues hold what workers read, and programs read codes.
    """

    ENGLISH = ("/operator/", "/extensions/")

    def process_request(self, request: HttpRequest) -> None:
        if request.path_info.startswith(self.ENGLISH) or "X-Amz-Target" in request.headers:
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = translation.get_language()
        else:
            super().process_request(request)
