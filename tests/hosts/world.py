"""Two open campaigns of many pairs, one by link and one at the marketplace: `python -m tests.hosts.world FOLDER PAIRS`.

A campaign's HITs have a pair and a test pair each; where there are many pairs, ten and three, of pools of fifteen.
"""

import sys
from pathlib import Path

import django

LINK, MARKETPLACE = "by link", "at the marketplace"
MANY = 1000


def main(folder: Path, pairs: int) -> None:
    """Make the campaigns, and begin to publish one."""
    django.setup()
    from django.utils import timezone

    from platforms.publishing.publications import publication_publish
    from platforms.terms import publication_write
    from tests import factories

    is_large = pairs >= MANY
    runs = ("red", "green", "blue", "black", "white") if is_large else ("red",)
    sizes = {"pairs_per_hit": 10, "tests_per_hit": 3} if is_large else {"pairs_per_hit": 1, "tests_per_hit": 1}
    lab = factories.lab("Hosts")
    for name, count in ((LINK, pairs), (MARKETPLACE, max(8, pairs // 50))):
        queries = [f"q{number}" for number in range(count // (15 if is_large else 1))]
        collection = factories.collection(
            folder,
            in_lab=lab,
            name=name,
            qrels={query: [f"{query}a"] for query in queries},
            tops={run: {query: [f"{query}{run}"] for query in queries} for run in runs},
        )
        campaign = factories.campaign(collection, name, **sizes)
    publication = publication_write(campaign=campaign, pay="base-and-bonus", rate=1000, requirements=[])
    publication_publish(publication=publication, at=timezone.now(), although_nobody_qualifies=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
