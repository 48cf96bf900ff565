"""`shell` runs a command to its end and leaves no process behind."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from sapwood.core.model_calls import ToolOutcome
from sapwood.workspace.programs import run_program
from sapwood.workspace.tool_output import BoundedOutput
from tests.workspace.tool_calls import ToolWorkspace, is_running, until


async def test_output_and_errors_come_in_order_with_how_it_ended(workspace: ToolWorkspace) -> None:
    shown = await workspace.done("shell", command="echo one; echo two >&2; echo three")
    assert shown == "one\ntwo\nthree\n[exit status 0]"


async def test_a_failure_is_an_error_that_keeps_the_output(workspace: ToolWorkspace) -> None:
    outcome = await workspace.call("shell", command="echo no; exit 3")
    assert outcome == ToolOutcome("no\n[exit status 3]", error=True)


async def test_silence_is_told(workspace: ToolWorkspace) -> None:
    assert await workspace.done("shell", command="true") == "[exit status 0, no output]"


async def test_a_signal_is_told_by_name(workspace: ToolWorkspace) -> None:
    assert "[ended by SIGKILL]" in await workspace.refused("shell", command="kill -9 $$")


async def test_it_runs_in_the_workspace_or_a_folder_of_it(workspace: ToolWorkspace) -> None:
    (workspace.folder / "src").mkdir()
    assert str(workspace.folder) in await workspace.done("shell", command="pwd")
    assert f"{workspace.folder}/src" in await workspace.done("shell", command="pwd", cwd="src")
    assert "outside" in await workspace.refused("shell", command="pwd", cwd="/")
    assert "contains '..'" in await workspace.refused("shell", command="pwd", cwd="..")
    assert "There is no nope" in await workspace.refused("shell", command="pwd", cwd="nope")


async def test_there_is_nothing_to_read_from(workspace: ToolWorkspace) -> None:
    assert await workspace.done("shell", command="cat; echo done") == "done\n[exit status 0]"


async def test_keys_are_not_in_its_environment(
    workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-openai")
    monkeypatch.setenv("SAPWOOD_DATABASE", "secret-ours")
    monkeypatch.setenv("OTHER_NAME", "secret-known")
    monkeypatch.setenv("HARMLESS", "wood")
    shown = await ToolWorkspace(workspace.folder, secrets=["secret-known"]).done(
        "shell", command="env"
    )
    assert "secret-" not in shown
    assert "HARMLESS=wood" in shown


async def test_what_a_shell_reads_before_the_command_is_not_given_to_it(
    workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASH_ENV", str(workspace.put("evil.sh", "echo evil\n")))
    monkeypatch.setenv("BASH_FUNC_echo%%", "() { builtin echo evil; }")
    assert "evil" not in await ToolWorkspace(workspace.folder).done("shell", command="echo good")


async def test_text_that_is_none_is_shown_as_far_as_it_goes(workspace: ToolWorkspace) -> None:
    shown = await workspace.done("shell", command=r"printf 'gr\xfcn 木\n'")
    assert shown == "gr\ufffdn 木\n[exit status 0]"


async def test_a_huge_output_keeps_its_beginning_and_its_end(workspace: ToolWorkspace) -> None:
    shown = await workspace.done(
        "shell", command="echo first; yes wood | head -c 30000000; echo last"
    )
    assert len(shown) < 5_000_200
    assert shown.startswith("first\nwood\n")
    assert shown.endswith("last\n[exit status 0]")
    assert "[25,000,011 bytes in the middle were left out]" in shown


async def test_a_command_out_of_time_is_stopped_and_its_output_kept(
    workspace: ToolWorkspace,
) -> None:
    shown = await workspace.refused("shell", command="echo begun; sleep 1000", timeout=5)
    assert shown == "begun\n[stopped after 5 seconds; a longer timeout can be given]"


async def test_a_command_that_ignores_being_asked_to_end_is_ended(tmp_path: Path) -> None:
    pids = await reported(
        tmp_path, "trap '' TERM; echo $$ > {pipe}; while :; do sleep 1; done", 1.0
    )
    assert not any(is_running(pid) for pid in pids)


async def test_what_it_started_in_the_background_ends_with_it(tmp_path: Path) -> None:
    pids = await reported(tmp_path, "sleep 1000 & echo $! > {pipe}", 60)
    assert not any(is_running(pid) for pid in pids)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="environments cannot be read")
async def test_also_what_left_its_group(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe2")
    inner = "echo $$ > {pipe}; echo go > {pipe}2; exec sleep 1000"
    command = f"setsid sh -c '{inner}' & cat {{pipe}}2"
    pids = await reported(tmp_path, command, 60)
    assert not any(is_running(pid) for pid in pids)


@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > {pipe}; sleep 1000",
        "sleep 1000 & echo $$ $! > {pipe}; wait",
        "(sleep 1000 & echo $$ $! > {pipe}; wait) | cat",
        "setsid sh -c 'echo $$ > {pipe}; exec sleep 1000' & wait",
        "trap '' TERM; echo $$ > {pipe}; while :; do sleep 1; done",
    ],
)
async def test_cancelling_leaves_no_process_behind(workspace: ToolWorkspace, command: str) -> None:
    pipe = workspace.folder / "pipe"
    os.mkfifo(pipe)
    call = workspace.call("shell", command=command.format(pipe=pipe))
    task = asyncio.create_task(call)
    pids = [int(word) for word in (await asyncio.to_thread(pipe.read_text)).split()]
    assert pids
    await until(lambda: all(is_running(pid) for pid in pids))  # it may be between two programs
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(is_running(pid) for pid in pids)


async def test_cancelling_at_any_moment_leaves_no_process_behind(workspace: ToolWorkspace) -> None:
    for moments in range(40):
        task = asyncio.create_task(workspace.call("shell", command="sleep 1000 & sleep 1000"))
        await asyncio.sleep(moments / 2_000)  # from before it is started until it runs
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert working_in(workspace.folder) == []


def working_in(folder: Path) -> list[str]:
    """The processes that are at work in a folder."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd") == str(folder) and is_running(int(process.name)):
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


