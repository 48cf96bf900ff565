"""The tests of what changed, for `just quick`.

A test file is chosen if it changed, if it imports a changed module, or if its name and folder
mirror a changed module. Changed is what differs from the commit where this branch left `main`, and
what git does not track yet; on `main` itself, what is not committed, or else the last commit.
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)(?: import (.+))?", re.MULTILINE)


def changed_files(base: str | None = None) -> list[Path]:
    """The files that differ from `base`, and the new ones."""
    base = base or _base()
    names = _git("diff", "--name-only", "--diff-filter=d", base)
    names += _git("ls-files", "--others", "--exclude-standard")
    return sorted({Path(name) for name in names})


def _base() -> str:
    if _git("rev-parse", "--abbrev-ref", "HEAD") != ["main"]:
        return _git("merge-base", "HEAD", "main")[0]
    return "HEAD" if _git("status", "--porcelain") else "HEAD~1"


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def tests_of(changed: Iterable[Path], tests: Iterable[Path]) -> list[Path]:
    """The test files that belong to the changed files."""
    files = set(changed)
    modules = {_module(path) for path in files if path.suffix == ".py"}
    mirrored = {_mirror(path) for path in files if path.parts[:2] == ("src", "sapwood")}
    return sorted(
        path
        for path in tests
        if path in files or path in mirrored or modules & set(_imported(path.read_text()))
    )


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    inside = parts[parts.index("src") + 1 :] if "src" in parts else parts
    return ".".join(inside[:-1] if inside[-1] == "__init__" else inside)


def _mirror(path: Path) -> Path:
    return Path("tests", *path.parts[2:-1], f"test_{path.name}")


def _imported(source: str) -> Iterable[str]:
    for module, names in _IMPORT.findall(source):
        yield module
        for name in names.strip("() ").split(","):
            yield f"{module}.{name.split(' as ')[0].strip()}"


def chosen_tests(base: str | None = None) -> list[Path]:
    """The test files that belong to what differs from `base`."""
    tests = [*Path("tests").rglob("test_*.py"), *Path("packages").glob("*/tests/**/test_*.py")]
    return tests_of(changed_files(base), tests)
