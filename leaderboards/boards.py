"""Creating and changing boards, their policies, keys and seasons."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, BinaryIO, cast

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import NotNow, Refused
from core.models import Lab, User
from core.sealing import seal
from evaluation.boards.checking import TYPES, read_candidates
from evaluation.boards.ladder import DEFAULT_RULE
from evaluation.boards.packages import BoardTerms
from evaluation.boards.sealing import new_key
from evaluation.errors import BadInput
from evaluation.files.artifact import Order
from evaluation.files.groups import read_groups
from evaluation.files.qrels import read_qrels
from evaluation.files.texts import read_queries
from evaluation.measures.named import read_measure
from leaderboards.models import Board, BoardKey, PolicyVersion, Season, SeasonFile
from runs.models import Collection

Part = SeasonFile.Part
NEEDED = (Part.DEV_QUERIES, Part.DEV_QRELS, Part.EVAL_QUERIES, Part.EVAL_QRELS)
# The paper's numbers, and what a new board begins with.
NUMBERS: dict[str, Any] = {
    "quota_runs": 2,
    "quota_days": 30,
    "embargo_months": 9,
    "release_rule": DEFAULT_RULE,
    "release_step": None,
    "auto_publish": False,
    "promised_days": 14,
    "choice_days": 0,
    "alike_threshold": Decimal("0.800"),
}
POLICY_TEXT = "\n\n".join(
    " ".join(paragraph.split())
    for paragraph in """\
This leaderboard is coopetition: take part to learn from each other, not to win. It runs on the honor system.

Submit at most as many runs as stated below. Do not submit runs that differ only in a seed or in small settings: score
ablations on the dev queries, as often as you like. Do not wait to see how one run did before you tune the next.

A team is a group of people who can be identified. Groups of one organization are different teams; aliases are not
allowed. An entry can be anonymous only for the length of an embargo.

Do not submit ensembles of other teams' entries. Do not look at the eval queries to tune a system.

Runs are sealed: the organizers open them only to evaluate them, and every opening is listed for you to see. Scores on
the dev queries, and on how many of them one entry is better than another, are public.

