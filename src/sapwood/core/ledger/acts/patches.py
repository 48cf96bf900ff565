"""The patch format of `apply_patch`: files added, updated, deleted and moved."""

from collections.abc import Iterator

from sapwood.core.ledger.acts.act import Act, Deleted, Edited, Moved, Wrote
from sapwood.core.ledger.acts.paths import joined

__all__ = ["patched"]

_ADD, _UPDATE, _DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
_MOVE = "*** Move to: "


def patched(patch: str, folder: str = "") -> tuple[Act, ...]:
    """What applying a patch does.

    >>> patched("*** Begin Patch\\n*** Delete File: a.txt\\n*** End Patch")
    (Deleted(path='a.txt', folder=False),)
    """
    acts: list[Act] = []
    for header, body in _sections(patch):
        if header.startswith(_ADD):
            content = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
            acts.append(Wrote(joined(folder, header[len(_ADD) :].strip()), content, False))
        elif header.startswith(_DELETE):
            acts.append(Deleted(joined(folder, header[len(_DELETE) :].strip())))
        else:
            acts += _updated(joined(folder, header[len(_UPDATE) :].strip()), body, folder)
    return tuple(acts)


def _updated(path: str, body: list[str], folder: str) -> Iterator[Act]:
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    target = next((line[len(_MOVE) :] for line in body if line.startswith(_MOVE)), "").strip()
    if target:
        yield Moved(path, joined(folder, target))
        path = joined(folder, target)
    if added or removed or not target:
        yield Edited(path, added=added, removed=removed)


def _sections(patch: str) -> Iterator[tuple[str, list[str]]]:
    header, body = "", list[str]()
    for line in patch.splitlines():
        if line.startswith((_ADD, _UPDATE, _DELETE)):
            if header:
                yield header, body
            header, body = line, []
        elif line.startswith("*** End Patch"):
            break
        else:
            body.append(line)
    if header:
        yield header, body
