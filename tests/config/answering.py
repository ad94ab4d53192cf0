"""An application that takes a moment, and answers with its address."""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Read what was sent, and answer."""
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    time.sleep(0.01)
    body = os.environ["ADDRESS"].encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
