"""Messages between a worker and requesters."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from marketplace.models import Message, Worker
from marketplace.pages import paginate, read_query, see_other, show_page
from marketplace.selectors.messages import hit_to_ask_about, message_of, messages_of
from marketplace.services.limits import MESSAGE, limit_exceeded
from marketplace.services.messages import message_answer_by_worker, message_read, requester_contact, subject_of_answer
from marketplace.workers.forms import MessageForm
from marketplace.workers.pages import for_worker, show_too_many


@for_worker("GET")
def messages(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Messages in both directions."""
    return show_page(request, "workers/messages.html", {"page": paginate(request, messages_of(worker))})


@for_worker("GET")
def message(request: HttpRequest, worker: Worker, message_pk: int) -> HttpResponse:
    """One message. Opening it marks it as read."""
    message = message_of(worker, message_pk)
    if message.direction == Message.Direction.TO_WORKER:
        message_read(worker=worker, message_pk=message_pk)
    return show_page(request, "workers/message.html", {"message": message})


@for_worker("GET", "POST")
def contact(request: HttpRequest, worker: Worker, hit_id: str) -> HttpResponse:
    """A message to the requester of a task."""
    hit = hit_to_ask_about(worker, hit_id)
    subject = read_query(request, "subject") or hit.hit_type.title
    send = partial(requester_contact, worker=worker, hit_id=hit_id)
    return _write(request, worker, subject, send, {"hit": hit, "requester": hit.requester})


@for_worker("GET", "POST")
def message_answer(request: HttpRequest, worker: Worker, message_pk: int) -> HttpResponse:
    """An answer to a requester's message, which may be about no task, or one more message after one's own."""
    message = message_of(worker, message_pk)
    send = partial(message_answer_by_worker, worker=worker, message=message)
    about = {"hit": message.hit, "requester": message.requester}
    return _write(request, worker, subject_of_answer(message), send, about)


def _write(
    request: HttpRequest, worker: Worker, subject: str, send: Callable[..., Message], about: dict[str, Any]
) -> HttpResponse:
    if request.method == "POST" and limit_exceeded(MESSAGE, worker.worker_id):
        return show_too_many(request)
    form = MessageForm(request.POST if request.method == "POST" else None, initial={"subject": subject})
    if form.is_valid():
        send(**form.cleaned_data)
        notices.success(request, _("Your message has been sent. The answer will appear under Messages."))
        return see_other("workers:messages")
    return show_page(request, "workers/contact.html", about | {"form": form}, status=400 if form.is_bound else 200)
