"""Several toolboxes as one toolbox."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import nearest

if TYPE_CHECKING:
    from sapwood.turns.tool_calls import Toolbox


@runtime_checkable
class ExplainsMissing(Protocol):
    """A toolbox that may lack tools which it had at another time."""

    def why_missing(self, tool: str) -> str:
        """Why it does not have a tool now; empty if the tool is none of its own."""
        ...


class CombinedToolbox:
    """The tools of several toolboxes, in order. Of two tools with one name, the first counts."""

    def __init__(self, *parts: "Toolbox") -> None:
        self._parts = parts
        self._owners: dict[str, Toolbox] = {}

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools of all parts. They are listed concurrently, because some start a program."""
        offered = await asyncio.gather(*(part.specs() for part in self._parts))
        specs: dict[str, ToolSpec] = {}
        for part, each in zip(self._parts, offered, strict=True):
            for spec in each:
                if spec.name not in specs:
                    specs[spec.name] = spec
                    self._owners[spec.name] = part
        return tuple(specs.values())

    def effect(self, use: ToolUse) -> Effect:
        """The effect that the tool's own part names; `some` before the tools were listed."""
        owner = self._owners.get(use.call.name)
        return owner.effect(use) if owner else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Passes the call to the part that has the tool."""
        if use.call.name not in self._owners:
            await self.specs()
        owner = self._owners.get(use.call.name)
        if owner is None:
            close = " or ".join(nearest(use.call.name, tuple(self._owners)))
            hint = f" Did you mean {close}?" if close else ""
            reasons = [
                part.why_missing(use.call.name)
                for part in self._parts
                if isinstance(part, ExplainsMissing)
            ]
            why = "".join(f" {reason}" for reason in reasons if reason) or hint
            return ToolOutcome(f"There is no tool {use.call.name}.{why}", error=True)
        return await owner.run(use)

    async def close(self) -> None:
        """Closes all parts, even if one fails; then raises the first error."""
        results = await asyncio.gather(
            *(part.close() for part in self._parts), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
