"""The XML of questions and of answers. Pure, and careful: requesters and workers send what they like.

No DOCTYPE is taken, so there are no entities to expand and nothing to fetch; documents are small.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from defusedxml import DTDForbidden, ElementTree

from marketplace.errors import InvalidQuestion, Unsupported

QUESTION_BYTES = 65_535
ANSWER_BYTES = 131_072
EXTERNAL = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
HTML = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
ANSWERS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
PREVIEW_ASSIGNMENT = "ASSIGNMENT_ID_NOT_AVAILABLE"
FRAME_LIMIT = 10_000  # pixels
_CROWD = re.compile(r"<crowd-[a-z]|crowd-html-elements", re.IGNORECASE)


class Question(NamedTuple):
    """What a worker is shown: a page of the requester's at `url`, or `html` of the requester's; one is empty.

    `frame_height` is in pixels; 0 means as high as fits.
    """

    url: str
    html: str
    frame_height: int


def question_read(document: str, *, insecure_urls: bool = False) -> Question:
    """Read an ExternalQuestion or HTMLQuestion. `insecure_urls` takes http, for development.

    Raises InvalidQuestion, or Unsupported for the other kinds that Mechanical Turk knew.
    """
    root = _parse(document)
    name, namespace = _name(root), root.tag.rpartition("}")[0].removeprefix("{")
    if name == "QuestionForm":
        raise Unsupported("QuestionForm is not supported here. Use an HTMLQuestion or an ExternalQuestion.")
    expected = {"ExternalQuestion": (EXTERNAL, "ExternalURL"), "HTMLQuestion": (HTML, "HTMLContent")}.get(name)
    if expected is None:
        raise InvalidQuestion(f"The question's root element is {name}, not HTMLQuestion or ExternalQuestion.")
    schema, content = expected
    if namespace != schema:
        raise InvalidQuestion(f"The root element {name} has the namespace '{namespace}', not '{schema}'.")
    fields = _fields(root)
    extra = set(fields) - {content, "FrameHeight"}
    if extra or len(fields) != 2:
        raise InvalidQuestion(f"{name} holds {content} and FrameHeight, and nothing else.")
    height = fields["FrameHeight"].strip()
    if not (height.isascii() and height.isdigit() and int(height[:6]) <= FRAME_LIMIT):
        raise InvalidQuestion(f"FrameHeight is '{height[:20]}', not a number of pixels from 0 to {FRAME_LIMIT:,}.")
    if name == "HTMLQuestion":
        if not fields[content].strip():
            raise InvalidQuestion("HTMLContent is empty.")
        return Question(url="", html=fields[content], frame_height=int(height))
    return Question(url=_address(fields[content].strip(), insecure_urls), html="", frame_height=int(height))


def question_check(question: Question) -> None:
    """Refuse what could be stored, and would be a page that nobody can work on. Raises Unsupported.

    Crowd HTML Elements are drawn by a script of Amazon's. Without it, a worker sees neither fields nor a button.
    """
    if _CROWD.search(_without_comments(question.html)):
        raise Unsupported(
            "The page uses Crowd HTML Elements (<crowd-form> and the like), which are not supported here: workers "
            "would see no fields and no button. Write the form with plain HTML elements."
        )


def answers_write(fields: Iterable[tuple[str, str]]) -> str:
    """The QuestionFormAnswers document of a submitted form. A name that comes several times is joined by `|`."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    rows = "".join(
        f"<Answer>\n<QuestionIdentifier>{_text(name)}</QuestionIdentifier>\n"
        f"<FreeText>{_text('|'.join(several))}</FreeText>\n</Answer>\n"
        for name, several in values.items()
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<QuestionFormAnswers xmlns="{ANSWERS}">\n{rows}</QuestionFormAnswers>'
    )


def _without_comments(html: str) -> str:
    parts, comment = [], False
    for part in re.split("(<!--|-->)", html):
        if part in ("<!--", "-->"):
            comment = part == "<!--"
        elif not comment:
            parts.append(part)
    return " ".join(parts)


def _text(value: str) -> str:
    """For XML 1.0, which cannot carry most control characters, nor lone surrogates."""
    characters = "".join(
        character if character in "\t\n\r" or (character >= " " and character not in "\ufffe\uffff") else "\ufffd"
        for character in value.encode("utf-8", "replace").decode()
    )
    return escape(characters, {"\r": "&#13;"})


def _address(url: str, insecure: bool) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ({"https", "http"} if insecure else {"https"}) and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        valid = False
    if not valid or any(character.isspace() or character < " " for character in url):
        raise InvalidQuestion(f"ExternalURL is '{url[:200]}', not an address that starts with https://.")
    if parts.username or parts.password:
        raise InvalidQuestion("ExternalURL carries a user name or password. Addresses are shown to workers.")
    return url


def _parse(document: str) -> Element:
    """The root element. Raises InvalidQuestion for what is not XML, is too long, or has a DOCTYPE."""
    try:
        if len(document.encode()) > QUESTION_BYTES:
            raise InvalidQuestion(f"The question has more than {QUESTION_BYTES:,} bytes.")
        root: Element = ElementTree.fromstring(document, forbid_dtd=True)
    except DTDForbidden as error:
        raise InvalidQuestion("The question has a DOCTYPE, which is not allowed.") from error
    except ElementTree.ParseError as error:
        raise InvalidQuestion(f"The question is not XML: {error}.") from error
    except UnicodeEncodeError as error:
        raise InvalidQuestion("The question holds characters that are not Unicode text.") from error
    return root


def _fields(root: Element) -> dict[str, str]:
    """The texts of the root's children, by name. Raises InvalidQuestion if one has children, or two have one name."""
    fields: dict[str, str] = {}
    for child in root:
        name = _name(child)
        if name in fields:
            raise InvalidQuestion(f"The question has several elements {name}.")
        if len(child):
            raise InvalidQuestion(
                f"There is an element {_name(child[0])} inside {name}. "
                "Put HTML into a CDATA section, and write & as &amp; in addresses."
            )
        fields[name] = child.text or ""
    return fields


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
