"""What workers read beside the passages: the settings of it, and their defaults in the campaign's language."""

from django.db import models
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _

from core.languages import language_of
from pools.settings import Section, Settings

EXAMPLE = ("example_query", "example_better", "example_worse", "example_why")  # the columns of the worked example


class WordingSettings(Settings):
    """What workers read beside the passages."""

    section = Section(gettext_lazy("What workers read"))

    language = models.CharField(
        gettext_lazy("Language of the texts below"),
        max_length=35,
        blank=True,
        help_text=gettext_lazy("Its code, such as en, ar or pt-BR. Leave empty for the collection's language."),
    )
    title = models.CharField(
        gettext_lazy("Title"),
        max_length=128,
        default="Compare answers to questions",
        help_text=gettext_lazy("What workers see first."),
    )
    question = models.CharField(
        gettext_lazy("Question"),
        max_length=300,
        default="Which passage best answers the question?",
        help_text=gettext_lazy("Shown above every two passages."),
    )
    instructions = models.TextField(
        gettext_lazy("Instructions"),
        blank=True,
        help_text=gettext_lazy("Shown before the first comparison, with a worked example. Can be empty."),
    )

    class Meta:
        abstract = True


def default_words(text: str, language: str) -> str:
    """A title or question in a campaign's language (or the current one, if it has none), if it is what campaigns have
    until somebody writes another.
    """
    with override(language_of(language) if language else get_language()):
        defaults = {
            "Compare answers to questions": _("Compare answers to questions"),
            "Which passage best answers the question?": _("Which passage best answers the question?"),
        }
    return defaults.get(text, text)
