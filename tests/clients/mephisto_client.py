"""Mephisto's functions for MTurk, all that call the API. Its configuration, logs and progress bars are stood in for."""

import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace as Facts

import boto3  # type: ignore[import-untyped]
from common import finish, package, stand_in, step, work, worker

SOURCE = Path(sys.argv[1]) / "mephisto"
for name in ("", ".data_model", ".utils", ".operations", ".abstractions", ".abstractions.providers"):
    package(f"mephisto{name}", SOURCE / name.replace(".", "/").lstrip("/"))
package("mephisto.abstractions.providers.mturk", SOURCE / "abstractions" / "providers" / "mturk")
stand_in("tqdm", tqdm=lambda rows, **_: rows)
stand_in("omegaconf", DictConfig=dict)
stand_in("mephisto.data_model.qualification", QUAL_EXISTS="Exists", QUAL_NOT_EXIST="DoesNotExist")
stand_in("mephisto.utils.logger_core", get_logger=lambda name: logging.getLogger(name), format_loud=str)
stand_in("mephisto.operations.config_handler", get_config_arg=lambda *_: None, DEFAULT_CONFIG_FOLDER="/nowhere")

from mephisto.abstractions.providers.mturk import mturk_utils  # type: ignore[import-not-found]  # noqa: E402

client = boto3.client("mturk")
mark = os.urandom(4).hex()
kind = hit_type = hit_id = ""
args = Facts(
    task_title=f"Talk {mark}",
    task_description="Talk about a picture",
    task_tags=["chat", "picture"],
    task_reward=0.5,
    assignment_duration_in_seconds=600,
)


@step
def reads_and_checks_the_balance() -> None:
    assert mturk_utils.get_requester_balance(client) > 0
    assert mturk_utils.check_mturk_balance(client, 1)
    assert not mturk_utils.check_mturk_balance(client, 100_000_000)
    assert not mturk_utils.client_is_sandbox(client)


@step
def finds_or_creates_a_qualification() -> None:
    global kind
    assert mturk_utils.find_qualification(client, f"talked {mark}") == (True, None)
    kind = mturk_utils.find_or_create_qualification(client, f"talked {mark}", "Talked before")
    assert mturk_utils.find_or_create_qualification(client, f"talked {mark}", "Talked before") == kind


@step
def converts_its_qualifications() -> None:
    named = {"qualification_name": f"talked {mark}", "comparator": "DoesNotExist"}
    (converted,) = mturk_utils.convert_mephisto_qualifications(client, [named])
    assert converted["QualificationTypeId"] == kind


@step
def creates_a_hit_type() -> None:
    global hit_type
    named = {"qualification_name": f"talked {mark}", "comparator": "DoesNotExist"}
    hit_type = mturk_utils.create_hit_type(client, args, [named])


@step
def creates_a_hit() -> None:
    global hit_id
    link, hit_id, _ = mturk_utils.create_hit_with_hit_type(client, 650, "https://example.org/?a=1&b=2", hit_type, 3)
    assert link.endswith(f"/mturk/preview?groupId={hit_type}")
    assert mturk_utils.get_hit(client, hit_id)["HIT"]["MaxAssignments"] == 3


paid, approved, refused = (work(hit_id) for _ in range(3))


@step
def gives_and_takes_a_qualification() -> None:
    mturk_utils.give_worker_qualification(client, paid[0], kind)
    mturk_utils.give_worker_qualification(client, paid[0], kind, 3)
    mturk_utils.remove_worker_qualification(client, paid[0], kind, "Once is enough")


@step
def lists_assignments() -> None:
    assert len(mturk_utils.get_assignments_for_hit(client, hit_id)) == 3
    assert mturk_utils.get_assignment(client, paid[1])["Assignment"]["WorkerId"] == paid[0]


@step
def approves_and_rejects() -> None:
    mturk_utils.approve_work(client, paid[1])
    mturk_utils.reject_work(client, refused[1], "Nothing was said")
    mturk_utils.approve_work(client, refused[1], override_rejection=True)
    mturk_utils.approve_work(client, approved[1])
    for _, assignment_id in (paid, approved, refused):
        assert mturk_utils.get_assignment(client, assignment_id)["Assignment"]["AssignmentStatus"] == "Approved"
    _, another, _ = mturk_utils.create_hit_with_hit_type(client, 650, "https://example.org/", hit_type)
    work(another)
    mturk_utils.approve_assignments_for_hit(client, another)
    (listed,) = mturk_utils.get_assignments_for_hit(client, another)
    assert listed["AssignmentStatus"] == "Approved"


@step
def pays_a_bonus() -> None:
    assert mturk_utils.pay_bonus(client, paid[0], 0.25, paid[1], "Well said", f"{mark} bonus")


@step
def blocks_and_unblocks() -> None:
    somebody = worker()
    assert not mturk_utils.is_worker_blocked(client, somebody)
    mturk_utils.block_worker(client, somebody, "Asked to be")
    assert mturk_utils.is_worker_blocked(client, somebody)
    mturk_utils.unblock_worker(client, somebody, "Asked not to be")
    assert not mturk_utils.is_worker_blocked(client, somebody)


@step
def writes_to_a_worker() -> None:
    assert mturk_utils.email_worker(client, paid[0], "More to come", "Tomorrow") == (True, "")


@step
def gathers_outstanding_hits() -> None:
    _, open_hit, _ = mturk_utils.create_hit_with_hit_type(client, 650, "https://example.org/", hit_type)
    outstanding = mturk_utils.get_outstanding_hits(client)
    assert {open_hit, hit_id} < {hit["HITId"] for hit in outstanding[hit_type]}


@step
def expires_and_disposes_of_hits() -> None:
    outstanding = mturk_utils.get_outstanding_hits(client)[hit_type]
    for hit in outstanding:
        mturk_utils.expire_hit(client, hit["HITId"])
    assert not mturk_utils.expire_and_dispose_hits(client, outstanding, quiet=True)
    assert mturk_utils.get_outstanding_hits(client) == {}


@step
def deletes_a_qualification() -> None:
    mturk_utils.delete_qualification(client, kind)


@step
def creates_a_compensation_hit() -> None:
    mturk_utils.create_compensation_hit_with_hit_type(client, "It broke", mturk_utils.create_hit_type(client, args, []))


finish()
