"""A home of one's own, a project in it, and a session of Claude Code that ran there."""

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "programs" / "transcripts" / "fixtures"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    """What a program is started with: nothing of the user's own."""
    import os

    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "SAPWOOD_DATA": str(home / "data"),
    }


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    """A project in which a session ran."""
    folder = tmp_path / "project"
    folder.mkdir()
    text = (FIXTURES / "claude-auto-compact.jsonl").read_text()
    (cwd,) = {json.loads(line)["cwd"] for line in text.splitlines() if '"cwd"' in line}
    slug = "".join(char if char.isalnum() else "-" for char in str(folder))
    place = home / ".claude" / "projects" / slug
    place.mkdir(parents=True)
    (place / "s-1.jsonl").write_text(text.replace(cwd, str(folder)))
    return folder
