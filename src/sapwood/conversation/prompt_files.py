"""Files for prompts, from the machine of the person who writes.

On a screen, `@photo.png` in a prompt sends the picture with it; so do PDFs, sounds and videos.
`@notes.md` sends a text, `@notes.md:10-40` some of its lines, and `@docs/` the names in a folder.
Files are read when the prompt is sent. Private files, such as keys, other binary files and long
texts stay names: the model reads them by its tools, within its permissions.

Pins from files: `/pin NAME @FILE`, and the same file read again before each prompt.

The text is stored in the pin's event. A file that has changed makes a new event, so a request of
the past can be rebuilt whatever the file holds now.
"""

import asyncio
import errno
import os
import re
import shlex
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct, structs

from sapwood.conversation.call import Services
from sapwood.conversation.script import Script, TextStep
from sapwood.core.commands import AddPin
from sapwood.core.content import File
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.file_part import LARGEST_FILE, media_type_of
from sapwood.core.refusals import PinnedFileUnreadable, Refusal
from sapwood.core.state import State
from sapwood.core.turn_numbers import parse_place
from sapwood.turns.clock_and_ids import command_meta
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules
from sapwood.workspace.pinned_file import PINNED_FILE_BYTES, PinnedFileError, read_pinned_file
from sapwood.workspace.safe_paths import ResolvedPath, open_file, real_path, root_of
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.file_reader import is_binary

_NAMED = re.compile(r'(?<![^\s(\[])@(?:"([^"\n]+)"(:\d+(?:-\d+)?)?|([^\s"]+))')
_LINES = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?", re.DOTALL)
_AFTER_A_NAME = ".,;:!?)]}'"
"""Signs that end a sentence or a bracket, and may stand right after a name."""
_MAX_DROP = 8_000
_FIRST_BYTES = 8_192
_FOLDER_NAMES = 1_000
"""The most names of a folder that are sent."""


class NamedFile(Struct, frozen=True):
    """A file or folder behind an `@`: its name as it was typed, its path, and its size in tokens.

    `first` and `last` are lines of a text; 0 for the whole text, a folder, or another file.
    """

    name: str
    path: str
    tokens: int
    first: int = 0
    last: int = 0


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


def files_named(text: str, folder: str = "") -> tuple[NamedFile, ...]:
    """The files and folders that a text names after an @ and that are sent with it, each once.

    Relative names start at `folder`, by default at the current folder.
    """
    found: dict[str, NamedFile] = {}
    for quoted, lines, word in _NAMED.findall(text) if "@" in text else ():
        for name in (quoted + lines,) if quoted else (word, word.rstrip(_AFTER_A_NAME)):
            if name in found:
                break
            if named := _named(name, folder):
                found[name] = named
                break
    return tuple(found.values())


def missing_files(script: Script, folder: str = "") -> tuple[str, ...]:
    """The names after an @ in the prompts that look like paths, and where there is nothing.

    A place such as `NAME/3` is a turn.
    """
    texts = [step.text for step in script if isinstance(step, TextStep) and not step.goal]
    found: dict[str, None] = {}
    for quoted, _, word in _NAMED.findall("\n".join(texts)):
        name = quoted or word.rstrip(_AFTER_A_NAME)
        if lines := _LINES.fullmatch(name):
            name = lines[1]
        is_path = "." in name.strip("./~") or "/" in name.strip("./~")
        if is_path and parse_place(name) is None and not _exists(name, folder):
            found[name] = None
    return tuple(found)


def _exists(name: str, folder: str) -> bool:
    try:
        return os.path.lexists(os.path.join(folder, os.path.expanduser(name)))
    except ValueError:  # a null in it
        return False


def names_files(script: Script) -> bool:
    """Whether a prompt of the script may name a file."""
    return any(isinstance(step, TextStep) and "@" in step.text for step in script)


