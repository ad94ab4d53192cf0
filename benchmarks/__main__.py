"""All benchmarks: `make bench`. Each prints its figures and fails where one misses its mark."""

import subprocess
import sys

PARTS = (
    "benchmarks.evaluation",
    "benchmarks.boards",
    "benchmarks.upkeep",
    "benchmarks.comparing",
    "benchmarks.certainty",
    "benchmarks.packing",
    "benchmarks.jobs",
    "benchmarks.pages",
    "benchmarks.turkle",
    "benchmarks.results",
    "benchmarks.workplace",
    "benchmarks.board",
    "benchmarks.largest",
    "benchmarks.platform",
    "benchmarks.prolific",
)


def main(arguments: list[str]) -> int:
    """Run every part in a process of its own; 1 if any missed its mark."""
    codes = [subprocess.run([sys.executable, "-m", part, *arguments], check=False).returncode for part in PARTS]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
