"""Over stdio, a program gets the tools and their answers."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sapwood.api import open
from sapwood.context_actions.context_request import ACTIONS
from sapwood.core.command_table import TABLE

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

from tests.mcp_server.calling import PROGRAM, stdio, text_of


async def test_the_tools_are_those_of_the_declarations(
    project: Path, environ: dict[str, str]
) -> None:
    async with stdio(project, environ) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"context", "slash"}
    actions = tools["context"].input_schema["properties"]["action"]["enum"]
    assert actions == [action.name for action in ACTIONS]
    taken = {name for action in ACTIONS for name in action.takes}
    assert taken <= set(tools["context"].input_schema["properties"])
    commands = tools["slash"].input_schema["properties"]["command"]["enum"]
    assert commands == [command.name for command in TABLE.for_models]


async def test_the_session_of_the_folder_is_the_one_that_is_tended(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    async with stdio(project, environ) as client:
        ledger = await client.call_tool("context", {"action": "ledger", "json": True})
        assert json.loads(text_of(ledger))["commands"][0]["command"] == "echo two"
        archived = await client.call_tool("context", {"action": "archive"})
        assert text_of(archived).startswith("Archived ")
        estimated = await client.call_tool("context", {"action": "estimate"})
        assert "turns in view" in text_of(estimated)
        focused = await client.call_tool("context", {"action": "focus", "topic": "OAuth"})
        assert text_of(focused) == "In focus:\n  1. OAuth"
    (archive,) = (home / "data" / "archives").iterdir()
    assert f"Project: {project}" in archive.read_text()
    acts = (home / "data" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(act)["did"] for act in acts] == ["archived", "focused"]


async def test_what_cannot_be_done_is_told_as_an_error(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with stdio(tmp_path, environ) as client:
        nothing = await client.call_tool("context", {"action": "drift"})
        assert nothing.is_error
        assert "There is no session" in text_of(nothing)
        unknown = await client.call_tool("context", {"action": "forget"})
        assert unknown.is_error
        assert "do not fit" in text_of(unknown)
        stray = await client.call_tool("context", {"action": "drift", "topics": "x"})
        assert stray.is_error


async def test_slash_acts_for_an_own_agent_as_its_model_may(
    tmp_path: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "data").mkdir()
    address = home / "data" / "sapwood.db"
    async with open(address) as wood:
        demo = await wood.start("demo")
        await demo.record("Where do herons nest?", "In tall trees.")
    async with stdio(tmp_path, environ) as client:

        async def slash(command: str, args: str = "") -> str:
            told = {"agent": "demo", "command": command, "args": args}
            return text_of(await client.call_tool("slash", told))

        assert await slash("mark", "HERE") == "Marked 'HERE'."
        assert "herons" in await slash("recall", "herons")
        assert "Forked. Child:" in await slash("fork")
        assert await slash("wait", "1") != ""
        assert "Models may not use" in await slash("undo")
    async with open(address) as wood:
        state = await (await wood.agent("demo")).state()
    assert [mark.name for mark in state.marks] == ["HERE"]


async def test_a_server_for_one_agent_acts_for_no_other(
    tmp_path: Path, environ: dict[str, str], home: Path
) -> None:
    (home / "data").mkdir()
    async with open(home / "data" / "sapwood.db") as wood:
        await wood.start("mine")
        await wood.start("other")
    async with stdio(tmp_path, environ, "--agent", "mine") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "agent" not in tools["slash"].input_schema["properties"]
        own = await client.call_tool("slash", {"command": "mark", "args": "A"})
        assert text_of(own) == "Marked 'A'."
        other = await client.call_tool("slash", {"command": "mark", "args": "A", "agent": "other"})
        assert other.is_error


async def test_every_action_and_command_is_a_prompt_too(
    project: Path, environ: dict[str, str]
) -> None:
    async with stdio(project, environ) as client:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        given = await client.get_prompt("handoff", {"target_agent": "reviewer"})
        slash = await client.get_prompt("mark", {"agent": "demo", "args": "HERE"})
    assert names == [*(a.name for a in ACTIONS), *(c.name for c in TABLE.for_models)]
    assert len(names) == len(set(names))
    words = [str(said.content) for said in (*given.messages, *slash.messages)]
    assert '"action": "handoff", "target_agent": "reviewer"' in words[0]
    assert '"command": "mark", "agent": "demo", "args": "HERE"' in words[1]


async def test_noise_and_cancelled_calls_do_not_end_the_server(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    server = await asyncio.create_subprocess_exec(
        *PROGRAM,
        cwd=tmp_path,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    wait = {"name": "slash", "arguments": {"agent": "x", "command": "wait", "args": "50"}}
    for message in (
        b"noise",
        _line("tools/call", 1, wait),
        _line("notifications/cancelled", None, {"requestId": 1}),
        _line("ping", 2, {}),
    ):
        server.stdin.write(message + b"\n")
    async with asyncio.timeout(60):
        noise, pong = [json.loads(await server.stdout.readline()) for _ in range(2)]
    assert noise["error"]["code"] == -32700
    assert pong == {"jsonrpc": "2.0", "id": 2, "result": {}}
    server.stdin.close()
    async with asyncio.timeout(60):
        assert await server.wait() == 0


def _line(method: str, id: int | None, params: Mapping[str, object]) -> bytes:
    request = {} if id is None else {"id": id}
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **request}).encode()
