"""manage.py check_files: whether file storage has every file that the database names, and the key opens the secrets."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.apps import apps
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand, CommandError
from django.db.models import FileField, TextField

from core.management.files import refusals_as_errors
from core.sealing import SealedOtherwise, unseal


class Command(BaseCommand):
    help = (
        "Check that file storage has every file that the database names, and that SECRET_KEY opens what is sealed "
        "with it; exit with 1 if not. With --copy-from, first copy missing files from a folder, to move files into a "
        "bucket or to restore a backup."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--copy-from", type=Path, metavar="FOLDER", help="a folder that file storage used before")

    def handle(self, *args: Any, **options: Any) -> None:
        """Copy what is missing, if that is asked for, and count."""
        folder, count, copied, missing = options["copy_from"], 0, 0, []
        try:
            with refusals_as_errors():
                for name in stored_names():
                    count += 1
                    if default_storage.exists(name):
                        continue
                    if folder is not None and (folder / name).is_file():
                        with (folder / name).open("rb") as file:
                            copied += 1
                            path = default_storage.save(name, File(file))
                        if path != name:
                            raise CommandError(
                                f"{name} appeared in the meantime; the copy is {path}. Delete it, and run this again."
                            )
                    else:
                        missing.append(name)
        except (BotoCoreError, ClientError) as error:
            raise CommandError(f"File storage does not answer: {error}") from error
        self.stdout.write(f"{count:,} files are named; {copied:,} were copied, {len(missing):,} are missing.")
        if missing:
            more = f" and {len(missing) - 10:,} more" if len(missing) > 10 else ""
            raise CommandError(f"Missing: {', '.join(missing[:10])}{more}.")
        if closed := closed_secrets():
            raise CommandError(f"SECRET_KEY is not the one that sealed: {', '.join(closed)}.")


def closed_secrets() -> list[str]:
    """The columns whose newest secret this site's key does not open. A column of secrets is named so."""
    closed = []
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if isinstance(field, TextField) and field.name.endswith(("sealed", "secret")):
                rows = model._default_manager.exclude(**{field.name: ""}).order_by("-pk")
                for secret in rows.values_list(field.name, flat=True)[:1]:
                    try:
                        unseal(secret)
                    except SealedOtherwise:
                        closed.append(f"{model._meta.db_table}.{field.name}")
    return closed


def stored_names() -> Iterator[str]:
    """The names of all stored files, by the rows that hold them."""
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if isinstance(field, FileField):
                names = model._default_manager.exclude(**{field.name: ""}).values_list(field.name, flat=True)
                yield from names.order_by("pk")
