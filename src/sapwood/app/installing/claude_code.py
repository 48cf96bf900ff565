"""Claude Code: a plugin folder among the user's skills, and a status line where there is none.

A folder under `skills/` with a plugin's manifest is loaded at the start of every session, with its
hooks, MCP server, commands and skills. So the user's settings file stays as it is but for the
status line, which no plugin can bring.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from sapwood.app.installing.edits import Edit, InstallError, read_bytes
from sapwood.app.installing.json_edit import CannotEdit, members, with_member, without_member

__all__ = ["ClaudeCode"]

_KEY = "statusLine"
_OURS = "hook status-line"


class ClaudeCode:
    """The files of Claude Code that matter here."""

    name = "claude-code"
    program = "claude"

    def home(self, environ: Mapping[str, str]) -> Path:
        given = environ.get("CLAUDE_CONFIG_DIR")
        return Path(given) if given else Path(environ.get("HOME") or Path.home()) / ".claude"

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        return self.home(environ) / "settings.json"

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        return (self.home(environ) / "skills" / "sapwood",)

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[Edit | None, tuple[str, ...]]:
        path = self.settings_file(environ)
        before = read_bytes(path)
        line = {"type": "command", "command": shlex.join([*command, "hook", "status-line"])}
        try:
            text = _text(before)
            own = members(text).get(_KEY)
            if own is None:
                return Edit(path, before, with_member(text, _KEY, line).encode()), ()
        except CannotEdit as error:
            raise InstallError(f"{path} cannot be edited: {error}. Nothing was changed.") from error
        if _is_ours(own):
            return None, ()
        return None, (
            f"Your own status line stays as it is. To show Sapwood's beside it, let your script "
            f"hand its input to: {line['command']}",
        )

    def without_us(self, path: Path, text: bytes) -> bytes:
        try:
            told = _text(text)
            if not _is_ours(members(told).get(_KEY)):
                return text
            left = without_member(told, _KEY)
        except CannotEdit as error:
            raise InstallError(
                f"{path} cannot be edited: {error}. Take statusLine out of it yourself, "
                "then type this again."
            ) from error
        return left.encode()

    def same(self, one: bytes, other: bytes) -> bool:
        try:
            return members(_text(one)) == members(_text(other))
        except CannotEdit:
            return one == other

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        return (self.home(environ) / "plugins" / "data" / "sapwood-skills-dir",)


def _text(content: bytes | None) -> str:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise CannotEdit("it is not text in UTF-8") from error


def _is_ours(line: object) -> bool:
    return isinstance(line, dict) and str(line.get("command", "")).endswith(_OURS)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
