"""The start and the end of an outage of the database are each logged once, with the reason."""

import asyncio
import threading

import pytest

from sapwood.app import connection
from sapwood.app.connection import OutageReporter
from tests.engine.eventually import eventually

AWAY, BACK = "is not responding", "is back"
REFUSED = "connection refused"
OK = ""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage is logged after a short time, and is over after a short time."""
    monkeypatch.setattr(connection, "_SETTLED", 0.05)


async def in_outage(caplog: pytest.LogCaptureFixture) -> OutageReporter:
    """A reporter that has logged an outage."""
    reporter = OutageReporter()
    reporter.report(REFUSED)
    await eventually(lambda: AWAY in caplog.text)
    return reporter


async def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    reporter = await in_outage(caplog)
    for problem in (REFUSED, OK, REFUSED, OK, OK):
        reporter.report(problem)
    await asyncio.sleep(0)  # the reports have arrived, and no time has passed
    assert BACK not in caplog.text
    await eventually(lambda: BACK in caplog.text)
    await asyncio.sleep(0.2)
    assert (caplog.text.count(AWAY), caplog.text.count(BACK)) == (1, 1)


async def test_the_reason_is_named_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    reporter = OutageReporter()
    reporter.report("connection refused.\n\tIs the server running?")
    reporter.report("something later")
    await eventually(lambda: AWAY in caplog.text)
    assert [record.message for record in caplog.records] == [
        "The database is not responding: connection refused. Work in progress resumes when it "
        "responds again."
    ]


async def test_nothing_is_logged_without_an_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reporter = OutageReporter()
    reporter.report(OK)
    await asyncio.sleep(0.2)
    reporter.close()
    assert not caplog.records


async def test_a_connection_that_is_replaced_at_once_is_no_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reporter = OutageReporter()
    for problem in (REFUSED, REFUSED, OK, OK):
        reporter.report(problem)
    await asyncio.sleep(0.2)
    reporter.close()
    assert not caplog.records


async def test_the_next_outage_is_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    reporter = await in_outage(caplog)
    reporter.report(OK)
    await asyncio.sleep(0)
    reporter.close()  # has the same effect as waiting
    reporter.report(REFUSED)
    await eventually(lambda: caplog.text.count(AWAY) == 2)
    assert [BACK in record.message for record in caplog.records] == [False, True, False]


async def test_an_outage_that_lasts_until_the_end_has_no_end_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reporter = await in_outage(caplog)
    reporter.close()
    assert BACK not in caplog.text


async def test_threads_may_report(caplog: pytest.LogCaptureFixture) -> None:
    reporter = OutageReporter()
    thread = threading.Thread(target=reporter.report, args=(REFUSED,))
    thread.start()
    await asyncio.to_thread(thread.join)
    await eventually(lambda: AWAY in caplog.text)


def test_a_report_after_the_end_of_the_loop_does_nothing() -> None:
    async def created() -> OutageReporter:
        return OutageReporter()

    asyncio.run(created()).report(REFUSED)


async def test_a_server_is_named_as_one(caplog: pytest.LogCaptureFixture) -> None:
    reporter = OutageReporter("The server")
    reporter.report(REFUSED)
    await eventually(lambda: AWAY in caplog.text)
    assert caplog.records[0].message.startswith("The server is not responding: connection refused.")
    reporter.close()
