"""How the lists of a campaign's queries and decisions can be narrowed and sorted."""

from decimal import Decimal

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy
from django_filters import NumberFilter

from core.lists import Columns, ListFilter, Sort, choice_filter, count_of, search_filter
from judgments.models import Acceptance, Decision
from pools.models import Candidate, Pair, Pool
from tasks.names import pseudonym


class QueryFilter(ListFilter):
    """Queries by their words or id, by whether all of their pairs are judged, and by the size of their pools."""

    q = search_filter(gettext_lazy("Words of a query, or its id"), method="find")
    judged = choice_filter(
        gettext_lazy("Judged"),
        [("waiting", gettext_lazy("pairs left")), ("all", gettext_lazy("all")), ("none", gettext_lazy("not needed"))],
        method="by_judged",
    )
    passages = NumberFilter(label=gettext_lazy("Passages"), method="by_passages", min_value=1)

    def find(self, pools: QuerySet[Pool], _name: str, words: str) -> QuerySet[Pool]:
        """Those whose question has the words, or whose id they are."""
        return pools.filter(Q(query__text__icontains=words) | Q(query__qid=words))

    def by_judged(self, pools: QuerySet[Pool], _name: str, value: str) -> QuerySet[Pool]:
        """Those with pairs that wait for judgments, those without, or those without pairs."""
        pairs = Pair.objects.filter(pool=OuterRef("pk"))
        if value == "none":
            return pools.filter(~Exists(pairs))
        filled, imported = count_of(Acceptance, "pair"), Q(pool__campaign__origin__isnull=False)
        fresh = pairs.filter(is_reused=False).annotate(filled=filled)
        waiting = Exists(fresh.filter(Q(filled=0) | Q(filled__lt=OuterRef("campaign__overlap")) & ~imported))
        return pools.filter(waiting) if value == "waiting" else pools.filter(~waiting, Exists(pairs))

    def by_passages(self, pools: QuerySet[Pool], _name: str, number: Decimal) -> QuerySet[Pool]:
        """Those of so many passages."""
        return pools.alias(size=count_of(Candidate, "pool")).filter(size=number)


QUERY_SORTS: dict[str, Sort] = {"id": "query__qid", "query": "query__text"}
QUERY_COLUMNS: Columns = {
    "query": "qid",
    "text": "text",
    "passages": "passages",
    "pairs": "pairs",
    "pairs_left": "waiting",
}


class DecisionFilter(ListFilter):
    kind = choice_filter(gettext_lazy("Decision"), Decision.Kind.choices)


DECISION_SORTS: dict[str, Sort] = {"when": "at", "decision": "kind", "who": "by__username"}


DECISION_COLUMNS: Columns = {
    "decision": "pk",
    "when": "at",
    "kind": "kind",
    "assignment": "assignment_id",
    "worker": lambda decision: pseudonym(decision.campaign, decision.worker_id),
    "by": "by",
    "why": "why",
}
