"""MCP as far as a server of tools and prompts needs it: messages in, messages out. No I/O.

Written out here because a program starts its servers anew with every session, and the library
takes longer to import than all else together. What is not known is answered as such.
"""

from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from sapwood.mcp_server.offering import INSTRUCTIONS, OfferedPrompt, OfferedTool, Offering

__all__ = ["VERSIONS", "Asked", "Desk", "Wrong", "read_message", "written"]

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol in which these messages mean the same, the newest first."""

_PARSE_ERROR, _NO_METHOD, _BAD_PARAMS = -32700, -32601, -32602


class Asked(Struct, frozen=True):
    """A message from the client: a request if it has an id, else a notification."""

    method: str = ""
    id: int | str | UnsetType = UNSET
    params: dict[str, Any] = {}


class Wrong(Exception):
    """A request that cannot be answered, with the protocol's code for it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_message(line: bytes) -> Asked:
    """The message in a line. Raises `Wrong` for what is none."""
    try:
        return msgspec.json.decode(line, type=Asked)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Wrong(_PARSE_ERROR, f"Not a message: {error}") from error


def written(id: int | str | None, **outcome: Any) -> bytes:
    """The line of an answer: a result or an error."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, **outcome}) + b"\n"


class Desk:
    """Answers requests with what is offered."""

    def __init__(self, offering: Offering) -> None:
        self._offering = offering

    async def answer(self, asked: Asked) -> bytes:
        """The line that answers a request."""
        assert asked.id is not UNSET
        try:
            return written(asked.id, result=await self._result(asked.method, asked.params))
        except Wrong as wrong:
            return written(asked.id, error={"code": wrong.code, "message": str(wrong)})

    async def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return _introduction(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_tool(each) for each in self._offering.tools()]}
            case "tools/call":
                return await self._called(params)
            case "prompts/list":
                return {"prompts": [_prompt(each) for each in self._offering.prompts()]}
            case "prompts/get":
                return self._prompted(params)
            case _:
                raise Wrong(_NO_METHOD, f"There is no method '{method[:60]}' here.")

    async def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = _named(params)
        outcome = await self._offering.call(name, arguments)
        return {"content": [_text(outcome.content)], "isError": outcome.error}

    def _prompted(self, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = _named(params)
        words = self._offering.prompt(name, {key: str(each) for key, each in arguments.items()})
        if words is None:
            raise Wrong(_BAD_PARAMS, f"There is no prompt '{name[:60]}'.")
        return {"messages": [{"role": "user", "content": _text(words)}]}


class _Named(Struct):
    name: str
    arguments: dict[str, Any] | None = None


def _named(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    try:
        named = msgspec.convert(params, _Named)
    except msgspec.ValidationError as error:
        raise Wrong(_BAD_PARAMS, str(error)) from error
    return named.name, named.arguments or {}


def _introduction(params: dict[str, Any]) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "sapwood", "title": "Sapwood", "version": version("sapwood")},
        "instructions": INSTRUCTIONS,
    }


def _tool(offered: OfferedTool) -> dict[str, Any]:
    return {
        "name": offered.name,
        "title": offered.title,
        "description": offered.description,
        "inputSchema": offered.schema,
        "annotations": {"destructiveHint": offered.destructive, "openWorldHint": False},
    }


def _prompt(offered: OfferedPrompt) -> dict[str, Any]:
    return msgspec.to_builtins(offered)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
