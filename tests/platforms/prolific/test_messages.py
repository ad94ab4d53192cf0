"""Messages between researchers and participants at Prolific: read, answered, written to many, each sent once."""

from datetime import timedelta

import pytest
from django.test import Client as Browser
from django.urls import reverse

from core.models import User
from judgments import services as judgment_services
from platforms import finishing
from platforms import jobs as platform_jobs
from platforms.messages import conversations
from platforms.models import LedgerComparison, Message, MessageCursor, Publication
from review import deciding
from tests import factories
from tests.platforms.platforms import Clock
from tests.platforms.prolific.test_work import begin
from tests.rows import fresh
from tests.simulation.prolific import Double


def read_by(prolific: Double, participant: str) -> list[str]:
    """What the account has written to somebody, by the double's own rows."""
    return [row["body"] for row in prolific.rows("message") if row["recipient"] == participant]


def test_a_participants_question_arrives_once_and_is_answered_on_the_same_pages(
    published: Publication, prolific: Double, rita: User, client: Browser
) -> None:
    place, assignment = begin(published, prolific)
    person = assignment.worker.external_id
    prolific.write(person, "Which one is better?\nI see two.", study=published.hit_type_id)
    prolific.write(prolific.participant("Stranger"), "About another study.", study=None)
    assert platform_jobs.messages() == "messages received: 1, sent: 0"
    assert platform_jobs.messages() == "messages received: 0, sent: 0"
    (message,) = Message.objects.all()
    assert (message.subject, message.state, message.worker) == ("Which one is better?", "received", assignment.worker)
    client.force_login(rita)
    page = client.get(reverse("platforms:messages", args=[published.campaign_id])).content.decode()
    assert "I see two." in page and person not in page
    conversation = reverse("platforms:conversation", args=[published.campaign_id, message.worker_id])
    page = client.get(conversation).content.decode()
    assert 'name="text"' in page and 'name="subject"' not in page
    assert client.post(conversation, {"text": "The left one."}).status_code == 303
    assert platform_jobs.messages() == "messages received: 0, sent: 1"
    assert platform_jobs.messages() == "messages received: 0, sent: 0"  # and what we wrote is not heard
    assert fresh(message).state == "answered" and read_by(prolific, person) == ["The left one."]
    (sent,) = [request for request in prolific.requests("/messages/") if request["method"] == "POST"]
    assert sent["body"]["study_id"] == published.hit_type_id and place.submission not in str(sent["body"])


def test_many_are_written_to_in_one_call(published: Publication, prolific: Double, rita: User) -> None:
    people = [begin(published, prolific, name)[1] for name in ("Pat", "Kim")]
    for assignment in people:
        factories.judge(assignment)
        judgment_services.assignment_finish(assignment=assignment, at=Clock()())
    campaign, at = published.campaign, Clock()()
    chosen = campaign.assignments.all()
    bulk = deciding.bulk_create(campaign=campaign, action="message", chosen=chosen, why="Thank you.", by=rita, at=at)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    assert platform_jobs.messages() == "messages received: 0, sent: 2"
    assert [read_by(prolific, row.worker.external_id) for row in people] == [["Thank you."], ["Thank you."]]
    assert len([request for request in prolific.requests("/messages/") if request["method"] == "POST"]) == 1


@pytest.mark.parametrize(("lost", "reached"), [("lost before", 0), ("lost after", 1)])
def test_a_message_whose_answer_is_lost_is_never_sent_again(
    lost: str, reached: int, published: Publication, prolific: Double, rita: User
) -> None:
    _place, assignment = begin(published, prolific)
    prolific.fault(lost, method="POST", path="/messages/$")
    fields = {"publication": published, "worker": assignment.worker, "subject": "", "text": "Hello.", "by": rita}
    conversations.message_write(**fields, at=Clock()())  # type: ignore[arg-type]
    assert [platform_jobs.messages() for _ in range(3)] == ["messages received: 0, sent: 0"] * 3
    message = Message.objects.get()
    assert message.state == "failed" and "not sent again" in message.error
    assert len(read_by(prolific, assignment.worker.external_id)) == reached


def test_late_messages_are_read_and_a_failure_is_no_end(published: Publication, prolific: Double, rita: User) -> None:
    _place, assignment = begin(published, prolific)
    person = assignment.worker.external_id
    prolific.write(person, "First.", study=published.hit_type_id)
    assert platform_jobs.messages() == "messages received: 1, sent: 0"
    # one that became visible only now, though it was sent minutes ago
    MessageCursor.objects.update(message_id=Clock()().isoformat())
    prolific.write(person, "Late.", study=published.hit_type_id)
    prolific.do("sql", statement="UPDATE message SET sent_at = sent_at - 300 WHERE body = 'Late.'")
    prolific.fault("broken before", path="/messages/", times=6)
    assert platform_jobs.messages() == "messages received: 0, sent: 0"
    assert platform_jobs.messages() == "messages received: 1, sent: 0"
    assert set(Message.objects.values_list("text", flat=True)) == {"First.", "Late."}


def test_whoever_writes_after_the_last_campaign_ended_is_heard_for_a_month(
    published: Publication, prolific: Double, rita: User
) -> None:
    _place, assignment = begin(published, prolific)
    at = Clock()()
    comparison = LedgerComparison.objects.create(
        publication=published, version=1, began_at=at, made_at=at, content={}, is_full=True, differences=0
    )
    # finished: nothing waits, and the revision is the one that was settled
    published.operations.update(state="done")
    published.published_hits.update(next_poll_at=None)
    published.campaign.hits.update(needed=0)
    published.finished_revision = published.campaign.revision
    published.save()
    assert not finishing.unfinished().exists()
    prolific.write(assignment.worker.external_id, "When am I paid?", study=published.hit_type_id)
    assert platform_jobs.messages() == "messages received: 1, sent: 0"
    comparison.began_at = at - conversations.LISTENING - timedelta(days=1)
    comparison.save()
    prolific.write(assignment.worker.external_id, "And now?", study=published.hit_type_id)
    assert platform_jobs.messages() == "messages received: 0, sent: 0"
