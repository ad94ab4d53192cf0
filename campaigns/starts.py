"""What a new campaign can begin with: each way sets all that it needs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from evaluation.judging.designs.challengers import Challengers
from evaluation.judging.designs.champion_check import ChampionCheck
from evaluation.judging.designs.rounds import Rounds


class Start(NamedTuple):
    """A way to begin: the settings in which it differs from the usual, by name. It takes all runs, or one."""

    title: Promise
    sentence: Promise
    settings: Mapping[str, Any]
    takes_all_runs: bool = True


STARTS = {
    "paper": Start(
        _("As in the paper"), _("The first passage of each run, every two of a query compared once by one person."), {}
    ),
    "deep": Start(
        _("Deep pools"),
        _("The first ten passages of each run. Rounds of a few comparisons leave the best for a final."),
        {"design": Rounds.name, "depth": 10},
    ),
    "current": Start(
        _("Keep answers current"),
        _("Only passages that are new at the top are compared, each with the best known answer until now."),
        {"design": Challengers.name},
    ),
    "champion": Start(
        _("Check one run"),
        _("The first passage of a run that you choose against the qrel, one pair a query."),
        {"design": ChampionCheck.name},
        takes_all_runs=False,
    ),
}
