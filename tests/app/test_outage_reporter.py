"""The start and the end of an outage of the database are each logged once."""

import asyncio
import threading

import pytest

from sapwood.app import connection
from sapwood.app.connection import OutageReporter
from tests.engine.eventually import eventually

AWAY, BACK = "does not answer", "is back"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage is over after a short time."""
    monkeypatch.setattr(connection, "_SETTLED", 0.05)


async def delivered() -> None:
    """Lets the loop handle the reports, without time for an outage to be over."""
    await asyncio.sleep(0)


async def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    reporter = OutageReporter()
    for answers in (False, False, True, False, True, True):
        reporter.report(answers)
    await delivered()
    assert caplog.text.count(AWAY) == 1
    assert BACK not in caplog.text
    await eventually(lambda: BACK in caplog.text)
    assert caplog.text.count(BACK) == 1


async def test_nothing_is_logged_without_an_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reporter = OutageReporter()
    reporter.report(True)
    await delivered()
    reporter.close()
    assert not caplog.records


async def test_the_next_outage_is_logged_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_ECHO", 0.0)
    reporter = OutageReporter()
    for _ in range(2):
        reporter.report(False)
        reporter.report(True)
        await delivered()
        reporter.close()  # has the same effect as waiting
    assert [BACK in record.message for record in caplog.records] == [False, True, False, True]


async def test_a_connection_that_is_found_broken_after_the_outage_is_no_new_one(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_CONFIRMED", 0.05)
    reporter = OutageReporter()
    for answers in (False, True):
        reporter.report(answers)
    await eventually(lambda: BACK in caplog.text)
    for answers in (False, False, True, True):
        reporter.report(answers)
    await asyncio.sleep(0.2)
    reporter.close()
    assert [BACK in record.message for record in caplog.records] == [False, True]


async def test_an_outage_right_after_another_is_logged_if_it_lasts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_CONFIRMED", 0.05)
    reporter = OutageReporter()
    for answers in (False, True):
        reporter.report(answers)
    await eventually(lambda: BACK in caplog.text)
    reporter.report(False)
    await eventually(lambda: caplog.text.count(AWAY) == 2)


async def test_an_outage_that_lasts_until_the_end_has_no_end_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reporter = OutageReporter()
    reporter.report(False)
    await delivered()
    reporter.close()
    assert BACK not in caplog.text


async def test_threads_may_report(caplog: pytest.LogCaptureFixture) -> None:
    reporter = OutageReporter()
    thread = threading.Thread(target=reporter.report, args=(False,))
    thread.start()
    await asyncio.to_thread(thread.join)
    await delivered()
    assert AWAY in caplog.text


def test_a_report_after_the_end_of_the_loop_does_nothing() -> None:
    async def created() -> OutageReporter:
        return OutageReporter()

    asyncio.run(created()).report(False)
