"""The worked example that every worker sees before they judge."""

from typing import TypedDict

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from pools.models import Campaign


class Example(TypedDict):
    """A comparison with its better side and the reason."""

    question: str
    left: str
    right: str
    better: str
    why: str
    lang: str


def worked_example(campaign: Campaign) -> Example:
    """The campaign's own, or a comparison of two passages that are both about the question, one of which answers it."""
    if campaign.example_query:
        return {
            "question": campaign.example_query,
            "left": campaign.example_worse,
            "right": campaign.example_better,
            "better": "right",
            "why": campaign.example_why,
            "lang": campaign.language,
        }
    return {
        "question": _("how long do you boil an egg for a soft yolk"),
        "left": _(
            "Eggs are one of the most useful foods in the kitchen. They can be boiled, fried, poached or scrambled, "
            "and the time depends on the method and on how you like them. Always use fresh eggs and a large pan."
        ),
        "right": _(
            "For a soft yolk, lower the egg into boiling water and cook it for six minutes, then put it under cold "
            "water at once. Seven minutes gives a yolk that is just set at the edge; ten minutes cooks it through."
        ),
        "better": "right",
        "why": _("Both passages are about boiling eggs, but only B says how long a soft yolk takes."),
        "lang": get_language() or "en",
    }
