"""A platform's own words for what this package says in general ones. Pure.

The general words are Mechanical Turk's: HIT, assignment, worker. A platform with other words brings a `Vocabulary`, and
each sentence is put into these before values are put into it, so that nobody's own words are changed.
"""

import re
from collections.abc import Mapping
from functools import cached_property


class Vocabulary:
    """How a platform says things: `terms` replace words wherever they occur, and `sentences` replace whole texts where
    other words alone would not be right.

    A term stands for itself, not for parts of words, and also with a capital letter. Longer terms come first.
    """

    def __init__(self, terms: Mapping[str, str] | None = None, sentences: Mapping[str, str] | None = None) -> None:
        self.terms, self.sentences = dict(terms or {}), dict(sentences or {})

    def phrase(self, text: str) -> str:
        """A general text in the platform's words."""
        if not self.terms and not self.sentences:
            return text
        sentence = self.sentences.get(text)
        return self._pattern.sub(self._replaced, text) if sentence is None else sentence

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        terms = sorted({form for term in self.terms for form in (term, _capital(term))}, key=len, reverse=True)
        # Not where a text names a value, as in `%(worker)s`.
        return re.compile(rf"(?<!\w)(?<!%\()(?:{'|'.join(map(re.escape, terms))})(?!\w)")

    def _replaced(self, match: re.Match[str]) -> str:
        term = match[0]
        word = self.terms[term] if term in self.terms else self.terms[term[0].lower() + term[1:]]
        # HIT has capitals anywhere, and what replaces it only where a sentence begins.
        begins = not (before := match.string[: match.start()].rstrip()) or before.endswith((".", "?", "!"))
        return _capital(word) if (begins and term[0].isupper()) or term not in self.terms else word


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
