"""A server of the older protocol that loses its sessions, as if it was restarted."""

import asyncio
import json
from typing import Any


class ForgetfulServer:
    """Speaks just enough of the protocol over HTTP to have one tool called."""

    def __init__(self) -> None:
        self.sessions = 0
        self.known = ""
        self.ran = 0
        self.headers: list[str] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Begins to listen, and returns the address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/mcp"

    def forget(self) -> None:
        """No session is known any more."""
        self.known = ""

    async def stop(self) -> None:
        """Ends listening."""
        if self._server:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])
        }
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        self.headers.append(fields.get("x-forest", ""))
        status, answer, session = self._answer(
            head.split(" ")[0], fields.get("mcp-session-id", ""), json.loads(body or "{}")
        )
        payload = json.dumps(answer).encode() if answer is not None else b""
        extra = f"mcp-session-id: {session}\r\n" if session else ""
        writer.write(
            f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(payload)}\r\n{extra}\r\n".encode()
        )
        writer.write(payload)
        await writer.drain()
        writer.close()

    def _answer(
        self, verb: str, session: str, message: dict[str, Any]
    ) -> tuple[int, dict[str, Any] | None, str]:
        if verb != "POST":
            return (200 if verb == "DELETE" else 405), None, ""
        method = message.get("method")
        if method == "initialize":
            self.sessions += 1
            self.known = f"session-{self.sessions}"
            about: dict[str, Any] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "forgetful", "version": "1"},
            }
            return 200, _result(message, about), self.known
        if method == "server/discover":
            error = {"code": -32601, "message": "unknown"}
            return 200, {"jsonrpc": "2.0", "id": message["id"], "error": error}, ""
        if session != self.known:
            return 404, None, ""
        if method == "tools/list":
            tool = {"name": "saw", "inputSchema": {"type": "object"}}
            return 200, _result(message, {"tools": [tool]}), ""
        if method == "tools/call":
            self.ran += 1
            content = [{"type": "text", "text": f"sawn {self.ran}"}]
            return 200, _result(message, {"content": content}), ""
        return 202, None, ""


def _result(message: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}
