"""The pages of public boards. They are the same for everybody, and none tells whose an entry under embargo is."""

import hashlib
import mimetypes
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.http.response import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django_ratelimit.decorators import ratelimit

from core.direct import Redirect, stored_file_response
from core.login import TooManyTries
from core.roles import Right, may, needs
from evaluation.boards.checking import COSTS
from leaderboards import order_checks
from leaderboards.boards import board_terms
from leaderboards.models import Board
from leaderboards.public import archive, figures, sealing
from leaderboards.public.comparing import best_before, compare_dev, compare_eval
from leaderboards.public.data import COST_NAMES, ON, cost_lines, cost_text, entry_data, note
from leaderboards.public.embargo import Shown
from leaderboards.public.feeds import feed
from leaderboards.public.numbers import added_run, collection_facts, gap_numbers, steps
from leaderboards.public.published import Published, dev_groups, matching, other_dev_scores, published

SECONDS = 60  # that a browser or proxy may keep a page
_EMBEDDED = 10  # entries in a frame on another site

View = Callable[..., HttpResponseBase]


def board_of(request: HttpRequest, slug: str) -> Board:
    """A public board; one that is not public yet, for the people of its lab. Raises Http404."""
    board = Board.objects.select_related("lab", "collection").filter(slug=slug).first()
    if board is None or not (board.is_public or _is_of_lab(request, board)):
        raise Http404
    return board


def _is_of_lab(request: HttpRequest, board: Board) -> bool:
    return request.user.is_authenticated and may(request.user, board.lab, Right.SEE)


def of_board(view: View) -> View:
    """For pages of a board: hands it to the view as it is now, and lets browsers keep what everybody sees."""

    @require_safe
    @wraps(view)
    def seen(request: HttpRequest, slug: str, *arguments: Any, **named: Any) -> HttpResponseBase:
        board = board_of(request, slug)
        response = view(request, published(board, timezone.now()), *arguments, **named)
        if not board.is_public or _is_of_lab(request, board) or isinstance(response, Redirect):
            return response  # not kept anywhere: whoever changes a board sees the change at once
        patch_cache_control(response, public=True, max_age=SECONDS)
        if response.streaming or response.status_code != 200:
            return response
        digest = hashlib.sha256(cast(HttpResponse, response).content).hexdigest()
        response["ETag"] = quote_etag(digest[:32])
        whole = cast(HttpResponse, response)
        return get_conditional_response(request, etag=response["ETag"], response=whole) or whole

    return seen


@needs(Right.PUBLIC)
@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    rows = Board.objects.filter(is_public=True).select_related("lab", "collection").order_by("name", "pk")
    return render(request, "leaderboards/public/boards.html", {"boards": rows})


@needs(Right.PUBLIC)
@of_board
def board(request: HttpRequest, board: Published) -> HttpResponse:
    """A board's page, sorted and filtered as the address asks: byte for byte what `docs/board_page.py` makes."""
    return HttpResponse(archive.page(board, request.META["QUERY_STRING"]))


@needs(Right.PUBLIC)
@of_board
def entry(request: HttpRequest, board: Published, key: str) -> HttpResponseBase:
    """An entry by its random id, which never changes; by the id of its run it leads there, unless under embargo."""
    entry = board.entry(key)
    if entry is None:
        named = next((row for row in board.entries if row.run_id and row.run_id.casefold() == key.casefold()), None)
        if named is None:
            raise Http404
        return HttpResponseRedirect(reverse("boards:entry", args=[board.board.slug, named.id]))
    row = next(line for line in entry_data(board) if line["id"] == entry.id)
    before = best_before(board, entry)
    context = {
        "board": board.board, "entry": entry, "row": row, "season": entry.season,
        "note": note(entry, {other.id: other.run_id for other in board.entries}),
        "others": other_dev_scores(board, entry),
        "before": before, "outcome": None if before is None else compare_dev(board, entry, before),
        "on_eval": None if before is None else compare_eval(board, entry, before),
        "costs": cost_lines(entry), "added": added_run(board, entry), "groups": dev_groups(board, entry),
        "address": f"{settings.SITE_URL}{reverse('boards:entry', args=[board.board.slug, entry.id])}",
        "policy": board.board.submissions.filter(public_id=entry.id).values_list("policy__number", flat=True).first(),
    }  # fmt: skip
    return render(request, "leaderboards/public/entry.html", context)


def _addresses(board: Published) -> figures.Address:
    """Where the points of a board's figures lead."""
    return lambda entry: reverse("boards:entry", args=[board.board.slug, entry.id])


