"""Serving files that jobs made, from storage."""

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.http import HttpResponse, HttpResponseBase
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.direct import stored_file_response
from core.errors import FileAway, NotMadeYet
from judgments import selectors as judgment_selectors
from pools.models import Campaign

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tex": "application/x-tex; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "zip": "application/zip",
}


def attachment(name: str, content: str) -> HttpResponse:
    """A download of text, of the type that the end of its name says."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content.encode(), content_type=TYPES[name.rpartition(".")[2]], headers=headers)


def file_response(campaign: Campaign, kind: str, name: str) -> HttpResponseBase:
    """A stored file as a download, a part at a time; or, if it is large, a redirect to where its bucket has it.

    Raises NotMadeYet if no job has made it so far, FileAway if storage does not have it.
    """
    stored = judgment_selectors.stored_file(campaign, kind, name)
    if stored is None:
        raise NotMadeYet(
            _(
                "This file is made in the background, within a minute or two of the campaign's start or of new "
                "judgments; with very many judgments it takes some minutes. Come back then."
            )
        )
    base = name.rpartition("/")[2]
    filename = f"{slugify(campaign.name) or campaign.pk}-{base}"
    content_type = TYPES[base.rpartition(".")[2]]
    try:
        return stored_file_response(
            str(stored.file.name), size=stored.size, filename=filename, content_type=content_type, etag=stored.sha256
        )
    except (OSError, BotoCoreError, ClientError) as error:
        raise FileAway(
            _("The file cannot be read from storage now: %(error)s. Have it made again.") % {"error": error}
        ) from error
