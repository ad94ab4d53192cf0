"""Texts of a publication's pages in the words of its platform.

Loaded after `i18n`, its `translate` and `blocktranslate` take the place of Django's: they do the same, and then put the
text into the words of the platform of the template's `publication`, before values are put into it.
"""

from typing import Any

from django.template import Context, Library, Node
from django.template.base import Parser, Token
from django.templatetags.i18n import BlockTranslateNode, TranslateNode, do_block_translate, do_translate
from django.utils.functional import Promise

from platforms.models import PUBLISHED_TO, Publication
from platforms.publishing.protocol import Filters
from platforms.registry import WITH_ACCOUNTS, adapter_named, vocabulary_of
from platforms.vocabulary import Vocabulary

register = Library()


@register.filter
def phrase(text: Any, publication: Publication | None) -> str:
    """A text that is one of ours, such as a label, in the words of the publication's platform."""
    return vocabulary_of(publication).phrase(str(text))


@register.filter
def has_filters(publication: Publication) -> bool:
    return isinstance(adapter_named(publication.platform), Filters)


@register.simple_tag
def account_platforms() -> dict[str, str | Promise]:
    """The platforms where each lab has an account of its own, by name."""
    return {name: PUBLISHED_TO[name] for name in WITH_ACCOUNTS}


class _Sentence(Node):
    """A `translate` in the platform's words."""

    def __init__(self, node: TranslateNode) -> None:
        self.node = node

    def render(self, context: Context) -> str:
        text, name = self.node.render(context), self.node.asvar
        vocabulary = vocabulary_of(context.get("publication"))
        if name:
            context[name] = vocabulary.phrase(context[name])
        return vocabulary.phrase(text)


class _Phrased(BlockTranslateNode):
    """A `blocktranslate` of one vocabulary."""

    def __init__(self, node: BlockTranslateNode, vocabulary: Vocabulary) -> None:
        self.__dict__.update(node.__dict__)
        self.vocabulary = vocabulary

    def render_token_list(self, tokens: list[Token]) -> tuple[str, list[str]]:
        text, names = super().render_token_list(tokens)
        return self.vocabulary.phrase(text), names


class _Block(Node):
    """A `blocktranslate` in the platform's words."""

    def __init__(self, node: BlockTranslateNode) -> None:
        self.node = node

    def render(self, context: Context) -> str:
        return _Phrased(self.node, vocabulary_of(context.get("publication"))).render(context)


@register.tag("translate")
def translate(parser: Parser, token: Token) -> Node:
    return _Sentence(do_translate(parser, token))


@register.tag("blocktranslate")
def blocktranslate(parser: Parser, token: Token) -> Node:
    return _Block(do_block_translate(parser, token))
