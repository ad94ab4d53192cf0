"""Other people's clients of Mechanical Turk do their work at the marketplace, unchanged, with the shim of the docs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import fetch
from tests.marketplace.server import REPOSITORY, Marketplace
from tests.platforms.conftest import marketplace

__all__ = ["marketplace"]

HERE = Path(__file__).parent
SHIM = re.search(
    r"```python\n(# sitecustomize.py.*?)```", (REPOSITORY / "docs" / "from-mturk.md").read_text(), re.DOTALL
)
# By name, with the reason.
DALLINGER_NOT = {
    "TestSNSService::test_creates_and_cancel_subscription": "asks Amazon's notification service, which is not here",
    "TestSNSService::test_cancel_nonexistent_subscription_raises": "asks Amazon's notification service too",
}


@pytest.fixture
def environment(marketplace: Marketplace, tmp_path: Path) -> dict[str, str]:
    """What a user of these tools sets: keys, the endpoint, and the folder with the shim."""
    assert SHIM is not None
    (tmp_path / "sitecustomize.py").write_text(SHIM[1])
    requester = marketplace.requester(deposit="10000.00")  # what Amazon's sandbox gave
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DJANGO_", "PYTEST_"))}
    return ours | {
        "AWS_ENDPOINT_URL_MTURK": marketplace.url,
        "AWS_ACCESS_KEY_ID": requester.key_id,
        "AWS_SECRET_ACCESS_KEY": requester.secret,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "PYTHONPATH": f"{tmp_path}:{HERE}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_PROXY": "*",
    }


def run(program: str, source: Path, environment: dict[str, str], folder: Path) -> dict[str, str]:
    """What became of each step of a program that drives a client."""
    done = subprocess.run(
        [sys.executable, HERE / program, source], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_otree_publishes_lists_pays_rejects_and_expires(environment: dict[str, str], tmp_path: Path) -> None:
    results = run("otree_client.py", fetch.source("otree"), environment, tmp_path)

    assert "Crowd HTML Elements" in results.pop("publishes_a_template_with_crowd_elements")
    assert len(results) == 7
    assert set(results.values()) == {"ok"}, results


def test_psiturk_does_all_that_it_can(environment: dict[str, str], tmp_path: Path) -> None:
    results = run("psiturk_client.py", fetch.source("psiturk"), environment, tmp_path)

    assert len(results) == 10
    assert set(results.values()) == {"ok"}, results


def test_mephisto_does_all_but_its_compensation_hit(environment: dict[str, str], tmp_path: Path) -> None:
    results = run("mephisto_client.py", fetch.source("mephisto"), environment, tmp_path)

    assert "QuestionForm is not supported" in results.pop("creates_a_compensation_hit")
    assert len(results) == 14
    assert set(results.values()) == {"ok"}, results


def test_dallingers_own_tests_pass(marketplace: Marketplace, environment: dict[str, str], tmp_path: Path) -> None:
    source = fetch.source("dallinger")
    skipped = [f"--deselect=tests/test_mturk.py::{name}" for name in DALLINGER_NOT]
    options = ("-q", "-c", os.devnull, "--rootdir", str(source), "--noconftest", "--import-mode=importlib")
    plugins = ("-p", "dallinger_plugin", "-p", "no:cacheprovider", "-p", "no:django", "-p", "no:xdist")
    chosen = (str(source / "tests" / "test_mturk.py"), *skipped, "--mturkfull", "--runslow", "-W", "ignore")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *chosen, *options, *plugins],
        cwd=source,
        env=environment
        | {
            "DALLINGER_SOURCE": str(source),
            "PYTEST_DEBUG_TEMPROOT": str(tmp_path),
            "mturk_worker_id": marketplace.worker().id,
        },
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    passed = re.findall(r"(\d+) x?passed", done.stdout)
    assert sum(map(int, passed)) >= 80, done.stdout[-300:]