def with_named_files(script: Script, folder: str = "", mask: Callable[[str], str] = str) -> Script:
    """The script, with the files that each of its prompts names; texts without their secrets.

    Raises `SapwoodError` if a file cannot be read.
    """
    return tuple(
        structs.replace(
            step,
            files=tuple(
                [_read_named(each, folder, mask) for each in files_named(step.text, folder)]
            ),
        )
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
    if not names or not all(map(_is_media_file, names)):
        return ""
    return " ".join(f'@"{name}"' if re.search(r"\s", name) else f"@{name}" for name in names) + " "


def _path(word: str) -> str:
    return unquote(word.removeprefix("file://")) if word.startswith("file:///") else word


def _named(name: str, folder: str) -> NamedFile | None:
    """What a name stands for; None if it is no file, or one that stays a name."""
    if not name.strip("./~") or '"' in name:  # `@/` alone is no folder that somebody means
        return None
    try:
        path = os.path.join(folder, os.path.expanduser(name))
        if os.path.isdir(path):
            return NamedFile(name, path, len(_listing(path)) // 4) if name.endswith("/") else None
        if os.path.isfile(path):
            tokens = _tokens(path, os.stat(path).st_mtime_ns)
            return NamedFile(name, path, tokens) if tokens else None
        lines = _LINES.fullmatch(name)
        path = os.path.join(folder, os.path.expanduser(lines[1])) if lines else ""
        if lines is None or not os.path.isfile(path):
            return None
        first = int(lines[2])
        last = int(lines[3] or first)
        text = _lines(_text_of(path, LARGEST_FILE), first, last)
        return NamedFile(name, path, len(text) // 4 + 1, first, last) if text else None
    except (OSError, ValueError, RuntimeError):  # too long a name, a null in it, an unknown home
        return None


@lru_cache(maxsize=64)
def _tokens(path: str, changed: int) -> int:
    """About how many tokens a file has; 0 if it is not sent. `changed` is when it changed."""
    if _is_media_file(path):
        return read_file(path).tokens if os.path.getsize(path) <= LARGEST_FILE else 1
    text = _text_of(path, PINNED_FILE_BYTES)
    return len(text) // 4 + 1 if text.strip() else 0


def _is_media_file(name: str) -> bool:
    """Whether this is a file that a model cannot read as text."""
    try:
        path = Path(name).expanduser()
        if not name or '"' in name or not path.is_file():
            return False
        with path.open("rb") as file:
            kind = media_type_of(file.read(_FIRST_BYTES), path.name)
    except (OSError, ValueError, RuntimeError):
        return False
    return kind == "application/pdf" or kind.startswith(("image/", "audio/", "video/"))


def _text_of(path: str, most: int) -> str:
    """The content of a text file; empty if it is private, binary or longer than `most` bytes."""
    real = real_path(path)
    place = ResolvedPath(os.path.dirname(real), real, path)
    if PathGuards().against_reading(place):
        return ""
    content = _content(place, most)
    if len(content) > most or is_binary(content[:_FIRST_BYTES]):
        return ""
    return content.decode("utf-8", "replace").removeprefix("\N{BYTE ORDER MARK}")


def _lines(text: str, first: int, last: int) -> str:
    return "".join(text.splitlines(keepends=True)[max(first, 1) - 1 : last])


def _listing(path: str) -> str:
    """The names in a folder, one on each line; folders end with a slash."""
    with os.scandir(path) as entries:
        names = sorted(each.name + ("/" if each.is_dir() else "") for each in entries)
    more = len(names) - _FOLDER_NAMES
    shown = [*names[:_FOLDER_NAMES], *([f"[{more:,} more]"] if more > 0 else [])]
    return "\n".join(shown)


def _content(place: ResolvedPath, most: int) -> bytes:
    """At most one byte more than `most` of a file. Raises `OSError` if a link is there now."""
    try:
        with open_file(place) as file:
            return file.read(most + 1)
    except ToolError as error:
        raise OSError(errno.EIO, str(error).rstrip(".")) from error


def _read_named(named: NamedFile, folder: str, mask: Callable[[str], str]) -> File:
    """The file as it is now. Raises `SapwoodError`."""
    path = _real_path_of(named, folder)
    try:
        if _is_media_file(path):
            return _media_file(ResolvedPath(os.path.dirname(path), path, named.name))
        if named.name.endswith("/"):
            text = _listing(path) or "[empty]"
        else:
            text = _text_of(path, LARGEST_FILE)
    except OSError as error:
        raise SapwoodError(f"{named.name} cannot be read: {error.strerror}.") from error
    if named.first:
        text = _lines(text, named.first, named.last)
    if not text:
        raise SapwoodError(f"{named.name} is empty. Nothing was sent.")
    return File.of(mask(text).encode(), name=named.name, media_type="text/plain")


def _real_path_of(named: NamedFile, folder: str) -> str:
    """Where a name leads. Raises `SapwoodError` if a link leads it out of the folder unseen.

    A command of a model can make such a link, and its user would send another file than they name.
    """
    place = ResolvedPath(real_path(folder or os.curdir), real_path(named.path), named.name)
    top = os.path.abspath(folder or os.curdir).rstrip("/")
    if not place.is_inside and os.path.abspath(named.path).startswith(f"{top}/"):
        raise SapwoodError(
            f"{named.name} leads to {place.real} by a link, outside of this folder. Nothing was "
            f'sent. To send it, write @"{place.real}".'
        )
    return place.real


def _media_file(place: ResolvedPath) -> File:
    """A file that a model cannot read as text. Raises `SapwoodError` and `OSError`."""
    content = _content(place, LARGEST_FILE)
    if len(content) > LARGEST_FILE:
        raise SapwoodError(
            f"{place.given} is too large: files can be up to {LARGEST_FILE:,} bytes."
        )
    return File.of(content, name=os.path.basename(place.given))


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
