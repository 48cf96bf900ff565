"""MCP servers are started when needed, called in time, restarted once, and closed."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sapwood.core.model_calls import ToolOutcome
from sapwood.turns.tool_calls import Toolbox
from sapwood.workspace.mcp_client.mcp_connection import McpEndpoint
from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from tests.workspace.mcp_client.restarted_server import ForgetfulServer
from tests.workspace.tool_calls import is_running, until, use_of

PROGRAM = Path(__file__).with_name("small_server.py")
LIBRARY_PROGRAM = Path(__file__).with_name("wood_server.py")

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")


def program(**changes: float) -> McpEndpoint:
    return McpEndpoint(
        command=(sys.executable, str(PROGRAM)),
        start_timeout=changes.get("start", 60),
        call_timeout=changes.get("call", 60),
    )


@asynccontextmanager
async def opened(server: McpEndpoint, *rules: str) -> AsyncGenerator[McpToolbox]:
    box = McpToolbox("wood", server, PermissionGate(parse_rules(rules or ("allow *",))))
    try:
        yield box
    finally:
        await box.close()


async def run(box: Toolbox, tool: str, **arguments: object) -> ToolOutcome:
    return await box.run(use_of(f"wood__{tool}", json.dumps(arguments), "."))


async def done(box: Toolbox, tool: str, **arguments: object) -> str:
    outcome = await run(box, tool, **arguments)
    assert not outcome.error, outcome.content
    return outcome.content


async def test_tools_are_offered_under_the_name_of_their_server_and_run() -> None:
    command = (sys.executable, str(LIBRARY_PROGRAM))
    async with opened(McpEndpoint(command=command, start_timeout=60)) as box:
        specs = {spec.name: spec for spec in await box.specs()}
        assert list(specs) == sorted(specs)
        assert specs["wood__rings"].description == "Counts rings."
        assert json.loads(specs["wood__rings"].schema)["required"] == ["age"]
        saga = specs["wood__saga"].description
        assert saga.endswith("… [cut from 2,400,000 to 8,000 characters]")
        assert len(saga) < 8_100
        assert await done(box, "rings", age=21) == "42"
        assert json.loads(await done(box, "saw", length=3)) == {"length": 3}
        assert await done(box, "picture") == "[image, image/png, 7 bytes: not shown]"
        assert box.effect(use_of("wood__rings", "{}", ".")) == "none"
        assert box.effect(use_of("wood__saw", "{}", ".")) == "some"
        failed = await run(box, "knot")
        assert failed.error
        assert "knot" in failed.content
        failed = await run(box, "rings", age="many")
        assert failed.error
        assert "age" in failed.content
        assert await box.specs() == tuple(specs.values())


async def test_a_server_is_not_started_before_it_is_needed() -> None:
    box = McpToolbox("wood", McpEndpoint(command=("no-such-program",)))
    assert box.effect(use_of("wood__rings", "{}", ".")) == "some"
    await box.close()


async def test_closing_ends_the_program() -> None:
    async with opened(program()) as box:
        pid = int(await done(box, "pid"))
        assert is_running(pid)
    assert not is_running(pid)


async def test_the_program_gets_no_keys_but_those_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    server = McpEndpoint(command=program().command, env={"WOOD": "oak"}, start_timeout=60)
    async with opened(server) as box:
        names = (await done(box, "environment")).split()
    assert "WOOD" in names
    assert "PATH" in names
    assert "GITHUB_TOKEN" not in names


async def test_what_only_reads_is_allowed_and_the_rest_is_asked_for() -> None:
    async with opened(program(), "deny wood__pid") as box:
        assert await done(box, "rings", age=1) == "2"
        refused = await run(box, "saw", length=1)
        assert refused.error
        assert "--allow 'wood__saw'" in refused.content
        assert "the rule 'deny wood__pid' applies" in (await run(box, "pid")).content


async def test_a_call_out_of_time_is_told_and_the_server_goes_on(tmp_path: Path) -> None:
    async with opened(program(call=3)) as box:
        before = await done(box, "pid")
        late = await waiting(box, tmp_path)
        outcome = await late
        assert outcome.error
        assert outcome.content == "MCP server 'wood' did not answer within 3 seconds."
        assert await done(box, "pid") == before


async def test_a_cancelled_call_is_cancelled_and_the_server_goes_on(tmp_path: Path) -> None:
    async with opened(program()) as box:
        task = await waiting(box, tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await done(box, "rings", age=1) == "2"


async def waiting(box: Toolbox, folder: Path) -> asyncio.Task[ToolOutcome]:
    """A call that has begun and does not end."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    task = asyncio.create_task(run(box, "wait", pipe=str(pipe)))
    assert await asyncio.to_thread(pipe.read_text) == "begun"
    return task


