"""The MCP servers of a configuration: as toolboxes, and examined one by one."""

import asyncio
from collections.abc import Mapping

from sapwood.app.config import McpServer
from sapwood.app.findings import Finding
from sapwood.workspace.permissions.asking import Approve, Grants
from sapwood.workspace.permissions.rules import Rules
from sapwood.workspace.servers.server import Server
from sapwood.workspace.servers.toolbox import ServerToolbox

__all__ = ["examine_servers", "server_toolboxes"]

_SECONDS = 15.0


def server_toolboxes(
    servers: Mapping[str, McpServer],
    rules: Rules = (),
    grants: Grants | None = None,
    approve: Approve | None = None,
    *,
    start_timeout: float = Server().start_timeout,
) -> list[ServerToolbox]:
    """One for each. None is started before its tools are asked for."""
    return [
        ServerToolbox(
            name,
            Server(
                command=each.command,
                url=each.url,
                env=each.env,
                headers=each.headers,
                start_timeout=start_timeout,
            ),
            rules,
            approve,
            grants=grants,
        )
        for name, each in servers.items()
    ]


async def examine_servers(servers: Mapping[str, McpServer]) -> list[Finding]:
    """Starts or calls every server, asks what it offers, and ends it again."""
    boxes = server_toolboxes(servers, start_timeout=_SECONDS)
    return await asyncio.gather(*map(_examined, servers, boxes))


async def _examined(name: str, box: ServerToolbox) -> Finding:
    topic = f"server: {name}"
    try:
        tools = len(await box.specs())
    finally:
        await box.close()
    if box.trouble:
        return Finding(topic, "broken", box.trouble)
    return Finding(topic, "ok", f"offers {tools} tool{'' if tools == 1 else 's'}")
