"""Who is dead is said late rather than wrongly."""

from sapwood.engine.dbos.workers import Coroner


def looks(coroner: Coroner, *sights: tuple[float, int]) -> list[bool]:
    """Was the worker taken for dead, at each time with each count of heartbeats?"""
    return [bool(coroner.dead({"worker": beats}, now)) for now, beats in sights]


def test_a_worker_whose_count_moves_is_alive() -> None:
    sights = [(number / 2, number // 2) for number in range(40)]
    assert not any(looks(Coroner(dead_after=2.5, beat=0.5), *sights))


def test_a_worker_whose_count_stands_still_is_dead_after_a_while() -> None:
    sights = [(number / 2, 7) for number in range(7)]
    assert looks(Coroner(dead_after=2.5, beat=0.5), *sights) == [False] * 5 + [True] * 2


def test_after_a_stop_of_its_own_a_judge_starts_over() -> None:
    coroner = Coroner(dead_after=2.5, beat=0.5)
    assert looks(coroner, (0.0, 7), (0.5, 7), (1.0, 7)) == [False] * 3
    assert looks(coroner, (60.0, 7), (60.5, 7), (61.0, 8)) == [False] * 3


def test_a_judge_that_looks_seldom_wants_more_than_one_sighting() -> None:
    coroner = Coroner(dead_after=1.0, beat=0.4)
    assert looks(coroner, (0.0, 1), (0.4, 1), (0.8, 1), (1.2, 1)) == [False, False, False, True]


def test_the_last_count_is_told() -> None:
    coroner = Coroner(dead_after=1.0, beat=0.5)
    told = [coroner.dead({"old": 3, "new": number}, number / 2) for number in range(3)]
    assert told == [{}, {}, {"old": 3}]