Scores here measure how well systems rank passages for these queries. They do not measure efficiency, fairness, or how
well a system serves anybody's users.
""".split("\n\n")
)


@transaction.atomic
def board_create(
    *,
    lab: Lab,
    collection: Collection,
    slug: str,
    name: str,
    measures: Sequence[str],
    hits: int,
    at: datetime,
    by: User | None,
    about: str = "",
    types: Sequence[str] = TYPES,
    order: str = "rank",
    fewer_refused: bool = False,
    text: str = POLICY_TEXT,
    numbers: Mapping[str, Any] | None = None,
) -> Board:
    """A board that only its lab sees, with a policy that holds from now on and a key. Raises Refused."""
    if collection.lab_id != lab.pk:
        raise Refused(_("The collection belongs to another lab."))
    if Board.objects.filter(slug=slug).exists():
        raise Refused(
            _("There is a leaderboard with the address “%(slug)s”. Choose another.") % {"slug": slug}, field="slug"
        )
    if Board.objects.filter(lab=lab, name=name).exists():
        raise Refused(_("The lab has a leaderboard of this name. Choose another."), field="name")
    board = Board.objects.create(
        lab=lab,
        collection=collection,
        slug=slug,
        name=name,
        about=about,
        measures=measures_read(measures, hits),
        hits=hits,
        fewer_refused=fewer_refused,
        order=order,
        types=list(types),
        created_by=by,
        created_at=at,
    )
    policy_add(board=board, text=text, numbers=NUMBERS | dict(numbers or {}), begins_at=at, why="", by=by, at=at)
    key_make(board=board, by=by, at=at)
    return board


def measures_read(names: Sequence[str], hits: int) -> list[str]:
    """The measures by their names, each once. Raises Refused for none, for one that is unknown, or that needs more."""
    try:
        measures = [read_measure(name) for name in names if name.strip()]
    except ValueError as error:
        text = str(error)
        raise Refused(f"{text[:1].upper()}{text[1:]}.", field="measures") from error
    if not measures:
        raise Refused(_("Name at least one measure, such as RR@10."), field="measures")
    if measures[0].kind == "Judged":
        text = _("%(measure)s cannot come first: it tells how much was judged, and the first orders the entries.")
        raise Refused(text % {"measure": measures[0]}, field="measures")
    deep = [str(measure) for measure in measures if measure.cutoff is not None and measure.cutoff > hits]
    if deep:
        text = _("%(measure)s needs more passages of a query than the %(hits)s that the board takes.")
        raise Refused(text % {"measure": deep[0], "hits": hits}, field="measures")
    return list(dict.fromkeys(map(str, measures)))


@transaction.atomic
def board_change(*, board: Board, **fields: Any) -> Board:
    """Change how a board is called, what is said about it, and who sees it (`name`, `about`, `is_public`),
    how its seasons follow each other (`season_months`, `publishes_qrels`), how many `spot_checks` a month has, and
    the `correction` of bands.

    Raises Refused: a public board has a season.
    """
    board = Board.objects.select_for_update(of=("self",)).get(pk=board.pk)
    allowed = {"name", "about", "is_public", "season_months", "publishes_qrels", "spot_checks", "correction"}
    assert fields.keys() <= allowed, fields.keys() - allowed
    if fields.get("is_public") and not board.seasons.exists():
        raise Refused(
            _("A leaderboard needs a season with its queries before everybody can see it."), field="is_public"
        )
    if Board.objects.filter(lab=board.lab_id, name=fields.get("name", "")).exclude(pk=board.pk).exists():
        raise Refused(_("The lab has a leaderboard of this name. Choose another."), field="name")
    for field, value in fields.items():
        setattr(board, field, value)
    board.save(update_fields=list(fields))
    return board


@transaction.atomic
def policy_add(
    *, board: Board, text: str, numbers: Mapping[str, Any], begins_at: datetime, why: str, by: User | None, at: datetime
) -> PolicyVersion:
    """A policy from a time on, now or later. What came before is judged by what held then. Raises Refused."""
    Board.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk)
    newest = board.policies.order_by("-number").first()
    if begins_at < at:
        raise Refused(
            _("A policy begins now or later: nobody is judged by one that they could not read."), field="begins"
        )
    if newest is not None and begins_at < newest.begins_at:
        message = _("Version %(number)s begins on %(day)s: the next one begins then or later.")
        raise Refused(
            message % {"number": newest.number, "day": f"{newest.begins_at:%d %b %Y, %H:%M} UTC"}, field="begins"
        )
    if newest is not None and not why.strip():
        raise Refused(_("Say what changed, and why: it is shown with the policy."), field="why")
    return PolicyVersion.objects.create(
        board=board,
        number=newest.number + 1 if newest else 1,
        text=text,
        begins_at=begins_at,
        why=why,
        made_by=by,
        made_at=at,
        **numbers,
    )


@transaction.atomic
def key_make(*, board: Board, by: User | None, at: datetime) -> BoardKey:
    """A new key pair for a board. The one before is retired: it still opens what was sealed for it."""
    Board.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk)
    board.keys.filter(retired_at=None).update(retired_at=at)
    pair = new_key()
    return BoardKey.objects.create(
        board=board,
        public_pem=pair.public_pem,
        private_sealed=seal(pair.private_pem),
        fingerprint=pair.fingerprint,
        made_by=by,
        made_at=at,
    )


def board_terms(board: Board, policy: PolicyVersion) -> BoardTerms:
    """What a participant needs to check and seal a run."""
    return BoardTerms(
        board=board.slug,
        public_key=board.keys.get(retired_at=None).public_pem,
        hits=board.hits,
        order=cast(Order, board.order),
        fewer="refuse" if board.fewer_refused else "warn",
        types=tuple(board.types),
        embargo_months=policy.embargo_months,
    )


@transaction.atomic
def season_add(
    *,
    board: Board,
    name: str,
    opens_at: datetime,
    closes_at: datetime | None,
    files: Mapping[str, tuple[str, bytes]],
    at: datetime,
    in_turn: bool = False,
) -> Season:
    """A season with its files, by part: the name that it is downloaded under, and its content as text (UTF-8).

    One that comes `in_turn` has eval queries of its own, and opens when the season that runs has run its months (now,
    if it has): that one closes then, and `opens_at` is not looked at.

    Raises BadInput for a file that cannot be read, and Refused where files do not fit each other.
    """
    Board.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk)
    missing = [str(part.label) for part in NEEDED if part not in files]
    if missing:
        raise Refused(_("A season needs %(files)s too.") % {"files": ", ".join(missing)})
    if board.seasons.filter(name=name).exists():
        raise Refused(_("The leaderboard has a season of this name. Choose another."), field="name")
    before = None
    if in_turn:
        before, opens_at = _turn(board, files, at)
    if closes_at is not None and closes_at <= opens_at:
        raise Refused(_("A season closes after it opens."), field="closes")
    counts = {part: _counts(part, *files[part]) for part in files}
    for half in ("dev", "eval"):
        _check_fit(half, files)
    _check_groups(files)
    _check_unpublished(board, files)
    _check_no_dev(board, files)
    number = board.seasons.count() + 1
    season = Season.objects.create(board=board, number=number, name=name, opens_at=opens_at, closes_at=closes_at)
    for part, (called, content) in files.items():
        row = SeasonFile(
            season=season,
            part=part,
            name=called,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            counts=counts[part],
            added_at=at,
        )
        row.file.save(f"{part}.txt", ContentFile(content), save=False)
        row.save()
    if before is not None:
        season_close(season=before, closes_at=opens_at, at=at)
    return season


def _turn(board: Board, files: Mapping[str, tuple[str, bytes]], at: datetime) -> tuple[Season, datetime]:
    """The season that runs, and when the next takes over from it. Raises Refused."""
    due = board.season_due(at)
    season = board.seasons.filter(opens_at__lte=at).order_by("-number").first()
    if season is None or due is None:
        text = _("Seasons do not follow each other here: set the months of a season, or say when this one opens.")
        raise Refused(text)
    ids = _new_eval_queries(files)
    for other in board.seasons.order_by("number"):
        if used := ids & _eval_queries(other):
            text = _(
                "%(count)s of its eval queries are in the season %(season)s, too. In turn, a season needs new ones."
            )
            raise Refused(text % {"count": len(used), "season": other}, field=str(Part.EVAL_QUERIES))
    return season, max(due, at)


def _check_unpublished(board: Board, files: Mapping[str, tuple[str, bytes]]) -> None:
    """Raise Refused where the eval qrels of a season are public and it asked some of the eval queries of the new one.

    Seasons are locked, so that no qrels become public meanwhile.
    """
    ids = _new_eval_queries(files)
    for other in board.seasons.select_for_update(of=("self",)).order_by("number"):
        if other.eval_qrels_published_at is not None and (used := ids & _eval_queries(other)):
            text = _(
                "%(count)s of its eval queries were asked in the season %(season)s, whose eval qrels are public; "
                "the first is “%(query)s”. Take them out: their answers can be looked up."
            )
            raise Refused(
                text % {"count": len(used), "season": other, "query": min(used)}, field=str(Part.EVAL_QUERIES)
            )


def _check_no_dev(board: Board, files: Mapping[str, tuple[str, bytes]]) -> None:
    """Raise Refused where some eval queries are dev queries, of the season or of another: dev qrels are public."""
    ids = _new_eval_queries(files)
    name, content = files[Part.DEV_QUERIES]
    if used := ids & {query.id for query in read_queries(io.BytesIO(content), name=name)}:
        text = _(
            "%(count)s of its eval queries are in %(file)s, too, the first is “%(query)s”. Dev qrels are public, so an "
            "eval query cannot be a dev query."
        )
        raise Refused(text % {"count": len(used), "file": name, "query": min(used)}, field=str(Part.EVAL_QUERIES))
    for other in board.seasons.order_by("number"):
        if used := ids & _queries_of(other, Part.DEV_QUERIES):
            text = _(
                "%(count)s of its eval queries are dev queries of the season %(season)s, whose qrels are public; the "
                "first is “%(query)s”. Take them out: their answers can be looked up."
            )
            raise Refused(
                text % {"count": len(used), "season": other, "query": min(used)}, field=str(Part.EVAL_QUERIES)
            )


def _new_eval_queries(files: Mapping[str, tuple[str, bytes]]) -> set[str]:
    """Ids of the eval queries among files that are to be a season's. Raises BadInput."""
    name, content = files[Part.EVAL_QUERIES]
    return {query.id for query in read_queries(io.BytesIO(content), name=name)}


