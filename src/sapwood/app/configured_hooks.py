"""The hooks of the configuration. No repository can add one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from sapwood.config.config_file import Config
from sapwood.core.content import PromptPart, Text
from sapwood.core.refusals import HookBlocked, Refusal
from sapwood.core.state import State

if TYPE_CHECKING:
    from sapwood.workspace.event_hooks import EventHooks


def event_hooks(config: Config) -> "EventHooks":
    """The hooks that have a command, in order."""
    from sapwood.workspace.event_hooks import EventHook, EventHooks

    return EventHooks(
        [
            EventHook(name, each.event, each.command, each.matcher, each.seconds)
            for name, each in config.hooks.items()
            if each.command
        ]
    )


def prompt_check(
    config: Config,
) -> Callable[[State, Sequence[PromptPart]], Awaitable[Refusal | None]]:
    """Returns what runs the hooks UserPromptSubmit, and refuses a prompt if one objects."""
    hooks = event_hooks(config)

    async def check(state: State, parts: Sequence[PromptPart]) -> Refusal | None:
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        folder = state.workspace.worktree or state.workspace.folder
        mode = state.settings.permission_mode
        fields = {"session_id": state.agent, "permission_mode": mode, "prompt": text}
        for each in await hooks.objections("UserPromptSubmit", folder, fields):
            return HookBlocked(each.hook, each.why)
        return None

    return check
