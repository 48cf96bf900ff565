"""An environment with some wheels of this repository and what they require, and nothing else.

What others publish is linked from the environment of the tests, so that no network is needed.
"""

import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGES = {path.parent.name: path.parent for path in (ROOT / "packages").glob("*/pyproject.toml")}
PLUGINS = sorted(name for name in PACKAGES if name.startswith("sapwood-"))
PROJECTS = {"sapwood": ROOT, **PACKAGES}


def build_wheel(name: str, folder: Path) -> Path:
    """Builds the wheel of a distribution as an installer does, but without a network."""
    place = folder / name
    if not place.exists():
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
        subprocess.run(command, cwd=PROJECTS[name], check=True, capture_output=True)
    (built,) = place.glob("*.whl")
    return built


class CleanEnvironment:
    """A virtual environment in a folder."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        (self._packages,) = folder.glob("lib/python*/site-packages")

    def install(self, wheel: Path, *, of_others: Iterable[str] = ()) -> None:
        """Unpacks a wheel, and links what it requires from others, and `of_others` as well."""
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(self._packages)
            (name,) = [each for each in packed.namelist() if each.endswith(".dist-info/METADATA")]
        installed = metadata.Distribution.at(self._packages / Path(name).parent)
        for each in _closure([*(installed.requires or []), *of_others]):
            for top in {path.parts[0] for path in each.files or [] if path.parts[0] != ".."}:
                link = self._packages / top
                if top != "__pycache__" and not link.exists():
                    link.symlink_to(str(each.locate_file(top)))

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs Python in this environment, in the folder of the repository.

        Programs that are no packages, such as `temporal`, are those of the tests.
        """
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=ROOT,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **variables},
            capture_output=True,
            text=True,
            check=False,
        )


def _closure(required: Iterable[str]) -> Iterator[metadata.Distribution]:
    """The distributions of others that these requirements need, at any depth."""
    seen: set[tuple[str, str]] = set()
    waiting = [(each, "") for each in required]
    while waiting:
        line, extra = waiting.pop()
        wanted = Requirement(line)
        name = canonicalize_name(wanted.name)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        new = {(name, each) for each in ("", *wanted.extras)} - seen
        if name in PROJECTS or not new:
            continue
        seen |= new
        found = metadata.distribution(name)
        yield found
        waiting += [(each, extra) for _, extra in new for each in found.requires or []]
