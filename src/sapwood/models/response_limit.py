"""How many bytes are read of one HTTP response. A response that exceeds it ends as a failure.

The parsers of a stream keep a line until its end has arrived. So a line without an end would be
searched again with every piece, and kept in memory whole.
"""

from collections.abc import AsyncGenerator, AsyncIterator

from sapwood.core.model_calls import Failure

__all__ = ["MAX_BYTES", "MAX_LINE_BYTES", "limited_bytes"]

MAX_LINE_BYTES = 16_000_000
"""Bytes of one line of a stream: an image or a file, in base64."""

MAX_BYTES = 64_000_000
"""Bytes of one response."""


async def limited_bytes(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yields the chunks of a response. Raises `Failure` where a line or the whole is too long."""
    read = line = 0
    async for chunk in chunks:
        read += len(chunk)
        end = chunk.rfind(b"\n")
        line = line + len(chunk) if end < 0 else len(chunk) - end - 1
        if line > MAX_LINE_BYTES or read > MAX_BYTES:
            raise Failure(
                "other",
                "The provider sent more than Sapwood reads of one answer. It was ended there. "
                "Try again, or ask for a shorter answer.",
            )
        yield chunk
