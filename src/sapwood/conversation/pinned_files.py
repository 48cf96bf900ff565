"""Pins from files: `/pin NAME @FILE`, and the same file read again before each prompt.

The text is stored in the pin's event. A file that has changed makes a new event, so a request of
the past can be rebuilt whatever the file holds now.
"""

import asyncio
import re

from sapwood.conversation.call import Services
from sapwood.core.commands import AddPin
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import PinnedFileUnreadable, Refusal
from sapwood.core.state import State
from sapwood.turns.clock_and_ids import command_meta
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules
from sapwood.workspace.pinned_file import PinnedFileError, read_pinned_file
from sapwood.workspace.places import root_of
from sapwood.workspace.tool_output import ToolError

_FILE = re.compile(r'@(?:"([^"\n]+)"|(\S+))')


def file_named(text: str) -> str:
    """The path, if the text of a pin is one word after an @ or a quoted path; else ''.

    >>> file_named("@docs/rules.md"), file_named('@"my rules.md"'), file_named("@ada decides.")
    ('docs/rules.md', 'my rules.md', '')
    """
    found = _FILE.fullmatch(text.strip())
    return (found[1] or found[2]) if found else ""


async def pin_of_file(services: Services, state: State, name: str, path: str) -> AddPin:
    """The command that pins a file of the workspace. Raises `RefusedError`."""
    try:
        source, text = await _read(services, state, path)
    except PinnedFileError as error:
        raise RefusedError(PinnedFileUnreadable(path, str(error))) from error
    return AddPin(state.agent, name, text, source)


async def read_pins_again(services: Services, state: State) -> str:
    """Reads the pinned files, and pins those again that changed; not while a turn is open.

    Returns what the person has to know: which files could not be read. Their last text stays.
    """
    dispatcher, notices = services.space.dispatcher, list[str]()
    for pin in state.pins:
        if not pin.source or state.open is not None:
            continue
        try:
            _, text = await _read(services, state, pin.source)
        except PinnedFileError as error:
            notices.append(_notice(pin.name, pin.source, str(error)))
            continue
        if text == pin.text:
            continue
        command = AddPin(state.agent, pin.name, text, pin.source)
        done = await dispatcher.dispatch(command, command_meta())
        if isinstance(done, Refusal):
            notices.append(_notice(pin.name, pin.source, done.sentence))
    return "\n".join(notices)


def _notice(name: str, source: str, why: str) -> str:
    return (
        f"The pin '{name}' keeps its previous text, because {source} could not be read. {why} "
        f"Restore the file, or type /unpin {name}."
    )


async def _read(services: Services, state: State, path: str) -> tuple[str, str]:
    try:
        rules = await _rules(services, state)
    except ToolError as error:
        raise PinnedFileError(str(error).removesuffix(" Tell the user.")) from error
    return await asyncio.to_thread(read_pinned_file, services.workspace_of(state), path, rules)


async def _rules(services: Services, state: State) -> PermissionRules:
    if services.permissions is None:
        return ()
    root = await asyncio.to_thread(root_of, services.workspace_of(state))
    return parse_rules(each.rule for each in await services.permissions.listed(root))
