"""What users of Mechanical Turk have in their drawers: a plain script of boto3, and the AWS CLI. Both unchanged."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.clients.fetch import aws_cli
from tests.marketplace.server import HTML_QUESTION, Marketplace, Requester, Worker


@pytest.fixture
def credentials(rosa: Requester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users set them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", rosa.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", rosa.secret)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # a session of an earlier test holds that test's keys


@pytest.mark.usefixtures("credentials")
def test_a_plain_script_publishes_and_pays(marketplace: Marketplace, wanda: Worker, will: Worker) -> None:
    mturk = boto3.client("mturk", endpoint_url=marketplace.url)
    assert float(mturk.get_account_balance()["AvailableBalance"]) >= 10

    hit_type = mturk.create_hit_type(
        AutoApprovalDelayInSeconds=3600 * 24 * 3,
        AssignmentDurationInSeconds=600,
        Reward="0.50",
        Title="Choose the better answer",
        Keywords="question, answer, research",
        Description="Which of two passages answers a question?",
        QualificationRequirements=[
            {
                "QualificationTypeId": "00000000000000000071",
                "Comparator": "In",
                "LocaleValues": [{"Country": "US"}, {"Country": "CA"}],
                "RequiredToPreview": True,
            }
        ],
    )
    hit = mturk.create_hit_with_hit_type(
        HITTypeId=hit_type["HITTypeId"],
        MaxAssignments=2,
        LifetimeInSeconds=3600,
        Question=HTML_QUESTION,
        RequesterAnnotation="pilot",
    )["HIT"]
    wanda.do(hit["HITId"], answer="left")
    will.do(hit["HITId"], answer="right")

    reviewable = mturk.list_reviewable_hits(HITTypeId=hit_type["HITTypeId"], MaxResults=100)["HITs"]
    assert [hit["HITId"] for hit in reviewable] == [hit["HITId"]]
    pages = mturk.get_paginator("list_assignments_for_hit").paginate(
        HITId=hit["HITId"], AssignmentStatuses=["Submitted"]
    )
    for assignment in [assignment for page in pages for assignment in page["Assignments"]]:
        if "<FreeText>left</FreeText>" in assignment["Answer"]:
            mturk.approve_assignment(AssignmentId=assignment["AssignmentId"], RequesterFeedback="Good work")
            mturk.send_bonus(
                WorkerId=assignment["WorkerId"],
                BonusAmount="0.25",
                AssignmentId=assignment["AssignmentId"],
                Reason="Thanks",
                UniqueRequestToken=assignment["AssignmentId"],
            )
        else:
            mturk.reject_assignment(AssignmentId=assignment["AssignmentId"], RequesterFeedback="Wrong")

    mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    mturk.delete_hit(HITId=hit["HITId"])
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Disposed"
    assert mturk.get_account_balance()["AvailableBalance"] == "999.10"
    assert wanda.look()["earnings"]["owed"] == "0.75"


@pytest.mark.usefixtures("credentials")
def test_the_aws_cli_publishes_pays_qualifies_blocks_and_notifies(
    marketplace: Marketplace, wanda: Worker, tmp_path: Path
) -> None:
    command = aws_cli()
    question = tmp_path / "question.xml"
    question.write_text(HTML_QUESTION)
    environment = os.environ | {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_PAGER": "",
    }
    environment.pop("DJANGO_SETTINGS_MODULE", None)

    def aws(*words: str) -> Any:
        done = subprocess.run(
            [*command, "mturk", *words, "--endpoint-url", marketplace.url, "--output", "json"],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else {}

    type_id = aws(
        *("create-hit-type", "--title", "Choose the better answer", "--description", "Of two passages"),
        *("--reward", "0.50", "--assignment-duration-in-seconds", "600", "--auto-approval-delay-in-seconds", "259200"),
    )["HITTypeId"]
    hit_id = aws(
        *("create-hit-with-hit-type", "--hit-type-id", type_id, "--lifetime-in-seconds", "3600"),
        *("--question", f"file://{question}", "--unique-request-token", "cli-1"),
    )["HIT"]["HITId"]
    assert [hit["HITId"] for hit in aws("list-hits")["HITs"]] == [hit_id]

    assignment_id = wanda.do(hit_id)
    (rows,) = aws("list-assignments-for-hit", "--hit-id", hit_id)["Assignments"]
    assert (rows["AssignmentId"], rows["AssignmentStatus"]) == (assignment_id, "Submitted")
    aws("approve-assignment", "--assignment-id", assignment_id, "--requester-feedback", "Good work")
    aws(
        *("send-bonus", "--worker-id", wanda.id, "--assignment-id", assignment_id, "--bonus-amount", "0.25"),
        *("--reason", "Thanks"),
    )
    (bonus,) = aws("list-bonus-payments", "--assignment-id", assignment_id)["BonusPayments"]
    assert bonus["BonusAmount"] == "0.25"

    qualification = aws(
        *("create-qualification-type", "--name", "Did the pilot", "--description", "Took part in the pilot"),
        *("--qualification-type-status", "Active"),
    )["QualificationType"]["QualificationTypeId"]
    both = ("--qualification-type-id", qualification, "--worker-id", wanda.id)
    aws("associate-qualification-with-worker", *both, "--integer-value", "5", "--no-send-notification")
    assert aws("get-qualification-score", *both)["Qualification"]["IntegerValue"] == 5

    message = ("--subject", "More to come", "--message-text", "Tomorrow")
    assert aws("notify-workers", *message, "--worker-ids", wanda.id)["NotifyWorkersFailureStatuses"] == []
    aws("create-worker-block", "--worker-id", wanda.id, "--reason", "Asked to be left alone")
    assert aws("list-worker-blocks")["WorkerBlocks"][0]["WorkerId"] == wanda.id
    assert aws("get-account-balance")["AvailableBalance"] == "999.10"
    assert [message["subject"] for message in wanda.look()["messages"]] == ["More to come"]
