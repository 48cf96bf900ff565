"""The manifest of a model call: what is stored before anything is sent."""

import hashlib
from collections.abc import Sequence

import msgspec

from sapwood.core.budget import estimate_of
from sapwood.core.calling import ToolSpec
from sapwood.core.commands import CallModel
from sapwood.core.counting import Counter
from sapwood.core.view import Request
from sapwood.core.view.request import digest
from sapwood.runtime.opening import Opened

__all__ = ["manifest_of"]


def manifest_of(
    opened: Opened,
    request: Request,
    tools: Sequence[ToolSpec],
    counter: Counter,
    instruction: str = "",
) -> CallModel:
    """The command that stores it; the estimate counts instruction and tools too."""
    offered = msgspec.json.encode(tools)
    size = counter.count(offered.decode()).tokens if tools else 0
    beside = counter.count(instruction).tokens + size
    return CallModel(
        opened.state.agent,
        request.model,
        digest(request),
        estimate=estimate_of(opened.state, opened.live, counter) + beside,
        tools=hashlib.sha256(offered).hexdigest(),
        instruction=instruction,
        offered=size,
    )
