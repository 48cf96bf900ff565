"""Which folder each space has: parsed from the configuration and from `--folder`, and checked."""

import os
import string
from collections.abc import Iterable, Mapping

from sapwood.core.errors import SapwoodError

ANY = "any"
"""In place of a folder: the space is the operator's own, and its agents work in any folder."""
EVERY = "*"
_SPACE = "{space}"
_PLAIN = frozenset(string.ascii_lowercase + string.digits + "._@-")


def parse_folders(lines: Iterable[str], configured: Mapping[str, str]) -> dict[str, str]:
    """The configured folders, and those that were given as `SPACE=PATH`. Raises `SapwoodError`.

    A relative path begins at the current folder.

    >>> parse_folders(["acme=/srv/acme"], {"*": "/srv/{space}"})
    {'*': '/srv/{space}', 'acme': '/srv/acme'}
    """
    folders = dict(configured)
    for line in lines:
        space, sign, path = line.partition("=")
        if not sign or not space or not path:
            raise SapwoodError(
                f"'{line}' is not a valid folder for a space. Write it as: --folder SPACE=PATH"
            )
        folders[space] = path
    folders = {name: path if path == ANY else _absolute(path) for name, path in folders.items()}
    every = folders.get(EVERY, _SPACE)
    if every == ANY or os.path.basename(every) != _SPACE or every.count("{") > 1:
        raise SapwoodError(
            f"All spaces would share the folder {every}. End the path with the name of the space: "
            "--folder '*=/srv/sapwood/{space}'"
        )
    return folders


def folder_of(folders: Mapping[str, str], space: str) -> str:
    """The folder of a space, or `ANY`; empty if it has none.

    The name of a space becomes one folder name, in which other characters than small letters,
    digits, `.`, `_`, `@` and `-` are escaped: no two spaces get the same folder, also where the
    system does not distinguish small and capital letters.

    >>> folder_of({"*": "/srv/{space}"}, "acme"), folder_of({"*": "/srv/{space}"}, "../Acme")
    ('/srv/acme', '/srv/%2E.%2F%41cme')
    """
    if space in folders:
        return folders[space]
    return folders[EVERY].replace(_SPACE, _folder_name(space)) if EVERY in folders else ""


def is_made(folders: Mapping[str, str], space: str) -> bool:
    """Whether the folder of a space is made when it is missing: one that `*` gives."""
    return space not in folders and EVERY in folders


def require_separate(folders: Mapping[str, str]) -> None:
    """Raises `SapwoodError` if one space could see the folder of another."""
    real = {
        space: os.path.realpath(path.removesuffix(_SPACE))
        for space, path in folders.items()
        if path != ANY
    }
    for space, path in real.items():
        for other, inner in real.items():
            if space != other and (inner == path or inner.startswith(path.rstrip("/") + "/")):
                if space == EVERY and inner == os.path.realpath(
                    folder_of({EVERY: folders[EVERY]}, other)
                ):
                    continue  # the folder that it would get anyway
                raise SapwoodError(
                    f"The folder of the space '{other}', {inner}, is inside that of '{space}', "
                    f"{path}. Give each space its own folder: --folder SPACE=PATH"
                )


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _folder_name(space: str) -> str:
    name = "".join(
        chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}"
        for byte in space.encode("utf-8", "surrogatepass")
    )
    return f"%2E{name[1:]}" if name.startswith(".") else name
