"""The log of the jobs: what was done, and not that there was nothing to do."""

import subprocess
import sys

SCRIPT = """
import django; django.setup()
from config.celery import app
app.log.setup(loglevel="INFO")
from celery.app.trace import info
import logging
for returned in ("nothing to pack", "calls made: 0", "calls made: 10", "packed 3"):
    info("Task %(name)s succeeded: %(return_value)s", {"name": "publish", "return_value": repr(returned)})
logging.getLogger("celery.worker.strategy").info("Task received")
logging.getLogger("celery.beat").info("Sending due task")
logging.getLogger("celery.app.trace").error("Task failed: %s", "calls made: 0")
"""


def test_jobs_that_did_nothing_are_not_logged() -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "DEVELOPMENT": "1", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    lines = [line.partition("Task ")[2] for line in (done.stdout + done.stderr).splitlines() if "Task" in line]
    assert lines == ["publish succeeded: 'calls made: 10'", "publish succeeded: 'packed 3'", "failed: calls made: 0"]
