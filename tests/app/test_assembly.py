"""What is put together from a configuration, and what a command line may add to it."""

import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.assembly import assemble, toolbox_for
from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config, McpServer
from sapwood.core.content import ToolCall
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import ToolUse
from sapwood.core.settings import Workspace
from sapwood.engine import LocalEngine
from sapwood.turns.tool_calls import Toolbox
from sapwood.turns.trace import SharedTracing, Untraced
from sapwood.workspace.space_folder import SpaceFolder

SERVER = Path(__file__).parents[1] / "workspace" / "mcp_client" / "small_server.py"


@pytest.fixture
async def connection() -> AsyncGenerator[Connection]:
    held = await connect(":memory:")
    yield held
    await held.close()


@pytest.mark.parametrize("bad", ["nul\0", "half\ud83c"])
async def test_a_space_that_no_store_could_hold_is_refused(
    connection: Connection, tmp_path: Path, bad: str
) -> None:
    with pytest.raises(LogError, match="is not a valid name for a space"):
        await connect(tmp_path / "log.db", bad)
    with pytest.raises(LogError, match="is not a valid name for a space"):
        connection.with_space(bad)
    assert os.listdir(tmp_path) == []


def toolbox(connection: Connection, config: Config, allow: list[str], root: AgentId) -> Toolbox:
    """The tools of agents put together so."""
    running = assemble(connection, config, {}, allow=allow, root=root, engine=LocalEngine())
    return running._toolbox  # pyright: ignore[reportPrivateUsage]


def used(agent: AgentId, tool: str, folder: Path | None = None, **arguments: object) -> ToolUse:
    """A call on behalf of an agent."""
    call = ToolCall("1", tool, json.dumps(arguments))
    return ToolUse(agent, Workspace(folder=str(folder or Path.cwd())), call)


async def ran(tools: Toolbox, agent: AgentId, folder: Path, command: str) -> bool:
    """Whether the agent may run a command line."""
    return not (await tools.run(used(agent, "shell", folder, command=command))).error


async def test_what_is_allowed_holds_for_an_agent_and_its_descendants(
    connection: Connection, tmp_path: Path
) -> None:
    db = Sapwood(connection)
    root, other = await db.start("root"), await db.start("other")
    child = await (await root.fork()).fork()
    tools = toolbox(connection, Config(), ["shell(true)"], root.id)
    told = [await ran(tools, each.id, tmp_path, "true") for each in (root, child, other)]
    assert told == [True, True, False]


async def test_what_is_allowed_settles_what_is_asked_and_never_what_is_denied(
    connection: Connection, tmp_path: Path
) -> None:
    root = await Sapwood(connection).start("root")
    config = Config(permissions=("deny shell(true 2*)", "ask shell(true *)"))
    tools = toolbox(connection, config, ["shell"], root.id)
    for command, allowed in {
        "true 1": True,
        "true 2": False,
        "true 1; true 2": False,
        "true $((1 + 1))": False,
    }.items():
        assert await ran(tools, root.id, tmp_path, command) is allowed, command


async def test_each_server_is_started_once_whatever_is_allowed(
    connection: Connection, tmp_path: Path
) -> None:
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    db = Sapwood(connection)
    root, other = await db.start("root"), await db.start("other")
    config = Config(servers={"wood": McpServer(command=(sys.executable, str(SERVER)))})
    tools = toolbox(connection, config, ["wood__saw"], root.id)
    try:
        await tools.specs()
        processes = {
            (await tools.run(used(agent.id, "wood__pid"))).content for agent in (root, other)
        }
        assert len(processes) == 1
        for agent, allowed in ((root, True), (other, False)):
            outcome = await tools.run(used(agent.id, "wood__saw", length=3))
            assert outcome.error is not allowed, outcome.content
    finally:
        await tools.close()


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        (None, "Type: sapwood mcp login docs"),
        (SpaceFolder(""), "Ask the operator of Sapwood to log in."),
    ],
)
async def test_only_the_operator_is_told_the_command_that_logs_in_to_a_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    folder: SpaceFolder | None,
    told: str,
) -> None:
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    from tests.workspace.mcp_client.login_server import login_server

    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "config.toml"))
    async with login_server() as docs:
        config = Config(servers={"docs": McpServer(url=docs.url, spaces=True)})
        tools = toolbox_for(config, folder, space=Space("acme"))
        await tools.specs()
        await tools.close()
    assert [each.getMessage() for each in caplog.records if each.name.startswith("sapwood")] == [
        f"MCP server 'docs' asks for a login. {told}"
    ]


def test_tracing_that_runners_share_is_closed_by_who_made_it() -> None:
    closed: list[str] = []

    class Kept(Untraced):
        def close(self) -> None:
            closed.append("closed")

    inner = Kept()
    shared = SharedTracing(inner)
    shared.close()
    assert closed == []
    assert shared.turn == inner.turn
