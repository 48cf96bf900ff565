"""One works, one waits, and a third is sent away."""

import queue
import threading
from pathlib import Path

from sapwood.app.tending.turnstile import one_at_a_time


def test_one_works_one_waits_and_a_third_is_sent_away(tmp_path: Path) -> None:
    came: queue.Queue[bool] = queue.Queue()

    def come() -> None:
        with one_at_a_time(str(tmp_path), "work") as may_go:
            came.put(may_go)

    threads = [threading.Thread(target=come, daemon=True) for _ in range(2)]
    with one_at_a_time(str(tmp_path), "work") as may_go:
        assert may_go
        for thread in threads:
            thread.start()
        assert came.get(timeout=30) is False
        assert came.empty()
    assert came.get(timeout=30) is True
    for thread in threads:
        thread.join(30)


def test_whoever_comes_later_finds_it_free(tmp_path: Path) -> None:
    for _ in range(2):
        with one_at_a_time(str(tmp_path), "work") as may_go:
            assert may_go
