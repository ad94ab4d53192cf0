"""The platform's background workers, as Celery runs them: `python -m tests.storm.jobs`.

With `--without-token` no call carries the token by which the platform knows a repeated one: to show that the tests of
the storm would notice. They end when the process that started them does, however that ends.

With `--pay-again` a payment at Prolific whose answer was lost is made again, and not looked for: for the same.

With `--on-demand` everything is loaded once, and each line of the input starts workers whose first process is then
named on the output. So those who are killed often are soon back.
"""

import os
import signal
import sys
import threading
import time
from typing import Any

import django


def end_with(parent: int) -> None:
    """Kill this process and all that it started once it has another parent. They must be in a session of their own."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


def wait_to_be_started() -> int:
    """Return in a new process, with a session of its own, for each line of the input. Its parent."""
    parent = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    for _line in sys.stdin:
        if child := os.fork():
            print(child, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        return parent
    sys.exit()


def pay_again() -> None:
    """Take away all that keeps a payment at Prolific from being made twice."""
    from platforms.models import Operation
    from platforms.prolific.operations import PaidOnce

    def keep(_self: PaidOnce, operation: Operation, batch: dict[str, Any]) -> None:
        Operation.objects.filter(pk=operation.pk).update(result={"batch": batch, "asked_at": str(operation.sent_at)})

    PaidOnce.may_repeat = lambda *_given: True  # type: ignore[method-assign]
    PaidOnce.find = lambda *_given: None  # type: ignore[method-assign]
    PaidOnce._keep = keep  # type: ignore[assignment,method-assign]


def main() -> None:
    """Start Celery's workers, and stay."""
    parent = int(os.environ.get("STORM_PARENT") or 0)
    django.setup()
    from config.celery import app
    from platforms.mturk import operations

    if "--without-token" in sys.argv:
        operations.token_of = lambda _operation: {}
    if "--pay-again" in sys.argv:
        pay_again()
    if "--on-demand" in sys.argv:
        parent = wait_to_be_started()
    if parent:
        threading.Thread(target=end_with, args=(parent,), daemon=True).start()
    app.worker_main(["worker", "--loglevel", "WARNING", "--concurrency", "2", "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    main()
