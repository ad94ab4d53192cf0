"""What becomes of a draft's test pairs when its pools are made again."""

from django.db.models import Exists, OuterRef

from pools.models import Campaign
from runs.models import Qrel
from tasks import selectors as task_selectors
from tasks.models import TestPair


def tests_drop_invalid(*, campaign: Campaign) -> int:
    """Delete the test pairs of a draft that its settings no longer allow, and keep all others. How many.

    Those whose relevant passage is a qrel of too low a grade, and those whose off-topic passage may be about the
    question: a qrel of the query, in its pool, or in any list that a run of the collection has for it.
    """
    tests = campaign.test_pairs.exclude(state=TestPair.State.DECLINED).filter(query__isnull=False)
    qrels = Qrel.objects.filter(query=OuterRef("query"), passage=OuterRef("relevant"))
    enough = Exists(qrels.filter(grade__gte=campaign.min_grade))
    gone = set(tests.filter(Exists(qrels)).exclude(enough).values_list("id", flat=True))
    by_pair = {(query, passage): key for key, query, passage in tests.values_list("id", "query", "off_topic")}
    if by_pair:
        queries = {query for query, _passage in by_pair if query is not None}
        related = task_selectors.related_passages(campaign, queries)
        gone.update(by_pair[key] for key in related if key in by_pair)
    campaign.test_pairs.filter(pk__in=gone).delete()
    return len(gone)
