"""The toolbox of one MCP server, subject to the same permission rules as Sapwood's tools.

The result of an MCP tool as text. Images, audio and other data are only described.
"""

import asyncio
import hashlib
import logging
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import Struct

from sapwood.config.mcp_logins import McpLogins
from sapwood.config.server_names import as_tool_name
from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.workspace.mcp_client.mcp_connection import McpConnection, McpEndpoint
from sapwood.workspace.mcp_client.mcp_errors import (
    McpConnectionLost,
    McpLoginNeeded,
    McpServerError,
)
from sapwood.workspace.mcp_client.server_text import shown_name, shown_names
from sapwood.workspace.permissions.permission_decision import OtherAction
from sapwood.workspace.permissions.permission_gate import (
    PermissionGate,
)
from sapwood.workspace.tool_output import ToolBlocked, ToolError, byte_size, truncate

if TYPE_CHECKING:
    from mcp.types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        ResourceLink,
        TextResourceContents,
        Tool,
    )


_MAX_ATTEMPTS = 2
_MAX_NAME = 64


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """For each tool of a server the name that models see, in a stable order.

    It contains only characters that providers accept.

    >>> tool_names("wood", ["saw", "plane.fine"])
    {'plane.fine': 'wood__plane_fine', 'saw': 'wood__saw'}
    """
    prefix = f"{as_tool_name(server)}__"
    names: dict[str, str] = {}
    taken: set[str] = set()
    # A tool whose name needs no change has it, and no other tool can take it.
    for tool in sorted(set(tools), key=lambda each: (each != as_tool_name(each), each)):
        whole = name = f"{prefix}{as_tool_name(tool)}"
        mark = f"{server} {tool}"
        while len(name) > _MAX_NAME or name in taken:
            mark = hashlib.sha256(mark.encode()).hexdigest()
            name = f"{whole[: _MAX_NAME - 9]}_{mark[:8]}"
        names[tool] = name
        taken.add(name)
    return dict(sorted(names.items()))


_log = logging.getLogger(__name__)


_MAX_DESCRIPTION = 8_000
_MAX_SCHEMA = 100_000
"""Characters. Descriptions and schemas are a part of every request."""


class _McpTool(Struct, frozen=True):
    """A tool: its name on the server, and how models see it."""

    name: str
    spec: ToolSpec
    reads: bool


class ToolChoice(Struct, frozen=True):
    """Which tools of a server are offered: those `enabled`, or all, without those `disabled`.

    A disabled name also stands for names that models see alike, such as `Delete.all` for
    `delete_all`. A server can still offer the same under another name; `enabled` names are exact.
    """

    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()

    def offers(self, tool: str) -> bool:
        """Whether agents get a tool of this name."""
        if self.enabled and tool not in self.enabled:
            return False
        return _look(tool) not in map(_look, self.disabled)

    def problem(self, server: str, tools: Sequence[str]) -> str:
        """Says which chosen names the server does not have, and which it has; else empty."""
        unknown = [name for name in (*self.enabled, *self.disabled) if name not in tools]
        if not unknown:
            return ""
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(unknown))
        nearby = tuple(map(shown_name, nearest(unknown[0], list(tools))[:1]))
        close = did_you_mean(nearby) if len(unknown) == 1 else ""
        return (
            f"MCP server '{server}' has no tool {names}, which the configuration names.{close} "
            f"It has {shown_names(tools)}."
        )


def _look(name: str) -> str:
    """What names of tools have in common that look alike to a model.

    >>> _look("Delete.all "), _look("delete\u200b_all")
    ('delete_all', 'delete_all')
    """
    same = unicodedata.normalize("NFKC", name)
    seen = "".join(char for char in same if unicodedata.category(char) != "Cf")
    return as_tool_name(seen.strip().casefold())


