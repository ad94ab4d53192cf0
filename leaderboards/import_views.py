"""The page on which the CSV file of a leaderboard becomes entries of a board."""

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from core.errors import NotYours, Refused
from core.http import Request, refuse_in
from core.roles import Right, may, needs, require, right_of
from evaluation.errors import BadInput
from leaderboards.importing import board_import
from leaderboards.models import Board, Season

PAGE = "leaderboards/import.html"
MEGABYTES = 5  # of a file; MS MARCO's have a hundredth of that


class BoardFileForm(forms.Form):
    """A CSV file."""

    file = forms.FileField(
        label=gettext_lazy("CSV file"),
        help_text=gettext_lazy(
            "Of the MS MARCO document or passage leaderboard, told apart by the names of its columns; at most "
            "%(megabytes)s MB."
        )
        % {"megabytes": MEGABYTES},
    )
    season = forms.ModelChoiceField(Season.objects.none(), label=gettext_lazy("Season"), empty_label=None)

    def __init__(self, board: Board, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fields["season"].queryset = board.seasons.order_by("number")  # type: ignore[attr-defined]

    def clean_file(self) -> object:
        file = self.cleaned_data["file"]
        if file.size > MEGABYTES << 20:
            raise forms.ValidationError(f"{file.name} is larger than {MEGABYTES} MB.")
        return file


@needs(Right.MAINTAIN)
@require_http_methods(["GET", "POST"])
def import_board(request: Request, slug: str) -> HttpResponse:
    """Upload the file; then see what came of it, with every trophy on which it disagrees with its scores."""
    board = Board.objects.select_related("lab").filter(slug=slug).first()
    if board is None or not may(request.user, board.lab, Right.SEE):
        raise NotYours("There is no such board.")
    require(request.user, board.lab, right_of(request))
    context = {"board": board}
    if request.method == "GET":
        return render(request, PAGE, {"form": BoardFileForm(board), **context})
    form = BoardFileForm(board, request.POST, request.FILES)
    status = 400
    if form.is_valid():
        file, season = form.cleaned_data["file"], form.cleaned_data["season"]
        try:
            done = board_import(
                board=board, source=file, filename=file.name, by=request.user, at=timezone.now(), season=season
            )
        except BadInput as error:
            form.add_error("file", str(error))
        except Refused as error:
            status = refuse_in(form, error)
        else:
            return render(request, PAGE, {"done": done, **context})
    return render(request, PAGE, {"form": form, **context}, status=status)
