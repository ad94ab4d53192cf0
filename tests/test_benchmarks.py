"""`make bench` is run by hand. Here: that it lists its measurements, runs them, and fails when a limit is exceeded."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from benchmarks.__main__ import listing, load, run
from benchmarks.harness import MEASUREMENTS, Bench, NotMeasured, Row

load()


def add(monkeypatch: pytest.MonkeyPatch, name: str, *rows: Row, error: Exception | None = None) -> None:
    """A measurement that yields these rows, and then may break off."""

    def measure(_bench: Bench) -> Iterator[Row]:
        yield from rows
        if error is not None:
            raise error

    monkeypatch.setitem(MEASUREMENTS, name, measure)


def test_every_measurement_is_listed_with_what_it_measures() -> None:
    lines = listing().splitlines()

    assert [line.split()[0] for line in lines] == list(MEASUREMENTS)
    assert all(len(line.split()) > 4 for line in lines)


def test_a_row_beyond_its_limit_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add(monkeypatch, "quick", Row("reading", ours=1.0, peer=2.0, limit=0.5))
    add(monkeypatch, "slow", Row("writing", ours=1.1, peer=2.0, limit=0.5))

    with Bench("tiny") as bench:
        assert run(["quick"], bench) == 0
        assert run(["quick", "slow"], bench) == 1
    assert [line.split() for line in capsys.readouterr().out.splitlines()[-2:]] == [
        ["reading", "1", "s", "2", "s", "0.5", "0.5", "yes"],
        ["writing", "1.1", "s", "2", "s", "0.55", "0.5", "NO"],
    ]


def test_a_measurement_that_breaks_off_fails_the_run_and_one_that_cannot_be_made_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Row("reading", ours=1.0, peer=2.0, limit=0.5)
    add(monkeypatch, "broken", row, error=ValueError("no such column"))
    add(monkeypatch, "absent", error=NotMeasured("There is no package registry."))
    add(monkeypatch, "last", row)

    with Bench("tiny") as bench:
        assert run(["absent", "last"], bench) == 0
        assert run(["broken", "last"], bench) == 1
    printed = capsys.readouterr().out
    assert "absent was not measured: There is no package registry." in printed
    assert "no such column" in printed and printed.count("reading") == 3


def test_the_quickest_measurements_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # A process of tests holds much that it has set apart from garbage collection, and would search each time.
    monkeypatch.setattr("benchmarks.harness.gc", SimpleNamespace(collect=int, freeze=int, unfreeze=int))
    with Bench("tiny") as bench:
        run(["rescoring", "scoring", "comparing"], bench)

    table = capsys.readouterr().out
    assert "broke off" not in table
    assert len(table.splitlines()) == 1 + 4
