"""All sections together."""

from dataclasses import dataclass, field

from results.sections.certainty import Certainty
from results.sections.challengers import Challengers
from results.sections.champion import Champion
from results.sections.compared import Comparisons
from results.sections.counts import Counts
from results.sections.crowd import Crowd
from results.sections.leaderboard import Board
from results.sections.measures import Measures
from results.sections.passages import Passages
from results.sections.stored import SPARSE, Json, from_json
from results.sections.wins import Wins


@dataclass(frozen=True, kw_only=True)
class Results(Counts, Crowd, Board, Comparisons, Passages, Certainty):
    """The results of a campaign. What its design or settings do not have is None or empty. `apart`: of the lists that
    are cut here, by name, how long they are.
    """

    measures: Measures | None = None
    wins: Wins | None = None
    champion: Champion | None = None
    challengers: Challengers | None = None
    apart: dict[str, int] | None = field(default=None, metadata=SPARSE)


def read(stored: Json) -> Results:
    return from_json(Results, stored)
