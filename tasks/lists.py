"""How the lists of a campaign's test pairs and panel can be narrowed and sorted."""

from django.utils.translation import gettext_lazy

from core.lists import Columns, ListFilter, Sort, choice_filter, search_filter
from tasks.models import TestPair


class ReviewedFilter(ListFilter):
    """Test pairs by words of their question, and by what was decided."""

    question = search_filter(gettext_lazy("Question"))
    state = choice_filter(
        gettext_lazy("Decision"), [choice for choice in TestPair.State.choices if choice[0] != TestPair.State.SUGGESTED]
    )


class PanelFilter(ListFilter):
    """Panel members by name."""

    person = search_filter(gettext_lazy("Person"), field_name="worker__label")


class VisitFilter(ListFilter):
    """Sessions of an outside panel by the ids of people and sessions."""

    person = search_filter(gettext_lazy("Person"), field_name="worker__external_id")
    session = search_filter(gettext_lazy("Session"))


VISIT_SORTS: dict[str, Sort] = {"came": "came_at"}
# Of tasks.outside_panels.VisitRow: what the panel is to pay, for whoever pays there.
VISIT_COLUMNS: Columns = {
    "person": "person",
    "session": "session",
    "outcome": "outcome",
    "exit": "exit",
    "judged": "judged",
    "items": "items",
    "owed": "owed",
    "came": "came_at",
    "ended": "ended_at",
}

PANEL_SORTS: dict[str, Sort] = {"person": "worker__label", "invited": "created_at"}

TEST_PAIR_COLUMNS: Columns = {
    "test_pair": "pk",
    "question": "question",
    "query": lambda test: test.query and test.query.qid,
    "relevant": lambda test: test.relevant and test.relevant.pid,
    "off_topic": lambda test: test.off_topic and test.off_topic.pid,
    "relevant_text": "relevant_text",
    "off_topic_text": "off_topic_text",
    "state": "state",
    "decided_by": "decided_by",
    "decided_at": "decided_at",
    "why_dropped": "why_dropped",
    "proven_by": "proven_by",
    "proven_at": "proven_at",
}
CONSENT_COLUMNS: Columns = {"version": "version", "saved": "created_at", "text": "text"}
# Of tasks.selectors.PanelRow. Names and links leave in the file for whoever hands the links out, and in no other.
PANEL_COLUMNS: Columns = {
    "worker": "pseudonym",
    "invited": "invited_at",
    "consented": "consented",
    "assignments": "assignments",
}
