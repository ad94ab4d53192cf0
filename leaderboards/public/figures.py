"""A board's figures over time as SVG elements: small, without styles of their own, the same bytes for the same board.

Classes take their ink from `static/css/boards.css`; every point has a title, and each figure has a table beside it. On
a page, points say where they lead: see `static/js/figures.js`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from html import escape
from math import log10

from evaluation.boards.fronts import pareto_front
from evaluation.files.textfiles import counted
from leaderboards.public.embargo import Shown
from leaderboards.public.published import bests

Address = Callable[[Shown], str]

WIDTH, HEIGHT = 640, 320  # in CSS pixels, of the whole figure
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 40  # for the words at the edges


def nowhere(_entry: Shown) -> str:
    """In a file no point leads anywhere."""
    return ""


@dataclass(frozen=True)
class Axis:
    """Values between two ends, on a stretch of the figure."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is, in pixels to a tenth."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def over_time(entries: Sequence[Shown], word: str = "", *, address: Address = nowhere) -> str:
    """Eval scores over time, the best so far as a line (Lin et al. 2022, figure 2). Empty without a score.

    What was withdrawn is drawn, since the line goes through it; what came after the season ended is not. Entries whose
    description has the word, whatever its case, are squares, unless they are under embargo.
    """
    scored = sorted(
        (entry for entry in entries if entry.eval is not None and not entry.is_post_hoc), key=lambda row: row.arrived
    )
    if not scored:
        return ""
    days, scores = _days(scored), _scores([_value(entry.eval) for entry in scored])
    path, best = "", bests(scored)
    for entry in best:
        x, y = days.at(_day(entry)), scores.at(_value(entry.eval))
        path += f"H{x}V{y}" if path else f"M{x} {y}"
    path += f"H{WIDTH - _RIGHT}"
    drawn = [
        _point(entry, days.at(_day(entry)), scores.at(_value(entry.eval)), address, is_marked=has_word(entry, word))
        for entry in scored
    ]
    text = f"{len(scored)} entries with an eval score by date; the best so far ends at {best[-1].printed_eval}."
    return _figure(
        "over-time",
        "Scores over time",
        text,
        [_grid(scores, across=True), _years(days), f'<path class="best" d="{path}"/>', *drawn],
    )


def dev_against_eval(entries: Sequence[Shown], *, imported: bool = False, address: Address = nowhere) -> str:
    """Dev and eval score of each entry scored here that shows both, and where they are equal (figure 3).

    `imported`: of imported entries instead, without that line and on axes of their own, since the level of published
    eval scores says nothing beside that of dev. Empty without an entry.
    """
    both = _with_both(entries, imported)
    if not both:
        return ""
    dev, eval_ = [_value(entry.dev) for entry in both], [_value(entry.eval) for entry in both]
    up = _scores(eval_ if imported else dev + eval_)
    side = _scores(dev) if imported else up
    across = Axis(side.low, side.high, _LEFT, WIDTH - _RIGHT)
    diagonal = f'<path class="even" d="M{across.start} {up.start}L{across.end} {up.end}"/>'
    points = [_point(entry, across.at(_value(entry.dev)), up.at(_value(entry.eval)), address) for entry in both]
    text = f"Eval against dev score of {counted(len(both), 'entry', 'entries')}"
    text += ", as published." if imported else "; on the line the two are equal."
    labels = _label(WIDTH / 2, HEIGHT - 4, "dev", "middle") + _label(4, _TOP + 4, "eval", "start")
    drawn = [_grid(up, across=True), _grid(across, across=False), *([] if imported else [diagonal]), labels, *points]
    return _figure(
        "published-dev-eval" if imported else "dev-eval",
        "Dev against eval, as published" if imported else "Dev against eval",
        text,
        drawn,
    )


