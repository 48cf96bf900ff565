"""A person is told once that the database is away, and once that it is back."""

import asyncio
import threading

import pytest

from sapwood.app import outages
from sapwood.app.outages import Outages
from tests.engine.waiting import eventually

AWAY, BACK = "does not answer", "is back"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has answered is taken for back after a short moment."""
    monkeypatch.setattr(outages, "_SETTLED", 0.05)


async def heard() -> None:
    """Lets what was said sink in, without time for an outage to be over."""
    await asyncio.sleep(0)


async def test_whoever_notices_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    listener = Outages()
    for answers in (False, False, True, False, True, True):
        listener.hear(answers)
    await heard()
    assert caplog.text.count(AWAY) == 1
    assert BACK not in caplog.text
    await eventually(lambda: BACK in caplog.text)
    assert caplog.text.count(BACK) == 1


async def test_what_always_answered_is_nothing_to_talk_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = Outages()
    listener.hear(True)
    await heard()
    listener.close()
    assert not caplog.records


async def test_the_next_outage_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    listener = Outages()
    for _ in range(2):
        listener.hear(False)
        listener.hear(True)
        await heard()
        listener.close()  # as good as waiting for it to settle
    assert [BACK in record.message for record in caplog.records] == [False, True, False, True]


async def test_who_leaves_before_it_is_back_is_not_told_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = Outages()
    listener.hear(False)
    await heard()
    listener.close()
    assert BACK not in caplog.text


async def test_threads_may_tell_and_even_too_late(caplog: pytest.LogCaptureFixture) -> None:
    listener = Outages()
    thread = threading.Thread(target=listener.hear, args=(False,))
    thread.start()
    await asyncio.to_thread(thread.join)
    await heard()
    assert AWAY in caplog.text


def test_after_the_end_of_the_loop_nobody_is_told() -> None:
    async def made() -> Outages:
        return Outages()

    asyncio.run(made()).hear(False)
