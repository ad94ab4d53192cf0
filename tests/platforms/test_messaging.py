"""Messages between researchers and workers, at a real marketplace: read, answered, written to many, each sent once."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.errors import NotNow
from core.models import User
from judgments import quality
from platforms import jobs as platform_jobs
from platforms.messages import conversations
from platforms.models import Message, Publication
from platforms.reviewing.settling import publication_settle
from platforms.syncing import publication_sync
from review import deciding
from tests.marketplace.people import Wanda
from tests.marketplace.server import Marketplace
from tests.platforms.platforms import drain, published_hit_of, settle, work


def told(person: Wanda) -> str:
    """The messages that the worker reads."""
    return person.person.get("/messages").text


def test_a_workers_question_arrives_once_is_answered_and_the_worker_reads_it(
    client: Client, published: Publication, marketplace: Marketplace, rita: User
) -> None:
    wanda = Wanda(marketplace, vouched_approved=20_000)
    hit_id = published_hit_of(published, 1).platform_hit_id
    assert wanda.person.post(f"/contact/{hit_id}", subject="Page 2", text="Which one?").status_code == 303
    assert platform_jobs.messages() == "messages received: 1, sent: 0"
    assert platform_jobs.messages() == "messages received: 0, sent: 0"
    (message,) = Message.objects.all()
    assert (message.subject, message.text, message.state) == ("Page 2", "Which one?", "received")
    assert message.hit == published_hit_of(published, 1).hit

    client.force_login(rita)
    campaign = published.campaign
    page = client.get(reverse("platforms:messages", args=[campaign.pk])).content.decode()
    assert "Which one?" in page
    assert wanda.id not in page  # a pseudonym stands for the worker
    assert "Answer 1 message" in client.get(reverse("campaigns:campaign", args=[campaign.pk])).content.decode()

    # the platform takes messages to those alone whose work was decided on
    done = work(published, wanda)
    publication_sync(publication=published, at=timezone.now())
    quality.confirmed_check_all(at=timezone.now())
    publication_settle(publication=published, at=timezone.now())
    drain(published)
    conversation = reverse("platforms:conversation", args=[campaign.pk, done.worker_id])
    assert client.post(conversation, {"subject": "Re: Page 2", "text": "The left one."}).status_code == 303
    assert Message.objects.filter(state="answered").count() == 1
    assert platform_jobs.messages() == "messages received: 0, sent: 1"
    assert "Re: Page 2" in told(wanda)
    assert platform_jobs.messages() == "messages received: 0, sent: 0"  # once


def test_many_are_written_to_at_once_and_each_reads_it_once(
    published: Publication, marketplace: Marketplace, rita: User
) -> None:
    people = [Wanda(marketplace, vouched_approved=20_000) for _worker in range(2)]
    for number, worker in enumerate(people, start=1):
        work(published, worker, number)
    settle(published)
    campaign, at = published.campaign, timezone.now()
    chosen = campaign.assignments.all()
    bulk = deciding.bulk_create(campaign=campaign, action="message", chosen=chosen, why="Thank you.", by=rita, at=at)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    [subject] = {message.subject for message in Message.objects.filter(text="Thank you.")}
    assert subject not in told(people[0]) + told(people[1])
    assert platform_jobs.messages() == "messages received: 0, sent: 2"
    assert all(subject in told(worker) for worker in people)
    assert platform_jobs.messages() == "messages received: 0, sent: 0"


def test_a_message_whose_answer_is_lost_is_not_sent_again(
    published: Publication, marketplace: Marketplace, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanda = Wanda(marketplace, vouched_approved=20_000)
    done = work(published, wanda)
    campaign, at = published.campaign, timezone.now()
    with pytest.raises(NotNow, match="no message to this worker yet"):
        fields: dict[str, Any] = {"publication": published, "worker": done.worker, "subject": "Hello", "text": "You."}
        conversations.message_write(**fields, by=rita, at=at)
    publication_sync(publication=published, at=at)
    quality.confirmed_check_all(at=at)
    publication_settle(publication=published, at=at)
    drain(published)
    chosen = campaign.assignments.all()
    bulk = deciding.bulk_create(campaign=campaign, action="message", chosen=chosen, why="Thank you.", by=rita, at=at)
    deciding.bulk_run(bulk=bulk, at=at, seconds=60)
    calls: list[list[str]] = []

    def lose(
        _adapter: object, _client: object, _publication: object, *, subject: str, text: str, worker_ids: list[str]
    ) -> dict[str, str]:
        calls.append(worker_ids)
        raise TimeoutError("no answer")

    monkeypatch.setattr("platforms.mturk.adapter.MTurkAdapter.write_to", lose)
    assert conversations.messages_send(publication=published) == 0
    assert conversations.messages_send(publication=published) == 0
    assert len(calls) == 1
    message = Message.objects.get()
    assert (message.state, message.text) == ("failed", "Thank you.")
    assert "not sent again" in message.error
