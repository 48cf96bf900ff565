"""File changes inside a command: `apply_patch` patches, and scripts as in `python - <<EOF`."""

import re
from collections.abc import Iterator

from sapwood.analysis.ledger.operations.operation import (
    FileDeleted,
    FileEdited,
    FileMoved,
    FileWritten,
    Operation,
)
from sapwood.analysis.ledger.operations.working_folder import join_path

_ADD, _UPDATE, _DELETE = "*** Add File: ", "*** Update File: ", "*** Delete File: "
_MOVE = "*** Move to: "
_LITERAL = r"[rbf]?['\"]([^'\"\n{}*]+)['\"]"
_OPEN_TO_WRITE = re.compile(rf"\bopen\(\s*{_LITERAL}\s*,\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]")
_OPEN_TO_READ = re.compile(rf"\bopen\(\s*{_LITERAL}\s*(?:,\s*(?:encoding|['\"]rb?['\"])|\))")
_PATH_WRITTEN = re.compile(rf"\bPath\(\s*{_LITERAL}\s*\)\.write_(?:text|bytes)\(")
_PATH_VARIABLE = re.compile(rf"^[ \t]*(\w+)\s*=\s*(?:\w+\.)?Path\(\s*{_LITERAL}\s*\)", re.M)
_TEXT_VARIABLE = re.compile(rf"^[ \t]*(\w+)\s*=\s*{_LITERAL}\s*$", re.M)
_NODE_WRITTEN = re.compile(r"\b(?:writeFile|appendFile)(?:Sync)?\(\s*['\"`]([^'\"`$\n]+)['\"`]")


def patch_operations(patch: str, folder: str = "") -> tuple[Operation, ...]:
    """Returns the operations of an `apply_patch` patch.

    >>> patch_operations("*** Begin Patch\\n*** Delete File: a.txt\\n*** End Patch")
    (FileDeleted(path='a.txt', folder=False),)
    """
    operations: list[Operation] = []
    for header, body in _sections(patch):
        if header.startswith(_ADD):
            content = "".join(f"{line[1:]}\n" for line in body if line.startswith("+"))
            operations.append(
                FileWritten(join_path(folder, header[len(_ADD) :].strip()), content, False)
            )
        elif header.startswith(_DELETE):
            operations.append(FileDeleted(join_path(folder, header[len(_DELETE) :].strip())))
        else:
            operations += _updated(join_path(folder, header[len(_UPDATE) :].strip()), body, folder)
    return tuple(operations)


def _updated(path: str, body: list[str], folder: str) -> Iterator[Operation]:
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    target = next((line[len(_MOVE) :] for line in body if line.startswith(_MOVE)), "").strip()
    if target:
        yield FileMoved(path, join_path(folder, target))
        path = join_path(folder, target)
    if added or removed or not target:
        yield FileEdited(path, added=added, removed=removed)


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


def files_written(script: str) -> Iterator[tuple[str, bool]]:
    """Yields each path that a script writes, and whether the script also reads it.

    Only paths that are literals in the script are found. A file that is read existed before.

    >>> list(files_written("p = Path('a.py')\\np.write_text(p.read_text().upper())"))
    [('a.py', True)]
    """
    read = {found[1] for found in _OPEN_TO_READ.finditer(script)}
    written = [found[1] for found in _OPEN_TO_WRITE.finditer(script)]
    written += [found[1] for found in _PATH_WRITTEN.finditer(script)]
    written += [found[1] for found in _NODE_WRITTEN.finditer(script)]
    for found in _PATH_VARIABLE.finditer(script):
        name = re.escape(found[1])
        if re.search(rf"\b{name}\.write_(?:text|bytes)\(", script):
            written.append(found[2])
        if re.search(rf"\b{name}\.read_(?:text|bytes)\(", script):
            read.add(found[2])
    for found in _TEXT_VARIABLE.finditer(script):
        name = re.escape(found[1])
        if re.search(rf"\bopen\(\s*{name}\s*,\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]", script):
            written.append(found[2])
        if re.search(rf"\bopen\(\s*{name}\s*[,)](?!\s*['\"][rb]*[wax+])", script):
            read.add(found[2])
    for path in dict.fromkeys(written):
        yield path, path in read or f"readFileSync('{path}'" in script.replace('"', "'")
