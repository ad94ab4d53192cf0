"""An application that takes LOADING_SECONDS to load, and a moment for a request; it answers with its address."""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

time.sleep(float(os.environ.get("LOADING_SECONDS", "0")))


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Read what was sent, and answer."""
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    time.sleep(0.01)
    body = os.environ["ADDRESS"].encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
