"""How the lists of a campaign's test pairs and panel can be narrowed and sorted."""

from django.utils.translation import gettext_lazy

from core.lists import ListFilter, Sort, choice_filter, search_filter
from tasks.models import TestPair


class ReviewedFilter(ListFilter):
    """Test pairs by words of their question, and by what was decided."""

    question = search_filter(gettext_lazy("Question"))
    state = choice_filter(
        gettext_lazy("Decision"),
        [choice for choice in TestPair.State.choices if choice[0] != TestPair.State.SUGGESTED],
    )


class PanelFilter(ListFilter):
    """Panel members by name."""

    person = search_filter(gettext_lazy("Person"), field_name="worker__label")


PANEL_SORTS: dict[str, Sort] = {"person": "worker__label", "invited": "created_at"}
