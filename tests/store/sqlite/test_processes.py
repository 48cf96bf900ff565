"""Several processes share a file: opening it for the first time, writing, and being interrupted."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from sapwood.core.ids import AgentId, Space
from sapwood.store.sqlite import SqliteLog
from tests.store.contract import grow, take, texts

SPACE, ADA = Space("space"), AgentId("ada")
PROCESSES, TEXTS = 4, 25

_INTERRUPTED = """
import asyncio, itertools, sys
from pathlib import Path
from sapwood.core.ids import AgentId, Space
from sapwood.store.sqlite import SqliteLog
from tests.store.contract import grow

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]))
    try:
        for n in itertools.count():
            await grow(log, Space("space"), AgentId("ada"), str(n))
            if n == 10:
                print("ready", flush=True)
    finally:
        await log.close()

asyncio.run(main())
"""


async def test_a_new_file_may_be_opened_by_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    expected = [str(n) for n in range(TEXTS)]
    arguments = ("-m", "tests.store.another_process", "sqlite", str(path), SPACE, ADA, *expected)
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, *arguments) for _ in range(PROCESSES)
    ]
    assert await asyncio.gather(*(each.wait() for each in processes)) == [0] * PROCESSES
    log = await SqliteLog.open(path)
    recorded = await log.read(SPACE, ADA)
    assert [each.version for each in recorded] == list(range(1, PROCESSES * TEXTS + 1))
    assert sorted(texts(recorded)) == sorted(expected * PROCESSES)
    assert len(await log.search(SPACE, "7", limit=100)) == PROCESSES
    await log.close()


async def test_opening_many_times_in_one_process_is_no_different(tmp_path: Path) -> None:
    logs = await asyncio.gather(*(SqliteLog.open(tmp_path / "log.db") for _ in range(8)))
    await asyncio.gather(*(grow(log, SPACE, ADA, str(n)) for n, log in enumerate(logs)))
    for log in logs:
        assert len(await take(log.follow(SPACE, ADA), 8)) == 8
    await asyncio.gather(*(log.close() for log in logs))


async def test_an_interrupt_ends_the_process_and_keeps_the_log(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", _INTERRUPTED, str(tmp_path / "log.db")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout
    await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, complaints = await process.communicate()
    assert process.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in complaints.splitlines()[-1]
    assert os.listdir(tmp_path) == ["log.db"]
    log = await SqliteLog.open(tmp_path / "log.db")
    recorded = await log.read(SPACE, ADA)
    assert texts(recorded) == [str(n) for n in range(len(recorded))]
    assert len(recorded) > 10
    await log.close()
