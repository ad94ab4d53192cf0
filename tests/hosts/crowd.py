"""Simulated people for a site on several hosts: `python -m tests.hosts.crowd CAMPAIGN PEOPLE LOG`.

By link, each choice that was acknowledged is a line of LOG. Who sees an error looks at it for twenty seconds, as long
as a busy machine takes to fail over, then tries again. All together, they make at most twenty choices a second. They
end when no HIT is left, or when they are told to. The last line of the output is what they did, as JSON.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import django

LOOKING_SECONDS = 20.0
CHOICES_A_SECOND = 20
GIVE_UP_SECONDS = 600.0  # without any HIT that is done


def main(name: str, people: int, log: Path) -> None:
    """Judge a campaign."""
    django.setup()
    from local.run import turn
    from platforms.models import Publication
    from pools.models import Campaign
    from simulation import at_platform, browser
    from simulation import crowd as by_link

    browser.FIRST_WAIT = browser.LONGEST_WAIT = LOOKING_SECONDS
    by_link.GIVE_UP_SECONDS = GIVE_UP_SECONDS
    choose, counts = by_link.Person._choose, Counter[str]()

    def read_and_choose(*arguments: Any) -> browser.Page:
        time.sleep(people / CHOICES_A_SECOND)
        return choose(*arguments)

    by_link.Person._choose = read_and_choose  # type: ignore[method-assign]
    by_link.Tally.add = lambda _tally, what: counts.update([what])  # type: ignore[method-assign]
    campaign = Campaign.objects.get(name=name)

    def end(_number: int, _frame: object) -> None:
        print(json.dumps(counts), flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    url, habits = os.environ["SITE_URL"], by_link.Habits(late=0.0)
    publication = Publication.objects.filter(campaign=campaign).first()
    if publication is None:
        by_link.judge(campaign=campaign, preferences=[], url=url, workers=people, habits=habits, acknowledged=log)
    else:
        at_platform.judge(
            publication=publication,
            preferences=[],
            url=url,
            workers=people,
            habits=habits,
            platform_habits=at_platform.PlatformHabits(),
            turn=turn,
            lapse=lambda _assignment_id: None,
        )
    end(0, None)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
