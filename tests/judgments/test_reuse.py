"""Judgments that are made once count for a collection: imported, reused, never twice."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from judgments import selectors as judgment_selectors
from judgments import services as judgment_services
from pools.models import Collection, ImportedPreference, PreferenceImport
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return factories.small(tmp_path, factories.lab())


def rows_of(collection: Collection) -> list[tuple[str, str, str, str]]:
    """The judgments that count in a collection."""
    return [tuple(row.preference) for row in judgment_selectors.collection_preferences(collection)]


def test_a_collection_has_the_judgments_that_count_of_all_its_campaigns_and_imports_oldest_first(
    collection: Collection, tmp_path: Path
) -> None:
    now = timezone.now()
    imported = PreferenceImport.objects.create(
        collection=collection, name="old", sha256="0" * 64, judgment_count=1, pair_count=1, imported_at=now
    )
    query, a, b = collection.queries.get(qid="q2"), *collection.passages.filter(pid__in=["p4", "p5"]).order_by("pid")
    ImportedPreference.objects.create(source=imported, line=1, query=query, a=a, b=b, prefers_a=False)
    first = factories.campaign(collection, "first", runs=["red"])
    second = factories.campaign(collection, "second", runs=["green"])
    for campaign, name, prefer in ((second, "ann", "b"), (first, "bob", "a")):
        factories.do(factories.worker(campaign, name), campaign, prefer=prefer)
    elsewhere = factories.small(tmp_path, factories.lab("Another lab"))
    other = factories.campaign(elsewhere, "other")
    factories.do(factories.worker(other, "cleo"), other)

    counted = judgment_selectors.collection_preferences(collection)

    own = {row.campaign_id for row in counted}
    assert own == {None, first.pk, second.pk}, "no other lab's judgments"
    assert counted[0][:4] == ("q2", "p4", "p5", "p5")
    assert (counted[0].import_id, counted[0].campaign_id, counted[0].worker_id) == (imported.pk, None, None)
    assert [row.at for row in counted] == sorted(row.at for row in counted)
    assert sorted(rows_of(collection)[1:]) == sorted(
        tuple(row) for campaign in (first, second) for row in judgment_selectors.accepted_preferences(campaign)
    )
    assert judgment_selectors.collection_preferences(collection, before=now) == []
    assert (
        judgment_selectors.collection_preferences(collection, before=now + timedelta(microseconds=1))[:1]
        == (counted[:1])
    )


def test_what_was_excluded_does_not_count_in_the_collection(collection: Collection) -> None:
    campaign = factories.campaign(collection)
    work = factories.do(factories.worker(campaign, "ann"), campaign)
    assert rows_of(collection)
    judgment_services.assignment_exclude(assignment=work, why="careless", by=factories.user(), at=timezone.now())
    assert rows_of(collection) == []
