"""A double of Prolific that runs in a process of its own, and the commands that steer it."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.real_data import DATA

REPOSITORY = Path(__file__).resolve().parents[3]
TOKEN = "token-of-the-double"


class Place(NamedTuple):
    """A place that somebody took: the submission, and the study's address for this person."""

    submission: str
    url: str


class Double:
    """A running double. `url` is its own and its participants' site, `api` the API's; `token` opens it.

    `folder` holds its database, so that another start on the same folder goes on where it was.
    """

    def __init__(self, folder: Path, port: int, *, token: str = TOKEN) -> None:
        self.folder, self.port, self.token = folder, port, token
        self.url = f"http://127.0.0.1:{port}"
        self.api = f"{self.url}/api/v1"
        self._http = httpx.Client(base_url=self.url, timeout=30, trust_env=False, verify=False)
        self._process: subprocess.Popen[bytes] | None = None

    def command_line(self) -> list[str]:
        """The program that serves it."""
        place = ["--port", str(self.port), "--database", str(self.folder / "prolific.sqlite3")]
        return [sys.executable, "-m", "simulation.prolific", *place, "--token", self.token]

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        environment = os.environ | {"BESTKNOWN_DATA": str(DATA)}
        with (self.folder / "prolific.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command_line(), cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.wait()

    def wait(self, seconds: float = 30) -> None:
        """Wait until it answers. Raises RuntimeError with its log where it does not."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self._process is not None and self._process.poll() is not None:
                break
            try:
                self.do("checked_by")
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"The double did not start:\n{(self.folder / 'prolific.log').read_text()[-3000:]}")

    def stop(self) -> None:
        """End the process, as a kill does. What it has committed stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def do(self, command: str, **values: Any) -> Any:
        """Give a command (commands.py). Raises ValueError with its refusal."""
        answer = self._http.post(f"/_double/{command}", json=values)
        if answer.status_code == 400:
            raise ValueError(answer.json()["refused"])
        answer.raise_for_status()
        return answer.json()

    def reset(self, *, cents: int = 0, **settings: Any) -> None:
        """Forget everything, and begin with this balance and these settings of the account."""
        self.do("reset")
        self.settings(**settings)
        if cents:
            self.deposit(cents)

    def settings(self, **settings: Any) -> dict[str, str]:
        """Change the account (store.SETTINGS has all): currency="GBP", fee=…, vat=…, features=[…], hooks_off=True …

        The ids of its workspace and project.
        """
        ids: dict[str, str] = self.do("settings", **settings)
        return ids

    def deposit(self, cents: int) -> int:
        """Put money in; the balance afterwards, in cents."""
        return int(self.do("deposit", cents=cents))

    def advance(self, seconds: float) -> None:
        """Move the double's clock forward."""
        self.do("advance", seconds=seconds)

    def participant(self, name: str = "Pat", **attributes: Any) -> str:
        """A new person, with what filters.NEW_PERSON has, unless given: country="0", age=40 … Their id."""
        return str(self.do("participant", name=name, **attributes))

    def open_studies(self, participant: str) -> list[str]:
        """The studies that somebody sees."""
        return list(self.do("open_studies", participant=participant))

    def take(self, study: str, participant: str) -> Place:
        """Take a place and open the study: the submission is ACTIVE."""
        submission = self.do("reserve", study=study, participant=participant)
        return Place(submission, self.do("begin", submission=submission))

    def sign(self, claims: dict[str, Any]) -> str:
        """A prolific_token with these claims, signed as all others are."""
        return str(self.do("sign", claims=claims))

    def replace_key(self) -> None:
        """Sign tokens with another key from now on."""
        self.do("replace_key")

    def complete(self, submission: str, code: str | None) -> str:
        """Come back with a code; None ends without one. The state afterwards."""
        return str(self.do("complete", submission=submission, code=code))

    def give_back(self, submission: str) -> str:
        """Return it. The state afterwards."""
        return str(self.do("give_back", submission=submission))

    def time_out(self, submission: str) -> str:
        """End its time. The state afterwards."""
        return str(self.do("time_out", submission=submission))

    def write(self, participant: str, body: str, study: str | None = None) -> str:
        """A participant writes to the account, about a study or none. The message's id."""
        return str(self.do("write", participant=participant, body=body, study=study))

    def pause(self, study: str) -> None:
        """Pause a study from Prolific's side."""
        self.do("pause", study=study)

    def fault(self, kind: str, **values: Any) -> None:
        """Switch a fault on (faults.KINDS): method, path and body (regular expressions), times (None: always), skip,
        probability, status of a 5xx, seconds of `slow` and of Retry-After.
        """
        self.do("fault", kind=kind, **values)

    def clear_faults(self) -> int:
        """Switch all faults off; how often they struck."""
        return int(self.do("clear_faults"))

    def counts(self) -> tuple[int, dict[str, int]]:
        """How many requests there were, and how often the faults that are on struck, by kind."""
        counts = self.do("counts")
        return counts["requests"], counts["faults"]

    def requests(self, path: str = "") -> list[dict[str, Any]]:
        """What was asked of the API, oldest first, where the path has this in it: method, path, body, status, fault."""
        return [entry for entry in self.do("requests") if path in entry["path"]]

    def ledger(self, kind: str = "") -> list[dict[str, Any]]:
        """The movements of money, oldest first: kind, amount, fee, vat. `kind`: reward, partial, screen-out, bonus."""
        return [row for row in self.do("ledger") if kind in ("", row["kind"])]

    def balance(self) -> dict[str, Any]:
        """The balance, as the API shows it."""
        return dict(self.do("balance"))

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table of the double's: study, submission, event, batch, payment, subscription …"""
        return list(self.do("rows", table=table))

    def violations(self) -> list[str]:
        """Answers of the double that were not as the descriptions say. There must be none."""
        return list(self.do("violations"))

    def checked_by(self) -> list[str]:
        """The descriptions that requests and answers are checked by."""
        return list(self.do("checked_by"))
