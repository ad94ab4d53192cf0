"""What the marketplace tells requesters' programs."""

import logging
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import close_old_connections

from marketplace.services.delivery import Sender

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Deliver the notifications that are due, once or for good. No receiver holds up another. Any number may run at "
        "once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--every", type=float, default=0, metavar="SECONDS", help="do not end; how long to wait when nothing is due"
        )
        parser.add_argument(
            "--heartbeat", type=Path, metavar="FILE", help="with --every: touch this file after each round"
        )

    def handle(self, *_args: Any, every: float, heartbeat: Path | None, **_options: Any) -> None:
        sender = Sender()
        if not every:
            delivered, failed = sender.drain()
            self.stdout.write(f"{delivered} delivered, {failed} failed")
            return
        after_step: Callable[[], None] = heartbeat.touch if heartbeat else _nothing
        while True:
            try:
                sender.serve(every=every, after_step=after_step)
            except Exception:
                log.exception("Some of the work failed; trying again in %s seconds", every)
                close_old_connections()
                time.sleep(every)


def _nothing() -> None:
    pass
