"""The four places of a campaign, and which of its pages is at home where."""

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class Page(NamedTuple):
    """An entry of a place: `address` is the name of the page that it leads to; `below` are the names of what is reached
    from there, or how these begin. Entries of `judging` mean nothing where all judgments were imported.
    """

    title: Promise
    address: str
    below: tuple[str, ...] = ()
    judging: bool = True


class Place(NamedTuple):
    title: Promise
    pages: tuple[Page, ...]


PLACES = (
    Place(
        _("Plan"),
        (
            Page(_("Overview"), "campaigns:plan", ("tasks:launch", "campaigns:draft_reach"), judging=False),
            Page(_("Settings"), "campaigns:settings", ("campaigns:", "protection:ethics"), judging=False),
            Page(_("Test pairs"), "tasks:tests", ("tasks:test", "tasks:practice")),
            Page(_("Wording"), "tasks:wording"),
            Page(
                _("Platform and pay"),
                "platforms:terms",
                ("platforms:filters", "platforms:publish", "platforms:test_run"),
            ),
            Page(_("Try it"), "tasks:trial", ("tasks:trial",)),
        ),
    ),
    Place(
        _("Judging"),
        (
            Page(_("Progress"), "campaigns:campaign", ("judgments:", "platforms:move"), judging=False),
            Page(_("Work"), "review:work", ("review:",), judging=False),
            Page(_("Platform"), "platforms:publication", ("platforms:",)),
            Page(_("Links and panels"), "tasks:panel", ("tasks:",)),
            Page(_("Payments"), "platforms:pay"),
        ),
    ),
    Place(
        _("Results"),
        (
            Page(_("Findings"), "results:results", ("results:",), judging=False),
            Page(_("Queries"), "judgments:queries", ("results:query",), judging=False),
            Page(_("More judgments"), "results:ask", ("results:plan", "results:offer"), judging=False),
            Page(_("Machine judges"), "results:machines", ("results:machine",), judging=False),
        ),
    ),
    Place(
        _("Data"),
        (
            Page(
                _("Files"),
                "judgments:files",
                ("judgments:make_exports", "judgments:export", "results:version"),
                judging=False,
            ),
            Page(_("Release"), "protection:protection_campaign", ("protection:",), judging=False),
            Page(_("History"), "audit:entries", judging=False),
        ),
    ),
)


def page_at(address: str) -> Page:
    """The page under which an address is at home, by the name of its view. Raises KeyError where there is none."""
    pages = {page.address: page for place in PLACES for page in place.pages}
    beginnings = {start: page for page in pages.values() for start in page.below}
    if address in pages:
        return pages[address]
    return beginnings[max((start for start in beginnings if address.startswith(start)), key=len, default=address)]
