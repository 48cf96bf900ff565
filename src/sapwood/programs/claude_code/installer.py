"""Claude Code: a plugin folder among the user's skills, and a status line where there is none.

Claude Code loads a folder under `skills/` that has a plugin's manifest at the start of every
session, with its hooks, MCP server, commands and skills. So only the status line, which a plugin
cannot contain, has to be set in the user's settings file.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.installation.file_edits import FileEdit, InstallError, cannot_edit, read_bytes
from sapwood.programs.installation.json_edit import (
    CannotEditJson,
    members,
    with_member,
    without_member,
)
from sapwood.programs.installation.plugin_files import InstalledHook, plugin_files, plugin_hooks

_KEY = "statusLine"
_COMMAND_ENDING = "hook status-line"


class _Installer:
    """The files of Claude Code that an installation changes."""

    def files(self, command: Sequence[str]) -> dict[str, bytes]:
        return plugin_files(command)

    def hooks(self, files: Mapping[str, bytes]) -> Iterable[InstalledHook]:
        return plugin_hooks(files)

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        return PROGRAM.home(environ) / "settings.json"

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        return (PROGRAM.home(environ) / "skills" / "sapwood",)

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[FileEdit | None, tuple[str, ...]]:
        path = self.settings_file(environ)
        before = read_bytes(path)
        line = {"type": "command", "command": shlex.join([*command, "hook", "status-line"])}
        try:
            text = _text(before)
            own = members(text).get(_KEY)
            if own is None:
                return FileEdit(path, before, with_member(text, _KEY, line).encode()), ()
        except CannotEditJson as error:
            raise InstallError(f"{path} cannot be edited: {error}. Nothing was changed.") from error
        if _is_sapwood(own):
            return None, ()
        return None, (
            "Your own status line is unchanged. To show Sapwood's next to it, have your script "
            f"pass its input to: {line['command']}",
        )

    def without_sapwood(self, path: Path, text: bytes) -> bytes:
        try:
            settings = _text(text)
            if not _is_sapwood(members(settings).get(_KEY)):
                return text
            remaining = without_member(settings, _KEY)
        except CannotEditJson as error:
            raise cannot_edit(path, text, _COMMAND_ENDING, str(error)) from error
        return remaining.encode()

    def with_values(
        self,
        path: Path,
        text: bytes,
        values: Mapping[str, int | bool],
        owned: Mapping[str, int | bool],
    ) -> bytes:
        try:
            settings = _text(text)
            for name, value in owned.items():
                if members(settings).get(name) == value:
                    settings = without_member(settings, name)
            for name, value in values.items():
                if name not in members(settings):
                    settings = with_member(settings, name, value)
        except CannotEditJson as error:
            raise InstallError(f"{path} cannot be edited: {error}.") from error
        return settings.encode()

    def same_settings(self, one: bytes, other: bytes) -> bool:
        try:
            return members(_text(one)) == members(_text(other))
        except CannotEditJson:
            return one == other

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        return (PROGRAM.home(environ) / "plugins" / "data" / "sapwood-skills-dir",)


INSTALLER = _Installer()


def _text(content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise CannotEditJson("it is not valid UTF-8 text") from error


def _is_sapwood(line: object) -> bool:
    return isinstance(line, dict) and str(line.get("command", "")).endswith(_COMMAND_ENDING)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
