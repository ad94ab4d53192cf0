"""What workers read where the researcher has written nothing of their own, and names for what is counted."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.money import dollars
from pools.models import Campaign

FEATURES = {
    "question_words_worse": gettext_lazy("Question words in the passage that has fewer of them"),
    "question_words_better": gettext_lazy("Question words in the passage that has more of them"),
    "words_in_common": gettext_lazy("Words that the passages share"),
    "length_shorter": gettext_lazy("Length of the shorter passage"),
    "length_longer": gettext_lazy("Length of the longer passage"),
    "hits": gettext_lazy("HITs that show the same comparison"),
}  # what evaluation.judging.recognition counts


def default_consent(campaign: Campaign) -> str:
    """A plain consent text, made from the campaign's settings."""
    person = campaign.created_by
    text = _(
        "You are invited to take part in a study by %(lab)s. You will read questions and passages and say which of "
        "two passages answers a question better. Each task has about %(items)d such comparisons.\n\n"
        "Taking part is voluntary. You can leave at any time, and are paid for what you have done by "
        "then, in proportion to %(reward)s for a whole task.\n\n"
        "We store your choices and when you made them. They may be published for research, without anything that "
        "identifies you. A few comparisons have a known answer; work that misses them is not used."
    ) % {"lab": campaign.lab.name, "items": campaign.items_per_hit, "reward": dollars(campaign.reward)}
    if person is None or not person.email:
        return text
    contact = _("\n\nQuestions? Write to %(name)s, %(email)s.")
    return text + contact % {"name": person.get_full_name() or campaign.lab.name, "email": person.email}
