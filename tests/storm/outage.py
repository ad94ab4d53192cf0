"""Servers of its own that are killed while a campaign is published: `python -m tests.storm.outage HITS SCHEMA`.

Redis and then PostgreSQL die without a word and come back. The background workers are started once, and must go on.
SCHEMA is a file of SQL that makes the tables. Prints one line of JSON: what came of it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import django

from local import embedded
from tests.databases import execute


def main(hits: int, schema: Path) -> int:
    """Publish through both outages."""
    embedded.ensure()
    execute(os.environ["DATABASE_URL"], schema.read_text())
    django.setup()
    from django.db import Error, close_old_connections
    from django.utils import timezone

    from config.celery import app
    from core.models import Lab
    from platforms import jobs as platform_jobs
    from platforms.models import Operation
    from platforms.outbox import LEASE
    from platforms.publishing.publications import publication_publish
    from platforms.terms import publication_write
    from pools.models import Campaign
    from runs.models import Collection
    from tasks.models import Hit

    lab = Lab.objects.create(name="outage")
    collection = Collection.objects.create(lab=lab, name="outage")
    campaign = Campaign.objects.create(lab=lab, collection=collection, name="outage", state=Campaign.State.OPEN)
    Hit.objects.bulk_create(Hit(campaign=campaign, number=number, needed=1) for number in range(1, hits + 1))
    publication = publication_write(campaign=campaign, pay="base-and-bonus", rate=40, requirements=[])
    publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)

    environment = os.environ | {"STORM_PARENT": str(os.getpid())}
    workers = subprocess.Popen([sys.executable, "-m", "tests.storm.jobs"], env=environment, start_new_session=True)
    outages = {hits // 4: "redis", hits // 2: "postgres"}
    died: list[str] = []
    ends = time.monotonic() + 240
    done = 0
    try:
        while done < hits and time.monotonic() < ends:
            try:
                done = Operation.objects.filter(kind="create", state="done").count()
                platform_jobs.publish.apply_async(retry=False, expires=20)
            except (Error, OSError, app.connection_for_write().recoverable_connection_errors):
                close_old_connections()
            for point, server in list(outages.items()):
                if done >= point:
                    del outages[point]
                    kill(server)
                    time.sleep(2)  # until everybody has noticed
                    embedded.ensure()
                    close_old_connections()
                    died.append(server)
                    # The calls that were being made have lost their makers: let the time pass until they are repeated.
                    held = Operation.objects.filter(state=Operation.State.SENT)
                    held.update(sent_at=timezone.now() - LEASE - timedelta(seconds=1))
            time.sleep(0.5)
        alive = workers.poll() is None
    finally:
        os.killpg(workers.pid, signal.SIGKILL)
        workers.wait()
    print(json.dumps({"done": done, "died": died, "workers_alive": alive, "reference": publication.reference}))
    return 0


def kill(server: str) -> None:
    """Kill one of our servers at once, as the system does when memory runs out, and its keeper."""
    folder = embedded.var_folder()
    subprocess.run(["pkill", "-KILL", "-f", f"embedded.py {folder} {server}"], check=True)
    os.kill(int((folder / "run" / server).read_text()), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
