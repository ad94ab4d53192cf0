"""Which entries no other beats in score and cost."""

from evaluation.boards.fronts import pareto_front


def test_the_front_has_what_no_other_beats_by_rising_cost() -> None:
    points = [(10.0, 0.3), (1.0, 0.2), (5.0, 0.3), (20.0, 0.31), (1.0, 0.1), (30.0, 0.31)]
    assert pareto_front(points) == [1, 2, 3]
    for index, (cost, score) in enumerate(points):
        beaten = any(c <= cost and s >= score and (c, s) != (cost, score) for c, s in points)
        assert (index in pareto_front(points)) is not beaten


def test_equal_points_are_all_on_the_front_and_nothing_has_none() -> None:
    assert pareto_front([(1.0, 0.5), (1.0, 0.5), (2.0, 0.5)]) == [0, 1]
    assert pareto_front([]) == []
