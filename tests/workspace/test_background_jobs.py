"""What a background command prints is masked as a whole, however often and wherever it is cut."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from sapwood.core.ids import AgentId
from sapwood.redaction import mask_secrets
from sapwood.workspace.background_jobs import BackgroundJobs, OnOutput
from sapwood.workspace.tools.shell_tool import ShellResult

_AGENT = AgentId("k3h7wq2mzp")
_PASSWORD = "hunter2024x"
_LINE = b"a line of fifty bytes, as many programs print them\n"


class _Log:
    """Keeps what is stored when a command ends."""

    def __init__(self) -> None:
        self.output = ""
        self.has_output = asyncio.Event()

    async def started(self, agent: AgentId, line: str, call: str) -> int:
        return 1

    async def ended(self, agent: AgentId, job: int, result: str, output: str) -> None:
        self.output = mask_secrets(output)
        self.has_output.set()

    async def wait_for_end(self, agent: AgentId, job: int) -> None:
        await asyncio.Event().wait()


class _Job:
    """A command that prints what the test says."""

    def __init__(self) -> None:
        self.log = _Log()
        self.jobs = BackgroundJobs(self.log)
        self._print: asyncio.Future[OnOutput] = asyncio.Future()
        self._ended = asyncio.Event()

    async def run(self, on_output: OnOutput) -> ShellResult:
        self._print.set_result(on_output)
        await self._ended.wait()
        return ShellResult("", False, "exit status 0")

    async def prints(self, data: bytes) -> None:
        (await self._print)(data)

    def read(self) -> str:
        """What the log keeps of a result: each is masked by itself."""
        return mask_secrets(self.jobs.read(_AGENT, 1))

    async def ends(self) -> str:
        """Ends the command and returns what the log keeps of its output."""
        self._ended.set()
        await self.log.has_output.wait()
        return self.log.output


@asynccontextmanager
async def _running() -> AsyncGenerator[_Job]:
    job = _Job()
    await job.jobs.start(_AGENT, "serve", "c1", job.run)
    try:
        yield job
    finally:
        await job.jobs.close()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b"DB_PASSWORD=", b"hunter2024x\n"),
        (b"DB_PASSWORD=hun", b"ter2024x\n"),
        (b"a\nDB_PASSWORD=hunter2", b"024x\nb\n"),
        (b"password:\n", b"hunter2024x\n"),
    ],
)
async def test_a_secret_that_is_printed_in_two_pieces_is_masked(
    first: bytes, second: bytes
) -> None:
    async with _running() as job:
        await job.prints(first)
        results = job.read()
        await job.prints(second)
        results += job.read()
    assert "[secret: password]" in results
    assert "hun" not in results
    assert "024x" not in results


async def test_a_key_that_is_printed_in_two_pieces_is_masked() -> None:
    lines = [b"%d" % number * 32 + b"\n" for number in range(1, 9)]
    async with _running() as job:
        await job.prints(b"-----BEGIN RSA PRIVATE KEY-----\n" + b"".join(lines[:4]))
        results = job.read()
        await job.prints(b"".join(lines[4:]))
        results += job.read()
        await job.prints(b"-----END RSA PRIVATE KEY-----\nafter\n")
        results += job.read()
    assert "after" in results
    assert not any(line.decode().strip() in results for line in lines)


async def test_an_unfinished_line_is_held_back_until_it_or_the_command_ends() -> None:
    async with _running() as job:
        await job.prints(b"ready\nwaiting for")
        assert job.read() == "ready\n\n[11 bytes of an unfinished line are held back]\n[running]"
        await job.prints(b" oaks\nand")
        assert "waiting for oaks\n" in job.read()
        await job.ends()
        assert job.read() == "and\n[exit status 0]"


async def test_a_progress_bar_and_a_very_long_line_are_not_held_back() -> None:
    async with _running() as job:
        await job.prints(b"10 %\r20 %\r")
        assert "20 %" in job.read()
        await job.prints(b"many words " * 2_000)
        assert job.read().count("many") >= 1_900


@pytest.mark.parametrize("cut", range(0, 48, 4))
async def test_a_secret_where_the_stored_end_begins_is_masked(cut: int) -> None:
    async with _running() as job:
        await job.prints(_LINE + f"DB_PASSWORD={_PASSWORD} ".encode())
        await job.prints(b"x " * 990 + b"y" * (20 - cut // 2) + b"\n")
        stored = await job.ends()
    assert len(stored) <= 2_000
    assert _PASSWORD[3:] not in stored


async def test_the_stored_end_begins_with_a_line() -> None:
    async with _running() as job:
        await job.prints(_LINE * 100)
        assert await job.ends() == (_LINE * (2_000 // len(_LINE))).decode()


@pytest.mark.parametrize("cut", range(0, 32, 4))
async def test_a_secret_where_the_dropped_output_ends_is_masked(cut: int) -> None:
    async with _running() as job:
        await job.prints(b"x " * 20_000 + b"\n")
        await job.prints(f"DB_PASSWORD={_PASSWORD}\n".encode())
        await job.prints((_LINE * 4_000)[: 200_000 - cut - 1] + b"\n")
        result = job.read()
    assert "bytes were dropped" in result
    assert _PASSWORD[3:] not in result
    assert "a line of fifty bytes" in result


async def test_values_that_are_known_to_be_secret_are_masked_before_the_cut() -> None:
    secret = "plain-words-of-nobody"
    mask = partial(mask_secrets, known=(secret,))
    job = _Job()
    job.jobs = BackgroundJobs(job.log, mask)
    await job.jobs.start(_AGENT, "serve", "c1", job.run)
    await job.prints(_LINE * 3 + secret.encode() + b" " + b"x" * 1_990 + b"\n")
    stored = await job.ends()
    assert "nobody" not in stored
