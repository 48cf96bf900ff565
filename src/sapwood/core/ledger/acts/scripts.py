"""Files that a small program on the command line writes: `python - <<EOF`, `node -e`.

Only paths that stand in it as literals are seen.
"""

import re
from collections.abc import Iterator

__all__ = ["written_by"]

_LITERAL = r"[rbf]?['\"]([^'\"\n{}*]+)['\"]"
_OPENED = re.compile(rf"\bopen\(\s*{_LITERAL}\s*,\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]")
_READ = re.compile(rf"\bopen\(\s*{_LITERAL}\s*(?:,\s*(?:encoding|['\"]rb?['\"])|\))")
_PATH_WRITTEN = re.compile(rf"\bPath\(\s*{_LITERAL}\s*\)\.write_(?:text|bytes)\(")
_NAMED = re.compile(rf"^[ \t]*(\w+)\s*=\s*(?:\w+\.)?Path\(\s*{_LITERAL}\s*\)", re.M)
_NAMED_TEXT = re.compile(rf"^[ \t]*(\w+)\s*=\s*{_LITERAL}\s*$", re.M)
_NODE = re.compile(r"\b(?:writeFile|appendFile)(?:Sync)?\(\s*['\"`]([^'\"`$\n]+)['\"`]")


def written_by(script: str) -> Iterator[tuple[str, bool]]:
    """Each path that the script writes, and whether it read it too, so that it was there.

    >>> list(written_by("p = Path('a.py')\\np.write_text(p.read_text().upper())"))
    [('a.py', True)]
    """
    read = {found[1] for found in _READ.finditer(script)}
    written = [found[1] for found in _OPENED.finditer(script)]
    written += [found[1] for found in _PATH_WRITTEN.finditer(script)]
    written += [found[1] for found in _NODE.finditer(script)]
    for found in _NAMED.finditer(script):
        name = re.escape(found[1])
        if re.search(rf"\b{name}\.write_(?:text|bytes)\(", script):
            written.append(found[2])
        if re.search(rf"\b{name}\.read_(?:text|bytes)\(", script):
            read.add(found[2])
    for found in _NAMED_TEXT.finditer(script):
        name = re.escape(found[1])
        if re.search(rf"\bopen\(\s*{name}\s*,\s*(?:mode\s*=\s*)?['\"][rb]*[wax+]", script):
            written.append(found[2])
        if re.search(rf"\bopen\(\s*{name}\s*[,)](?!\s*['\"][rb]*[wax+])", script):
            read.add(found[2])
    for path in dict.fromkeys(written):
        yield path, path in read or f"readFileSync('{path}'" in script.replace('"', "'")
