"""The source files of Sapwood and of its plug-ins."""

import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAPWOOD = ROOT / "src" / "sapwood"


@functools.cache
def source_files() -> dict[str, Path]:
    """Each file by its path below `src/sapwood`, or below the `src` of a plug-in."""
    folders = [SAPWOOD, *sorted((ROOT / "packages").glob("sapwood-*/src"))]
    return {
        path.relative_to(folder).as_posix(): path
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }
