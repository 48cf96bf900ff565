"""The toolbox of one MCP server, behind the same permission rules as our own tools."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from sapwood.core.calling import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.workspace.errors import ToolError
from sapwood.workspace.permissions.acts import PlainAct
from sapwood.workspace.permissions.asking import Approve, Gate, Grants
from sapwood.workspace.permissions.rules import Rules
from sapwood.workspace.servers.connection import Connection, Gone
from sapwood.workspace.servers.naming import offered_names
from sapwood.workspace.servers.results import result_text
from sapwood.workspace.servers.server import Server, ServerError

if TYPE_CHECKING:
    from mcp.types import Tool

__all__ = ["ServerToolbox"]

_ATTEMPTS = 2
_log = logging.getLogger(__name__)


class _Offered(Struct, frozen=True):
    """A tool under the server's own name for it."""

    tool: str
    spec: ToolSpec
    reads: bool


class ServerToolbox:
    """The tools of a server, named `server__tool`.

    What is offered stays as it was first listed, because it is part of every request's cached
    beginning. A server that cannot be reached offers nothing; `trouble` says why.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        rules: Rules = (),
        approve: Approve | None = None,
        *,
        grants: Grants | None = None,
    ) -> None:
        self._name = name
        self._server = server
        self._gate = Gate(rules, approve, grants)
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None
        self._offered: dict[str, _Offered] | None = None
        self._failures = 0
        self._crashes = 0
        self.trouble = ""

    async def specs(self) -> Sequence[ToolSpec]:
        """What the server offers; nothing if it failed twice."""
        if self._offered is None and self._failures < _ATTEMPTS:
            try:
                await self._list()
            except ServerError as error:
                self._failures += 1
                self.trouble = str(error)
                _log.warning("%s", error)
        return tuple(offered.spec for offered in (self._offered or {}).values())

    def effect(self, use: ToolUse) -> Effect:
        """None for a tool that the server says only reads."""
        offered = (self._offered or {}).get(use.call.name)
        return "none" if offered and offered.reads else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call, or says why not."""
        await self.specs()
        offered = (self._offered or {}).get(use.call.name)
        if offered is None:
            told = f"MCP server '{self._name}' has no tool {use.call.name}. {self.trouble}"
            return ToolOutcome(told.strip(), error=True)
        try:
            arguments = _arguments(use)
            act = PlainAct(use.call.name, offered.reads)
            workspace = use.workspace.worktree or use.workspace.folder
            await self._gate.require(act, use.agent, workspace, use.call.args)
            return await self._call(offered, arguments)
        except (ToolError, ServerError) as error:
            return ToolOutcome(str(error), error=True)

    async def close(self) -> None:
        """Ends the server if it was started here, else the session with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _list(self) -> None:
        connection = await self._connected()
        if self._offered is None:
            self._offered = _offers(self._name, await connection.tools())
            self.trouble = ""

    async def _call(self, offered: _Offered, arguments: dict[str, Any]) -> ToolOutcome:
        connection = await self._connected()
        try:
            result = await connection.call(offered.tool, arguments)
        except Gone as error:
            if error.maybe_done and not offered.reads:
                raise ServerError(
                    f"{error} Whether the call took effect is not known: look before you repeat it."
                ) from error
            connection = await self._connected()
            result = await connection.call(offered.tool, arguments)
        self._crashes = 0
        return ToolOutcome(result_text(result), error=result.is_error)

    async def _connected(self) -> Connection:
        """The living connection; a new one if there is none, or after the first crash in a row."""
        async with self._opening:
            if self._connection is not None and not self._connection.is_gone:
                return self._connection
            if self._connection is not None:
                self._crashes += 1
                if self._crashes >= _ATTEMPTS:
                    raise ServerError(
                        f"MCP server '{self._name}' ended again after it had been restarted, "
                        "and is left alone. Go on without it."
                    )
                await self.close()
            connection = Connection(self._name, self._server)
            await connection.open()
            self._connection = connection
            return connection


def _offers(server: str, tools: "Sequence[Tool]") -> dict[str, _Offered]:
    by_name = {tool.name: tool for tool in tools}
    names = offered_names(server, by_name)
    return {
        offered: _Offered(name, _spec(offered, by_name[name]), _reads(by_name[name]))
        for name, offered in names.items()
    }


def _spec(name: str, tool: "Tool") -> ToolSpec:
    schema = msgspec.json.encode(tool.input_schema, order="sorted").decode()
    return ToolSpec(name, tool.description or tool.title or "", schema)


def _reads(tool: "Tool") -> bool:
    return bool(tool.annotations and tool.annotations.read_only_hint)


def _arguments(use: ToolUse) -> dict[str, Any]:
    try:
        return msgspec.json.decode(use.call.args or "{}", type=dict[str, Any])
    except msgspec.MsgspecError as error:
        told = f"{use.call.name} did not run. The arguments are no object: {error}."
        raise ToolError(told) from error
