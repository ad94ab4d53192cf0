"""Score against cost: which entries give the most for what they cost."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The indexes of the points (cost, score) that no other beats, by rising cost.

    A point is beaten by one that costs no more and scores no less, and is better in one of the two. Equal points are
    beaten by none of each other. Cost and score may have any unit.
    """
    front: list[int] = []
    for index in sorted(range(len(points)), key=lambda index: (points[index][0], -points[index][1])):
        if not front or points[index][1] > points[front[-1]][1] or points[index] == points[front[-1]]:
            front.append(index)
    return front
