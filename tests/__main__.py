"""All tests in several processes, then those that failed there once more, alone (`make test`).

A test that waits for servers or a browser may fail for want of time while the machine is busy with others. Such a test
is named at the end. A test that fails alone too fails the run, and so do more than a few at once.
"""

import os
import subprocess
import sys

import pytest

FEW = 6


class Failed:
    """Notes which tests fail, in whatever process."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[report.nodeid] = None


def main(words: list[str]) -> int:
    """Run pytest with these words. Returns its exit code, or that of the second try."""
    environment = dict(os.environ)  # the first try adds the addresses of its servers
    failed = Failed()
    code = pytest.main(words, plugins=[failed])
    tests = list(failed.tests)
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(tests) <= FEW:
        return int(code)
    print(f"\nOnce more, alone: {', '.join(tests)}", flush=True)
    alone = [sys.executable, "-m", "pytest", "-n", "0", *tests]
    again = subprocess.run(alone, env=environment, check=False).returncode
    if again == 0:
        print("\nThese tests failed beside others, and passed alone:", *tests, sep="\n  ", flush=True)
    return again


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
