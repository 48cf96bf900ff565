"""What tools wrote in protected places: a person allowed it, so it is not undone.

It is known by its content. A command that ran before is not kept from the new file, which is not
mounted for it, so what it makes of that is undone.
"""

import os
import stat
from collections.abc import Mapping
from hashlib import file_digest, sha256

from sapwood.workspace.protected_files import Identity

_READABLE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def content_identity(data: bytes) -> Identity:
    """What tells a content from another one."""
    return len(data), sha256(data).hexdigest()


def is_as_written(root: str, path: str, written: Mapping[str, Identity]) -> bool:
    """Whether a file, or all that is in a folder, is as tools wrote it.

    `path` and those of `written` go from the workspace's folder on.
    """
    if path in written:
        return _is_same(os.path.join(root, path), written[path])
    if not any(each.startswith(f"{path}/") for each in written):
        return False
    try:
        return all(
            each in written and _is_same(os.path.join(root, each), written[each])
            for each in _below(root, path)
        )
    except OSError:
        return False


def _below(root: str, path: str) -> list[str]:
    """The paths of all in a folder that is no folder itself. Raises `OSError`."""
    found: list[str] = []
    folders = [path]
    while folders:
        with os.scandir(os.path.join(root, folder := folders.pop())) as entries:
            for each in entries:
                is_folder = each.is_dir(follow_symlinks=False)
                (folders if is_folder else found).append(os.path.join(folder, each.name))
    return found


def _is_same(path: str, known: Identity) -> bool:
    try:
        with os.fdopen(os.open(path, _READABLE), "rb") as file:
            found = os.fstat(file.fileno())
            # By another name of the file, a later command could write it.
            is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            if not is_plain or found.st_size != known[0]:
                return False
            return (found.st_size, file_digest(file, "sha256").hexdigest()) == known
    except OSError:
        return False
