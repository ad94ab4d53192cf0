"""`python -m benchmarks [NAME …]`: run all measurements or those named, print a table, and fail if a row fails.

The environment variable BENCH says at which size: small, which is a tenth of the paper's largest design and the
default, or full.
"""

import argparse
import os
import sys
import time
import traceback
from collections.abc import Iterable
from importlib import import_module

from benchmarks.harness import MEASUREMENTS, SHARES, Bench, NotMeasured, Row

MODULES = ("benchmarks.evaluation", "benchmarks.site", "benchmarks.platforms")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="measurements to run instead of all")
    parser.add_argument("--list", action="store_true", help="show the names of the measurements")
    options = parser.parse_args(arguments)
    size = os.environ.get("BENCH") or "small"
    if size not in SHARES:
        parser.error(f"BENCH is {size}, and can be: {', '.join(SHARES)}.")
    os.environ.update(DEVELOPMENT="1", DJANGO_SETTINGS_MODULE="config.settings")
    if options.list:
        import django

        django.setup()
        load()
        print(listing())
        return 0
    with Bench(size) as bench:
        bench.start_servers()
        load()
        if unknown := set(options.names) - set(MEASUREMENTS):
            parser.error(f"There is no measurement {', '.join(sorted(unknown))}. There are: {', '.join(MEASUREMENTS)}.")
        return run(options.names or MEASUREMENTS, bench)


def load() -> None:
    """Import the modules that declare measurements. Django must be set up."""
    for module in MODULES:
        import_module(module)


def listing() -> str:
    """Every measurement with the first line of its description."""
    lines = ((name, (function.__doc__ or "").partition("\n")[0]) for name, function in MEASUREMENTS.items())
    return "\n".join(f"{name:<14} {line}" for name, line in lines)


def run(names: Iterable[str], bench: Bench) -> int:
    """Run measurements by their names and print the table. 1 if a row fails, or a measurement breaks off."""
    rows: list[Row] = []
    notes: list[str] = []
    broken = False
    for name in names:
        started = time.perf_counter()
        try:
            rows += MEASUREMENTS[name](bench)
        except NotMeasured as reason:
            notes.append(f"{name} was not measured: {reason}")
        except Exception:
            broken = True
            notes.append(f"{name} broke off:\n{traceback.format_exc()}")
        print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    print("\n".join([table(rows), *notes]))
    return int(broken or not all(row.passed for row in rows))


def table(rows: Iterable[Row]) -> str:
    """The rows under their headings."""
    cells = [("what", "ours", "peer", "ratio", "limit", "pass")]
    for row in rows:
        ours, peer = (f"{value:,.3g} {row.unit}" if value < 1000 else f"{value:,.0f} {row.unit}"
                      for value in (row.ours, row.peer))  # fmt: skip
        cells.append((row.what, ours, peer, f"{row.ratio:.3g}", f"{row.limit:.3g}", "yes" if row.passed else "NO"))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join([what.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))])
        for what, *rest in cells
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
