"""Web servers and commands hand their work to the site's own queue."""

import subprocess
import sys

from django.conf import settings

from tests.conftest import REPOSITORY

# As a web server has it: the applications are loaded, and a thread answers a request that hands on a job.
HAND_ON = """
import threading
import django
django.setup()
from runs.jobs import work
def say():
    print(work.app.main, work.app.conf.broker_url, work.app.amqp.router.route({}, work.name)["queue"].name)
thread = threading.Thread(target=say)
thread.start()
thread.join()
"""


def test_every_thread_of_a_web_server_hands_jobs_to_the_queue_that_the_workers_read() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HAND_ON], cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["bestknown", settings.CELERY_BROKER_URL, "compute"]