@needs(Right.PUBLIC)
@of_board
def time(request: HttpRequest, board: Published) -> HttpResponse:
    """Scores over time, dev against eval and their gap, and entries by team, of one season."""
    season = request.GET.get("season", "")
    names = [season.name for season in board.seasons]
    if season not in names and names:
        season = names[0]
    word, type_ = request.GET.get("word", "").strip(), request.GET.get("type", "")
    entries, address = [entry for entry in board.of_season(season) if type_ in ("", entry.type)], _addresses(board)
    context = {
        "board": board.board, "season": season, "seasons": names, "word": word, "type": type_,
        "with_word": sum(figures.has_word(entry, word) for entry in entries),
        "over_time": figures.over_time(entries, word, address=address), "steps": steps(entries),
        "teams": figures.of_teams(entries),
        "gaps": [
            {
                "numbers": numbers,
                "dev_eval": figures.dev_against_eval(entries, imported=numbers.is_imported, address=address),
                "gaps": figures.gaps(entries, imported=numbers.is_imported, address=address),
            }
            for numbers in gap_numbers(entries)
        ],
    }  # fmt: skip
    return render(request, "leaderboards/public/time.html", context)


@needs(Right.PUBLIC)
@of_board
def costs(request: HttpRequest, board: Published) -> HttpResponse:
    """Eval score against one of the costs that entries tell, and which of them no other beats."""
    available = [name for name in COSTS if any(name in entry.costs for entry in board.entries)]
    names = [season.name for season in board.seasons]
    season, cost = request.GET.get("season", ""), request.GET.get("cost", "")
    season = season if season in names else next(iter(names), "")
    cost = cost if cost in available else next(iter(available), "")
    entries, best, rows = board.of_season(season), set(), []
    if cost:
        best = {entry.id for entry in figures.front(entries, cost)}
        on = ON[cost][0] if cost in ON else ""
        costed = sorted(figures.with_cost(entries, cost), key=lambda entry: float(entry.costs[cost]))
        rows = [
            (entry, cost_text(entry.costs[cost], cost), entry.costs.get(on, ""), entry.id in best) for entry in costed
        ]
    context = {
        "board": board.board, "season": season, "seasons": names, "cost": cost,
        "choices": [(name, COST_NAMES[name]) for name in available], "label": COST_NAMES.get(cost, ""),
        "on": ON[cost][1] if cost in ON else "", "rows": rows,
        "figure": figures.against_cost(entries, cost, COST_NAMES[cost], address=_addresses(board)) if cost else "",
    }  # fmt: skip
    return render(request, "leaderboards/public/costs.html", context)


@needs(Right.PUBLIC)
@of_board
def order(request: HttpRequest, board: Published) -> HttpResponse:
    """How sure the order of a season is, as it was last checked, and whether it was as sure before.

    On the eval queries only where every score is shown; on the dev queries always.
    """
    names = [season.name for season in board.seasons]
    season = next((season for season in board.seasons if season.name == request.GET.get("season", "")), None)
    season = season or next(iter(board.seasons), None)
    sections = []
    if season is not None:
        for part, checks in order_checks.shown_checks(season, board.at).items():
            lines = order_checks.lines_of(checks[0], checks[1] if len(checks) > 1 else None)
            rows = [(entry, line) for line in lines if (entry := board.entry(line.id)) is not None]
            sections.append((part, checks[0], rows, [order_checks.summary(check) for check in checks]))
    context = {
        "board": board.board, "seasons": names, "season": season, "sections": sections,
        "hides_eval": season is not None and not order_checks.is_open(season, board.at),
    }  # fmt: skip
    return render(request, "leaderboards/public/order.html", context)


class Side(NamedTuple):
    """One of two entries to compare: the field's name and label, what is in it, the entry that it names, and, where it
    names several or none, those with the addresses that choose them.
    """

    name: str
    label: str
    text: str
    entry: Shown | None
    choices: list[tuple[Shown, str]]


@needs(Right.PUBLIC)
@of_board
def compare(request: HttpRequest, board: Published) -> HttpResponse:
    """Two entries against each other: query by query on dev, and on eval where everybody may see it."""
    texts = [request.GET.get(name, "").strip()[:200] for name in ("a", "b")]
    hits = [matching(board, text) if text else board.entries[at : at + 1] for at, text in enumerate(texts)]
    first, other = (entries[0] if len(entries) == 1 else None for entries in hits)
    names = [entry.run_id or entry.id if entry else text for entry, text in zip((first, other), texts, strict=True)]
    sides = [
        Side("a", "First", names[0], first, [(entry, urlencode({"a": entry.id, "b": names[1]})) for entry in hits[0]]),
        Side("b", "Second", names[1], other, [(entry, urlencode({"a": names[0], "b": entry.id})) for entry in hits[1]]),
    ]
    context = {
        "board": board.board, "are_two": len(board.entries) > 1, "one": first, "other": other, "sides": sides,
        "outcome": compare_dev(board, first, other) if first and other else None,
        "on_eval": compare_eval(board, first, other) if first and other else None,
        "groups": dev_groups(board, first, other) if first and other and first.season == other.season else [],
    }  # fmt: skip
    return render(request, "leaderboards/public/compare.html", context)