async def test_cancelling_twice_does_not_either(workspace: ToolWorkspace) -> None:
    pipe = workspace.folder / "pipe"
    os.mkfifo(pipe)
    command = f"trap '' TERM; echo $$ > {pipe}; while :; do sleep 1; done"
    task = asyncio.create_task(workspace.call("shell", command=command))
    pid = int(await asyncio.to_thread(pipe.read_text))
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)


async def test_nor_cancelling_twice_while_the_program_starts(
    workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    start = loop.subprocess_exec

    async def start_slowly(*arguments: Any, **options: Any) -> Any:
        started = await start(*arguments, **options)
        await asyncio.sleep(0.2)
        return started

    monkeypatch.setattr(loop, "subprocess_exec", start_slowly)
    pipe = workspace.folder / "pipe"
    os.mkfifo(pipe)
    task = asyncio.create_task(workspace.call("shell", command=f"echo $$ > {pipe}; sleep 1000"))
    pid = int(await asyncio.to_thread(pipe.read_text))
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(pid)


async def test_a_cancellation_is_not_lost_while_a_program_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending = asyncio.Event()

    async def end_slowly(*_: object) -> None:
        ending.set()
        await asyncio.sleep(0.05)

    monkeypatch.setattr("sapwood.workspace.programs._kill_program", end_slowly)
    program = run_program(["true"], folder=str(tmp_path), environment={}, seconds=60)
    task = asyncio.create_task(program)
    await ending.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_many_at_once_do_not_disturb_each_other(workspace: ToolWorkspace) -> None:
    calls = [workspace.done("shell", command=f"echo {n}") for n in range(20)]
    assert await asyncio.gather(*calls) == [f"{n}\n[exit status 0]" for n in range(20)]


async def test_a_null_character_is_refused(workspace: ToolWorkspace) -> None:
    assert "null" in await workspace.refused("shell", command="echo \0")


async def test_a_program_gets_what_it_is_given(tmp_path: Path) -> None:
    ended = await run_program(
        ["cat"], folder=str(tmp_path), environment=os.environ, seconds=60, stdin=b"x" * 1_000_000
    )
    assert (len(ended.output), ended.errors, ended.status) == (1_000_000, "", 0)


async def test_a_program_that_does_not_listen_does_no_harm(tmp_path: Path) -> None:
    ended = await run_program(
        ["true"], folder=str(tmp_path), environment=os.environ, seconds=60, stdin=b"x" * 1_000_000
    )
    assert ended.status == 0


async def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await run_program(["no-such-tree"], folder=str(tmp_path), environment={}, seconds=1)


async def reported(folder: Path, command: str, seconds: float) -> list[int]:
    """Runs a command to its end, and returns the processes that it wrote into a pipe."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reading = asyncio.create_task(asyncio.to_thread(pipe.read_text))
    await run_program(
        ["sh", "-c", command.format(pipe=pipe)],
        folder=str(folder),
        environment=os.environ,
        seconds=seconds,
    )
    return [int(word) for word in (await reading).split()]


def test_what_is_collected_is_bounded() -> None:
    kept = BoundedOutput(10)
    for byte in b"abcdefghijklmnopqrstuvwxyz":
        kept.add(bytes([byte]))
    assert kept.text() == "abcdefgh\n[16 bytes in the middle were left out]\nyz"
    whole = BoundedOutput(10)
    whole.add(b"abcdefghij")
    assert whole.text() == "abcdefghij"