def _eval_queries(season: Season) -> set[str]:
    return _queries_of(season, Part.EVAL_QUERIES)


def _queries_of(season: Season, part: str) -> set[str]:
    """Ids of the dev or eval queries of a season; none of one that was imported without files."""
    row = season.files.filter(part=part).first()
    if row is None:
        return set()
    with row.file.open("rb") as file:
        return {query.id for query in read_queries(cast(BinaryIO, file), name=row.name)}


def _counts(part: str, name: str, content: bytes) -> dict[str, Any]:
    """What a file holds. Raises BadInput."""
    file = io.BytesIO(content)
    if part in (Part.DEV_QUERIES, Part.EVAL_QUERIES):
        lengths = [len(query.text.split()) for query in read_queries(file, name=name)]
        return {"queries": len(lengths), "words": sum(lengths)}
    if part in (Part.DEV_QRELS, Part.EVAL_QRELS):
        qrels = read_qrels(file, name=name)
        relevant = sum(map(len, qrels.relevant("all").values()))
        return {"queries": len(qrels.queries), "lines": len(qrels.entries()), "relevant": relevant}
    if part == Part.DEV_GROUPS:
        groups = read_groups(file, name=name)
        return {"queries": len({query for group in groups.values() for query in group}), "groups": len(groups)}
    candidates = read_candidates(file, name=name)
    return {"queries": len(candidates.queries), "lines": int(candidates.hits.sum())}


