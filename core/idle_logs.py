"""Leave out of the log of the jobs what says that there was nothing to do, which is nearly all of it."""

import logging
import re

_NOTHING = re.compile(r"nothing\b.*|.*: 0")


class LeaveOutIdleJobs(logging.Filter):
    """Passes everything but the end of a job that did nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record goes into the log. Celery gives what a job returned with it, as code would write it."""
        data = getattr(record, "data", None)
        returned = data.get("return_value") if isinstance(data, dict) else None
        return not (record.levelno == logging.INFO and _NOTHING.fullmatch(str(returned).strip("'\"")))
