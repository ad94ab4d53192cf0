"""The pages of a publication's messages: what workers asked, answers, and writing to one."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NotYours
from core.http import Request, refusals_in, see_other, status_of
from core.lists import Listing, render_lists
from core.roles import Right, needs
from platforms import lists as platform_lists
from platforms.messages import conversations
from platforms.models import Message, Publication
from platforms.registry import adapter_of
from pools.http import campaign_of
from pools.models import Campaign
from tasks import selectors as task_selectors
from tasks.models import Worker

LATEST = 50  # messages of one worker that their page shows


class MessageForm(forms.Form):
    """What is written to a worker."""

    subject = forms.CharField(label=gettext_lazy("Subject"), max_length=conversations.MOST_SUBJECT)
    text = forms.CharField(
        label=gettext_lazy("Message"), max_length=conversations.MOST_TEXT, widget=forms.Textarea(attrs={"rows": 6})
    )

    def __init__(self, *arguments: Any, publication: Publication, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if not adapter_of(publication).has_subjects:
            del self.fields["subject"]


def _publication_of(campaign: Campaign) -> Publication:
    publication = Publication.objects.filter(campaign=campaign).exclude(state=Publication.State.DRAFT).first()
    if publication is None:
        raise NotYours(_("This campaign is at no platform, so there is nobody to write to from here."))
    publication.campaign = campaign
    return publication


@needs(Right.SEE)
@require_GET
def message_list(request: Request, pk: int) -> HttpResponseBase:
    """Every message of a publication: those that wait for an answer first."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
    rows, narrow = conversations.messages_of(publication), platform_lists.MessageFilter
    context = {
        "campaign": campaign,
        "publication": publication,
        "listing": Listing(
            request, rows, narrow=narrow, sorts=platform_lists.MESSAGE_SORTS, columns=platform_lists.MESSAGE_COLUMNS
        ),
        "about_writing": adapter_of(publication).about_writing(),
    }
    return render_lists(request, "platforms/messages.html", context)


@needs(Right.SEE, changing=Right.DECIDE)
@require_http_methods(["GET", "POST"])
def conversation(request: Request, pk: int, worker_pk: int) -> HttpResponse:
    """What was written between a worker and the researchers. POST writes to the worker."""
    campaign = campaign_of(request, pk)
    publication = _publication_of(campaign)
    worker = _worker_of(campaign, publication, worker_pk)
    exchanged = conversations.messages_of(publication).filter(worker=worker)
    last = exchanged.filter(state__in=Message.INCOMING).first()
    subject = publication.title if last is None else conversations.subject_of_answer(last)
    form = MessageForm(initial={"subject": subject}, publication=publication)
    if request.method == "POST":
        form = MessageForm(request.POST, publication=publication)
        if form.is_valid():
            fields: dict[str, Any] = {"subject": subject, **form.cleaned_data}
            with refusals_in(form):
                conversations.message_write(
                    publication=publication, worker=worker, by=request.user, at=timezone.now(), **fields
                )
                messages.success(request, _("The message is sent in the background, within a minute."))
                return see_other("platforms:conversation", pk, worker_pk)
    context = {
        "campaign": campaign,
        "publication": publication,
        "worker": worker,
        "exchanged": exchanged[:LATEST],
        "form": form,
        "about_writing": adapter_of(publication).about_writing(),
    }
    return render(request, "platforms/conversation.html", context, status=status_of(form))


@needs(Right.DECIDE)
@require_POST
def message_set_aside(request: Request, pk: int, message_pk: int) -> HttpResponse:
    """Decide that a message needs no answer."""
    publication = _publication_of(campaign_of(request, pk))
    message = publication.messages.filter(pk=message_pk).first()
    if message is None:
        raise NotYours(_("This campaign has no such message."))
    conversations.message_set_aside(message=message)
    return see_other("platforms:messages", pk)


def _worker_of(campaign: Campaign, publication: Publication, worker_pk: int) -> Worker:
    wrote = Worker.objects.filter(pk=worker_pk, messages__publication=publication).first()
    worker = wrote or task_selectors.workers_of(campaign).filter(pk=worker_pk).first()
    if worker is None:
        raise NotYours(_("This campaign has no such worker."))
    return worker
