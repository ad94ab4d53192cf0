"""A run's census, as sentences for people."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext


class Sentence(NamedTuple):
    """What the check found; `look` where it may surprise, and is worth a look before the run is used."""

    text: str
    look: bool = False


def census_sentences(census: Mapping[str, Any]) -> list[Sentence]:
    """The census of a run (evaluation.files.runs.Census, as it is stored), most important first."""
    return [*_what(census), *_notes(census), *_queries(census), *_order(census), *_form(census)]


def _notes(census: Mapping[str, Any]) -> Iterable[Sentence]:
    """What makes the run's numbers suspicious, in the words of the commands (evaluation.files.notes)."""
    for note in census.get("notes", []):
        yield Sentence(note["sentence"][:1].upper() + note["sentence"][1:], look=note["code"] != "own_left_out")


def _what(census: Mapping[str, Any]) -> Iterable[Sentence]:
    yield Sentence(
        _("A %(format)s run with %(hits)s hits for %(queries)s queries, in %(lines)s lines.")
        % {"format": census["format"], **{name: _n(census[name]) for name in ("hits", "queries", "lines")}}
    )
    if census["hits_min"] == census["hits_max"]:
        yield Sentence(_("Every query has %(hits)s hits.") % {"hits": _n(census["hits_max"])})
    else:
        yield Sentence(
            _("Queries have %(least)s to %(most)s hits (median %(median)s); %(short)s have fewer than the maximum.")
            % {
                "least": _n(census["hits_min"]),
                "most": _n(census["hits_max"]),
                "median": _n(census["hits_median"]),
                "short": _n(census["short_lists"]),
            }
        )


def _queries(census: Mapping[str, Any]) -> Iterable[Sentence]:
    missing, unknown = census["missing_queries"], census["unknown_queries"]
    if missing is None or unknown is None:
        return
    if missing:
        yield Sentence(
            ngettext(
                "%(count)s query of the collection is missing: %(ids)s.",
                "%(count)s queries of the collection are missing: %(ids)s.",
                missing,
            )
            % {"count": _n(missing), "ids": _ids(census["missing_query_ids"], missing)},
            look=True,
        )
    else:
        yield Sentence(_("Every query of the collection is covered."))
    if unknown:
        yield Sentence(
            ngettext(
                "%(count)s query is not in the collection and is left out: %(ids)s.",
                "%(count)s queries are not in the collection and are left out: %(ids)s.",
                unknown,
            )
            % {"count": _n(unknown), "ids": _ids(census["unknown_query_ids"], unknown)},
            look=True,
        )


def _order(census: Mapping[str, Any]) -> Iterable[Sentence]:
    conflicts, ties = census["rank_score_conflicts"], census["queries_with_ties"]
    if conflicts:
        yield Sentence(
            ngettext(
                "For %(count)s query, ordering by score and ordering by rank put different passages first.",
                "For %(count)s queries, ordering by score and ordering by rank put different passages first.",
                conflicts,
            )
            % {"count": _n(conflicts)},
            look=True,
        )
    else:
        yield Sentence(_("Ordering by score and ordering by rank put the same passage first for every query."))
    if ties:
        yield Sentence(
            ngettext(
                "%(hits)s hits in %(queries)s query have the same score as another hit; queries where it is the "
                "highest score: %(top)s.",
                "%(hits)s hits in %(queries)s queries have the same score as another hit; queries where it is the "
                "highest score: %(top)s.",
                ties,
            )
            % {"hits": _n(census["tied_hits"]), "queries": _n(ties), "top": _n(census["queries_with_top_tie"])},
            look=census["queries_with_top_tie"] > 0,
        )
    else:
        yield Sentence(_("No two hits of a query have the same score."))
    if census["rank_ties"]:
        yield Sentence(
            _("%(hits)s hits have the same rank as another hit.") % {"hits": _n(census["rank_ties"])}, look=True
        )
    if census["out_of_rank_order"]:
        yield Sentence(
            ngettext(
                "%(lines)s line has a lower rank than the line before it.",
                "%(lines)s lines have a lower rank than the line before them.",
                census["out_of_rank_order"],
            )
            % {"lines": _n(census["out_of_rank_order"])}
        )
    base = census["rank_base"]
    yield Sentence(
        _("Queries start at different ranks.")
        if base is None
        else _("Ranks start at %(base)d for every query.") % {"base": base}
    )


def _form(census: Mapping[str, Any]) -> Iterable[Sentence]:
    if census["split_queries"]:
        yield Sentence(_("The lines of some queries are not together in the file; they were grouped."))
    quirks = [
        (
            census["crlf_lines"],
            ngettext("%(n)s line ends with CRLF", "%(n)s lines end with CRLF", census["crlf_lines"]),
        ),
        (census["tab_lines"], ngettext("%(n)s line has tabs", "%(n)s lines have tabs", census["tab_lines"])),
        (
            census["extra_space_lines"],
            ngettext("%(n)s line has extra spaces", "%(n)s lines have extra spaces", census["extra_space_lines"]),
        ),
    ]
    words = ", ".join(what % {"n": _n(count)} for count, what in quirks if count)
    if words:
        yield Sentence(_("Also noticed, and accepted: %(quirks)s.") % {"quirks": words})
    if census["bom"]:
        yield Sentence(_("The file begins with a byte order mark, which was ignored."))
    if census["missing_last_newline"]:
        yield Sentence(_("The last line has no line ending; check that the file is complete."))


def _n(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _ids(ids: list[str], count: int) -> str:
    more = count - len(ids)
    return ", ".join(ids) + (_(" and %(more)s more") % {"more": _n(more)} if more > 0 else "")
