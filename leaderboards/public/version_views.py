"""The public pages of the versions of a board's preference qrels."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from core.roles import Right, needs
from leaderboards.public import versions
from leaderboards.public.published import Published
from leaderboards.public.views import of_board
from pools.models import QrelsVersion

SHOWN = 100  # changed queries on a page; the file has all


@needs(Right.PUBLIC)
@of_board
def history(request: HttpRequest, board: Published) -> HttpResponse:
    """Every version: when, why, and what it changed."""
    context = {"board": board.board, "versions": versions.summaries(board.board)}
    return render(request, "leaderboards/public/versions.html", context)


@needs(Right.PUBLIC)
@of_board
def version(request: HttpRequest, board: Published, number: int) -> HttpResponse:
    """One version: the order of the entries on it, beside the version before, and the dev queries that it changed."""
    version = _version_of(board, number)
    changes = versions.changes_of(board.board, version)
    context = {
        "board": board.board, "version": version, "orders": versions.order_on(board, version),
        "changes": changes[:SHOWN], "all_changes": len(changes), "measure": board.board.ranking_measure,
        "newer": versions.version_of(board.board, number + 1), "older": versions.version_of(board.board, number - 1),
    }  # fmt: skip
    return render(request, "leaderboards/public/version.html", context)


@needs(Right.PUBLIC)
@of_board
def dev_qrels(request: HttpRequest, board: Published, number: int) -> HttpResponse:
    """A version's preference qrels of the dev queries, in TREC's format."""
    version = _version_of(board, number)
    content = "".join(versions.dev_qrels(board.board, version))
    response = HttpResponse(content, content_type="text/plain; charset=utf-8")
    name = f"{board.board.slug}-v{number}-dev-preference-qrels.txt"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _version_of(board: Published, number: int) -> QrelsVersion:
    version = versions.version_of(board.board, number) if 0 < number < 2**31 else None
    if version is None:
        raise Http404
    return version
