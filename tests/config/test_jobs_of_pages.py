"""A web server hands jobs to the queue where the workers take them from."""

import os
import subprocess
import sys

from tests.conftest import REPOSITORY

ASKED = """
import config.wsgi
from django.conf import settings
from django.db import connection
from platforms.jobs import hear
assert hear.app.main == "bestknown", hear.app
assert hear.app.conf.broker_url == settings.CELERY_BROKER_URL
print(settings.DATABASES["default"]["OPTIONS"])
"""


def test_a_job_that_a_page_asks_for_goes_to_the_workers() -> None:
    named = {name: value for name, value in os.environ.items() if name != "DATABASE_STATEMENT_SECONDS"}
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        cwd=REPOSITORY,
        env=named | {"DEVELOPMENT": "1", "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "60" in done.stdout and "1800" not in done.stdout  # a page gives up sooner than a job
