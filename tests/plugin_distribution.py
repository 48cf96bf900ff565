"""A distribution with one entry point, installed for one test."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

InstallPlugin = Callable[[str, str, str], None]
"""Takes the kind of the plug-in, `name = module:object`, and the source of that module."""


@pytest.fixture
def install_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallPlugin:
    """Installs the distribution `plugged`; a second one is called `plugged-2`."""
    count = 0

    def install(group: str, entry: str, source: str) -> None:
        nonlocal count
        count += 1
        name = "plugged" if count == 1 else f"plugged-{count}"
        folder = tmp_path / name
        about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[sapwood.{group}]\n{entry}\n")
        module = entry.partition("=")[2].partition(":")[0].strip()
        (folder / f"{module}.py").write_text(source)
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install
