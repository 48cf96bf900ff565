"""The interface to models, and the manifest that is stored before each model call."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

import msgspec

from sapwood.core.budget import estimate_of
from sapwood.core.commands import CallModel
from sapwood.core.model_calls import Answer, Delta, ToolSpec
from sapwood.core.token_count import Counter
from sapwood.core.view import Request
from sapwood.core.view.request import digest
from sapwood.runtime.open_agent import OpenAgent

__all__ = ["ModelAccess", "manifest_of"]


class ModelAccess(Protocol):
    """Sends requests to models. `sapwood.models` provides it."""

    def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncIterator[Delta | Answer]:
        """Sends a request. Yields the deltas as they arrive, then the whole answer, once.

        Raises `Failure` if there is no answer.
        """
        ...

    def window_of(self, model: str) -> int | None:
        """The context window of the model in tokens; None if it is unknown."""
        ...


def manifest_of(
    opened: OpenAgent,
    request: Request,
    tools: Sequence[ToolSpec],
    counter: Counter,
    instruction: str = "",
    params: Mapping[str, object] | None = None,
) -> CallModel:
    """Returns the command that stores the manifest. The estimate includes instruction and tools."""
    offered = msgspec.json.encode(tools)
    size = counter.count(offered.decode()).tokens if tools else 0
    beside = counter.count(instruction).tokens + size
    return CallModel(
        opened.state.agent,
        request.model,
        digest(request),
        estimate=estimate_of(opened.state, opened.live, counter) + beside,
        params=msgspec.json.encode(params or {}, order="deterministic").decode(),
        tools=hashlib.sha256(offered).hexdigest(),
        instruction=instruction,
        offered=size,
    )
