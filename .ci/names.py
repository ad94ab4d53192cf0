"""Variables are named for the thing, not for how it was obtained: `python3 .ci/names.py`.

Counts variables and parameters with evasive names for each 1,000 lines of a package, and fails where they are more than
its limit. A limit only ever falls: when a package is done, its line goes.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
EVASIVE = {
    *("asked", "counted", "found", "given", "held", "kept", "known", "listed", "looked", "made"),
    *("one", "own", "said", "seen", "shown", "taken", "there", "told", "wanted"),
}
LIMIT = 0.5  # of every package that is not named below
LIMITS = {
    "api": 1.4, "protection": 0.6, "results": 1.2, "tasks": 0.7, "tests": 16.1, "tests/clients": 6.2,
    "tests/histories": 15.4, "tests/journeys": 9.3, "tests/storm": 19.3, "tests/upgrades": 19.5,
}  # fmt: skip


def main() -> int:
    """Print each package above its limit, with its worst files. Gives the exit code."""
    command = ["git", "ls-files", "*.py"]
    listing = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S603
    lines, names, by_file = Counter[str](), Counter[str](), Counter[str]()
    for name in listing.stdout.split():
        path = REPOSITORY / name
        if "migrations" in path.parts or path.is_symlink() or not path.is_file():
            continue
        text, (*folders, _file) = path.read_text(), name.split("/")
        package = "/".join(folders[: 2 if folders[:1] == ["tests"] else 1])
        lines[package] += len(text.splitlines())
        nodes = list(ast.walk(ast.parse(text)))
        words = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        words += [node.arg for node in nodes if isinstance(node, ast.arg)]
        by_file[name] = sum(word in EVASIVE for word in words)
        names[package] += by_file[name]
    above = [package for package in lines if 1000 * names[package] / lines[package] > LIMITS.get(package, LIMIT)]
    for package in above:
        worst = ", ".join(name for name, count in by_file.most_common() if count and name.startswith(f"{package}/"))
        print(
            f"{package}: {1000 * names[package] / lines[package]:.2f} evasive names for each 1,000 lines. {worst[:200]}"
        )
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
