"""`make run PLATFORM=prolific`: killed in the middle, then started again until all is published and judged."""

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


# What `make run` would bring about by migrating, which takes longer than all else here.
LAY_OUT = """
import os, sys
from pathlib import Path
from local import embedded
from tests.databases import execute
embedded.ensure()
execute(os.environ["DATABASE_URL"], Path(sys.argv[1]).read_text())
embedded.leave()
"""


@pytest.fixture
def var(django_db_modify_db_settings: None) -> Iterator[Path]:
    """The folder of an installation whose database is migrated."""
    with folder() as made:
        ours = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        lay_out = [sys.executable, "-c", LAY_OUT, template_kept(TEMPLATE)]
        subprocess.run(lay_out, cwd=REPOSITORY, env=ours | {"BESTKNOWN_VAR": str(made)}, check=True)
        yield made


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
def test_the_demo_is_published_at_the_double_however_its_first_start_ended(var: Path, tmp_path: Path) -> None:
    data = data_in(tmp_path)
    options = ("-m", "local.run", "--platform", "prolific", "--data", str(data), "--leave")
    with running(var, *options) as program:
        assert comes_true(lambda: program.has_said("Storing the runs"), 600), "".join(program.said)
        assert {"gunicorn", "worker", "beat"} <= set(program.programs())
        program.process.kill()
        assert comes_true(lambda: not program.left()), program.left()
    with running(var, *options) as program:
        program.process.wait(1000)
        said = " ".join("".join(program.said).split())
        assert program.process.returncode == 0, said
        assert re.search(r"At the double of Prolific: 1 study with places for \d+ tasks?, \d+ submissions?", said)
        assert "the double of Prolific's says the same to the cent" in said
        assert re.search(r"[1-9] assignments? excluded and done again", said), said
        assert "The simulated crowd:" in said and "participant http://localhost:" in said
        assert comes_true(lambda: not program.left()), program.left()
        assert (var / "prolific" / "prolific.sqlite3").exists()
        assert oct((var / "prolific" / "token.txt").stat().st_mode)[-3:] == "600"
