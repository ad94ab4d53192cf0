"""docs/api.md, from its first example to its last: the notebook that it is."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from core.models import Lab
from judgments import jobs as judgment_jobs
from pools.models import Campaign
from results import jobs as result_jobs
from runs import jobs as pool_jobs
from tasks import jobs as task_jobs
from tests.api.conftest import Program
from tests.judgments.judged import judge_all

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs" / "api.md").read_text(), re.DOTALL)
sleep = time.sleep


def work(seconds: float) -> None:
    """What the workers and the crowd do while the notebook sleeps; other threads sleep indeed."""
    if threading.current_thread() is not threading.main_thread():
        sleep(seconds)
        return
    pool_jobs.work()
    task_jobs.pack_waiting_campaigns()
    for campaign in Campaign.objects.filter(state=Campaign.State.OPEN):
        judge_all(campaign)
    judgment_jobs.make_exports()
    result_jobs.compute_results()


def test_the_guide_goes_from_run_files_to_preference_qrels(
    live_server: LiveServer, program: Program, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.memberships.update(role="admin")  # who alone manages webhooks
    monkeypatch.setenv("BESTKNOWN_SITE", live_server.url)
    monkeypatch.setenv("BESTKNOWN_TOKEN", program.text)
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(time, "sleep", work)
    notebook: dict[str, Any] = {}

    for example in EXAMPLES:
        exec(compile(example, "docs/api.md", "exec"), notebook)

    campaign = Campaign.objects.get(name="from a notebook")
    assert campaign.lab == lab
    assert len(notebook["qrels"].splitlines()) >= 20
    assert {row[1] if isinstance(row[0], int) else row[0] for row in notebook["leaderboard"]["rows"]}
    findings = program.get(f"campaigns/{campaign.pk}/results/").json()["findings"]
    assert findings
    assert all(finding.endswith(".") for finding in findings)
    assert lab.webhooks.get().events == ["campaign.finished", "alarm.raised"]
    assert notebook["refused"].json()["errors"][0]["field"] == "overlap"
    notebook["api"].close()
