"""The pages of public boards. They are the same for everybody, and none tells whose an entry under embargo is."""

import hashlib
import tempfile
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.http.response import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_cache_control
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from core.roles import Right, may
from evaluation.boards.packages import BoardTerms
from leaderboards.models import Board
from leaderboards.public import archive, figures
from leaderboards.public.comparing import best_before, compare_dev
from leaderboards.public.data import entry_data
from leaderboards.public.feeds import feed
from leaderboards.public.numbers import collection_facts, gap_numbers, steps
from leaderboards.public.reading import Published, published

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
    """For pages of a board: hands it to the view as it is now, and lets browsers keep what everybody may see."""

    @require_safe
    @wraps(view)
    def seen(request: HttpRequest, slug: str, *arguments: Any, **named: Any) -> HttpResponseBase:
        board = board_of(request, slug)
        response = view(request, published(board, timezone.now()), *arguments, **named)
        if not board.is_public:
            return response
        patch_cache_control(response, public=True, max_age=SECONDS)
        if response.streaming or response.status_code != 200:
            return response
        digest = hashlib.sha256(cast(HttpResponse, response).content).hexdigest()
        response["ETag"] = quote_etag(digest[:32])
        whole = cast(HttpResponse, response)
        return get_conditional_response(request, etag=response["ETag"], response=whole) or whole

    return seen


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    """All public boards."""
    rows = Board.objects.filter(is_public=True).select_related("lab", "collection").order_by("name", "pk")
    return render(request, "leaderboards/public/boards.html", {"boards": rows})


@of_board
def board(request: HttpRequest, shown: Published) -> HttpResponse:
    """A board's page, sorted and filtered as the address asks: byte for byte what `docs/board_page.py` makes."""
    return HttpResponse(archive.page(shown, request.META["QUERY_STRING"]))


@of_board
def entry(request: HttpRequest, shown: Published, key: str) -> HttpResponseBase:
    """An entry by its random id, which never changes; by the id of its run it leads there, unless under embargo."""
    found = shown.entry(key)
    if found is None:
        named = next((one for one in shown.entries if one.run_id and one.run_id.casefold() == key.casefold()), None)
        if named is None:
            raise Http404
        return HttpResponseRedirect(reverse("boards:entry", args=[shown.board.slug, named.id]))
    row = next(line for line in entry_data(shown) if line["id"] == found.id)
    before = best_before(shown, found)
    context = {
        "board": shown.board, "entry": found, "row": row, "note": row["note"], "season": found.season,
        "before": before, "outcome": None if before is None else compare_dev(shown, found, before),
        "address": f"{settings.SITE_URL}{reverse('boards:entry', args=[shown.board.slug, found.id])}",
    }  # fmt: skip
    return render(request, "leaderboards/public/entry.html", context)


@of_board
def time(request: HttpRequest, shown: Published) -> HttpResponse:
    """Scores over time, dev against eval and their gap, and entries by team, of one season."""
    season = request.GET.get("season", "")
    names = [one.name for one in shown.seasons]
    if season not in names and names:
        season = names[0]
    word, type_ = request.GET.get("word", "").strip(), request.GET.get("type", "")
    entries = [one for one in shown.of_season(season) if type_ in ("", one.type)]
    context = {
        "board": shown.board, "season": season, "seasons": names, "word": word, "type": type_,
        "with_word": sum(figures.has_word(one, word) for one in entries),
        "over_time": figures.over_time(entries, word), "steps": steps(entries), "teams": figures.of_teams(entries),
        "dev_eval": figures.dev_against_eval(entries), "gaps": figures.gaps(entries), "numbers": gap_numbers(entries),
    }  # fmt: skip
    return render(request, "leaderboards/public/time.html", context)


