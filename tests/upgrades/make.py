"""Write the site that test_upgrade.py upgrades: `DEVELOPMENT=1 python -m tests.upgrades.make [name]`.

Run it once for a version that is released, before anything else changes, and never change its file afterwards: it is
what an installation of that version holds. The name is the version's unless another is given. A small cast does a
little of everything (play.py), at a marketplace too, and `<name>.zip` keeps the database, the stored files, and what
was exported at that time.
"""

import os
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

import django
from django.core.management import call_command

from tests import services  # noqa: F401 - starts PostgreSQL and Redis
from tests.databases import dump
from tests.marketplace.server import REPOSITORY, Marketplace
from tests.upgrades import DATABASE, FILES, SECRET_KEY

FOLDER = Path(__file__).parent
# What `migrate` fills by itself, and what nobody misses.
WITHOUT_ROWS = ("auth_permission", "django_session")


def main() -> None:
    """Play, and write what is there then."""
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    name = sys.argv[1] if len(sys.argv) > 1 else version
    path = FOLDER / f"{name}.zip"
    if path.exists():
        sys.exit(f"{path} is there already: it is what installations of {name} hold, and is never changed.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        marketplace = Marketplace(folder, workers=1, MARKETPLACE_RATE_LIMITS="0")
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SECRET_KEY": SECRET_KEY,
            "SITE_URL": "http://localhost:8000",
            "MEDIA_ROOT": str(folder / "files"),
            "MARKETPLACE_URL": marketplace.url,
        }
        django.setup()
        call_command("migrate", verbosity=0)
        from tests.upgrades.play import play

        try:
            kept = play(marketplace, folder)
        finally:
            marketplace.stop()
        kept |= {DATABASE: dump(os.environ["DATABASE_URL"], WITHOUT_ROWS).encode()}
        stored = folder / "files"
        kept |= {
            f"{FILES}{file.relative_to(stored)}": file.read_bytes() for file in stored.rglob("*") if file.is_file()
        }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in kept.items():
            archive.writestr(name, content)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
