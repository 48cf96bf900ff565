"""The model access that the runtime needs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from sapwood.core.calling import Answer, Delta, ToolSpec
from sapwood.core.view import Request

__all__ = ["ModelAccess"]


class ModelAccess(Protocol):
    """Sends requests to models."""

    def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncIterator[Delta | Answer]:
        """Deltas as they arrive, then the whole answer, once. Raises `Failure`."""
        ...

    def window_of(self, model: str) -> int | None:
        """How many tokens the model takes, where that is known."""
        ...
