"""The release bundle: a campaign's export files in one archive, offered only if no file of it has an id of a person.

The files name nobody by the way they are made. This looks all the same, since a query, a passage, a wording or an
imported name can hold anything.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from django.utils.translation import gettext as _

from core.audit.notes import entry_note
from core.errors import Refused
from core.models import User
from core.snapshot import one_moment
from judgments import exports
from judgments.models import StoredFile
from judgments.stored_files import files_publish, files_write
from platforms.models import Submission
from pools.models import Campaign
from tasks.models import Assignment, PanelVisit, Platform, Worker

NAME = "release.zip"
README = "README.txt"
SHORTEST = 6  # characters of an id that is looked for: shorter ones are words
_WORD = re.compile(rb"[\w@.+'\x80-\xff-]+")  # addresses and ids may hold letters of any script
_PARTS = re.compile(rb"[A-Za-z0-9]+")
_ABOUT = """{name}: preference judgments, made with Bestknown.

Workers appear under pseudonyms that are keyed, and different in each campaign. Before this archive was made, each of
its files was searched for the ids that workers and their assignments have at platforms, for addresses on the panel, and
for the addresses of everybody who logs in: none was found. Ordinary names cannot be told from other words, and were not
searched for; the notes in the adjudications are in their authors' words.

manifest.json has the settings, counts, and the SHA-256 of each file.
"""


class IdentityFound(Refused):
    """A file of the bundle has an id of a person."""

    title = "The release bundle names somebody"


def bundle_make(*, campaign: Campaign, at: datetime) -> StoredFile:
    """Write the bundle, search it, and offer it. Raises IdentityFound, which names the file and not the person."""
    with TemporaryDirectory(prefix="bestknown-") as name:
        folder = Path(name)
        paths, revision = bundle_write(campaign, folder)
        archive = folder / NAME
        exports.write_zip({path.name: path for path in paths}, archive)
        kind = StoredFile.Kind.BUNDLE
        rows = files_write(campaign=campaign, kind=kind, files={NAME: archive}, revision=revision, at=at)
    files_publish(campaign=campaign, kind=kind, rows=rows, at=at)
    bundle_note(campaign=campaign, action="made", thing=rows[0].sha256)
    return rows[0]


def bundle_note(*, campaign: Campaign, action: str, thing: str = "") -> None:
    """Note in the audit that the bundle was `made` or `downloaded`; `thing` is its SHA-256."""
    entry_note(
        subject="release",
        action=action,
        key=campaign.pk,
        thing=thing,
        lab_id=campaign.lab_id,
        campaign_id=campaign.pk,
        campaign=campaign.name,
    )


def bundle_write(campaign: Campaign, folder: Path) -> tuple[list[Path], int]:
    """Write the files of a bundle and search them: their paths, and the campaign's revision. Raises IdentityFound."""
    with one_moment():
        revision = Campaign.objects.values_list("revision", flat=True).get(pk=campaign.pk)
        about = exports.write_whole(folder / README, [_ABOUT.format(name=campaign.name).encode()])
        paths = [about, *exports.export_to(campaign, folder)]
    bundle_check(campaign, paths)
    return paths, revision


def bundle_check(campaign: Campaign, paths: list[Path]) -> None:
    """Raise IdentityFound if one of these files has an id of a person."""
    ids = _ids(campaign)
    for path in paths:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not ids.isdisjoint(_words(line)):
                    raise IdentityFound(
                        _(
                            "%(file)s, line %(line)d, has the id of a worker, an assignment at a platform, a panel "
                            "member or a researcher. The bundle is not offered. Find the text that it comes from (a "
                            "query, a passage, the wording), and mend it."
                        )
                        % {"file": path.name, "line": number}
                    )


def _words(line: bytes) -> Iterator[bytes]:
    """Every text of the line that an id could be: with, and without, what may be around it."""
    for word in _WORD.findall(line.decode(errors="replace").lower().encode()):
        yield word
        yield word.strip(b".-+_'")
        yield from _PARTS.findall(word)


def _ids(campaign: Campaign) -> set[bytes]:
    """What must not be in the bundle, of all workers of the lab and everyone who logs in, in small letters."""
    lab = campaign.lab_id
    workers = Worker.objects.filter(lab=lab)
    ids: set[str] = set(workers.values_list("external_id", flat=True))
    panel = workers.filter(platform=Platform.PANEL).values_list("external_id", flat=True)
    ids |= {name.partition(": ")[2] for name in panel}  # after the panel's name
    ids |= set(PanelVisit.objects.filter(worker__lab=lab).values_list("session", flat=True))
    # Names with several words are looked for by what has no space: addresses, above all.
    ids |= {name for name in workers.values_list("label", flat=True) if "@" in name or not name.isalpha()}
    submissions = Submission.objects.filter(publication__campaign__lab=lab)
    ids |= set(submissions.values_list("platform_worker_id", flat=True))
    ids |= set(submissions.values_list("platform_assignment_id", flat=True))
    ids |= set(Assignment.objects.filter(campaign__lab=lab).values_list("platform_assignment_id", flat=True))
    ids |= set(User.objects.values_list("email", flat=True))
    return {text.lower().encode() for text in ids if len(text) >= SHORTEST and " " not in text}
