"""An MCP server of the tests, made with the library. `small_server.py` misbehaves on demand."""

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

    _ = (rings, saga, saw, picture, knot)
    return server


if __name__ == "__main__":
    make_server().run()
