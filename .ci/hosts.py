"""No file of the project names a registry's host or a folder of somebody's machine: `python3 .ci/hosts.py`.

Requirements are pinned by hash and come from whichever registry the machine is set to; paths of one machine are of no
use on another.
"""

import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
NAMED = re.compile(
    r"pypi\.org|pythonhosted\.org|npmjs\.org|docker\.io|index-url http"
    r"|/(?:home|Users)/(?!app/|me/)[a-z]+/|/root/|https?://10\.\d",
    re.IGNORECASE,
)


def main() -> int:
    """Print each place with its file and line. Gives the exit code."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607 - of whoever runs it
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode:
        print("git does not list the project's files here, so they are not looked over for names of hosts.")
        return 0
    hits = 0
    for name in filter(None, listing.stdout.split("\0")):
        path = REPOSITORY / name
        if name.startswith("static/vendor/") or not path.is_file() or path.resolve() == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if place := NAMED.search(line):
                hits += 1
                print(f"{name}, line {number}: {place[0]!r} names a registry's host or a folder of one machine.")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main())
