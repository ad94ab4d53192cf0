"""Large files go from the bucket to the browser, and not through a web server."""

from django.conf import settings
from django.core.files.storage import default_storage
from django.http import HttpResponseRedirect
from django.utils.http import content_disposition_header

LARGE = 5_000_000  # bytes; pages draw smaller files, and may draw what comes from this site alone
SECONDS = 60  # in which a download has to begin


def is_direct(size: int) -> bool:
    """Whether a file of so many bytes is fetched from the bucket itself."""
    return bool(settings.FILES_DIRECT) and size >= LARGE


def redirect_to_file(name: str, *, filename: str, content_type: str) -> HttpResponseRedirect:
    """A redirect to a stored file, at an address that works for a minute, and for whoever has it: ask before.

    Raises FileNotFoundError if storage does not have the file, and botocore's errors if it cannot be asked.
    """
    if not default_storage.exists(name):
        raise FileNotFoundError(name)
    answer = {
        "ResponseContentDisposition": content_disposition_header(True, filename),
        "ResponseContentType": content_type,
        "ResponseCacheControl": "private, no-store",
    }
    return HttpResponseRedirect(default_storage.url(name, parameters=answer, expire=SECONDS))  # type: ignore[call-arg]