@of_board
def compare(request: HttpRequest, shown: Published) -> HttpResponse:
    """Two entries against each other: query by query on dev, by their printed scores on eval."""
    entries = [entry for entry in shown.entries if not entry.withdrawn_on]
    one = shown.entry(request.GET.get("a", "")) or (entries[0] if entries else None)
    other = shown.entry(request.GET.get("b", "")) or (entries[1] if len(entries) > 1 else None)
    context = {
        "board": shown.board, "entries": entries, "one": one, "other": other,
        "sides": [("a", "First", one), ("b", "Second", other)],
        "outcome": compare_dev(shown, one, other) if one and other else None,
    }  # fmt: skip
    return render(request, "leaderboards/public/compare.html", context)


@of_board
def terms(request: HttpRequest, shown: Published) -> HttpResponse:
    """What participants check and seal with (`python -m evaluation seal --board`): the board's key and rules."""
    board, key = shown.board, shown.board.keys.filter(retired_at=None).first()
    if key is None:
        raise Http404
    told = BoardTerms(
        board=board.slug,
        public_key=key.public_pem,
        hits=board.hits,
        order="score" if board.order == "score" else "rank",
        fewer="refuse" if board.fewer_refused else "warn",
        types=tuple(board.types),
        embargo_months=shown.policy.embargo_months,
    )
    return JsonResponse(told.as_dict(), json_dumps_params={"indent": 1})


@of_board
def policy(request: HttpRequest, shown: Published) -> HttpResponse:
    """What the board asks of who submits, in every version that held."""
    versions = list(shown.board.policies.filter(begins_at__lte=shown.at).order_by("-number")) or [shown.policy]
    key = shown.board.keys.filter(retired_at=None).first()
    context = {"board": shown.board, "policy": shown.policy, "versions": versions, "key": key}
    return render(request, "leaderboards/public/policy.html", context)


@of_board
def files(request: HttpRequest, shown: Published) -> HttpResponse:
    """The queries and qrels that everybody may have, with checksums, and the collection in numbers."""
    seasons = [(season, archive.public_files(season)) for season in shown.seasons]
    context = {"board": shown.board, "seasons": seasons, "facts": collection_facts(shown)}
    return render(request, "leaderboards/public/files.html", context)


@of_board
def file(request: HttpRequest, shown: Published, number: int, part: str) -> HttpResponseBase:
    """One file of a season, as it was uploaded."""
    season = next((one for one in shown.seasons if one.number == number), None)
    found = next((one for one in archive.public_files(season) if one.part == part), None) if season else None
    if found is None:
        raise Http404
    return FileResponse(found.file.open("rb"), as_attachment=True, filename=found.name)


@of_board
def everything(request: HttpRequest, shown: Published) -> HttpResponseBase:
    """The whole board as a zip."""
    written = tempfile.SpooledTemporaryFile(max_size=8 << 20)  # noqa: SIM115 - the response closes it
    archive.write_archive(shown, written)
    written.seek(0)
    return FileResponse(written, as_attachment=True, filename=f"{shown.board.slug}.zip", content_type="application/zip")


@of_board
def atom(request: HttpRequest, shown: Published) -> HttpResponse:
    """What is new."""
    address = settings.SITE_URL + reverse("boards:board", args=[shown.board.slug])
    return HttpResponse(feed(shown, address), content_type="application/atom+xml; charset=utf-8")


@of_board
def embedding(request: HttpRequest, shown: Published) -> HttpResponse:
    """How to show the board on another site."""
    address = settings.SITE_URL + reverse("boards:embed", args=[shown.board.slug])
    return render(request, "leaderboards/public/embedding.html", {"board": shown.board, "address": address})


@of_board
def embed(request: HttpRequest, shown: Published) -> HttpResponse:
    """The first entries of the newest season, to be shown in a frame on any site: text and links, and nothing else."""
    newest = shown.of_season(shown.seasons[0].name) if shown.seasons else []
    context = {"board": shown.board, "entries": [one for one in newest if one.rank][:_EMBEDDED], "all": len(newest)}
    response = render(request, "leaderboards/public/embed.html", context)
    response.xframe_options_exempt = True
    # as csp.decorators.csp_replace does to a whole view
    response._csp_replace = {"frame-ancestors": ["*"], "form-action": ["'none'"]}  # type: ignore[attr-defined]
    return response
