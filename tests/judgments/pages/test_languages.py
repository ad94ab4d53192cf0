"""The workers' pages in their own language: whole catalogues, and no English on an Arabic campaign's pages."""

import gettext
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import translation
from selectolax.lexbor import LexborHTMLParser

from core.languages import language_of
from judgments.models import Judgment
from judgments.pages.worker import span
from pools.models import Campaign
from runs.models import Collection
from tasks import links
from tasks import services as task_services
from tests import factories
from tests.translations import worker_texts

ROOT = Path(__file__).parents[3]
LOCALES = ("ar", "de", "es", "fr", "zh_Hans")
PLURALS = ("One question has no answer", "%(days)d day")  # not every form has a number
HELD = re.compile(r"%\(\w+\)[sd]|\{n\}|<[^>]+>")  # what is filled in


def catalogue(locale: str) -> dict[str, list[str]]:
    """A compiled catalogue: each text with its translations, one for each form of a plural."""
    path = ROOT / "locale" / locale / "LC_MESSAGES" / "django.mo"
    with path.open("rb") as file:
        stored = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    texts: dict[str, list[str]] = {}
    for key, text in stored.items():
        texts.setdefault(key if isinstance(key, str) else key[0], []).append(text)
    texts.pop("", None)
    return texts


def source(locale: str) -> dict[str, list[str]]:
    """The same as it is written."""
    texts: dict[str, list[str]] = {}
    for block in (ROOT / "locale" / locale / "LC_MESSAGES" / "django.po").read_text().split("\n\n")[1:]:
        parts = dict(re.findall(r'^(msg\S+) "((?:[^"\\]|\\.)*)"$', block, re.MULTILINE))
        plain = {
            name: re.sub(r'\\(["\\n])', lambda m: "\n" if m[1] == "n" else m[1], text) for name, text in parts.items()
        }
        texts[plain["msgid"]] = [text for name, text in plain.items() if name.startswith("msgstr")]
    return texts


@pytest.mark.parametrize("locale", LOCALES)
def test_a_catalogue_is_complete_fills_in_the_same_and_is_compiled(locale: str) -> None:
    texts = catalogue(locale)
    needed = worker_texts(ROOT)
    assert needed - set(texts) == set(), "add them to locale/*/LC_MESSAGES/django.po, then: make translations"
    assert set(texts) - needed == set(), "nobody reads them any more"
    assert source(locale) == texts, "make translations"
    for text, translations in texts.items():
        assert all(translation.strip() for translation in translations), text
        if not text.startswith(PLURALS):
            assert sorted(HELD.findall(translations[0])) == sorted(HELD.findall(text)), text
        else:
            assert all(
                set(HELD.findall(translation)) <= {"%(n)s", "%(count)d", "%(days)d"} for translation in translations
            ), text


def test_no_catalogue_has_a_text_twice_which_could_not_be_compiled() -> None:
    written = [*ROOT.glob("locale/*/LC_MESSAGES/django.po"), *ROOT.glob("marketplace/locale/*/LC_MESSAGES/django.po")]
    assert len(written) == 2 * len(LOCALES) + 1
    twice = {}
    for path in written:
        texts = Counter(re.findall(r'^msgid "(.+)"$', path.read_text(), re.MULTILINE))
        twice[str(path)] = [text for text, count in texts.items() if count > 1]
    assert {path: texts for path, texts in twice.items() if texts} == {}


def test_what_the_log_in_pages_are_called_is_compiled() -> None:
    assert source("en") == catalogue("en"), "make translations"


def test_each_language_of_the_settings_has_a_catalogue_and_tags_find_theirs() -> None:
    assert {code for code, _name in settings.LANGUAGES} - {"en"} == {name.lower().replace("_", "-") for name in LOCALES}
    tags = {
        "de-AT": "de",
        "zh": "zh-hans",
        "zh-CN": "zh-hans",
        "AR": "ar",
        "fr_CA": "fr",
        "sw": "en",
        "": "en",
        "?": "en",
    }
    assert {tag: language_of(tag) for tag in tags} == tags


@pytest.fixture
def arabic(collection: Collection) -> Campaign:
    """An open campaign in Arabic, whose words are all ours."""
    return factories.campaign(collection, "arabic", language="ar", pairs_per_hit=3, tests_per_hit=2)


def english_on(page: str) -> set[str]:
    """Latin words on a page that are neither names nor texts in another language."""
    tree = LexborHTMLParser(page)
    assert tree.root is not None and tree.root.attributes["lang"] == "ar" and tree.root.attributes["dir"] == "rtl"
    read = [
        value or ""
        for node in tree.css("*")
        for name, value in node.attributes.items()
        if name in ("aria-label", "placeholder") or name.startswith("data-text")
    ]
    read += [node.attributes["content"] or "" for node in tree.css("meta[name=description]")]
    title = tree.css_first("title").text()
    for query in factories.QUERIES.values():  # in the language of the collection
        title = title.replace(query, "")
    for node in tree.css('[lang="en"], .languages button, kbd, .code, script, title'):
        node.decompose()
    assert tree.body is not None
    words = {
        word for text in [*read, title, tree.body.text(separator=" ")] for word in re.findall(r"[A-Za-z]{2,}", text)
    }
    return words - {"Bestknown", "UTC", "Rita", "lab", "rita"}


