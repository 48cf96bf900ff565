"""Files for prompts, from the machine of the person who writes.

On a screen, `@photo.png` in a prompt sends the picture with it; so do PDFs, sounds and videos.
Every other file stays a name: the model reads text by its tools, within its permissions.

Pins from files: `/pin NAME @FILE`, and the same file read again before each prompt.

The text is stored in the pin's event. A file that has changed makes a new event, so a request of
the past can be rebuilt whatever the file holds now.
"""

import asyncio
import re
import shlex
from pathlib import Path
from urllib.parse import unquote

from msgspec import structs

from sapwood.conversation.call import Services
from sapwood.conversation.script import Script, TextStep
from sapwood.core.commands import AddPin
from sapwood.core.content import File
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.file_part import LARGEST_FILE, media_type_of
from sapwood.core.refusals import PinnedFileUnreadable, Refusal
from sapwood.core.state import State
from sapwood.turns.clock_and_ids import command_meta
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules
from sapwood.workspace.pinned_file import PinnedFileError, read_pinned_file
from sapwood.workspace.safe_paths import root_of
from sapwood.workspace.tool_output import ToolError

_NAMED = re.compile(r'(?<![^\s(\[])@(?:"([^"\n]+)"|([^\s"]+))')
_AFTER_A_NAME = ".,;:!?)]}'"
"""Signs that end a sentence or a bracket, and may stand right after a name."""
_MAX_DROP = 8_000
_FIRST_BYTES = 64


def read_file(name: str) -> File:
    """The file for a prompt. Raises `SapwoodError` if it cannot be read, is empty or too large."""
    path = Path(name).expanduser()
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise SapwoodError(f"{name} is too large: files can be up to {LARGEST_FILE:,} bytes.")
        content = path.read_bytes()
    except OSError as error:
        raise SapwoodError(f"{name} cannot be read: {error.strerror}.") from error
    if not content:
        raise SapwoodError(f"{name} is empty. Nothing was sent.")
    return File.of(content, name=path.name)


def files_named(text: str) -> tuple[str, ...]:
    """The pictures, PDFs, sounds and videos that a text names after an @, each once."""
    found: dict[str, None] = {}
    for quoted, word in _NAMED.findall(text) if "@" in text else ():
        for name in (quoted,) if quoted else (word, word.rstrip(_AFTER_A_NAME)):
            if _is_sent(name):
                found[name] = None
                break
    return tuple(found)


def with_named_files(script: Script) -> Script:
    """The script, with the files that each of its prompts names. Raises `SapwoodError`."""
    return tuple(
        structs.replace(step, files=tuple(map(read_file, files_named(step.text))))
        if isinstance(step, TextStep) and not step.goal
        else step
        for step in script
    )


def dropped_files(pasted: str) -> str:
    """The names to write for files that were dropped on a terminal, which pastes their paths.

    Empty if the paste is anything else.
    """
    if len(pasted) > _MAX_DROP or not pasted.strip():
        return ""
    try:
        words = shlex.split(pasted)
    except ValueError:
        return ""
    names = [_path(word) for word in words]
    if not names or not all(map(_is_sent, names)):
        return ""
    return " ".join(f'@"{name}"' if re.search(r"\s", name) else f"@{name}" for name in names) + " "


def _path(word: str) -> str:
    return unquote(word.removeprefix("file://")) if word.startswith("file:///") else word


def _is_sent(name: str) -> bool:
    """Whether this is a file that a model cannot read as text."""
    try:
        path = Path(name).expanduser()
        if not name or '"' in name or not path.is_file():
            return False
        with path.open("rb") as file:
            kind = media_type_of(file.read(_FIRST_BYTES), path.name)
    except (OSError, ValueError, RuntimeError):  # too long a name, a null in it, an unknown home
        return False
    return kind == "application/pdf" or kind.startswith(("image/", "audio/", "video/"))


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
