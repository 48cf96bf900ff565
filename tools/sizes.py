"""The size of each install: `just sizes`, or `just sizes all` for some.

Each is installed from this folder into a folder of its own, for this release of Python. The exit
code is 1 if one is larger than its limit.
"""

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).parents[1]
LIMITS = {"sapwood": 40, "sapwood[models]": 25, "sapwood[all]": 200}
"""MB that an install may have at most."""


def installs() -> list[str]:
    """`sapwood` alone, and with each of its extras."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    return ["sapwood", *(f"sapwood[{extra}]" for extra in project["optional-dependencies"])]


def megabytes(install: str) -> float:
    """The bytes of all files of one install, in MB."""
    with tempfile.TemporaryDirectory(prefix="sapwood-size-") as folder:
        what = f"{_ROOT}{install.removeprefix('sapwood')}"
        command = ["uv", "pip", "install", "--quiet", "--target", folder, what]
        subprocess.run([*command, "--python", sys.executable], check=True)
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(path.lstat().st_size for path in files) / 1e6


def main(argv: Sequence[str]) -> int:
    """Prints a line for each install; returns 1 if one is too large."""
    chosen = [f"sapwood[{name}]" for name in argv] or installs()
    large: list[str] = []
    for install in chosen:
        size, limit = megabytes(install), LIMITS.get(install)
        allowed = f" (at most {limit})" if limit else ""
        print(f"{install:28} {size:6.1f} MB{allowed}", flush=True)
        if limit and size > limit:
            large.append(install)
    print(f"sizes: larger than allowed: {', '.join(large) or 'none'}")
    return int(bool(large))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