def test_no_english_is_on_any_page_of_an_arabic_campaign(arabic: Campaign) -> None:
    browser = Client()
    worker = factories.worker(arabic, "Amal")
    home = reverse("judging:home", args=[links.home_token(worker, arabic)])
    pages = {
        "preview": browser.get(reverse("judging:preview", args=[arabic.link])),
        "consent": browser.get(reverse("judging:join", args=[arabic.link])),
        "declined": browser.get(reverse("judging:declined", args=[arabic.link])),
        "a task waits": browser.get(home),
    }
    assignment = factories.take(worker, arabic)
    token = links.assignment_token(assignment)
    address = {
        name: reverse(f"judging:{name}", args=[token]) for name in ("instructions", "finish", "leave", "done", "note")
    }
    item, report = (reverse(f"judging:{name}", args=[token, 1]) for name in ("item", "report"))
    pages |= {
        "a task in progress": browser.get(home),
        "item": browser.get(item),
        "report": browser.get(report),
        "no reason": browser.post(report, {"reason": ""}),
        "instructions": browser.get(address["instructions"]),
        "finish too early": browser.get(address["finish"]),
        "leave at once": browser.get(address["leave"]),
    }
    browser.post(report, {"reason": "broken"})
    pages["reported"] = browser.get(item)
    factories.judge(assignment, fail_tests=True)
    assert Judgment.objects.count() == 5
    pages |= {
        "judged": browser.get(item),
        "finish": browser.get(address["finish"]),
        "leave": browser.get(address["leave"]),
    }
    browser.post(address["finish"])
    pages |= {
        "done": browser.get(address["done"]),
        "empty note": browser.post(address["note"], {"text": ""}),
        "no more": browser.get(home),
        "no such question": browser.get(reverse("judging:item", args=[token, 77]), follow=True),
    }
    task_services.campaign_move(campaign=arabic, to="paused")
    pages["paused"] = browser.get(reverse("judging:preview", args=[arabic.link]))
    english = {name: english_on(answer.content.decode()) for name, answer in pages.items()}
    assert {name: words for name, words in english.items() if words} == {}
    assert "‎" not in pages["done"].content.decode()
    assert "$" in pages["done"].content.decode() and "2,00" in pages["done"].content.decode()


def test_only_a_campaign_without_a_language_follows_the_browsers(campaign: Campaign) -> None:
    address = reverse("judging:preview", args=[campaign.link])
    german = {"HTTP_ACCEPT_LANGUAGE": "de-AT,de;q=0.9"}
    for language, expected in (("", "de"), ("en", "en"), ("sw", "en"), ("fr", "fr")):
        Campaign.objects.update(language=language)
        assert f'<html lang="{expected}"' in Client().get(address, **german).content.decode()
    assert '<html lang="en"' in Client().get(reverse("login"), **german).content.decode()  # not the researcher's pages


def test_a_worker_chooses_the_language_of_the_pages_and_the_campaigns_words_stay_in_its_own(campaign: Campaign) -> None:
    browser, address = Client(), reverse("judging:preview", args=[campaign.link])
    page = LexborHTMLParser(browser.get(address).content.decode())
    form = page.css_first("form.languages")
    assert [button.attributes["lang"] for button in form.css("button")] == [code for code, _name in settings.LANGUAGES]
    assert form.css_first("[aria-current]").text() == "English"
    sent = {"language": "ar", "next": form.css_first("[name=next]").attributes["value"]}
    chosen = browser.post(form.attributes["action"], sent)
    assert chosen["Location"] == address
    page = LexborHTMLParser(browser.get(address).content.decode())
    assert page.root.attributes["dir"] == "rtl"
    title = page.css_first("h1")
    assert (title.text(), title.attributes["lang"]) == ("Compare answers to questions", "en")
    assignment = factories.take(factories.worker(campaign, "Amal"), campaign)
    item = LexborHTMLParser(
        browser.get(reverse("judging:item", args=[links.assignment_token(assignment), 1])).content.decode()
    )
    assert item.root.attributes["lang"] == "ar"
    assert item.css_first(".eyebrow").text() == "Which passage best answers the question?"
    assert '<html lang="en"' in browser.get(reverse("login")).content.decode()
    assert '<html lang="en"' in Client().get(address).content.decode()
    elsewhere = browser.post(form.attributes["action"], {"language": "de", "next": "https://example.org/"})
    assert elsewhere["Location"] == "/"


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(minutes=8), "8 د"),
        (timedelta(hours=2, minutes=30), "2 س 30 د"),
        (timedelta(days=2), "يومان"),
        (timedelta(days=7), "7 أيام"),
        (timedelta(days=14), "14 يومًا"),
    ],
)
def test_arabic_counts_time_as_its_grammar_asks(length: timedelta, words: str) -> None:
    with translation.override("ar"):
        assert span(length) == words
