"""What the programs that drive a client share: stand-ins for what has nothing to do with the API, workers, a record.

Each of those programs runs by itself: `python otree_client.py FOLDER`, with the client's sources in the folder, the
shim of docs/from-mturk.md in PYTHONPATH, and at AWS_ENDPOINT_URL_MTURK a marketplace that takes orders of tests. It
prints what became of each step.
"""

import json
import os
import sys
import traceback
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

URL = os.environ["AWS_ENDPOINT_URL_MTURK"]
EXTERNAL = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/'
    'ExternalQuestion.xsd"><ExternalURL>https://example.org/task</ExternalURL><FrameHeight>0</FrameHeight>'
    "</ExternalQuestion>"
)
results: dict[str, str] = {}


def package(name: str, folder: Path) -> None:
    """Let modules of a package be imported from its folder without running its own `__init__`, which needs a server."""
    module = ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def stand_in(module_name: str, **members: Any) -> None:
    """A module that holds only this: in place of one that has nothing to do with the API."""
    module = ModuleType(module_name)
    module.__dict__.update(members)
    sys.modules[module_name] = module


def step(function: Callable[[], None]) -> Callable[[], None]:
    """Do it now, and write down under its name whether it worked."""
    try:
        function()
    except Exception as error:
        results[function.__name__] = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    else:
        results[function.__name__] = "ok"
    return function


def order(action: str, **values: Any) -> dict[str, Any]:
    """One order to the marketplace: see tests.marketplace.testing."""
    body = json.dumps(values).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{URL}/test/{action}", data=body)) as answer:
        return dict(json.load(answer))


def worker() -> str:
    """A new worker's id."""
    return str(order("worker", email=f"worker{os.urandom(6).hex()}@example.org", vouched_approved=20_000)["worker_id"])


def work(hit_id: str, worker_id: str = "", **fields: str) -> tuple[str, str]:
    """Somebody accepts a HIT and submits. The worker's id and the assignment's."""
    worker_id = worker_id or worker()
    assignment_id = str(order("accept", worker_id=worker_id, hit_id=hit_id)["assignment_id"])
    form = urllib.parse.urlencode({"assignmentId": assignment_id} | (fields or {"answer": "left"})).encode()
    with urllib.request.urlopen(f"{URL}/mturk/externalSubmit", data=form) as answer:
        assert answer.status == 200
    return worker_id, assignment_id


def finish() -> None:
    """Print what became of each step, as the last line."""
    print(json.dumps(results))
