"""A neighbour whose process is no more is known to be dead; of all others nothing is known."""

import os
import subprocess
import sys

import pytest

from sapwood.engine.dbos.names import has_ended, new_worker

pytest.importorskip("dbos", reason="the extra 'engine' is not installed")

NAME = "from sapwood.engine.dbos.names import new_worker; print(new_worker())"


def name_of_another() -> str:
    """The name of a worker whose process has ended."""
    done = subprocess.run([sys.executable, "-c", NAME], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_no_two_workers_have_one_name() -> None:
    assert new_worker() != new_worker()


def test_a_living_neighbour_has_not_ended() -> None:
    assert not has_ended(new_worker())


@pytest.mark.skipif(not os.path.isdir("/proc/self/ns"), reason="there is no /proc to look into")
def test_a_neighbour_whose_process_is_no_more_has_ended() -> None:
    assert has_ended(name_of_another())


def test_of_a_worker_elsewhere_nothing_is_known() -> None:
    *host, here, pid, unique = name_of_another().split("-")
    assert not has_ended("-".join([*host, "elsewhere", pid, unique]))
    assert not has_ended("-".join([*host, "", pid, unique]))
    assert here
