"""Servers of their own for what is measured."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local.supervisor import Site


@contextmanager
def own_servers(**environment: str) -> Iterator[Path]:
    """A folder for the time being, PostgreSQL and Redis in it, and Django with an empty database, set up once."""
    with tempfile.TemporaryDirectory(prefix="bestknown-bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        os.environ.update(
            BESTKNOWN_VAR=folder, DEVELOPMENT="1", DJANGO_SETTINGS_MODULE="config.settings", **environment
        )
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        from local import embedded

        embedded.ensure()
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        yield Path(folder)


@contextmanager
def own_site() -> Iterator[tuple[int, "Site"]]:
    """The web server as production runs it, without jobs, and the port where it answers."""
    from local.supervisor import Site
    from tests.ports import free_port

    port = free_port()
    site = Site(port, with_jobs=False)
    site.start()
    try:
        site.wait_until_ready()
        yield port, site
    finally:
        site.stop()
