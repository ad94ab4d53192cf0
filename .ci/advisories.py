"""Look up known advisories of everything that is pinned: `python3 .ci/advisories.py`, in CI or as `make advisories`.

Fails where one is known that no line of `.ci/advisories.txt` excepts. Where the advisories cannot be had, it says so
and does not fail: then nobody knows, and no change is to blame.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parent.parent
EXCEPTIONS = REPOSITORY / ".ci" / "advisories.txt"
PROGRAM = REPOSITORY / ".tools" / "bin" / "pip-audit"
PINNED = ("requirements.txt", "requirements-dev.txt", "requirements-ir-datasets.txt", "requirements-marketplace.txt")
PATIENCE = 600


class Exempt(NamedTuple):
    """An advisory that does not concern us, or cannot be met yet: until when that holds, and why."""

    advisory: str
    until: date
    why: str


def exceptions_in(text: str) -> list[Exempt]:
    """One a line: the advisory, a date, and the reason. Raises ValueError for a line that lacks one of them."""
    exempt = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            advisory, until, why = line.split(maxsplit=2)
            exempt.append(Exempt(advisory, date.fromisoformat(until), why))
    return exempt


def overdue(exempt: Iterable[Exempt], today: date) -> list[str]:
    """The exceptions past their date, a sentence each."""
    return [f"The exception of {row.advisory} ended on {row.until}: {row.why}" for row in exempt if row.until < today]


def known_in(report: str, exempt: Iterable[Exempt]) -> list[str]:
    """The advisories that pip-audit's JSON names and nothing excepts, a sentence each. Raises ValueError if none."""
    excepted = {row.advisory for row in exempt}
    return [
        f"{package['name']} {package['version']}: {row['id']}, mended in {', '.join(row['fix_versions']) or 'nothing'}"
        for package in json.loads(report)["dependencies"]
        for row in package.get("vulns", [])
        if not excepted & {row["id"], *row.get("aliases", [])}
    ]


def main() -> int:
    """Gives the exit code."""
    exempt = exceptions_in(EXCEPTIONS.read_text())
    problems = overdue(exempt, datetime.now(UTC).date())
    for name in PINNED:
        command = [str(PROGRAM), "--format", "json", "--disable-pip", "--progress-spinner", "off", "-r", name]
        try:
            done = subprocess.run(  # noqa: S603 - of our own words
                command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
            problems += known_in(done.stdout, exempt)
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            complaint = done.stderr.strip().splitlines()[-1:] if isinstance(error, ValueError) else [str(error)]
            print(f"{name} was NOT checked: the advisories cannot be had. {''.join(complaint)}", file=sys.stderr)
        else:
            print(f"{name} was checked.")
    for problem in dict.fromkeys(problems):
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
