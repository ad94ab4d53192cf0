"""Labels beside points, none over another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_NEAR = 7.0  # points from a point to its label; further off, a line leads to it
_ANGLES = [math.radians(angle) for angle in (0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 67, 113, 247, 293)]
_POINT = 4.5


class Box(NamedTuple):
    """A rectangle, by its edges, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two have any area in common."""
        return (
            self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top
        )


class Placed(NamedTuple):
    """The position of a label, and whether a line leads to it."""

    box: Box
    led: bool


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    room: Box,
    furthest: float,
    blocked: Sequence[Box] = (),
) -> list[Placed] | None:
    """A place for the label of each point, within `room`, over no other label, no point and nothing of `blocked`.

    None where a label finds none within `furthest` points of its own.
    """
    marks = [*blocked, *(Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points)]
    labels: dict[int, Placed] = {}
    for number in sorted(range(len(points)), key=lambda number: _crowd(points, number), reverse=True):
        placed = _found(points[number], sizes[number], room, marks, [label.box for label in labels.values()], furthest)
        if placed is None:
            return None
        labels[number] = placed
    return [labels[number] for number in range(len(points))]


def nearest(box: Box, point: tuple[float, float]) -> tuple[float, float]:
    """The point of the box that is nearest to another."""
    return min(max(point[0], box.left), box.right), min(max(point[1], box.bottom), box.top)


def _crowd(points: Sequence[tuple[float, float]], number: int) -> float:
    """How near the others are: those in the thick of it choose first."""
    return sum(1 / (5 + math.dist(points[number], other)) for other in points)


def _found(
    point: tuple[float, float],
    size: tuple[float, float],
    room: Box,
    marks: Sequence[Box],
    labels: Sequence[Box],
    furthest: float,
) -> Placed | None:
    """The nearest free place to which a line crosses no label; else the nearest free one."""
    second = None
    distance = _NEAR
    while distance <= furthest:
        for angle in _ANGLES:
            box = _at(point, size, distance, angle)
            inside = (
                room.left <= box.left and box.right <= room.right and room.bottom <= box.bottom and box.top <= room.top
            )
            if not inside or any(map(box.overlaps, marks)) or any(map(box.overlaps, labels)):
                continue
            placed = Placed(box, distance > _NEAR)
            if not _crosses(point, nearest(box, point), labels):
                return placed
            second = second or placed
        distance += 4
    return second


def _crosses(start: tuple[float, float], end: tuple[float, float], boxes: Sequence[Box]) -> bool:
    """Whether the line between two points runs through a box."""
    steps = max(2, int(math.dist(start, end) / 3))
    for step in range(steps + 1):
        x, y = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
        if any(box.left < x < box.right and box.bottom < y < box.top for box in boxes):
            return True
    return False


def _at(point: tuple[float, float], size: tuple[float, float], distance: float, angle: float) -> Box:
    """The box whose nearest part is about `distance` from the point, in that direction."""
    (x, y), (width, height) = point, size
    across, up = math.cos(angle), math.sin(angle)
    left = x + across * (distance + width / 2) - width / 2
    bottom = y + up * (distance + height / 2) - height / 2
    return Box(left, bottom, left + width, bottom + height)
