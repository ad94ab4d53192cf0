"""psiTurk's MTurk services, all of them. Flask and psiTurk's own configuration are stood in for."""

import configparser
import datetime
import os
import sys
from pathlib import Path
from typing import Any

from common import finish, package, stand_in, step, work

SOURCE = Path(sys.argv[1]) / "psiturk"
package("psiturk", SOURCE)
stand_in("flask", jsonify=dict)
stand_in("psiturk.psiturk_config", PsiturkConfig=object)

from psiturk.amt_services import MTurkServices  # type: ignore[import-not-found]  # noqa: E402

config = configparser.ConfigParser(interpolation=None)
config["AWS Access"] = {
    "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
    "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
}
services = MTurkServices(config, mode="live")
hit_id = ""
work_done: list[tuple[str, str]] = []


def got(response: Any) -> Any:
    """What a service gave, if it succeeded."""
    if not response.success:
        raise response.exception
    return response.data


@step
def reads_the_balance() -> None:
    assert float(got(services.check_balance())) > 0
    assert got(services.get_summary())["balance"]


@step
def creates_a_hit() -> None:
    global hit_id
    hit_id = got(
        services.create_hit(
            {
                "approve_requirement": 95,
                "number_hits_approved": 100,
                "require_master_workers": False,
                "us_only": True,
                "require_qualification_ids": [],
                "block_qualification_ids": [],
                "advanced_qualifications": [],
                "title": "A study",
                "description": "Take part",
                "reward": "0.50",
                "duration": datetime.timedelta(hours=1),
                "keywords": "study",
                "ad_location": "https://example.org/ad",
                "lifetime": datetime.timedelta(days=1),
                "max_assignments": 2,
            }
        )
    )["HITId"]


@step
def lists_hits() -> None:
    assert [hit.options["hitid"] for hit in got(services.get_all_hits())] == [hit_id]
    assert got(services.get_hit(hit_id)).options["status"] == "Assignable"


@step
def extends_a_hit() -> None:
    got(services.extend_hit(hit_id, assignments_increment=1, expiration_increment=60))
    assert got(services.get_hit(hit_id)).options["max_assignments"] == 3


work_done.extend(work(hit_id) for _ in range(3))


@step
def lists_assignments() -> None:
    assert len(got(services.get_assignments())) == 3
    assert len(got(services.get_assignments("Submitted", [hit_id]))) == 3
    assert got(services.get_assignment(work_done[0][1]))["workerId"] == work_done[0][0]


@step
def approves() -> None:
    got(services.approve_assignment(work_done[0][1]))


@step
def pays_a_bonus_without_a_reason() -> None:
    got(services.bonus_assignment(work_done[0][1], "", 0.25))


@step
def rejects_and_approves_after_all() -> None:
    got(services.reject_assignment(work_done[1][1]))
    assert got(services.get_assignment(work_done[1][1]))["status"] == "Rejected"
    unrejected = got(services.unreject_assignment(work_done[1][1]))
    assert unrejected.success, unrejected.exception
    got(services.approve_assignment(work_done[2][1]))


@step
def lists_qualification_types() -> None:
    assert got(services.list_qualification_types()) == []


@step
def expires_and_deletes_a_hit() -> None:
    got(services.expire_hit(hit_id))
    got(services.delete_hit(hit_id))


finish()
