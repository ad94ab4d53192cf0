"""The page on which judgments that were made elsewhere become a campaign of their own."""

from django.http import HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from core.http import Request
from core.roles import Right, needs
from judgments import importing
from judgments.forms import JudgmentsForm
from runs.http import ImportPage, import_file
from runs.models import Job

PAGE = ImportPage(Job.Kind.JUDGMENTS, "judgments/judgments_import.html", JudgmentsForm, importing.judgments_ask)


@csrf_exempt  # import_file checks it
@needs(Right.DESIGN)
@require_http_methods(["GET", "POST"])
def judgments_import(request: Request, pk: int) -> HttpResponse:
    """Upload a file of judgments."""
    return import_file(request, pk, PAGE)
