"""A toolbox whose calls pass through the hooks PreToolUse and PostToolUse of the person."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.workspace.event_hooks import EventHooks

if TYPE_CHECKING:
    from sapwood.turns.tool_calls import Toolbox


class HookedToolbox:
    """The tools of another toolbox. A call that a hook blocks is not run.

    A call that waits for a person runs again after the answer, and so do the hooks before it.
    """

    def __init__(self, toolbox: "Toolbox", hooks: EventHooks) -> None:
        self._toolbox = toolbox
        self._hooks = hooks

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools of the toolbox."""
        return await self._toolbox.specs()

    def effect(self, use: ToolUse) -> Effect:
        """The effect of the call itself."""
        return self._toolbox.effect(use)

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the hooks before the call, the call unless one blocks it, and those after it."""
        name, fields = use.call.name, _fields(use)
        folder = use.workspace.worktree or use.workspace.folder
        for each in await self._hooks.objections("PreToolUse", folder, fields, name):
            blocked = f"{name} was blocked by the hook {each.hook}: {each.why}"
            return ToolOutcome(blocked, error=True, blocked=blocked)
        outcome = await self._toolbox.run(use)
        fields["tool_response"] = {"content": outcome.content, "is_error": outcome.error}
        said = await self._hooks.objections("PostToolUse", folder, fields, name)
        notes = [f"\n[The hook {each.hook} says: {each.why}]" for each in said]
        return structs.replace(outcome, content="".join([outcome.content, *notes]))

    async def close(self) -> None:
        """Closes the toolbox."""
        await self._toolbox.close()


def _fields(use: ToolUse) -> dict[str, object]:
    try:
        arguments: object = msgspec.json.decode(use.call.args or "{}")
    except msgspec.DecodeError:
        arguments = use.call.args
    return {
        "session_id": use.agent,
        "permission_mode": use.mode,
        "tool_name": use.call.name,
        "tool_input": arguments,
        "tool_use_id": use.call.id,
    }
