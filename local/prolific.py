"""A double of Prolific beside the site, for `make run PLATFORM=prolific`: its program, token and play money.

Prolific has no sandbox. The double (`simulation/prolific`), which the tests use too, is a program of its own with a
database of its own, which is started as one and asked over HTTP, by the API that Prolific has and by commands for what
only time and money would do.
"""

import http.client
import json
import os
import secrets
import sys
from contextlib import closing
from decimal import Decimal
from typing import Any

from local import embedded

PROGRAM = "simulation.prolific"


class ProlificError(Exception):
    """The double cannot be used. The message says why."""


class LocalProlific:
    """A double of Prolific on a port of this machine.

    Made before the site's settings are read: it puts the double's address into this process's environment, for the site
    and the programs that it starts, so that nothing is ever asked of Prolific itself.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://localhost:{port}"
        self.folder = embedded.var_folder() / "prolific"
        self.environment = dict(os.environ) | {"BESTKNOWN_DATA": ""}  # by our own description of it
        os.environ["PROLIFIC_API_URL"], os.environ["PROLIFIC_APP_URL"] = f"{self.url}/api/v1/", self.url
        for name in ("NO_PROXY", "no_proxy"):  # all of it is on this machine
            os.environ[name] = ",".join(filter(None, (os.environ.get(name), "localhost,127.0.0.1")))

    @property
    def token(self) -> str:
        """The token that opens it, drawn on the first start. Only its owner can read the file."""
        path = self.folder / "token.txt"
        if not path.exists():
            embedded.keep_private(path, secrets.token_hex(32))
        return path.read_text()

    def program(self, listener: int) -> list[str]:
        """The program that serves it from a socket that listens already."""
        place = ["--port", str(self.port), "--database", str(self.folder / "prolific.sqlite3")]
        return [sys.executable, "-m", PROGRAM, *place, "--token", self.token, "--listener", str(listener)]

    def deposit(self, amount: Decimal) -> None:
        """Put money into the account, in dollars. It is play money: nobody pays it in."""
        self._do("deposit", cents=int(amount * 100))

    def lapse(self, submission: str) -> None:
        """End the time of a submission."""
        self._do("time_out", submission=submission)

    def lapse_all(self) -> None:
        """End the time of everybody who is at work."""
        for row in self._do("rows", table="submission"):
            if row["status"] in ("RESERVED", "ACTIVE"):
                self.lapse(row["id"])

    def _do(self, command: str, **values: Any) -> Any:
        """Give the double a command. Raises ProlificError with its refusal."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            with closing(connection):
                connection.request("POST", f"/_double/{command}", json.dumps(values))
                response = connection.getresponse()
                answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ProlificError(f"The double of Prolific does not answer: {error}") from error
        if response.status != http.client.OK:
            raise ProlificError(f"The double of Prolific refused {command}: {answer.get('refused')}")
        return answer