def gaps(entries: Sequence[Shown], *, imported: bool = False, address: Address = nowhere) -> str:
    """Eval less dev score over time of entries scored here, with the line at no gap.

    `imported`: of imported entries instead, less the mean of their gaps, since the level of these says nothing. Empty
    without an entry that shows both.
    """
    both = _with_both(entries, imported)
    if not both:
        return ""
    differences = [_value(entry.eval) - _value(entry.dev) for entry in both]
    if imported:
        mean = sum(differences) / len(differences)
        differences = [gap - mean for gap in differences]
    days, up = _days(both), _scores([*differences, 0.0])
    zero = f'<path class="even" d="M{_LEFT} {up.at(0)}H{WIDTH - _RIGHT}"/>'
    points = [
        _point(entry, days.at(_day(entry)), up.at(gap), address) for entry, gap in zip(both, differences, strict=True)
    ]
    what = "Eval less dev score, from its mean," if imported else "Eval less dev score"
    text = (
        f"{what} of {counted(len(both), 'entry', 'entries')} by date, from {min(differences):+.3f} to "
        f"{max(differences):+.3f}."
    )
    return _figure(
        "published-gaps" if imported else "gaps",
        "Eval less dev over time, from its mean, as published" if imported else "Eval less dev over time",
        text,
        [_grid(up, across=True), _years(days), zero, *points],
    )


def _with_both(entries: Iterable[Shown], imported: bool) -> list[Shown]:
    """The entries scored here, or the imported ones, that show both scores and were not withdrawn."""
    return [
        entry
        for entry in entries
        if entry.is_imported == imported and not entry.withdrawn_on and entry.dev is not None and entry.eval is not None
    ]


def against_cost(entries: Sequence[Shown], cost: str, label: str, *, address: Address = nowhere) -> str:
    """Eval score against what a run costs, with the line of those that no other beats. Empty without such an entry.

    `cost` is one of COSTS. From 0 on the scale is even; where all costs are above, it is of powers of ten.
    """
    costed = with_cost(entries, cost)
    if not costed:
        return ""
    costs = [float(entry.costs[cost]) for entry in costed]
    is_log = min(costs) > 0
    places = [log10(value) for value in costs] if is_log else costs
    room = max((max(places) - min(places)) * 0.06, 0.1 if is_log else max(places) * 0.06 or 1.0)
    across = Axis(min(places) - room, max(places) + room, _LEFT, WIDTH - _RIGHT)
    up = _scores([_value(entry.eval) for entry in costed])
    path = ""
    for entry in front(entries, cost):
        place = float(entry.costs[cost])
        x, y = across.at(log10(place) if is_log else place), up.at(_value(entry.eval))
        path += f"H{x}V{y}" if path else f"M{x} {y}"
    path += f"H{WIDTH - _RIGHT}"
    lines = ""
    for value in sorted({min(places), (min(places) + max(places)) / 2, max(places)}):
        at = across.at(value)
        lines += f'<path class="grid" d="M{at} {_TOP}V{HEIGHT - _BOTTOM}"/>'
        lines += _label(at, HEIGHT - _BOTTOM + 18, short(10**value if is_log else value), "middle")
    points = [
        _point(entry, across.at(place), up.at(_value(entry.eval)), address)
        for entry, place in zip(costed, places, strict=True)
    ]
    text = f"Eval score against {label} of {len(costed)} entries; on the line are those that no other beats."
    scale = f"{label}, in powers of ten" if is_log else label
    labels = _label(WIDTH / 2, HEIGHT - 4, scale, "middle")
    drawn = [_grid(up, across=True), lines, labels, f'<path class="best" d="{path}"/>', *points]
    return _figure("cost", f"Score against {label}", text, drawn)


def with_cost(entries: Iterable[Shown], cost: str) -> list[Shown]:
    """The entries that show an eval score, tell a cost, and were not withdrawn, in their order."""
    return [entry for entry in entries if entry.eval is not None and cost in entry.costs and not entry.withdrawn_on]


def front(entries: Iterable[Shown], cost: str) -> list[Shown]:
    """Those of them that no other beats in score and cost (the Pareto front), by rising cost."""
    costed = with_cost(entries, cost)
    return [costed[at] for at in pareto_front([(float(entry.costs[cost]), _value(entry.eval)) for entry in costed])]


def short(value: float) -> str:
    """A number in three figures: 0.5, 12, 340 k, 1.5 M, 7 G."""
    for size, letter in ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def of_teams(entries: Iterable[Shown], most: int = 20) -> list[tuple[str, int, float]]:
    """The teams with the most entries: name, entries, and the length of a bar in percent. None under embargo counts."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for entry in entries:
        if not entry.is_hidden and not entry.withdrawn_on:
            names.setdefault(entry.team.casefold(), entry.team)
            counts[entry.team.casefold()] += 1
    top = counts.most_common(most)
    return [(names[key], count, round(100 * count / top[0][1], 1)) for key, count in top]


def has_word(entry: Shown, word: str) -> bool:
    """Whether an entry's description has a word; never under embargo."""
    return bool(word) and not entry.is_hidden and word.casefold() in entry.description.casefold()


