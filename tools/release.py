"""The files of a release, in dist/release: `just release`.

The wheels of all distributions, a bill of materials, the section of the changelog, and the SHA-256
of each file. All distributions must have one version, and the changelog a section for it;
`--unreleased` takes the section of what is not released yet, to try the recipe.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_DIST = _ROOT / "dist"
_RELEASE = _DIST / "release"


class NotReady(Exception):
    """Something has to be done before a release. The text says what."""


def versions(root: Path) -> dict[str, str]:
    """The version of each distribution of the repository, by name."""
    files = [root / "pyproject.toml", *sorted((root / "packages").glob("*/pyproject.toml"))]
    projects = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    return {project["name"]: project["version"] for project in projects}


def one_version(found: dict[str, str]) -> str:
    """The version that all have. Raises `NotReady` if they differ."""
    if len(set(found.values())) != 1:
        listed = ", ".join(f"{name} {version}" for name, version in found.items())
        raise NotReady(f"The distributions have different versions: {listed}.")
    return next(iter(found.values()))


def changes(changelog: str, version: str) -> str:
    """The section of a version, or of `Unreleased`. Raises `NotReady` if there is none."""
    heading = re.search(rf"^## \[{re.escape(version)}\].*\n", changelog, re.MULTILINE)
    if heading is None:
        raise NotReady(
            f"CHANGELOG.md has no section for {version}. Rename [Unreleased], or try the recipe "
            "with: just release --unreleased"
        )
    return re.split(r"^## |^\[[^\]]+\]: ", changelog[heading.end() :], flags=re.MULTILINE)[
        0
    ].strip()


def checksums(folder: Path) -> str:
    """A line for each file, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )


def main(arguments: list[str]) -> int:
    """Writes the release; returns 1 if something has to be done first."""
    parser = argparse.ArgumentParser(prog="just release", description=__doc__)
    parser.add_argument(
        "--unreleased", action="store_true", help="try it before there is a section"
    )
    options = parser.parse_args(arguments)
    try:
        found = versions(_ROOT)
        version = one_version(found)
        changelog = (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        section = changes(changelog, "Unreleased" if options.unreleased else version)
    except NotReady as reason:
        print(f"release: {reason}", file=sys.stderr)
        return 1
    shutil.rmtree(_RELEASE, ignore_errors=True)
    for old in _DIST.glob("*.whl"):
        old.unlink()
    for recipe in ("build", "sbom"):
        subprocess.run(["just", recipe], cwd=_ROOT, check=True)
    _RELEASE.mkdir()
    for wheel in _DIST.glob("*.whl"):
        shutil.move(wheel, _RELEASE)
    shutil.copy(_DIST / "sbom.json", _RELEASE)
    (_RELEASE / "CHANGES.md").write_text(f"{section}\n", encoding="utf-8")
    (_RELEASE / "SHA256SUMS").write_text(checksums(_RELEASE), encoding="utf-8")
    print(f"release: {version} of {len(found)} distributions in {_RELEASE.relative_to(_ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