def _check_fit(half: str, files: Mapping[str, tuple[str, bytes]]) -> None:
    """Raise BadInput where qrels are about queries that the season does not have, or have none that is relevant."""
    (queries_name, queries), (qrels_name, content) = files[f"{half}_queries"], files[f"{half}_qrels"]
    ids = {query.id for query in read_queries(io.BytesIO(queries), name=queries_name)}
    qrels = read_qrels(io.BytesIO(content), name=qrels_name)
    unknown = [query for query in qrels.queries if query not in ids]
    if unknown:
        text = ngettext(
            "%(count)d query that %(file)s does not have: “%(query)s”.",
            "%(count)d queries that %(file)s does not have, the first is “%(query)s”.",
            len(unknown),
        )
        raise BadInput(qrels_name, None, text % {"count": len(unknown), "file": queries_name, "query": unknown[0]})
    if not any(qrels.relevant("all").values()):
        raise BadInput(qrels_name, None, _("no passage is relevant (grade 1 or above) for any query."))


def _check_groups(files: Mapping[str, tuple[str, bytes]]) -> None:
    """Raise BadInput, with the line, where a group has a query that is no dev query of the season."""
    if Part.DEV_GROUPS not in files:
        return
    (queries_name, queries), (name, content) = files[Part.DEV_QUERIES], files[Part.DEV_GROUPS]
    ids = {query.id for query in read_queries(io.BytesIO(queries), name=queries_name)}
    for group, lines in read_groups(io.BytesIO(content), name=name).items():
        for query, line in lines.items():
            if query not in ids:
                text = _("query “%(query)s” of group “%(group)s” is not in %(file)s.")
                raise BadInput(name, line, text % {"query": query, "group": group, "file": queries_name})


@transaction.atomic
def season_close(*, season: Season, closes_at: datetime, at: datetime) -> Season:
    """Set when a season closes, now or later. What comes after that is listed apart. Raises Refused and NotNow."""
    season = Season.objects.select_for_update(of=("self",)).get(pk=season.pk)
    if season.closes_at is not None and season.closes_at <= at:
        raise NotNow(_("This season has closed."))
    if closes_at < at or closes_at <= season.opens_at:
        raise Refused(_("A season closes now or later, and after it opens."))
    season.closes_at = closes_at
    season.save(update_fields=["closes_at"])
    return season


@transaction.atomic
def qrels_publish(*, season: Season, at: datetime) -> Season:
    """Let everybody have the eval qrels of a season that has closed. It cannot be undone.

    Raises NotNow before, and while a season with the same eval queries has not closed.
    """
    season = Season.objects.select_for_update(of=("self",)).get(pk=season.pk)
    if season.closes_at is None or season.closes_at > at:
        raise NotNow(_("The eval qrels can be published once the season has closed."))
    if season.eval_qrels_published_at is None:
        for other in season.board.seasons.filter(Q(closes_at=None) | Q(closes_at__gt=at)).exclude(pk=season.pk):
            if used := _eval_queries(season) & _eval_queries(other):
                text = _("%(count)s of its eval queries are asked in the season %(season)s, which has not closed.")
                raise NotNow(text % {"count": len(used), "season": other})
        season.eval_qrels_published_at = at
        season.save(update_fields=["eval_qrels_published_at"])
    return season


def seasons_to_publish(*, at: datetime) -> QuerySet[Season]:
    """The seasons that have closed, and whose eval qrels are to become public by themselves."""
    closed = Season.objects.filter(board__publishes_qrels=True, closes_at__lte=at, eval_qrels_published_at=None)
    return closed.order_by("pk")
