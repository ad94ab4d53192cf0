"""The page on which judgments that were made elsewhere become a campaign of their own."""

from django.http import HttpResponse
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from core.http import Request
from core.roles import Right, needs
from judgments import importing
from judgments.forms import JudgmentsForm
from runs.http import ImportPage, import_file
from runs.models import Collection, Job


def _words(collection: Collection) -> dict[str, object]:
    other = _(
        "If all you have is who won, and you only want pairs not to be asked about again, "
        '<a href="%(address)s">import preferences</a> instead. Do not import the same judgments in both ways: they '
        "would count twice."
    )
    return {
        "title": _("Import judgments"),
        "heading": _("Import judgments over %(name)s") % {"name": collection.name},
        "about": [
            _(
                "Judgments that people made elsewhere become a campaign of their own: closed, with the workers under "
                "pseudonyms, and with winners, agreement, certainty and results like any other. Nobody can judge in "
                "it, and it cannot be published. Other campaigns that ask the same question can reuse its judgments."
            ),
            mark_safe(other % {"address": reverse("pools:preferences_import", args=[collection.pk])}),  # noqa: S308
        ],
        "note": _(
            "The file is checked line by line first. If it has an error, or a query that the collection does not know, "
            "nothing is stored, and you see which line to fix. The ids of the workers are not kept."
        ),
    }


PAGE = ImportPage(Job.Kind.JUDGMENTS, _words, JudgmentsForm, importing.judgments_ask)


@csrf_exempt  # import_file checks it
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def judgments_import(request: Request, pk: int) -> HttpResponse:
    """Upload a file of judgments."""
    return import_file(request, pk, PAGE)
