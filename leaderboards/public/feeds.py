"""What is new on a board, as an Atom feed (RFC 4287)."""

from django.utils.feedgenerator import Atom1Feed

from leaderboards.public.data import verdict
from leaderboards.public.embargo import Shown
from leaderboards.public.published import Published

MOST = 50  # entries in the feed


def feed(board: Published, address: str) -> str:
    """The entries that changed last, newest first; `address` is that of the board's page, with scheme and host.

    An entry's id is its address, which stays. One whose embargo ends is news again.
    """
    entries = sorted(board.entries, key=lambda entry: entry.changed_at, reverse=True)[:MOST]
    written = Atom1Feed(
        title=board.board.name,
        link=address,
        description=board.board.about,
        language="en",
        feed_url=f"{address}feed.atom",
        author_name=board.board.lab.name,
    )
    # the moment of the newest change: that of the request would make each answer another one
    written.latest_post_date = lambda: max(  # type: ignore[method-assign]
        (entry.changed_at for entry in entries), default=board.board.created_at
    )
    for entry in entries:
        written.add_item(
            title=title(entry),
            link=f"{address}e/{entry.id}",
            description=summary(entry, board.board.ranking_measure),
            unique_id=f"{address}e/{entry.id}",
            pubdate=entry.published_at,
            updateddate=entry.changed_at,
            author_name=entry.team,
        )
    return written.writeString("utf-8")


def title(entry: Shown) -> str:
    """What happened, in a line."""
    if entry.withdrawn_on:
        return f"Withdrawn: {entry.description} ({entry.team})"
    return f"{'New best: ' if entry.mark == 'trophy' else ''}{entry.description} ({entry.team})"


def summary(entry: Shown, measure: str) -> str:
    """Its type, date and scores, and whether a new best is significantly better."""
    scores = [
        f"{measure} {part} {score}"
        for part, score in (("dev", entry.printed_dev), ("eval", entry.printed_eval))
        if score
    ]
    return ", ".join(filter(None, [entry.type, entry.day.isoformat(), *scores, verdict(entry)]))
