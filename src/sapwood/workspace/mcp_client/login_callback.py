"""Receives the answer of an authorization server: on a port of loopback, or as a pasted address."""

import asyncio
import hmac
from contextlib import suppress
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from sapwood.redaction import mask_secrets
from sapwood.workspace.mcp_client.mcp_errors import McpServerError
from sapwood.workspace.mcp_client.server_text import one_line

_REQUEST_SECONDS = 10.0
_REQUEST_BYTES = 16_384
_PATH = "/callback"


class WrongAnswer(McpServerError):
    """An address that is not the answer to this login. The login continues."""


class LoginCallback:
    """Listens on 127.0.0.1 while a login is under way. Port 0 picks a free one."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._state = ""
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._answer: asyncio.Future[AuthorizationCodeResult] = (
            asyncio.get_running_loop().create_future()
        )

    async def __aenter__(self) -> "LoginCallback":
        try:
            self._server = await asyncio.start_server(
                self._accept, "127.0.0.1", self._port, limit=_REQUEST_BYTES
            )
        except OSError as error:
            raise McpServerError(
                f"Port {self._port} cannot be used: {error.strerror}. Choose another with --port."
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._connections.values():
            writer.transport.abort()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._answer.done() and not self._answer.cancelled():
            self._answer.exception()  # nobody may have waited for it

    @property
    def address(self) -> str:
        """Where the authorization server sends the browser at the end."""
        return f"http://127.0.0.1:{self._port}{_PATH}"

    def expect(self, authorization_address: str) -> None:
        """Accepts only answers with the `state` of this address from now on."""
        self._state = parse_qs(urlsplit(authorization_address).query)["state"][-1]

    async def answer(self) -> AuthorizationCodeResult:
        """The answer, when it is there. Raises `McpServerError` if the login was refused."""
        return await asyncio.shield(self._answer)

    def take(self, address: str) -> None:
        """Takes the address that the browser was sent to.

        Raises `WrongAnswer` if it does not belong to this login, and `McpServerError` if the
        login was refused.
        """
        place, _, query = address.strip().partition("?")
        fields = parse_qs(query.partition("#")[0])
        state, code, iss = (fields.get(name, [""])[0] for name in ("state", "code", "iss"))
        if (
            place != self.address
            or not self._state
            or not hmac.compare_digest(state.encode(), self._state.encode())
        ):
            raise WrongAnswer("This address does not belong to this login.")
        if "error" in fields:
            refused = McpServerError(f"The login was refused: {_reason(fields)}.")
            if not self._answer.done():
                self._answer.set_exception(refused)
            raise refused
        if not code:
            raise WrongAnswer("This address has no code.")
        if not self._answer.done():
            result = AuthorizationCodeResult(code=code, state=state, iss=iss or None)
            self._answer.set_result(result)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, text = self._reply(head.split(b"\r\n", 1)[0].decode("latin-1"))
                writer.write(_response(status, text))
                await writer.drain()
        writer.close()

    def _reply(self, request_line: str) -> tuple[str, str]:
        method, _, rest = request_line.partition(" ")
        target = rest.partition(" ")[0]
        path, _, query = target.partition("?")
        if method != "GET" or path != _PATH:
            return "404 Not Found", "There is nothing here."
        try:
            self.take(f"{self.address}?{query}")
        except WrongAnswer as error:
            return "400 Bad Request", str(error)
        except McpServerError as error:
            return "200 OK", f"{error} You can close this page."
        return "200 OK", "Sapwood has got the answer. You can close this page."


def _reason(fields: dict[str, list[str]]) -> str:
    """What the authorization server says."""
    text = fields.get("error_description", fields["error"])[0]
    return one_line(mask_secrets(text)).rstrip(". ")


def _response(status: str, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
