"""Checks what agents work with: MCP servers, the sandbox, and checkpoints of this folder."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from sapwood.config.config_file import Config, McpServer
from sapwood.core.checkpoint import Unsaved
from sapwood.core.plural import counted
from sapwood.core.settings import Workspace
from sapwood.doctor import Finding
from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox

_SECONDS = 15.0


class MakeToolboxes(Protocol):
    """Makes one toolbox for each configured MCP server, without starting the server."""

    def __call__(
        self, servers: Mapping[str, McpServer], *, start_timeout: float
    ) -> Sequence[McpToolbox]: ...


async def check_checkpoints(config: Config) -> Finding:
    """Checks whether changes of agents to this folder can be undone."""
    if not config.checkpoints.enabled:
        next_step = "sapwood config unset checkpoints.enabled"
        return Finding("checkpoints", "open", "switched off", next_step)
    from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

    root = await GitCheckpoints().root(Workspace(os.getcwd()))
    if isinstance(root, Unsaved):
        return Finding("checkpoints", "open", root.reason)
    return Finding("checkpoints", "ok", f"of {root}")


def check_sandbox(config: Config) -> Finding:
    """Checks whether commands of models are confined."""
    from sapwood.workspace.sandbox import sandbox_problem

    if config.sandbox == "off":
        next_step = "sapwood config set sandbox auto"
        return Finding(
            "sandbox", "open", "turned off: commands run with your permissions", next_step
        )
    problem = sandbox_problem()
    if not problem:
        network = "with" if config.sandbox_network else "without"
        return Finding("sandbox", "ok", f"bubblewrap, {network} network")
    effect = (
        "the shell tool is disabled"
        if config.sandbox == "on"
        else "commands run with your permissions"
    )
    status = "broken" if config.sandbox == "on" else "open"
    return Finding("sandbox", status, f"{problem}: {effect}", "sudo apt install bubblewrap")


async def check_servers(
    servers: Mapping[str, McpServer], make_toolboxes: MakeToolboxes
) -> list[Finding]:
    """Starts or calls every server, lists its tools, and stops it again."""
    boxes = make_toolboxes(servers, start_timeout=_SECONDS)
    return await asyncio.gather(*map(_check_server, servers, boxes))


async def _check_server(name: str, box: McpToolbox) -> Finding:
    topic = f"server: {name}"
    try:
        tools = len(await box.specs())
    finally:
        await box.close()
    if box.trouble:
        return Finding(topic, "broken", box.trouble)
    return Finding(topic, "ok", f"offers {counted(tools, 'tool')}")
