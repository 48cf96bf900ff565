"""The to-do list, and plan mode.

In plan mode the model reads and plans, and carries the plan out once a person has accepted it.
"""

import re
from collections.abc import Sequence

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Call
from sapwood.conversation.prompt_checks import finish_revert, hook_objection
from sapwood.core.commands import AddPin, Configure, WriteTodo
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError
from sapwood.core.events import TodoItem, TodoStatus
from sapwood.core.events.agent import PLAN_PIN
from sapwood.core.refusals import NothingToAccept
from sapwood.core.settings import PermissionMode, SettingsChange
from sapwood.core.turn import Turn
from sapwood.workspace.permissions.permission_rules import mode_of

_LINE = re.compile(r"(?:[-*+]|\d+[.)])?\s*(?:\[([ xX~])\])?\s*(\S.*)")
_BOXES: dict[TodoStatus, str] = {"open": " ", "active": "~", "done": "x"}
_STATUSES: dict[str, TodoStatus] = {box: status for status, box in _BOXES.items()}
_MODE = "mode"
"""The step that ends plan mode."""
_ACCEPTED = "I accept the plan. Carry it out."


async def todo(call: Call) -> Changed:
    """Shows the to-do list, or replaces it by the lines that were given."""
    if not call.run.args:
        items = (await call.opened()).state.todo
        return Changed(call.agent, todo_text(items) or "The to-do list is empty.")
    lines = [] if call.run.args == "none" else call.run.args.splitlines()
    items = tuple([_item(line) for line in lines if line.strip()])
    return await call.changed(WriteTodo(call.agent, items))


def todo_text(items: tuple[TodoItem, ...]) -> str:
    """The list as it is typed.

    >>> todo_text((TodoItem("Read", "done"), TodoItem("Write")))
    '[x] Read\\n[ ] Write'
    """
    return "\n".join(f"[{_BOXES[item.status]}] {item.text}" for item in items)


def _item(line: str) -> TodoItem:
    found = _LINE.fullmatch(line.strip())
    box, text = (found[1], found[2]) if found else (None, line)
    return TodoItem(text.strip(), _STATUSES[(box or " ").lower()])


async def accept_plan(call: Call) -> Prompted:
    """Pins the last answer as the plan, ends plan mode, and has the plan carried out.

    The argument is the permission mode from then on, by default `ask`. Raises `RefusedError`; if a
    hook objects to the prompt, nothing has changed.
    """
    mode = _mode(call)
    if (first := await call.first_prompted()) is not None:
        return first
    if (refused := await finish_revert(call.services, (await call.opened()).state)) is not None:
        raise RefusedError(refused)
    is_new = await call.first_answer(_MODE) is None
    opened = await call.opened_before(_MODE)
    text = _last_answer(opened.live.turns)
    if opened.state.settings.permission_mode != "plan" or not text:
        raise RefusedError(NothingToAccept())
    if call.services.models is not None:
        call.services.models.require(opened.state.settings.model)
    prompt = (Text(_ACCEPTED),)
    if is_new and (objection := await hook_objection(call.services, opened.state, prompt)):
        raise RefusedError(objection)
    await call.give_step(AddPin(call.agent, PLAN_PIN, text), "pin")
    await call.give_step(Configure(call.agent, SettingsChange(permission_mode=mode)), _MODE)
    return await call.open_turn(prompt, checked=is_new)


def _mode(call: Call) -> PermissionMode:
    if not call.run.args:
        return "ask"
    mode = mode_of(call.run.args)
    if mode is None or mode == "plan":
        raise call.misused(f"There is no permission mode '{call.run.args[:60]}'.")
    return mode


def _last_answer(turns: Sequence[Turn]) -> str:
    """The text of the last reply of the last turn, if that was answered."""
    return turns[-1].answer if turns and turns[-1].status == "completed" else ""
