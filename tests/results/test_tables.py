"""Tables of results: what holds of all of them."""

import re

import pytest

from pools.models import Campaign
from results import findings
from results.sections import whole
from results.sections.whole import read
from tests.results.sample_results import sample

NAMELESS = re.compile(r"\bM?RR\b(?![@(])")  # of whole lists, as ir_measures has it, which nothing here is


@pytest.mark.parametrize("rank_by", Campaign.RankBy.values)
def test_each_reciprocal_rank_is_named_with_its_cutoff(rank_by: str) -> None:
    data = sample(16, champion=True)
    data["outside"]["source"] = "Elsewhere"
    for stored in ("compare", "compare_original"):
        data[stored] |= {"rank_by": rank_by, "k": 100}
    named = whole.tables(read(data)).values()
    labels = [
        words
        for table in named
        for words in (table.title, table.about, table.about_more, *(c.label for c in table.columns))
    ]

    assert [words for words in labels if NAMELESS.search(words)] == []
    assert {"RR@10", "RR@10 before", "RR@100 of a", "ESL and RR@100 disagree"} <= set(labels)


def test_findings_name_it_with_its_cutoff_where_search_length_differs_from_it() -> None:
    data = sample(4)
    differing = {"count": 1, "first": [{"a": "this", "b": "that"}]}
    data["verdicts"] |= {"means_disagree": differing, "significance_disagrees": differing}
    data["compare"]["k"] = 20
    text = " ".join(sentence for finding in findings.findings(read(data)) for sentence in finding.sentences)

    assert text.count("ESL) and mean RR@20 favour") == text.count("only one of ESL and RR@20 differs") == 1
    assert NAMELESS.search(text.replace(data["outside"]["source"], "")) is None
