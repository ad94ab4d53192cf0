"""What of a submission anybody may see: the embargo is applied here, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from evaluation.boards.checking import COSTS, HARDWARE, plain_cost
from evaluation.boards.entries import rounded
from leaderboards.models import Part, Submission
from leaderboards.selectors import root

ANONYMOUS = "Anonymous"
LEVEL = 0.05  # of p, below which one entry is significantly better than another
FLAG_UNDER_EMBARGO = "the organizers’ reason is shown when the embargo ends"
WITHDRAWN = "Withdrawn"
POST_HOC = "After the season ended"


@dataclass(frozen=True)
class Shown:
    """An entry as anybody may see it.

    `id` is random and stays; `run_id` and everything that says whose it is are empty, or Anonymous, under embargo.
    `team` is the team as the organizers confirmed it, and `named` what its metadata say of whose it is, where that says
    something else; of an imported entry `team` is what was published.
    `dev`, `eval`: scores in their printed places, None where there is none or none is shown. `gains_nothing`: the
    release rule shows no score, and `repeats` is the id of the entry that it is no gain over, unless an embargo
    hides whose either is. `rank` is 0 without one. `changed_at`: when what is shown of it last changed. `arrived`: when
    it came by the clock of this server, then its key; all that depends on order goes by it, and no page shows it.
    `variant_of`: the run from which it differs in small settings only, by its metadata; empty where either is hidden.
    `costs`: what its metadata tell of COSTS, as plain decimals, and of HARDWARE; none under embargo.
    `best_p`: of one that was the best when it came, p against the best before it, by part, as last found by
    leaderboards.season_checks.
    """

    id: str
    run_id: str
    season: str
    arrived: tuple[datetime, int]
    day: date
    type: str
    description: str
    team: str
    named: str
    paper: str
    code: str
    link: str
    variant_of: str
    costs: Mapping[str, str]
    flag: str
    mark: str
    rank: int
    is_tied: bool
    dev: Decimal | None
    eval: Decimal | None
    gains_nothing: bool
    repeats: str
    is_hidden: bool
    is_imported: bool
    has_run: bool
    is_post_hoc: bool
    withdrawn_on: date | None
    published_at: datetime
    changed_at: datetime
    best_p: Mapping[str, float] = field(default_factory=dict)

    @property
    def section(self) -> str:
        """Under what it is listed: empty for entries with a rank or a chance of one."""
        return WITHDRAWN if self.withdrawn_on else POST_HOC if self.is_post_hoc else ""

    @property
    def verdict(self) -> str:
        """Whether a new best was significantly better than the one before it; empty where that is not known."""
        parts = [
            f"{'significant' if p < LEVEL else 'not significant'} on {part} (p = {p:.3f})"
            for part, p in self.best_p.items()
        ]
        return ", ".join(parts)

    @property
    def printed_dev(self) -> str:
        """The dev score in three places, or nothing."""
        return "" if self.dev is None else str(self.dev)

    @property
    def printed_eval(self) -> str:
        """The eval score in three places, or nothing."""
        return "" if self.eval is None else str(self.eval)


def without_hidden(entries: list[Shown], hidden: Collection[str]) -> list[Shown]:
    """The same, where none says that it is a variant of a run that is under embargo: its id is not to be known."""
    secret = {run_id.casefold() for run_id in hidden}
    return [replace(entry, variant_of="") if entry.variant_of.casefold() in secret else entry for entry in entries]


def shown(row: Submission, at: datetime) -> Shown:
    hidden = row.is_hidden(at)
    scores: dict[str, Decimal] = {}
    for score in row.shown_scores:  # type: ignore[attr-defined]
        is_wanted = score.origin == ("published" if row.origin == "imported" else "computed")
        if score.fraction and (is_wanted or score.part not in scores):
            scores[score.part] = rounded(Fraction(score.fraction))
    release = getattr(row, "release", None)
    shown_eval = scores.get(Part.EVAL) if row.origin == "imported" else None
    if release is not None:
        shown_eval = rounded(Fraction(release.fraction)) if release.is_shown else None
    gains_nothing = release is not None and not release.is_shown
    reference = release.reference if release is not None and gains_nothing else None
    assert row.published_at is not None
    changed = [row.published_at, *filter(None, [row.withdrawn_at])]
    if row.embargo_until and not hidden:
        changed.append(datetime(row.embargo_until.year, row.embargo_until.month, row.embargo_until.day, tzinfo=UTC))
    closes_at = row.season.closes_at
    team = row.team_words if row.team is None else str(root(row.team))
    return Shown(
        id=row.public_id,
        run_id="" if hidden else row.run_id,
        season=row.season.name,
        arrived=(row.arrived_at, row.pk),
        day=row.arrived_at.astimezone(UTC).date(),
        type=row.type,
        description=ANONYMOUS if hidden else row.description,
        team=ANONYMOUS if hidden else team,
        named="" if hidden or row.team_words == team else row.team_words,
        paper="" if hidden else row.paper,
        code="" if hidden else row.code,
        link="" if hidden else row.link,
        variant_of="" if hidden else _text_of(row.metadata, "variant_of"),
        costs={} if hidden else _costs(row.metadata),
        flag=FLAG_UNDER_EMBARGO if hidden and row.flag else row.flag,
        mark="baseline" if row.is_baseline else "",
        rank=0,
        is_tied=False,
        dev=scores.get(Part.DEV),
        eval=shown_eval,
        gains_nothing=gains_nothing,
        repeats="" if reference is None or hidden or reference.is_hidden(at) else reference.public_id,
        is_hidden=hidden,
        is_imported=row.origin == "imported",
        has_run=bool(row.package_sha256),
        is_post_hoc=closes_at is not None and row.arrived_at >= closes_at,
        withdrawn_on=row.withdrawn_at.astimezone(UTC).date() if row.withdrawn_at else None,
        published_at=row.published_at,
        changed_at=max(changed),
    )


def _text_of(metadata: Mapping[str, object], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _costs(metadata: Mapping[str, object]) -> dict[str, str]:
    costs = {name: plain_cost(metadata.get(name)) for name in (*COSTS, *HARDWARE)}
    return {
        name: text for name, text in costs.items() if text and (name in HARDWARE or not isinstance(metadata[name], str))
    }