@needs(Right.PUBLIC)
@of_board
def terms(request: HttpRequest, board: Published) -> HttpResponse:
    """What participants check and seal with (`bestknown seal --board`): the board's key and rules."""
    if not board.board.keys.filter(retired_at=None).exists():
        raise Http404
    terms = board_terms(board.board, board.policy)
    return JsonResponse(terms.as_dict(), json_dumps_params={"indent": 1})


@needs(Right.PUBLIC)
@require_safe
def wheel(request: HttpRequest, name: str) -> HttpResponseBase:
    """What participants install to check and seal runs: the same for all boards."""
    package = sealing.wheel()
    if f"{name}.whl" != package.name:
        raise Http404
    etag = quote_etag(package.sha256[:32])
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    response = HttpResponse(package.content, content_type="application/octet-stream", headers={"ETag": etag})
    response["Content-Disposition"] = f'attachment; filename="{package.name}"'
    patch_cache_control(response, public=True, max_age=SECONDS)
    return response


@needs(Right.PUBLIC)
@of_board
def policy(request: HttpRequest, board: Published) -> HttpResponse:
    """What the board asks of who submits, in every version that held."""
    versions = list(board.board.policies.filter(begins_at__lte=board.at).order_by("-number")) or [board.policy]
    key = board.board.keys.filter(retired_at=None).first()
    context = {"board": board.board, "policy": board.policy, "versions": versions, "key": key}
    return render(request, "leaderboards/public/policy.html", context)


@needs(Right.PUBLIC)
@of_board
def files(request: HttpRequest, board: Published) -> HttpResponse:
    """The queries and qrels that everybody may have, with checksums, and the collection in numbers."""
    seasons = [(season, archive.public_files(season)) for season in board.seasons]
    corpus = board.board.collection.statistics.get("corpus")
    context = {
        "board": board.board, "seasons": seasons, "facts": collection_facts(board), "corpus": corpus,
        "installing": sealing.installing(), "seal": sealing.seal_command(f"{board.board.slug}.json"),
    }  # fmt: skip
    return render(request, "leaderboards/public/files.html", context)


@needs(Right.PUBLIC)
@of_board
def file(request: HttpRequest, board: Published, number: int, part: str) -> HttpResponseBase:
    """One file of a season, as it was uploaded."""
    season = next((season for season in board.seasons if season.number == number), None)
    row = next((row for row in archive.public_files(season) if row.part == part), None) if season else None
    if row is None:
        raise Http404
    guess, packed = mimetypes.guess_type(row.name)
    content_type = guess if guess and not packed else "application/octet-stream"
    return stored_file_response(str(row.file.name), size=row.size, filename=row.name, content_type=content_type)


@needs(Right.PUBLIC)
@ratelimit(key="ip", rate="30/m", block=False)  # type: ignore[untyped-decorator]
@of_board
def everything(request: HttpRequest, board: Published) -> HttpResponseBase:
    """The whole board as a zip."""
    if getattr(request, "limited", False):
        raise TooManyTries(_("This board was asked for too often. Please wait a minute and try again."))
    packed = archive.Archive(board)
    etag = quote_etag(packed.digest[:32])
    unchanged = get_conditional_response(request, etag=etag)
    if unchanged is not None:
        return unchanged
    return packed.response(board.at, f"{board.board.slug}.zip")


@needs(Right.PUBLIC)
@of_board
def atom(request: HttpRequest, board: Published) -> HttpResponse:
    address = settings.SITE_URL + reverse("boards:board", args=[board.board.slug])
    return HttpResponse(feed(board, address), content_type="application/atom+xml; charset=utf-8")


@needs(Right.PUBLIC)
@of_board
def embedding(request: HttpRequest, board: Published) -> HttpResponse:
    """How to show the board on another site."""
    address = settings.SITE_URL + reverse("boards:embed", args=[board.board.slug])
    return render(request, "leaderboards/public/embedding.html", {"board": board.board, "address": address})


@needs(Right.PUBLIC)
@of_board
def embed(request: HttpRequest, board: Published) -> HttpResponse:
    """The first entries of the newest season, to be shown in a frame on any site: text and links, and nothing else."""
    newest = board.of_season(board.seasons[0].name) if board.seasons else []
    context = {"board": board.board, "entries": [row for row in newest if row.rank][:_EMBEDDED], "all": len(newest)}
    response = render(request, "leaderboards/public/embed.html", context)
    response.xframe_options_exempt = True
    # as csp.decorators.csp_replace does to a whole view
    response._csp_replace = {"frame-ancestors": ["*"], "form-action": ["'none'"]}  # type: ignore[attr-defined]
    return response
