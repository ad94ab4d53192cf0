"""The public pages of the versions of a board's preference qrels."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from core.roles import Right, needs
from leaderboards.public import versions
from leaderboards.public.reading import Published
from leaderboards.public.views import of_board
from pools.models import QrelsVersion

SHOWN = 100  # changed queries on a page; the file has all


@needs(Right.PUBLIC)
@of_board
def history(request: HttpRequest, shown: Published) -> HttpResponse:
    """Every version: when, why, and what it changed."""
    context = {"board": shown.board, "versions": versions.summaries(shown.board)}
    return render(request, "leaderboards/public/versions.html", context)


@needs(Right.PUBLIC)
@of_board
def version(request: HttpRequest, shown: Published, number: int) -> HttpResponse:
    """One version: the order of the entries on it, beside the version before, and the dev queries that it changed."""
    found = _version_of(shown, number)
    changes = versions.changes_of(shown.board, found)
    context = {
        "board": shown.board, "version": found, "orders": versions.order_on(shown, found),
        "changes": changes[:SHOWN], "all_changes": len(changes), "measure": shown.board.ranking_measure,
        "newer": versions.version_of(shown.board, number + 1), "older": versions.version_of(shown.board, number - 1),
    }  # fmt: skip
    return render(request, "leaderboards/public/version.html", context)


@needs(Right.PUBLIC)
@of_board
def dev_qrels(request: HttpRequest, shown: Published, number: int) -> HttpResponse:
    """A version's preference qrels of the dev queries, in TREC's format."""
    found = _version_of(shown, number)
    content = "".join(versions.dev_qrels(shown.board, found))
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    name = f"{shown.board.slug}-v{number}-dev-preference-qrels.txt"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _version_of(shown: Published, number: int) -> QrelsVersion:
    found = versions.version_of(shown.board, number) if 0 < number < 2**31 else None
    if found is None:
        raise Http404
    return found
