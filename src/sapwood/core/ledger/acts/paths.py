"""Paths as a ledger shows them: from the session's folder down, or absolute."""

import re

__all__ = ["joined", "shown"]

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def joined(folder: str, path: str) -> str:
    """A path as seen from a folder.

    >>> joined("app", "../x.py"), joined("", "./x.py"), joined("app", "/tmp/x")
    ('x.py', 'x.py', '/tmp/x')
    """
    path = path.removeprefix("file://")
    if _DRIVE.match(path) or "\\" in folder:
        path = path.replace("\\", "/")
    rooted = path.startswith(("/", "~")) or bool(_DRIVE.match(path))
    return _collapsed(path if rooted or not folder else f"{folder}/{path}")


def shown(path: str, folder: str) -> str:
    """A path without the session's folder in front.

    >>> shown("/srv/shop/src/a.py", "/srv/shop/"), shown("/srv/shopping/a", "/srv/shop")
    ('src/a.py', '/srv/shopping/a')
    """
    path, base = joined("", path), _collapsed(folder.replace("\\", "/"))
    if base and path.startswith(base.rstrip("/") + "/"):
        return path[len(base.rstrip("/")) + 1 :]
    return "." if base and path == base else path


def _collapsed(path: str) -> str:
    root = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and root:
            continue
        elif part not in ("", "."):
            parts.append(part)
    return root + "/".join(parts) or ("." if path else "")