class McpToolbox:
    """The tools of a server, named `server__tool`.

    The list of tools stays as it was first read, because it is part of the cached prefix of every
    request. A server that cannot be reached has no tools; `trouble` says why. A server that asks
    for a login is tried again after somebody has logged in; `login` says what it asks for.
    `notice` says which tools the configuration names by mistake, and that a login was not stored.
    """

    def __init__(
        self,
        name: str,
        endpoint: McpEndpoint,
        gate: PermissionGate | None = None,
        choice: ToolChoice | None = None,
        unusable: str = "",
    ) -> None:
        """`unusable` says why the server is never connected to; it then has no tools."""
        self._name = name
        self._endpoint = endpoint
        self._choice = choice or ToolChoice()
        self._gate = gate or PermissionGate()
        self._opening = asyncio.Lock()
        self._connection: McpConnection | None = None
        self._tools: dict[str, _McpTool] | None = None
        self._failures = _MAX_ATTEMPTS if unusable else 0
        self._crashes = 0
        self._logins: tuple[int, int, int] | None = None
        self.trouble = ""
        if unusable:
            self.trouble = (
                f"MCP server '{name}' is not used: {unusable}. Rename it, also in your permission "
                "rules."
            )
            _log.warning("%s", self.trouble)
        self.notice = ""
        self.login: Literal["", "needed", "expired"] = ""

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools of the server; none if it failed twice."""
        if self._logins is not None and self._logins != McpLogins().version():
            self._logins, self._failures = None, 0
        if self._tools is None and self._failures < _MAX_ATTEMPTS:
            version = McpLogins().version()
            try:
                await self._list()
            except McpLoginNeeded as error:
                self._failures, self._logins = _MAX_ATTEMPTS, version
                self.trouble, self.login = str(error), "expired" if error.expired else "needed"
                _log.warning("%s", error)
            except McpServerError as error:
                self._failures += 1
                self.trouble = str(error)
                _log.warning("%s", error)
        return tuple(tool.spec for tool in (self._tools or {}).values())

    def why_missing(self, tool: str) -> str:
        """Why the server offers no tools now, if the tool has a name of this server."""
        prefix = f"{as_tool_name(self._name)}__"
        return self.trouble if tool.startswith(prefix) else ""

    def effect(self, use: ToolUse) -> Effect:
        """`none` for a tool that the server marks as read-only."""
        tool = (self._tools or {}).get(use.call.name)
        return "none" if tool and tool.reads else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call; an outcome with `error` says why it failed or was not allowed."""
        await self.specs()
        tool = (self._tools or {}).get(use.call.name)
        if tool is None:
            message = f"MCP server '{self._name}' has no tool {use.call.name}. {self.trouble}"
            return ToolOutcome(message.strip(), error=True)
        try:
            arguments = _arguments(use)
            action = OtherAction(use.call.name, tool.reads)
            workspace = use.workspace.worktree or use.workspace.folder
            shown, call = use.call.args, use.call.id
            await self._gate.require(action, use.agent, workspace, shown, use.mode, call)
            return await self._call(tool, arguments)
        except ToolBlocked as blocked:
            return ToolOutcome(str(blocked), error=True, blocked=blocked.remedy)
        except (ToolError, McpServerError) as error:
            return ToolOutcome(str(error), error=True)

    async def close(self) -> None:
        """Ends the server if it was started here, otherwise the session."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _list(self) -> None:
        connection = await self._connected()
        if self._tools is None:
            tools = await connection.tools()
            self._tools = _mcp_tools(self._name, tools, self._choice)
            self.trouble, self.login = "", ""
            problem = self._choice.problem(self._name, [tool.name for tool in tools])
            self.notice = " ".join(filter(None, (connection.notice, problem)))
            if problem:
                _log.warning("%s", problem)

    async def _call(self, tool: _McpTool, arguments: dict[str, Any]) -> ToolOutcome:
        connection = await self._connected()
        try:
            result = await connection.call(tool.name, arguments)
        except McpConnectionLost as error:
            if error.maybe_done and not tool.reads:
                raise McpServerError(
                    f"{error} The call may have taken effect. Check that before you repeat it."
                ) from error
            connection = await self._connected()
            result = await connection.call(tool.name, arguments)
        self._crashes = 0
        return ToolOutcome(connection.without_tokens(result_text(result)), error=result.is_error)

    async def _connected(self) -> McpConnection:
        """The open connection, or a new one. Raises `McpServerError` after two crashes in a row."""
        async with self._opening:
            if self._connection is not None and not self._connection.is_lost:
                return self._connection
            if self._connection is not None:
                self._crashes += 1
                if self._crashes >= _MAX_ATTEMPTS:
                    raise McpServerError(
                        f"MCP server '{self._name}' exited again after a restart and will not "
                        "be restarted. Continue without it."
                    )
                await self.close()
            connection = McpConnection(self._name, self._endpoint)
            await connection.open()
            self._connection = connection
            return connection


def _mcp_tools(server: str, tools: "Sequence[Tool]", choice: ToolChoice) -> dict[str, _McpTool]:
    by_name = {tool.name: tool for tool in tools}
    names = tool_names(server, by_name)
    return {
        shown: _McpTool(name, _spec(shown, by_name[name]), _is_read_only(by_name[name]))
        for name, shown in names.items()
        if choice.offers(name)
    }


def _spec(name: str, tool: "Tool") -> ToolSpec:
    schema = msgspec.json.encode(tool.input_schema, order="sorted").decode()
    description = tool.description or tool.title or ""
    if len(description) > _MAX_DESCRIPTION:
        size, limit = len(description), _MAX_DESCRIPTION
        description = f"{description[:limit]}… [cut from {size:,} to {limit:,} characters]"
    if len(schema) > _MAX_SCHEMA:
        description += f" [its schema of {len(schema):,} characters was left out]"
        schema = '{"type":"object"}'
    return ToolSpec(name, description, schema)


def _is_read_only(tool: "Tool") -> bool:
    return bool(tool.annotations and tool.annotations.read_only_hint)


def _arguments(use: ToolUse) -> dict[str, Any]:
    try:
        return msgspec.json.decode(use.call.args or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise ToolError(
            f"{use.call.name} did not run. The arguments are not a JSON object: {error}."
        ) from error


def result_text(result: "CallToolResult") -> str:
    """All parts of a result, separated by new lines."""
    parts = [_block(block) for block in result.content]
    texts = [block.text for block in result.content if block.type == "text"]
    structured: object = result.structured_content
    if structured is not None and not _repeats(texts, structured):
        parts.append(msgspec.json.encode(structured).decode())
    return truncate("\n".join(parts)) or "[no content]"


def _block(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {_bytes(block.data)}: not shown]"
        case "resource_link":
            return _link(block)
        case "resource":
            return _resource(block.resource)


def _repeats(texts: list[str], structured: object) -> bool:
    """Whether the texts only repeat the structured content, as they do for most servers."""
    values = [structured]
    if isinstance(structured, dict) and list(cast(dict[str, object], structured)) == ["result"]:
        values.append(cast(dict[str, object], structured)["result"])
    return any(
        [_read(text) for text in texts] == expected
        for value in values
        for expected in ([_plain(value)], [_plain(each) for each in _items(value)])
    )


def _items(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else [value]


def _plain(value: object) -> object:
    return _read(value) if isinstance(value, str) else value


def _read(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _link(block: "ResourceLink") -> str:
    about = [
        text for text in (block.mime_type, byte_size(block.size) if block.size else "") if text
    ]
    details = f" ({', '.join(about)})" if about else ""
    return f"[{block.name}: {block.uri}{details}]" + (
        f" {block.description}" if block.description else ""
    )


def _resource(resource: "TextResourceContents | BlobResourceContents") -> str:
    text: str | None = getattr(resource, "text", None)
    if text is not None:
        return f"[{resource.uri}]\n{text}"
    blob: str = getattr(resource, "blob", "")
    kind = resource.mime_type or "unknown type"
    return f"[{resource.uri}, {kind}, {_bytes(blob)}: not shown]"


def _bytes(base64: str) -> str:
    return byte_size(len(base64.rstrip("=")) * 3 // 4)