async def test_after_a_crash_what_only_reads_is_run_again(tmp_path: Path) -> None:
    async with opened(program()) as box:
        before = await done(box, "pid")
        assert await done(box, "look_and_fall", mark=str(tmp_path / "mark")) == "looked"
        assert await done(box, "pid") != before


async def test_after_a_crash_what_has_effects_is_not_run_again() -> None:
    async with opened(program()) as box:
        outcome = await run(box, "fall")
        assert outcome.error
        assert "Its last output: timber!" in outcome.content
        assert "The call may have taken effect" in outcome.content
        assert await done(box, "rings", age=1) == "2"


async def test_a_server_that_crashes_again_and_again_is_left_alone() -> None:
    async with opened(program()) as box:
        await run(box, "fall")
        await run(box, "fall")
        outcome = await run(box, "rings", age=1)
        assert outcome.error
        assert outcome.content.endswith("will not be restarted. Continue without it.")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ("no-such-program",),
            "MCP server 'wood' could not be started: no-such-program: No such file or directory.",
        ),
        ((sys.executable, "-c", "print('hello', file=__import__('sys').stderr)"), "hello"),
    ],
)
async def test_a_server_that_cannot_be_started_offers_nothing_and_says_why(
    command: tuple[str, ...], told: str
) -> None:
    async with opened(McpEndpoint(command=command, start_timeout=60)) as box:
        assert await box.specs() == ()
        assert told in box.trouble
        outcome = await run(box, "rings", age=1)
        assert outcome.error
        assert told in outcome.content


async def test_a_server_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    command = ("sh", "-c", f"echo $$ > {mark}; exec sleep 1000")
    async with opened(McpEndpoint(command=command, start_timeout=2)) as box:
        assert await box.specs() == ()
        assert "did not answer within 2 seconds" in box.trouble
    assert not is_running(int(mark.read_text()))


async def test_a_server_that_writes_no_end_of_errors_is_not_held_up() -> None:
    loud = f"head -c 1000000 /dev/zero >&2; exec {sys.executable} {PROGRAM}"
    async with opened(McpEndpoint(command=("sh", "-c", loud), start_timeout=60)) as box:
        assert await done(box, "rings", age=1) == "2"


async def test_arguments_that_are_no_object_are_told() -> None:
    async with opened(program()) as box:
        outcome = await box.run(use_of("wood__rings", "[1]", "."))
        assert outcome.error
        assert "The arguments are not a JSON object" in outcome.content


async def test_many_calls_at_once_share_one_server() -> None:
    async with opened(program()) as box:
        pids = await asyncio.gather(*(done(box, "pid") for _ in range(10)))
        assert len(set(pids)) == 1


@asynccontextmanager
async def served() -> AsyncGenerator[str]:
    """The wood server over HTTP, on loopback."""
    import uvicorn

    from tests.workspace.mcp_client.wood_server import make_server

    app = make_server().streamable_http_app()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        await task


async def test_a_server_is_called_by_its_address() -> None:
    async with served() as url, opened(McpEndpoint(url=url)) as box:
        assert "wood__rings" in [spec.name for spec in await box.specs()]
        assert await done(box, "rings", age=21) == "42"
        assert await done(box, "picture") == "[image, image/png, 7 bytes: not shown]"
        assert (await run(box, "knot")).error


async def test_an_address_where_nobody_answers_is_told() -> None:
    async with opened(McpEndpoint(url="http://127.0.0.1:9/mcp")) as box:
        assert await box.specs() == ()
        assert box.trouble.startswith("MCP server 'wood' could not be reached: ")


async def test_a_session_that_the_server_forgot_is_opened_anew_and_the_call_runs_once() -> None:
    server = ForgetfulServer()
    url = await server.start()
    try:
        async with opened(McpEndpoint(url=url, headers={"X-Forest": "oak"})) as box:
            assert await done(box, "saw") == "sawn 1"
            server.forget()
            assert await done(box, "saw") == "sawn 2"
            assert server.sessions == 2
            assert set(server.headers) == {"oak"}
    finally:
        await server.stop()
