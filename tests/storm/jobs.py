"""The platform's background workers, as Celery runs them: `python -m tests.storm.jobs`.

With `--without-token` no call carries the token by which the platform knows a repeated one: to show that the tests of
the storm would notice. They end when the process that started them does, however that ends.
"""

import os
import signal
import sys
import threading
import time

import django


def end_with(parent: int) -> None:
    """Kill this process and all that it started once it has another parent. They must be in a session of their own."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Start Celery's workers, and stay."""
    if parent := int(os.environ.get("STORM_PARENT") or 0):
        threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    django.setup()
    from config.celery import app
    from platforms.mturk import operations

    if "--without-token" in sys.argv:
        operations.token_of = lambda _operation: {}
    app.worker_main(["worker", "--loglevel", "WARNING", "--concurrency", "2", "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    main()
