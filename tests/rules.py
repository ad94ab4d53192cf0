"""What holds for every test: plain names, the longest files first, in CI no skip that nobody expects, and none that is
too long; how many processes share them, and how long each folder took.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable

import pytest

# Characters that one value may give to a test's name.
LONGEST_NAME = 60
PLAIN = re.compile(r"[A-Za-z0-9 _.,:/+-]*")

QUICK_SECONDS = 0.13  # what the work of `slowness` takes on a quick machine
# A few processes share the tests by whole files. The longest begin first, so that none is left over at the end.
LONGEST_FIRST = (
    "tests/histories/test_at_prolific.py",
    "tests/histories/test_at_marketplace.py",
    "tests/histories/test_by_link.py",
    "tests/test_look.py",
    "tests/journeys/test_workplace.py",
    "tests/test_lists.py",
    "tests/marketplace/test_many_rows.py",
    "tests/leaderboards/test_evaluating.py",
    "tests/hosts/test_hosts.py",
    "tests/storm/test_storm.py",
    "tests/simulation/test_at_platform.py",
    "tests/journeys/test_journeys.py",
    "tests/platforms/test_views.py",
    "tests/storm/test_prolific.py",
    "tests/judgments/pages/test_browser.py",
    "tests/leaderboards/test_embargo.py",
    "tests/results/test_figures.py",
    "tests/protection/test_whole_campaign.py",
    "tests/local/test_run_prolific.py",
    "tests/platforms/test_ledger.py",
    "tests/marketplace/test_workers.py",
    "tests/marketplace/test_operator.py",
    "tests/clients/test_clients.py",
    "tests/leaderboards/test_upkeep_at_platform.py",
    "tests/evaluation/test_cli.py",
    "tests/core/test_database.py",
    "tests/local/test_embedded.py",
    "tests/platforms/test_outbox.py",
    "tests/api/test_fuzz.py",
    "tests/evaluation/test_named_measures.py",
    "tests/local/test_marketplace.py",
    "tests/platforms/test_terms.py",
    "tests/journeys/test_leaderboards.py",
    "tests/leaderboards/test_public_look.py",
    "tests/runs/test_upload_size.py",
    "tests/tasks/test_next_hit.py",
    "tests/leaderboards/test_pages_look.py",
    "tests/storm/test_outage.py",
    "tests/judgments/test_refreshing.py",
    "tests/journeys/test_frame.py",
    "tests/platforms/test_pay_desk.py",
    "tests/platforms/test_browser.py",
    "tests/storm/test_without_token.py",
    "tests/leaderboards/test_pages.py",
    "tests/platforms/test_mturk.py",
    "tests/test_rules.py",
    "tests/api/test_trust.py",
    "tests/config/test_health.py",
)

# The reasons, as regular expressions, for which a test may skip in CI.
EXPECTED_SKIPS = (
    # As root, the test becomes another account; as another account, every other test is this one.
    r"the other tests run as an ordinary account",
    r"no right can be kept while becoming another account here",
    # Several hosts are network namespaces, and root alone makes those.
    r"hosts are network namespaces of Linux, which root makes",
    r"no network namespace can be made",
    # Other people's clients come from a package registry, once: tests.clients.fetch.
    r"no package registry could be reached",
)


def name_of(value: object, parameter: str) -> str | None:
    """A value's part of its test's name; None where pytest's own is plain (numbers, classes, nothing).

    pytest names a test after its values. One that holds a time (a compressed file) makes names that differ between
    processes, which then refuse to share the tests; one with unseen characters makes names that nobody can type. So a
    value's plain words are its name, and where it has none, its parameter's name is.
    """
    if isinstance(value, bytes):
        if not value.isascii():
            return parameter
        value = value.decode()
    if isinstance(value, str):
        if PLAIN.fullmatch(value) and 0 < len(value) <= LONGEST_NAME:
            return value
        words = " ".join(re.findall(r"[A-Za-z0-9]+", value))
        return words[:LONGEST_NAME].strip() or parameter
    if getattr(value, "__name__", "") == "<lambda>":
        return parameter
    return None


def odd_names(names: Iterable[str]) -> list[str]:
    """Those of the tests' names that are not plain words."""
    return [name for name in names if not PLAIN.fullmatch(name.partition("[")[2].removesuffix("]"))]


def unexpected_skips(reasons: Iterable[str]) -> list[str]:
    """Those of the reasons for skipping that are not on the list."""
    return [reason for reason in reasons if not any(re.search(expected, reason) for expected in EXPECTED_SKIPS)]


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """A process more than there are processors, because tests also wait; at most four, as each starts servers."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test's value in plain words."""
    return name_of(val, argname)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse to run tests whose names are not plain words. Put the longest files first."""
    odd = odd_names(item.nodeid for item in items)
    if odd:
        raise pytest.UsageError("Test names must be plain words; give these parameters ids: " + "; ".join(odd))
    order = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long a test may be."""
    parser.addoption("--longest", type=float, metavar="SECONDS", help="fail a test that takes more processor time")


def processor_seconds() -> float:
    """The time of processors that this process took, and those that it started and that have ended."""
    return sum(os.times()[:4])


def slowness() -> float:
    """How many times longer a fixed amount of work takes here than on a quick machine; at least 1."""
    began, total = processor_seconds(), 0
    for number in range(2_000_000):
        total += number * number % 7
    return max(1.0, (processor_seconds() - began) / QUICK_SECONDS)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterable[None]:
    """Fail a test that takes too much processor time of its own. A busy machine takes none, a slow one gives more."""
    longest, began = item.config.getoption("longest"), processor_seconds()
    outcome = yield
    taken = processor_seconds() - began
    if longest and not outcome.excinfo and taken > longest and taken > (allowed := longest * slowness()):
        pytest.fail(f"It took {taken:.0f} s of processor time, and a test may take {allowed:.0f} s.", pytrace=False)


def folder_of(name: str) -> str:
    """The folder of tests that a test is in, or its file where that is in none."""
    return "/".join(name.partition("::")[0].split("/")[:2])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how long the tests of each folder took, added up over the processes."""
    taken: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                taken[folder_of(report.nodeid)] += report.duration  # type: ignore[assignment]
    if len(taken) > 1:
        terminalreporter.section("seconds of each folder")
        for folder, seconds in taken.most_common():
            terminalreporter.write_line(f"{seconds:8.0f}  {folder}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterable[None]:
    """Let a skip fail in CI, unless its reason is on the list."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if os.environ.get("CI") and report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if unexpected_skips([reason]):
            report.outcome = "failed"
            report.longrepr = f"Skipped in CI for a reason that is not on the list (tests/rules.py): {reason}"
