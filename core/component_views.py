"""The page of components, for who makes pages: in development alone."""

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from core.progress import Progress
from core.roles import Right, needs


class ExampleForm(forms.Form):
    """Each sort of field, one of them with an error."""

    name = forms.CharField(help_text="What it is called in lists.")
    depth = forms.IntegerField(min_value=1)
    order = forms.ChoiceField(choices=[("score", "by score"), ("rank", "by rank")])
    platforms = forms.MultipleChoiceField(
        choices=[("link", "a link"), ("panel", "a panel")], widget=forms.CheckboxSelectMultiple, required=False
    )
    is_adult = forms.BooleanField(label="The texts are for adults", required=False)
    why = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), required=False)


@needs(Right.PUBLIC)
@require_GET
def components(request: HttpRequest) -> HttpResponse:
    """What pages are made of, each as it looks."""
    if not settings.DEVELOPMENT:
        raise Http404
    context = {
        "form": ExampleForm({"name": "passages", "depth": "0", "order": "score"}),
        "at": timezone.now(),
        "progress": Progress("Reading runs", 12, 16),
        "runs": [("bm25", 0.184, 42), ("minilm", 0.331, 174), ("duo", 0.402, 248)],
    }
    return render(request, "core/components.html", context)
