"""manage.py delete_unnamed_board_files: delete the files of leaderboards that no row names."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from core.management.command import SiteCommand
from leaderboards.unnamed_files import unnamed_delete, unnamed_files

SHOWN = 10


class Command(SiteCommand):
    dry_run_help = "say what would be deleted"
    help = (
        "Delete files of leaderboards (packages, runs, scores, files of seasons) that no row names and that are older "
        "than a day: processes that were killed leave them. A job does the same four times a day. If most of all files "
        "would go, nothing does, since the database may then be another one than the files are of."
    )

    def work(self, **options: Any) -> Mapping[str, Any]:
        at = timezone.now()
        found = unnamed_files(at=at) if options["dry_run"] else unnamed_delete(at=at)
        for name in found.names[:SHOWN]:
            self.say(name)
        if len(found.names) > SHOWN:
            self.say(f"… and {len(found.names) - SHOWN:,} more")
        self.say(f"{len(found.names):,} of {found.all:,} files of leaderboards are named by no row and a day old.")
        if found.is_suspect:
            self.failure = "These are most of all files, so none is deleted: is this the database that they are of?"
        return {"files": found.all, "unnamed": found.names}
