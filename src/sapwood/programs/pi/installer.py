"""pi: one extension in its folder, which pi finds by itself. Its settings name nothing of it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sapwood.programs.installation.file_edits import FileEdit, InstallError
from sapwood.programs.installation.json_edit import (
    CannotEditJson,
    members,
    with_member,
    without_member,
)
from sapwood.programs.installation.plugin_files import InstalledHook
from sapwood.programs.pi.program import PROGRAM

_EXTENSION = Path(__file__).with_name("hooks.js")
_HOOK = re.compile(r'pi\.on\("(\w+)".*?\bhook\("([\w-]+)"', re.DOTALL)
"""An event of pi and the hook that it calls, in the extension."""
_BY_NAME = 'const SAPWOOD = ["sapwood"];'


class _Installer:
    """The files of pi that an installation changes."""

    def files(self, command: Sequence[str]) -> dict[str, bytes]:
        text = _EXTENSION.read_text("utf-8")
        own = f"const SAPWOOD = {json.dumps(list(command))};"
        return {"index.js": text.replace(_BY_NAME, own).encode()}

    def hooks(self, files: Mapping[str, bytes]) -> Iterable[InstalledHook]:
        for event, name in _HOOK.findall(files["index.js"].decode()):
            yield InstalledHook(event, name)

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        return PROGRAM.home(environ) / "settings.json"

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        return (PROGRAM.home(environ) / "extensions" / "sapwood",)

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[FileEdit | None, tuple[str, ...]]:
        return None, ()

    def without_sapwood(self, path: Path, text: bytes) -> bytes:
        return text

    def with_values(
        self,
        path: Path,
        text: bytes,
        values: Mapping[str, int | bool],
        owned: Mapping[str, int | bool],
    ) -> bytes:
        """Names with a dot are members of an object in the settings."""
        try:
            settings = text.decode()
            for name in {**owned, **values}:
                outer, _, inner = name.partition(".")
                settings = _edited(settings, outer, inner, values.get(name), owned.get(name))
        except (CannotEditJson, UnicodeDecodeError) as error:
            raise InstallError(f"{path} cannot be edited: {error}.") from error
        return settings.encode()

    def same_settings(self, one: bytes, other: bytes) -> bool:
        try:
            return members(one.decode()) == members(other.decode())
        except (CannotEditJson, UnicodeDecodeError):
            return one == other

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        return ()


def _edited(
    settings: str, outer: str, inner: str, value: int | bool | None, owned: int | bool | None
) -> str:
    """The settings with this value; without it, unless the user has set another one since."""
    found: object = members(settings).get(outer, {})
    if not isinstance(found, dict):
        raise CannotEditJson(f"{outer!r} is not an object")
    group: dict[str, object] = dict(found)  # pyright: ignore[reportUnknownArgumentType]
    before = dict(group)
    if owned is not None and group.get(inner) == owned:
        del group[inner]
    if value is not None:
        group.setdefault(inner, value)
    if group == before:
        return settings
    left = without_member(settings, outer) if outer in members(settings) else settings
    return with_member(left, outer, group) if group else left


INSTALLER = _Installer()
