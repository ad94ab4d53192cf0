"""What researchers read about a campaign at Prolific is in Prolific's words."""

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core import mail
from django.template import Context, Template
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone
from selectolax.lexbor import LexborHTMLParser

from core.alarms import alarm_raise
from core.mail import mails_send
from core.models import User
from judgments import alarm_mails
from judgments import services as judgment_services
from platforms.models import Operation, Payment, PlatformAlarm, Publication
from platforms.prolific.words import VOCABULARY
from platforms.publishing.publications import publication_publish
from platforms.registry import ADAPTERS
from platforms.reviewing.compensations import compensations_find
from platforms.vocabulary import Vocabulary
from tests import factories
from tests.platforms.platforms import Clock, drain, settle
from tests.platforms.prolific.test_work import begin, work
from tests.simulation.prolific import Double

FOLDER = Path(django_settings.BASE_DIR)
GENERAL = re.compile(r"\b(HITs?|[Aa]ssignments?|[Ww]orkers?|[Rr]equesters?|marketplace|[Tt]h(e|is) platform)\b")
# Pages about all platforms, about the time before one is chosen, or about templates: they stay general.
OF_NO_PLATFORM = {"costs", "consequences", "lab_account", "pay_floor", "template"}
OF_NO_PLATFORM |= {"template_save", "template_terms", "templates"}
MODULES_OF_NO_PLATFORM = {"template_views", "templating", "lists", "admin", "registry", "arriving", "steps"}
MODULES_OF_NO_PLATFORM |= {"repaying", "lab_accounts", "adapter"}
# Said where there is no such thing at Prolific: a count of a marketplace's active people, a frame, a small base.
NEVER_THERE = re.compile(
    r"marketplace's|The marketplace has|QualificationTypeId|API's|has not been accepted|requests for more"
)


