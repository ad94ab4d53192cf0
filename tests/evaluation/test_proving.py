"""When a test pair may decide about workers, and when it is set aside."""

from evaluation.judging.proving import Record, is_proven, is_unfair


def test_two_careful_workers_prove_a_test_pair_unless_more_than_one_in_five_fails_it() -> None:
    assert not is_proven(Record(1, 0))
    assert is_proven(Record(2, 0))
    assert not is_proven(Record(3, 1))
    assert is_proven(Record(4, 1))


def test_three_of_five_careful_workers_set_a_test_pair_aside_and_three_of_six_do_not() -> None:
    assert is_unfair(Record(2, 3), [])
    assert is_unfair(Record(0, 3), [Record(40, 0)])
    assert not is_unfair(Record(0, 2), [])
    assert not is_unfair(Record(3, 3), [])
    assert not is_unfair(Record(60, 7), [])
    assert is_unfair(Record(50, 14), [])


def test_a_careless_crowd_that_fails_every_test_pair_sets_none_aside() -> None:
    crowd = [Record(20, 12)] * 11
    assert not is_unfair(Record(20, 12), crowd)
    assert is_unfair(Record(4, 20), crowd)
