"""What the marketplace does by itself."""

import logging
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import close_old_connections

from marketplace.services.due import tick

log = logging.getLogger(__name__)


class Command(BaseCommand):
    """Let time do its work: abandon, approve, expire, dispose."""

    help = (
        "Let time do its work, once or for good: lapsed assignments are abandoned, undecided ones approved, HITs "
        "expired and disposed of. Any number may run at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--every", type=float, default=0, metavar="SECONDS", help="do not end; wait in between")
        parser.add_argument("--heartbeat", type=Path, metavar="FILE", help="touch this file whenever all was done")

    def handle(self, *_args: Any, every: float, heartbeat: Path | None, **_options: Any) -> None:
        while True:
            try:
                done = tick()
            except Exception:
                if not every:
                    raise
                log.exception("Some of the work failed; trying again in %s seconds", every)
                close_old_connections()
            else:
                if heartbeat is not None:
                    heartbeat.touch()
                if not every or done:
                    self.stdout.write(f"{done} due")
            if not every:
                return
            time.sleep(every)
