"""Many at once, on the same rows: nothing is done twice, nothing is lost, nobody gets stuck."""

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor

from tests.marketplace.server import HTML_QUESTION, Marketplace, Requester, hit_type_facts


def test_requesters_workers_and_the_clock_do_not_trip_over_each_other(
    marketplace: Marketplace, rosa: Requester
) -> None:
    crowd = [marketplace.worker() for _ in range(6)]
    hits = [rosa.hit(MaxAssignments=3, AutoApprovalDelayInSeconds=2)["HITId"] for _ in range(4)]
    faults: list[str] = []

    def publish(seed: int) -> None:
        client = marketplace.client(rosa.key_id, rosa.secret)
        for number in range(5):
            client.create_hit(
                LifetimeInSeconds=60,
                Question=HTML_QUESTION,
                UniqueRequestToken=f"{seed} {number}",
                **hit_type_facts(Title=f"Kind {number}"),
            )

    def work(seed: int) -> None:
        chance = random.Random(seed)
        worker = crowd[seed % len(crowd)]
        for hit_id in chance.sample(hits, len(hits)):
            response = marketplace.http.post("/test/accept", json={"worker_id": worker.id, "hit_id": hit_id})
            if response.status_code == 200:
                assignment_id = response.json()["assignment_id"]
                if chance.random() < 0.3:  # two of us are the same worker, and the other may have submitted it
                    fields = {"worker_id": worker.id, "assignment_id": assignment_id}
                    response = marketplace.http.post("/test/return", json=fields)
                else:
                    response = worker.submit(assignment_id)
            if response.status_code >= 500:
                faults.append(response.text)

    def review(seed: int) -> None:
        client = marketplace.client(rosa.key_id, rosa.secret)
        for hit_id in hits * 2:
            for row in client.list_assignments_for_hit(HITId=hit_id, AssignmentStatuses=["Submitted"])["Assignments"]:
                with contextlib.suppress(client.exceptions.RequestError):  # the clock, or a colleague, was first
                    client.approve_assignment(AssignmentId=row["AssignmentId"])

    jobs = [(publish, 1), (publish, 2), (review, 3), (review, 4), *((work, seed) for seed in range(12))]
    with ThreadPoolExecutor(len(jobs)) as pool:
        for outcome in [pool.submit(job, seed) for job, seed in jobs]:
            outcome.result()

    assert faults == []
    assert "deadlock" not in marketplace.log()
    marketplace.advance(days=10)
    statuses = [row for hit_id in hits for row in rosa.client.list_assignments_for_hit(HITId=hit_id)["Assignments"]]
    assert {status["AssignmentStatus"] for status in statuses} == {"Approved"}
    assert rosa.money() == (f"{1000 - 1.20 * len(statuses):.2f}", "0.00")
    earned = sum(float(worker.look()["earnings"]["rewards"]) for worker in crowd)
    assert earned == len(statuses)
