"""`make run PLATFORM=prolific`: it goes on where an earlier start was cut off, until all is published and judged."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, TEMPLATE
from tests.databases import template_kept
from tests.local.test_bad_luck import comes_true, folder, running

QUESTIONS = 3


# What `make run` would bring about by migrating, which takes longer than all else here; then what its first start did
# before it was cut off, between two runs.
LAY_OUT = """
import os, sys
from pathlib import Path
from local import embedded
from tests.databases import execute
embedded.ensure()
execute(os.environ["DATABASE_URL"], Path(sys.argv[1]).read_text())
import django
django.setup()
from simulation import demonstration
def cut(name, done, total):
    if (name, done) == ("Storing the runs", 1):
        embedded.leave()
        os._exit(17)
demonstration.accounts()
demonstration.load(demonstration.folder_at(Path(sys.argv[2])), cut)
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_in(tmp_path)


@pytest.fixture
def var(django_db_modify_db_settings: None, data: Path) -> Iterator[Path]:
    """The folder of an installation whose database is migrated, and has a part of the demo."""
    with folder() as made_folder:
        ours = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        ours |= {"BESTKNOWN_VAR": str(made_folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
        lay_out = [sys.executable, "-c", LAY_OUT, template_kept(TEMPLATE), data]
        assert subprocess.run(lay_out, cwd=REPOSITORY, env=ours).returncode == 17
        yield made_folder


def data_in(path: Path) -> Path:
    """A folder with three queries, two runs, and what the crowd prefers."""
    data = path / "questions"
    (data / "runs").mkdir(parents=True)
    numbers = range(1, QUESTIONS + 1)
    (data / "queries.tsv").write_text("".join(f"q{n}\tquestion number {n}\n" for n in numbers))
    (data / "qrels.txt").write_text("".join(f"q{n} 0 p{n} 1\n" for n in numbers))
    (data / "passages.tsv").write_text("".join(f"p{n}\tpassage {n} says so\n" for n in range(1, 30)))
    for name, shift in (("red", 10), ("blue", 20)):
        (data / "runs" / f"{name}.txt").write_text("".join(f"q{n} Q0 p{n + shift} 1 1.0 {name}\n" for n in numbers))
    pairs = "".join(f"q{n} p{n + a} p{n + b} p{n + b}\n" for n in numbers for a, b in ((0, 10), (0, 20), (10, 20)))
    (data / "preferences.txt").write_text(pairs)
    tests = "".join(f"q{n}\tp{n}\tp{n + 5}\n" for n in numbers)
    (data / "test-pairs.tsv").write_text(tests)
    return data


@pytest.mark.timeout(1800)
def test_the_demo_is_published_at_the_double_however_its_first_start_ended(var: Path, data: Path) -> None:
    with running(var, "-m", "local.run", "--platform", "prolific", "--data", str(data)) as program:
        comes_true(lambda: program.has_said("The site is running.") or program.process.poll() is not None, 1000)
        assert program.has_said("The site is running."), "".join(program.said)
        output = " ".join("".join(program.said).split())
        assert re.search(r"At the double of Prolific: 1 study with places for \d+ tasks?, \d+ submissions?", output)
        assert "the double of Prolific's says the same to the cent" in output
        assert re.search(r"\d+ assignments? excluded and done again", output), output
        assert re.search(r"[1-9] assignments? excluded|[1-9] left early", output), "who is careless may leave in time"
        assert "The simulated crowd:" in output and "participant http://localhost:" in output
        assert "Storing the runs: 1 of 1" in output
        assert {"gunicorn", "worker", "beat"} <= set(program.programs())
        assert (var / "prolific" / "prolific.sqlite3").exists()
        assert oct((var / "prolific" / "token.txt").stat().st_mode)[-3:] == "600"
        program.process.kill()
        assert comes_true(lambda: not program.left()), program.left()
