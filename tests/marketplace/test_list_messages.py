"""What workers wrote to a requester, asked beside the API: signed, each requester's own, and page by page."""

import json
from typing import Any

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.marketplace.people import Wanda
from tests.marketplace.server import Marketplace, Requester

PATH = "/extensions/list-messages"
TARGET = "BestknownMarketplace.ListMessages"


def ask(
    marketplace: Marketplace, requester: Requester, body: Any, path: str = PATH, target: str = TARGET
) -> httpx.Response:
    """Post signed JSON as this requester."""
    data = json.dumps(body)
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": target}
    request = AWSRequest(method="POST", url=f"{marketplace.url}{path}", headers=headers, data=data)
    SigV4Auth(Credentials(requester.key_id, requester.secret), "mturk-requester", "us-east-1").add_auth(request)
    return marketplace.http.post(path, content=data, headers=dict(request.headers))


def test_a_requester_reads_what_workers_wrote_to_it_and_nothing_else(
    marketplace: Marketplace, rosa: Requester, omar: Requester
) -> None:
    wanda = Wanda(marketplace)
    hit_id = rosa.hit()["HITId"]
    for number in (1, 2):
        wanda.person.post(f"/contact/{hit_id}", subject=f"Page {number}", text="Why?")
    first, second = ask(marketplace, rosa, {}).json()["Messages"]
    assert (first["Subject"], first["MessageText"], first["WorkerId"]) == ("Page 1", "Why?", wanda.id)
    assert (first["HITId"], second["Subject"]) == (hit_id, "Page 2")
    assert ask(marketplace, rosa, {"After": first["MessageId"]}).json()["Messages"] == [second]
    assert ask(marketplace, rosa, {"After": second["MessageId"]}).json() == {"Messages": []}
    assert ask(marketplace, omar, {}).json() == {"Messages": []}
    for wrong in ({"After": "x"}, {"After": 1}, {"After": "9" * 30}, []):
        assert ask(marketplace, rosa, wrong).json()["__type"] == "RequestError", wrong
    assert marketplace.http.get(PATH).status_code == 405
    unsigned = marketplace.http.post(PATH, json={}, headers={"X-Amz-Target": TARGET})
    assert unsigned.json()["__type"] == "MissingAuthenticationTokenException"


def test_a_worker_who_asks_is_answered_before_any_work_of_theirs_is_decided_on(
    marketplace: Marketplace, rosa: Requester, omar: Requester
) -> None:
    wanda = Wanda(marketplace)
    wanda.person.post(f"/contact/{rosa.hit()['HITId']}", subject="Page 2", text="May I use a dictionary?")

    answer = {"Subject": "Re: Page 2", "MessageText": "Yes.", "WorkerIds": [wanda.id]}
    assert rosa.client.notify_workers(**answer)["NotifyWorkersFailureStatuses"] == []
    assert len(omar.client.notify_workers(**answer)["NotifyWorkersFailureStatuses"]) == 1  # she did not write to Omar

    assert wanda.look()["messages"].count({"subject": "Re: Page 2", "text": "Yes."}) == 1
