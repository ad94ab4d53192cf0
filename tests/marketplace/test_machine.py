"""The marketplace driven at random: whatever people and the clock do, the books stay right and nobody is in the way."""

import os
import subprocess
import sys

import pytest

from tests.marketplace.server import REPOSITORY, database_with_tables


@pytest.mark.timeout(400)
def test_whatever_people_and_the_clock_do_the_books_stay_right() -> None:
    """See machine.py, also for how to let it run longer."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MARKETPLACE_")} | {
        "DJANGO_SETTINGS_MODULE": "marketplace.settings",
        "DEVELOPMENT": "1",
        "MARKETPLACE_DATABASE_URL": database_with_tables(f"marketplace_machine_{os.getpid()}"),
        "MARKETPLACE_SECRET_KEY": "a key for tests, and only for tests, long enough to be one",
    }
    migrate = [sys.executable, "-m", "marketplace", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=REPOSITORY, env=environment, check=True)

    played = subprocess.run(
        [sys.executable, "-m", "tests.marketplace.machine"],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
    )

    assert played.returncode == 0, played.stderr[-8000:]
    assert "Nothing went wrong." in played.stdout
