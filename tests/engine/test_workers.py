"""Worker ids, and how dead workers are recognised: rather late than wrongly."""

import os
import signal
import subprocess
import sys

import pytest

from sapwood.engine.workers import (
    FailureDetector,
    new_worker_id,
    process_has_ended,
    process_is_running,
)


def looks(detector: FailureDetector, *sights: tuple[float, int]) -> list[bool]:
    """Was the worker taken for dead, at each time with each count of heartbeats?"""
    return [bool(detector.dead({"worker": beats}, now)) for now, beats in sights]


def test_a_worker_whose_count_moves_is_alive() -> None:
    sights = [(number / 2, number // 2) for number in range(40)]
    assert not any(looks(FailureDetector(dead_after=2.5, beat=0.5), *sights))


def test_a_worker_whose_count_stands_still_is_dead_after_a_while() -> None:
    sights = [(number / 2, 7) for number in range(7)]
    assert looks(FailureDetector(dead_after=2.5, beat=0.5), *sights) == [False] * 5 + [True] * 2


def test_after_a_stop_of_its_own_a_judge_starts_over() -> None:
    detector = FailureDetector(dead_after=2.5, beat=0.5)
    assert looks(detector, (0.0, 7), (0.5, 7), (1.0, 7)) == [False] * 3
    assert looks(detector, (60.0, 7), (60.5, 7), (61.0, 8)) == [False] * 3


def test_a_judge_that_looks_seldom_wants_more_than_one_sighting() -> None:
    detector = FailureDetector(dead_after=1.0, beat=0.4)
    assert looks(detector, (0.0, 1), (0.4, 1), (0.8, 1), (1.2, 1)) == [False, False, False, True]


def test_the_last_count_is_told() -> None:
    detector = FailureDetector(dead_after=1.0, beat=0.5)
    told = [detector.dead({"old": 3, "new": number}, number / 2) for number in range(3)]
    assert told == [{}, {}, {"old": 3}]


NAME = "from sapwood.engine.workers import new_worker_id; print(new_worker_id())"


def name_of_another() -> str:
    """The name of a worker whose process has ended."""
    done = subprocess.run([sys.executable, "-c", NAME], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_no_two_workers_have_one_name() -> None:
    assert new_worker_id() != new_worker_id()


def test_a_living_neighbour_has_not_ended() -> None:
    assert not process_has_ended(new_worker_id())


@pytest.mark.skipif(not os.path.isdir("/proc/self/ns"), reason="there is no /proc to look into")
def test_a_neighbour_whose_process_is_no_more_has_ended() -> None:
    assert process_has_ended(name_of_another())


def test_of_a_worker_elsewhere_nothing_is_known() -> None:
    *host, here, pid, unique = name_of_another().split("-")
    assert not process_has_ended("-".join([*host, "elsewhere", pid, unique]))
    assert not process_has_ended("-".join([*host, "", pid, unique]))
    assert here


def test_a_process_of_this_machine_that_runs_is_slow_and_not_dead() -> None:
    assert process_is_running(new_worker_id())
    assert not process_is_running(name_of_another())


def test_a_process_number_in_use_again_is_another_process() -> None:
    name, _, started = new_worker_id().rpartition("s")
    assert not process_is_running(f"{name}s{int(started) + 1}")


def test_a_process_that_is_stopped_may_be_taken_over() -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", f"{NAME}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        worker = process.stdout.readline().strip()
        assert process_is_running(worker)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        assert not process_is_running(worker)
    finally:
        process.kill()
        process.communicate()
