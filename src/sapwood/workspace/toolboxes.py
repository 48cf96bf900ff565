"""Several toolboxes as one."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from sapwood.core.calling import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import nearest

__all__ = ["Box", "Toolboxes"]


class Box(Protocol):
    """One of them: any toolbox that the runtime takes."""

    async def specs(self) -> Sequence[ToolSpec]: ...

    def effect(self, use: ToolUse) -> Effect: ...

    async def run(self, use: ToolUse) -> ToolOutcome: ...

    async def close(self) -> None: ...


class Toolboxes:
    """The tools of all, in the order given. Of two with one name, the first counts."""

    def __init__(self, *boxes: Box) -> None:
        self._boxes = boxes
        self._owners: dict[str, Box] = {}

    async def specs(self) -> Sequence[ToolSpec]:
        """What all of them offer. They are asked at once, because some start a program."""
        offered = await asyncio.gather(*(box.specs() for box in self._boxes))
        specs: dict[str, ToolSpec] = {}
        for box, each in zip(self._boxes, offered, strict=True):
            for spec in each:
                if spec.name not in specs:
                    specs[spec.name] = spec
                    self._owners[spec.name] = box
        return tuple(specs.values())

    def effect(self, use: ToolUse) -> Effect:
        """What the tool's own box says; some, as long as nobody has asked what there is."""
        owner = self._owners.get(use.call.name)
        return owner.effect(use) if owner else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Hands the call to the tool's own box."""
        if use.call.name not in self._owners:
            await self.specs()
        owner = self._owners.get(use.call.name)
        if owner is None:
            close = " or ".join(nearest(use.call.name, tuple(self._owners)))
            told = f" Did you mean {close}?" if close else ""
            return ToolOutcome(f"There is no tool {use.call.name}.{told}", error=True)
        return await owner.run(use)

    async def close(self) -> None:
        """Closes all, whatever happens to one of them."""
        results = await asyncio.gather(
            *(box.close() for box in self._boxes), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
