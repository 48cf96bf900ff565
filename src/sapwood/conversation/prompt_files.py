"""Files for prompts, from the machine of the person who writes.

On a screen, `@photo.png` in a prompt sends the picture with it; so do PDFs, sounds and videos.
Every other file stays a name: the model reads text by its tools, within its permissions.
"""

import re
import shlex
from pathlib import Path
from urllib.parse import unquote

from msgspec import structs

from sapwood.conversation.script import Script, TextStep
from sapwood.core.content import File
from sapwood.core.errors import SapwoodError
from sapwood.core.file_part import LARGEST_FILE, media_type_of

_NAMED = re.compile(r'(?<![^\s(\[])@(?:"([^"\n]+)"|([^\s"]+))')
_AFTER_A_NAME = ".,;:!?)]}'"
"""Signs that end a sentence or a bracket, and may stand right after a name."""
_LONGEST_DROP = 8_000
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
    if len(pasted) > _LONGEST_DROP or not pasted.strip():
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
