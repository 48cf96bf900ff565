"""The hooks of the configuration. No repository can add one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from sapwood.app.connection import Connection
from sapwood.config.config_file import Config
from sapwood.conversation.call import Services
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import RecordShell
from sapwood.core.content import PromptPart, Text
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId
from sapwood.core.refusals import HookBlocked, Refusal
from sapwood.core.state import State
from sapwood.programs.registry import program_executor
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.commit_tasks import TurnEndTasks
from sapwood.turns.dispatch import Dispatcher

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
    config: Config, dispatcher: Dispatcher
) -> Callable[[State, Sequence[PromptPart]], Awaitable[Refusal | None]]:
    """Returns what runs the hooks UserPromptSubmit, and refuses a prompt if one objects.

    Before the first prompt of a root it runs the hooks SessionStart. What they print goes with the
    prompt.
    """
    hooks = event_hooks(config)

    async def check(state: State, parts: Sequence[PromptPart]) -> Refusal | None:
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        folder = _folder_of(state)
        fields = {**_fields_of(state), "prompt": text}
        for each in await hooks.objections("UserPromptSubmit", folder, fields):
            return HookBlocked(each.hook, each.why)
        if state.turns == 0 and state.parent is None and state.open is None:
            began = {**_fields_of(state), "source": "startup"}
            for hook, printed in await hooks.outputs("SessionStart", folder, began):
                record = RecordShell(state.agent, hook.command, printed, False, True)
                await dispatcher.dispatch(record, command_meta(Actor.of_hook(hook.name)))
        return None

    return check


def _folder_of(state: State) -> str:
    return state.workspace.worktree or state.workspace.folder


def _fields_of(state: State) -> dict[str, object]:
    return {"session_id": state.agent, "permission_mode": state.settings.permission_mode}


_MAX_TURNS = 8
"""So many turns in a row are opened by hooks. A hook that always objects would never let it end."""


class StopHooks:
    """Runs the hooks Stop when a turn of a root was answered here.

    If one objects, the model continues: its reason is the prompt of another turn.
    """

    def __init__(self, connection: Connection, config: Config) -> None:
        self._dispatcher = connection.dispatcher
        self._service = ConversationService(Services(connection))
        self._hooks = event_hooks(config)
        self.tasks = TurnEndTasks(self._run)
        if any(each.event == "Stop" and each.command for each in config.hooks.values()):
            self._dispatcher.on_commit(self.tasks.committed)

    async def _run(self, agent: AgentId, version: int) -> None:
        opened = await self._dispatcher.open(agent)
        state = opened.state
        if state.parent is not None or program_executor(state.settings.model) is not None:
            return
        answer = opened.live.turns[-1].answer if opened.live.turns else ""
        fields = {
            **_fields_of(state),
            "stop_hook_active": state.turns_without_human > 0,
            "last_assistant_message": answer,
        }
        if state.turns_without_human >= _MAX_TURNS:
            return
        for each in await self._hooks.objections("Stop", _folder_of(state), fields):
            prompt = f"The hook {each.hook} says: {each.why}"
            if state.turns_without_human == _MAX_TURNS - 1:
                prompt += f"\n\nThis is the last of {_MAX_TURNS} turns that hooks may ask for."
            once = f"stop-{agent}-{version}"
            await self._service.prompt(
                agent, prompt, actor=Actor.of_hook(each.hook), command_id=once
            )
