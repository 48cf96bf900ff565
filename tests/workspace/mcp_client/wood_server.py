"""A small MCP server for the tests. Its tools misbehave on demand."""

import asyncio
import os
import sys
from typing import NoReturn

from mcp.server.mcpserver import Image, MCPServer
from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)


def make_server() -> MCPServer:
    """The server and its tools."""
    server = MCPServer("wood")

    @server.tool(annotations=READS)
    def rings(age: int) -> int:
        """Counts rings."""
        return age * 2

    @server.tool(annotations=READS, description="Tells much. " * 200_000)
    def saga() -> str:
        return "once"

    @server.tool(annotations=READS)
    def pid() -> str:
        """The process that answers."""
        return str(os.getpid())

    @server.tool(annotations=READS)
    def environment() -> str:
        """The names of all variables."""
        return " ".join(os.environ)

    @server.tool()
    def saw(length: int) -> dict[str, int]:
        """Saws a plank."""
        return {"length": length}

    @server.tool()
    def picture() -> Image:
        """A picture."""
        return Image(data=b"\x89PNG123", format="png")

    @server.tool()
    def knot() -> str:
        """Fails."""
        raise ValueError("a knot in the wood")

    @server.tool()
    async def wait(pipe: str) -> str:
        """Says that it began, and does not end."""
        with open(pipe, "w") as file:  # noqa: ASYNC230 -- a pipe somebody reads from
            file.write("begun")
        await asyncio.Event().wait()
        return ""

    @server.tool()
    def fall() -> str:
        """Ends the program."""
        end()

    @server.tool(annotations=READS)
    def look_and_fall(mark: str) -> str:
        """Ends the program, but only once for a file."""
        if not os.path.exists(mark):
            open(mark, "w").close()
            end()
        return "looked"

    _ = (rings, pid, environment, saw, picture, knot, wait, fall, look_and_fall)
    return server


def end() -> NoReturn:
    sys.stderr.write("timber!\n")
    sys.stderr.flush()
    os._exit(3)


if __name__ == "__main__":
    make_server().run()