def said_in_code() -> Iterator[tuple[str, str]]:
    """Each text for people in the package's modules."""
    package = FOLDER / "platforms"
    wings = ("", "messages", "money", "publishing", "reviewing", "views")
    for path in sorted(path for wing in wings for path in (package / wing).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                few = {"_": 1, "_gettext": 1, "gettext_lazy": 1, "ngettext": 2}.get(node.func.id, 0)
                for argument in node.args[:few]:
                    if isinstance(argument, ast.Constant):
                        yield path.stem, str(argument.value)


def said_on_pages() -> Iterator[tuple[str, str]]:
    """Each text in the package's templates, with the names of its values as `%(name)s`."""
    before = [FOLDER / "templates" / "campaigns" / f"{name}.html" for name in OF_NO_PLATFORM]
    for path in sorted([*(FOLDER / "templates" / "platforms").glob("*.html"), *filter(Path.is_file, before)]):
        source = path.read_text()
        for match in re.finditer(r'{% translate "([^"]*)"|_\("([^"]*)"\)', source):
            yield path.stem, match[1] or match[2]
        for match in re.finditer(r"{% blocktranslate[^%]*%}(.*?){% endblocktranslate %}", source, re.DOTALL):
            for text in match[1].split("{% plural %}"):
                yield path.stem, re.sub(r"{{ *(\w+) *}}", r"%(\1)s", " ".join(text.split()))


def main_of(page: Browser, address: str) -> str:
    """What a page says in its main part, with what a screen reader reads."""
    answer = page.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    body = LexborHTMLParser(answer.content.decode()).css_first("main")
    assert body is not None
    announced = [
        node.attributes.get(name) or "" for name in ("data-announce", "aria-label") for node in body.css(f"[{name}]")
    ]
    return " ".join([body.text(separator=" "), *announced])


def general_in(text: str) -> list[str]:
    """The general words of a text, each with what is around it."""
    return [
        text[max(0, match.start() - 40) : match.end() + 40]
        for match in GENERAL.finditer(text.replace("our own marketplace", ""))
    ]


def test_terms_stand_for_themselves_and_values_are_left_alone() -> None:
    words = Vocabulary({"worker": "participant", "a worker": "somebody", "HIT": "task"}, {"Nothing.": "None at all."})
    assert words.phrase("HIT by a HIT. HIT") == "Task by a task. Task"
    assert words.phrase("Workers: 3 worker of HIT") == "Workers: 3 participant of task"
    assert words.phrase("A worker’s HIT") == "Somebody’s task"
    assert words.phrase("%(worker)s does %(HIT)s, workerless") == "%(worker)s does %(HIT)s, workerless"
    assert words.phrase("Nothing.") == "None at all." and Vocabulary().phrase("A HIT") == "A HIT"


def test_values_that_hold_a_general_word_are_shown_as_they_are() -> None:
    source = "{% load i18n platform_words %}{% blocktranslate %}The worker said {{ what }}{% endblocktranslate %}"
    context = {"what": "HIT the worker", "publication": Publication(platform="prolific")}
    assert Template(source).render(Context(context)) == "The participant said HIT the worker"
    context["publication"] = Publication(platform="mturk")
    assert Template(source).render(Context(context)) == "The worker said HIT the worker"
    assert Template(source).render(Context({"what": "it"})) == "The worker said it"


def test_every_general_text_about_a_publication_has_its_words_at_prolific() -> None:
    left = [
        (where, phrased)
        for where, text in [*said_in_code(), *said_on_pages()]
        if where not in OF_NO_PLATFORM | MODULES_OF_NO_PLATFORM and not NEVER_THERE.search(text)
        if GENERAL.search(re.sub(r"%\(\w+\)", "", phrased := VOCABULARY.phrase(text)))
    ]
    assert left == []


def test_every_sentence_that_prolific_says_otherwise_is_said_somewhere() -> None:
    sentences = {text for _where, text in [*said_in_code(), *said_on_pages()]}
    assert [text for text in VOCABULARY.sentences if text not in sentences] == []
    assert {name for name, adapter in ADAPTERS.items() if adapter.vocabulary.terms} == {"prolific"}


def test_the_pages_before_publishing_speak_of_studies_places_and_participants(
    publication: Publication, page: Browser
) -> None:
    for name, words in (
        ("terms", ("participants are told", "Time for a task")),
        ("filters", ("Filters",)),
        ("publish", ("POST /studies/", "participants were active", "places at Prolific", "Places")),
    ):
        text = main_of(page, reverse(f"platforms:{name}", args=[publication.campaign_id]))
        assert general_in(text) == [], name
        for word in words:
            assert word in text, (name, word)


def test_the_pages_of_a_study_speak_its_words_with_work_calls_and_alarms_of_every_kind(
    published: Publication, prolific: Double, page: Browser
) -> None:
    clock = Clock()
    _place, done = work(published, prolific, "Done")
    _place, left = begin(published, prolific, "Left")
    factories.judge(left, only=[1, 2])
    judgment_services.assignment_leave(assignment=left, at=clock())
    prolific.give_back(left.platform_assignment_id)
    stray = prolific.take(published.hit_type_id, prolific.participant("Stray"))
    prolific.complete(stray.submission, "WRONG")
    settle(published, clock)
    clock.sleep(published.longest_time.total_seconds() + 7200)
    settle(published, clock)
    compensations_find(publication=published, at=clock())
    published.operations.update(state="refused", error="No.")  # so that each is listed
    assert not [kind.label for kind in Operation.Kind if GENERAL.search(VOCABULARY.phrase(str(kind.label)))]
    for kind in PlatformAlarm:
        if kind not in set(published.alarms.values_list("kind", flat=True)):
            alarm_raise(of=published, kind=kind, text=f"An alarm: {kind}.", at=clock())
    addresses = [
        reverse(f"platforms:{name}", args=[published.campaign_id])
        for name in (
            "publication",
            "submissions",
            "compensations",
            "messages",
            "ledger",
            "terms",
            "adjustment",
            "stop",
            "expire",
        )
    ]
    addresses += [reverse("platforms:submissions", args=[published.campaign_id]) + "?show=all"]
    addresses += [reverse("platforms:conversation", args=[published.campaign_id, done.worker_id])]
    addresses += [
        reverse("platforms:submission", args=[published.campaign_id, submission.pk])
        for submission in published.submissions.all()
    ]
    assert published.submissions.count() == 2 and Payment.objects.filter(purpose="compensation").exists()
    assert {address: matches for address in addresses if (matches := general_in(main_of(page, address)))} == {}
    state = main_of(page, addresses[0])
    assert "create the draft of the study" in state or "create the group" in state
    assert "An alarm: leaves." in state and "The study is open until" in state
    for name, words in (
        ("pause", "The study is being paused"),
        ("resume", "started again"),
        ("expire", "being paused"),
    ):
        answer = page.post(reverse(f"platforms:{name}", args=[published.campaign_id]), {"why": "so"}, follow=True)
        assert words in answer.content.decode(), name


def test_the_mail_of_an_alarm_speaks_them_too(published: Publication, rita: User, settings: Any) -> None:
    settings.HAS_MAIL, rita.email = True, "rita@example.org"
    rita.save()
    type(published.campaign).objects.filter(pk=published.campaign_id).update(created_by=rita)
    at = timezone.now()
    alarm_raise(of=published, kind=PlatformAlarm.UNSEEN, text="…", at=at)
    alarm_mails.episodes_follow(at=at)
    for episode in alarm_mails.episodes_to_mail():
        alarm_mails.episode_mail(episode=episode, at=at)
    mails_send(at=at)
    (sent,) = mail.outbox
    assert "no participant has opened a task" in sent.subject and not GENERAL.search(sent.body)


def test_terms_that_mean_nothing_at_prolific_are_marked_before_publishing_and_gone_afterwards(
    publication: Publication, page: Browser
) -> None:
    address = reverse("platforms:terms", args=[publication.campaign_id])
    draft = main_of(page, address)
    assert "Not used: Prolific approves after 21 days" in draft and "not possible at Prolific" in draft
    clock = Clock()
    publication_publish(publication=publication, at=clock(), typed_name=publication.campaign.name)
    drain(publication, clock)
    published = main_of(page, address)
    assert "Wait before approving" in published
    assert not [word for word in ("Lifetime", "Automatic approval after", "Keywords", "Base") if word in published]
    minutes = publication.assignment_duration // timedelta(minutes=1)
    typed = {"title": publication.title, "description": publication.description, "assignment_duration": minutes}
    typed |= {"approve_after": "3", "rate": "1000"}
    answer = page.post(address, typed)
    assert answer.status_code == 200, answer.content.decode()
    assert page.post(address, typed | {"seen": answer.context["seen"]}).status_code == 303
    publication.refresh_from_db()
    assert publication.approve_after == timedelta(hours=3)
    assert publication.keywords and publication.lifetime  # kept as they were
