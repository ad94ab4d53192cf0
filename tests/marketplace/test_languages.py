"""The workers' pages in their own language: whole catalogues, and no English on Arabic pages."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.marketplace.people import OPERATOR, Person, Wanda, market, people
from tests.marketplace.server import Marketplace
from tests.translations import calls_in, template_texts

__all__ = ["market", "people"]

ROOT = Path(__file__).parents[2]
LOCALES = ("ar", "de", "es", "fr", "zh_Hans")
HELD = re.compile(r"%(?:\(\w+\))?[sd]")  # what is filled in
TEMPLATES = ("templates/*.html", "templates/marketplace/*.html", "templates/marketplace/workers/*.html")
MODULES = ("workers/*.py", "error_pages.py", "pages.py", "sentences.py", "templatetags/people.py")
REFUSALS = ("accounts", "assignments", "messages", "qualifications")  # services whose refusals workers read as well


def refusals() -> Iterator[str]:
    """Whole sentences with which services refuse something."""
    for name in REFUSALS:
        for node in ast.walk(ast.parse((ROOT / f"marketplace/services/{name}.py").read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                text = node.exc.args[0]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def needed() -> set[str]:
    """What workers read, in English."""
    texts = set(template_texts(ROOT / "marketplace", TEMPLATES))
    for pattern in MODULES:
        for path in (ROOT / "marketplace").glob(pattern):
            texts |= set(calls_in(ast.parse(path.read_text())))
    return texts


def catalogue(locale: str) -> dict[str, list[str]]:
    """A compiled catalogue: each text with its translations, one for each form of a plural."""
    with (ROOT / "marketplace/locale" / locale / "LC_MESSAGES/django.mo").open("rb") as file:
        stored = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    texts: dict[str, list[str]] = {}
    for key, text in stored.items():
        texts.setdefault(key if isinstance(key, str) else key[0], []).append(text)
    texts.pop("", None)
    return texts


@pytest.mark.parametrize("locale", LOCALES)
def test_a_catalogue_is_complete_and_fills_in_the_same(locale: str) -> None:
    texts = catalogue(locale)
    assert needed() - set(texts) == set(), "add them to marketplace/locale/*/LC_MESSAGES/django.po: make translations"
    others = set(texts) - needed() - set(refusals())
    assert others == {"You have accepted a task. Submit or return it first."}, "nobody reads them any more"
    for text, translations in texts.items():
        assert all(translation.strip() for translation in translations), text
        if text != "%(days)d day":  # not every form of which has a number
            assert [sorted(HELD.findall(translation)) for translation in translations] == [
                sorted(HELD.findall(text))
            ], text


def english_on(page: str) -> set[str]:
    """Latin words on a page that are neither names, nor codes, nor texts of requesters."""
    tree = LexborHTMLParser(page)
    assert tree.root is not None and tree.root.attributes["lang"] == "ar" and tree.root.attributes["dir"] == "rtl"
    assert tree.body is not None
    read = [
        value or ""
        for node in tree.css("*")
        for name, value in node.attributes.items()
        if name in ("aria-label", "placeholder") or name.startswith("data-text")
    ]
    for node in tree.css('[dir="auto"], .code, script, option, iframe'):
        node.decompose()
    words = {word for text in [*read, tree.body.text(separator=" ")] for word in re.findall(r"[A-Za-z]{2,}", text)}
    return words - {"UTC", "WA", "ON", "NZ", "US"}


def test_no_english_is_on_a_workers_page_in_arabic_and_operators_and_programs_read_english(people: Marketplace) -> None:
    rosa, wanda = people.requester(), Wanda(people)
    person = wanda.person
    person.http.headers["Accept-Language"] = "ar,en;q=0.5"
    hit_id = rosa.hit(Title="عنوان", Description="وصف", MaxAssignments=2)["HITId"]
    group = str(rosa.client.get_hit(HITId=hit_id)["HIT"]["HITGroupId"])
    visitor = people.http
    headers = {"Accept-Language": "ar"}
    invitation = people.invite()
    for_anybody = ("/welcome", "/login", "/nothing", "/mturk/externalSubmit", invitation)
    pages = {path: visitor.get(path, headers=headers).text for path in for_anybody}
    paths = ("/tasks", "/history", "/earnings", "/qualifications", "/messages", "/account", "/account/password")
    pages |= {
        path: person.get(path).text for path in (*paths, "/account/close", f"/tasks/{hit_id}", f"/contact/{hit_id}")
    }
    pages["wrong password"] = person.post(
        "/account/password", old_password="x", new_password1="y", new_password2="z"
    ).text
    accepted = wanda.accept(hit_id)
    pages |= {name: person.get(f"/work/{accepted}{name}").text for name in ("", "/return", "/check")}
    pages["closing while at work"] = person.post("/account/close").text
    wanda.submit(accepted)
    pages["submitted"] = person.get(f"/work/{accepted}").text
    rosa.client.reject_assignment(AssignmentId=accepted, RequesterFeedback="لا")
    pages |= {"rejected": person.get(f"/work/{accepted}").text, "history": person.get("/history").text}
    pages["again"] = person.post(f"/tasks/{hit_id}/accept").text
    pages["none left"] = person.post(f"/kinds/{group}/accept").text
    pages["only a form"] = person.get(f"/tasks/{hit_id}/accept").text
    english = {name: english_on(page.replace(wanda.email, "")) for name, page in pages.items()}
    assert {name: words for name, words in english.items() if words} == {}
    assert "ألمانيا" in pages[invitation]

    chosen = person.post("/language", language="de", next="/tasks")
    assert chosen.headers["Location"] == "/tasks"
    assert '<html lang="de" dir="ltr">' in person.get("/tasks").text
    operator = Person(people, OPERATOR)
    operator.http.headers["Accept-Language"] = "ar"
    assert '<html lang="en" dir="ltr">' in operator.get("/operator/").text
