"""How the audit can be narrowed."""

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy
from django_filters import DateFilter, NumberFilter

from core.audit.selectors import people_called
from core.audit.tables import NOTES, recorded_tables, tables_of_people
from core.audit.words import jobs_called
from core.lists import ListFilter, choice_filter, search_filter
from core.models import AuditEntry
from core.recorded import Group


def _date(label: object, lookup: str) -> DateFilter:
    return DateFilter(label=label, field_name="at", lookup_expr=lookup, widget=forms.DateInput(attrs={"type": "date"}))


class AuditFilter(ListFilter):
    """Entries by words, by who did it, what it is about, and when; those of one campaign."""

    q = search_filter(gettext_lazy("Words of a name or reason"), method="find")
    who = search_filter(gettext_lazy("Who"), method="by_who")
    about = choice_filter(gettext_lazy("About"), Group.choices, method="by_group")
    campaign_name = search_filter(gettext_lazy("Campaign"), field_name="campaign")
    since = _date(gettext_lazy("From"), "date__gte")
    until = _date(gettext_lazy("Until"), "date__lte")
    campaign = NumberFilter(field_name="campaign_id", min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def find(self, entries: QuerySet[AuditEntry], _name: str, words: str) -> QuerySet[AuditEntry]:
        """Those about something or somebody with these words in the name, with these words in the reason, or of this
        request.
        """
        people = [str(pk) for pk in people_called(words).values_list("pk", flat=True)[:1000]]
        about = Q(subject__in=tables_of_people(), thing__in=people) | Q(
            subject__in=("core_user", "session"), key__in=people
        )
        about |= Q(subject="erasure", action="member", key__in=people)
        return entries.filter(Q(thing__icontains=words) | Q(why__icontains=words) | Q(request_id=words) | about)

    def by_who(self, entries: QuerySet[AuditEntry], _name: str, words: str) -> QuerySet[AuditEntry]:
        """Those by people, jobs and commands of such a name."""
        people = list(people_called(words).values_list("pk", flat=True)[:1000])
        return entries.filter(
            Q(actor_id__in=people) | Q(actor_name__icontains=words) | Q(actor_name__in=jobs_called(words))
        )

    def by_group(self, entries: QuerySet[AuditEntry], _name: str, group: str) -> QuerySet[AuditEntry]:
        """Those about one kind of thing."""
        groups = {table: audit.group for table, audit in recorded_tables().items()} | NOTES
        return entries.filter(subject__in=[subject for subject, group_of_it in groups.items() if group_of_it == group])