def _value(score: Decimal | None) -> float:
    return float(score or 0)


def _day(entry: Shown) -> float:
    return float(entry.day.toordinal())


def _days(entries: Sequence[Shown]) -> Axis:
    days = [_day(entry) for entry in entries]
    low, high = min(days), max(days)
    room = max(15.0, (high - low) * 0.03)
    return Axis(low - room, high + room, _LEFT, WIDTH - _RIGHT)


def _scores(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    room = max(0.01, (high - low) * 0.06)
    return Axis(low - room, high + room, HEIGHT - _BOTTOM, _TOP)


def _steps(axis: Axis) -> list[float]:
    """Round values along an axis: some four to eight."""
    span = axis.high - axis.low
    step = next(size for size in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0, 100.0, 1e9) if span / size <= 8)
    first = int(axis.low / step) - 1
    return [k * step for k in range(first, first + 12) if axis.low <= k * step <= axis.high]


def _grid(axis: Axis, *, across: bool) -> str:
    lines = ""
    for value in _steps(axis):
        at, text = axis.at(value), f"{value:.3f}".rstrip("0").rstrip(".") or "0"
        if across:
            lines += f'<path class="grid" d="M{_LEFT} {at}H{WIDTH - _RIGHT}"/>' + _label(_LEFT - 6, at + 4, text, "end")
        else:
            lines += f'<path class="grid" d="M{at} {_TOP}V{HEIGHT - _BOTTOM}"/>'
            lines += _label(at, HEIGHT - _BOTTOM + 18, text, "middle")
    return lines


def _years(axis: Axis) -> str:
    """Each year's first day; within a year the ends, as dates."""
    first, last = date.fromordinal(int(axis.low)).year + 1, date.fromordinal(int(axis.high)).year
    every = max(1, (last - first) // 8 + 1)
    marks = [(date(year, 1, 1), str(year)) for year in range(first, last + 1, every)]
    if len(marks) < 2:
        ends = [date.fromordinal(round(axis.low + (axis.high - axis.low) * share)) for share in (0.12, 0.88)]
        marks = [(day, day.isoformat()) for day in ends]
    at: Callable[[date], float] = lambda day: axis.at(day.toordinal())  # noqa: E731
    lines = (f'<path class="grid" d="M{at(day)} {_TOP}V{HEIGHT - _BOTTOM}"/>' for day, _text in marks)
    return "".join(lines) + "".join(_label(at(day), HEIGHT - _BOTTOM + 18, text, "middle") for day, text in marks)


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _point(entry: Shown, x: float, y: float, address: Address, *, is_marked: bool = False) -> str:
    """A circle for an entry, a diamond for a baseline, a square for one with the word; filled if it was the best."""
    kind = "baseline" if entry.mark == "baseline" else "trophy" if entry.mark == "trophy" else "other"
    scores = f"dev {entry.printed_dev or '–'}, eval {entry.printed_eval or '–'}"
    more = (", as published" if entry.is_imported else "") + (", withdrawn" if entry.withdrawn_on else "")
    title = f"<title>{escape(entry.description)}, {entry.day}: {scores}{more}</title>"
    leads = f' data-href="{escape(address(entry))}"' if address(entry) else ""
    if is_marked:
        corner = f'x="{x - 4:.1f}" y="{y - 4:.1f}"'
        return f'<rect class="point marked {kind}"{leads} {corner} width="8" height="8">{title}</rect>'
    if kind == "baseline":
        return f'<path class="point {kind}"{leads} d="M{x} {y - 5:.1f}l5 5l-5 5l-5-5z">{title}</path>'
    return f'<circle class="point {kind}"{leads} cx="{x}" cy="{y}" r="4">{title}</circle>'


def _figure(name: str, title: str, text: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" class="over" aria-labelledby="{name}-title {name}-text">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(text)}</desc>{"".join(parts)}</svg>\n'
    )
